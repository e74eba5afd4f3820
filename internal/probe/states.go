package probe

import "github.com/agentpeer/agentpeer/client/lifecycle"

// settled says that a task in this state waits for nobody's work: it has ended, or it waits for us.
func settled(s lifecycle.State) bool { return s.Terminal() || s.Interrupted() }

func stateOf(raw string) lifecycle.State {
	s, _ := lifecycle.ParseState(raw)
	return s
}

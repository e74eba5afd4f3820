package lifecycle

// State is a task state in the one spelling that this project uses: the lower-case words of A2A 0.x.
type State string

// The states of all generations. 0.1 has no AuthRequired and no Rejected.
const (
	Submitted     State = "submitted"
	Working       State = "working"
	InputRequired State = "input-required"
	AuthRequired  State = "auth-required"
	Completed     State = "completed"
	Canceled      State = "canceled"
	Failed        State = "failed"
	Rejected      State = "rejected"
	// Unknown carries no information: the 0.x word "unknown", TASK_STATE_UNSPECIFIED, an absent state,
	// or a word that no generation defines.
	Unknown State = "unknown"
)

// Terminal says that the task is over. No generation allows a terminal state to be left (0.3 §6.1, 7.1; 1.0 §3.1.1).
func (s State) Terminal() bool {
	switch s {
	case Completed, Canceled, Failed, Rejected:
		return true
	}
	return false
}

// Interrupted says that the task waits for its client. It is a proper end of a stream.
func (s State) Interrupted() bool { return s == InputRequired || s == AuthRequired }

// Active says that the peer has the task in hand.
func (s State) Active() bool { return s == Submitted || s == Working }

// known tells the eight states that carry information from Unknown and from strings that never went through ParseState.
func (s State) known() bool { return s.Terminal() || s.Interrupted() || s.Active() }

package probe

import (
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A peer that revives canceled tasks and keeps its hands off others: the round that is to confirm it asks Lifecycle alone, and must look
// where the lie was seen, or the peer is cleared each time by what it does not lie about.
func TestALieAboutCanceledTasksIsConfirmedByOne(t *testing.T) {
	t.Parallel()
	revives := agent.With(func(c *agent.Config) { c.Cancel.Revives = agent.Duration(quick().Settle / 2) })
	for _, streams := range []agent.Option{agent.Is(), agent.Is("streaming-false")} {
		a := agent.New(revives, streams)
		rep := runJob(t, jobFor(t, a.Start(t), trust.Lifecycle))
		check(t, rep, trust.Lifecycle, expectation{outcome: trust.Diverged, reason: trust.ReasonTerminalStateNotFinal})
		if costs, _ := Costs(); rep.Round.Tasks > costs[trust.Lifecycle] {
			t.Errorf("it cost %d tasks, %d at worst", rep.Round.Tasks, costs[trust.Lifecycle])
		}
	}
}

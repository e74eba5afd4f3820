package probe

import (
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A store on the way lagged, or belonged to another replica, and answered TaskNotFound whatever it was asked. That it did not know one task was
// held against the peer, though it did not know the peer's own either (seed 3790880858 of the fleets).
func TestCaseGuardAStoreThatDoesNotShowOurTaskDisownsNothing(t *testing.T) {
	t.Parallel()
	blind := agent.With(func(c *agent.Config) { c.Get.Refuse = codeTaskNotFound })
	for _, tc := range []struct {
		quirks []string
		about  trust.Capability
		reason trust.Reason
	}{
		{[]string{"ids-per-event"}, trust.Streaming, trust.ReasonTaskIdentityUnstable},
		{[]string{"cancel-unknown"}, trust.Cancellation, trust.ReasonTaskOpsUnavailable},
	} {
		t.Run(string(tc.about), func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Speaks(agent.V10), agent.Is(tc.quirks...), blind)
			check(t, runJob(t, jobFor(t, a.Start(t), tc.about)), tc.about, expectation{outcome: trust.Inconclusive, reason: tc.reason})
		})
	}
}

package probe

import (
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Streams that came to nothing cost a peer the trust in what it does well: rounds that did not ask Streaming went on to follow their tasks
// by them.
func TestStreamsThatAreKnownNotToWorkDoNotHideWhatWorks(t *testing.T) {
	works := []trust.Capability{trust.Cancellation, trust.Continuation, trust.Lifecycle, trust.TaskRetrieval}
	for _, g := range []agent.Generation{agent.V10, agent.V03} {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, with(g, "empty-stream").Start(t), works...)
			job.SingleShot = true
			rep := runJob(t, job)
			for _, c := range works {
				check(t, rep, c, expectation{outcome: trust.Honored})
			}
		})
	}
}

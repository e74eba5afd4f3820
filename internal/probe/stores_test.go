package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A replica lags behind the stream and stamps its answers when they are read. Its working looks newer than the end, and the look after it
// agrees with the end again: no terminal state was left, and no cancel undone.
func TestCaseRulesALaggingStoreThatStampsOnReadLeavesNoTerminalState(t *testing.T) {
	t.Parallel()
	for _, g := range []agent.Generation{agent.V10, agent.V03} {
		for _, about := range []trust.Capability{trust.Lifecycle, trust.Cancellation} {
			t.Run(string(g)+" "+string(about), func(t *testing.T) {
				t.Parallel()
				job := jobFor(t, with(g, "lagging-store", "live-stamps").Start(t), trust.Lifecycle, trust.Cancellation)
				job.Target.Timing.Settle = 700 * time.Millisecond
				job.Target.Timing.Task = 4 * time.Second
				rep := runJob(t, job)
				check(t, rep, about, expectation{outcome: trust.Honored})
			})
		}
	}
}

// What answers say of an end that does not stay: charged where the task's own time says so twice, and never called "stayed so".
func TestAnEndThatDoesNotStay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		quirks  string
		grace   time.Duration
		about   trust.Capability
		outcome trust.Outcome
		reason  trust.Reason
	}{
		{"relapses", 0, trust.Lifecycle, trust.Diverged, trust.ReasonTerminalStateNotFinal},
		{"relapses live-stamps", 0, trust.Lifecycle, trust.Inconclusive, trust.ReasonReplicaInconsistency},
		{"relapses hold-terminal", 600 * time.Millisecond, trust.Lifecycle, trust.Diverged, trust.ReasonTerminalStateNotFinal},
		{"relapses hold-terminal", 20 * time.Millisecond, trust.Lifecycle, trust.Inconclusive, trust.ReasonReplicaInconsistency},
		{"cancel-forgotten", 0, trust.Lifecycle, trust.Inconclusive, trust.ReasonReplicaInconsistency},
		{"cancel-forgotten", 0, trust.Cancellation, trust.Inconclusive, trust.ReasonCancelNotHonoured},
	} {
		t.Run(string(tc.about)+" "+tc.quirks+" "+tc.grace.String(), func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, with(agent.V10, strings.Fields(tc.quirks)...).Start(t), trust.Lifecycle, trust.Cancellation)
			if tc.grace > 0 {
				job.Target.Timing.Grace = tc.grace // before or after the relapse, 200 ms after the end
			}
			job.Target.Timing.Settle = 400 * time.Millisecond
			job.Target.Timing.Task = 4 * time.Second
			check(t, runJob(t, job), tc.about, expectation{outcome: tc.outcome, reason: tc.reason})
		})
	}
}

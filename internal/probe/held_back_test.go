package probe

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Every event reaches us late by the same time, which the first one shows. Work that was made before the cancel and arrives after it is no
// work after it, however long that takes: canceled comes right behind.
func TestAStreamThatIsUniformlyLateIsNoZombie(t *testing.T) {
	t.Parallel()
	hold := func(d time.Duration) agent.Option {
		return agent.With(func(c *agent.Config) { c.Stream.HeldBack = agent.Duration(d) })
	}
	for _, tc := range []struct {
		story   string
		options []agent.Option
		task    time.Duration
		outcome trust.Outcome
		reason  trust.Reason
	}{
		{"late by more than we would listen else", []agent.Option{hold(1200 * time.Millisecond)}, 6 * time.Second, trust.Honored, ""},
		{"late by so much that our deadline comes first", []agent.Option{hold(1200 * time.Millisecond)}, 2 * time.Second,
			trust.Inconclusive, trust.ReasonProbeDeadlineExceeded},
		{"late, and a zombie", []agent.Option{hold(500 * time.Millisecond), agent.Is("zombie-cancel")}, 6 * time.Second,
			trust.Diverged, trust.ReasonEventsAfterCancel},
	} {
		t.Run(tc.story, func(t *testing.T) {
			t.Parallel()
			a := agent.New(append([]agent.Option{agent.Speaks(agent.V10)}, tc.options...)...)
			job := jobFor(t, a.Start(t), trust.Cancellation)
			job.Target.Timing.Task = tc.task
			check(t, runJob(t, job), trust.Cancellation, expectation{outcome: tc.outcome, reason: tc.reason})
		})
	}
}

// The same path holds back the end of a task that GetTask shows long before: the open stream withholds nothing.
func TestAStreamThatIsUniformlyLateWithholdsNothing(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.Speaks(agent.V10), agent.With(func(c *agent.Config) {
		c.Stream.HeldBack = agent.Duration(2500 * time.Millisecond)
		c.Stream.Work = agent.Duration(10 * time.Millisecond)
		c.Script.Think = agent.Duration(2500 * time.Millisecond)
	}))
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Target.Timing.Task = 8 * time.Second
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Honored})
}

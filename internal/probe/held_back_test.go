package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Every event reaches us late by the same time, which the first one shows. Work that was made before the cancel and arrives after it is no
// work after it, however long that takes: canceled comes right behind.
func TestCaseRulesAStreamThatIsUniformlyLateIsNoZombie(t *testing.T) {
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

// Each event takes its time on the way, one after the other, so that work made before the cancel piles up and goes on coming long after it.
// The first event, which shows how late a stream is, knew no queue. Canceled comes at the end of it all the same.
func TestCaseRulesAStreamThatBacksUpIsNoZombie(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		quirks  []string
		outcome trust.Outcome
		reason  trust.Reason
	}{
		{[]string{"backs-up", "cancel-slow"}, trust.Honored, ""},
		{[]string{"backs-up-for-long", "cancel-slow"}, trust.Honored, ""},
		{[]string{"backs-up", "zombie-cancel"}, trust.Diverged, trust.ReasonEventsAfterCancel},
	} {
		t.Run(strings.Join(tc.quirks, " "), func(t *testing.T) {
			t.Parallel()
			a := with(agent.V10, tc.quirks...)
			job := jobFor(t, a.Start(t), trust.Cancellation)
			job.Target.Timing.Task = 6 * time.Second
			check(t, runJob(t, job), trust.Cancellation, expectation{outcome: tc.outcome, reason: tc.reason})
		})
	}
}

// The same path holds back the end of a task that GetTask shows long before: the open stream withholds nothing.
func TestCaseRulesAStreamThatIsUniformlyLateWithholdsNothing(t *testing.T) {
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

// An agent sends its headers at once and thinks for longer than an idle limit on the way allows: every stream is closed in good order before
// its first event, while single-shot works. Nobody lied.
func TestCaseGuardAnIdleLimitShorterThanTheFirstThoughtMakesNoEmptyStream(t *testing.T) {
	at := func(open, control time.Duration) *exchange {
		x := &exchange{first: stream().but(func(t *tape) { t.EndAt = open }), second: stream().but(func(t *tape) { t.EndAt = open })}
		x.one, x.two = judgeStream(x.first, DefaultTiming()), judgeStream(x.second, DefaultTiming())
		x.control = &tape{EndAt: control, Marks: []mark{{Kind: wire.KindTask, TaskID: "c1", State: done, At: control, Count: 1}}}
		return x
	}
	for story, tc := range map[string]struct {
		x       *exchange
		outcome trust.Outcome
	}{
		"cut after 5 s, the control takes 6 s":              {at(5*s, 6*s), trust.Inconclusive},
		"empty at once, the control takes 6 s":              {at(200*ms, 6*s), trust.Diverged},
		"empty after 5 s, when the control was done in 2 s": {at(5*s, 2*s), trust.Diverged},
	} {
		if o := frame(tc.x); o.Outcome != tc.outcome {
			t.Errorf("%s: %s %s, want %s", story, o.Outcome, o.Reason, tc.outcome)
		}
	}
}

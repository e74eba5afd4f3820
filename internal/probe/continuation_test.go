package probe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// talk runs a round of Continuation and InputModes with an agent.
func talk(t *testing.T, settle time.Duration, quirks string, change func(*agent.Config)) Report {
	t.Helper()
	a := agent.New(agent.Is(strings.Fields(quirks)...), agent.With(change))
	job := jobFor(t, a.Start(t), trust.Continuation, trust.InputModes)
	job.Target.Timing.Settle = settle
	return runJob(t, job)
}

// says checks what a message says and what it does not.
func says(t *testing.T, o trust.Observation, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(o.Message, p) {
			t.Errorf("%q, want %q in it", o.Message, p)
		}
	}
}

func TestAQuestionThatGetTaskShowsLateIsAQuestion(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"", "hold-interrupted"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			rep := talk(t, 2*time.Second, quirks, func(c *agent.Config) { c.Get.Lag = agent.Duration(300 * time.Millisecond) })
			o := check(t, rep, trust.Continuation, expectation{outcome: trust.Honored})
			if before := "before:GetTask:input-required"; !strings.Contains(strings.Join(o.Observed, " "), before) || len(o.Warnings) > 0 {
				t.Errorf("observed %q, warnings %v; want %s and no warning", o.Observed, o.Warnings, before)
			}
		})
	}
}

func TestAQuestionThatGetTaskNeverShowsWasAskedAllTheSame(t *testing.T) {
	t.Parallel()
	for _, hold := range []string{"", " hold-interrupted"} {
		t.Run("taken"+hold, func(t *testing.T) {
			t.Parallel()
			rep := talk(t, quick().Settle, "stale-store"+hold, func(*agent.Config) {})
			check(t, rep, trust.Continuation, expectation{trust.Honored, "", []trust.Reason{trust.WarnTaskStoreStale}})
		})
		t.Run("refused"+hold, func(t *testing.T) {
			t.Parallel()
			rep := talk(t, quick().Settle, "stale-store follow-up-refused"+hold, func(*agent.Config) {})
			o := check(t, rep, trust.Continuation, expectation{trust.Inconclusive, trust.ReasonReplicaInconsistency, []trust.Reason{trust.WarnTaskStoreStale}})
			says(t, o, "the stream had shown input-required, GetTask said working")
		})
	}
}

func TestAQuestionThatTheAgentGaveUpOnWasAskedAllTheSame(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"", "hold-interrupted"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			rep := talk(t, quick().Settle, quirks, func(c *agent.Config) {
				c.Script.GivesUp, c.Get.Slow = agent.Duration(time.Millisecond), agent.Duration(200*time.Millisecond)
			})
			o := check(t, rep, trust.Continuation, expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskEndedFirst})
			says(t, o, "the task asked for input and was completed before a reply was sent")
		})
	}
}

func TestAReplyThatABusyExecutorRefusesIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"", "hold-interrupted", "streaming-false"} {
		for _, code := range []int{codeUnsupported, codeInvalidParams} {
			t.Run(quirks, func(t *testing.T) {
				t.Parallel()
				rep := talk(t, 700*time.Millisecond, quirks, func(c *agent.Config) {
					c.FollowUp.Refuse, c.FollowUp.Busy = code, agent.Duration(500*time.Millisecond)
				})
				o := check(t, rep, trust.Continuation, expectation{outcome: trust.Honored})
				says(t, o, fmt.Sprintf("it had been refused with error %d", code))
				if len(o.Warnings) > 0 {
					t.Errorf("warnings %v, want none", o.Warnings)
				}
				check(t, rep, trust.InputModes, expectation{outcome: trust.Honored})
			})
		}
	}
}

func TestAReplyThatIsRefusedEveryTimeIsRefused(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"", "hold-interrupted"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			rep := talk(t, quick().Settle, quirks, func(c *agent.Config) { c.FollowUp.Refuse = codeUnsupported })
			o := check(t, rep, trust.Continuation, expectation{outcome: trust.Diverged, reason: trust.ReasonContinuationRefused})
			says(t, o, "and again on new connections after a pause")
		})
	}
}

// An agent may give up on its question, and refuses replies rightly from then on.
func TestARefusalOfATaskThatEndedMeanwhileAccusesNobody(t *testing.T) {
	asks := look{ID: "t1", State: lifecycle.InputRequired}
	over := look{ID: "t1", State: lifecycle.Canceled}
	k := talked{first: stream(atWork, lifecycle.InputRequired), reached: true, before: &asks,
		reply: answeredBy(codeUnsupported), after: []look{asks, asks}}
	justAfter, paused, repeated, late := k, k, k, k
	justAfter.after = []look{over}
	paused.gone = &over
	repeated.repeated, repeated.gone = answeredBy(codeUnsupported), &over
	late.gone = &look{}
	for story, tc := range map[string]struct {
		k      talked
		reason trust.Reason
	}{
		"just after":                           {justAfter, trust.ReasonTaskEndedFirst},
		"before the reply could be repeated":   {paused, trust.ReasonTaskEndedFirst},
		"when the reply had been repeated":     {repeated, trust.ReasonTaskEndedFirst},
		"no time was left to repeat the reply": {late, trust.ReasonProbeDeadlineExceeded},
	} {
		t.Run(story, func(t *testing.T) { judged{nil, isInconclusive, tc.reason, ""}.hold(t, judgeContinuation(tc.k)) })
	}
}

func answeredBy(code int) *tape {
	t := &tape{}
	t.Marks = []mark{{Kind: "error", Code: code, Count: 1}}
	return t
}

// Whatever became of the question, the message says what was seen and does not contradict itself.
func TestTheMessageOfAQuestionThatWasNotReachedIsTrue(t *testing.T) {
	asking := lifecycle.InputRequired
	is := func(s lifecycle.State) *look { return &look{ID: "t1", State: s} }
	for want, k := range map[string]talked{
		"the task did not ask for input in time; it was working":                 {first: stream(atWork)},
		"the task did not ask for input in time; it was submitted":               {first: stream(atWork), before: is(lifecycle.Submitted)},
		"no task was seen to come of the first message":                          {first: &tape{}},
		"the task was completed without having asked for input":                  {first: stream(atWork, done)},
		"the task was failed without having asked for input":                     {first: stream(atWork), before: is(lifecycle.Failed)},
		"the task asked for input and was completed before a reply was sent":     {first: stream(atWork, asking), reached: true, before: is(done)},
		"the task asked for input and was working before a reply was sent":       {first: stream(asking, atWork), before: is(atWork)},
		"the task asked for input and was auth-required before a reply was sent": {first: stream(asking), reached: true, before: is(lifecycle.AuthRequired)},
		"the round was called off before a reply was sent":                       {first: stream(atWork).but(func(t *tape) { t.CalledOff = true })},
		"the task did not ask for input in time; a reply to it was refused with error -32004, which is legal": {
			first: stream(atWork), working: true, promised: true, before: is(atWork), reply: answeredBy(codeUnsupported), after: []look{*is(atWork)}},
		"the task asked for input and no longer did when the reply was sent; a reply to it was refused with error -32004, which is legal": {
			first: stream(asking, atWork), working: true, promised: true, before: is(atWork), reply: answeredBy(codeUnsupported), after: []look{*is(atWork)}},
		"replied to the question, answered with error -32004; the stream had shown input-required, GetTask said working": {
			first: stream(atWork, asking), reached: true, before: is(atWork), reply: answeredBy(codeUnsupported), after: []look{*is(atWork)}},
		"replied to the question, answered with error -32004; the stream had shown input-required, GetTask said error -32601": {
			first: stream(atWork, asking), reached: true, before: &look{Code: codeMethodNotFound}, reply: answeredBy(codeUnsupported), after: []look{{Code: codeMethodNotFound}}},
	} {
		if o := judgeContinuation(k); o.Outcome != isInconclusive || o.Message != want {
			t.Errorf("%s %q, want %q", o.Outcome, o.Message, want)
		}
	}
}

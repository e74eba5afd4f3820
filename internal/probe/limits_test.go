package probe

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// The limits of history and the send that returns at once are parts of TaskRetrieval.
func TestHistoryAndBlocking(t *testing.T) {
	t.Parallel()
	const (
		honored, diverged = trust.Honored, trust.Diverged
	)
	short := agent.With(func(c *agent.Config) { c.Script.Chunks = 30 }) // counts for a second and a half
	for name, tc := range map[string]struct {
		gens    string // default "1.0"
		quirks  string
		outcome trust.Outcome
		reason  trust.Reason
		warn    trust.Reason
	}{
		"honest":                                   {"1.0 0.3 0.1", "", honored, "", ""},
		"more history than was asked for":          {"1.0", "all-history", diverged, trust.ReasonHistoryLimitExceeded, trust.WarnHistoryNotOmitted},
		"which 0.x leaves open":                    {"0.3 0.1", "all-history", honored, "", ""},
		"no history at all":                        {"1.0 0.3", "no-history", honored, "", ""},
		"a send that waits for a long task":        {"1.0", "send-waits", diverged, trust.ReasonReturnImmediatelyIgnored, ""},
		"by unary calls alone":                     {"1.0", "send-waits streaming-false", diverged, trust.ReasonReturnImmediatelyIgnored, ""},
		"which 0.x is only asked for":              {"0.3", "send-waits", honored, "", trust.WarnImmediateSendWaited},
		"a task that ends at once":                 {"1.0 0.3", "skips", honored, "", ""},
		"sends that fail say nothing of the limit": {"1.0", "send-fails", honored, "", ""},
	} {
		for _, g := range strings.Fields(tc.gens) {
			t.Run(name+" "+g, func(t *testing.T) {
				t.Parallel()
				a := agent.New(agent.Speaks(agent.Generation(g)), agent.Is(strings.Fields(tc.quirks)...), short)
				job := jobFor(t, a.Start(t), trust.Streaming, trust.TaskRetrieval, trust.Continuation)
				job.Target.Timing.FirstEvent, job.Target.Timing.Task = 900*time.Millisecond, 8*time.Second
				job.Target.Timing.Wait = 3 * time.Second
				rep := runJob(t, job)
				o := check(t, rep, trust.TaskRetrieval, expectation{outcome: tc.outcome, reason: tc.reason})
				if tc.warn != "" && !slices.Contains(o.Warnings, tc.warn) || tc.warn == "" && len(o.Warnings) > 0 {
					t.Errorf("warnings %v, want %q", o.Warnings, tc.warn)
				}
				if o.Tasks > maxRetrievals {
					t.Errorf("the question cost %d tasks, more than it may", o.Tasks)
				}
				if open := a.Counts().Open; open > len(rep.Orphans) {
					t.Errorf("%d tasks are left behind", open)
				}
			})
		}
	}
}

// A message may wait before any task is made of it: for a worker, or for a limit on the way. Then another one waits as well.
func TestASendThatWaitedInAQueueIsNotHeldAgainstTheAgent(t *testing.T) {
	t.Parallel()
	sent := func(after time.Duration, state lifecycle.State) *tape {
		return &tape{Generation: wire.V10, EndAt: after, Marks: []mark{{At: after, Kind: wire.KindTask, TaskID: "t", State: state}}}
	}
	lost := &tape{Generation: wire.V10, EndAt: 1 * s, Fail: &wire.Error{Class: wire.ClassTimeout}}
	for name, tc := range map[string]struct {
		long, other *tape
		outcome     trust.Outcome
		warned      bool
	}{
		"another is answered at once":   {sent(25*s, lifecycle.Completed), sent(2*s, lifecycle.Completed), trust.Diverged, false},
		"another waits as well":         {sent(25*s, lifecycle.Completed), sent(22*s, lifecycle.Working), trust.Honored, true},
		"another is not heard of":       {sent(25*s, lifecycle.Completed), lost, trust.Honored, true},
		"there was no other":            {sent(25*s, lifecycle.Completed), nil, trust.Honored, true},
		"it came with the task at work": {sent(25*s, lifecycle.Working), nil, trust.Honored, false},
		"it came soon":                  {sent(9*s, lifecycle.Completed), nil, trust.Honored, false},
	} {
		o := judgeImmediate(trust.Observation{Outcome: trust.Honored}, immediate{tape: tc.long, other: tc.other, patience: 20 * s})
		if warned := slices.Contains(o.Warnings, trust.WarnImmediateSendWaited); o.Outcome != tc.outcome || warned != tc.warned {
			t.Errorf("%s: %s %s %v", name, o.Outcome, o.Reason, o.Warnings)
		}
	}
}

// One round that sees a limit broken warns, two demote.
func TestLimitsAreSoft(t *testing.T) {
	t.Parallel()
	job := jobFor(t, with(agent.V10, "all-history").Start(t), trust.TaskRetrieval, trust.Continuation)
	job.Target.Fixtures.LongRunning = nil
	job.Target.Timing.Wait, job.Target.Timing.Task = 3*time.Second, 6*time.Second
	for rounds, state := range map[int]trust.State{1: trust.Unverified, 2: trust.Demoted} {
		p, _ := verdict(t, job, rounds)
		expectState(t, p, trust.TaskRetrieval, state, trust.ReasonHistoryLimitExceeded)
	}
}

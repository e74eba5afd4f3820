package probe

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Ctrl-C while a call is under way that has begun a task: the call gets a moment to name it, so that it can be canceled and is not left
// behind as unknown. And nobody's deadline is blamed for what the user did.
func TestARoundThatIsCalledOffCancelsTheTaskThatACallHasJustBegun(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"stuck send-at-once streaming-false", "stuck", "stuck late-headers"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Is(strings.Fields(quirks)...), agent.With(func(c *agent.Config) {
				c.Latency = agent.Duration(500 * time.Millisecond)
				c.Stream.FirstEvent = 0
			}))
			job := jobFor(t, a.Start(t), trust.Streaming, trust.Lifecycle)
			job.CardAndTask, job.NoReach = false, true
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil && a.Counts().Open == 0 {
					pause(ctx, 5*time.Millisecond)
				}
				cancel()
			}()
			rep := Run(ctx, Env{Egress: agent.Loopback(), UserAgent: "probe-test"}, job)
			if len(rep.Orphans) > 0 || a.Counts().Open > 0 {
				t.Errorf("left behind %v, open %v", rep.Orphans, a.Tasks())
			}
			for _, o := range rep.Round.Observations {
				if strings.Contains(o.Message, "deadline") || o.Outcome != trust.Inconclusive {
					t.Errorf("%s %s: %s", o.Capability, o.Outcome, o.Message)
				}
			}
		})
	}
}

// What lingers is a call under way. A round that was called off must not begin anything new: the control after its stream, say.
func TestARoundThatIsCalledOffBeginsNothingNew(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.Latency(0, time.Hour)) // a stream takes an hour, a send is answered at once
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Control = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil && len(a.Tasks()) == 0 {
			pause(ctx, 5*time.Millisecond)
		}
		cancel()
	}()
	rep := Run(ctx, Env{Egress: agent.Loopback(), UserAgent: "probe-test"}, job)
	if tasks := a.Tasks(); len(tasks) != 1 || tasks[0].State != agent.Canceled {
		t.Errorf("the agent has %+v, want the stream's task alone, canceled", tasks)
	}
	if rep.Round.Tasks != 1 || len(rep.Orphans) > 0 {
		t.Errorf("%d tasks were counted and %v left behind, want 1 and none", rep.Round.Tasks, rep.Orphans)
	}
}

package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A proxy cuts streams shortly before tasks end, and the worker's clock is not the proxy's. Whatever the times say, the task was at work
// when its stream ended, and the peer keeps its good name.
func TestCaseRulesAProxyThatCutsStreamsShortlyBeforeTheEndCostsNoTrust(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"", "slow-clock", "zone-clock", "stopped-clock", "no-timestamps", "slow-get", "slow-get slow-clock",
		"slow-get zone-clock", "slow-get stopped-clock", "slow-get no-timestamps", "slow-get live-stamps", "held-back no-timestamps"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			a := with(agent.V10, strings.Fields("cut-before-end "+quirks)...)
			a.Set(agent.With(wellBeforeEnd))
			job := jobFor(t, a.Start(t), trust.Streaming)
			patient(&job)
			job.Target.Timing.Settle = 3600 * time.Millisecond // a second look 1.2 s after the end, when the task is over
			check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted})
		})
	}
}

// wellBeforeEnd has a stream cut 800 ms before its task ends, so that a slow machine does not cut it at the end.
func wellBeforeEnd(c *agent.Config) {
	c.Stream.Work = agent.Duration(2400 * time.Millisecond)
	if c.Get.Slow > 0 {
		c.Get.Slow = agent.Duration(1100 * time.Millisecond)
	}
}

// patient waits for tasks that take so long.
func patient(j *Job) {
	j.Target.Timing.FirstEvent, j.Target.Timing.Task = 5*time.Second, 8*time.Second
}

// The same clocks do not excuse a stream that withholds the end.
func TestAClockThatIsOffDoesNotHideAStreamThatWithholds(t *testing.T) {
	t.Parallel()
	for _, quirks := range []string{"slow-clock", "zone-clock", "no-timestamps"} {
		t.Run(quirks, func(t *testing.T) {
			t.Parallel()
			a := with(agent.V10, strings.Fields("withheld-end "+quirks)...)
			check(t, runJob(t, jobFor(t, a.Start(t), trust.Streaming)), trust.Streaming,
				expectation{outcome: trust.Diverged, reason: trust.ReasonStreamClosedWithoutTerminalState})
		})
	}
}

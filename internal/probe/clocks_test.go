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
			job := jobFor(t, a.Start(t), trust.Streaming)
			job.Target.Timing.Settle = 1200 * time.Millisecond // a second look 400 ms after the end, when the task is over
			check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted})
		})
	}
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

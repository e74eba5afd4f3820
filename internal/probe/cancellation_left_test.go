package probe

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// A buffer on the way held the stream back almost to our deadline, and the cancel was answered after it: nobody was there to hear whether
// the work went on, so a zombie must not earn trust by that.
func TestACancelThatIsAnsweredAfterWeLeftEarnsNoTrust(t *testing.T) {
	const s = time.Second
	x := &tape{
		Streamed: true, Left: leftDeadline, LeftAt: 90 * s,
		Marks:   []mark{{At: 75 * s, Last: 75 * s, Count: 1, Kind: wire.KindTask, TaskID: "a", State: lifecycle.Working}},
		Cancels: []look{{Asked: 93 * s, At: 94 * s, Kind: wire.KindTask, ID: "a", State: lifecycle.Canceled}},
	}
	o := judgeCancellation(x, DefaultTiming())
	if o.Outcome != trust.Inconclusive || o.Reason != trust.ReasonProbeDeadlineExceeded {
		t.Errorf("%s %s: %s", o.Outcome, o.Reason, o.Message)
	}
}

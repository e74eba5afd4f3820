package hostile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// ceilingMB is how much more than before the process of a round may hold at any time, because of its peer. A round may read 16 MiB of a stream,
// and Go's heap grows to twice what is in use before it is collected.
const ceilingMB = 48 * raceFactor

// keptMB is how much of that may still be held with the report: a card, and connections to our receiver that have not yet timed out.
const keptMB = 8

// peer is one hostile peer.
type peer struct {
	name  string
	stand func(s *stand)
	// breaks are promises that it breaks in so many words, so that it may be Diverged. No trick of transport is among them.
	breaks []trust.Capability
	// sound: the peer does what it says, with a nuisance added, so it is Honored all the same.
	sound bool
}

// peak is the most that any peer of a test cost.
type peak struct {
	mu  sync.Mutex
	mb  float64
	who string
}

func (p *peak) see(name string, mb float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mb > p.mb {
		p.mb, p.who = mb, name
	}
}

// each probes each of the peers by a whole round, and sees that it could do no harm.
func each(t *testing.T, peers []peer) {
	t.Helper()
	var most peak
	t.Run("peers", func(t *testing.T) {
		for _, p := range peers {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				harmless(t, p, &most)
			})
		}
	})
	t.Logf("the most memory was used for %q: %.1f MiB", most.who, most.mb)
	t.Attr("peak_mb_per_hostile_peer", fmt.Sprintf("%.1f", most.mb))
}

func harmless(t *testing.T, p peer, most *peak) {
	t.Helper()
	s := newStand(t)
	s.Honest = honest(t)
	p.stand(s)
	o := probed(t, s.errand)
	mb := float64(o.PeakKB) / 1024
	most.see(p.name, mb)
	t.Logf("%.1f s of %.0f s, peak %.1f MiB, kept %d KiB, met %d times, %d tasks; reach %s", o.Took.Seconds(), o.Bound.Seconds(), mb, o.KeptKB,
		s.met.Load(), o.Tasks, o.Reach)
	defer func() {
		for c, what := range o.Observations {
			if t.Failed() {
				t.Logf("  %s: %s", c, what)
			}
		}
	}()
	if o.Warm != trust.Honored {
		t.Errorf("the honest agent was not even reached: %s", o.Warm)
	}
	if s.met.Load() == 0 {
		t.Error("the peer never got to do what it is there for, so nothing was tested")
	}
	if o.Took > o.Bound {
		t.Errorf("the round took %s, more than its bound %s", o.Took, o.Bound)
	}
	for _, c := range o.Diverged {
		if !slices.Contains(p.breaks, c) {
			t.Errorf("%s is Diverged: %s", c, o.Observations[c])
		}
	}
	if p.sound && (!strings.HasPrefix(o.Reach, string(trust.Honored)) || !strings.HasPrefix(o.Observations[trust.Streaming], string(trust.Honored))) {
		t.Errorf("it does what it says: reach %s, streaming %s", o.Reach, o.Observations[trust.Streaming])
	}
	if mb > ceilingMB {
		t.Errorf("the peer made us hold %.1f MiB, more than %d", mb, ceilingMB)
	}
	if o.KeptKB > keptMB<<10 {
		t.Errorf("the report holds %d KiB, more than %d MiB", o.KeptKB, keptMB)
	}
	if o.Left != "" {
		t.Errorf("goroutines stay behind: %s", o.Left)
	}
	if strings.Contains(o.Dump, canary) {
		t.Errorf("words of the peer are in the report: %.300s", o.Dump[max(0, strings.Index(o.Dump, canary)-100):])
	}
	if s.after != nil {
		s.after(t, o)
	}
}

// canary is in what peers say, and must not be in what is reported of them.
const canary = "hostilecanary"

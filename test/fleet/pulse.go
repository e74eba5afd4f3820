package fleet

import (
	"context"
	"sync"
	"time"
)

// pulse measures how late this process runs: a busy machine makes every peer look slow, and what comes of that is nobody's.
type pulse struct {
	mu   sync.Mutex
	lags [64]time.Duration
	at   [64]time.Time
	next int
}

// busyMachine is the fault of rounds in which this was so.
const busyMachine = "busy-machine"

const (
	beat = 10 * time.Millisecond
	// tooLate is more than the prober allows for (a tenth of a second) less what a round adds itself.
	tooLate = 60 * time.Millisecond
)

// run measures until ctx ends.
func (p *pulse) run(ctx context.Context) {
	t := time.NewTimer(beat)
	defer t.Stop()
	for last := time.Now(); ; {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		if lag := now.Sub(last) - beat; lag > beat {
			p.mu.Lock()
			p.lags[p.next], p.at[p.next] = lag, now
			p.next = (p.next + 1) % len(p.lags)
			p.mu.Unlock()
		}
		last = now
		t.Reset(beat)
	}
}

// worst is how late this process was at most, since then.
func (p *pulse) worst(since time.Time) (lag time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, d := range p.lags {
		if p.at[i].After(since) {
			lag = max(lag, d)
		}
	}
	return lag
}

// calm waits until the process has run on time for a moment, for some seconds at most.
func (p *pulse) calm(ctx context.Context) {
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && p.worst(time.Now().Add(-10*beat)) > tooLate/2; {
		t := time.NewTimer(5 * beat)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

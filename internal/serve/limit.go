package serve

import (
	"sync"
	"time"
)

// bucket lets so much through a second, and as much again in a burst.
type bucket struct {
	perSecond float64

	mu    sync.Mutex
	level float64 // of what was let through and has not drained
	last  time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = max(0, b.level-now.Sub(b.last).Seconds()*b.perSecond)
	b.last = now
	if b.level+1 > b.perSecond {
		return false
	}
	b.level++
	return true
}

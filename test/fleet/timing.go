package fleet

import (
	"time"

	"github.com/agentpeer/agentpeer/internal/probe"
)

// Scale is how many times shorter than in the world every duration is.
const Scale = 20

// shortened is the default timing, each duration divided by Scale. FirstEvent alone is longer: it bounds calls that answer at once, and a
// busy machine must not look like a silent peer.
func shortened() probe.Timing {
	t := probe.DefaultTiming()
	for _, d := range []*time.Duration{&t.Idle, &t.Grace, &t.Task, &t.Repeat, &t.Wait, &t.Hard, &t.Settle, &t.Late} {
		*d /= Scale
	}
	t.FirstEvent /= Scale / 2
	return t
}

package controllers

import (
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// fleetFuse shares one trust.Fuse among reconcilers that run beside each other.
type fleetFuse struct {
	mu   sync.Mutex
	fuse trust.Fuse
}

// observe notes a report before it is folded.
func (f *fleetFuse) observe(origin string, report *probe.Report, known trust.Peer, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fuse.Observe(origin, sighting(report.Round, known), now)
}

// blown says why rounds are held back; empty if they are not.
func (f *fleetFuse) blown(now time.Time) trust.Reason {
	f.mu.Lock()
	defer f.mu.Unlock()
	if blown, why := f.fuse.Blown(now); blown {
		return why
	}
	return ""
}

// sighting sums a round up for the fuse.
func sighting(round trust.Round, known trust.Peer) trust.Sighting {
	s := trust.Sighting{Inconclusive: round.Reach.Outcome == trust.Inconclusive}
	for _, o := range round.Observations {
		if o.Outcome == trust.Diverged {
			s.Contradiction = o.Reason
		}
	}
	for _, rec := range known.Records {
		s.Trusted = s.Trusted || rec.State == trust.Trusted
	}
	return s
}

// withheld is a round that the fuse does not let count: nothing was learned, for a reason that is not the peer's. It is
// paid for and used up, so that it is neither repeated at once nor remembered against anybody.
func withheld(r trust.Round, why trust.Reason) trust.Round {
	out := spent(r, r.Kind)
	for _, c := range r.Asked {
		out.Asked = append(out.Asked, c)
		out.Observations = append(out.Observations, trust.Observation{Capability: c, Outcome: trust.Inconclusive, Reason: why})
	}
	return out
}

package controllers

import (
	"net/url"
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

// observe notes a report before it is folded. The origin is the one that was asked, whatever the spec says now.
func (f *fleetFuse) observe(namespace string, report *probe.Report, known trust.Peer, now time.Time) {
	target, err := url.Parse(report.Target)
	if err != nil || target.Host == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fuse.Observe(namespace, originOf(target), sighting(report, known, now), now)
}

// withholds says why a report of a namespace is held back; empty if it is not. Proof never is.
func (f *fleetFuse) withholds(namespace string, report *probe.Report, now time.Time) trust.Reason {
	if trust.Proves(report.Round) {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, why := f.fuse.Blown(namespace, now)
	return why
}

// holds tells whether the rounds of a namespace are held back, so that nobody's word is taken for what may be our own trouble.
func (f *fleetFuse) holds(namespace string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	blown, _ := f.fuse.Blown(namespace, now)
	return blown
}

// blown is 1 while everybody's rounds are held back, and for how many namespaces theirs alone are.
func (f *fleetFuse) blown(now time.Time) (all, namespaces float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if blown, _ := f.fuse.Blown("", now); blown {
		all = 1
	}
	return all, float64(f.fuse.BlownFor(now))
}

// sighting sums a round up for the fuse.
func sighting(report *probe.Report, known trust.Peer, now time.Time) trust.Sighting {
	s := trust.Sighting{Inconclusive: report.Round.Reach.Outcome == trust.Inconclusive, Well: trust.WasWell(known, report.Target, now)}
	for _, o := range report.Round.Observations {
		if o.Outcome == trust.Diverged {
			s.Contradiction = o.Reason
		}
	}
	if known.Target != report.Target {
		return s // what was trusted is another
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

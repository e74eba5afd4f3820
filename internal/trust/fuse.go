package trust

import "time"

// Fuse tells our own trouble from that of the peers (design 4.8). While it is blown, rounds are not folded; expiry runs
// on. It is a plain value for one goroutine: whoever shares it locks it.
//
// It blows when, within Window (one cheap interval, 5 m),
//
//   - more than half of the origins heard from, and those at least 5, have turned inconclusive: they were fine before,
//     within MemoryOf; one that stays inconclusive turns no second time, so a lasting outage burns out within a Window and
//     then counts as what it is, Inconclusive, which accuses nobody; or
//
// within Spread (one behaviour interval, 1 h),
//
//   - at least 3 origins, and at least a fifth of those that were trusted within MemoryOf (24 h), show a contradiction of
//     the same reason: a change of our own is likelier than that they all broke alike.
//
// Counting is by origin, so that one server with many peers cannot blow it alone. At most MaxOrigins are remembered;
// beyond that, new ones are not counted until old ones are forgotten.
type Fuse struct {
	// Window and Spread as above; zero means 5 m and 1 h.
	Window, Spread time.Duration

	origins map[string]*originMemory
}

// The numbers of the fuse.
const (
	// MaxOrigins that a Fuse remembers.
	MaxOrigins = 10000
	// MemoryOf is how long an origin counts as lately fine or lately trusted.
	MemoryOf = day

	fuseOrigins        = 5 // heard from, at least
	fuseContradictions = 3 // origins showing the same, at least
	fuseShare          = 5 // one in five of those lately trusted
)

// Sighting is what one round of one origin showed.
type Sighting struct {
	// Inconclusive: the round taught nothing, for a reason that may be ours (unreachable, no card, panicked).
	Inconclusive bool
	// Contradiction is the reason of a divergence, empty if there was none.
	Contradiction Reason
	// Trusted: a capability of this peer was trusted before the round.
	Trusted bool
}

type originMemory struct {
	heard, fine, turned, trusted time.Time
	contradictions               map[Reason]time.Time
}

// Observe notes a round before it is folded, so that the round that blows the fuse is held back too.
func (f *Fuse) Observe(origin string, s Sighting, now time.Time) {
	o := f.origin(origin, now)
	if o == nil {
		return
	}
	switch {
	case !s.Inconclusive:
		o.fine, o.turned = now, time.Time{}
	case o.turned.IsZero() && now.Sub(o.fine) <= MemoryOf:
		o.turned = now
	}
	o.heard = now
	if s.Trusted {
		o.trusted = now
	}
	if s.Contradiction != "" {
		if o.contradictions == nil {
			o.contradictions = map[Reason]time.Time{}
		}
		o.contradictions[s.Contradiction] = now
	}
}

// Blown tells whether rounds should not be folded at now, and why: ReasonFleetInconclusive, or ReasonFleetContradiction.
func (f *Fuse) Blown(now time.Time) (bool, Reason) {
	heard, turned, trusted := 0, 0, 0
	same := map[Reason]int{}
	for _, o := range f.origins {
		if now.Sub(o.heard) <= f.window() {
			heard++
			if !o.turned.IsZero() && now.Sub(o.turned) <= f.window() {
				turned++
			}
		}
		if now.Sub(o.trusted) > MemoryOf {
			continue
		}
		trusted++
		for reason, at := range o.contradictions {
			if now.Sub(at) <= f.spread() {
				same[reason]++
			}
		}
	}
	if heard >= fuseOrigins && turned*2 > heard {
		return true, ReasonFleetInconclusive
	}
	for _, n := range same {
		if n >= fuseContradictions && n*fuseShare >= trusted {
			return true, ReasonFleetContradiction
		}
	}
	return false, ""
}

// origin finds or makes room for the memory of an origin; nil if there is none.
func (f *Fuse) origin(name string, now time.Time) *originMemory {
	if f.origins == nil {
		f.origins = map[string]*originMemory{}
	}
	if o := f.origins[name]; o != nil {
		return o
	}
	if len(f.origins) >= MaxOrigins {
		f.forget(now)
	}
	if len(f.origins) >= MaxOrigins {
		return nil
	}
	o := &originMemory{}
	f.origins[name] = o
	return o
}

// forget drops origins not heard from for as long as anything counts.
func (f *Fuse) forget(now time.Time) {
	for name, o := range f.origins {
		if now.Sub(o.heard) > MemoryOf {
			delete(f.origins, name)
		}
	}
}

func (f *Fuse) window() time.Duration {
	if f.Window > 0 {
		return f.Window
	}
	return 5 * time.Minute
}

func (f *Fuse) spread() time.Duration {
	if f.Spread > 0 {
		return f.Spread
	}
	return time.Hour
}

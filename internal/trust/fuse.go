package trust

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Fuse tells our own trouble from that of the peers (design 4.8). While it is blown, rounds that accuse or teach nothing are not folded;
// proof is, and expiry runs on. It is a plain value for one goroutine: whoever shares it locks it.
//
// It blows when, within Window (one cheap interval, 5 m),
//
//   - more than half of the origins heard from, and those at least 5, have turned inconclusive: the peer asked was well before. One that stays
//     inconclusive turns no second time, so a lasting outage burns out within a Window and then counts as what it is, Inconclusive, which
//     accuses nobody; one that comes and goes turns once per Spread; or
//
// within Spread (one behaviour interval, 1 h),
//
//   - at least 3 origins, and at least a fifth of those that were trusted within MemoryOf (24 h), show a contradiction of
//     the same reason: a change of our own is likelier than that they all broke alike.
//
// Counting is by origin, so that one server with many peers cannot blow it alone. But origins cost a tenant nothing, so the rule is applied
// twice: to what the peers of one namespace showed, which holds back that namespace's rounds alone, and to all, where no namespace counts for
// more than a third: fewer than three namespaces can hold back nobody else's. At most MaxOrigins are remembered, counted in each namespace that
// names them; beyond that, the namespace with most of them has to make room.
type Fuse struct {
	// Window and Spread as above; zero means 5 m and 1 h.
	Window, Spread time.Duration

	origins map[string]map[string]*originMemory // by origin and namespace; none is empty
	count   map[string]int                      // of origins, by namespace
	held    int                                 // the sum of count
}

// The numbers of the fuse.
const (
	// MaxOrigins that a Fuse remembers.
	MaxOrigins = 10000
	// MemoryOf is how long an origin counts as lately trusted, and how long ago a peer may have been well.
	MemoryOf = day
	// DoubtedTrust is how long trust in what a round contradicts lasts at most once the round was held back.
	DoubtedTrust = 3 * time.Hour

	fuseOrigins        = 5 // heard from, at least
	fuseContradictions = 3 // origins showing the same, at least
	fuseShare          = 5 // one in five of those lately trusted
)

// Sighting is what one round of one peer showed.
type Sighting struct {
	// Inconclusive: the round taught nothing, for a reason that may be ours (unreachable, no card, panicked).
	Inconclusive bool
	// Well: this peer was reached in the round before, at the very same target (WasWell). What never worked cannot turn.
	Well bool
	// Contradiction is the reason of a divergence, empty if there was none.
	Contradiction Reason
	// Trusted: a capability of this peer was trusted before the round.
	Trusted bool
}

// WasWell tells whether a peer was reached at target when it was last looked at, and that lately.
func WasWell(p Peer, target string, now time.Time) bool {
	return p.Target == target && p.Claims.Digest != "" && p.Rounds.ReachFailures == 0 && now.Sub(p.Rounds.LastCheap) <= MemoryOf
}

// Proves tells a round that shows nothing but promises kept. Our own trouble can make a good peer look bad, but nothing that we break makes
// one keep its promise, so this is folded whatever the fuse says.
func Proves(r Round) bool {
	unsigned := r.Signature.Result != "" && !r.Signature.stands()
	return r.Reach.Outcome == Honored && !unsigned && !slices.ContainsFunc(r.Observations, func(o Observation) bool { return o.Outcome != Honored })
}

// Doubted is a peer whose round was held back: what the round contradicts stays trusted for DoubtedTrust at most, so that nobody who
// lies in company is believed for as long as his trust was meant to last. A shorter time stays as it is.
func Doubted(p Peer, r Round, now time.Time) Peer {
	p.Records = slices.Clone(p.Records)
	for _, o := range r.Observations {
		for i := range p.Records {
			rec := &p.Records[i]
			if o.Outcome == Diverged && rec.Capability == o.Capability && rec.State == Trusted && rec.Expiration.After(now.Add(DoubtedTrust)) {
				rec.Expiration = now.Add(DoubtedTrust)
			}
		}
	}
	return p
}

// originMemory is what one namespace saw of one origin. again is when it may next turn.
type originMemory struct {
	heard, turned, again, trusted time.Time
	contradictions                map[Reason]time.Time
}

// Observe notes a round of a peer in a namespace before it is folded, so that the round that blows the fuse is held back too.
func (f *Fuse) Observe(namespace, origin string, s Sighting, now time.Time) {
	o := f.memory(namespace, origin, now)
	if o == nil {
		return
	}
	switch {
	case !s.Inconclusive:
		o.turned = time.Time{}
	case o.turned.IsZero() && s.Well && !now.Before(o.again):
		o.turned, o.again = now, now.Add(f.spread())
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

// Blown tells whether rounds of a namespace should be held back at now, and why: ReasonFleetInconclusive, or ReasonFleetContradiction. The
// empty namespace asks for what holds back everybody's.
func (f *Fuse) Blown(namespace string, now time.Time) (bool, Reason) {
	var own tally
	if namespace != "" {
		for _, seen := range f.origins {
			if o := seen[namespace]; o != nil {
				own.add(f.shows(o, now), tally{})
			}
		}
	}
	if why := own.blows(); why != "" {
		return true, why
	}
	all := f.all(now)
	why := all.blows()
	return why != "", why
}

// BlownFor is how many namespaces have their rounds held back for what their own peers showed.
func (f *Fuse) BlownFor(now time.Time) int {
	own := map[string]*tally{}
	for _, seen := range f.origins {
		for namespace, o := range seen {
			if own[namespace] == nil {
				own[namespace] = &tally{}
			}
			own[namespace].add(f.shows(o, now), tally{})
		}
	}
	n := 0
	for _, t := range own {
		if t.blows() != "" {
			n++
		}
	}
	return n
}

// tally is how many origins were heard from, turned inconclusive, were trusted, and show each contradiction.
type tally struct {
	heard, turned, trusted float64
	same                   map[Reason]float64
}

// blows applies the rule; empty if it does not.
func (t *tally) blows() Reason {
	heard, turned, trusted := t.heard, t.turned, t.trusted
	if heard >= fuseOrigins && turned*2 > heard {
		return ReasonFleetInconclusive
	}
	for _, n := range t.same {
		if n >= fuseContradictions && n*fuseShare >= trusted {
			return ReasonFleetContradiction
		}
	}
	return ""
}

// add counts what a namespace saw of one origin. Where several saw the same (shared, with their numbers), it counts once among them.
func (t *tally) add(seen, shared tally) {
	t.heard += seen.heard / max(1, shared.heard)
	t.turned += seen.turned / max(1, shared.turned)
	t.trusted += seen.trusted / max(1, shared.trusted)
	for reason, n := range seen.same {
		if t.same == nil {
			t.same = map[Reason]float64{}
		}
		t.same[reason] += n / max(1, shared.same[reason])
	}
}

// shows is what counts at now of what a namespace saw of one origin: each number is 0 or 1.
func (f *Fuse) shows(o *originMemory, now time.Time) (t tally) {
	if now.Sub(o.heard) <= f.window() {
		t.heard = 1
		if !o.turned.IsZero() && now.Sub(o.turned) <= f.window() {
			t.turned = 1
		}
	}
	if now.Sub(o.trusted) > MemoryOf {
		return t
	}
	t.trusted = 1
	for reason, at := range o.contradictions {
		if now.Sub(at) <= f.spread() {
			if t.same == nil {
				t.same = map[Reason]float64{}
			}
			t.same[reason] = 1
		}
	}
	return t
}

// all is the tally of all namespaces, in which none has more than a third of anything. A namespace whose origins are cut down to its share
// has what they show cut down alike.
func (f *Fuse) all(now time.Time) (sum tally) {
	parts := map[string]*tally{}
	for _, seen := range f.origins {
		var shared tally
		for _, o := range seen {
			shared.add(f.shows(o, now), tally{})
		}
		for namespace, o := range seen {
			if parts[namespace] == nil {
				parts[namespace] = &tally{}
			}
			parts[namespace].add(f.shows(o, now), shared)
		}
	}
	var heard, turned, trusted []float64
	same := map[Reason][]float64{}
	for _, t := range parts {
		heard, trusted = append(heard, t.heard), append(trusted, t.trusted)
	}
	mostHeard, mostTrusted := third(heard), third(trusted)
	for _, t := range parts {
		turned = append(turned, t.turned*scale(t.heard, mostHeard))
		for reason, n := range t.same {
			same[reason] = append(same[reason], n*scale(t.trusted, mostTrusted))
		}
	}
	sum = tally{heard: capped(heard), turned: capped(turned), trusted: capped(trusted), same: map[Reason]float64{}}
	for reason, list := range same {
		sum.same[reason] = capped(list)
	}
	return sum
}

// third is the greatest number such that if no part exceeds it, none is more than a third of them together; 0 for fewer than three parts.
func third(parts []float64) float64 {
	parts = slices.SortedFunc(slices.Values(parts), func(a, b float64) int { return cmp.Compare(b, a) })
	if len(parts) < 3 {
		return 0
	}
	others := 0.0
	for _, n := range parts[1:] {
		others += n
	}
	switch {
	case parts[0] <= others/2:
		return parts[0]
	case parts[1] <= others/2:
		return others / 2
	}
	return others - parts[1]
}

// capped sums parts of which none counts for more than a third. It rounds what adding fractions leaves behind.
func capped(parts []float64) (sum float64) {
	most := third(parts)
	for _, n := range parts {
		sum += min(n, most)
	}
	return math.Round(sum*1e6) / 1e6
}

// scale is the factor that brings n down to most.
func scale(n, most float64) float64 {
	if n <= most {
		return 1
	}
	return most / n
}

// memory finds or makes room for what a namespace saw of an origin; nil if there is none.
func (f *Fuse) memory(namespace, origin string, now time.Time) *originMemory {
	if f.origins == nil {
		f.origins, f.count = map[string]map[string]*originMemory{}, map[string]int{}
	}
	if o := f.origins[origin][namespace]; o != nil {
		return o
	}
	if f.held >= MaxOrigins {
		f.forget(now)
	}
	if f.held >= MaxOrigins && !f.makeRoom(namespace) {
		return nil
	}
	if f.origins[origin] == nil {
		f.origins[origin] = map[string]*originMemory{}
	}
	o := &originMemory{}
	f.origins[origin][namespace] = o
	f.count[namespace]++
	f.held++
	return o
}

// forget drops what was not heard from for as long as anything counts.
func (f *Fuse) forget(now time.Time) {
	for origin, seen := range f.origins {
		for namespace, o := range seen {
			if now.Sub(o.heard) > MemoryOf {
				f.drop(namespace, origin)
			}
		}
	}
}

// makeRoom drops the origin longest not heard from of the namespace that has most; false if that is the one that asks.
func (f *Fuse) makeRoom(asks string) bool {
	most := asks
	for namespace, n := range f.count {
		if n > f.count[most]+1 {
			most = namespace
		}
	}
	if most == asks {
		return false
	}
	oldest := ""
	for origin, seen := range f.origins {
		if o := seen[most]; o != nil && (oldest == "" || o.heard.Before(f.origins[oldest][most].heard)) {
			oldest = origin
		}
	}
	f.drop(most, oldest)
	return true
}

func (f *Fuse) drop(namespace, origin string) {
	delete(f.origins[origin], namespace)
	if len(f.origins[origin]) == 0 {
		delete(f.origins, origin)
	}
	if f.count[namespace]--; f.count[namespace] == 0 {
		delete(f.count, namespace)
	}
	f.held--
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

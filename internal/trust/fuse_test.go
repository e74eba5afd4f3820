package trust

import (
	"fmt"
	"testing"
	"time"
)

func TestCaseRulesFuse(t *testing.T) {
	fine, dead, never := Sighting{}, Sighting{Inconclusive: true, Well: true}, Sighting{Inconclusive: true}
	lie := Sighting{Contradiction: ReasonStreamEmpty, Trusted: true}
	good := Sighting{Trusted: true}
	all := func(f *Fuse, n int, s Sighting, at time.Duration) {
		for i := range n {
			f.Observe("team", fmt.Sprint("https://", i), s, epoch.Add(at))
		}
	}
	for name, c := range map[string]struct {
		happens func(*Fuse)
		at      time.Duration
		want    Reason
	}{
		"nothing seen": {func(*Fuse) {}, 0, ""},
		"three of five origins turn inconclusive within a cheap interval": {func(f *Fuse) {
			all(f, 5, fine, 0)
			all(f, 3, dead, 4*time.Minute)
		}, 4 * time.Minute, ReasonFleetInconclusive},
		"half of the origins are not over half": {func(f *Fuse) {
			all(f, 6, fine, 0)
			all(f, 3, dead, 4*time.Minute)
		}, 4 * time.Minute, ""},
		"four origins are too few": {func(f *Fuse) {
			all(f, 4, fine, 0)
			all(f, 4, dead, time.Minute)
		}, time.Minute, ""},
		"many peers of one origin count once": {func(f *Fuse) {
			all(f, 5, fine, 0)
			for range 50 {
				f.Observe("team", "https://0", dead, epoch.Add(time.Minute))
			}
		}, time.Minute, ""},
		"origins that were never fine do not turn": {func(f *Fuse) {
			all(f, 9, never, 0)
		}, 0, ""},
		"what comes and goes turns once an hour": {func(f *Fuse) {
			for i := range 12 {
				all(f, 9, dead, time.Duration(i)*4*time.Minute)
				all(f, 9, fine, time.Duration(i)*4*time.Minute+time.Minute)
			}
			all(f, 9, dead, 50*time.Minute)
		}, 50 * time.Minute, ""},
		"a lasting outage burns out": {func(f *Fuse) {
			all(f, 9, fine, 0)
			for i := range 6 {
				all(f, 9, dead, time.Duration(i+1)*5*time.Minute)
			}
		}, 30 * time.Minute, ""},
		"three of ten trusted origins show the same contradiction": {func(f *Fuse) {
			all(f, 10, good, 0)
			all(f, 3, lie, 40*time.Minute)
		}, 50 * time.Minute, ReasonFleetContradiction},
		"three of twenty are less than a fifth": {func(f *Fuse) {
			all(f, 20, good, 0)
			all(f, 3, lie, 40*time.Minute)
		}, 50 * time.Minute, ""},
		"two origins are too few": {func(f *Fuse) { all(f, 2, lie, 0) }, 0, ""},
		"liars that were never trusted do not count": {func(f *Fuse) {
			all(f, 5, Sighting{Contradiction: ReasonStreamEmpty}, 0)
		}, 0, ""},
		"contradictions an hour apart are no common cause": {func(f *Fuse) {
			all(f, 3, lie, 0)
		}, 61 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fuse
			c.happens(&f)
			blown, reason := f.Blown("team", epoch.Add(c.at))
			if reason != c.want || blown != (c.want != "") {
				t.Errorf("blown %v, %q, want %q", blown, reason, c.want)
			}
		})
	}
}

// A tenant makes origins for nothing, so what holds back others has to come from many.
func TestSecurityTenantsDoNotBlowTheFuseOfOthers(t *testing.T) {
	dead, good := Sighting{Inconclusive: true, Well: true}, Sighting{Trusted: true}
	lie := Sighting{Contradiction: ReasonStreamEmpty, Trusted: true}
	type sees struct {
		namespace string
		of        string // the prefix of its origins
		n         int
		s         Sighting
	}
	for name, c := range map[string]struct {
		seen      []sees
		evil, all Reason
	}{
		"three liars of one tenant": {[]sees{{"evil", "e", 3, lie}, {"a", "a", 3, good}, {"b", "b", 3, good}}, ReasonFleetContradiction, ""},
		"a crowd of liars of two tenants": {[]sees{{"evil", "e", 300, lie}, {"evil2", "f", 300, lie}, {"a", "a", 3, good}, {"b", "b", 3, good}},
			ReasonFleetContradiction, ""},
		"a crowd of dead of two tenants": {[]sees{{"evil", "e", 300, dead}, {"evil2", "f", 300, dead}, {"a", "a", 5, good}, {"b", "b", 5, good}},
			ReasonFleetInconclusive, ""},
		"a crowd beside one of others that fails": {[]sees{{"evil", "e", 300, lie}, {"evil2", "f", 300, lie}, {"a", "a", 1, lie}, {"b", "b", 17, good}},
			ReasonFleetContradiction, ""},
		"one tenant that names the origins of others": {[]sees{{"evil", "a", 9, dead}, {"a", "a", 9, good}, {"b", "b", 9, good}, {"c", "c", 9, good}},
			ReasonFleetInconclusive, ""},
		"three namespaces that lie alike": {[]sees{{"evil", "e", 1, lie}, {"a", "a", 1, lie}, {"b", "b", 1, lie}, {"c", "c", 9, good}}, ReasonFleetContradiction, ReasonFleetContradiction},
		"an outage of ours":               {[]sees{{"evil", "e", 100, dead}, {"a", "a", 2, dead}, {"b", "b", 2, dead}}, ReasonFleetInconclusive, ReasonFleetInconclusive},
		"an outage that one tenant would hide": {[]sees{{"evil", "e", 100, good}, {"a", "a", 4, dead}, {"b", "b", 4, dead}, {"c", "c", 4, dead}},
			ReasonFleetInconclusive, ReasonFleetInconclusive},
		"an outage that one tenant would hide at the same origins": {[]sees{{"evil", "a", 9, good}, {"a", "a", 3, dead}, {"b", "b", 3, dead}, {"c", "c", 3, dead}},
			ReasonFleetInconclusive, ReasonFleetInconclusive},
		"one liar that many namespaces name":   {[]sees{{"evil", "a", 1, lie}, {"a", "a", 1, lie}, {"b", "a", 1, lie}, {"c", "a", 1, lie}}, "", ""},
		"one server that many namespaces name": {[]sees{{"evil", "a", 1, dead}, {"a", "a", 1, dead}, {"b", "a", 1, dead}, {"c", "a", 1, dead}, {"d", "a", 1, dead}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fuse
			for _, s := range c.seen {
				for i := range s.n {
					f.Observe(s.namespace, fmt.Sprint("https://", s.of, i), s.s, epoch)
				}
			}
			if _, got := f.Blown("evil", epoch); got != c.evil {
				t.Errorf("for the namespace itself it is %q, want %q", got, c.evil)
			}
			if _, got := f.Blown("elsewhere", epoch); got != c.all {
				t.Errorf("for others it is %q, want %q", got, c.all)
			}
		})
	}
}

func TestNoPartCountsForMoreThanAThird(t *testing.T) {
	for _, c := range []struct {
		parts []float64
		want  float64
	}{
		{nil, 0}, {[]float64{5}, 0}, {[]float64{5, 9}, 0}, {[]float64{5, 9, 0}, 0}, {[]float64{1, 1, 1}, 3}, {[]float64{9, 1, 1}, 3}, {[]float64{9, 9, 1}, 3},
		{[]float64{6, 3, 3}, 9}, {[]float64{4, 3, 3, 2}, 12}, {[]float64{100, 5, 5, 2}, 18},
	} {
		if got := capped(c.parts); got != c.want {
			t.Errorf("%v: %v together, want %v", c.parts, got, c.want)
		}
	}
}

func TestOnlyWhatWasReachedAtTheSameTargetCanTurn(t *testing.T) {
	well := Peer{Target: "https://a/", Claims: Claims{Digest: "d"}, Rounds: Rounds{LastCheap: epoch}}
	if !WasWell(well, "https://a/", epoch.Add(time.Hour)) {
		t.Error("a peer that was reached an hour ago was not well")
	}
	fresh, failing := well, well
	fresh.Claims.Digest, failing.Rounds.ReachFailures = "", 1
	for name, got := range map[string]bool{
		"another path":              WasWell(well, "https://a/other", epoch.Add(time.Hour)),
		"a day and more ago":        WasWell(well, "https://a/", epoch.Add(25*time.Hour)),
		"an object without a round": WasWell(fresh, "https://a/", epoch.Add(time.Hour)),
		"one that failed already":   WasWell(failing, "https://a/", epoch.Add(time.Hour)),
	} {
		if got {
			t.Errorf("%s counts as well", name)
		}
	}
}

func TestProofIsARoundOfPromisesKept(t *testing.T) {
	honored := Observation{Outcome: Honored}
	for name, c := range map[string]struct {
		round Round
		want  bool
	}{
		"reached":                     {Round{Reach: honored}, true},
		"all kept":                    {Round{Reach: honored, Observations: []Observation{honored, honored}}, true},
		"one inconclusive":            {Round{Reach: honored, Observations: []Observation{honored, {Outcome: Inconclusive}}}, false},
		"one broken":                  {Round{Reach: honored, Observations: []Observation{{Outcome: Diverged}}}, false},
		"not reached":                 {Round{Reach: Observation{Outcome: Inconclusive}}, false},
		"a signature that stands":     {Round{Reach: honored, Signature: Signature{Result: SignatureVerified}}, true},
		"a signature that stands not": {Round{Reach: honored, Signature: Signature{Result: SignatureInvalid}}, false},
	} {
		if got := Proves(c.round); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDoubtOnlyShortensTrustInWhatIsContradicted(t *testing.T) {
	p := Peer{Records: []Record{{Capability: Lifecycle, State: Trusted, Expiration: epoch.Add(7 * day)}, {Capability: Streaming, State: Trusted, Expiration: epoch.Add(7 * day)}}}
	lie := Round{Observations: []Observation{{Capability: Streaming, Outcome: Diverged}, {Capability: Lifecycle, Outcome: Inconclusive}}}
	got := Doubted(Doubted(p, lie, epoch), lie, epoch.Add(time.Hour))
	if e := got.Records[1].Expiration; !e.Equal(epoch.Add(DoubtedTrust)) {
		t.Errorf("what is contradicted is trusted until %s, want %s after the first contradiction", e, DoubtedTrust)
	}
	if !got.Records[0].Expiration.Equal(epoch.Add(7*day)) || !p.Records[1].Expiration.Equal(epoch.Add(7*day)) {
		t.Errorf("trust in what is not contradicted changed, or the peer given did: %v, %v", got.Records[0].Expiration, p.Records[1].Expiration)
	}
}

func TestFuseRemembersABoundedNumberOfOrigins(t *testing.T) {
	var f Fuse
	for i := range MaxOrigins + 10 {
		f.Observe("crowd", fmt.Sprint(i), Sighting{}, epoch)
	}
	if len(f.origins) != MaxOrigins {
		t.Errorf("%d origins, want %d", len(f.origins), MaxOrigins)
	}
	f.Observe("other", "https://other", Sighting{}, epoch)
	if f.count["other"] != 1 || f.held != MaxOrigins {
		t.Errorf("another namespace has %d of %d, want room made by the crowd", f.count["other"], f.held)
	}
	f.Observe("crowd", "later", Sighting{}, epoch.Add(2*day))
	if len(f.origins) != 1 || f.held != 1 || len(f.count) != 1 {
		t.Errorf("%d origins after two days, want 1", len(f.origins))
	}
}

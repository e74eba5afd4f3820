package trust

import (
	"fmt"
	"testing"
	"time"
)

func TestCaseRulesFuse(t *testing.T) {
	fine, dead := Sighting{}, Sighting{Inconclusive: true}
	lie := Sighting{Contradiction: ReasonStreamEmpty, Trusted: true}
	good := Sighting{Trusted: true}
	all := func(f *Fuse, n int, s Sighting, at time.Duration) {
		for i := range n {
			f.Observe(fmt.Sprint("https://", i), s, epoch.Add(at))
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
				f.Observe("https://0", dead, epoch.Add(time.Minute))
			}
		}, time.Minute, ""},
		"origins that were never fine do not turn": {func(f *Fuse) {
			all(f, 9, dead, 0)
		}, 0, ""},
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
			blown, reason := f.Blown(epoch.Add(c.at))
			if reason != c.want || blown != (c.want != "") {
				t.Errorf("blown %v, %q, want %q", blown, reason, c.want)
			}
		})
	}
}

func TestFuseRemembersABoundedNumberOfOrigins(t *testing.T) {
	var f Fuse
	for i := range MaxOrigins + 10 {
		f.Observe(fmt.Sprint(i), Sighting{}, epoch)
	}
	if len(f.origins) != MaxOrigins {
		t.Errorf("%d origins, want %d", len(f.origins), MaxOrigins)
	}
	f.Observe("later", Sighting{}, epoch.Add(2*day))
	if len(f.origins) != 1 {
		t.Errorf("%d origins after two days, want 1", len(f.origins))
	}
}

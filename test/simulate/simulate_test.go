package simulate

import (
	"flag"
	"os"
	"reflect"
	"testing"
)

var (
	seed = flag.Uint64("seed", 0, "seed of the simulation; 0 draws one")
	days = flag.Int("days", 0, "peer-days to simulate; 0 means a few")
	only = flag.String("only", "", "profiles whose name holds this")
)

func TestNobodyIsAccusedFalselyAndNoLieIsMissed(t *testing.T) {
	o := Options{Seed: *seed, PeerDays: *days, Only: *only}
	if o.PeerDays == 0 {
		o.PeerDays = 600
	}
	if testing.Short() {
		o.PeerDays = 200
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		if err := r.Print(os.Stdout); err != nil {
			t.Fatal(err)
		}
	}
	if !r.Passed {
		t.Errorf("seed %d: %v", r.Seed, r.Notes)
	}
}

func TestTheSameSeedGivesTheSameResult(t *testing.T) {
	one, err := Run(t.Context(), Options{Seed: 7, PeerDays: 300, Workers: 1, Only: "three"})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Run(t.Context(), Options{Seed: 7, PeerDays: 300, Workers: 3, Only: "three"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range one.Profiles {
		a, b := one.Profiles[i], two.Profiles[i]
		a.notes, b.notes, a.took, b.took, a.rounds, b.rounds = nil, nil, nil, nil, nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: one worker counts %+v, three %+v", a.Name, a, b)
		}
	}
}

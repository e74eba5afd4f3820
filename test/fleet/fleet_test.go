package fleet

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A small fleet, so that the harness cannot rot: what is honest stays so, what lies is caught, and rounds teach something.
func TestASmallFleetIsJudgedRightly(t *testing.T) {
	t.Parallel()
	honest, err := Run(t.Context(), "honest", Few(Honest())[:4], Options{Seed: 1, Days: 0.5, Budget: 20 * time.Second, AtOnce: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range honest.Incidents {
		t.Error(i)
	}
	if honest.Rounds == 0 || honest.Conclusive*2 < honest.Rounds || honest.Peers != 4 || honest.PeerDays <= 0 {
		t.Errorf("the fleet has not lived: %+v", honest)
	}
	lie := Peer{Name: "empty-stream", Lie: &Lie{Tells: []agent.Option{agent.Is("empty-stream")}, About: trust.Streaming, Reasons: []trust.Reason{trust.ReasonStreamEmpty}}}
	liars, err := Run(t.Context(), "liars", []Peer{lie}, Options{Seed: 1, Days: 0.6, Budget: 30 * time.Second, AtOnce: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range liars.Incidents {
		t.Error(i)
	}
	if liars.Trials == 0 || liars.RoundsToDemote.Median < 2 {
		t.Errorf("the liar was not tried: %+v", liars)
	}
}

// An accusation of an honest peer must show: a liar that is called honest stands in for a prober that is wrong.
func TestAFalseDemotionIsCountedAndExplained(t *testing.T) {
	t.Parallel()
	p := Peer{Name: "called honest", Agent: []agent.Option{agent.Is("refuses-stream")}}
	r, err := Run(t.Context(), "honest", []Peer{p}, Options{Seed: 2, Days: 0.1, Budget: 20 * time.Second, AtOnce: 8})
	if err != nil {
		t.Fatal(err)
	}
	if r.FalseDemotions.Count == 0 || len(r.Incidents) == 0 {
		t.Fatalf("%+v", r)
	}
	if text := r.Incidents[0].String(); !strings.Contains(text, "called honest") || !strings.Contains(text, "StreamingRefused") || !strings.Contains(text, "-32004") {
		t.Errorf("the incident does not explain itself: %s", text)
	}
}

// A lie that the prober does not see must show too.
func TestAMissedLieIsCounted(t *testing.T) {
	t.Parallel()
	p := Peer{Name: "tells no lie", Lie: &Lie{About: trust.Streaming}}
	r, err := Run(t.Context(), "liars", []Peer{p}, Options{Seed: 3, Days: 1, Budget: 40 * time.Second, AtOnce: 8})
	if err != nil {
		t.Fatal(err)
	}
	if r.Missed == 0 {
		t.Errorf("%+v", r)
	}
}

func TestTheFleetsAreLargeAndDistinct(t *testing.T) {
	t.Parallel()
	for name, peers := range map[string][]Peer{"honest": Honest(), "liars": Liars()} {
		names, servers := map[string]bool{}, 0
		for _, p := range peers {
			names[p.Name] = true
			if p.SDK != "" {
				servers++
			}
		}
		if len(names) != len(peers) || len(names) < 25 {
			t.Errorf("%s: %d peers, %d names", name, len(peers), len(names))
		}
		if name == "honest" && servers < 13 {
			t.Errorf("%d servers on released SDKs", servers)
		}
	}
}

func TestTheUpperBoundIsPoissons(t *testing.T) {
	t.Parallel()
	for events, want := range map[int]float64{0: 2.996, 1: 4.744, 2: 6.296, 10: 16.962} {
		if got := upper95(events); math.Abs(got-want) > 0.002 {
			t.Errorf("%d events: %.3f, want %.3f", events, got, want)
		}
	}
}

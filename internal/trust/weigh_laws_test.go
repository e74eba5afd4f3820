package trust

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawTestimonies draws anything that up to so many witnesses may say.
func drawTestimonies(t *rapid.T, witnesses []string, now time.Time) []Testimony {
	seen := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "never") {
			return time.Time{}
		}
		return now.Add(-time.Duration(rapid.IntRange(-3*3600, 26*3600).Draw(t, "ago")) * time.Second)
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Testimony {
		return Testimony{
			Capability: rapid.SampledFrom(append(slices.Clone(gradable), StateTransitionHistory, "Telepathy")).Draw(t, "capability"),
			Witness:    rapid.SampledFrom(witnesses).Draw(t, "witness"),
			Target:     rapid.SampledFrom([]string{"target", "target", "other", ""}).Draw(t, "target"),
			Claims:     rapid.SampledFrom([]string{"a", "a", "a", "b", "c", ""}).Draw(t, "claims"),
			Diverged:   seen.Draw(t, "diverged"), Suspected: seen.Draw(t, "suspected"), Honored: seen.Draw(t, "honored"),
			Reason: rapid.SampledFrom([]Reason{ReasonStreamEmpty, "Nonsense", ""}).Draw(t, "reason"),
		}
	}), 0, 40).Draw(t, "testimonies")
}

func drawReportPolicy(t *rapid.T) ReportPolicy {
	return ReportPolicy{
		Mode:     rapid.SampledFrom([]ReportMode{ReportsDemote, ReportsDemote, ReportsProbe, ReportsIgnore}).Draw(t, "mode"),
		Quorum:   rapid.IntRange(1, 4).Draw(t, "quorum"),
		Window:   time.Duration(rapid.IntRange(1, 24*3600).Draw(t, "window")) * time.Second,
		Withheld: rapid.IntRange(0, 9).Draw(t, "withheld") == 0,
	}
}

// Whatever fewer witnesses than the quorum say, nothing that is known of a peer changes: no state, no expiration, no time of a next probe.
func TestCaseLawBelowTheQuorumReportsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rp := drawReportPolicy(t)
		rp.Quorum = max(rp.Quorum, 2)
		below := []string{"x/1", "x/2", "x/3"}[:rp.Quorum-1]
		drawHistory(t, func(_ Peer, _ Round, p Peer, _ []Transition, now time.Time) {
			next, ts, wanted := Weigh(p, drawTestimonies(t, below, now), rp, DefaultPolicy(), now)
			if diff := cmp.Diff(p, next); diff != "" || len(ts) > 0 {
				t.Fatalf("%d witnesses of a quorum of %d changed something: %v\n%s", len(below), rp.Quorum, ts, diff)
			}
			if !slices.IsSorted(wanted) || len(slices.Compact(slices.Clone(wanted))) != len(wanted) {
				t.Fatalf("wants %v, not sorted or doubled", wanted)
			}
		})
	})
}

// Whatever anybody says: nothing is promoted, only Demote demotes, and saying it twice changes nothing more.
func TestCaseLawsOfWeighing(t *testing.T) { rapid.Check(t, lawsOfWeighing) }

func FuzzWeigh(f *testing.F) { f.Fuzz(rapid.MakeFuzz(lawsOfWeighing)) }

func lawsOfWeighing(t *rapid.T) {
	rp, policy := drawReportPolicy(t), DefaultPolicy()
	var p Peer
	now := epoch
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		now = now.Add(time.Duration(rapid.IntRange(1, 3*3600).Draw(t, "wait")) * time.Second)
		p, _ = Lapse(p, now)
		if rapid.Bool().Draw(t, "round") {
			r := drawRound(t, p, now)
			r.Started = r.Finished.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "took")) * time.Second)
			r.Reported, r.Unmarked = rapid.Bool().Draw(t, "reported"), rapid.Bool().Draw(t, "unmarked")
			p, _, _ = Advance(p, "target", r, policy, now)
			lawful(t, p, now)
			continue
		}
		list := drawTestimonies(t, []string{"x/1", "x/2", "x/3", "x/4", "x/5"}, now)
		before := p.clone()
		next, ts, wanted := Weigh(p, list, rp, policy, now)
		if diff := cmp.Diff(before, p); diff != "" {
			t.Fatalf("Weigh changed its argument:\n%s", diff)
		}
		lawful(t, next, now)
		for _, x := range ts {
			if x.To != Demoted || x.Source != SourceReport || rp.Mode != ReportsDemote || rp.Withheld {
				t.Fatalf("reports with mode %s made %+v", rp.Mode, x)
			}
		}
		for i := range next.Records {
			carriedLawfully(t, &before.Records[i], &next.Records[i], rp, policy, now)
		}
		again, none, same := Weigh(next, list, rp, policy, now)
		if diff := cmp.Diff(next, again); diff != "" || len(none) > 0 || !slices.Equal(wanted, same) {
			t.Fatalf("weighing twice changed something: %v, %v then %v\n%s", none, wanted, same, diff)
		}
		p = next
	}
}

// carriedLawfully checks one record before and after reports were weighed.
func carriedLawfully(t *rapid.T, was, is *Record, rp ReportPolicy, policy Policy, now time.Time) {
	switch {
	case is.State != was.State && is.State != Demoted:
		t.Fatalf("reports made %s %s", is.Capability, is.State)
	case is.State == Trusted && !is.Expiration.Equal(was.Expiration) && (rp.Mode != ReportsDemote || is.Expiration.Before(was.Expiration) ||
		is.Expiration.After(was.Honored.Add(maxExtension*policy.Trust(is.Capability))) || was.suspected(policy, now) || was.Pairs.undecided()):
		t.Fatalf("reports carried %s from %v to %v: %+v", is.Capability, was.Expiration, is.Expiration, was)
	case is.Demotions != was.Demotions && (was.Reports.Lifted.IsZero() || is.Reason != ReasonProbesAndReportsDisagree):
		t.Fatalf("reports counted a demotion of %s: %+v", is.Capability, is)
	}
}

// One rogue below the quorum, who reports every minute for a week that all capabilities fail: an honest peer stays trusted, no renewal finds
// less budget than without him, and his rounds never leave users less than half of what is kept for requests.
func TestCaseLawARogueBelowTheQuorumCostsHalfTheRequestsAtMost(t *testing.T) {
	for seed := range uint64(seeds(6)) {
		plain, pestered := newSimulation(t, seed), newSimulation(t, seed)
		for _, s := range []*simulation{plain, pestered} {
			s.agent.inconclusive = 0.1
			s.in.Policy.SkipReachability = true
		}
		plain.run(epoch.Add(7*day), nil)
		for pestered.now.Before(epoch.Add(7 * day)) {
			pestered.in.Reported = nil
			var list []Testimony
			for _, c := range gradable {
				list = append(list, Testimony{Capability: c, Witness: "x/rogue", Target: pestered.peer.Target, Claims: "sha256:a", Diverged: pestered.now})
			}
			weighed, ts, wanted := Weigh(pestered.peer, list, demoting, pestered.in.Policy, pestered.now)
			if len(ts) > 0 || !reflect.DeepEqual(pestered.peer, weighed) { // sixty thousand times: cmp.Diff took minutes
				t.Fatalf("seed %d: one rogue did %+v", seed, ts)
			}
			pestered.in.Reported = wanted
			plan := Schedule(pestered.peer, pestered.in, pestered.now)
			if plan.At.After(pestered.now) {
				pestered.now = plan.At
				if next := pestered.now.Truncate(time.Minute).Add(time.Minute); plan.At.After(next) {
					pestered.now = next
				}
				var ts []Transition
				pestered.peer, ts = Lapse(pestered.peer, pestered.now)
				pestered.saw(ts)
				continue
			}
			if plan.Reported && pestered.peer.Rounds.total(pestered.peer.Rounds.RequestedTasks, pestered.now) > 12 {
				t.Fatalf("seed %d: a report brought a round with %v requested tasks spent", seed, pestered.peer.Rounds.RequestedTasks)
			}
			pestered.round(plan)
		}
		for _, x := range pestered.left {
			t.Errorf("seed %d: %s left Trusted: %s", seed, x.Capability, x.Reason)
		}
		own, others := 0, 0
		for _, s := range pestered.spent {
			if s.requested {
				own += s.tasks
			} else {
				others += s.tasks
			}
		}
		without := 0
		for _, s := range plain.spent {
			without += s.tasks
		}
		if own > 7*12+12 || own == 0 {
			t.Errorf("seed %d: his reports cost %d tasks in a week, want some and at most half a third of 72 a day", seed, own)
		}
		if others > without*11/10 {
			t.Errorf("seed %d: renewals cost %d tasks, without him %d", seed, others, without)
		}
		t.Logf("seed %d: renewals %d tasks, without him %d; his %d", seed, others, without, own)
	}
}

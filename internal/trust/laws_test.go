package trust

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

var anyReason = []Reason{ReasonStreamEmpty, ReasonStreamIntermittent, ReasonMessageOnly, ReasonAgentFailing, ReasonNoFixture,
	ReasonAuthenticationRequired, ReasonMethodNotFound, ReasonHonored, ReasonNoUsableInterface, ReasonUnreachable}

func drawObservation(t *rapid.T) Observation {
	obs := Observation{
		Capability:    rapid.SampledFrom(append(slices.Clone(gradable), StateTransitionHistory)).Draw(t, "capability"),
		Outcome:       rapid.SampledFrom([]Outcome{Honored, Honored, Diverged, Inconclusive}).Draw(t, "outcome"),
		Reason:        rapid.SampledFrom(anyReason).Draw(t, "reason"),
		Basis:         rapid.SampledFrom([]lifecycle.Basis{lifecycle.Card, lifecycle.Protocol, lifecycle.Deadline, lifecycle.Behaviour}).Draw(t, "basis"),
		Message:       rapid.StringN(0, 400, 600).Draw(t, "message"),
		Explicit:      rapid.Bool().Draw(t, "explicit"),
		Confirmed:     rapid.Bool().Draw(t, "confirmed"),
		ControlFailed: rapid.Bool().Draw(t, "control failed"),
		Warnings:      rapid.SliceOfN(rapid.SampledFrom(anyReason), 0, 12).Draw(t, "warnings"),
		Observed:      rapid.SliceOfN(rapid.StringN(0, 100, 200), 0, 30).Draw(t, "observed"),
		ProbedWith:    rapid.SliceOfN(rapid.StringN(0, 100, 200), 0, 12).Draw(t, "probed with"),
	}
	if rapid.Bool().Draw(t, "paired") {
		obs.Pair = &Pair{StreamFailed: rapid.Bool().Draw(t, "stream failed"), ControlFailed: rapid.Bool().Draw(t, "pair control failed"),
			Unexcused: rapid.Bool().Draw(t, "unexcused"), Alone: rapid.Bool().Draw(t, "alone")}
	}
	return obs
}

func drawRound(t *rapid.T, p Peer, now time.Time) Round {
	r := Round{
		Number:    p.Rounds.Last + 1,
		Kind:      rapid.SampledFrom([]RoundKind{Behavior, Behavior, Reachability}).Draw(t, "kind"),
		Finished:  now.Add(-time.Duration(rapid.IntRange(-60, 7200).Draw(t, "late")) * time.Second),
		Requested: rapid.Bool().Draw(t, "requested"),
		Usable:    rapid.Bool().Draw(t, "usable"),
		Tasks:     rapid.IntRange(0, 12).Draw(t, "tasks"),
		Reach:     Observation{Outcome: rapid.SampledFrom([]Outcome{Honored, Honored, Inconclusive, ""}).Draw(t, "reach"), Reason: ReasonUnreachable},
	}
	if digest := rapid.SampledFrom([]string{"", "a", "a", "a", "b", "c", "d", "e", "f"}).Draw(t, "digest"); digest != "" {
		r.Claims = declaringAll(digest)
		r.Claims.Declared[Streaming] = rapid.SampledFrom([]Declaration{Declared, Declared, Declared, NotDeclared}).Draw(t, "declared")
		r.Claims.Legacy = rapid.Bool().Draw(t, "legacy")
		r.Claims.NoCapabilities = rapid.Bool().Draw(t, "no capabilities")
	}
	if r.Kind == Behavior {
		for range rapid.IntRange(0, 4).Draw(t, "observations") {
			r.Observations = append(r.Observations, drawObservation(t))
		}
		r.Asked = rapid.SliceOfN(rapid.SampledFrom(gradable), 0, 3).Draw(t, "asked")
	}
	return r
}

// lawful checks what must hold of every Peer.
func lawful(t *rapid.T, p Peer, now time.Time) {
	if len(p.Digests) > MaxDigests || len(p.Rounds.Tasks) > buckets || len(p.Rounds.RequestedTasks) > buckets || len(p.Records) > 10 {
		t.Fatalf("unbounded: %d digests, %d hours, %d records", len(p.Digests), len(p.Rounds.Tasks), len(p.Records))
	}
	if !slices.IsSortedFunc(p.Records, func(a, b Record) int { return cmpString(a.Capability, b.Capability) }) {
		t.Fatalf("records are not sorted")
	}
	for _, r := range p.Records {
		switch {
		case r.State == Trusted && !r.Expiration.After(now):
			t.Fatalf("%s: trust outlives its expiration %v at %v", r.Capability, r.Expiration, now)
		case r.State != Trusted && !r.Expiration.IsZero():
			t.Fatalf("%s: %s with an expiration", r.Capability, r.State)
		case r.State != Unverified && !r.owed():
			t.Fatalf("%s: %s and not declared", r.Capability, r.State)
		case r.Reason == "" || r.State == "":
			t.Fatalf("%s: state %q without reason %q", r.Capability, r.State, r.Reason)
		case len(r.Recent) > Window || len(r.Observed) > maxSeen || len(r.Warnings) > maxWarnings || len(r.Message) > maxMessage || len(r.ProbedWith) > maxKeys:
			t.Fatalf("%s: unbounded record", r.Capability)
		case r.State != Demoted && len(r.Warnings) == 0 && (r.Message != "" || len(r.Observed) > 0):
			t.Fatalf("%s: evidence kept though all is well", r.Capability)
		case r.Pairs.Score < scoreFloor:
			t.Fatalf("%s: score %d below the floor", r.Capability, r.Pairs.Score)
		}
	}
}

func cmpString(a, b Capability) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func drawHistory(t *rapid.T, each func(before Peer, r Round, after Peer, ts []Transition, now time.Time)) {
	var p Peer
	now := epoch
	for range rapid.IntRange(1, 25).Draw(t, "rounds") {
		now = now.Add(time.Duration(rapid.IntRange(1, 5*3600).Draw(t, "wait")) * time.Second)
		p, _ = Lapse(p, now)
		r := drawRound(t, p, now)
		next, ts, folded := Advance(p, "target", r, DefaultPolicy(), now)
		if !folded {
			t.Fatalf("round %d not folded after %d", r.Number, p.Rounds.Last)
		}
		if each != nil {
			each(p, r, next, ts, now)
		}
		p = next
	}
}

func TestCaseLawsOfFolding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawHistory(t, func(before Peer, r Round, after Peer, ts []Transition, now time.Time) {
			lawful(t, after, now)
			copied := before.clone()
			Advance(before, "target", r, DefaultPolicy(), now)
			if diff := cmp.Diff(copied, before); diff != "" {
				t.Fatalf("Advance changed its argument:\n%s", diff)
			}
			again, none, folded := Advance(after, "target", r, DefaultPolicy(), now)
			if folded || len(none) > 0 || cmp.Diff(after, again) != "" {
				t.Fatalf("folding round %d twice changed something", r.Number)
			}
			oneSoftContradictionNeverDemotes(t, before, r, after)
			inconclusiveMovesNoStreak(t, before, r, after)
		})
	})
}

// oneSoftContradictionNeverDemotes a capability without remembered contradictions or a comparison in progress.
func oneSoftContradictionNeverDemotes(t *rapid.T, before Peer, r Round, after Peer) {
	for i := range after.Records {
		rec := &after.Records[i]
		was := before.record(rec.Capability)
		if rec.State != Demoted || was != nil && was.State == Demoted {
			continue
		}
		clean := was == nil || !slices.ContainsFunc(was.Recent, func(x Result) bool { return x.Outcome == Diverged }) && !was.Pairs.open()
		for _, obs := range r.Observations {
			if obs.Capability == rec.Capability {
				if clean && !(obs.Explicit && obs.Confirmed) {
					t.Fatalf("one soft contradiction demoted %s: %+v", rec.Capability, obs)
				}
				if obs.Outcome == Diverged && obs.Basis != lifecycle.Card && obs.Basis != lifecycle.Protocol {
					t.Fatalf("basis %s demoted %s", obs.Basis, rec.Capability)
				}
				break
			}
		}
	}
}

func inconclusiveMovesNoStreak(t *rapid.T, before Peer, r Round, after Peer) {
	if r.Claims.Digest != "" && before.Claims.Digest != r.Claims.Digest {
		return
	}
	for _, obs := range r.Observations {
		was, rec := before.record(obs.Capability), after.record(obs.Capability)
		first := slices.IndexFunc(r.Observations, func(o Observation) bool { return o.Capability == obs.Capability })
		if obs.Outcome != Inconclusive || was == nil || rec == nil || !rec.owed() || !was.owed() || r.Observations[first].Outcome != Inconclusive {
			continue
		}
		if diff := cmp.Diff(was.Recent, rec.Recent); diff != "" || was.Clean != rec.Clean && rec.State == was.State {
			t.Fatalf("an inconclusive answer moved a streak of %s:\n%s", obs.Capability, diff)
		}
	}
}

// A peer remembered in JSON and read back is the same peer, and one that is well is small.
func TestAHealthyPeerIsSmall(t *testing.T) {
	s := newSimulation(t, 1)
	s.run(epoch.Add(2*day), nil)
	raw, err := json.Marshal(s.peer.Records)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range s.peer.Records {
		if rec.Message != "" || rec.Observed != nil || rec.Warnings != nil {
			t.Errorf("%s keeps evidence though all is well: %+v", rec.Capability, rec)
		}
	}
	if len(s.peer.Digests) != 1 || len(s.peer.Digests[0].Held) != 0 {
		t.Errorf("digests %+v, want the current one alone", s.peer.Digests)
	}
	t.Logf("%d bytes of records with Go's names and no omitted fields", len(raw))
}

// However rounds are planned and whatever they find, no 24 h see more tasks than the budget, and no requested round
// spends more than a third.
func TestCaseLawTheBudgetIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := DefaultPolicy()
		policy.MaxTasksPerDay = rapid.IntRange(0, 80).Draw(t, "budget")
		in := PlanInput{Policy: policy, Seed: rapid.Uint64().Draw(t, "seed"), Cost: worst, CostControl: rapid.IntRange(0, 1).Draw(t, "control")}
		in.Reported = rapid.SliceOfN(rapid.SampledFrom(gradable), 0, 3).Draw(t, "reported")
		var p Peer
		now, spent := epoch, []spending{}
		for range rapid.IntRange(1, 80).Draw(t, "plans") {
			in.Requested = rapid.Bool().Draw(t, "requested")
			plan := Schedule(p, in, now)
			if plan.At.IsZero() {
				break
			}
			now = later(now, plan.At).Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "late")) * time.Second)
			if plan = Schedule(p, in, now); plan.At.After(now) {
				continue
			}
			r := Round{Number: p.Rounds.Last + 1, Kind: plan.Kind, Requested: plan.Requested, Finished: now, Asked: plan.Ask, Usable: true,
				Claims: declaringAll("a"), Reach: Observation{Outcome: Honored, Reason: ReasonHonored}}
			most := 0
			for _, c := range plan.Ask {
				most += worst[c]
				obs := drawObservation(t)
				obs.Capability = c
				r.Observations = append(r.Observations, obs)
			}
			if plan.Control {
				most += in.CostControl
			}
			r.Tasks = rapid.IntRange(0, most).Draw(t, "tasks")
			spent = append(spent, spending{now, r.Tasks, false})
			p, _, _ = Advance(p, "target", r, policy, now)
			sum := 0
			for _, s := range spent {
				if s.at.After(now.Add(-day)) {
					sum += s.tasks
				}
			}
			if sum > policy.MaxTasksPerDay {
				t.Fatalf("%d tasks in 24 h, budget %d", sum, policy.MaxTasksPerDay)
			}
		}
	})
}

func FuzzAdvance(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		drawHistory(t, func(_ Peer, _ Round, after Peer, _ []Transition, now time.Time) {
			lawful(t, after, now)
			Decide(after, DecideInput{}, now)
			if plan := Schedule(after, PlanInput{Policy: DefaultPolicy(), Cost: worst}, now); plan.Kind == Behavior && len(plan.Ask) == 0 {
				t.Fatalf("a behaviour round that asks nothing: %s", fmt.Sprint(plan))
			}
		})
	}))
}

// Users had asked for their share of the tasks, and trust in streams ran out: what rescues it was paced by what they had spent, and afforded
// less than an ordinary renewal.
func TestCaseLawWhatIsUrgentAffordsWhatARenewalDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rounds{TasksHour: epoch, Tasks: rapid.SliceOfN(rapid.IntRange(0, 12), 1, buckets).Draw(t, "tasks")}
		for _, n := range r.Tasks {
			r.RequestedTasks = append(r.RequestedTasks, rapid.IntRange(0, n).Draw(t, "requested"))
		}
		cost, now := rapid.IntRange(0, 9).Draw(t, "cost"), epoch.Add(time.Minute)
		if !r.affords(cost, 0, 72, renewals, now) {
			return
		}
		for name, s := range map[string]share{"rescue": rescues, "confirmation": confirmations} {
			if !r.affords(cost, 0, 72, s, now) {
				t.Fatalf("a renewal of %d tasks is afforded and a %s is not", cost, name)
			}
		}
	})
}

package trust

import (
	"slices"
	"testing"
	"time"
)

// streamer is a peer that declares streaming and the capabilities given, after one behaviour round that honoured them all.
func streamer(t *testing.T, declared []Capability, observed ...Observation) (Peer, time.Time) {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	claims := Claims{Digest: "sha256:1", Declared: map[Capability]Declaration{Streaming: Declared}}
	for _, c := range declared {
		claims.Declared[c] = Declared
	}
	honored := Observation{Outcome: Honored, Reason: ReasonHonored}
	round := Round{Number: 1, Kind: Behavior, Finished: now, Claims: claims, Reach: honored, Usable: true}
	honored.Capability = Streaming
	round.Observations = append(observed, honored)
	p, _, folded := Advance(Peer{Target: "x"}, "x", round, DefaultPolicy(), now)
	if !folded {
		t.Fatal("the round was not folded")
	}
	return p, now
}

func unlearned(c Capability, r Reason) Observation {
	return Observation{Capability: c, Outcome: Inconclusive, Reason: r, Message: "why"}
}

func TestAPeerThatDeclaresStreamingAloneIsTrustedByIt(t *testing.T) {
	for name, tc := range map[string]struct {
		declared []Capability
		observed []Observation
		required []Capability
		want     Truth
	}{
		"behaviours that no card declares do not count": {observed: []Observation{
			unlearned(Resubscription, ReasonNoFixture), unlearned(InputModes, ReasonAgentFailing), unlearned(ExtendedAgentCard, ReasonNotDeclared)}, want: True},
		"an extended card without credentials does not count": {declared: []Capability{ExtendedAgentCard},
			observed: []Observation{unlearned(ExtendedAgentCard, ReasonNoCredentials)}, want: True},
		"unless it is required": {declared: []Capability{ExtendedAgentCard}, required: []Capability{ExtendedAgentCard},
			observed: []Observation{unlearned(ExtendedAgentCard, ReasonNoCredentials)}, want: Unknown},
		"one that could be asked and was not answered counts": {declared: []Capability{ExtendedAgentCard},
			observed: []Observation{unlearned(ExtendedAgentCard, ReasonAgentFailing)}, want: Unknown},
		"stateTransitionHistory is never graded": {declared: []Capability{StateTransitionHistory}, want: True},
	} {
		t.Run(name, func(t *testing.T) {
			p, now := streamer(t, tc.declared, tc.observed...)
			if got := AllTrusted(p, tc.required, now); got.Status != tc.want {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

// Three answers that were Messages pause what needs tasks, and what those rounds learn without a task does not end the pause.
func TestWhatNeedsNoTaskDoesNotEndThePauseOfAPeerOfMessages(t *testing.T) {
	var p Peer
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	claims := Claims{Digest: "sha256:1", Declared: map[Capability]Declaration{Streaming: Declared, ExtendedAgentCard: Declared}}
	honored := func(c Capability) Observation {
		return Observation{Capability: c, Outcome: Honored, Reason: ReasonHonored}
	}
	for n := int64(1); n <= MessageOnlyAfter; n++ {
		p, _, _ = Advance(p, "x", Round{Number: n, Kind: Behavior, Finished: now, Claims: claims, Reach: honored(""), Usable: true,
			Observations: []Observation{honored(Streaming), honored(InputModes), honored(ExtendedAgentCard), unlearned(TaskRetrieval, ReasonMessageOnly)}},
			DefaultPolicy(), now)
		now = now.Add(time.Hour)
	}
	if p.Rounds.MessageOnly != MessageOnlyAfter {
		t.Fatalf("%d answers in a row were Messages, want %d", p.Rounds.MessageOnly, MessageOnlyAfter)
	}
	cost := map[Capability]int{Streaming: 3, TaskRetrieval: 2, InputModes: 8, ExtendedAgentCard: 0}
	plan := Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: cost}, now.Add(6*time.Hour))
	if !slices.Equal(plan.Ask, []Capability{Streaming}) {
		t.Errorf("the plan is %+v, want Streaming alone", plan)
	}
}

// What nobody declared and costs nothing joins a round on its cadence, and never makes one.
func TestTheUndeclaredIsAskedAside(t *testing.T) {
	p, now := streamer(t, nil)
	cost := map[Capability]int{Streaming: 3, ExtendedAgentCard: 0, PushNotifications: 3}
	plan := Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: cost}, now.Add(2*time.Hour))
	if want := []Capability{ExtendedAgentCard, Streaming}; !slices.Equal(plan.Ask, want) {
		t.Errorf("the first round after asks %v, want %v", plan.Ask, want)
	}
	works := Observation{Capability: ExtendedAgentCard, Outcome: Honored, Reason: ReasonHonored}
	p, now = streamer(t, nil, works)
	rec, _ := p.find(ExtendedAgentCard)
	if rec.State != Unverified || !slices.Equal(rec.Warnings, []Reason{WarnUndeclaredButWorks}) {
		t.Errorf("%+v, want it Unverified and the finding said", rec)
	}
	if plan := Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: cost}, now.Add(2*time.Hour)); slices.Contains(plan.Ask, ExtendedAgentCard) {
		t.Errorf("it is asked again two hours later: %v", plan.Ask)
	}
	if plan := Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: map[Capability]int{ExtendedAgentCard: 0}}, now.Add(48*time.Hour)); plan.Kind != Reachability {
		t.Errorf("it makes a round of its own: %+v", plan)
	}
}

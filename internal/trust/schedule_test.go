package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// settled is a peer whose capabilities were all honoured at epoch.
func settled() Peer {
	r := Round{Number: 1, Kind: Behavior, Finished: epoch, Claims: declaringAll("a"), Usable: true,
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}, Tasks: 6}
	for _, c := range gradable {
		r.Observations = append(r.Observations, Observation{Capability: c, Outcome: Honored, Reason: ReasonHonored})
	}
	p, _, _ := Advance(Peer{}, "t", r, DefaultPolicy(), epoch)
	return p
}

// justMet is a peer whose first round, of Streaming alone, was folded at epoch.
func justMet() Peer {
	r := Round{Number: 1, Kind: Behavior, Finished: epoch, Claims: declaringAll("a"), Usable: true, Asked: []Capability{Streaming},
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}, Tasks: 2,
		Observations: []Observation{{Capability: Streaming, Outcome: Honored, Reason: ReasonHonored}}}
	p, _, _ := Advance(Peer{}, "t", r, DefaultPolicy(), epoch)
	return p
}

// caughtAtOnce is a peer whose first round contradicted its card.
func caughtAtOnce() Peer {
	r := Round{Number: 1, Kind: Behavior, Finished: epoch, Claims: declaringAll("a"), Usable: true, Asked: []Capability{Streaming},
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}, Tasks: 2,
		Observations: []Observation{{Capability: Streaming, Outcome: Diverged, Reason: ReasonStreamEmpty, Basis: lifecycle.Card}}}
	p, _, _ := Advance(Peer{}, "t", r, DefaultPolicy(), epoch)
	return p
}

func without(list []Capability, gone Capability) (rest []Capability) {
	for _, c := range list {
		if c != gone {
			rest = append(rest, c)
		}
	}
	return rest
}

func TestCaseRulesSchedule(t *testing.T) {
	minutes := func(n float64) time.Time { return epoch.Add(time.Duration(n * float64(time.Minute))) }
	for name, c := range map[string]struct {
		reason  string
		peer    Peer
		change  func(*Peer, *PlanInput)
		now     time.Time
		kind    RoundKind
		from    time.Time // zero: never
		to      time.Time
		ask     []Capability // nil: not looked at
		control bool
		why     Reason
	}{
		"a peer never seen": {
			reason: "The first round starts at once and asks what a path is decided by, with the control; jitter is for later.",
			peer:   Peer{}, now: epoch, kind: Behavior, from: epoch, to: epoch, ask: []Capability{Streaming}, control: true,
		},
		"a peer just met": {
			reason: "Everything else is asked soon after, in the second round; Streaming waits for its interval.",
			peer:   justMet(), now: epoch, kind: Behavior, from: minutes(0.5), to: minutes(0.5), ask: without(gradable, Streaming),
		},
		"a peer caught at first sight": {
			reason: "The rest is asked soon, Streaming is not: two contradictions seconds apart are one incident seen twice.",
			peer:   caughtAtOnce(), now: epoch, kind: Behavior, from: minutes(0.5), to: minutes(0.5), ask: without(gradable, Streaming),
		},
		"suspended": {
			reason: "Never.",
			peer:   Peer{}, change: func(_ *Peer, in *PlanInput) { in.Suspended = true }, now: epoch,
		},
		"all well": {
			reason: "A cheap round between behaviour rounds.",
			peer:   settled(), now: epoch, kind: Reachability, from: minutes(4.75), to: minutes(5.25),
		},
		"all well and cheap rounds off": {
			reason: "Streaming every interval, the rest every sixth.",
			peer:   settled(), change: func(_ *Peer, in *PlanInput) { in.Policy.SkipReachability = true }, now: epoch,
			kind: Behavior, from: minutes(57), to: minutes(63), ask: []Capability{Streaming},
		},
		"the sixth interval": {
			reason: "What is due is asked in one round, so that tasks are shared.",
			peer:   settled(), change: func(_ *Peer, in *PlanInput) { in.Policy.SkipReachability = true }, now: minutes(6*60 + 20),
			kind: Behavior, from: minutes(57), to: minutes(63), ask: gradable,
		},
		"asked for": {
			reason: "A round now, of everything.",
			peer:   settled(), change: func(_ *Peer, in *PlanInput) { in.Requested = true }, now: minutes(3),
			kind: Behavior, from: minutes(3), to: minutes(3), ask: gradable,
		},
		"asked for when the third of the budget for that is spent": {
			reason: "The round waits, and says why.",
			peer:   settled(),
			change: func(p *Peer, in *PlanInput) {
				in.Requested = true
				p.Rounds.spend(epoch, 24, true)
			},
			now: minutes(3), kind: Reachability, from: minutes(4.75), to: minutes(5.25), why: ReasonBudgetExhausted,
		},
		"unreachable": {
			reason: "Behaviour is not asked of a peer that does not answer.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) { p.Rounds.ReachFailures, p.Rounds.ReachReason = 1, ReasonUnreachable },
			now:    minutes(90), kind: Reachability, from: minutes(4.75), to: minutes(5.25), why: ReasonUnreachable,
		},
		"unreachable for days (C100)": {
			reason: "A lasting failure is looked at once an interval.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) { p.Rounds.ReachFailures, p.Rounds.ReachReason = 500, ReasonUnreachable },
			now:    epoch, kind: Reachability, from: minutes(57), to: minutes(63), why: ReasonUnreachable,
		},
		"credentials missing for days": {
			reason: "401 backs off to daily.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) {
				p.Rounds.ReachFailures, p.Rounds.ReachReason = 500, ReasonAuthenticationRequired
			},
			now: epoch, kind: Reachability, from: minutes(22 * 60), to: minutes(26 * 60), why: ReasonAuthenticationRequired,
		},
		"credentials rejected for days": {
			reason: "401 backs off to daily, with credentials too.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) {
				p.Rounds.ReachFailures, p.Rounds.ReachReason = 500, ReasonCredentialsRejected
			},
			now: epoch, kind: Reachability, from: minutes(22 * 60), to: minutes(26 * 60), why: ReasonCredentialsRejected,
		},
		"no access token for days": {
			reason: "A token endpoint mends itself, so it is looked at once an interval.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) {
				p.Rounds.ReachFailures, p.Rounds.ReachReason = 500, ReasonTokenUnavailable
			},
			now: epoch, kind: Reachability, from: minutes(57), to: minutes(63), why: ReasonTokenUnavailable,
		},
		"no usable interface": {
			reason: "Only the card can change that, and the cheap round reads it.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) { p.Rounds.Usable, p.Rounds.UsableReason = false, ReasonNoUsableInterface },
			now:    minutes(90), kind: Reachability, from: minutes(4.75), to: minutes(5.25), why: ReasonNoUsableInterface,
		},
		"three answers that were Messages": {
			reason: "Task probes are skipped until the card changes; streaming is still asked.",
			peer:   settled(),
			change: func(p *Peer, in *PlanInput) { p.Rounds.MessageOnly, in.Policy.SkipReachability = 3, true },
			now:    minutes(6*60 + 20), kind: Behavior, from: minutes(57), to: minutes(63), ask: []Capability{Streaming},
		},
		"three answers that were Messages, to streaming too": {
			reason: "Nothing is left to ask but the card.",
			peer:   settled(),
			change: func(p *Peer, _ *PlanInput) {
				p.Rounds.MessageOnly = 3
				p.record(Streaming).LastReason = ReasonMessageOnly
			},
			now: minutes(90), kind: Reachability, from: minutes(4.75), to: minutes(5.25), why: ReasonMessageOnly,
		},
		"a round whose time is unknown": {
			reason: "Due at random within the interval, not at once: a fleet may have lost its times together.",
			peer:   Peer{Target: "t", Rounds: Rounds{Last: 7}}, now: epoch, kind: Behavior, from: minutes(-6), to: minutes(60), ask: []Capability{Streaming}, control: true,
			change: func(_ *Peer, in *PlanInput) { in.Policy.SkipReachability = true },
		},
		"a capability without fixture": {
			reason: "It joins a round, so that its reason is known, but is not worth one.",
			peer:   settled(),
			change: func(p *Peer, in *PlanInput) {
				in.Policy.SkipReachability = true
				in.Fixtures = map[Capability]bool{Streaming: true}
				p.record(Continuation).NextProbe = minutes(1)
			},
			now: minutes(2), kind: Behavior, from: minutes(57), to: minutes(63), ask: []Capability{Continuation, Streaming},
		},
		"no budget at all": {
			reason: "Cheap rounds cost nothing and go on.",
			peer:   Peer{}, change: func(_ *Peer, in *PlanInput) { in.Policy.MaxTasksPerDay = 0; delete(in.Cost, ExtendedAgentCard) },
			now: epoch, kind: Reachability, from: minutes(-60), to: minutes(60), why: ReasonBudgetExhausted,
		},
		"a contradiction of one capability (design 4.4)": {
			reason: "That capability comes forward, whatever its cadence, and alone.",
			peer: func() Peer {
				r := Round{Number: 2, Kind: Behavior, Finished: minutes(1), Claims: declaringAll("a"), Usable: true, Observations: []Observation{
					{Capability: Continuation, Outcome: Diverged, Reason: ReasonTaskIDChangedOnContinuation, Basis: "Protocol"}}}
				p, _, _ := Advance(settled(), "t", r, DefaultPolicy(), minutes(1))
				return p
			}(),
			now: minutes(1), kind: Behavior, from: minutes(2.9), to: minutes(3.1), ask: []Capability{Continuation},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cost := map[Capability]int{}
			for k, v := range worst {
				cost[k] = v
			}
			in := PlanInput{Policy: DefaultPolicy(), Seed: 42, Cost: cost}
			if c.change != nil {
				c.change(&c.peer, &in)
			}
			plan := Schedule(c.peer, in, c.now)
			if c.from.IsZero() {
				if !plan.At.IsZero() {
					t.Errorf("%s\nplanned %+v, want nothing", c.reason, plan)
				}
				return
			}
			if plan.Kind != c.kind || plan.At.Before(c.from) || plan.At.After(c.to) || plan.Control != c.control || plan.Reason != c.why {
				t.Errorf("%s\nplanned %+v, want %s between %v and %v, control %v, reason %q", c.reason, plan, c.kind, c.from, c.to, c.control, c.why)
			}
			if c.ask != nil && !slices.Equal(plan.Ask, c.ask) {
				t.Errorf("%s\nasks %v, want %v", c.reason, plan.Ask, c.ask)
			}
		})
	}
}

func TestScheduleSpreadsPeersAndSaysTheSameTwice(t *testing.T) {
	p, seen := settled(), map[time.Time]bool{}
	for seed := range uint64(50) {
		in := PlanInput{Policy: DefaultPolicy(), Seed: seed, Cost: worst}
		in.Policy.SkipReachability = true
		plan := Schedule(p, in, epoch)
		if again := Schedule(p, in, epoch.Add(time.Minute)); !again.At.Equal(plan.At) {
			t.Errorf("seed %d: due at %v, a minute later at %v", seed, plan.At, again.At)
		}
		seen[plan.At] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 peers are due at %d times, want them spread", len(seen))
	}
}

// A contradiction is confirmed confirmInterval after it, never sooner: jitter moves it later only.
func TestCaseRulesNoConfirmationComesEarly(t *testing.T) {
	at := func(m float64) time.Time { return epoch.Add(time.Duration(m * float64(time.Minute))) }
	r := Round{Number: 2, Kind: Behavior, Finished: at(1), Claims: declaringAll("a"), Usable: true, Observations: []Observation{
		{Capability: Continuation, Outcome: Diverged, Reason: ReasonTaskIDChangedOnContinuation, Basis: "Protocol"}}}
	p, _, _ := Advance(settled(), "t", r, DefaultPolicy(), at(1))
	for seed := range uint64(50) {
		plan := Schedule(p, PlanInput{Policy: DefaultPolicy(), Seed: seed, Cost: worst}, at(1))
		if plan.At.Before(at(3)) || plan.At.After(at(3.1)) {
			t.Errorf("seed %d: confirmed at %v, want within 6 s after %v", seed, plan.At, at(3))
		}
	}
}

// What can wait leaves room at once and not only in the 24 hours: else Streaming, whose trust is short, waits for its pace and runs out.
func TestCaseRulesWhatCanWaitLeavesRoomAtOnce(t *testing.T) {
	planned := func(c Capability, spent int) Plan {
		p := settled()
		for i := range p.Records {
			if rec := &p.Records[i]; rec.Capability == c {
				rec.NextProbe = epoch.Add(time.Hour)
			} else {
				rec.NextProbe = epoch.Add(day)
			}
		}
		p.Rounds.spend(epoch.Add(50*time.Minute), spent, false)
		in := PlanInput{Policy: DefaultPolicy(), Cost: worst}
		in.Policy.SkipReachability = true
		return Schedule(p, in, epoch.Add(time.Hour))
	}
	soon := epoch.Add(70 * time.Minute)
	for _, c := range []Capability{Streaming, Cancellation} {
		if got := planned(c, 0); !slices.Contains(got.Ask, c) || got.At.After(soon) {
			t.Errorf("planned %+v, want %s asked at once where little was spent", got, c)
		}
	}
	if got := planned(Streaming, 5); got.At.After(soon) || got.Reason != "" {
		t.Errorf("planned %+v, want Streaming asked at once", got)
	}
	if got := planned(Cancellation, 5); !got.At.After(soon) || got.Reason != ReasonBudgetExhausted {
		t.Errorf("planned %+v, want Cancellation to wait", got)
	}
}

// A thousand agents behind one address, applied at once: some found all the connections to it taken, and were asked again only when their interval
// was over, for a bound that is ours.
func TestCaseRulesAPeerThatWeHadNoRoomForIsAskedSoon(t *testing.T) {
	policy := DefaultPolicy()
	policy.Interval, policy.ReachabilityInterval = day, day
	in := PlanInput{Policy: policy, Cost: worst, Seed: 7}
	var p Peer
	now := epoch
	for n, longest := range []time.Duration{35 * time.Second, 70 * time.Second, 140 * time.Second} {
		r := Round{Number: int64(n + 1), Kind: Reachability, Finished: now, Reach: Observation{Outcome: Inconclusive, Reason: ReasonTooManyConnections}}
		if n == 0 { // the first round of a peer is meant to ask everything
			r.Kind = Behavior
			for _, c := range gradable {
				r.Observations = append(r.Observations, Observation{Capability: c, Outcome: Inconclusive, Reason: ReasonTooManyConnections})
			}
		}
		var folded bool
		p, _, folded = Advance(p, "t", r, policy, now)
		if !folded {
			t.Fatal("not folded")
		}
		plan := Schedule(p, in, now)
		if gap := plan.At.Sub(now); gap <= longest/3 || gap > longest {
			t.Fatalf("after %d rounds without room: planned %+v, %v later, want within %v", n+1, plan, gap, longest)
		}
		now = plan.At
	}
	p, _, _ = Advance(p, "t", Round{Number: 4, Kind: Reachability, Finished: now, Claims: declaringAll("a"), Usable: true,
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}}, policy, now)
	if plan := Schedule(p, in, now); plan.Kind != Behavior || plan.At.After(now.Add(policy.ConfirmInterval)) || !slices.Contains(plan.Ask, Streaming) {
		t.Errorf("once there is room: planned %+v, want Streaming asked at once", plan)
	}
}

// A short budget spaces rounds evenly: it never bursts and goes silent.
func TestAShortBudgetSpacesRoundsEvenly(t *testing.T) {
	s := newSimulation(t, 3)
	s.in.Policy.SkipReachability = true
	s.in.Policy.MaxTasksPerDay = 15
	s.run(epoch.Add(2*day), nil)
	s.longestWait = 0
	s.run(epoch.Add(5*day), nil)
	if s.longestWait > 6*time.Hour {
		t.Errorf("%v without a behaviour round, want them spaced evenly", s.longestWait)
	}
}

// Streams that are demoted are asked ever more rarely; what is asked in between is asked without them.
func TestRoundsBesideDemotedStreamsGoWithoutThem(t *testing.T) {
	p := settled()
	for i := range p.Records {
		rec := &p.Records[i]
		rec.NextProbe = epoch.Add(day)
		switch rec.Capability {
		case Streaming:
			rec.State = Demoted
		case Cancellation:
			rec.NextProbe = epoch.Add(time.Hour)
		}
	}
	plan := func(p Peer) Plan {
		return Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: worst}, epoch.Add(2*time.Hour))
	}
	if got := plan(p); got.Kind != Behavior || !got.SingleShot {
		t.Errorf("planned %+v, want a round without streams", got)
	}
	p.record(Streaming).NextProbe = epoch.Add(time.Hour)
	if got := plan(p); !slices.Contains(got.Ask, Streaming) || got.SingleShot {
		t.Errorf("planned %+v, want streams asked", got)
	}
	p.record(Streaming).NextProbe, p.record(Streaming).Source = epoch.Add(day), SourceReport
	if got := plan(p); got.SingleShot {
		t.Errorf("planned %+v, want streams to be used although somebody reports that they fail", got)
	}
	p.record(Streaming).State, p.record(Streaming).Source = Trusted, ""
	if got := plan(p); got.SingleShot {
		t.Errorf("planned %+v, want streams to be used", got)
	}
}

// A demoted peer got rounds of Resubscription alone, again and again, that could ask nothing: without streams there is none to pick up.
func TestCaseRulesResubscriptionWaitsForStreams(t *testing.T) {
	p := settled()
	for i := range p.Records {
		p.Records[i].NextProbe = epoch.Add(day)
	}
	p.record(Streaming).State = Demoted
	p.record(Resubscription).NextProbe = epoch.Add(time.Hour)
	plan := func() Plan {
		return Schedule(p, PlanInput{Policy: DefaultPolicy(), Cost: worst}, epoch.Add(2*time.Hour))
	}
	if got := plan(); got.Kind == Behavior && !got.At.After(epoch.Add(2*time.Hour)) {
		t.Errorf("planned %+v, want no round that could ask nothing", got)
	}
	p.record(Cancellation).NextProbe = epoch.Add(time.Hour)
	if got := plan(); !slices.Equal(got.Ask, []Capability{Cancellation}) || !got.SingleShot {
		t.Errorf("planned %+v, want Cancellation by itself", got)
	}
	p.record(Streaming).NextProbe = epoch.Add(time.Hour)
	if got := plan(); !slices.Contains(got.Ask, Streaming) || !slices.Contains(got.Ask, Resubscription) {
		t.Errorf("planned %+v, want streams asked, and picking one up with them", got)
	}
	p.record(Streaming).NextProbe, p.record(Streaming).State = epoch.Add(day), Trusted
	if got := plan(); !slices.Contains(got.Ask, Resubscription) {
		t.Errorf("planned %+v, want Resubscription asked", got)
	}
}

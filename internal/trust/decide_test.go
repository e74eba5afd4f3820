package trust

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trusting is a peer that holds live trust for an hour in each of the capabilities.
func trusting(caps ...Capability) Peer {
	p := Peer{Target: "t", Claims: declaringAll("a"), Digests: []Digest{{Digest: "a", LastSeen: epoch}},
		Rounds: Rounds{Last: 3, Usable: true, UsableReason: ReasonHonored, LastTime: epoch}}
	for _, c := range gradable {
		rec := Record{Capability: c, State: Unverified, Reason: ReasonNotExercised}
		if !c.Core() {
			rec.Declared = Declared
		}
		for _, trusted := range caps {
			if trusted == c {
				rec.State, rec.Reason, rec.Expiration = Trusted, ReasonHonored, epoch.Add(time.Hour)
			}
		}
		p.Records = append(p.Records, rec)
	}
	return p
}

func TestCaseRulesDecide(t *testing.T) {
	fallback := Decision{Path: PathSingleShot, MultiTurn: AllInputsUpfront, Cancel: BestEffort, Updates: Poll}
	with := func(change func(*Decision)) Decision {
		d := fallback
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		reason string
		peer   Peer
		in     DecideInput
		now    time.Time
		want   Decision
	}{
		"a peer never asked": {
			reason: "Nothing is known; the card is a hint only.",
			want:   with(func(d *Decision) { d.Reason = ReasonNotProbed }),
		},
		"live trust in everything": {
			reason: "Each answer rests on its own capability, and the earliest end of trust ends the decision.",
			peer: func() Peer {
				p := trusting(Streaming, Continuation, Cancellation, PushNotifications)
				p.record(Cancellation).Expiration = epoch.Add(time.Minute)
				return p
			}(),
			want: Decision{Path: PathStreaming, MultiTurn: Interactive, Cancel: Reliable, Updates: Push, Reason: ReasonStreamingTrusted,
				Expiration: epoch.Add(time.Minute)},
		},
		"trust past its expiration that nobody has written down": {
			reason: "Readers see it lapse by the clock alone: streaming only on live trust.",
			peer:   trusting(Streaming),
			now:    epoch.Add(time.Hour),
			want:   with(func(d *Decision) { d.Reason = ReasonTrustExpired }),
		},
		"a peer that we cannot reach": {
			reason: "Never Unavailable: the caller has its own path and finds a dead peer faster than we do.",
			peer: func() Peer {
				p := trusting()
				p.Rounds.ReachFailures, p.Rounds.ReachReason = 50, ReasonAuthenticationRequired
				return p
			}(),
			want: with(func(d *Decision) { d.Reason = ReasonAuthenticationRequired }),
		},
		"a peer that just became unreachable while trusted": {
			reason: "Live trust holds until it runs out.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.Rounds.ReachFailures, p.Rounds.ReachReason = 5, ReasonUnreachable
				return p
			}(),
			want: with(func(d *Decision) {
				d.Path, d.Reason, d.Expiration = PathStreaming, ReasonStreamingTrusted, epoch.Add(time.Hour)
			}),
		},
		"a card that names no interface we can use (C99)": {
			reason: "One of the four reasons for Unavailable.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.Rounds.Usable, p.Rounds.UsableReason = false, ReasonNoUsableInterface
				return p
			}(),
			want: with(func(d *Decision) { d.Path, d.Reason = PathUnavailable, ReasonNoUsableInterface }),
		},
		"every method refused and confirmed (C35)": {
			reason: "Whichever capability was asked says so.",
			peer: func() Peer {
				p := trusting(Streaming)
				r := p.record(TaskRetrieval)
				r.State, r.Reason = Demoted, ReasonMethodNotFound
				return p
			}(),
			want: with(func(d *Decision) { d.Path, d.Reason = PathUnavailable, ReasonMethodNotFound }),
		},
		"the only interface speaks another generation, confirmed": {
			reason: "A caller that follows the card cannot use it at all (C37), and no other interface is left.",
			peer: func() Peer {
				p := trusting(TaskRetrieval)
				r := p.record(Streaming)
				r.State, r.Reason = Demoted, ReasonProtocolGenerationMismatch
				p.Rounds.Usable, p.Rounds.UsableReason = false, ReasonProtocolGenerationMismatch
				return p
			}(),
			want: with(func(d *Decision) { d.Path, d.Reason = PathUnavailable, ReasonProtocolGenerationMismatch }),
		},
		"one of two interfaces speaks another generation": {
			reason: "The other one goes on being used.",
			peer: func() Peer {
				p := trusting(TaskRetrieval)
				r := p.record(Streaming)
				r.State, r.Reason = Demoted, ReasonProtocolGenerationMismatch
				return p
			}(),
			want: with(func(d *Decision) { d.Reason = ReasonStreamingDemoted }),
		},
		"a method not found once": {
			reason: "Unconfirmed: not Unavailable.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.record(TaskRetrieval).Reason = ReasonMethodNotFound
				return p
			}(),
			want: with(func(d *Decision) {
				d.Path, d.Reason, d.Expiration = PathStreaming, ReasonStreamingTrusted, epoch.Add(time.Hour)
			}),
		},
		"another claim set seen within two intervals is not trusted": {
			reason: "The worst of the claim sets seen lately: half the traffic may meet the other build.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.Digests = append(p.Digests, Digest{Digest: "b", LastSeen: epoch.Add(-time.Hour)})
				return p
			}(),
			want: with(func(d *Decision) { d.Reason = ReasonClaimsUnsettled }),
		},
		"another claim set, trusted for less long": {
			reason: "The earliest end of trust that matters.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.Digests = append(p.Digests, Digest{Digest: "b", LastSeen: epoch.Add(-time.Hour),
					Held: []Held{{Streaming, Trusted, epoch.Add(time.Minute)}}})
				return p
			}(),
			want: with(func(d *Decision) {
				d.Path, d.Reason, d.Expiration = PathStreaming, ReasonStreamingTrusted, epoch.Add(time.Minute)
			}),
		},
		"another claim set, seen long ago": {
			reason: "Two intervals later it no longer matters, and an interval may be shorter than the default.",
			peer: func() Peer {
				p := trusting(Streaming)
				p.Digests = append(p.Digests, Digest{Digest: "b", LastSeen: epoch.Add(-time.Hour)})
				return p
			}(),
			in: DecideInput{Interval: 10 * time.Minute},
			want: with(func(d *Decision) {
				d.Path, d.Reason, d.Expiration = PathStreaming, ReasonStreamingTrusted, epoch.Add(time.Hour)
			}),
		},
		"never reached": {
			reason: "No card was read, so nothing is undeclared: what the round said is why.",
			peer:   neverReached(ReasonUnreachable),
			want:   with(func(d *Decision) { d.Reason = ReasonUnreachable }),
		},
		"never reached, and for another reason since": {
			reason: "The last round knows best.",
			peer:   neverReached(ReasonUnreachable, ReasonAuthenticationRequired),
			want:   with(func(d *Decision) { d.Reason = ReasonAuthenticationRequired }),
		},
		"mode Observe": {
			reason: "The card decides, and beside it stands what Enforce would have said.",
			peer: func() Peer {
				p := trusting(Continuation)
				r := p.record(Streaming)
				r.State, r.Reason = Demoted, ReasonStreamEmpty
				return p
			}(),
			in: DecideInput{Observe: true},
			want: Decision{Path: PathStreaming, MultiTurn: Interactive, Cancel: Reliable, Updates: Push, Reason: ReasonObserveOnly,
				Would: &Decision{Path: PathSingleShot, MultiTurn: Interactive, Cancel: BestEffort, Updates: Poll,
					Reason: ReasonStreamingDemoted, Expiration: epoch.Add(time.Hour)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := c.now
			if now.IsZero() {
				now = epoch
			}
			if diff := cmp.Diff(c.want, Decide(c.peer, c.in, now)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// neverReached is a peer whose card was never read: one behaviour round, then cheap ones, each failing for its reason.
func neverReached(reasons ...Reason) Peer {
	var p Peer
	for i, why := range reasons {
		r := Round{Number: int64(i + 1), Kind: Reachability, Finished: epoch, Reach: Observation{Outcome: Inconclusive, Reason: why}}
		if i == 0 {
			r.Kind, r.Asked = Behavior, []Capability{Streaming}
		}
		p, _, _ = Advance(p, "t", r, DefaultPolicy(), epoch)
	}
	return p
}

func TestCaseRulesFacts(t *testing.T) {
	demoted := func(p Peer, c Capability) Peer {
		r := p.record(c)
		r.State, r.Reason, r.Expiration = Demoted, ReasonStreamEmpty, time.Time{}
		return p
	}
	noFixture := func(p Peer, c Capability) Peer {
		p.record(c).Reason = ReasonNoFixture
		return p
	}
	undeclared := func(p Peer, c Capability) Peer {
		r := p.record(c)
		r.Declared, r.State, r.Reason = NotDeclared, Unverified, ReasonNotDeclared
		return p
	}
	declared := []Capability{Streaming, PushNotifications, ExtendedAgentCard}
	for name, c := range map[string]struct {
		peer     Peer
		required []Capability
		trusted  Fact
		met      Fact
	}{
		"a peer never asked, nothing required": {
			trusted: Fact{Status: Unknown, Reason: ReasonNotProbed},
			met:     Fact{Status: True, Reason: ReasonRequirementsMet},
		},
		"an agent that was never reached, nothing required": {
			peer:    neverReached(ReasonUnreachable),
			trusted: Fact{Status: Unknown, Reason: ReasonUnreachable},
			met:     Fact{Status: True, Reason: ReasonRequirementsMet},
		},
		"an agent that was never reached, streaming required: no card was read, so nothing is refuted": {
			peer:     neverReached(ReasonUnreachable),
			required: []Capability{Streaming},
			trusted:  Fact{Unknown, Streaming, ReasonUnreachable},
			met:      Fact{Unknown, Streaming, ReasonUnreachable},
		},
		"an agent that wants credentials since: what the last round said, not the first": {
			peer:     neverReached(ReasonUnreachable, ReasonAuthenticationRequired),
			required: []Capability{Streaming, Cancellation},
			trusted:  Fact{Unknown, Cancellation, ReasonAuthenticationRequired},
			met:      Fact{Unknown, Cancellation, ReasonAuthenticationRequired},
		},
		"a peer never asked, streaming required": {
			required: []Capability{Streaming},
			trusted:  Fact{Unknown, Streaming, ReasonNotExercised},
			met:      Fact{Unknown, Streaming, ReasonNotExercised},
		},
		"all that is declared is trusted": {
			peer:    trusting(declared...),
			trusted: Fact{Status: True, Reason: ReasonAllTrusted},
			met:     Fact{Status: True, Reason: ReasonRequirementsMet},
		},
		"what cannot be asked for want of a fixture does not count": {
			peer:    noFixture(trusting(Streaming, ExtendedAgentCard), PushNotifications),
			trusted: Fact{Status: True, Reason: ReasonAllTrusted},
			met:     Fact{Status: True, Reason: ReasonRequirementsMet},
		},
		"unless it is required": {
			peer:     noFixture(trusting(declared...), Continuation),
			required: []Capability{Continuation},
			trusted:  Fact{Unknown, Continuation, ReasonNoFixture},
			met:      Fact{Unknown, Continuation, ReasonNoFixture},
		},
		"one declared capability is demoted": {
			peer:     demoted(trusting(declared...), Streaming),
			required: []Capability{Continuation},
			trusted:  Fact{False, Streaming, ReasonStreamEmpty},
			met:      Fact{Unknown, Continuation, ReasonNotExercised},
		},
		"a demoted core behaviour counts where it is required": {
			peer:     demoted(trusting(declared...), Lifecycle),
			required: []Capability{Lifecycle},
			trusted:  Fact{False, Lifecycle, ReasonStreamEmpty},
			met:      Fact{False, Lifecycle, ReasonStreamEmpty},
		},
		"a required capability that the card does not declare is unmet": {
			peer:     undeclared(trusting(declared...), PushNotifications),
			required: []Capability{Streaming, PushNotifications},
			trusted:  Fact{Unknown, PushNotifications, ReasonNotDeclared},
			met:      Fact{False, PushNotifications, ReasonNotDeclared},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AllTrusted(c.peer, c.required, epoch); got != c.trusted {
				t.Errorf("AllTrusted %+v, want %+v", got, c.trusted)
			}
			if got := Requirements(c.peer, c.required, epoch); got != c.met {
				t.Errorf("Requirements %+v, want %+v", got, c.met)
			}
		})
	}
	if got := AllTrusted(trusting(declared...), nil, epoch.Add(time.Hour)); got != (Fact{Unknown, ExtendedAgentCard, ReasonTrustExpired}) {
		t.Errorf("trust that ran out unwritten: %+v", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	p := trusting(gradable...)
	p.Digests = append(p.Digests, Digest{Digest: "b", LastSeen: epoch, Held: []Held{{Streaming, Trusted, epoch.Add(time.Hour)}}})
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(p, DecideInput{}, epoch); d.Path != PathStreaming {
			b.Fatalf("decided %+v", d)
		}
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	p := trusting(gradable...)
	if n := testing.AllocsPerRun(100, func() { Decide(p, DecideInput{}, epoch) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// A spec that cannot be used may name anybody: what was learned of the peer that it named before counts for nothing, in any mode.
func TestSecuritySignatureAndTrustAreWorthNothingUnderAnotherSpec(t *testing.T) {
	now := epoch
	live := now.Add(time.Hour)
	p := Peer{
		Claims:    Claims{Digest: "sha256:1", Declared: map[Capability]Declaration{Streaming: Declared}},
		Rounds:    Rounds{Last: 1, Usable: true},
		Records:   []Record{{Capability: Streaming, Declared: Declared, State: Trusted, Expiration: live}},
		Signature: Signature{Result: SignatureVerified, Reason: ReasonSignatureVerified, Expiration: live},
	}
	for name, tc := range map[string]struct {
		in   DecideInput
		want Decision
	}{
		"enforced":             {DecideInput{Baseless: "InvalidSpec"}, unproven(PathSingleShot, "InvalidSpec")},
		"observed":             {DecideInput{Baseless: "InvalidSpec", Observe: true}, unproven(PathSingleShot, "InvalidSpec")},
		"to be signed":         {DecideInput{Baseless: "InvalidSpec", RequireSignature: true}, unproven(PathUnavailable, "InvalidSpec")},
		"to be signed, usable": {DecideInput{RequireSignature: true}, Decision{PathStreaming, AllInputsUpfront, BestEffort, Poll, ReasonStreamingTrusted, live, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(p, tc.in, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package client

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// trusted is a peer that may be streamed to until now plus a minute.
func trusted() *v1alpha1.AgentPeer {
	return &v1alpha1.AgentPeer{
		ObjectMeta: metav1.ObjectMeta{Generation: 3},
		Spec:       v1alpha1.AgentPeerSpec{URL: "https://planner.example.com/a2a"},
		Status: v1alpha1.AgentPeerStatus{
			ObservedGeneration: 3, Target: "https://planner.example.com/a2a",
			Decision: &v1alpha1.Decision{
				Choice: v1alpha1.Choice{
					Path: v1alpha1.PathStreaming, MultiTurn: v1alpha1.MultiTurnInteractive, Cancel: v1alpha1.CancelReliable,
					Updates: v1alpha1.UpdatesPush, Reason: "StreamingTrusted"},
				ExpirationTime: &metav1.Time{Time: now.Add(time.Minute)},
				Deadlines:      v1alpha1.Deadlines{Wait: &metav1.Duration{Duration: 10 * time.Second}},
			},
		},
	}
}

func safe(reason v1alpha1.Reason, wait time.Duration) Decision {
	return Decision{Path: "SingleShot", MultiTurn: "AllInputsUpfront", Cancel: "BestEffort", Updates: "Poll", Reason: reason,
		Wait: wait, Hard: DefaultHard}
}

func TestCaseRulesReadersDecide(t *testing.T) {
	change := func(f func(*v1alpha1.AgentPeer)) *v1alpha1.AgentPeer {
		p := trusted()
		f(p)
		return p
	}
	tests := map[string]struct {
		peer   *v1alpha1.AgentPeer
		now    time.Time
		want   Decision
		reason string
	}{
		"live trust is followed": {
			peer: trusted(), now: now,
			want: Decision{Path: "Streaming", MultiTurn: "Interactive", Cancel: "Reliable", Updates: "Push", Reason: "StreamingTrusted",
				Expiration: now.Add(time.Minute), Wait: 10 * time.Second, Hard: DefaultHard},
			reason: "the operator vouches for it",
		},
		"trust ends at the very moment": {
			peer: trusted(), now: now.Add(time.Minute), want: safe(ReasonTrustExpired, 10*time.Second),
			reason: "the operator may be dead, and nothing else would say so",
		},
		"an edit that leaves the target alone stops nothing": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Generation = 4 }), now: now,
			want: Decision{Path: "Streaming", MultiTurn: "Interactive", Cancel: "Reliable", Updates: "Push", Reason: "StreamingTrusted",
				Expiration: now.Add(time.Minute), Wait: 10 * time.Second, Hard: DefaultHard},
			reason: "the verdicts are about whom the spec still names",
		},
		"a status about another target is not believed": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Generation, p.Spec.URL = 4, "https://planner.example.com/v2" }), now: now,
			want: safe(ReasonStatusOutdated, 10*time.Second), reason: "nobody has looked at the new one",
		},
		"a target that only differs in how it is written is the same": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Spec.URL = "HTTPS://planner.example.com/a2a" }), now: now,
			want: Decision{Path: "Streaming", MultiTurn: "Interactive", Cancel: "Reliable", Updates: "Push", Reason: "StreamingTrusted",
				Expiration: now.Add(time.Minute), Wait: 10 * time.Second, Hard: DefaultHard},
			reason: "the operator writes it its own way",
		},
		"trust in a status without a target is not believed": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Status.Target = "" }), now: now, want: safe(ReasonStatusOutdated, 10*time.Second),
			reason: "it says not whom it is about",
		},
		"what the operator says of a spec that it refuses is passed on": {
			peer: change(func(p *v1alpha1.AgentPeer) {
				p.Spec.URL = "http://10.0.0.1"
				p.Status.Decision.Choice = v1alpha1.Choice{Path: "SingleShot", MultiTurn: "AllInputsUpfront", Cancel: "BestEffort", Updates: "Poll",
					Reason: "AddressNotAllowed"}
				p.Status.Decision.ExpirationTime = nil
			}), now: now, want: safe("AddressNotAllowed", 10*time.Second), reason: "it trusts nothing and says why",
		},
		"what the operator said of a spec that it refused before is not": {
			peer: change(func(p *v1alpha1.AgentPeer) {
				p.Spec.URL, p.Generation = "http://10.0.0.1", 4
				p.Status.Decision.Choice = v1alpha1.Choice{Path: "Unavailable", MultiTurn: "AllInputsUpfront", Cancel: "BestEffort", Updates: "Poll",
					Reason: "NoUsableInterface"}
			}), now: now, want: safe(ReasonStatusOutdated, 10*time.Second), reason: "it is about somebody else",
		},
		"a peer never probed": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Status = v1alpha1.AgentPeerStatus{ObservedGeneration: -1} }), now: now,
			want: safe(ReasonNotProbed, DefaultWait), reason: "its card is a hint only",
		},
		"no peer at all": {now: now, want: safe(ReasonNotProbed, DefaultWait), reason: "a cache may miss"},
		"a decision without an end stands": {
			peer: change(func(p *v1alpha1.AgentPeer) {
				p.Status.Decision = &v1alpha1.Decision{Choice: v1alpha1.Choice{
					Path: "Unavailable", MultiTurn: "AllInputsUpfront", Cancel: "BestEffort", Updates: "Poll", Reason: "NoUsableInterface"}}
			}), now: now.Add(1000 * time.Hour),
			want: Decision{Path: "Unavailable", MultiTurn: "AllInputsUpfront", Cancel: "BestEffort", Updates: "Poll",
				Reason: "NoUsableInterface", Wait: DefaultWait, Hard: DefaultHard},
			reason: "it rests on no trust",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Decide(test.peer, test.now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestDecidingAllocatesNothing(t *testing.T) {
	peer := trusted()
	var sink Decision
	if n := testing.AllocsPerRun(1000, func() { sink = Decide(peer, now) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	_ = sink
}

func BenchmarkDecide(b *testing.B) {
	peer := trusted()
	b.ReportAllocs()
	for b.Loop() {
		Decide(peer, now)
	}
}

// Where only a signed card will do, an operator that is dead, or has not yet seen the spec, opens no door.
func TestSecuritySignatureThatIsRequiredFailsClosed(t *testing.T) {
	signed := func(f func(*v1alpha1.AgentPeer, *v1alpha1.CardSignature)) *v1alpha1.AgentPeer {
		p := trusted()
		p.Spec.Card.Verification.Policy = v1alpha1.SignatureRequire
		s := &v1alpha1.CardSignature{Result: v1alpha1.SignatureVerified, ExpirationTime: &metav1.Time{Time: now.Add(time.Hour)}}
		p.Status.Card = &v1alpha1.CardStatus{Signature: s}
		f(p, s)
		return p
	}
	expired := &metav1.Time{Time: now}
	for name, tc := range map[string]struct {
		peer *v1alpha1.AgentPeer
		want v1alpha1.DecisionPath
	}{
		"a decision that holds": {signed(func(*v1alpha1.AgentPeer, *v1alpha1.CardSignature) {}), "Streaming"},
		"trust has lapsed, the signature has not": {signed(func(p *v1alpha1.AgentPeer, _ *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime = expired
		}), "SingleShot"},
		"both have lapsed": {signed(func(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime, s.ExpirationTime = expired, expired
		}), "Unavailable"},
		"the signature never stood": {signed(func(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime, s.Result = expired, v1alpha1.SignatureInvalid
		}), "Unavailable"},
		"the signature leaves something out": {signed(func(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime, s.Result, s.Partial = expired, v1alpha1.SignatureVerifiedNonCanonical, true
		}), "Unavailable"},
		"the signed card names another address": {signed(func(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime, s.Partial = expired, true
		}), "Unavailable"},
		"no card was read": {signed(func(p *v1alpha1.AgentPeer, _ *v1alpha1.CardSignature) {
			p.Status.Decision.ExpirationTime, p.Status.Card = expired, nil
		}), "Unavailable"},
		"the spec was changed, perhaps its keys": {signed(func(p *v1alpha1.AgentPeer, _ *v1alpha1.CardSignature) { p.Generation++ }), "Unavailable"},
		"the target was changed": {signed(func(p *v1alpha1.AgentPeer, _ *v1alpha1.CardSignature) {
			p.Spec.URL = "https://elsewhere.example.com"
		}), "Unavailable"},
		"nothing is decided yet":   {signed(func(p *v1alpha1.AgentPeer, _ *v1alpha1.CardSignature) { p.Status.Decision = nil }), "Unavailable"},
		"a policy that only warns": {signed(func(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) { warnOnly(p, s) }), "SingleShot"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(tc.peer, now); got.Path != tc.want {
				t.Errorf("the path is %s (%s), want %s", got.Path, got.Reason, tc.want)
			}
		})
	}
}

func warnOnly(p *v1alpha1.AgentPeer, s *v1alpha1.CardSignature) {
	p.Spec.Card.Verification.Policy = v1alpha1.SignatureWarn
	p.Status.Decision.ExpirationTime, s.Result = &metav1.Time{Time: now}, v1alpha1.SignatureInvalid
}

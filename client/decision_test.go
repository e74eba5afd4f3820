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
		Status: v1alpha1.AgentPeerStatus{
			ObservedGeneration: 3,
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

func TestDecide(t *testing.T) {
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
		"a status of an older spec is not believed": {
			peer: change(func(p *v1alpha1.AgentPeer) { p.Generation = 4 }), now: now, want: safe(ReasonStatusOutdated, 10*time.Second),
			reason: "it may be about another endpoint",
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

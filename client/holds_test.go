package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// refusal is what a peer that refuses to stream is charged with.
var refusal = &ChargedError{Capability: v1alpha1.CapabilityStreaming, Reason: v1alpha1.ReasonStreamingRefused, Basis: lifecycle.Card, TaskID: "task-1",
	Observed: []string{"submitted@0ms"}}

func charge(c v1alpha1.CapabilityName) error {
	return &ChargedError{Capability: c, Reason: v1alpha1.ReasonStreamingRefused, Basis: lifecycle.Protocol}
}

// honoredIn says that a round that began at saw every capability work, and vouches for them for a day.
func honoredIn(at time.Time) func(*v1alpha1.AgentPeer) {
	return func(p *v1alpha1.AgentPeer) {
		trustAll(p, at.Add(24*time.Hour))
		p.Status.Decision.ExpirationTime = &metav1.Time{Time: at.Add(24 * time.Hour)}
		for i := range p.Status.Capabilities {
			p.Status.Capabilities[i].LastHonoredTime = &metav1.Time{Time: at}
		}
	}
}

func TestADemoteTakesEffectAtOnceForEveryRefOfThePeer(t *testing.T) {
	full := Decision{Path: "Streaming", MultiTurn: "Interactive", Cancel: "Reliable", Updates: "Push", Reason: "StreamingTrusted",
		Expiration: now.Add(time.Minute), Wait: 10 * time.Second, Hard: DefaultHard}
	for capability, change := range map[v1alpha1.CapabilityName]func(*Decision){
		v1alpha1.CapabilityStreaming:         func(d *Decision) { d.Path, d.Reason = "SingleShot", ReasonDemotedHere },
		v1alpha1.CapabilityContinuation:      func(d *Decision) { d.MultiTurn = "AllInputsUpfront" },
		v1alpha1.CapabilityCancellation:      func(d *Decision) { d.Cancel = "BestEffort" },
		v1alpha1.CapabilityPushNotifications: func(d *Decision) { d.Updates = "Poll" },
		v1alpha1.CapabilityLifecycle:         func(*Decision) {},
	} {
		t.Run(string(capability), func(t *testing.T) {
			c, p := readPeers(CacheOptions{ClockSkew: -1})
			p.set("other", func(peer *v1alpha1.AgentPeer) {
				peer.Spec.URL, peer.Status.Target = "https://o.example.com", "https://o.example.com"
			})
			c.Demote(planner, capability, charge(capability))
			want := full
			change(&want)
			for _, ref := range []Ref{planner, At("https://planner.example.com/a2a")} {
				if diff := cmp.Diff(want, c.Decide(ref)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", ref, diff)
				}
				if c.IsTrusted(ref, capability) {
					t.Errorf("%s is still trusted at %s", capability, ref)
				}
			}
			if d := c.Decide(Named("travel", "other")); d.Path != "Streaming" || d.Updates != "Push" {
				t.Errorf("another peer: %+v", d)
			}
		})
	}
}

func TestCaseRulesADemoteHoldsUntilALaterRoundSawItWork(t *testing.T) {
	const skew = 10 * time.Second
	for name, tc := range map[string]struct {
		began, after time.Duration // when the round began, and when we ask
		lifted       bool
		reason       string
	}{
		"a round that began before":          {-time.Second, 2 * time.Hour, false, "it may have seen the peer before it broke"},
		"a round that began within the skew": {skew, 2 * time.Hour, false, "by the operator's clock it may have begun before"},
		"a later round, at once":             {skew + time.Second, skew + 2*time.Second, false, "a minute at least"},
		"a later round, at the last moment":  {skew + time.Second, time.Minute - 1, false, "a minute at least"},
		"a later round, after a minute":      {skew + time.Second, time.Minute, true, "the operator knows more"},
		"no round at all, for hours":         {-time.Hour, 5 * time.Hour, false, "time alone proves nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := readPeers(CacheOptions{ClockSkew: skew})
			p.set("planner", honoredIn(now.Add(-time.Minute)))
			c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
			p.set("planner", honoredIn(now.Add(tc.began)))
			p.after(tc.after)
			d := c.Decide(planner)
			if (d.Path == "Streaming") != tc.lifted || c.IsTrusted(planner, v1alpha1.CapabilityStreaming) != tc.lifted {
				t.Errorf("%s (%s), want lifted %v: %s", d.Path, d.Reason, tc.lifted, tc.reason)
			}
		})
	}
}

// heldFor demotes and gives at once a verdict that would lift, and tells how long it holds all the same.
func heldFor(c *PeerCapabilityCache, p *peers) time.Duration {
	c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
	start := p.clock()
	p.set("planner", honoredIn(start.Add(time.Second)))
	for c.Decide(planner).Path != v1alpha1.PathStreaming {
		p.after(15 * time.Second)
	}
	return p.clock().Sub(start)
}

func TestTheHoldDownGrowsAndShrinks(t *testing.T) {
	c, p := readPeers(CacheOptions{ClockSkew: -1})
	for _, step := range []struct {
		quiet, want time.Duration
	}{
		{0, time.Minute}, {0, 2 * time.Minute}, {0, 4 * time.Minute}, {0, 8 * time.Minute}, {0, 16 * time.Minute}, {0, 32 * time.Minute},
		{0, time.Hour}, {0, time.Hour}, // the cap; the hour of the hold itself was one without
		{time.Hour, 30 * time.Minute}, {4 * time.Hour, 225 * time.Second}, {100 * time.Hour, time.Minute},
	} {
		p.after(step.quiet)
		if got := heldFor(c, p); got != step.want {
			t.Fatalf("after %v of quiet it holds for %v, want %v", step.quiet, got, step.want)
		}
	}
}

// A thousand tasks that are under way see the same fault: that is one fault, not a thousand.
func TestWhatIsSeenWithinOneHoldDownCountsOnce(t *testing.T) {
	c, p := readPeers(CacheOptions{ClockSkew: -1})
	for range 1000 {
		c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
	}
	if got := heldFor(c, p); got != time.Minute {
		t.Errorf("it holds for %v, want a minute", got)
	}
	if got := c.Stats(); got != (Stats{Demotions: 1001}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNobodysFaultDemotesNothing(t *testing.T) {
	c, _ := readPeers(CacheOptions{})
	for i, err := range []error{nil, context.DeadlineExceeded, context.Canceled, &net.OpError{Op: "dial", Err: errors.New("refused")},
		errors.New("503 Service Unavailable"), &ChargedError{Capability: v1alpha1.CapabilityStreaming, Reason: v1alpha1.ReasonStuck}} {
		c.Demote(planner, v1alpha1.CapabilityStreaming, err)
		if d := c.Decide(planner); d.Path != "Streaming" {
			t.Fatalf("%v: %+v", err, d)
		}
		if got := c.Stats(); got != (Stats{Ignored: uint64(i + 1)}) {
			t.Errorf("%v: %+v", err, got)
		}
	}
	c.Demote(Named("travel", "nobody"), v1alpha1.CapabilityStreaming, refusal)
	c.Demote(planner, "Flying", refusal)
	if got := c.Stats(); got != (Stats{Ignored: 8}) {
		t.Errorf("an unknown peer and an unknown capability: %+v", got)
	}
}

func TestAHoldEndsWithWhatItIsAbout(t *testing.T) {
	for name, change := range map[string]func(*peers){
		"the AgentPeer gets another target": func(p *peers) {
			p.set("planner", func(peer *v1alpha1.AgentPeer) {
				peer.Spec.URL, peer.Status.Target = "https://v2.example.com", "https://v2.example.com"
			})
		},
		"it is another object of the same name": func(p *peers) { p.set("planner", func(peer *v1alpha1.AgentPeer) { peer.UID = "another" }) },
	} {
		t.Run(name, func(t *testing.T) {
			c, p := readPeers(CacheOptions{})
			c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
			change(p)
			if d := c.Decide(planner); d.Path != "Streaming" {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Run("it is deleted", func(t *testing.T) {
		c, p := readPeers(CacheOptions{})
		c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
		p.remove("planner")
		if d := c.Decide(planner); d.Reason != ReasonPeerUnknown {
			t.Errorf("%+v", d)
		}
		if len(c.index.holds) != 0 || len(c.index.peers) != 0 {
			t.Errorf("%d holds and %d peers are kept", len(c.index.holds), len(c.index.peers))
		}
	})
}

func TestWhatIsSeenIsPassedOnWithWhomItIsAbout(t *testing.T) {
	c, p := readPeers(CacheOptions{})
	p.set("planner", func(peer *v1alpha1.AgentPeer) { peer.Status.Card = &v1alpha1.CardStatus{ClaimsDigest: "sha256:abc"} })
	var got []Sighting
	c.observe = func(s Sighting) { got = append(got, s) }
	c.Honored(At("https://planner.example.com/a2a"), v1alpha1.CapabilityContinuation)
	c.Honored(Named("travel", "nobody"), v1alpha1.CapabilityContinuation)
	c.Honored(planner, "Flying")
	c.Demote(planner, v1alpha1.CapabilityStreaming, refusal)
	c.Demote(planner, v1alpha1.CapabilityStreaming, context.DeadlineExceeded)
	who := Sighting{Peer: types.NamespacedName{Namespace: "travel", Name: "planner"}, UID: "uid-planner", Target: "https://planner.example.com/a2a", ClaimsDigest: "sha256:abc", Time: now}
	good, bad := who, who
	good.Capability, good.Honored = v1alpha1.CapabilityContinuation, true
	bad.Capability, bad.Reason, bad.Basis = v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamingRefused, lifecycle.Card
	bad.TaskID, bad.Observed = "task-1", []string{"submitted@0ms"}
	if diff := cmp.Diff([]Sighting{good, bad}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The error knows better than its bearer who is charged; what the bearer no longer relies on is held all the same.
func TestTheErrorSaysWhoIsCharged(t *testing.T) {
	c, _ := readPeers(CacheOptions{})
	var got []v1alpha1.CapabilityName
	c.observe = func(s Sighting) { got = append(got, s.Capability) }
	c.Demote(planner, v1alpha1.CapabilityStreaming, charge(v1alpha1.CapabilityContinuation))
	c.Demote(planner, "", charge(v1alpha1.CapabilityCancellation))
	d := c.Decide(planner)
	if d.Path != "SingleShot" || d.MultiTurn != "AllInputsUpfront" || d.Cancel != "BestEffort" || d.Updates != "Push" {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff([]v1alpha1.CapabilityName{"Continuation", "Cancellation"}, got); diff != "" {
		t.Errorf("charged (-want +got):\n%s", diff)
	}
}

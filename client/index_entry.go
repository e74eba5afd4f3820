package client

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// capabilities is how many capabilities and core behaviours there are.
const capabilities = 10

// place of a capability in an array of all of them; false for a name that is none.
func place(c v1alpha1.CapabilityName) (int, bool) {
	switch c {
	case v1alpha1.CapabilityStreaming:
		return 0, true
	case v1alpha1.CapabilityContinuation:
		return 1, true
	case v1alpha1.CapabilityCancellation:
		return 2, true
	case v1alpha1.CapabilityPushNotifications:
		return 3, true
	case v1alpha1.CapabilityExtendedAgentCard:
		return 4, true
	case v1alpha1.CapabilityTaskRetrieval:
		return 5, true
	case v1alpha1.CapabilityResubscription:
		return 6, true
	case v1alpha1.CapabilityInputModes:
		return 7, true
	case v1alpha1.CapabilityLifecycle:
		return 8, true
	case v1alpha1.CapabilityStateTransitionHistory:
		return 9, true
	}
	return 0, false
}

// Places of the capabilities that a decision speaks of.
const (
	atStreaming = iota
	atContinuation
	atCancellation
	atPushNotifications
)

// moment is a time in nanoseconds since 1970, so that a reader compares numbers.
type moment = int64

// forever is after every time a status can name.
const forever moment = math.MaxInt64

// momentOf clamps what a moment cannot hold, from the year 2262 on.
func momentOf(t time.Time) moment {
	switch s := t.Unix(); {
	case s >= forever/1e9:
		return forever
	case s < 0:
		return 0
	}
	return t.UnixNano()
}

// facts are what a cache keeps of an AgentPeer: what the pure functions of this package say of it from now on, until it changes. They
// are compiled once and never changed.
type facts struct {
	name    types.NamespacedName
	uid     types.UID
	version string
	target  string
	claims  v1alpha1.ClaimsDigest
	// urls that the AgentPeer stands for, in the form that Refs have.
	urls []string
	// steps are the decisions that the clock alone leads through, without what this process saw itself.
	steps []step
	// trusted is until when each capability is trusted, honored when the round began that last saw it work; 0 is never.
	trusted, honored [capabilities]moment
	refused          []string
}

// step is a decision and when it ends.
type step struct {
	until moment
	Decision
}

// compile works out the facts. skew is how much sooner than the status says everything ends.
func compile(peer *v1alpha1.AgentPeer, skew time.Duration) *facts {
	f := &facts{
		name:    types.NamespacedName{Namespace: peer.Namespace, Name: peer.Name},
		uid:     peer.UID,
		version: peer.ResourceVersion,
		target:  peer.Status.Target,
		urls:    urls(peer),
		steps:   steps(peer, skew),
	}
	if peer.Status.Card != nil {
		f.claims = peer.Status.Card.ClaimsDigest
	}
	if !peer.HasTarget(peer.Status.Target) {
		return f
	}
	for i := range peer.Status.Capabilities {
		c := &peer.Status.Capabilities[i]
		at, ok := place(c.Name)
		if !ok {
			continue
		}
		if c.State == v1alpha1.Trusted && c.ExpirationTime != nil && granted(peer.Status.Decision, at) {
			f.trusted[at] = sooner(momentOf(c.ExpirationTime.Time), skew)
		}
		if c.LastHonoredTime != nil {
			f.honored[at] = momentOf(c.LastHonoredTime.Time)
		}
		if c.Name == v1alpha1.CapabilityInputModes {
			f.refused = slices.Clip(slices.Clone(c.RefusedInputModes))
		}
	}
	return f
}

// granted tells whether the decision, or what it would be if trust were enforced, goes along with trust in a capability: claims that
// are not settled and whatever a human decided stand before it.
func granted(d *v1alpha1.Decision, at int) bool {
	if d == nil {
		return false
	}
	c := &d.Choice
	if d.Would != nil {
		c = d.Would
	}
	switch at {
	case atStreaming:
		return c.Path == v1alpha1.PathStreaming
	case atContinuation:
		return c.MultiTurn == v1alpha1.MultiTurnInteractive
	case atCancellation:
		return c.Cancel == v1alpha1.CancelReliable
	case atPushNotifications:
		return c.Updates == v1alpha1.UpdatesPush
	}
	return true
}

// steps asks Decide for each span of time in which its answer is the same.
func steps(peer *v1alpha1.AgentPeer, skew time.Duration) []step {
	var ends []time.Time
	if d := peer.Status.Decision; d != nil && d.ExpirationTime != nil {
		ends = append(ends, d.ExpirationTime.Time)
	}
	if c := peer.Status.Card; c != nil && c.Signature != nil && c.Signature.ExpirationTime != nil {
		ends = append(ends, c.Signature.ExpirationTime.Time)
	}
	slices.SortFunc(ends, time.Time.Compare)
	var out []step
	last := time.Time{}
	for _, end := range ends {
		if end.After(last) {
			out = append(out, step{sooner(momentOf(end), skew), soonerDecision(Decide(peer, end.Add(-1)), skew)})
			last = end
		}
	}
	return append(out, step{forever, soonerDecision(Decide(peer, last), skew)})
}

func sooner(m moment, skew time.Duration) moment {
	if m == forever {
		return m
	}
	return m - int64(skew)
}

func soonerDecision(d Decision, skew time.Duration) Decision {
	if !d.Expiration.IsZero() {
		d.Expiration = d.Expiration.Add(-skew)
	}
	return d
}

// urls that an AgentPeer stands for: its target, and, of a status that is about this target, the interface in use and every other that was
// found to answer.
func urls(peer *v1alpha1.AgentPeer) []string {
	var out []string
	add := func(endpoint string) {
		if u, ok := normal(endpoint); ok && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	add(peer.Spec.URL)
	if ref := peer.Spec.ServiceRef; ref != nil && ref.Port.Type == intstr.Int {
		add(fmt.Sprintf("%s://%s.%s.svc:%d%s", cmp.Or(ref.Scheme, "http"), ref.Name, peer.Namespace, ref.Port.IntVal, ref.Path))
	}
	if !peer.HasTarget(peer.Status.Target) {
		return out
	}
	add(peer.Status.Target)
	if c := peer.Status.Card; c != nil {
		if c.Interface != nil {
			add(c.Interface.URL)
		}
		for i := range c.Interfaces {
			if s := c.Interfaces[i].State; s == v1alpha1.InterfaceUsed || s == v1alpha1.InterfaceReachable {
				add(c.Interfaces[i].URL)
			}
		}
	}
	return out
}

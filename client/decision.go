package client

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Deadlines of a decision whose status names none, those of the design.
const (
	DefaultWait = 30 * time.Second
	DefaultHard = 5 * time.Minute
)

// Reasons that a reader gives itself. Any other comes from status.decision.reason.
const (
	// ReasonNotProbed: the operator has not yet decided anything.
	ReasonNotProbed v1alpha1.Reason = "NotProbed"
	// ReasonStatusOutdated: the spec names another target than the status is about, or requires a signature that the operator has not yet
	// held the spec as it is now against.
	ReasonStatusOutdated v1alpha1.Reason = "StatusOutdated"
	// ReasonTrustExpired: something that the decision rests on has lapsed.
	ReasonTrustExpired v1alpha1.Reason = "TrustExpired"
	// ReasonCacheNotSynced: the cache does not know all AgentPeers yet. See PeerCapabilityCache.WaitForSync.
	ReasonCacheNotSynced v1alpha1.Reason = "CacheNotSynced"
	// ReasonPeerUnknown: no AgentPeer has this name or stands for this URL.
	ReasonPeerUnknown v1alpha1.Reason = "PeerUnknown"
	// ReasonDemotedHere: this process saw the peer break its word, and no later round of the operator has cleared it.
	ReasonDemotedHere v1alpha1.Reason = "DemotedHere"
)

// Decision is what to do with a peer now.
type Decision struct {
	// Path, MultiTurn, Cancel and Updates are never empty; their words are explained in v1alpha1.Choice.
	Path      v1alpha1.DecisionPath
	MultiTurn v1alpha1.DecisionMultiTurn
	Cancel    v1alpha1.DecisionCancel
	Updates   v1alpha1.DecisionUpdates
	// Reason for the path; docs/reasons.md explains each.
	Reason v1alpha1.Reason
	// Expiration is when to decide again at the latest; zero if the decision rests on nothing that lapses.
	Expiration time.Time
	// Wait is how long to wait for a task to move before polling, Hard how long one may stay unfinished before it is
	// cancelled or issued anew.
	Wait, Hard time.Duration
}

// Decide tells what to do with a peer at now. A status that is absent, about another target than the spec names, or expired gives what an
// unknown peer gets: SingleShot, AllInputsUpfront, BestEffort and Poll, with the reason; or Unavailable, where the spec requires a signed
// card and the signature that was found does not count by itself. A nil peer is one never probed.
//
// Another generation of the spec than the operator has seen invalidates nothing as long as the target is the same, so that an edit of an
// interval stops no stream. Only where a signed card is required does it count: the edit may have taken a key away.
//
// Trust is compared with now as it stands. Whoever cannot rule out that its clock is behind the operator's adds the difference to now;
// PeerCapabilityCache does so. A flip never asks to interrupt a task that runs.
func Decide(peer *v1alpha1.AgentPeer, now time.Time) Decision {
	if peer == nil {
		return unverified(v1alpha1.PathSingleShot, ReasonNotProbed, nil)
	}
	if peer.Status.Decision == nil {
		return unverified(pathUnproven(peer), ReasonNotProbed, nil)
	}
	d := peer.Status.Decision
	if outdated(peer) {
		return unverified(pathUnproven(peer), ReasonStatusOutdated, &d.Deadlines)
	}
	if d.ExpirationTime != nil && !now.Before(d.ExpirationTime.Time) {
		path := pathUnproven(peer)
		if signed(peer, now) {
			path = v1alpha1.PathSingleShot
		}
		return unverified(path, ReasonTrustExpired, &d.Deadlines)
	}
	out := Decision{Path: d.Path, MultiTurn: d.MultiTurn, Cancel: d.Cancel, Updates: d.Updates, Reason: d.Reason}
	if d.ExpirationTime != nil {
		out.Expiration = d.ExpirationTime.Time
	}
	out.Wait, out.Hard = deadlines(&d.Deadlines)
	return out
}

// outdated tells whether the spec as it is now leaves nothing of the decision.
func outdated(peer *v1alpha1.AgentPeer) bool {
	seen, current := peer.Status.ObservedGeneration == peer.Generation, peer.HasTarget(peer.Status.Target)
	if peer.Spec.Card.Verification.Policy == v1alpha1.SignatureRequire {
		return !seen || !current && peer.Status.Decision.Path != v1alpha1.PathUnavailable
	}
	// A spec that the operator had to refuse names nobody it could have judged. Its own word for that says more than ours.
	return !current && (!seen || !nothing(&peer.Status.Decision.Choice))
}

// nothing tells whether a choice rests on no trust at all.
func nothing(c *v1alpha1.Choice) bool {
	return c.Path != v1alpha1.PathStreaming && c.MultiTurn == v1alpha1.MultiTurnAllInputsUpfront &&
		c.Cancel == v1alpha1.CancelBestEffort && c.Updates == v1alpha1.UpdatesPoll
}

// pathUnproven is how to reach a peer of which nothing holds: not at all where only a signed card will do, so that a dead operator opens
// no door.
func pathUnproven(peer *v1alpha1.AgentPeer) v1alpha1.DecisionPath {
	if peer.Spec.Card.Verification.Policy == v1alpha1.SignatureRequire {
		return v1alpha1.PathUnavailable
	}
	return v1alpha1.PathSingleShot
}

// signed tells whether a signature over the whole card and the address in use still counts at now, whatever else of the decision has lapsed.
func signed(peer *v1alpha1.AgentPeer, now time.Time) bool {
	if peer.Status.Card == nil || peer.Status.Card.Signature == nil {
		return false
	}
	s := peer.Status.Card.Signature
	stands := s.Result == v1alpha1.SignatureVerified || s.Result == v1alpha1.SignatureVerifiedNonCanonical
	return stands && !s.Partial && s.ExpirationTime != nil && now.Before(s.ExpirationTime.Time)
}

func unverified(path v1alpha1.DecisionPath, reason v1alpha1.Reason, d *v1alpha1.Deadlines) Decision {
	out := Decision{
		Path:      path,
		MultiTurn: v1alpha1.MultiTurnAllInputsUpfront,
		Cancel:    v1alpha1.CancelBestEffort,
		Updates:   v1alpha1.UpdatesPoll,
		Reason:    reason,
	}
	out.Wait, out.Hard = deadlines(d)
	return out
}

func deadlines(d *v1alpha1.Deadlines) (wait, hard time.Duration) {
	if d == nil {
		return DefaultWait, DefaultHard
	}
	return or(d.Wait, DefaultWait), or(d.Hard, DefaultHard)
}

func or(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return otherwise
	}
	return d.Duration
}

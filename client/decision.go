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

// Reasons that Decide gives itself. Any other comes from status.decision.reason.
const (
	// ReasonNotProbed: the operator has not yet decided anything.
	ReasonNotProbed v1alpha1.Reason = "NotProbed"
	// ReasonStatusOutdated: the spec was changed, and the operator has not yet accepted the change.
	ReasonStatusOutdated v1alpha1.Reason = "StatusOutdated"
	// ReasonTrustExpired: something that the decision rests on has lapsed.
	ReasonTrustExpired v1alpha1.Reason = "TrustExpired"
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

// Decide tells what to do with a peer at now. A status that is absent, of an older generation or expired gives what an
// unknown peer gets: SingleShot, AllInputsUpfront, BestEffort and Poll, with the reason. A nil peer is one never probed.
// A flip never asks to interrupt a task that runs.
func Decide(peer *v1alpha1.AgentPeer, now time.Time) Decision {
	if peer == nil || peer.Status.Decision == nil {
		return unverified(ReasonNotProbed, nil)
	}
	d := peer.Status.Decision
	if peer.Status.ObservedGeneration != peer.Generation {
		return unverified(ReasonStatusOutdated, &d.Deadlines)
	}
	if d.ExpirationTime != nil && !now.Before(d.ExpirationTime.Time) {
		return unverified(ReasonTrustExpired, &d.Deadlines)
	}
	out := Decision{Path: d.Path, MultiTurn: d.MultiTurn, Cancel: d.Cancel, Updates: d.Updates, Reason: d.Reason}
	if d.ExpirationTime != nil {
		out.Expiration = d.ExpirationTime.Time
	}
	out.Wait, out.Hard = deadlines(&d.Deadlines)
	return out
}

func unverified(reason v1alpha1.Reason, d *v1alpha1.Deadlines) Decision {
	out := Decision{
		Path:      v1alpha1.PathSingleShot,
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

package controllers

import (
	"cmp"
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Actions of events: what the operator was doing, and with what: JudgeStreaming, CheckReady. Events of equal type, reason,
// action and object are folded into one by the recorder, which keeps the text of the first alone.
const (
	actionJudge = "Judge"
	actionCheck = "Check"
	// maxAction is the bound of the API server.
	maxAction = 128
)

func action(what string, about ...string) string {
	name := what + strings.Join(about, "")
	return name[:min(len(name), maxAction)]
}

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// announce counts, logs and tells what changed. It runs after status was written, so nothing is told that is not so.
func (r *AgentPeerReconciler) announce(ctx context.Context, f facts, v verdict, mem *remembered) {
	log := ctrl.LoggerFrom(ctx)
	if f.report != nil {
		r.Metrics.round(*f.report, v.outcome)
		log.V(1).Info("Took over a round", "round", f.report.Round.Number, "kind", f.report.Round.Kind, "outcome", v.outcome,
			"tasks", f.report.Round.Tasks, "written", v.write)
	}
	for _, t := range v.transitions {
		r.Metrics.transition(t)
		log.Info("Trust changed", "capability", t.Capability, "from", t.From, "to", t.To, "reason", t.Reason)
	}
	r.tellTransitions(f.peer, v.transitions)
	for _, name := range []string{trustv1alpha1.ConditionReady, trustv1alpha1.ConditionReachable, trustv1alpha1.ConditionCardValid,
		trustv1alpha1.ConditionSignatureVerified, trustv1alpha1.ConditionRequirementsMet} {
		r.tellCondition(f.peer, meta.FindStatusCondition(f.peer.Status.Conditions, name), meta.FindStatusCondition(v.status.Conditions, name))
	}
	next := states(v.known)
	r.Metrics.states(f.peer.Namespace, f.peer.Name, mem.shown, next)
	mem.shown = next
}

// tellTransitions tells of each demotion by itself, and of other changes alike in one event: a first look that found five
// capabilities good is one piece of news.
func (r *AgentPeerReconciler) tellTransitions(peer *trustv1alpha1.AgentPeer, list []trust.Transition) {
	type change struct {
		from, to trust.State
		reason   trust.Reason
	}
	var order []change
	names := map[change][]string{}
	for _, t := range list {
		c := change{cmp.Or(t.From, trust.Unverified), t.To, t.Reason}
		switch {
		case c.from == c.to:
		case c.to == trust.Demoted:
			r.Recorder.Eventf(peer, nil, corev1.EventTypeWarning, or(string(t.Reason), string(t.To)), action(actionJudge, string(t.Capability)),
				"%s is %s, was %s", t.Capability, c.to, c.from)
		default:
			if names[c] == nil {
				order = append(order, c)
			}
			names[c] = append(names[c], string(t.Capability))
		}
	}
	for _, c := range order {
		r.Recorder.Eventf(peer, nil, corev1.EventTypeNormal, or(string(c.reason), string(c.to)), action(actionJudge, names[c]...),
			"%s %s %s, was %s", strings.Join(names[c], ", "), be(names[c]), c.to, c.from)
	}
}

// tellCondition tells of a condition that became False, or True after it was False. The first verdict of a condition that
// is good is no news.
func (r *AgentPeerReconciler) tellCondition(peer *trustv1alpha1.AgentPeer, old, next *metav1.Condition) {
	if next == nil || old != nil && old.Status == next.Status && (next.Status != metav1.ConditionFalse || old.Reason == next.Reason) {
		return
	}
	switch {
	case next.Status == metav1.ConditionFalse:
		r.Recorder.Eventf(peer, nil, corev1.EventTypeWarning, next.Reason, action(actionCheck, next.Type), "%s is False: %s", next.Type, next.Message)
	case next.Status == metav1.ConditionTrue && old != nil && old.Status == metav1.ConditionFalse:
		r.Recorder.Eventf(peer, nil, corev1.EventTypeNormal, next.Reason, action(actionCheck, next.Type), "%s is True: %s", next.Type, next.Message)
	}
}

// states are the trust states of a peer's capabilities.
func states(p trust.Peer) map[trust.Capability]trust.State {
	out := make(map[trust.Capability]trust.State, len(p.Records))
	for _, rec := range p.Records {
		state := rec.State
		if state == "" {
			state = trust.Unverified
		}
		out[rec.Capability] = state
	}
	return out
}

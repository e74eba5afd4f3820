package controllers

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// The recorder folds events of equal type, reason, action and object into one, whose text is the first one's: all else
// would be lost.
func TestNewsThatDiffersIsNeverMergedIntoOneEvent(t *testing.T) {
	s := newStage(t)
	clients, err := kubernetes.NewForConfig(s.server.Config)
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broadcaster.Shutdown)
	s.r.Recorder = broadcaster.NewRecorder(s.server.Scheme, "agentpeer")
	peer := s.peer("planner")

	s.r.tellTransitions(peer, []trust.Transition{
		{Capability: trust.Cancellation, From: trust.Trusted, To: trust.Demoted, Reason: trust.ReasonMethodNotFound},
		{Capability: trust.Continuation, From: trust.Trusted, To: trust.Demoted, Reason: trust.ReasonMethodNotFound},
		{Capability: trust.Lifecycle, From: trust.Unverified, To: trust.Trusted, Reason: trust.ReasonHonored},
		{Capability: trust.TaskRetrieval, From: trust.Unverified, To: trust.Trusted, Reason: trust.ReasonHonored},
		{Capability: trust.Streaming, From: trust.Demoted, To: trust.Trusted, Reason: trust.ReasonHonored},
	})
	for _, kind := range []string{trustv1alpha1.ConditionReachable, trustv1alpha1.ConditionCardValid} {
		s.r.tellCondition(peer, nil, &metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "NoUsableInterface", Message: "none"})
	}

	want := []string{
		"Warning: Cancellation is Demoted, was Trusted",
		"Warning: Continuation is Demoted, was Trusted",
		"Normal: Lifecycle, TaskRetrieval are Trusted, was Unverified",
		"Normal: Streaming is Trusted, was Demoted",
		"Warning: Reachable is False: none",
		"Warning: CardValid is False: none",
	}
	s.eventually(10*time.Second, func(g Gomega) {
		var list eventsv1.EventList
		g.Expect(s.client.List(t.Context(), &list, client.InNamespace(s.namespace))).To(Succeed())
		var notes []string
		for _, e := range list.Items {
			g.Expect(e.Series).To(BeNil(), "%q swallowed another", e.Note)
			notes = append(notes, e.Type+": "+e.Note)
		}
		g.Expect(notes).To(ConsistOf(want))
	})
}

func TestAnActionNamesWhatItIsAboutWithinTheBound(t *testing.T) {
	r := &AgentPeerReconciler{}
	recorder := &actions{}
	r.Recorder = recorder
	var all []trust.Transition
	for _, c := range []trust.Capability{trust.Cancellation, trust.Continuation, trust.ExtendedAgentCard, trust.InputModes, trust.Lifecycle,
		trust.PushNotifications, trust.Resubscription, trust.StateTransitionHistory, trust.Streaming, trust.TaskRetrieval} {
		all = append(all, trust.Transition{Capability: c, From: trust.Trusted, To: trust.Unverified, Reason: trust.ReasonCardChanged})
	}

	r.tellTransitions(&trustv1alpha1.AgentPeer{}, all)
	r.tellTransitions(&trustv1alpha1.AgentPeer{}, all[:2])
	r.tellCondition(&trustv1alpha1.AgentPeer{}, nil, &metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "SecretNotFound"})

	if len(recorder.seen) != 3 || recorder.seen[1] != "JudgeCancellationContinuation" || recorder.seen[2] != "CheckReady" {
		t.Errorf("actions are %q", recorder.seen)
	}
	for _, action := range recorder.seen {
		if len(action) > 128 || strings.ContainsAny(action, " ,") {
			t.Errorf("the API server would refuse the action %q of %d characters", action, len(action))
		}
	}
}

// actions keeps the actions of events.
type actions struct{ seen []string }

func (a *actions) Eventf(_, _ runtime.Object, _, _, action, _ string, _ ...any) {
	a.seen = append(a.seen, action)
}

package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	decide "github.com/agentpeer/agentpeer/client"
)

// Trust is in the agent that the spec named when it was earned. A spec that cannot be used names nobody, whatever stood there before.
func TestSecurityEgressASpecThatIsRefusedTakesNoTrustAlong(t *testing.T) {
	s := newStage(t)
	s.peer("p")
	s.settle("p")
	if d := decide.Decide(s.get("p"), s.clock.Now()); d.Path != "Streaming" {
		t.Fatalf("the decision is %+v, want Streaming to begin with", d)
	}
	for _, u := range []string{"https://10.6.6.6/evil", "http://evil.example.net/"} {
		s.edit("p", func(p *trustv1alpha1.AgentPeer) { p.Spec.URL = u })
		s.settle("p")
		p := s.get("p")
		if d := decide.Decide(p, s.clock.Now()); d.Path != "SingleShot" || d.MultiTurn != "AllInputsUpfront" || d.Cancel != "BestEffort" || d.Expiration != (time.Time{}) {
			t.Errorf("with spec.url %s the decision is %+v, want what an unknown peer gets", u, d)
		}
	}
}

// A key that is taken away vouches for nobody, though the object that held it went with it.
func TestSecuritySignatureKeysThatAreGoneVouchForNobody(t *testing.T) {
	s := newStage(t)
	key := newSigningKey(t, "k")
	keys := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keys"}, Data: map[string]string{"jwks.json": key.jwks(t)}}
	if err := s.client.Create(s.Context(), keys); err != nil {
		t.Fatal(err)
	}
	s.play("planner", s.serving(key.sign(t, signedCard)))
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.Card.Verification = trustv1alpha1.CardVerification{Policy: trustv1alpha1.SignatureRequire,
			Keys: []trustv1alpha1.KeyReference{{Kind: trustv1alpha1.ReferenceConfigMap, Name: "keys"}}}
	})
	s.settle("planner")
	if d := decide.Decide(s.get("planner"), s.clock.Now()); d.Path != "Streaming" {
		t.Fatalf("with the keys the decision is %+v, want Streaming", d)
	}
	if err := s.client.Delete(s.Context(), keys); err != nil {
		t.Fatal(err)
	}
	s.pass("planner", time.Hour)
	if d := decide.Decide(s.get("planner"), s.clock.Now()); d.Path != "Unavailable" || d.Reason != trustv1alpha1.ReasonVerificationKeysNotFound {
		t.Errorf("an hour after the keys were deleted the decision is %+v, want Unavailable for want of them", d)
	}
}

// A ConfigMap that thousands of AgentPeers name may be touched every second. What that wakes waits for everybody else's turn.
func TestSecurityTenantsWhoTouchAnObjectWakeTheirOwnLast(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := trustv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	evil := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "e"}}
	evil.Spec.TLS.CARef = &trustv1alpha1.CAReference{Kind: trustv1alpha1.ReferenceConfigMap, Name: "c"}
	r := &AgentPeerReconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(evil).
		WithIndex(&trustv1alpha1.AgentPeer{}, indexConfigMap, indexer(configMapNames)).Build()}
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	touched := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "c"}}
	r.namers(indexConfigMap).Update(t.Context(), event.UpdateEvent{ObjectOld: touched, ObjectNew: touched}, q)
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(0)}, reconcile.Request{NamespacedName: parseKey("victim/v")})
	first, _ := q.Get()
	q.Done(first)
	second, _ := q.Get()
	q.Done(second)
	if first.Namespace != "victim" || second.Namespace != "evil" {
		t.Errorf("%s came first and %s second, want the victim first", first, second)
	}
}

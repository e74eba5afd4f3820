package roles

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	agentpeer "github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// reporter runs one as a pod would, by a token and nothing else, until the test ends or it is stopped.
func (w world) reporter(t *testing.T, token string) (r *agentpeer.Reporter, stop func()) {
	t.Helper()
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken = token
	r, err := agentpeer.NewReporter(config, agentpeer.ReporterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v, want nil", err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return r, stop
}

// sighting is one of an AgentPeer that is there.
func sighting(of *v1alpha1.AgentPeer, c v1alpha1.CapabilityName) agentpeer.Sighting {
	return agentpeer.Sighting{Peer: client.ObjectKeyFromObject(of), UID: of.UID, Target: of.Spec.URL, Capability: c,
		Reason: v1alpha1.ReasonStreamEmpty, Basis: lifecycle.Card, TaskID: "<b>task</b>", Observed: []string{"submitted@0ms", "end@3µs"}}
}

// reports of an AgentPeer.
func (w world) reports(t *testing.T, of *v1alpha1.AgentPeer) []v1alpha1.AgentPeerReport {
	t.Helper()
	var list v1alpha1.AgentPeerReportList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(of.Namespace), client.MatchingFields{"spec.peerRef.name": of.Name}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestReporterWritesOneReportForEachPodAndPeer(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	first, second := w.podToken(t, tenant, "concierge", "concierge-0"), w.podToken(t, tenant, "concierge", "concierge-1")
	w.settled(t, tenant, w.as(t, first))
	planner := peer(tenant, "planner")
	w.create(t, planner)
	g := gomega.NewWithT(t)
	for _, token := range []string{first, second} {
		r, _ := w.reporter(t, token)
		r.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	}
	g.Eventually(func() int { return len(w.reports(t, planner)) }, "20s", "50ms").Should(gomega.Equal(2))
	var pods []string
	for _, got := range w.reports(t, planner) {
		pods = append(pods, got.Spec.Reporter.PodName)
		if got.Spec.Reporter.Namespace != tenant || got.Spec.Reporter.Name != "concierge" || got.Spec.PeerRef.UID != string(planner.UID) ||
			got.OwnerReferences[0].UID != planner.UID {
			t.Errorf("reported %+v, owned by %v, want concierge's of this AgentPeer", got.Spec, got.OwnerReferences)
		}
		if d := got.Spec.Divergences; len(d) != 1 || d[0].TaskID != lifecycle.SafeID("<b>task</b>") || !slices.Equal(d[0].Observed, []string{"submitted@0ms", "end@3µs"}) {
			t.Errorf("the divergences are %+v, want one with its evidence", d)
		}
	}
	if slices.Sort(pods); !slices.Equal(pods, []string{"concierge-0", "concierge-1"}) {
		t.Errorf("reports of pods %v, want one of each", pods)
	}
}

func TestReporterBringsItsReportUpToDateAndPutsItBackIfItWasDeleted(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	token := w.token(t, tenant, "concierge")
	w.settled(t, tenant, w.as(t, token))
	planner := peer(tenant, "planner")
	w.create(t, planner)
	g := gomega.NewWithT(t)
	r, stop := w.reporter(t, token)
	one := func(capabilities int) func() *v1alpha1.AgentPeerReport {
		return func() *v1alpha1.AgentPeerReport {
			if all := w.reports(t, planner); len(all) == 1 && len(all[0].Spec.Capabilities) == capabilities {
				return &all[0]
			}
			return nil
		}
	}
	r.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	g.Eventually(one(1), "20s", "50ms").ShouldNot(gomega.BeNil())
	name := one(1)().Name
	r.Observe(sighting(planner, v1alpha1.CapabilityLifecycle))
	g.Eventually(one(2), "20s", "50ms").ShouldNot(gomega.BeNil(), "a second capability was not told")
	if got := one(2)(); got.Name != name || got.Generation != 2 {
		t.Errorf("generation %d of %s, want the second of %s", got.Generation, got.Name, name)
	}
	if err := w.Client.Delete(t.Context(), one(2)()); err != nil {
		t.Fatal(err)
	}
	good := sighting(planner, v1alpha1.CapabilityTaskRetrieval)
	good.Honored = true
	r.Observe(good)
	stop() // writes what is left
	got := one(3)()
	if got == nil || got.Name != name {
		t.Fatalf("after it was deleted there is %v, want it again with all that was seen", got)
	}
	if s := r.Stats(); s.Written != 3 || s.Failed != 0 {
		t.Errorf("%+v, want three writes and no failure", s)
	}
}

// The name that the reporter would take may be taken by somebody who knows it.
func TestSecurityReportsAreWrittenBesideASquatter(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	w.orchestrator(t, tenant, "rival")
	token, rival := w.podToken(t, tenant, "concierge", "concierge-0"), w.as(t, w.token(t, tenant, "rival"))
	w.settled(t, tenant, w.as(t, token))
	w.settled(t, tenant, rival)
	planner := peer(tenant, "planner")
	w.create(t, planner)
	g := gomega.NewWithT(t)

	r, stop := w.reporter(t, token)
	r.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	g.Eventually(func() int { return len(w.reports(t, planner)) }, "20s", "50ms").Should(gomega.Equal(1))
	stop()
	name := w.reports(t, planner)[0].Name
	if err := w.Client.Delete(t.Context(), &w.reports(t, planner)[0]); err != nil {
		t.Fatal(err)
	}
	if err := rival.Create(t.Context(), report(tenant, name, v1alpha1.Reporter{Namespace: tenant, Name: "rival"})); err != nil {
		t.Fatal(err)
	}

	again, _ := w.reporter(t, token)
	again.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	g.Eventually(func() bool {
		return slices.ContainsFunc(w.reports(t, planner), func(r v1alpha1.AgentPeerReport) bool {
			return r.Name != name && r.Spec.Reporter.Name == "concierge" && r.Spec.Reporter.PodName == "concierge-0"
		})
	}, "40s", "100ms").Should(gomega.BeTrue(), "nothing was reported beside the squatter")
	if s := again.Stats(); s.Failed != 1 || s.Written != 1 || s.Err != nil {
		t.Errorf("%+v, want one refusal and one write", s)
	}
}

func TestReporterWithoutARightOrAnAccountHoldsNobodyUp(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	planner := peer(tenant, "planner")
	w.create(t, planner)
	g := gomega.NewWithT(t)

	viewer, _ := w.reporter(t, w.boundToken(t, tenant, "agentpeer-viewer"))
	viewer.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	g.Eventually(func() bool { return apierrors.IsForbidden(viewer.Stats().Err) }, "20s", "50ms").Should(gomega.BeTrue())

	person, err := agentpeer.NewReporter(w.Config, agentpeer.ReporterOptions{}) // an administrator by certificate
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- person.Start(ctx) }()
	var nobody *agentpeer.NotServiceAccountError
	g.Eventually(func() bool { return errors.As(person.Stats().Err, &nobody) }, "20s", "50ms").Should(gomega.BeTrue())
	if nobody.Username == "" {
		t.Error("the error does not name the user")
	}
	person.Observe(sighting(planner, v1alpha1.CapabilityStreaming))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Start returned %v, want nil: it must stop no program", err)
	}
	if got := w.reports(t, planner); len(got) != 0 {
		t.Errorf("there are %d reports, want none", len(got))
	}
}

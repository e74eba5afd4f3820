package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/ports"
)

func freePort(t *testing.T) int {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Agents that call back are trusted with it, agents that refuse or fall silent though they can reach us are not, and silence that has an
// excuse accuses nobody.
func TestTheOperatorSeesWhetherItIsCalledBack(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	// reachable are peers whose user says that they can reach the operator.
	peers := []struct {
		name, quirk, verdict string
		reachable            bool
		updates              v1alpha1.DecisionUpdates
	}{
		{"calls", "push", "Trusted", true, v1alpha1.UpdatesPush},
		{"calls-unasked", "push", "Trusted", false, v1alpha1.UpdatesPush},
		{"refuses", "push-unknown", "Demoted/PushConfigRefused", false, v1alpha1.UpdatesPoll},
		{"refuses-private", "push-private", "Unverified/WebhookRefused", true, v1alpha1.UpdatesPoll},
		{"silent", "push-silent", "Demoted/PushNotDelivered", true, v1alpha1.UpdatesPoll},
		{"silent-excused", "push-silent", "Unverified/WebhookUnreachable", false, v1alpha1.UpdatesPoll},
	}
	for _, p := range peers {
		w.apply(t, namespace, peer{name: p.name, url: agent.New(agent.Is(p.quirk)).Start(t)})
		if p.reachable {
			w.Kubectl(t, "", "patch", "agentpeer", p.name, "-n", namespace, "--type=merge", "-p", `{"spec":{"probes":{"push":{"reachable":true}}}}`)
		}
	}
	port := freePort(t)
	w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace,
		"--callback-url", fmt.Sprintf("http://127.0.0.1:%d/calls", port), "--callback-bind-address", fmt.Sprintf("127.0.0.1:%d", port))
	for _, p := range peers {
		// A silence is waited out in each of two rounds.
		gomega.NewWithT(t).Eventually(func() string { return verdict("PushNotifications")(w.get(t, namespace, p.name)) }, 4*time.Minute, often).
			Should(gomega.Equal(p.verdict), p.name)
		if got := w.get(t, namespace, p.name).Status.Decision.Updates; got != p.updates {
			t.Errorf("updates of %s: %s, want %s", p.name, got, p.updates)
		}
	}
	for _, name := range []string{"calls", "calls-unasked", "refuses-private", "silent-excused"} {
		h.neverAccused(t, name)
	}
	if got := w.get(t, namespace, "calls"); len(got.Status.Capabilities) == 0 || deliveredTo(got) == "" || deliveredTo(w.get(t, namespace, "silent")) != "" {
		t.Errorf("who called is not remembered: %q", deliveredTo(got))
	}
}

func deliveredTo(p *v1alpha1.AgentPeer) string {
	for _, c := range p.Status.Capabilities {
		if c.Name == "PushNotifications" {
			return c.DeliveredTo
		}
	}
	return ""
}

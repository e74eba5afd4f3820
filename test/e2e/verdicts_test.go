package e2e

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// within bounds how long a verdict may take on a small and busy machine.
const within = 4 * time.Minute

// manifest is what a user would apply, with the patience of a test.
const manifest = `
apiVersion: trust.agentpeer.dev/v1alpha1
kind: AgentPeer
metadata: {name: %q, namespace: %q}
spec:
  url: %q
  probes:
    reachability: {interval: 5s}
    behavior: {interval: 15s, confirmInterval: 2s, taskTimeout: 30s, firstEventTimeout: 5s, idleTimeout: 3s, maxTasksPerDay: 100000}
    message: {parts: [{text: ping}]}
    fixtures:
      longRunning: {message: {parts: [{text: count to 1000 slowly}]}}
      inputRequired: {message: {parts: [{text: book a trip}]}, reply: {parts: [{text: to Oslo}]}}
  deadlines: {wait: 2s, hard: 20s}
  trust: {duration: 10m, demotion: {minDuration: 5m}}
`

func apply(t *testing.T, s *apiserver.Server, namespace, name, url string) {
	t.Helper()
	s.Kubectl(t, fmt.Sprintf(manifest, name, namespace, url), "apply", "-f", "-")
}

func get(t *testing.T, s *apiserver.Server, namespace, name string) *trustv1alpha1.AgentPeer {
	t.Helper()
	p := &trustv1alpha1.AgentPeer{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// verdict is "Trusted", or "Demoted/StreamEmpty" and the like; empty while there is none.
func verdict(p *trustv1alpha1.AgentPeer, capability string) string {
	for _, c := range p.Status.Capabilities {
		switch {
		case string(c.Name) != capability:
		case c.State == trustv1alpha1.Trusted:
			return "Trusted"
		default:
			return fmt.Sprintf("%s/%s", c.State, c.Reason)
		}
	}
	return ""
}

func TestTheOperatorTellsLiarsFromHonestAgents(t *testing.T) {
	s := apiserver.For(t)
	namespace := s.Namespace(t)
	peers := []struct {
		name  string
		wants map[string]string
		// accused is the one capability that may end Demoted.
		accused string
	}{
		{name: "honest", wants: map[string]string{"Streaming": "Trusted", "Continuation": "Trusted", "Cancellation": "Trusted"}},
		{name: "honest-but-odd", wants: map[string]string{"Streaming": "Trusted"}},
		{name: "slow-thinker", wants: map[string]string{"Streaming": "Trusted"}},
		{name: "founding-honest", wants: map[string]string{"Streaming": "Trusted", "Continuation": "Trusted"}},
		{name: "founding-third", wants: map[string]string{"Continuation": "Demoted/TaskIdChangedOnContinuation"}, accused: "Continuation"},
		{name: "empty-stream", wants: map[string]string{"Streaming": "Demoted/StreamEmpty"}, accused: "Streaming"},
		{name: "withheld-terminal", wants: map[string]string{"Streaming": "Demoted/StreamClosedWithoutTerminalState"}, accused: "Streaming"},
		{name: "zombie-cancel", wants: map[string]string{"Cancellation": "Demoted/EventsAfterCancel"}, accused: "Cancellation"},
	}
	for _, p := range peers {
		apply(t, s, namespace, p.name, agent.New(agent.Preset(p.name)).Start(t))
	}
	startOperator(t, installed(t, s), namespace)

	for _, p := range peers {
		for capability, want := range p.wants {
			gomega.NewWithT(t).Eventually(func() string { return verdict(get(t, s, namespace, p.name), capability) },
				within, time.Second).Should(gomega.Equal(want), "%s of %s", capability, p.name)
		}
	}
	for _, p := range peers {
		nobodyElseAccused(t, get(t, s, namespace, p.name), p.accused)
	}
}

func TestTheOperatorTrustsServersOnReleasedSDKs(t *testing.T) {
	s := apiserver.For(t)
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("three of the servers need Node.js: %v", err)
	}
	namespace := s.Namespace(t)
	for _, p := range sdk.Peers() {
		url, stop, err := sdk.Start(t.Context(), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		apply(t, s, namespace, p.Name, url)
	}
	startOperator(t, installed(t, s), namespace)

	for _, p := range sdk.Peers() {
		gomega.NewWithT(t).Eventually(func() string { return verdict(get(t, s, namespace, p.Name), "Streaming") },
			within, time.Second).Should(gomega.Equal("Trusted"), "Streaming of %s", p.Name)
	}
	for _, p := range sdk.Peers() {
		nobodyElseAccused(t, get(t, s, namespace, p.Name), "")
	}
}

func nobodyElseAccused(t *testing.T, p *trustv1alpha1.AgentPeer, accused string) {
	t.Helper()
	for _, c := range p.Status.Capabilities {
		if c.State == trustv1alpha1.Demoted && string(c.Name) != accused {
			t.Errorf("%s of the honest agent %s is Demoted with reason %s: %s", c.Name, p.Name, c.Reason, c.Message)
		}
	}
}

func TestAKilledOperatorGoesOnWhereItWasAndCountsNothingTwice(t *testing.T) {
	s := apiserver.For(t)
	namespace := s.Namespace(t)
	peer := agent.New(agent.Preset("honest"))
	apply(t, s, namespace, "peer", peer.Start(t))
	kubeconfig := installed(t, s)
	first := startOperator(t, kubeconfig, namespace)
	streaming := func() string { return verdict(get(t, s, namespace, "peer"), "Streaming") }
	gomega.NewWithT(t).Eventually(streaming, within, time.Second).Should(gomega.Equal("Trusted"))

	first.kill()
	before := get(t, s, namespace, "peer").Status.Rounds.Last
	second := startOperator(t, kubeconfig, namespace)

	gomega.NewWithT(t).Eventually(func() int64 { return get(t, s, namespace, "peer").Status.Rounds.Last }, within, time.Second).
		Should(gomega.BeNumerically(">", before), "rounds counted")
	if got := streaming(); got != "Trusted" {
		t.Errorf("after the restart Streaming is %s, want Trusted as before", got)
	}
	if err := second.stop(40 * time.Second); err != nil {
		t.Errorf("stopping on SIGTERM: %v", err)
	}
	counts, counted := peer.Counts(), get(t, s, namespace, "peer").Status.Rounds.TasksLast24h
	if counts.Open != 0 {
		t.Errorf("%d tasks still run at the peer after the operator ended, want none", counts.Open)
	}
	// A reply to a task wakes the model like a new one.
	asked := counts.Requests["SendMessage"] + counts.Requests["SendStreamingMessage"]
	if counted == 0 || int(counted) > asked {
		t.Errorf("status counts %d tasks of the budget, the peer was asked %d times", counted, asked)
	}
}

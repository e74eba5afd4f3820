package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

const (
	// within bounds how long anything may take on a small and busy machine.
	within = 100 * time.Second
	// often is how often we look.
	often = 200 * time.Millisecond
)

// manifest is what a user would apply, with the patience of a test. Its verbs: name, namespace, url, interval, more of the spec.
const manifest = `
apiVersion: trust.agentpeer.dev/v1alpha1
kind: AgentPeer
metadata: {name: %q, namespace: %q}
spec:
  url: %q
  probes:
    reachability: {interval: 5s}
    behavior: {interval: %s, confirmInterval: 2s, taskTimeout: 20s, firstEventTimeout: 5s, idleTimeout: 3s, maxTasksPerDay: 100000}
    message: {parts: [{text: ping}]}
    fixtures:
      longRunning: {message: {parts: [{text: count to 1000 slowly}]}}
      inputRequired: {message: {parts: [{text: book a trip}]}, reply: {parts: [{text: to Oslo}]}}
  deadlines: {wait: 2s, hard: 10s}
  trust: {duration: 24h, demotion: {minDuration: 5m}}
%s`

// peer is an AgentPeer to apply.
type peer struct {
	name, url string
	// every is the interval of behaviour rounds; 10s if empty.
	every string
	// more lines of the spec, in YAML, indented by two.
	more string
}

func (w world) apply(t *testing.T, namespace string, peers ...peer) {
	t.Helper()
	var all string
	for _, p := range peers {
		if p.every == "" {
			p.every = "10s"
		}
		all += "---" + fmt.Sprintf(manifest, p.name, namespace, p.url, p.every, p.more)
	}
	w.Kubectl(t, all, "apply", "--server-side", "-f", "-")
}

func (w world) get(t *testing.T, namespace, name string) *v1alpha1.AgentPeer {
	t.Helper()
	p := &v1alpha1.AgentPeer{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// becomes waits until a fact about an AgentPeer is as wanted.
func (w world) becomes(t *testing.T, namespace, name string, fact func(*v1alpha1.AgentPeer) string, want, about string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string { return fact(w.get(t, namespace, name)) }, within, often).
		Should(gomega.Equal(want), "%s of %s", about, name)
}

// verdict is "Trusted", or "Demoted/StreamEmpty" and the like; empty while there is none.
func verdict(capability v1alpha1.CapabilityName) func(*v1alpha1.AgentPeer) string {
	return func(p *v1alpha1.AgentPeer) string {
		for _, c := range p.Status.Capabilities {
			switch {
			case c.Name != capability:
			case c.State == v1alpha1.Trusted:
				return string(c.State)
			default:
				return fmt.Sprintf("%s/%s", c.State, c.Reason)
			}
		}
		return ""
	}
}

// condition is "True/Accepted" and the like; empty if it is absent.
func condition(name string) func(*v1alpha1.AgentPeer) string {
	return func(p *v1alpha1.AgentPeer) string {
		c := meta.FindStatusCondition(p.Status.Conditions, name)
		if c == nil {
			return ""
		}
		return fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
}

func behaviors(p *v1alpha1.AgentPeer) int64 {
	if p.Status.Rounds == nil {
		return 0
	}
	return p.Status.Rounds.Behaviors
}

// tasks that are booked as spent: every message that reached the agent's model, replies included.
func tasks(p *v1alpha1.AgentPeer) int {
	if p.Status.Rounds == nil {
		return 0
	}
	return int(p.Status.Rounds.TasksLast24h)
}

// sent is how many messages an agent was sent.
func sent(a *agent.Agent) (n int) {
	for method, count := range a.Counts().Requests {
		if strings.HasPrefix(method, "Send") || strings.HasPrefix(method, "message/") || strings.HasPrefix(method, "tasks/send") {
			n += count
		}
	}
	return n
}

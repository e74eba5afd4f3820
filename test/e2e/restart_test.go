package e2e_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/test/agent"
)

// mostTasks is how many messages one round may send.
const mostTasks = 12

func TestAKilledOperatorGoesOnWhereItWasAndCountsNothingTwice(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	agents := map[string]*agent.Agent{}
	for _, name := range []string{"peer-1", "peer-2", "peer-3", "peer-4"} {
		agents[name] = agent.New(agent.Latency(20*time.Millisecond, time.Second))
		w.apply(t, namespace, peer{name: name, url: agents[name].Start(t), every: "3s"})
	}
	quiet := agent.New()
	w.apply(t, namespace, peer{name: "quiet", url: quiet.Start(t), every: "1h"})
	kubeconfig := w.kubeconfig(t, w.Config.Host)
	o := w.startOperator(t, kubeconfig, namespace)
	for _, c := range everything {
		for name := range agents {
			w.becomes(t, namespace, name, verdict(c), "Trusted", string(c))
		}
		w.becomes(t, namespace, "quiet", verdict(c), "Trusted", string(c))
	}
	asked := quiet.Counts().Tasks

	const kills = 3
	for range kills {
		before := map[string]int64{}
		for name := range agents {
			before[name] = behaviors(w.get(t, namespace, name))
		}
		gomega.NewWithT(t).Eventually(func() int { // in the middle of rounds
			streams := 0
			for _, a := range agents {
				streams += a.Counts().Streams
			}
			return streams
		}, within, "10ms").Should(gomega.BeNumerically(">=", 2), "streams open at once")
		o.kill()
		o = w.startOperator(t, kubeconfig, namespace)
		for name := range agents {
			gomega.NewWithT(t).Eventually(func() int64 { return behaviors(w.get(t, namespace, name)) }, within, often).
				Should(gomega.BeNumerically(">", before[name]+1), "behaviour rounds of %s after the restart", name)
		}
	}
	o.terminate(t)
	if err := o.exit(40 * time.Second); err != nil {
		t.Errorf("ending on SIGTERM: %v", err)
	}

	for name, a := range agents {
		h.countedOnce(t, name)
		h.keptTrust(t, name)
		booked, got := tasks(w.get(t, namespace, name)), sent(a)
		if booked > got || got-booked > (kills+1)*mostTasks {
			t.Errorf("%s: %d messages are booked, the agent got %d; at most the rounds in flight may be missing", name, booked, got)
		}
	}
	if again := quiet.Counts().Tasks; again != asked {
		t.Errorf("restarts made an agent work that was not due: %d tasks, then %d", asked, again)
	}
}

// keptTrust fails the test if Streaming was once Trusted and later not.
func (h *history) keptTrust(t *testing.T, name string) {
	t.Helper()
	trusted := false
	for _, p := range h.of(name) {
		got := verdict("Streaming")(p)
		if trusted && got != "Trusted" {
			t.Errorf("Streaming of %s was Trusted and is %q in round %d", name, got, p.Status.Rounds.Last)
			return
		}
		trusted = got == "Trusted"
	}
}

func TestOnSIGTERMTasksAreCanceledBeforeTheLeaseIsReleasedAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	// Canceling takes this agent a second, so that a lease released too early would show.
	slow := agent.New(agent.With(func(c *agent.Config) {
		c.Script.Think, c.Cancel.Slow = agent.Duration(6*time.Second), agent.Duration(time.Second)
	}))
	w.apply(t, namespace, peer{name: "slow", url: slow.Start(t), every: "2s"})
	kubeconfig := w.kubeconfig(t, w.Config.Host)
	elect := []string{"--leader-elect", "--leader-election-namespace", operatorNamespace}
	first := w.startOperator(t, kubeconfig, namespace, elect...)
	eventually := gomega.NewWithT(t).Eventually
	eventually(func() int { return slow.Counts().Open }, within, "20ms").Should(gomega.BeNumerically(">", 0), "tasks under way")
	w.startOperator(t, kubeconfig, namespace, elect...)
	holder := w.leaseHolder(t)
	if holder == "" {
		t.Fatal("nobody holds the lease, and rounds run")
	}

	first.terminate(t)
	begun := len(slow.Tasks()) // those that come later may be the successor's
	eventually(func() string { return w.leaseHolder(t) }, within, "10ms").ShouldNot(gomega.Equal(holder), "holder of the lease")
	canceled := 0
	for _, task := range slow.Tasks()[:begun] {
		switch task.State {
		case agent.Canceled:
			canceled++
		case agent.Completed:
		default:
			t.Errorf("the lease is released, and a task of the old leader is still %s", task.State)
		}
	}
	if canceled == 0 {
		t.Error("no task was canceled, so this test shows nothing")
	}
	if err := first.exit(40 * time.Second); err != nil {
		t.Errorf("ending on SIGTERM: %v", err)
	}
	w.becomes(t, namespace, "slow", verdict("Streaming"), "Trusted", "Streaming")
	h.neverAccused(t, "slow")
	h.countedOnce(t, "slow")
}

// leaseHolder is who leads; empty if nobody does.
func (w world) leaseHolder(t *testing.T) string {
	t.Helper()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: operatorNamespace, Name: "operator.trust.agentpeer.dev"}
	if err := w.Client.Get(t.Context(), key, &lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

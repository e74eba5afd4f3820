package e2e_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// everything that an agent can be trusted in that streams, cancels and asks back.
var everything = []v1alpha1.CapabilityName{"Streaming", "TaskRetrieval", "Lifecycle", "Cancellation", "Continuation", "Resubscription", "InputModes"}

// rounds that an honest agent has to stand before we believe that it is never accused.
const rounds = 4

func TestTheOperatorTrustsServersOnReleasedSDKsAndNeverAccusesThem(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	for _, p := range sdk.Peers() {
		url, stop, err := sdk.Start(t.Context(), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		w.apply(t, namespace, peer{name: p.Name, url: url})
	}
	w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)

	for _, p := range sdk.Peers() {
		for _, c := range everything {
			w.becomes(t, namespace, p.Name, verdict(c), "Trusted", string(c))
		}
	}
	for _, p := range sdk.Peers() {
		w.stands(t, namespace, p.Name)
		h.neverAccused(t, p.Name)
		h.alwaysReady(t, p.Name)
		h.countedOnce(t, p.Name)
		last := w.get(t, namespace, p.Name)
		d := last.Status.Decision
		if d.Path != v1alpha1.PathStreaming || d.MultiTurn != v1alpha1.MultiTurnInteractive || d.Cancel != v1alpha1.CancelReliable {
			t.Errorf("the decision for %s is %s, %s, %s; want it used to the full", p.Name, d.Path, d.MultiTurn, d.Cancel)
		}
		if n := len(last.Status.OrphanedTasks); n > 0 {
			t.Errorf("%d tasks of %s are orphaned", n, p.Name)
		}
	}
}

// stands waits until an agent has gone through rounds enough.
func (w world) stands(t *testing.T, namespace, name string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() int64 { return behaviors(w.get(t, namespace, name)) }, within, often).
		Should(gomega.BeNumerically(">=", rounds), "behaviour rounds of %s", name)
}

func TestTheOperatorTellsLiarsFromHonestAgents(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	peers := []struct {
		preset  string
		trusted []v1alpha1.CapabilityName
		// guilty of a capability, for a reason, and what the reader is told to do about it.
		guilty  v1alpha1.CapabilityName
		because string
		path    v1alpha1.DecisionPath
		// unclear: capability of which nothing can be said, and why.
		unclear map[v1alpha1.CapabilityName]string
	}{
		{preset: "honest", trusted: everything, path: v1alpha1.PathStreaming},
		{preset: "ordinary", trusted: everything, path: v1alpha1.PathStreaming},
		{preset: "honest-but-odd", trusted: everything, path: v1alpha1.PathStreaming},
		{preset: "slow-thinker", trusted: everything, path: v1alpha1.PathStreaming},
		{preset: "founding-honest", trusted: everything, path: v1alpha1.PathStreaming},
		{preset: "founding-third", trusted: []v1alpha1.CapabilityName{"Streaming", "TaskRetrieval"}, path: v1alpha1.PathStreaming,
			guilty: "Continuation", because: "TaskIdChangedOnContinuation"},
		{preset: "zombie-cancel", trusted: []v1alpha1.CapabilityName{"Streaming", "TaskRetrieval", "Continuation"}, path: v1alpha1.PathStreaming,
			guilty: "Cancellation", because: "EventsAfterCancel"},
		{preset: "empty-stream", trusted: []v1alpha1.CapabilityName{"Continuation"}, path: v1alpha1.PathSingleShot,
			guilty: "Streaming", because: "StreamEmpty"},
		{preset: "withheld-terminal", trusted: []v1alpha1.CapabilityName{"TaskRetrieval", "Continuation"}, path: v1alpha1.PathSingleShot,
			guilty: "Streaming", because: "StreamClosedWithoutTerminalState"},
		{preset: "cut-by-proxy", path: v1alpha1.PathSingleShot,
			unclear: map[v1alpha1.CapabilityName]string{"Streaming": "StreamInterrupted"}},
		{preset: "wrong-generation", path: v1alpha1.PathUnavailable, guilty: "Streaming", because: "ProtocolGenerationMismatch"},
	}
	agents := map[string]*agent.Agent{}
	for _, p := range peers {
		agents[p.preset] = agent.New(agent.Preset(p.preset))
		w.apply(t, namespace, peer{name: p.preset, url: agents[p.preset].Start(t)})
	}
	w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)

	for _, p := range peers {
		for _, c := range p.trusted {
			w.becomes(t, namespace, p.preset, verdict(c), "Trusted", string(c))
		}
		for c, reason := range p.unclear {
			w.becomes(t, namespace, p.preset, verdict(c), "Unverified/"+reason, string(c))
		}
		if p.guilty != "" {
			w.becomes(t, namespace, p.preset, verdict(p.guilty), "Demoted/"+p.because, string(p.guilty))
		}
	}
	for _, p := range peers {
		t.Run(p.preset, func(t *testing.T) {
			if p.guilty == "" { // who is demoted is asked ever more rarely
				w.stands(t, namespace, p.preset)
			}
			var guilty []v1alpha1.CapabilityName
			if p.guilty != "" {
				guilty = append(guilty, p.guilty)
			}
			h.neverAccused(t, p.preset, guilty...)
			h.alwaysReady(t, p.preset)
			h.countedOnce(t, p.preset)
			last := w.get(t, namespace, p.preset)
			if got := last.Status.Decision.Path; got != p.path {
				t.Errorf("the recommended path is %s, want %s", got, p.path)
			}
			for _, c := range last.Status.Capabilities {
				if c.State == v1alpha1.Demoted && (c.Message == "" || len(c.Observed) == 0) {
					t.Errorf("%s is Demoted without an account: message %q, observed %q", c.Name, c.Message, c.Observed)
				}
			}
			if booked, got := tasks(last), sent(agents[p.preset]); booked > got {
				t.Errorf("%d messages are booked, the agent got %d", booked, got)
			}
		})
	}
}

package e2e_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

// mostMemory in MiB is generous for a few dozen peers: what a hostile one sends must not pile up.
const mostMemory = 300

func TestHostilePeersAreInconclusiveAndHarmNobody(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	hostile := []struct {
		quirk string
		// reason that a user reads: of Streaming where a card was read, else of the condition named.
		reason string
		of     string
		// fine: it is Trusted all the same.
		fine bool
	}{
		{quirk: "hangs", reason: "Unreachable", of: v1alpha1.ConditionReachable},
		{quirk: "drops", reason: "Unreachable", of: v1alpha1.ConditionReachable},
		{quirk: "status-500", reason: "ServerError", of: v1alpha1.ConditionReachable},
		{quirk: "endless-card", reason: "CardMalformed", of: v1alpha1.ConditionReachable},
		{quirk: "giant-card", reason: "CardMalformed", of: v1alpha1.ConditionReachable},
		{quirk: "malformed-card", reason: "CardMalformed", of: v1alpha1.ConditionReachable},
		{quirk: "html-card", reason: "CardMalformed", of: v1alpha1.ConditionReachable},
		{quirk: "card-302-away", reason: "EndpointRedirects", of: v1alpha1.ConditionReachable},
		{quirk: "posts-hang", reason: "Unreachable"},
		{quirk: "posts-html", reason: "EndpointNotFound"},
		{quirk: "posts-302", reason: "EndpointRedirects"},
		{quirk: "endless-body", reason: "UnexpectedAnswer"},
		{quirk: "giant-body", reason: "UnexpectedAnswer"},
		{quirk: "endless-stream", reason: "UnexpectedAnswer"},
		{quirk: "giant-event", reason: "UnexpectedAnswer"},
		{quirk: "malformed-event", fine: true}, // one frame is lost and the task's end is shown: a warning
	}
	neighbours := []string{"neighbour-1", "neighbour-2", "neighbour-3"}
	var all []peer
	for _, p := range hostile {
		all = append(all, peer{name: p.quirk, url: agent.New(agent.Is(p.quirk)).Start(t)})
	}
	for _, name := range neighbours { // applied last, behind all the others
		all = append(all, peer{name: name, url: agent.New(agent.Preset("ordinary")).Start(t)})
	}
	w.apply(t, namespace, all...)
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)

	for _, name := range neighbours {
		for _, c := range everything {
			w.becomes(t, namespace, name, verdict(c), "Trusted", string(c))
		}
		w.stands(t, namespace, name)
		h.neverAccused(t, name)
		h.alwaysReady(t, name)
	}
	t.Run("verdicts", func(t *testing.T) {
		for _, p := range hostile {
			t.Run(p.quirk, func(t *testing.T) {
				t.Parallel()
				fact, want := verdict("Streaming"), "Unverified/"+p.reason
				switch {
				case p.of != "":
					fact, want = condition(p.of), "False/"+p.reason
				case p.fine:
					want = "Trusted"
				}
				w.becomes(t, namespace, p.quirk, fact, want, "verdict")
				h.neverAccused(t, p.quirk)
				h.alwaysReady(t, p.quirk)
			})
		}
	})
	gomega.NewWithT(t).Consistently(func() string {
		return verdict("Streaming")(w.get(t, namespace, neighbours[0]))
	}, "3s", often).Should(gomega.Equal("Trusted"))
	if peak, err := o.peakMemory(); err != nil {
		t.Logf("memory is not looked at: %v", err)
	} else if t.Logf("the operator had at most %d MiB", peak); peak > mostMemory {
		t.Errorf("the operator had %d MiB, want at most %d", peak, mostMemory)
	}
}

package examples

import (
	"fmt"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

// inGo is the orchestrator with the Go client.
func inGo(t *testing.T) language {
	t.Helper()
	for _, l := range languages {
		if l.name == "Go" {
			return l
		}
	}
	t.Fatal("there is none in Go")
	return language{}
}

func TestTheGoOrchestratorHoldsAConversationOrSaysAllAtOnce(t *testing.T) {
	t.Parallel()
	w := enter(t)
	trusted, unknown := agent.New(), agent.New()
	url := trusted.Start(t)
	w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
	p := inGo(t).start(t, w.account(t, w.layFront(t), "agentpeer-orchestrator"))
	if got := p.errand(t, url, "book a trip|to Oslo"); got != "Streaming TASK_STATE_COMPLETED" {
		t.Errorf("with one that is trusted: %q", got)
	}
	if got := trusted.Tasks(); len(got) != 1 || got[0].Text != "book a trip" {
		t.Errorf("it should have been asked and answered: %+v", got)
	}
	if got := p.errand(t, unknown.Start(t), "book a trip|to Oslo"); got != "SingleShot TASK_STATE_COMPLETED" {
		t.Errorf("with one that nobody knows: %q", got)
	}
	if got := unknown.Tasks(); len(got) != 1 || got[0].Text != "book a trip to oslo" { // in the agent's spelling
		t.Errorf("it should have been told all at once: %+v", got)
	}
}

func TestTheGoOrchestratorEndsWhatItsKilledForerunnerLeft(t *testing.T) {
	t.Parallel()
	w := enter(t)
	l, a := inGo(t), agent.New()
	url, ledger, kubeconfig := a.Start(t), "LEDGER="+t.TempDir(), w.account(t, w.layFront(t), "agentpeer-orchestrator")
	first := l.run(t, l.file, kubeconfig, ledger)
	if _, err := fmt.Fprintln(first.in, url, "count to 1000 slowly"); err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	g.Eventually(func() int { return a.Counts().Requests["GetTask"] }, within, often).Should(gomega.BeNumerically(">", 0), "it follows its task")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	if open := a.Counts().Open; open != 1 {
		t.Fatalf("%d tasks are open, want the one that was left", open)
	}
	second := l.run(t, l.file, kubeconfig, ledger)
	g.Eventually(func() int { return a.Counts().Open }, within, often).Should(gomega.BeZero(), "tasks left open; it said:\n%s", second.says)
}

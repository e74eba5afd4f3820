package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/test/agent"
)

// orchestrator is one as a user would build it on the Go client.
type orchestrator struct {
	peers  *client.PeerCapabilityCache
	tasks  *client.Tasks
	ledger *client.Ledger
	// reissued are the reasons for which work was given to a worker again.
	reissued []error
}

// startOrchestrator runs one under a ServiceAccount of its own, with the rights that orchestrators get, until the test ends.
func (w world) startOrchestrator(t *testing.T, namespace, name string) *orchestrator {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "agentpeer-orchestrator"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	}
	for _, o := range []ctrlclient.Object{account, binding} {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := w.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: w.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: w.Config.CAData}, BearerToken: token.Status.Token}
	reporter, err := client.NewReporter(config, client.ReporterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	peers, err := client.NewPeerCapabilityCache(config, client.CacheOptions{Reporter: reporter})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	go func() { _ = reporter.Start(ctx); ended <- struct{}{} }()
	go func() { _ = peers.Start(ctx); ended <- struct{}{} }()
	t.Cleanup(func() { stop(); <-ended; <-ended })
	if err := peers.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := client.NewFileStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := client.NewLedger(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return &orchestrator{peers: peers, tasks: &client.Tasks{Peers: peers, Ledger: ledger}, ledger: ledger}
}

func said(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

// book a journey with a worker. The orchestrator knows where to from the start, and says so in a second message as long as conversations can
// be relied on. Where the worker breaks one off, the work is given to it again with all inputs at once, if the first task is known to be over.
func (o *orchestrator) book(ctx context.Context, c *a2aclient.Client, url string) (*client.Result, error) {
	peer := client.At(url)
	open := func(text string) (*client.Task, error) {
		return o.tasks.OpenStreamingTask(ctx, c, peer, &a2a.SendMessageRequest{Message: said(text)},
			client.TaskOptions{
				AllInputs: said("book a journey to Oslo"),
				// Should the question be on its way when the follow-up is, it is answered too.
				OnInput: func(context.Context, a2a.TaskStatus) (*a2a.Message, error) { return said("to Oslo"), nil },
				Promise: true, // the card declares stateTransitionHistory
			})
	}
	interactive := o.peers.Decide(peer).MultiTurn == v1alpha1.MultiTurnInteractive
	task, err := open("book a journey")
	if err != nil {
		return nil, err
	}
	if interactive {
		err = o.tasks.FollowUp(ctx, task, said("to Oslo"))
	}
	result, awaitErr := o.tasks.AwaitTerminalState(ctx, task)
	if err = errors.Join(err, awaitErr); err == nil || !result.MayReissue {
		return result, err
	}
	o.reissued = append(o.reissued, err)
	if task, err = open("book a journey to Oslo"); err != nil {
		return nil, err
	}
	return o.tasks.AwaitTerminalState(ctx, task)
}

// worker is one of the three, which have the same card.
func worker() *agent.Agent {
	return agent.New(agent.Speaks(agent.V03), agent.Named("worker"), agent.With(func(c *agent.Config) {
		c.Card.StateTransitionHistory = json.RawMessage("true")
		c.Script.SkipSubmitted = true
	}))
}

// TestTheFoundingIncidentEndsWithNothingLeftWorkingAndEverybodyWarned is what this product was made for. Three workers have identical cards.
// The third is deployed anew and takes a follow-up for a new request from then on, so that the first task stays working for ever. The
// operator's next round is an hour away.
//
// Reports are weighed by mode Probe, the default: what one orchestrator saw may be its own mistake, so it accuses nobody; it brings the
// rounds forward, which find out for themselves. Nobody has to be listed or counted for that, and the whole cluster knows within seconds.
func TestTheFoundingIncidentEndsWithNothingLeftWorkingAndEverybodyWarned(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	workers, urls, agents := make([]*agent.Agent, 3), make([]string, 3), make([]*a2aclient.Client, 3)
	for i := range workers {
		workers[i] = worker()
		urls[i] = workers[i].Start(t)
		web := &http.Client{} // Tasks sets the deadlines
		var err error
		agents[i], err = a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{{URL: urls[i] + "/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC,
			ProtocolVersion: "0.3"}}, a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: web}))
		if err != nil {
			t.Fatal(err)
		}
		w.apply(t, namespace, peer{name: fmt.Sprintf("worker-%d", i+1), url: urls[i], every: "1h", more: "  reports: {mode: Probe}"})
	}
	w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.Kubectl(t, "", "-n", namespace, "get", "agentpeers,agentpeerreports", "-o", "yaml"))
		}
	})
	for i := range workers {
		for _, c := range []v1alpha1.CapabilityName{"Streaming", "Continuation"} {
			w.becomes(t, namespace, fmt.Sprintf("worker-%d", i+1), verdict(c), "Trusted", string(c))
		}
	}
	// Times of status and reports have whole seconds. What is seen in the second of a round's end may be older than the round.
	gomega.NewWithT(t).Eventually(func() bool {
		return time.Now().Truncate(time.Second).After(w.get(t, namespace, "worker-3").Status.Rounds.LastBehaviorTime.Time)
	}, within, often).Should(gomega.BeTrue())
	workers[2].Set(agent.Is("founding-third"))

	first := w.startOrchestrator(t, namespace, "first")
	const errands = 10
	for n := range errands {
		for i := range workers {
			result, err := first.book(t.Context(), agents[i], urls[i])
			if err != nil || result.State != lifecycle.Completed {
				t.Errorf("errand %d at worker %d: %+v, %v", n+1, i+1, result, err)
			}
		}
	}
	if err := first.tasks.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	for i, a := range workers {
		for _, one := range a.Tasks() {
			// The operator's probes book trips; they may be under way.
			if strings.HasPrefix(one.Text, "book a journey") && (one.State == agent.Working || one.State == agent.Submitted) {
				t.Errorf("worker %d was left with task %s %v", i+1, one.Text, one.States)
			}
		}
	}
	if d := first.ledger.Diverged(); len(d) != 1 || d[0].Peer != client.At(urls[2]).String() {
		t.Errorf("the ledger has %d divergences, want one, of the third worker: %+v", len(d), d)
	}
	if open := first.ledger.Open(); len(open) != 0 {
		t.Errorf("the ledger has open entries: %+v", open)
	}
	var diverged *client.AgentCardDivergenceError
	if len(first.reissued) != 1 || !errors.As(first.reissued[0], &diverged) {
		t.Errorf("work was given again for %v, want once, for the divergence", first.reissued)
	}
	stats := first.tasks.Stats()
	t.Logf("%d tasks, %d by stream, %d GetTasks beside a stream: %.2f a task", stats.Tasks, stats.Streamed, stats.ExtraGetTasks,
		float64(stats.ExtraGetTasks)/float64(stats.Tasks))
	if stats.ExtraGetTasks > stats.Tasks {
		t.Error("more than one extra GetTask a task")
	}

	g := gomega.NewWithT(t)
	var reports v1alpha1.AgentPeerReportList
	g.Eventually(func() int {
		if err := w.Client.List(t.Context(), &reports, ctrlclient.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
		n := 0
		for _, r := range reports.Items {
			n += len(r.Spec.Divergences)
		}
		return n
	}, within, often).Should(gomega.Equal(1), "divergences reported")
	for _, r := range reports.Items {
		for _, d := range r.Spec.Divergences {
			if r.Spec.PeerRef.Name != "worker-3" || v1alpha1.CapabilityName(d.Capability) != v1alpha1.CapabilityContinuation || d.Reason != v1alpha1.ReasonTaskIdChangedOnContinuation {
				t.Errorf("a report of %s says %+v", r.Spec.PeerRef.Name, d)
			}
		}
	}
	w.becomes(t, namespace, "worker-3", verdict("Continuation"), "Demoted/TaskIdChangedOnContinuation", "Continuation")
	for _, honest := range []string{"worker-1", "worker-2"} {
		if got := verdict("Continuation")(w.get(t, namespace, honest)); got != "Trusted" {
			t.Errorf("%s: Continuation is %s", honest, got)
		}
	}

	// One that has never met any of them.
	second := w.startOrchestrator(t, namespace, "second")
	before := len(workers[2].Tasks())
	result, err := second.book(t.Context(), agents[2], urls[2])
	if err != nil || result.State != lifecycle.Completed {
		t.Errorf("the second orchestrator: %+v, %v", result, err)
	}
	made := 0
	for _, one := range workers[2].Tasks()[before:] {
		if strings.EqualFold(one.Text, "book a journey to Oslo") {
			made++
		}
	}
	if d := second.ledger.Diverged(); made != 1 || len(d) != 0 {
		t.Errorf("the second orchestrator had to learn it too: %d tasks said all at once, divergences %+v", made, d)
	}
}

package controllers

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// stage plays stories on a real API server and a real Runner, with scripted peers and a clock of its own. The one thing
// it replaces is the queue: it calls Reconcile itself, so that a story takes no real time and leaves nothing to chance.
type stage struct {
	*testing.T
	server    *apiserver.Server
	namespace string
	r         *AgentPeerReconciler
	clock     *clocktesting.FakePassiveClock
	events    *events.FakeRecorder
	registry  *prometheus.Registry
	client    client.Client
	stop      context.CancelFunc

	mu sync.Mutex
	// script plays the peer of a key; honest if there is none.
	script map[string]func(context.Context, probe.Job) probe.Report
	jobs   []probe.Job
	writes int
	// reports, if set, are what a cache holds of AgentPeerReports: thousands are not fetched for each look.
	reports *trustv1alpha1.AgentPeerReportList
	// before, if set, is called before each status write and can make it fail.
	before func() error
}

func newStage(t *testing.T) *stage {
	server := apiserver.For(t)
	s := &stage{T: t, server: server, namespace: server.Namespace(t), script: map[string]func(context.Context, probe.Job) probe.Report{}}
	// Whole seconds, as the API server keeps them.
	s.clock = clocktesting.NewFakePassiveClock(time.Now().UTC().Truncate(time.Second))
	direct, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s.client = interceptor.NewClient(direct, interceptor.Funcs{SubResourceApply: s.apply, List: s.list})
	s.start()
	return s
}

// start is a fresh process: new memory, new Runner.
func (s *stage) start() {
	if s.stop != nil {
		s.stop()
	}
	s.registry = prometheus.NewRegistry()
	s.events = events.NewFakeRecorder(1000)
	runner := probe.NewRunner(probe.RunnerOptions{Run: s.run, Log: logr.Discard()})
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() { _ = runner.Start(ctx); close(ended) }()
	s.stop = func() { cancel(); <-ended }
	s.Cleanup(s.stop)
	s.r = &AgentPeerReconciler{
		Client: s.client, Recorder: s.events, Runner: runner, Config: DefaultConfig(), Metrics: NewMetrics(s.registry), Clock: s.clock,
		questions: questions{
			ask:     []trust.Capability{trust.Cancellation, trust.Continuation, trust.Lifecycle, trust.Streaming, trust.TaskRetrieval},
			cost:    map[trust.Capability]int{trust.Cancellation: 1, trust.Continuation: 2, trust.Lifecycle: 0, trust.Streaming: 2, trust.TaskRetrieval: 0},
			control: 1,
		},
	}
	s.r.complete()
}

func (s *stage) run(ctx context.Context, _ probe.Env, job probe.Job) probe.Report {
	s.mu.Lock()
	s.jobs = append(s.jobs, job)
	play := s.script[job.Target.Key]
	s.mu.Unlock()
	if play == nil {
		play = s.honest
	}
	return play(ctx, job)
}

func (s *stage) apply(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	err := c.SubResource(sub).Apply(ctx, o, opts...)
	if err == nil {
		s.mu.Lock()
		s.writes++
		s.mu.Unlock()
	}
	return err
}

func (s *stage) list(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
	held, ok := into.(*trustv1alpha1.AgentPeerReportList)
	if !ok || s.reports == nil {
		return c.List(ctx, into, opts...)
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	for _, r := range s.reports.Items {
		if o.FieldSelector == nil || o.FieldSelector.Matches(fields.Set{indexPeer: r.Spec.PeerRef.Name}) {
			held.Items = append(held.Items, r)
		}
	}
	return nil
}

// play sets what the peer of a name does from now on.
func (s *stage) play(name string, f func(context.Context, probe.Job) probe.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script[s.namespace+"/"+name] = f
}

// counted returns how many status writes went through since the last call.
func (s *stage) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.writes
	s.writes = 0
	return n
}

// asked returns the jobs that were run since the last call.
func (s *stage) asked() []probe.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := s.jobs
	s.jobs = nil
	return jobs
}

// honest is a peer that declares streaming and keeps every promise.
func (s *stage) honest(_ context.Context, job probe.Job) probe.Report {
	return s.report(job, func(trust.Capability) trust.Observation {
		return trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored}
	})
}

// liar streams an empty body although its single-shot path works.
func (s *stage) liar(_ context.Context, job probe.Job) probe.Report {
	return s.report(job, func(c trust.Capability) trust.Observation {
		if c == trust.Streaming {
			return trust.Observation{Outcome: trust.Diverged, Reason: trust.ReasonStreamEmpty, Basis: "Card", Rule: "C03",
				Message: "the stream ended in good order without an event; the single-shot control worked", Observed: []string{"end@3ms"}}
		}
		return trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored}
	})
}

// silent cannot be reached (case C88).
func (s *stage) silent(_ context.Context, job probe.Job) probe.Report {
	r := s.report(job, func(trust.Capability) trust.Observation { return trust.Observation{} })
	r.Round.Claims, r.Round.Observations, r.Round.Tasks, r.Round.Usable = trust.Claims{}, nil, 0, false
	r.Card, r.Interface = nil, nil
	r.Round.Reach = trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonUnreachable}
	return r
}

const digestA, digestB = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// report answers a job: the card is read, the peer reached, and each capability as observe says.
func (s *stage) report(job probe.Job, observe func(trust.Capability) trust.Observation) probe.Report {
	now := s.clock.Now()
	claims := trust.Claims{Digest: digestA, Declared: map[trust.Capability]trust.Declaration{
		trust.Streaming: trust.Declared, trust.PushNotifications: trust.NotDeclared,
		trust.ExtendedAgentCard: trust.NotDeclared, trust.StateTransitionHistory: trust.NotDeclared}}
	r := probe.Report{
		Key: job.Target.Key, Target: job.Target.ID, Generation: job.Generation,
		Card:      &card.Card{Digest: claims.Digest, Skills: []card.Skill{{ID: "route", InputModes: []string{"text/plain"}}}},
		Interface: &card.Interface{URL: job.Target.URL, Binding: "JSONRPC", ProtocolVersion: "1.0"},
		Round: trust.Round{Number: job.Round, Kind: job.Kind, Started: now, Finished: now, Claims: claims, Usable: true,
			Reach: trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored}},
	}
	if job.Kind == trust.Behavior {
		r.Round.Asked = job.Ask
		for _, c := range job.Ask {
			o := observe(c)
			if c == trust.Cancellation && job.Target.Fixtures.LongRunning == nil || c == trust.Continuation && job.Target.Fixtures.InputRequired == nil {
				o = trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonNoFixture}
			} else {
				r.Round.Tasks += s.r.questions.cost[c]
			}
			o.Capability = c
			r.Round.Observations = append(r.Round.Observations, o)
		}
	}
	return r
}

// peer makes an AgentPeer; with changes its spec before it is created.
func (s *stage) peer(name string, with ...func(*trustv1alpha1.AgentPeer)) *trustv1alpha1.AgentPeer {
	s.Helper()
	p := &trustv1alpha1.AgentPeer{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       trustv1alpha1.AgentPeerSpec{URL: "https://" + name + ".example.com/"},
	}
	for _, w := range with {
		w(p)
	}
	if err := s.client.Create(s.Context(), p); err != nil {
		s.Fatal(err)
	}
	return p
}

// edit changes a peer as a user would.
func (s *stage) edit(name string, change func(*trustv1alpha1.AgentPeer)) {
	s.Helper()
	p := s.get(name)
	change(p)
	if err := s.client.Update(s.Context(), p); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) get(name string) *trustv1alpha1.AgentPeer {
	s.Helper()
	var p trustv1alpha1.AgentPeer
	if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &p); err != nil {
		s.Fatal(err)
	}
	return &p
}

func (s *stage) reconcile(name string) (ctrl.Result, error) {
	return s.r.Reconcile(s.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.namespace, Name: name}})
}

// settle reconciles until nothing is under way, and says when to look again.
func (s *stage) settle(name string) time.Duration {
	s.Helper()
	for range 50 {
		result, err := s.reconcile(name)
		if err != nil {
			s.Fatalf("reconciling %q: %v", name, err)
		}
		if !s.await(name) {
			return result.RequeueAfter
		}
	}
	s.Fatalf("%q does not settle: a hot loop", name)
	return 0
}

// await waits for the report of a round that is under way, and says whether one came.
func (s *stage) await(name string) bool {
	s.Helper()
	k := s.namespace + "/" + name
	if _, ok := s.r.Runner.Report(k); ok {
		return true
	}
	if !s.r.Runner.Busy(k) {
		_, ok := s.r.Runner.Report(k)
		return ok
	}
	timeout := time.After(30 * time.Second)
	for {
		select {
		case got := <-s.r.Runner.Wake():
			if got == k {
				return true
			}
		case <-timeout:
			s.Fatalf("no report of %q within 30 s", name)
		}
	}
}

// pass lets time go by, waking the controller whenever it asked to be woken.
func (s *stage) pass(name string, d time.Duration) {
	s.Helper()
	end := s.clock.Now().Add(d)
	for range 10_000 {
		next := s.settle(name)
		if next <= 0 {
			s.Fatalf("RequeueAfter is %s: nothing would wake %q again", next, name)
		}
		at := s.clock.Now().Add(next)
		if at.After(end) {
			s.clock.SetTime(end)
			return
		}
		s.clock.SetTime(at)
	}
	s.Fatalf("%q never rests", name)
}

// capability of a peer as status shows it.
func capability(p *trustv1alpha1.AgentPeer, name trust.Capability) trustv1alpha1.CapabilityStatus {
	for _, c := range p.Status.Capabilities {
		if c.Name == trustv1alpha1.CapabilityName(name) {
			return c
		}
	}
	return trustv1alpha1.CapabilityStatus{}
}

func (s *stage) wantState(name string, c trust.Capability, want trust.State) {
	s.Helper()
	if got := capability(s.get(name), c); trust.State(got.State) != want {
		s.Errorf("%s of %q is %s (%s), want %s", c, name, got.State, got.Reason, want)
	}
}

func (s *stage) wantCondition(name, kind string, want metav1.ConditionStatus, reason string) {
	s.Helper()
	p := s.get(name)
	c := meta.FindStatusCondition(p.Status.Conditions, kind)
	if c == nil {
		if want != "" {
			s.Errorf("%q has no condition %s, want %s", name, kind, want)
		}
		return
	}
	if c.Status != want || reason != "" && c.Reason != reason {
		s.Errorf("%s of %q is %s (%s: %s), want %s (%s)", kind, name, c.Status, c.Reason, c.Message, want, reason)
	}
}

// wantKStatus checks what Flux, Helm and others take the object for, and that the status keeps its contract.
func (s *stage) wantKStatus(name string, want kstatus.Status) {
	s.Helper()
	p := s.get(name)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		s.Fatal(err)
	}
	raw["apiVersion"], raw["kind"] = trustv1alpha1.GroupVersion.String(), "AgentPeer"
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: raw})
	if err != nil {
		s.Fatal(err)
	}
	if result.Status != want {
		s.Errorf("kstatus of %q is %s (%s), want %s", name, result.Status, result.Message, want)
	}
	s.wantContract(p)
}

// wantContract checks what holds for every status that was ever written.
func (s *stage) wantContract(p *trustv1alpha1.AgentPeer) {
	s.Helper()
	for _, kind := range []string{trustv1alpha1.ConditionReady, trustv1alpha1.ConditionReachable, trustv1alpha1.ConditionCardValid,
		trustv1alpha1.ConditionSignatureVerified, trustv1alpha1.ConditionTrusted, trustv1alpha1.ConditionRequirementsMet} {
		if meta.FindStatusCondition(p.Status.Conditions, kind) == nil {
			s.Errorf("condition %s is missing", kind)
		}
	}
	abnormal := 0
	for _, c := range p.Status.Conditions {
		if c.Type == trustv1alpha1.ConditionReconciling || c.Type == trustv1alpha1.ConditionStalled {
			abnormal++
			if c.Status != metav1.ConditionTrue {
				s.Errorf("%s is %s: it is to be present only when True", c.Type, c.Status)
			}
		}
		if c.ObservedGeneration > p.Generation {
			s.Errorf("%s carries generation %d of %d", c.Type, c.ObservedGeneration, p.Generation)
		}
	}
	if abnormal > 1 {
		s.Error("Reconciling and Stalled at once")
	}
	raw, err := json.Marshal(p.Status)
	if err != nil {
		s.Fatal(err)
	}
	if len(raw) > maxStatus {
		s.Errorf("status has %d bytes, want at most %d", len(raw), maxStatus)
	}
	if owners := statusOwners(p); len(owners) != 1 || owners[0] != string(FieldOwner) {
		s.Errorf("status is owned by %v, want one owner %q", owners, FieldOwner)
	}
}

func statusOwners(p *trustv1alpha1.AgentPeer) []string {
	var owners []string
	for _, m := range p.ManagedFields {
		if m.Subresource == "status" {
			owners = append(owners, m.Manager)
		}
	}
	return owners
}

// told returns the events since the last call, one a line.
func (s *stage) told() string {
	var lines []string
	for {
		select {
		case line := <-s.events.Events:
			lines = append(lines, line)
		default:
			return strings.Join(lines, "\n")
		}
	}
}

// figure sums the samples of a metric whose labels hold all of the pairs given.
func (s *stage) figure(name string, labels ...string) float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	sample:
		for _, m := range family.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			for i := 0; i < len(labels); i += 2 {
				if have[labels[i]] != labels[i+1] {
					continue sample
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

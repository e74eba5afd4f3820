package controllers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// The cases from the wild that are about the operator itself. Others stand in the stories, with their case in the name.

// A role that is older than the operator: status may not be written. The report waits, and the peer pays for nothing twice.
func TestAStatusThatMayNotBeWrittenCostsThePeerNothing_CaseC105(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.await("planner")
	s.before = func() error {
		return apierrors.NewForbidden(schema.GroupResource{Group: trustv1alpha1.GroupVersion.Group, Resource: "agentpeers/status"}, "planner", errors.New("no"))
	}
	for range 10 {
		if _, err := s.reconcile("planner"); !apierrors.IsForbidden(err) {
			t.Fatalf("reconciling: %v, want the refusal, which is retried ever more slowly", err)
		}
		s.clock.SetTime(s.clock.Now().Add(time.Hour))
	}
	if jobs := s.asked(); len(jobs) != 1 {
		t.Errorf("%d rounds while nothing could be written, want one", len(jobs))
	}
	s.before = nil
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	if got := s.get("planner").Status.Rounds.Last; got != 1 {
		t.Errorf("the last round is %d, want the one that waited", got)
	}
}

// An operator that may not even list AgentPeers asks ever more slowly and is not ready, which a Deployment shows once and where
// somebody looks. It needs no restart when it is given its role.
func TestAnOperatorThatMayNotListAgentPeersIsNotReadyAndAsksEverMoreSlowly_CaseC106(t *testing.T) {
	server := apiserver.For(t)
	ctrl.SetLogger(logr.Discard())
	role := managerRole(t, server)
	late := rest.CopyConfig(server.Config)
	late.Impersonate.UserName = role
	var mu sync.Mutex
	var refused []time.Time
	late.WrapTransport = transport.Wrappers(late.WrapTransport, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil && answer.StatusCode == http.StatusForbidden && strings.HasSuffix(r.URL.Path, "/agentpeers") {
				mu.Lock()
				refused = append(refused, time.Now())
				mu.Unlock()
			}
			return answer, err
		})
	})
	mgr, err := ctrl.NewManager(late, ctrl.Options{
		Scheme: server.Scheme, Client: ClientOptions(), Cache: CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &AgentPeerReconciler{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("agentpeer"), Config: DefaultConfig(),
		Runner: probe.NewRunner(probe.RunnerOptions{Log: logr.Discard()}), Metrics: NewMetrics(prometheus.NewRegistry())}
	if err := r.SetupWithManager(mgr, SetupOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })

	NewWithT(t).Eventually(func() int { mu.Lock(); defer mu.Unlock(); return len(refused) }).
		WithTimeout(90 * time.Second).WithPolling(100 * time.Millisecond).Should(BeNumerically(">=", 5))
	mu.Lock()
	first, last := refused[1].Sub(refused[0]), refused[4].Sub(refused[3])
	mu.Unlock()
	if last <= first {
		t.Errorf("asked again after %s at first and after %s later, want ever more slowly", first, last)
	}
	synced := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return mgr.GetCache().WaitForCacheSync(ctx)
	}
	if synced(100 * time.Millisecond) {
		t.Error("ready without the right to list")
	}
	bind(t, server, role)
	if !synced(90 * time.Second) {
		t.Error("not ready although the role was given")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A card that fails its check is not remembered as one that passed: the same card gives the same status at every round.
func TestACardThatFailsItsCheckFailsItEveryTime_CaseC108(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report {
		if job.Known != nil {
			t.Error("a card of which no interface may be asked is known as one that was")
		}
		r := s.honest(ctx, job)
		r.Interface, r.Round.Observations, r.Round.Tasks = nil, nil, 0
		r.Round.Reach = trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonOriginNotAllowed}
		return r
	})
	for range 6 {
		s.pass("planner", 20*time.Minute)
		s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionTrue, "")
		if c := capability(s.get("planner"), trust.Streaming); c.State != trustv1alpha1.Unverified {
			t.Errorf("Streaming is %s (%s), want Unverified", c.State, c.Reason)
		}
	}
	s.wantCondition("planner", trustv1alpha1.ConditionReachable, metav1.ConditionFalse, string(trust.ReasonOriginNotAllowed))
}

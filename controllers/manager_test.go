package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// operator starts everything as cmd/main.go does: a manager with the rights of config/rbac/role.yaml and no others, the
// Runner, and real rounds over loopback. The stage's own clock and scripts are of no use with it.
func operator(t *testing.T) *stage {
	server := apiserver.For(t)
	s := &stage{T: t, server: server, namespace: server.Namespace(t), client: server.Client, registry: prometheus.NewRegistry()}
	ctrl.SetLogger(logr.Discard())

	options := ClientOptions()
	cacheOptions := CacheOptions()
	cacheOptions.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	mgr, err := ctrl.NewManager(limited(t, server), ctrl.Options{
		Scheme: server.Scheme, Client: options, Cache: cacheOptions, Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := probe.NewRunner(probe.RunnerOptions{Log: logr.Discard(), Env: probe.Env{Egress: agent.Loopback(), UserAgent: "test"}, StopTimeout: 2 * time.Second})
	if err := mgr.Add(runner); err != nil {
		t.Fatal(err)
	}
	s.r = &AgentPeerReconciler{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("agentpeer"), Runner: runner, Config: DefaultConfig(),
		Egress: agent.Loopback(), Metrics: NewMetrics(s.registry), Clock: clock.RealClock{}, ReportPolicy: "agentpeer-report-identity",
	}
	s.r.Config.Floors = Settings{}
	if err := s.r.SetupWithManager(mgr, SetupOptions{Concurrent: 4}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stopping the manager: %v", err)
		}
	})
	return s
}

// limited connects as a user who may do what config/rbac/role.yaml says, and nothing else.
func limited(t *testing.T, server *apiserver.Server) *rest.Config {
	role := managerRole(t, server)
	bind(t, server, role)
	config := rest.CopyConfig(server.Config)
	config.Impersonate.UserName = role
	return config
}

// managerRole makes the ClusterRole of config/rbac/role.yaml under a name of its own.
func managerRole(t *testing.T, server *apiserver.Server) string {
	raw, err := os.ReadFile(filepath.Join(apiserver.Root(), "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(raw, &role); err != nil {
		t.Fatal(err)
	}
	role.Name = ""
	role.GenerateName = "manager-role-"
	if err := server.Client.Create(t.Context(), &role); err != nil {
		t.Fatal(err)
	}
	return role.Name
}

// bind gives a role to the user of the same name.
func bind(t *testing.T, server *apiserver.Server, role string) {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: role}},
	}
	if err := server.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

func quick(url string) func(*trustv1alpha1.AgentPeer) {
	return func(p *trustv1alpha1.AgentPeer) {
		p.Spec.URL = url
		p.Spec.Probes.Reachability.Interval = duration(time.Second)
		p.Spec.Probes.Behavior.Interval = duration(5 * time.Second)
		p.Spec.Probes.Behavior.ConfirmInterval = duration(time.Second)
		p.Spec.Probes.Behavior.MaxTasksPerDay = ptr.To[int32](1000)
		p.Spec.Trust.Duration = duration(time.Hour)
	}
}

func (s *stage) eventually(within time.Duration, f func(Gomega)) {
	s.Helper()
	NewWithT(s).Eventually(f).WithTimeout(within).WithPolling(100 * time.Millisecond).Should(Succeed())
}

func TestTheOperatorFindsOutWhoLies(t *testing.T) {
	s := operator(t)
	s.peer("honest", quick(agent.New().Start(t)))
	s.peer("liar", quick(agent.New(agent.Preset("empty-stream")).Start(t)))
	s.peer("silent", quick("http://127.0.0.1:1/"))

	s.eventually(60*time.Second, func(g Gomega) {
		g.Expect(capability(s.get("honest"), trust.Streaming).State).To(Equal(trustv1alpha1.Trusted))
		g.Expect(s.get("honest").Status.Decision.Path).To(Equal(trustv1alpha1.PathStreaming))
		g.Expect(capability(s.get("liar"), trust.Streaming).State).To(Equal(trustv1alpha1.Demoted))
		g.Expect(s.get("liar").Status.Decision.Path).To(Equal(trustv1alpha1.PathSingleShot))
	})
	s.eventually(30*time.Second, func(g Gomega) {
		var events corev1.EventList
		g.Expect(s.client.List(t.Context(), &events, client.InNamespace(s.namespace))).To(Succeed())
		demoted := 0
		for _, e := range events.Items {
			if e.InvolvedObject.Name == "liar" && e.Reason == string(capability(s.get("liar"), trust.Streaming).Reason) {
				demoted++
			}
		}
		g.Expect(demoted).To(Equal(1))
	})
	for _, name := range []string{"honest", "liar", "silent"} {
		s.wantKStatus(name, kstatus.CurrentStatus)
	}
}

func TestWhatWakesAPeer(t *testing.T) {
	s := operator(t)
	slow := func(p *trustv1alpha1.AgentPeer) {
		quick("")(p)
		p.Spec.Probes.Behavior.Interval = duration(20 * time.Minute)
	}
	a := agent.New()
	s.peer("asked", slow, func(p *trustv1alpha1.AgentPeer) { p.Spec.URL = a.Start(t) })
	s.peer("behind-a-service", slow, func(p *trustv1alpha1.AgentPeer) {
		p.Spec.ServiceRef = &trustv1alpha1.ServiceReference{Name: "planner", Port: intstr.FromString("http")}
	})
	s.eventually(30*time.Second, func(g Gomega) {
		g.Expect(capability(s.get("asked"), trust.Streaming).State).To(Equal(trustv1alpha1.Trusted))
		g.Expect(reasonOf(s.get("behind-a-service"), trustv1alpha1.ConditionReady)).To(Equal(trustv1alpha1.ReasonServiceNotFound))
	})

	s.edit("asked", func(p *trustv1alpha1.AgentPeer) {
		p.Annotations = map[string]string{trustv1alpha1.RequestedAtAnnotation: "now"}
	})
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "planner"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}})
	s.eventually(30*time.Second, func(g Gomega) {
		g.Expect(s.get("asked").Status.LastHandledRequestedAt).To(Equal("now"))
		g.Expect(reasonOf(s.get("behind-a-service"), trustv1alpha1.ConditionReady)).To(Equal(trustv1alpha1.ReasonAccepted))
	})

	if err := s.client.Delete(t.Context(), s.get("asked")); err != nil {
		t.Fatal(err)
	}
	s.eventually(10*time.Second, func(g Gomega) {
		g.Expect(s.figure("agentpeer_trust_state", "name", "asked")).To(BeZero())
	})
}

// reasonOf is the reason of a condition; empty if there is none.
func reasonOf(p *trustv1alpha1.AgentPeer, kind string) string {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}

func TestBadNeighboursStopNobody(t *testing.T) {
	s := operator(t)
	for i := range 5 {
		s.peer(fmt.Sprintf("hung-%d", i), quick(agent.New(agent.Preset("hung")).Start(t)))
		s.peer(fmt.Sprintf("no-secret-%d", i), quick("https://127.0.0.1:1/"), withToken)
		s.peer(fmt.Sprintf("blocked-%d", i), quick("http://169.254.169.254/latest/"))
	}
	mad := s.peer("mad-status", quick("http://127.0.0.1:1/"))
	mad.Status = trustv1alpha1.AgentPeerStatus{
		ObservedGeneration: 9007199254740991, Target: "\x7f not a url",
		Capabilities: []trustv1alpha1.CapabilityStatus{{Name: "Streaming", State: "Trusted", Demotions: 1000,
			Recent: []trustv1alpha1.RecentOutcome{{Outcome: "Honored", Count: 10}, {Outcome: "Honored", Count: 10}}}},
		Rounds: &trustv1alpha1.RoundsStatus{Last: 9007199254740991, TasksPerHour: []int32{1000000}},
	}
	if err := s.client.Status().Update(t.Context(), mad, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	s.peer("honest", quick(agent.New().Start(t)))

	s.eventually(30*time.Second, func(g Gomega) {
		g.Expect(capability(s.get("honest"), trust.Streaming).State).To(Equal(trustv1alpha1.Trusted))
		g.Expect(reasonOf(s.get("no-secret-4"), trustv1alpha1.ConditionReady)).To(Equal(trustv1alpha1.ReasonSecretNotFound))
		g.Expect(reasonOf(s.get("hung-4"), trustv1alpha1.ConditionReady)).To(Equal(trustv1alpha1.ReasonAccepted))
		g.Expect(reasonOf(s.get("mad-status"), trustv1alpha1.ConditionReady)).To(Equal(trustv1alpha1.ReasonAccepted))
	})
	s.wantKStatus("honest", kstatus.CurrentStatus)
}

// The whole of it, with the rights of config/rbac/role.yaml: reports wake their peer, a quorum demotes, a clean round lifts, each report is
// acknowledged, and none is before its writer is proven.
func TestTheOperatorHearsOrchestrators(t *testing.T) {
	s := operator(t)
	s.clock = clocktesting.NewFakePassiveClock(time.Now())
	url := agent.New().Start(t)
	s.peer("planner", quick(url), demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.Probes.Behavior.ConfirmInterval = duration(3 * time.Second) })
	s.eventually(60*time.Second, func(g Gomega) {
		g.Expect(capability(s.get("planner"), trust.Streaming).State).To(Equal(trustv1alpha1.Trusted))
	})
	s.prove()
	s.r.identity.mu.Lock()
	s.r.identity.looked = time.Time{} // do not wait half a minute
	s.r.identity.mu.Unlock()
	seen := s.get("planner")
	say := func(account string) string {
		return s.says(account, "pod-1", "planner", func(r *trustv1alpha1.AgentPeerReport) {
			now := metav1.Now()
			r.Spec.Target, r.Spec.ClaimsDigest = seen.Status.Target, seen.Status.Card.ClaimsDigest
			r.Spec.Window = trustv1alpha1.ReportWindow{StartTime: now, EndTime: now}
			r.Spec.Capabilities[0].LastDivergedTime = &now
		})
	}
	reports := []string{say("booking"), say("support")}
	s.eventually(60*time.Second, func(g Gomega) {
		g.Expect(s.figure("agentpeer_demotions_total", "source", "Report")).To(BeNumerically(">=", 1))
		g.Expect(capability(s.get("planner"), trust.Streaming).State).To(Equal(trustv1alpha1.Trusted))
		for _, name := range reports {
			var r trustv1alpha1.AgentPeerReport
			g.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &r)).To(Succeed())
			g.Expect(isAccepted(&r)).To(BeTrue())
		}
	})
	if n := s.figure("agentpeer_report_policy_present"); n != 1 {
		t.Errorf("agentpeer_report_policy_present is %v", n)
	}
}

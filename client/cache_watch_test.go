package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// vouched creates an AgentPeer whose status trusts everything for an hour, as the operator would write it.
func vouched(t *testing.T, api ctrlclient.Client, namespace, name, url string) *v1alpha1.AgentPeer {
	t.Helper()
	peer := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.AgentPeerSpec{URL: url}}
	if err := api.Create(t.Context(), peer); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	trust := trusted()
	trustAll(trust, until)
	peer.Status = trust.Status
	peer.Status.ObservedGeneration, peer.Status.Target = peer.Generation, url
	peer.Status.Decision.ExpirationTime = &metav1.Time{Time: until}
	write(t, api, peer)
	return peer
}

func write(t *testing.T, api ctrlclient.Client, peer *v1alpha1.AgentPeer) {
	t.Helper()
	if err := api.Status().Update(t.Context(), peer); err != nil {
		t.Fatal(err)
	}
}

// watching starts a cache.
func watching(t *testing.T, config *rest.Config, o CacheOptions) *PeerCapabilityCache {
	t.Helper()
	c, err := NewPeerCapabilityCache(config, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func synced(t *testing.T, c *PeerCapabilityCache) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestTheCacheFollowsTheAPIServer(t *testing.T) {
	s, g := apiserver.For(t), gomega.NewWithT(t)
	g.SetDefaultEventuallyTimeout(30 * time.Second)
	ns := s.Namespace(t)
	peer := vouched(t, s.Client, ns, "planner", "https://planner.example.com/a2a")
	c := watching(t, s.Config, CacheOptions{})
	name, url := Named(ns, "planner"), At("https://planner.example.com/a2a")
	synced(t, c)
	for _, ref := range []Ref{name, url} {
		if d := c.Decide(ref); d.Path != "Streaming" || !c.IsTrusted(ref, v1alpha1.CapabilityStreaming) {
			t.Errorf("%s: %+v", ref, d)
		}
	}
	path := func(ref Ref) func() v1alpha1.Reason {
		return func() v1alpha1.Reason { return c.Decide(ref).Reason }
	}

	peer.Status.Decision.Path, peer.Status.Decision.Reason = v1alpha1.PathSingleShot, "StreamingDemoted"
	write(t, s.Client, peer)
	g.Eventually(path(name)).Should(gomega.Equal(v1alpha1.Reason("StreamingDemoted")))
	if d := c.Decide(url); d.Reason != "StreamingDemoted" {
		t.Errorf("by URL: %+v", d)
	}

	peer.Spec.URL = "https://planner.example.com/v2"
	if err := s.Client.Update(t.Context(), peer); err != nil {
		t.Fatal(err)
	}
	g.Eventually(path(name)).Should(gomega.Equal(ReasonStatusOutdated))
	if d := c.Decide(url); d.Reason != ReasonPeerUnknown {
		t.Errorf("by the URL that it had: %+v", d)
	}

	if err := s.Client.Delete(t.Context(), peer); err != nil {
		t.Fatal(err)
	}
	g.Eventually(path(name)).Should(gomega.Equal(ReasonPeerUnknown))
	vouched(t, s.Client, ns, "late", "https://late.example.com")
	g.Eventually(path(At("https://late.example.com"))).Should(gomega.Equal(v1alpha1.Reason("StreamingTrusted")))
	if err := c.Err(); err != nil {
		t.Errorf("the watch is well, and Err says: %v", err)
	}
}

func TestTheCacheLooksAtTheNamespacesItIsTold(t *testing.T) {
	s := apiserver.For(t)
	a, b, other := s.Namespace(t), s.Namespace(t), s.Namespace(t)
	for _, ns := range []string{a, b, other} {
		vouched(t, s.Client, ns, "planner", "https://"+ns+".example.com")
	}
	c := watching(t, s.Config, CacheOptions{Namespaces: []string{b, a, b}})
	if d := c.Decide(Named(a, "planner")); d.Reason != ReasonCacheNotSynced && d.Reason != "StreamingTrusted" {
		t.Errorf("before all is known: %+v", d)
	}
	synced(t, c)
	for ns, want := range map[string]v1alpha1.Reason{a: "StreamingTrusted", b: "StreamingTrusted", other: ReasonPeerUnknown} {
		if d := c.Decide(Named(ns, "planner")); d.Reason != want {
			t.Errorf("%s: %s, want %s", ns, d.Reason, want)
		}
	}
}

func TestBeforeItIsSyncedTheCacheIsSafe(t *testing.T) {
	c, err := NewPeerCapabilityCache(&rest.Config{Host: "https://127.0.0.1:1"}, CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []Ref{Named("travel", "planner"), At("https://planner.example.com"), At("nonsense"), {}} {
		if d := c.Decide(ref); d != safe(ReasonCacheNotSynced, DefaultWait) || c.IsTrusted(ref, v1alpha1.CapabilityStreaming) {
			t.Errorf("%s: %+v", ref, d)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := c.WaitForSync(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting gives %v", err)
	}
	if _, err := NewPeerCapabilityCache(nil, CacheOptions{}); err == nil || !strings.Contains(err.Error(), "InClusterConfig") {
		t.Errorf("without a configuration: %v", err)
	}
}

// orchestratorRole is the ClusterRole that the docs tell to bind, with the prefix of config/default.
func orchestratorRole(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(apiserver.Root(), "config", "rbac", "tenants", "orchestrator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(raw, &role); err != nil {
		t.Fatal(err)
	}
	role.Name = "agentpeer-" + role.Name
	if err := s.Client.Create(t.Context(), &role); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return role.Name
}

func TestAMissingRightIsNamedAndHealsWhenItIsGranted(t *testing.T) {
	s := apiserver.For(t)
	ns := s.Namespace(t)
	vouched(t, s.Client, ns, "planner", "https://"+ns+".example.com")
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: orchestratorRole(t, s)}
	for name, tc := range map[string]struct {
		namespaces []string
		says       []string
		grant      func(rbacv1.Subject) ctrlclient.Object
	}{
		"everywhere": {nil, []string{"in all namespaces", "ClusterRole agentpeer-orchestrator", "a ClusterRoleBinding"}, func(who rbacv1.Subject) ctrlclient.Object {
			return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, RoleRef: role, Subjects: []rbacv1.Subject{who}}
		}},
		"in one namespace": {[]string{ns}, []string{`in namespace "` + ns, "ClusterRole agentpeer-orchestrator", "a RoleBinding"}, func(who rbacv1.Subject) ctrlclient.Object {
			return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "test-"}, RoleRef: role, Subjects: []rbacv1.Subject{who}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			account := strings.ReplaceAll(name, " ", "-")
			config := rest.CopyConfig(s.Config)
			config.Impersonate.UserName = "system:serviceaccount:" + ns + ":" + account
			c := watching(t, config, CacheOptions{Namespaces: tc.namespaces})
			err := c.WaitForSync(t.Context())
			var refused *AccessError
			if !errors.As(err, &refused) || !apierrors.IsForbidden(refused) {
				t.Fatalf("waiting gives %v", err)
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
			if d := c.Decide(Named(ns, "planner")); d.Reason != ReasonCacheNotSynced || c.Err() == nil {
				t.Errorf("meanwhile: %+v, %v", d, c.Err())
			}
			if err := s.Client.Create(t.Context(), tc.grant(rbacv1.Subject{Kind: "ServiceAccount", Namespace: ns, Name: account})); err != nil {
				t.Fatal(err)
			}
			g.Eventually(func() v1alpha1.Reason { return c.Decide(Named(ns, "planner")).Reason }, time.Minute).
				Should(gomega.Equal(v1alpha1.Reason("StreamingTrusted")))
			if err := errors.Join(c.WaitForSync(t.Context()), c.Err()); err != nil {
				t.Errorf("after it was granted: %v", err)
			}
		})
	}
}

func TestAClusterWithoutTheCRDsIsNamed(t *testing.T) {
	err := access("", apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("agentpeers").GroupResource(), ""))
	if !strings.Contains(err.Error(), "install the CRDs") {
		t.Errorf("%v", err)
	}
}

// An operator that died, an API server that is gone: what is known counts until it expires, and no longer.
func TestWhenTheAPIServerStopsDecisionsLapseByTheClock(t *testing.T) {
	shared, g := apiserver.For(t), gomega.NewWithT(t)
	env := &envtest.Environment{Scheme: shared.Scheme, CRDDirectoryPaths: []string{filepath.Join(apiserver.Root(), "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: 90 * time.Second, ControlPlaneStopTimeout: time.Minute}
	// It lets running requests end before it does, and a watch never ends.
	env.ControlPlane.GetAPIServer().Configure().Set("request-timeout", "15s")
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			if err := env.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	api, err := ctrlclient.New(config, ctrlclient.Options{Scheme: shared.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	vouched(t, api, "default", "planner", "https://planner.example.com")

	var ahead atomic.Int64
	c := watching(t, config, CacheOptions{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	synced(t, c)
	stop()
	g.Eventually(c.Err, time.Minute).ShouldNot(gomega.Succeed())
	ref := At("https://planner.example.com")
	if d := c.Decide(ref); d.Path != "Streaming" || !c.IsTrusted(ref, v1alpha1.CapabilityStreaming) {
		t.Errorf("while trust lasts: %+v", d)
	}
	ahead.Store(int64(time.Hour))
	if d := c.Decide(ref); d.Path != "SingleShot" || d.Reason != ReasonTrustExpired || c.IsTrusted(ref, v1alpha1.CapabilityStreaming) {
		t.Errorf("when it has expired: %+v", d)
	}
}

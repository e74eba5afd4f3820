package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

const (
	namespace      = "agentpeer-system"
	serviceAccount = "agentpeer-operator"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// install applies config/default, as the README tells a user to.
func install(t *testing.T) *apiserver.Server {
	t.Helper()
	server := apiserver.For(t)
	all := server.Kubectl(t, "", "kustomize", config("default"))
	// The test server already has the CRDs, from another field owner.
	server.Kubectl(t, all, "apply", "--server-side", "--force-conflicts", "-f", "-")
	return server
}

func config(parts ...string) string {
	return filepath.Join(append([]string{apiserver.Root(), "config"}, parts...)...)
}

// TestTheShippedSettingsAreTheDefaults holds config/manager/config.yaml to its word that what it shows is what holds anyway.
func TestTheShippedSettingsAreTheDefaults(t *testing.T) {
	shipped, err := controllers.LoadConfig(config("manager", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(controllers.DefaultConfig(), shipped); diff != "" {
		t.Errorf("config/manager/config.yaml differs from the defaults (-default +shipped):\n%s", diff)
	}
	written, err := os.ReadFile(config("manager", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"defaults:", "floors:", "ceilings:"} {
		if !strings.Contains(string(written), field) {
			t.Errorf("config/manager/config.yaml does not show %s", field)
		}
	}
}

func TestEverySampleIsAccepted(t *testing.T) {
	server := install(t)
	files, err := filepath.Glob(config("samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile(config("samples", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			own := server.Namespace(t)
			server.Kubectl(t, "", "apply", "--server-side", "--validate=strict", "--namespace", own, "-f", file)
			var peers v1alpha1.AgentPeerList
			if err := server.Client.List(t.Context(), &peers, client.InNamespace(own)); err != nil {
				t.Fatal(err)
			}
			if len(peers.Items) != 1 {
				t.Errorf("the sample has %d AgentPeers, want 1", len(peers.Items))
			}
			if !strings.Contains(string(listed), "- "+name+"\n") {
				t.Errorf("config/samples/kustomization.yaml does not list %s", name)
			}
		})
	}
	together := server.Namespace(t)
	all := server.Kubectl(t, "", "kustomize", config("samples"))
	server.Kubectl(t, all, "apply", "--server-side", "--namespace", together, "-f", "-")
}

// TestTheExampleOfTheReferenceIsAccepted applies the first YAML block of docs/spec/agentpeer.md.
func TestTheExampleOfTheReferenceIsAccepted(t *testing.T) {
	server := apiserver.For(t)
	text, err := os.ReadFile(filepath.Join(apiserver.Root(), "docs", "spec", "agentpeer.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/spec/agentpeer.md has no YAML block")
	}
	travel := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "travel"}}
	if err := server.Client.Create(t.Context(), travel); err != nil {
		t.Fatal(err)
	}
	server.Kubectl(t, block, "apply", "--server-side", "--validate=strict", "-f", "-")
}

func TestTheOperatorMayDoItsWorkAndNoMore_CaseC105(t *testing.T) {
	server := install(t)
	tenant := server.Namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "token"}}
	peer := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "peer"},
		Spec: v1alpha1.AgentPeerSpec{URL: "https://agent.example.com"}}
	for _, o := range []client.Object{secret, peer} {
		if err := server.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	operator := as(t, server, "system:serviceaccount:"+namespace+":"+serviceAccount)
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`))
	suspend := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))

	gomega.NewWithT(t).Eventually(func() error { // the authorizer learns of the roles from a watch
		return operator.List(t.Context(), &v1alpha1.AgentPeerList{})
	}, "10s", "50ms").Should(gomega.Succeed())
	for name, c := range map[string]struct {
		do      func() error
		allowed bool
	}{
		"reads AgentPeers":    {func() error { return operator.List(t.Context(), &v1alpha1.AgentPeerList{}) }, true},
		"writes their status": {func() error { return operator.Status().Patch(t.Context(), peer.DeepCopy(), status) }, true},
		"changes their spec":  {func() error { return operator.Patch(t.Context(), peer.DeepCopy(), suspend) }, false},
		"deletes them":        {func() error { return operator.Delete(t.Context(), peer.DeepCopy()) }, false},
		"reads one Secret":    {func() error { return operator.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}) }, true},
		"lists Secrets":       {func() error { return operator.List(t.Context(), &corev1.SecretList{}) }, false},
		"watches Services":    {func() error { return operator.List(t.Context(), &corev1.ServiceList{}) }, true},
		"watches ConfigMaps":  {func() error { return operator.List(t.Context(), &corev1.ConfigMapList{}) }, true},
		"reads Pods":          {func() error { return operator.List(t.Context(), &corev1.PodList{}) }, false},
		"takes over roles":    {func() error { return operator.List(t.Context(), &rbacv1.ClusterRoleList{}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.do()
			if c.allowed && err != nil {
				t.Errorf("the operator %s: %v, want it allowed", name, err)
			}
			if !c.allowed && !apierrors.IsForbidden(err) {
				t.Errorf("the operator %s: %v, want it forbidden", name, err)
			}
		})
	}
}

// as connects as somebody else.
func as(t *testing.T, server *apiserver.Server, user string) client.Client {
	t.Helper()
	other := rest.CopyConfig(server.Config)
	other.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(other, client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

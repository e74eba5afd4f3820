package namespaced

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
	"github.com/agentpeer/agentpeer/test/roles/process"
)

const (
	operatorNamespace = "agentpeer-system"
	operatorAccount   = "agentpeer-operator"
	watched           = "team-a" // as config/namespaced says
	secretText        = "t0k3n-of-the-tenant"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

var install sync.Once

// enter returns the API server with config/namespaced applied, and the operator's token.
func enter(t *testing.T) (*apiserver.Server, string) {
	t.Helper()
	server := apiserver.For(t)
	install.Do(func() {
		if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: watched}}); err != nil {
			t.Fatal(err)
		}
		// The test server already has the CRDs, from another field owner.
		server.Kubectl(t, "", "apply", "--server-side", "--force-conflicts", "-k", config("namespaced"))
	})
	return server, token(t, server)
}

func token(t *testing.T, server *apiserver.Server) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := server.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func config(parts ...string) string {
	return filepath.Join(append([]string{apiserver.Root(), "config"}, parts...)...)
}

func as(t *testing.T, server *apiserver.Server, token string) client.Client {
	t.Helper()
	anonymous := rest.AnonymousClientConfig(server.Config)
	anonymous.BearerToken, anonymous.QPS = token, -1
	c, err := client.New(anonymous, client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func secret(namespace string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token",
		Labels: map[string]string{v1alpha1.SendToPeersLabel: v1alpha1.SendToPeersValue}}, StringData: map[string]string{"token": secretText}}
}

// TestSecurityNamespacedTheOperatorWorksByRolesAlone runs the operator as the rendered Deployment does, with its own token, and
// has it judge an agent that wants a token from a Secret of the watched namespace.
func TestSecurityNamespacedTheOperatorWorksByRolesAlone(t *testing.T) {
	server, operatorToken := enter(t)
	a := agent.New(agent.With(func(c *agent.Config) { c.HTTP = append(c.HTTP, agent.Fault{Bearer: secretText}) }))
	peer := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "planner"}, Spec: v1alpha1.AgentPeerSpec{
		URL: a.Start(t), Auth: &v1alpha1.Auth{Type: v1alpha1.AuthBearer, Bearer: &v1alpha1.BearerAuth{SecretRef: v1alpha1.SecretKeyReference{Name: "token"}}}}}
	for _, o := range []client.Object{secret(watched), peer} {
		if err := server.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	var deployment appsv1.Deployment
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "agentpeer-operator"}, &deployment); err != nil {
		t.Fatal(err)
	}
	args := slices.DeleteFunc(deployment.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { // what only a pod can do
		return strings.HasPrefix(arg, "--config=") || strings.HasPrefix(arg, "--callback-") || strings.HasPrefix(arg, "--health-")
	})
	process.Start(t, server, operatorToken, append(args, "--health-probe-bind-address=0", "--leader-election-namespace="+operatorNamespace,
		"--allow-cidrs=127.0.0.0/8", "--allow-http-hosts=127.0.0.1")...)

	g := gomega.NewWithT(t)
	g.Eventually(func() string {
		var seen v1alpha1.AgentPeer
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(peer), &seen); err != nil {
			t.Fatal(err)
		}
		for _, c := range seen.Status.Capabilities {
			if string(c.Name) == "Streaming" {
				return string(c.State)
			}
		}
		return ""
	}).WithTimeout(3 * time.Minute).WithPolling(200 * time.Millisecond).Should(gomega.Equal("Trusted"))
	var lease coordinationv1.Lease
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "operator.trust.agentpeer.dev"}, &lease); err != nil {
		t.Errorf("looking for the lease: %v", err)
	}
}

func TestSecurityNamespacedNothingOfAnotherNamespaceCanBeRead(t *testing.T) {
	server, operatorToken := enter(t)
	other := server.Namespace(t)
	mine := secret(watched)
	mine.Name = "mine"
	theirs := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "peer"}, Spec: v1alpha1.AgentPeerSpec{URL: "https://agent.example.com"}}
	for _, o := range []client.Object{mine, secret(other), theirs} {
		if err := server.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	operator := as(t, server, operatorToken)
	gomega.NewWithT(t).Eventually(func() error { // the authorizer learns of bindings from a watch
		return operator.Get(t.Context(), client.ObjectKeyFromObject(mine), &corev1.Secret{})
	}, "10s", "50ms").Should(gomega.Succeed())
	in := client.InNamespace(other)
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`))
	for name, err := range map[string]error{
		"a Secret elsewhere":                   operator.Get(t.Context(), client.ObjectKey{Namespace: other, Name: "token"}, &corev1.Secret{}),
		"a Secret beside the operator":         operator.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "token"}, &corev1.Secret{}),
		"the Secrets of the watched namespace": operator.List(t.Context(), &corev1.SecretList{}, client.InNamespace(watched)),
		"all Secrets":                          operator.List(t.Context(), &corev1.SecretList{}),
		"AgentPeers elsewhere":                 operator.List(t.Context(), &v1alpha1.AgentPeerList{}, in),
		"all AgentPeers":                       operator.List(t.Context(), &v1alpha1.AgentPeerList{}),
		"Services elsewhere":                   operator.List(t.Context(), &corev1.ServiceList{}, in),
		"ConfigMaps elsewhere":                 operator.List(t.Context(), &corev1.ConfigMapList{}, in),
		"the status of an AgentPeer elsewhere": operator.Status().Patch(t.Context(), theirs, status),
		"a review of a token":                  operator.Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "x"}}),
		"the roles that bind it":               operator.List(t.Context(), &rbacv1.RoleList{}, client.InNamespace(watched)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want it forbidden", name, err)
		}
	}
}

func TestSecurityNamespacedNoClusterRoleIsBoundToTheOperator(t *testing.T) {
	rendered := apiserver.For(t).Kubectl(t, "", "kustomize", config("namespaced"))
	for _, document := range strings.Split(rendered, "\n---\n") {
		var o struct {
			Kind     string            `json:"kind"`
			Metadata metav1.ObjectMeta `json:"metadata"`
			RoleRef  rbacv1.RoleRef    `json:"roleRef"`
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "ClusterRoleBinding" || o.RoleRef.Kind == "ClusterRole" {
			t.Errorf("%s %s binds %s %s", o.Kind, o.Metadata.Name, o.RoleRef.Kind, o.RoleRef.Name)
		}
	}
}

// TestSecurityNamespacedThePoliciesAreThoseOfTheWholeCluster: whose name stands on a report matters as much where the operator sees little.
func TestSecurityNamespacedThePoliciesAreThoseOfTheWholeCluster(t *testing.T) {
	rendered := apiserver.For(t).Kubectl(t, "", "kustomize", config("namespaced"))
	for _, policy := range []string{"agentpeer-status-writer", "agentpeer-allowed-hosts", "agentpeer-" + v1alpha1.ReportPolicyName} {
		if !strings.Contains(rendered, "policyName: "+policy+"\n") {
			t.Errorf("no binding of policy %s", policy)
		}
	}
}

// TestSecurityNamespacedTheRoleHasTheRulesOfTheClusterRole: the one is written by hand, the other from the markers.
func TestSecurityNamespacedTheRoleHasTheRulesOfTheClusterRole(t *testing.T) {
	rights := func(file string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range role.Rules {
			if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
				continue // of the whole cluster: config/components/report-policy-reader
			}
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					out = append(out, verb+" "+resource+"."+strings.Join(r.APIGroups, ","))
				}
			}
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(rights(config("rbac", "role.yaml")), rights(config("namespaced", "watched", "role.yaml"))); diff != "" {
		t.Errorf("config/namespaced/watched/role.yaml differs from config/rbac/role.yaml (-generated +written):\n%s", diff)
	}
}

// TestSecurityNamespacedThePolicyOfReportsIsReadByName binds the component that lets the operator see whether reporters are proven.
func TestSecurityNamespacedThePolicyOfReportsIsReadByName(t *testing.T) {
	server, operatorToken := enter(t)
	operator := as(t, server, operatorToken)
	get := func(name string) error {
		return errors.Join(operator.Get(t.Context(), client.ObjectKey{Name: name}, &admissionv1.ValidatingAdmissionPolicy{}),
			operator.Get(t.Context(), client.ObjectKey{Name: name}, &admissionv1.ValidatingAdmissionPolicyBinding{}))
	}
	if err := get("agentpeer-report-identity"); !apierrors.IsForbidden(err) {
		t.Errorf("without the component: %v, want it forbidden", err)
	}
	folder := t.TempDir()
	component, err := filepath.Rel(folder, config("components", "report-policy-reader"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("components: ["+component+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Kubectl(t, "", "apply", "--server-side", "-k", folder)
	gomega.NewWithT(t).Eventually(func() error { return get("agentpeer-report-identity") }, "10s", "50ms").Should(gomega.Succeed())
	if err := get("agentpeer-status-writer"); !apierrors.IsForbidden(err) {
		t.Errorf("another policy: %v, want it forbidden", err)
	}
	if err := operator.List(t.Context(), &admissionv1.ValidatingAdmissionPolicyList{}); !apierrors.IsForbidden(err) {
		t.Errorf("all policies: %v, want it forbidden", err)
	}
}

// TestSecurityTokensOfTheNamedAccountOnly binds the component that lets the operator get tokens of ServiceAccounts.
func TestSecurityTokensOfTheNamedAccountOnly(t *testing.T) {
	server, operatorToken := enter(t)
	folder := t.TempDir()
	component, err := filepath.Rel(folder, config("components", "service-account-tokens"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := "namespace: " + watched + "\ncomponents: [" + component + "]\n"
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	operator := as(t, server, operatorToken)
	ask := func(name string) error {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: name}}
		return operator.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{"agents"}, ExpirationSeconds: ptr.To[int64](600)}})
	}
	for _, name := range []string{"planner-caller", "another"} {
		if err := server.Client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: name}}); err != nil {
			t.Fatal(err)
		}
		if err := ask(name); !apierrors.IsForbidden(err) {
			t.Fatalf("a token of %s without the component: %v, want it forbidden", name, err)
		}
	}
	server.Kubectl(t, "", "apply", "--server-side", "-k", folder)
	gomega.NewWithT(t).Eventually(func() error { return ask("planner-caller") }, "10s", "50ms").Should(gomega.Succeed())
	if err := operator.Get(t.Context(), client.ObjectKey{Namespace: watched, Name: "planner-caller"}, &corev1.ServiceAccount{}); err != nil {
		t.Errorf("reading the account: %v, want it allowed", err)
	}
	for name, err := range map[string]error{
		"a token of another account": ask("another"),
		"a token of the default one": ask("default"),
		"reading another account":    operator.Get(t.Context(), client.ObjectKey{Namespace: watched, Name: "another"}, &corev1.ServiceAccount{}),
		"listing accounts":           operator.List(t.Context(), &corev1.ServiceAccountList{}, client.InNamespace(watched)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want it forbidden", name, err)
		}
	}
}

package roles

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// Where config/default puts the operator.
const (
	operatorNamespace = "agentpeer-system"
	operatorAccount   = "agentpeer-operator"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// world is the API server with config/default applied, as the README tells a user to.
type world struct{ *apiserver.Server }

var install sync.Once

// enter returns the world that all tests share. It skips the test under -short.
func enter(t *testing.T) world {
	t.Helper()
	server := apiserver.For(t)
	install.Do(func() {
		// The test server already has the CRDs, from another field owner.
		server.Kubectl(t, "", "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(apiserver.Root(), "config", "default"))
	})
	return world{server}
}

// token gets one of a ServiceAccount, as a pod of it would.
func (w world) token(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := w.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatalf("asking for a token of %s/%s: %v", namespace, name, err)
	}
	return request.Status.Token
}

// as connects with a token and nothing else.
func (w world) as(t *testing.T, token string) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken, config.QPS = token, -1
	c, err := client.New(config, client.Options{Scheme: w.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w world) operator(t *testing.T) client.Client {
	return w.as(t, w.token(t, operatorNamespace, operatorAccount))
}

// bound is a new ServiceAccount of a namespace, with one of our ClusterRoles in that namespace and no other right.
func (w world) bound(t *testing.T, namespace, role string) client.Client {
	t.Helper()
	return w.as(t, w.boundToken(t, namespace, role))
}

func (w world) boundToken(t *testing.T, namespace, role string) string {
	t.Helper()
	w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}})
	w.create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: role}},
	})
	return w.token(t, namespace, role)
}

func (w world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// peer is an AgentPeer that nobody probes.
func peer(namespace, name string) *v1alpha1.AgentPeer {
	return &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.AgentPeerSpec{URL: "https://agent.example.com"}}
}

// expect holds an answer to whether it should have been allowed.
func expect(t *testing.T, err error, allowed bool) {
	t.Helper()
	if allowed && err != nil {
		t.Errorf("%v, want it allowed", err)
	}
	if !allowed && !apierrors.IsForbidden(err) {
		t.Errorf("%v, want it forbidden", err)
	}
}

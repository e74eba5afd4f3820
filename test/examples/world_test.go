package examples

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// within bounds how long anything may take on a small and busy machine, often is how often we look.
const (
	within = 60 * time.Second
	often  = 100 * time.Millisecond
)

// world is the API server with config/default applied.
type world struct {
	*apiserver.Server
	// operator writes status, as it alone may.
	operator client.Client
}

var install sync.Once

// enter returns the world that all tests share. It skips the test under -short.
func enter(t *testing.T) world {
	t.Helper()
	s := apiserver.For(t)
	install.Do(func() {
		// The test server already has the CRDs, from another field owner.
		s.Kubectl(t, "", "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(apiserver.Root(), "config", "default"))
	})
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:agentpeer-system:agentpeer-operator"}
	operator, err := client.New(config, client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return world{Server: s, operator: operator}
}

// account is a new ServiceAccount, bound to the ClusterRoles, as a kubeconfig for it that leads through a front.
func (w world) account(t *testing.T, f *front, roles ...string) (kubeconfig string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace(t), Name: "orchestrator"}}
	w.create(t, account)
	for _, role := range roles {
		w.create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account.Namespace + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
		})
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := w.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: f.server.URL, CertificateAuthorityData: f.certificate()}
	c.AuthInfos["orchestrator"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "orchestrator", Namespace: account.Namespace}
	c.CurrentContext = "test"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil { // mode 0600
		t.Fatal(err)
	}
	return kubeconfig
}

func (w world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// knows adds an AgentPeer for a URL, with a status unless it is nil.
func (w world) knows(t *testing.T, url string, status *v1alpha1.AgentPeerStatus, changes ...func(*v1alpha1.AgentPeer)) *v1alpha1.AgentPeer {
	t.Helper()
	p := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{GenerateName: "peer-", Namespace: w.Namespace(t)}, Spec: v1alpha1.AgentPeerSpec{URL: url}}
	for _, change := range changes {
		change(p)
	}
	w.create(t, p)
	if status != nil {
		w.judge(t, p, status)
	}
	return p
}

// judge writes a status, as the operator would.
func (w world) judge(t *testing.T, p *v1alpha1.AgentPeer, status *v1alpha1.AgentPeerStatus) {
	t.Helper()
	before := p.DeepCopy()
	p.Status = *status
	p.Status.ObservedGeneration = p.Generation
	if err := w.operator.Status().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// judged is a status with a path to a target that holds so long; 0: it rests on nothing that lapses.
func judged(target string, path v1alpha1.DecisionPath, holds time.Duration) *v1alpha1.AgentPeerStatus {
	d := &v1alpha1.Decision{Choice: v1alpha1.Choice{Path: path, MultiTurn: v1alpha1.MultiTurnInteractive, Cancel: v1alpha1.CancelReliable,
		Updates: v1alpha1.UpdatesPoll, Reason: "Tested"}}
	if holds != 0 {
		d.ExpirationTime = ptr.To(metav1.NewTime(time.Now().Add(holds)))
	}
	return &v1alpha1.AgentPeerStatus{Target: target, Decision: d}
}

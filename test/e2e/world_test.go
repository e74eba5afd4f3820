package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// Where config/default puts the operator.
const (
	operatorNamespace = "agentpeer-system"
	operatorAccount   = "agentpeer-operator"
)

// program builds one of the product's programs, once each, as make build does.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := programs[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var programs = map[string]func() (string, error){
	"manager":   sync.OnceValues(func() (string, error) { return build("manager", "./cmd") }),
	"agentpeer": sync.OnceValues(func() (string, error) { return build("agentpeer", "./cmd/agentpeer") }),
}

func build(name, pkg string) (string, error) {
	path := filepath.Join(apiserver.Root(), "bin", "e2e", name)
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = apiserver.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// world is the API server with config/default applied, and the token of the operator's ServiceAccount.
type world struct {
	*apiserver.Server
	token string
}

var install sync.Once

// enter returns the world that all stories share. It skips the test under -short.
func enter(t *testing.T) world {
	t.Helper()
	s := apiserver.For(t)
	install.Do(func() {
		// The test server already has the CRDs, from another field owner.
		s.Kubectl(t, "", "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(apiserver.Root(), "config", "default"))
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := s.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatalf("asking for a token of %s: %v", operatorAccount, err)
	}
	return world{Server: s, token: request.Status.Token}
}

// kubeconfig has the operator's rights and no others. host is the API server's address, or that of a proxy before it.
func (w world) kubeconfig(t *testing.T, host string) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["e2e"] = &clientcmdapi.Cluster{Server: host, CertificateAuthorityData: w.Config.CAData}
	c.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: w.token}
	c.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "operator"}
	c.CurrentContext = "e2e"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

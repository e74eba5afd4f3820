package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // else controller-runtime complains that nobody set one
	apiserver.Main(m)
}

// operator is the operator's own program, running.
type operator struct {
	cmd *exec.Cmd
	log *logBuffer
	// ended is closed when the process has ended; err is how.
	ended chan struct{}
	err   error
}

// logBuffer keeps what the operator says, for the reader of a failed test.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// tail is the end of the log.
func (l *logBuffer) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf.Bytes()[max(0, l.buf.Len()-4000):])
}

// program builds the operator once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentpeer-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "manager")
	build := exec.Command("go", "build", "-o", path, "./cmd")
	build.Dir = apiserver.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the operator: %w\n%s", err, out)
	}
	return path, nil
})

// installed applies config/default to the server and returns a kubeconfig with the rights of the operator's account.
func installed(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	s.Kubectl(t, "", "apply", "--server-side", "-k", filepath.Join(apiserver.Root(), "config", "default"))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "agentpeer-system", Name: operatorAccount(t, s)}}
	token := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatalf("asking for a token of %s: %v", account.Name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "operator"}
	config.CurrentContext = "e2e"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// operatorAccount is the account that the Deployment runs under.
func operatorAccount(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	return s.Kubectl(t, "", "-n", "agentpeer-system", "get", "deployments", "-o",
		"jsonpath={.items[0].spec.template.spec.serviceAccountName}")
}

// startOperator runs the operator until the test ends. It watches one namespace, so that tests leave each other alone.
func startOperator(t *testing.T, kubeconfig, namespace string) *operator {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{log: &logBuffer{}, ended: make(chan struct{})}
	o.cmd = exec.Command(path, "--kubeconfig", kubeconfig, "--watch-namespaces", namespace,
		"--allow-cidrs", "127.0.0.0/8", "--health-probe-bind-address", "0", "--shutdown-timeout", "20s",
		"--config", filepath.Join("testdata", "operator.yaml"))
	o.cmd.Stdout, o.cmd.Stderr = o.log, o.log
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		o.err = o.cmd.Wait()
		close(o.ended)
	}()
	t.Cleanup(func() {
		o.kill()
		if t.Failed() {
			t.Logf("the operator's last words:\n%s", o.log.tail())
		}
	})
	return o
}

// kill ends the operator as a node that fails does.
func (o *operator) kill() {
	_ = o.cmd.Process.Kill() // it may have ended
	<-o.ended
}

// stop asks the operator to end, and says how it did.
func (o *operator) stop(within time.Duration) error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-o.ended:
		return o.err
	case <-time.After(within):
		return errors.New("it did not end")
	}
}

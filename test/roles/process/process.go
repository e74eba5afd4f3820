// Package process runs the operator's own program for tests, with the rights of one token.
package process

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// Start builds the operator and runs it against the server until the test ends. What it said is shown if the test failed.
func Start(t *testing.T, server *apiserver.Server, token string, flags ...string) {
	t.Helper()
	folder := t.TempDir()
	program, kubeconfig := filepath.Join(folder, "manager"), filepath.Join(folder, "kubeconfig")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd")
	build.Dir = apiserver.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, out)
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
	c.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "operator"}
	c.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", kubeconfig}, flags...)...)
	said := &log{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the operator said:\n%s", said.text.String())
		}
	})
}

// log keeps what a process says.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Kubectl runs kubectl as a cluster administrator and returns what it prints. It fails the test if kubectl fails.
func (s *Server) Kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), s.kubectl, append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("running kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// Kubeconfig is the file that Kubectl uses, for tests that must see what kubectl says.
func (s *Server) Kubeconfig() string { return s.kubeconfig }

// writeKubeconfig makes a user for kubectl, whose credentials Main removes with the server.
func (s *Server) writeKubeconfig() error {
	user, err := s.env.AddUser(envtest.User{Name: "kubectl", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return fmt.Errorf("adding a user for kubectl: %w", err)
	}
	config, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("making a kubeconfig: %w", err)
	}
	file, err := os.CreateTemp("", "apiserver-*.kubeconfig") // mode 0600
	if err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	s.kubeconfig = file.Name()
	_, err = file.Write(config)
	return errors.Join(err, file.Close())
}

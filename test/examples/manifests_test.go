package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// TestTheManifestsApplyWhereOnlyRestrictedPodsMayRun has the API server look at what the examples give to kubectl.
func TestTheManifestsApplyWhereOnlyRestrictedPodsMayRun(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "restricted-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}}}
	w.create(t, namespace)
	for _, file := range []string{"python/pod.yaml", "go/deployment.yaml", "reconciled-card/pod.yaml"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(apiserver.Root(), "examples", file))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
				"--kubeconfig", w.Kubeconfig(), "-n", namespace.Name, "apply", "--dry-run=server", "-f", "-")
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(text), "namespace: default", "namespace: "+namespace.Name))
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Warning") {
				t.Errorf("kubectl apply: %v\n%s", err, out)
			}
		})
	}
}

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// recipe is the first line of shell in a page that holds a text.
func recipe(t *testing.T, page, holds string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apiserver.Root(), page))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], holds) {
			return block[1]
		}
	}
	t.Fatalf("%s has no block of shell with %q", page, holds)
	return ""
}

// TestTheKubectlRecipeTakesThePathThatIsProven runs the line that the docs give to people who write shell, as it stands there.
func TestTheKubectlRecipeTakesThePathThatIsProven(t *testing.T) {
	t.Parallel()
	w := enter(t)
	line := recipe(t, "docs/orchestrators.md", "kubectl get agentpeers -A -o jsonpath")
	f := w.layFront(t)
	kubeconfig := w.account(t, f, "agentpeer-orchestrator")
	run := func(t *testing.T, url, kubeconfig string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
		cmd.Env = append(os.Environ(), "URL="+url, "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	for i, c := range cases {
		if c.says == "a URL spelled otherwise" {
			continue // the recipe compares letter by letter, as the page says
		}
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			url := fmt.Sprintf("http://192.0.2.1:%d", 8000+i)
			c.know(t, w, url)
			if got, err := run(t, url, kubeconfig); got != c.want || err != nil {
				t.Errorf("it printed %q (%v), want %q", got, err, c.want)
			}
		})
	}
	t.Run("without the right to read: a single shot, and kubectl's error", func(t *testing.T) {
		t.Parallel()
		url := "http://192.0.2.1:9000"
		cases[0].know(t, w, url)
		if got, err := run(t, url, w.account(t, f)); got != "SingleShot" || err == nil {
			t.Errorf("it printed %q (%v), want SingleShot and a failure", got, err)
		}
	})
}

func TestTheKubectlRecipeForOneNameTakesThePathThatIsProven(t *testing.T) {
	t.Parallel()
	w := enter(t)
	line := recipe(t, "docs/orchestrators.md", `kubectl get agentpeer "$PEER"`)
	kubeconfig := w.account(t, w.layFront(t), "agentpeer-orchestrator")
	const url = "http://192.0.2.1:7999"
	for _, c := range []struct {
		says   string
		status *v1alpha1.AgentPeerStatus
		want   string
	}{
		{"trusted", judged(url, v1alpha1.PathStreaming, time.Hour), "Streaming"},
		{"demoted", judged(url, v1alpha1.PathSingleShot, time.Hour), "SingleShot"},
		{"unavailable", judged(url, v1alpha1.PathUnavailable, 0), "Unavailable"},
		{"expired", judged(url, v1alpha1.PathStreaming, -time.Second), "SingleShot"},
		{"about to expire", judged(url, v1alpha1.PathStreaming, 3*time.Second), "SingleShot"},
		{"about another target", judged(url+"1", v1alpha1.PathStreaming, time.Hour), "SingleShot"},
		{"not yet probed", nil, "SingleShot"},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			p := w.knows(t, url, c.status)
			var says strings.Builder
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", "kubectl() { command kubectl -n "+p.Namespace+` "$@"; }; `+line)
			cmd.Env = append(os.Environ(), "PEER="+p.Name, "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
			cmd.Stderr = &says
			if got, err := cmd.Output(); strings.TrimSpace(string(got)) != c.want || err != nil {
				t.Errorf("it printed %q (%v: %s), want %q", got, err, says.String(), c.want)
			}
		})
	}
}

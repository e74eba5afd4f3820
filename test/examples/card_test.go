package examples

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// TestTheClientOfTheReconciledCardShowsItsTokenToTheOperatorAlone runs the example against a server that stands in for the operator's, which
// test/cards tests with the released SDKs.
func TestTheClientOfTheReconciledCardShowsItsTokenToTheOperatorAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Node.js: run make test")
	}
	script, err := os.ReadFile(filepath.Join(apiserver.Root(), "examples", "reconciled-card", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(apiserver.Root(), "bin", "examples", "typescript") // where its packages are
	argv, err := node(filepath.Join(folder, "dist", "orchestrator.js"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "client.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for streaming, want := range map[string]string{"true": "streamed", "false": "single shot"} {
		t.Run("streaming is "+streaming+" in the card", func(t *testing.T) {
			t.Parallel()
			a := agent.New()
			url := a.Start(t)
			cards := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/peers/travel/planner/.well-known/agent-card.json" || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("asked for %s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
				answer, err := http.Get(url + "/.well-known/agent-card.json")
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				card, _ := io.ReadAll(answer.Body)
				_, _ = io.WriteString(w, strings.Replace(string(card), `"streaming":true`, `"streaming":`+streaming, 1))
			}))
			t.Cleanup(cards.Close)
			cmd := exec.CommandContext(t.Context(), argv[0], "client.mjs", "travel/planner", "ping")
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "CARDS="+cards.URL, "TOKEN="+token)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("it said %q (%v), want %q", out, err, want)
			}
			for _, r := range a.Requests() {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("the agent was shown the token, with %s", r.Method)
				}
			}
		})
	}
}

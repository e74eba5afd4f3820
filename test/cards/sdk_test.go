package cards_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// The founding idea: programs that were written before us, and know nothing of us, take the right path by themselves.
func TestUnmodifiedClientsStreamWhileThatIsTrustedAndSendSingleMessagesAfterwards(t *testing.T) {
	for name, tc := range map[string]struct {
		generation   agent.Generation
		work         func(t *testing.T, base, token string) func() (events int)
		stream, send string
	}{
		"a2a-go 2.3.1":      {agent.V10, goClient, "SendStreamingMessage", "SendMessage"},
		"@a2a-js/sdk 1.3.0": {agent.V10, nodeClient("a2a-js-1.3.0"), "SendStreamingMessage", "SendMessage"},
		"@a2a-js/sdk 0.3":   {agent.V03, nodeClient("a2a-js-0.3.13"), "message/stream", "message/send"},
	} {
		t.Run(name, func(t *testing.T) {
			w := enter(t)
			replica := w.replica()
			a := agent.New(agent.Speaks(tc.generation))
			p := w.peer("planner", a.Start(t))
			w.decide(p, v1alpha1.PathStreaming, "StreamingTrusted")
			w.within(replica, "planner", true)
			work := tc.work(t, w.base(replica, "planner"), w.token)

			if events := work(); events < 2 {
				t.Errorf("%d events of a trusted stream", events)
			}
			w.asked(a, map[string]int{tc.stream: 1, tc.send: 0})

			w.decide(p, v1alpha1.PathSingleShot, "StreamingDemoted")
			w.within(replica, "planner", false)
			if events := work(); events != 1 {
				t.Errorf("%d events of a single message, want its answer", events)
			}
			w.asked(a, map[string]int{tc.stream: 1, tc.send: 1})

			w.decide(p, v1alpha1.PathStreaming, "StreamingTrusted")
			w.within(replica, "planner", true)
			work()
			w.asked(a, map[string]int{tc.stream: 2, tc.send: 1})
			for _, r := range a.Requests() {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("the peer was shown a token, with %s", r.Method)
				}
			}
		})
	}
}

func (w *world) asked(a *agent.Agent, want map[string]int) {
	w.Helper()
	for method, n := range want {
		if got := a.Counts().Requests[method]; got != n {
			w.Errorf("%s was called %d times, want %d", method, got, n)
		}
	}
}

// goClient is an orchestrator on a2a-go: for each piece of work it resolves the card and asks for a stream.
func goClient(t *testing.T, base, token string) func() int {
	return func() (events int) {
		found, err := agentcard.DefaultResolver.Resolve(t.Context(), base, agentcard.WithRequestHeader("Authorization", "Bearer "+token))
		if err != nil {
			t.Fatal(err)
		}
		c, err := a2aclient.NewFromCard(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("ping"))}) {
			if err != nil {
				t.Fatal(err)
			}
			events++
		}
		return events
	}
}

// nodeClient is client.mjs on a release of @a2a-js/sdk.
func nodeClient(release string) func(*testing.T, string, string) func() int {
	return func(t *testing.T, base, token string) func() int {
		script, err := os.ReadFile("client.mjs")
		if err != nil {
			t.Fatal(err)
		}
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatalf("node is missing: %v", sdk.ErrNotBuilt)
		}
		cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", string(script), "--", release, base, token)
		cmd.Dir, cmd.Stderr = filepath.Join(sdk.Folder(), "a2a-js"), os.Stderr // where the SDKs are found
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil || err1 != nil || err2 != nil {
			t.Fatalf("starting node in %q: %v %v %v: %v", cmd.Dir, err, err1, err2, sdk.ErrNotBuilt)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		lines := bufio.NewReader(out)
		return func() int {
			if _, err := fmt.Fprintln(in, "work"); err != nil {
				t.Fatal(err)
			}
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var said struct {
				Events int
				Error  string
			}
			if err := json.Unmarshal(line, &said); err != nil || said.Error != "" {
				t.Fatalf("the client said: %s", line)
			}
			return said.Events
		}
	}
}

func httpClient(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

package sdk_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/test/sdk"
)

// The servers that speak HTTP+JSON hold their conversation by it: paths, bodies, statuses and frames without an envelope.
func TestPeerHoldsAConversationByHTTPJSON(t *testing.T) {
	for _, p := range sdk.OtherBindings() {
		if p.Binding != "HTTP+JSON" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("needs the SDK peers: run make test")
			}
			url, stop, err := sdk.Start(t.Context(), p.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			at, parts, wait := url+"/rest", "parts", obj{}
			if p.Generation != "1.0" {
				at, parts, wait = url+"/rest/v1", "content", obj{"blocking": true}
			}
			message := func(text string) obj {
				return obj{"message": obj{"messageId": "m-" + text, "role": "ROLE_USER", parts: []obj{{"text": text}}}, "configuration": wait}
			}
			ask := func(method, path string, body any) (int, string) {
				t.Helper()
				var in io.Reader
				if body != nil {
					b, _ := json.Marshal(body)
					in = bytes.NewReader(b)
				}
				r, err := http.NewRequestWithContext(t.Context(), method, at+path, in)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				if p.Generation == "1.0" {
					r.Header.Set("A2A-Version", "1.0")
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				b, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				return answer.StatusCode, string(b)
			}
			status, text := ask("POST", "/message:send", message("ping"))
			var sent struct{ Task struct{ ID string } }
			if err := json.Unmarshal([]byte(text), &sent); err != nil || status/100 != 2 || sent.Task.ID == "" {
				t.Fatalf("send: %d %s", status, text)
			}
			if status, text := ask("GET", "/tasks/"+sent.Task.ID, nil); status != 200 || !strings.Contains(text, "TASK_STATE_COMPLETED") {
				t.Errorf("get: %d %s", status, text)
			}
			if status, text := ask("GET", "/tasks/nobody", nil); status != 404 || !strings.HasPrefix(text, "{") {
				t.Errorf("unknown task: %d %s", status, text)
			}
			status, text = ask("POST", "/message:stream", message("ping"))
			if status != 200 || !strings.Contains(text, `"artifactUpdate"`) || strings.Contains(text, "jsonrpc") {
				t.Errorf("stream: %d %s", status, text)
			}
		})
	}
}

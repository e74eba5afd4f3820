package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/test/agent"
)

// restClient asks an agent by HTTP+JSON.
type restClient struct {
	t    *testing.T
	base string
}

func (c restClient) ask(method, path string, body any) (status int, kind, text string) {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), strings.TrimSpace(string(b))
}

func (c restClient) object(method, path string, body any) (int, obj) {
	c.t.Helper()
	status, _, text := c.ask(method, path, body)
	var o obj
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		c.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return status, o
}

var hello = map[agent.Generation]obj{
	agent.V10: {"message": obj{"messageId": "m1", "role": "ROLE_USER", "parts": []obj{{"text": "ping"}}}},
	agent.V03: {"message": obj{"messageId": "m1", "role": "ROLE_USER", "content": []obj{{"text": "ping"}}}},
}

// The two generations have paths and bodies of their own, and one store of tasks with JSON-RPC.
func TestRESTOfBothGenerations(t *testing.T) {
	for g, at := range map[agent.Generation]string{agent.V10: "/rest", agent.V03: "/rest/v1"} {
		t.Run(string(g), func(t *testing.T) {
			a := agent.New(agent.Speaks(g), agent.Is("rest-too"))
			c := restClient{t, a.Start(t) + at}
			status, sent := c.object("POST", "/message:send", hello[g])
			id := str(sent, "task", "id")
			if status != 200 || str(sent, "task", "status", "state") != "TASK_STATE_COMPLETED" || id == "" {
				t.Fatalf("sent: %d %v", status, sent)
			}
			if status, got := c.object("GET", "/tasks/"+id, nil); status != 200 || str(got, "id") != id {
				t.Errorf("GetTask: %d %v", status, got)
			}
			if status, got := c.object("GET", "/tasks/none", nil); status != 404 || (got["error"] == nil) != (g == agent.V03) {
				t.Errorf("unknown task: %d %v", status, got)
			}
			status, kind, text := c.ask("POST", "/message:stream", hello[g])
			if status != 200 || kind != "text/event-stream" || strings.Count(text, "data: {") != 4 || strings.Contains(text, "jsonrpc") ||
				!strings.Contains(text, `"statusUpdate":{`) || !strings.Contains(text, "TASK_STATE_COMPLETED") {
				t.Errorf("stream: %d %s %s", status, kind, text)
			}
			if status, _, text := c.ask("PUT", "/message:send", hello[g]); status != 405 {
				t.Errorf("PUT: %d %s", status, text)
			}
			if status, _, text := c.ask("GET", "/nothing", nil); status != 404 || strings.HasPrefix(text, "{") {
				t.Errorf("unknown path: %d %s", status, text)
			}
			want := map[string]int{"SendMessage": 1, "GetTask": 2, "SendStreamingMessage": 1, "other": 2}
			if g == agent.V03 {
				want = map[string]int{"message/send": 1, "tasks/get": 2, "message/stream": 1, "other": 2}
			}
			if diff := cmp.Diff(want, a.Counts().Requests); diff != "" {
				t.Errorf("requests:\n%s", diff)
			}
		})
	}
}

// The form of errors is the generation's, unless a quirk bends it.
func TestRESTErrors(t *testing.T) {
	info := []any{obj{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}}
	tests := map[string]struct {
		generation agent.Generation
		quirks     []string
		want       obj
	}{
		"1.0":             {agent.V10, nil, obj{"error": obj{"code": 404., "status": "NOT_FOUND", "message": "task not found", "details": info}}},
		"without reason":  {agent.V10, []string{"rest-no-reason"}, obj{"error": obj{"code": 404., "status": "NOT_FOUND", "message": "task not found"}}},
		"0.3":             {agent.V03, nil, obj{"code": -32001., "message": "task not found"}},
		"problem details": {agent.V10, []string{"rest-problem-details"}, obj{"type": "https://a2a-protocol.org/errors/task-not-found", "title": "task not found", "status": 404.}},
		"a message":       {agent.V03, []string{"rest-message-errors"}, obj{"message": "task not found"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := agent.New(agent.Speaks(tt.generation), agent.Is("rest"), agent.Is(tt.quirks...))
			at := "/rest"
			if tt.generation != agent.V10 {
				at = "/rest/v1"
			}
			status, got := restClient{t, a.Start(t) + at}.object("GET", "/tasks/none", nil)
			if diff := cmp.Diff(tt.want, got); diff != "" || status != 404 {
				t.Errorf("%d:\n%s", status, diff)
			}
		})
	}
}

// A card lists the bindings in the order given, in the generation's form, and what it does not list is not served.
func TestCardListsBindings(t *testing.T) {
	a := agent.New(agent.Is("rest-first"))
	base := a.Start(t)
	_, card := restClient{t, base}.object("GET", "/.well-known/agent-card.json", nil)
	if diff := cmp.Diff([]any{
		obj{"url": base + "/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
		obj{"url": base + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
	}, card["supportedInterfaces"]); diff != "" {
		t.Errorf("1.0:\n%s", diff)
	}
	a.Set(agent.Speaks(agent.V03))
	_, card = restClient{t, base}.object("GET", "/.well-known/agent-card.json", nil)
	if str(card, "url") != base+"/rest" || str(card, "preferredTransport") != "HTTP+JSON" {
		t.Errorf("0.3: %v", card)
	}
	if diff := cmp.Diff([]any{
		obj{"url": base + "/rest", "transport": "HTTP+JSON"}, obj{"url": base + "/a2a", "transport": "JSONRPC"},
	}, card["additionalInterfaces"]); diff != "" {
		t.Errorf("0.3:\n%s", diff)
	}
	a.Set(agent.With(func(c *agent.Config) { c.Bindings = nil }))
	if status, _, text := (restClient{t, base}).ask("POST", "/rest/v1/message:send", hello[agent.V03]); status != 404 {
		t.Errorf("not listed, and served: %d %s", status, text)
	}
}

// onREST makes an agent whose card lists HTTP+JSON alone.
func onREST(c *agent.Config) { c.Bindings = []string{"HTTP+JSON"} }

// interfaces tells the bindings of a card of 1.0.
func interfaces(t *testing.T, _ *agent.Agent, p *peer) string {
	_, card := restClient{t, p.url}.object("GET", "/.well-known/agent-card.json", nil)
	var names []string
	list, _ := card["supportedInterfaces"].([]any)
	for _, in := range list {
		names = append(names, str(in, "protocolBinding"))
	}
	return strings.Join(names, " ")
}

// resting asks the HTTP+JSON interface and tells the status and what the body says.
func resting(method, path string, body obj) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		var in any
		if body != nil {
			in = body
		}
		status, _, text := restClient{t, p.url + "/rest"}.ask(method, path, in)
		return fmt.Sprint(status, " ", restWord(text))
	}
}

func restWord(text string) string {
	var o obj
	if json.Unmarshal([]byte(text), &o) != nil {
		return "no JSON"
	}
	if details, _ := dig(o, "error", "details").([]any); len(details) > 0 {
		return str(details[0], "reason")
	}
	for _, path := range [][]string{{"task", "status", "state"}, {"error", "status"}, {"type"}, {"message"}} {
		if word := str(o, path...); word != "" {
			return strings.TrimPrefix(plain(word), "https://a2a-protocol.org/errors/")
		}
	}
	return text
}

// restEnded cancels a task that is over.
func restEnded(t *testing.T, a *agent.Agent, p *peer) string {
	_, sent := restClient{t, p.url + "/rest"}.object("POST", "/message:send", hello[agent.V10])
	return resting("POST", "/tasks/"+str(sent, "task", "id")+":cancel", obj{})(t, a, p)
}

package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/sdk"
)

type obj = map[string]any

// conversation is a raw client of one peer.
type conversation struct {
	t        *testing.T
	endpoint string
	v1       bool
}

// in is the same conversation on behalf of a subtest.
func (c conversation) in(t *testing.T) conversation {
	c.t = t
	return c
}

func (c conversation) method(what string) string {
	if c.v1 {
		return map[string]string{"send": "SendMessage", "stream": "SendStreamingMessage", "get": "GetTask", "cancel": "CancelTask"}[what]
	}
	return map[string]string{"send": "message/send", "stream": "message/stream", "get": "tasks/get", "cancel": "tasks/cancel"}[what]
}

func (c conversation) message(text, task string) obj {
	m := obj{"messageId": fmt.Sprint("m", time.Now().UnixNano())}
	if task != "" {
		m["taskId"] = task
	}
	if c.v1 {
		m["role"], m["parts"] = "ROLE_USER", []obj{{"text": text}}
		return obj{"message": m}
	}
	m["kind"], m["role"], m["parts"] = "message", "user", []obj{{"kind": "text", "text": text}}
	return obj{"message": m, "configuration": obj{"acceptedOutputModes": []string{"text/plain"}, "blocking": true}}
}

func (c conversation) post(what string, params obj) *http.Response {
	c.t.Helper()
	body, _ := json.Marshal(obj{"jsonrpc": "2.0", "id": "q", "method": c.method(what), "params": params})
	r, err := http.NewRequestWithContext(c.t.Context(), "POST", c.endpoint, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.v1 {
		r.Header.Set("A2A-Version", "1.0")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	return answer
}

// call is a unary call; it returns the task of the result, or the error's code.
func (c conversation) call(what string, params obj) (task obj, code string) {
	c.t.Helper()
	r := c.post(what, params)
	defer r.Body.Close()
	var e struct {
		Result obj
		Error  *struct{ Code int }
	}
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	if e.Error != nil {
		return nil, fmt.Sprint(e.Error.Code)
	}
	if t, ok := e.Result["task"].(obj); ok {
		return t, ""
	}
	return e.Result, ""
}

// events of a stream, each as a word and its task id.
func (c conversation) events(params obj) <-chan [2]string {
	c.t.Helper()
	r := c.post("stream", params)
	if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		b, _ := io.ReadAll(r.Body)
		c.t.Fatalf("stream: %s %s", ct, b)
	}
	events := make(chan [2]string, 2000)
	go func() {
		defer close(events)
		defer r.Body.Close()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data:")
			var e struct{ Result obj }
			if ok && json.Unmarshal([]byte(data), &e) == nil {
				events <- word(e.Result)
			}
		}
	}()
	return events
}

func word(r obj) [2]string {
	for _, wrapper := range []string{"task", "statusUpdate", "artifactUpdate"} {
		if inner, ok := r[wrapper].(obj); ok {
			r = inner
		}
	}
	id, _ := r["taskId"].(string)
	if id == "" {
		id, _ = r["id"].(string)
	}
	if r["artifact"] != nil {
		return [2]string{"artifact", id}
	}
	return [2]string{state(r), id}
}

func state(task obj) string {
	status, _ := task["status"].(obj)
	s, _ := status["state"].(string)
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")), "_", "-")
}

func begin(t *testing.T, p sdk.Peer) conversation {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the SDK peers: run make test")
	}
	url, stop, err := sdk.Start(t.Context(), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r, err := http.Get(url + p.CardPath)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var card struct {
		URL                 string
		SupportedInterfaces []struct{ URL, ProtocolVersion string }
		Capabilities        struct{ Streaming bool }
	}
	if err := json.NewDecoder(r.Body).Decode(&card); err != nil {
		t.Fatalf("card: %v", err)
	}
	c := conversation{t: t, endpoint: card.URL, v1: p.Generation == "1.0"}
	if c.v1 {
		c.endpoint = card.SupportedInterfaces[0].URL
	}
	if !strings.HasPrefix(c.endpoint, url) || !card.Capabilities.Streaming {
		t.Fatalf("card: %+v", card)
	}
	return c
}

func everyPeer(t *testing.T, f func(*testing.T, sdk.Peer, conversation)) {
	for _, p := range sdk.Peers() {
		t.Run(p.Name, func(t *testing.T) { f(t, p, begin(t, p)) })
	}
}

func TestPeerHoldsAnHonestConversation(t *testing.T) {
	everyPeer(t, func(t *testing.T, _ sdk.Peer, c conversation) {
		t.Run("ping is streamed to its end", func(t *testing.T) {
			c := c.in(t)
			var words []string
			id := ""
			for e := range c.events(c.message("ping", "")) {
				words = append(words, e[0])
				if id == "" {
					id = e[1]
				}
				if e[1] != id {
					t.Errorf("event %v of another task than %s", e, id)
				}
			}
			if got := strings.Join(words, ", "); got != "submitted, working, artifact, completed" {
				t.Errorf("stream: %s", got)
			}
			task, code := c.call("get", obj{"id": id})
			if state(task) != "completed" || task["id"] != id {
				t.Errorf("GetTask: %v %s", task, code)
			}
		})
		t.Run("ping is answered in one", func(t *testing.T) {
			c := c.in(t)
			if task, code := c.call("send", c.message("ping", "")); state(task) != "completed" {
				t.Errorf("%v %s", task, code)
			}
		})
		t.Run("an unknown task is an error", func(t *testing.T) {
			c := c.in(t)
			if _, code := c.call("get", obj{"id": "00000000-0000-4000-8000-000000000000"}); code == "" {
				t.Error("no error")
			}
		})
		t.Run("a question is asked and its answer continues the task", func(t *testing.T) {
			c := c.in(t)
			var last [2]string
			for e := range c.events(c.message("book a trip", "")) {
				last = e
			}
			if last[0] != "input-required" {
				t.Fatalf("first turn ended %v", last)
			}
			task, code := c.call("send", c.message("to Oslo", last[1]))
			if state(task) != "completed" || task["id"] != last[1] {
				t.Errorf("second turn: %v %s, want task %s", task, code, last[1])
			}
			if _, code := c.call("send", c.message("more", last[1])); code == "" {
				t.Error("a message to a terminal task was taken")
			}
		})
		t.Run("nothing is asked of a caller who says it all", func(t *testing.T) {
			if task, code := c.in(t).call("send", c.message("book a trip to Oslo", "")); state(task) != "completed" {
				t.Errorf("%v %s", task, code)
			}
		})
		t.Run("the answer to a question can be streamed too", func(t *testing.T) {
			c := c.in(t)
			task, code := c.call("send", c.message("book a trip", ""))
			id, _ := task["id"].(string)
			if state(task) != "input-required" {
				t.Fatalf("first turn: %v %s", task, code)
			}
			var last [2]string
			for e := range c.events(c.message("to Oslo", id)) {
				last = e
			}
			if last != [2]string{"completed", id} {
				t.Errorf("second turn ended %v, want task %s completed", last, id)
			}
		})
		t.Run("a long task is canceled", func(t *testing.T) {
			c := c.in(t)
			events := c.events(c.message("count to 1000 slowly", ""))
			var id string
			for e := range events {
				if id = e[1]; e[0] == "artifact" {
					break
				}
			}
			task, code := c.call("cancel", obj{"id": id})
			if code != "" {
				t.Fatalf("cancel: %s", code)
			}
			if s := state(task); s != "canceled" && s != "working" { // a2a-js 0.2.5 cancels later
				t.Errorf("cancel answered %s", s)
			}
			last := ""
			for e := range events {
				last = e[0]
			}
			task, _ = c.call("get", obj{"id": id})
			if last != "canceled" || state(task) != "canceled" {
				t.Errorf("stream ended with %s, GetTask says %s", last, state(task))
			}
		})
	})
}

func TestPeerEndsWhenItIsStopped(t *testing.T) {
	for _, p := range append(sdk.Peers(), sdk.OtherBindings()...) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("needs the SDK peers: run make test")
			}
			for how, end := range map[string]func(stop, cancel func()){
				"standard input closes": func(stop, _ func()) { stop() },
				"the context ends":      func(stop, cancel func()) { cancel(); stop() },
			} {
				ctx, cancel := context.WithCancel(t.Context())
				url, stop, err := sdk.Start(ctx, p.Name)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				end(stop, cancel)
				if took := time.Since(begun); took > 4*time.Second {
					t.Errorf("%s: took %s", how, took)
				}
				if r, err := http.Get(url + p.CardPath); err == nil {
					_ = r.Body.Close()
					t.Errorf("%s: still there", how)
				}
				cancel()
			}
		})
	}
}

func TestMissingPeerSaysWhatToRun(t *testing.T) {
	t.Setenv(sdk.Env, t.TempDir())
	for _, p := range append(sdk.Peers(), sdk.OtherBindings()...) {
		if _, _, err := sdk.Start(t.Context(), p.Name); !errors.Is(err, sdk.ErrNotBuilt) || !strings.Contains(err.Error(), "make sdk") {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if _, _, err := sdk.Start(t.Context(), "nobody"); err == nil {
		t.Error("started nobody")
	}
}

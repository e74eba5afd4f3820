package agent_test

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

	"github.com/agentpeer/agentpeer/test/agent"
)

// peer is a raw client: it knows the bytes of each generation by itself, so that the agent is not checked against its own code.
type peer struct {
	t   *testing.T
	url string
	gen agent.Generation
}

var methods = map[agent.Generation]map[string]string{
	agent.V10: {"send": "SendMessage", "stream": "SendStreamingMessage", "get": "GetTask", "cancel": "CancelTask", "resubscribe": "SubscribeToTask"},
	agent.V03: {"send": "message/send", "stream": "message/stream", "get": "tasks/get", "cancel": "tasks/cancel", "resubscribe": "tasks/resubscribe"},
	agent.V02: {"send": "message/send", "stream": "message/stream", "get": "tasks/get", "cancel": "tasks/cancel", "resubscribe": "tasks/resubscribe"},
	agent.V01: {"send": "tasks/send", "stream": "tasks/sendSubscribe", "get": "tasks/get", "cancel": "tasks/cancel", "resubscribe": "tasks/resubscribe"},
}

var everyGeneration = []agent.Generation{agent.V10, agent.V03, agent.V02, agent.V01}

func start(t *testing.T, options ...agent.Option) (*agent.Agent, *peer) {
	t.Helper()
	a := agent.New(options...)
	return a, &peer{t: t, url: a.Start(t), gen: agent.V10}
}

func startGen(t *testing.T, g agent.Generation, options ...agent.Option) (*agent.Agent, *peer) {
	t.Helper()
	a, p := start(t, append([]agent.Option{agent.Speaks(g)}, options...)...)
	p.gen = g
	return a, p
}

type obj = map[string]any

// message are the params of a send. task is the id to continue; in 0.1 the id of a new task too.
func (p *peer) message(text, task string) obj {
	switch p.gen {
	case agent.V10:
		m := obj{"messageId": "m-" + text, "role": "ROLE_USER", "parts": []any{obj{"text": text}}}
		if task != "" {
			m["taskId"] = task
		}
		return obj{"message": m}
	case agent.V01:
		if task == "" {
			task = fmt.Sprint("mine-", time.Now().UnixNano())
		}
		return obj{"id": task, "message": obj{"role": "user", "parts": []any{obj{"type": "text", "text": text}}}}
	default:
		m := obj{"kind": "message", "messageId": "m-" + text, "role": "user", "parts": []any{obj{"kind": "text", "text": text}}}
		if task != "" {
			m["taskId"] = task
		}
		return obj{"message": m, "configuration": obj{"acceptedOutputModes": []string{"text/plain"}}}
	}
}

func (p *peer) atOnce(params obj) obj {
	switch p.gen {
	case agent.V10:
		params["configuration"] = obj{"returnImmediately": true}
	case agent.V01:
	default:
		params["configuration"] = obj{"acceptedOutputModes": []string{"text/plain"}, "blocking": false}
	}
	return params
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (p *peer) post(ctx context.Context, what string, params any) (*http.Response, error) {
	method := methods[p.gen][what]
	if method == "" {
		method = what
	}
	body, _ := json.Marshal(obj{"jsonrpc": "2.0", "id": "q1", "method": method, "params": params})
	r, err := http.NewRequestWithContext(ctx, "POST", p.url+"/a2a", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return noRedirects.Do(r)
}

// call is a unary call; it returns the whole envelope.
func (p *peer) call(what string, params any) obj {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	r, err := p.post(ctx, what, params)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	defer r.Body.Close()
	var e obj
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		p.t.Fatalf("%s: decoding: %v", what, err)
	}
	return e
}

// dig follows member names and indexes ("0") down.
func dig(v any, path ...string) any {
	for _, k := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[k]
		case []any:
			if k != "0" || len(x) == 0 {
				return nil
			}
			v = x[0]
		default:
			return nil
		}
	}
	return v
}

func str(v any, path ...string) string {
	v = dig(v, path...)
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// task takes a Task out of a result, wrapped or not.
func task(envelope obj) obj {
	r, _ := envelope["result"].(obj)
	if t, ok := r["task"].(obj); ok {
		return t
	}
	return r
}

func state(envelope obj) string {
	if envelope["error"] != nil {
		return code(envelope)
	}
	return plain(str(task(envelope), "status", "state"))
}

func code(envelope obj) string { return str(envelope, "error", "code") }

func plain(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")), "_", "-")
}

// frame is one stream event.
type frame struct {
	envelope obj
	raw      string
}

// word tells a frame in one word or two.
func (f frame) word() string {
	r, _ := f.envelope["result"].(obj)
	switch {
	case f.envelope == nil:
		return "garbage"
	case f.envelope["error"] != nil:
		return "error " + code(f.envelope)
	case r["task"] != nil:
		return "task " + plain(str(r, "task", "status", "state"))
	case r["message"] != nil || r["kind"] == "message":
		return "message"
	case r["kind"] == "task":
		return "task " + plain(str(r, "status", "state"))
	case r["artifactUpdate"] != nil || r["artifact"] != nil:
		return "artifact"
	case r["statusUpdate"] != nil:
		return plain(str(r, "statusUpdate", "status", "state"))
	default:
		return plain(str(r, "status", "state"))
	}
}

func (f frame) id() string {
	r := f.envelope["result"]
	for _, path := range [][]string{{"task", "id"}, {"statusUpdate", "taskId"}, {"artifactUpdate", "taskId"}, {"taskId"}, {"id"}} {
		if s := str(r, path...); s != "" {
			return s
		}
	}
	return ""
}

// open is a stream being read.
type open struct {
	status    int
	mediaType string
	frames    chan frame
	end       error // valid once frames is closed; nil: in good order
	comments  int
	close     func()
}

// stream opens a streaming call. It reads SSE leniently: CR, LF, CRLF, BOM, comments, several data lines; one JSON per line too.
func (p *peer) stream(what string, params any) *open {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	r, err := p.post(ctx, what, params)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	o := &open{status: r.StatusCode, mediaType: r.Header.Get("Content-Type"), frames: make(chan frame, 10000), close: cancel}
	p.t.Cleanup(cancel)
	go func() {
		defer close(o.frames)
		defer r.Body.Close()
		defer cancel()
		o.read(r.Body)
	}()
	return o
}

func (o *open) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	lines.Split(anyLine)
	var data []string
	emit := func() {
		if len(data) == 0 {
			return
		}
		f := frame{raw: strings.Join(data, "\n")}
		if json.Unmarshal([]byte(f.raw), &f.envelope) != nil {
			f.envelope = nil
		}
		o.frames <- f
		data = nil
	}
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		switch {
		case line == "":
			emit()
		case strings.HasPrefix(line, ":"):
			o.comments++
		case strings.HasPrefix(line, "data:"):
			data = append(data, strings.TrimPrefix(line[5:], " "))
		case strings.HasPrefix(line, "{"):
			data = append(data, line)
			emit()
		}
	}
	emit()
	o.end = lines.Err()
}

func anyLine(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i >= 0 && data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	case i >= 0:
		return i + 1, data[:i], nil
	case atEOF && len(data) > 0:
		return len(data), data, nil
	}
	return 0, nil, nil
}

// next frame, or a failure after 5 s.
func (o *open) next(t *testing.T) (frame, bool) {
	t.Helper()
	select {
	case f, ok := <-o.frames:
		return f, ok
	case <-time.After(5 * time.Second):
		t.Fatal("no event for 5 s")
		return frame{}, false
	}
}

// until reads up to the frame of that word and returns it.
func (o *open) until(t *testing.T, word string) frame {
	t.Helper()
	for {
		f, ok := o.next(t)
		if !ok {
			t.Fatalf("the stream ended before %q", word)
		}
		if f.word() == word {
			return f
		}
	}
}

// silentFor says that nothing comes and the stream stays open for so long.
func (o *open) silentFor(d time.Duration) bool {
	select {
	case <-o.frames:
		return false
	case <-time.After(d):
		return true
	}
}

// rest reads to the end and tells the words, then "end", or "reset" where the body was cut.
func (o *open) rest(t *testing.T) string {
	t.Helper()
	var words []string
	for {
		f, ok := o.next(t)
		if !ok {
			break
		}
		words = append(words, f.word())
	}
	switch {
	case o.end == nil:
		words = append(words, "end")
	case errors.Is(o.end, io.ErrUnexpectedEOF):
		words = append(words, "reset")
	default:
		words = append(words, o.end.Error())
	}
	return strings.Join(words, ", ")
}

// eventually polls until the function yields the value wanted.
func eventually(t *testing.T, want string, got func() string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	last := got()
	for last != want {
		if time.Now().After(deadline) {
			t.Fatalf("got %q for 5 s, want %q", last, want)
		}
		<-tick.C
		last = got()
	}
}

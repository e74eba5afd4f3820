package proxy_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
)

// begin puts a proxy in front of agents.
func begin(t *testing.T, agents ...*agent.Agent) *proxy.Proxy {
	t.Helper()
	var backends []string
	for _, a := range agents {
		backends = append(backends, a.Start(t))
	}
	p, err := proxy.New(7, backends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func set(t *testing.T, p *proxy.Proxy, f proxy.Fault) {
	t.Helper()
	if err := p.Set(f); err != nil {
		t.Fatal(err)
	}
}

func post(t *testing.T, p *proxy.Proxy, method, params string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/a2a",
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":"question-1","method":%q,"params":%s}`, method, params)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = a.Body.Close() })
	}
	return a, err
}

func message(text string) string {
	return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`, text)
}

// events reads a stream to its end: what came, and how it ended.
func events(r *http.Response) (list []string, end error) {
	lines := bufio.NewReader(r.Body)
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			list = append(list, data)
		}
		if err != nil {
			return list, err
		}
	}
}

// stream yields the events of a stream, and how it ended; io.EOF is an end in good order.
func stream(t *testing.T, p *proxy.Proxy, text string) (list []string, end error) {
	t.Helper()
	r, err := post(t, p, "SendStreamingMessage", message(text))
	if err != nil {
		return nil, fmt.Errorf("reset before an answer: %v", err) //nolint:errorlint // its io.EOF is no end in good order
	}
	return events(r)
}

func taskID(t *testing.T, event string) string {
	t.Helper()
	var e struct {
		Result struct {
			Task         struct{ ID string }
			StatusUpdate struct{ TaskID string }
		}
	}
	if err := json.Unmarshal([]byte(event), &e); err != nil {
		t.Fatalf("%v in %s", err, event)
	}
	return e.Result.Task.ID + e.Result.StatusUpdate.TaskID
}

func get(t *testing.T, p *proxy.Proxy, id string) string {
	t.Helper()
	r, err := post(t, p, "GetTask", fmt.Sprintf(`{"id":%q}`, id))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	return string(body)
}

func TestACardLeadsBackToTheProxy(t *testing.T) {
	p := begin(t, agent.New())
	r, err := http.Get(p.URL() + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), p.URL()+"/a2a") {
		t.Errorf("the card does not name the proxy: %s", body)
	}
}

func TestWithoutAFaultEverythingPasses(t *testing.T) {
	p := begin(t, agent.New())
	list, end := stream(t, p, "ping")
	if len(list) != 4 || !errors.Is(end, io.EOF) {
		t.Errorf("%d events, ended %v", len(list), end)
	}
	if body := get(t, p, taskID(t, list[0])); !strings.Contains(body, "COMPLETED") {
		t.Errorf("GetTask: %s", body)
	}
}

func TestAStreamIsCutInGoodOrderOrReset(t *testing.T) {
	p := begin(t, agent.New())
	set(t, p, proxy.Fault{CutAfter: 300 * time.Millisecond})
	list, end := stream(t, p, "count slowly")
	if len(list) < 3 || !errors.Is(end, io.EOF) {
		t.Errorf("cut in good order: %d events, ended %v", len(list), end)
	}
	if body := get(t, p, taskID(t, list[0])); !strings.Contains(body, "WORKING") {
		t.Errorf("the task does not go on: %s", body)
	}
	set(t, p, proxy.Fault{ResetEvents: 2})
	if list, end = stream(t, p, "count slowly"); len(list) != 2 || errors.Is(end, io.EOF) {
		t.Errorf("reset: %d events, ended %v", len(list), end)
	}
	set(t, p, proxy.Fault{CutIdle: 20 * time.Millisecond, Reset: true})
	if list, end = stream(t, p, "count slowly"); len(list) > 3 || errors.Is(end, io.EOF) {
		t.Errorf("reset when idle: %d events, ended %v", len(list), end)
	}
}

func TestABufferDeliversAtOnce(t *testing.T) {
	p := begin(t, agent.New(agent.Latency(0, 600*time.Millisecond)))
	set(t, p, proxy.Fault{Buffer: time.Minute})
	r, err := post(t, p, "SendStreamingMessage", message("ping"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(r.Body)
	_, _ = lines.ReadString('\n')
	first := time.Now()
	rest, _ := io.ReadAll(lines)
	if took := time.Since(first); took > 500*time.Millisecond || !strings.Contains(string(rest), "COMPLETED") {
		t.Errorf("the rest came %s after the first line: %s", took, rest)
	}
}

func TestRequestsAreTurnedAwayAndDropped(t *testing.T) {
	p := begin(t, agent.New())
	set(t, p, proxy.Fault{Status: 429, Share: 1, RetryAfter: 9})
	if r, err := post(t, p, "SendMessage", message("ping")); err != nil || r.StatusCode != 429 || r.Header.Get("Retry-After") != "9" {
		t.Errorf("%v %v", r, err)
	}
	set(t, p, proxy.Fault{Drop: 1})
	if r, err := post(t, p, "SendMessage", message("ping")); err == nil {
		t.Errorf("answered with %d", r.StatusCode)
	}
	set(t, p, proxy.Fault{Down: true})
	if _, err := post(t, p, "SendMessage", message("ping")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("down: %v", err)
	}
	set(t, p, proxy.Fault{})
	if _, err := post(t, p, "SendMessage", message("ping")); err != nil {
		t.Errorf("up again: %v", err)
	}
}

func TestAnExecutorThrows(t *testing.T) {
	p := begin(t, agent.New())
	set(t, p, proxy.Fault{Fail: 1})
	r, err := post(t, p, "SendMessage", message("ping"))
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "-32603") || !strings.Contains(string(body), "question-1") {
		t.Errorf("%s", body)
	}
}

func TestReplicasShareNothing(t *testing.T) {
	p := begin(t, agent.New(), agent.New())
	list, _ := stream(t, p, "ping")
	id := taskID(t, list[0])
	set(t, p, proxy.Fault{Replicas: proxy.ByRequest})
	one, two := get(t, p, id), get(t, p, id)
	if strings.Contains(one, "-32001") == strings.Contains(two, "-32001") {
		t.Errorf("one of two replicas knows the task: %s %s", one, two)
	}
}

func TestTaskIDsAreRewritten(t *testing.T) {
	p := begin(t, agent.New())
	for how, same := range map[string]bool{proxy.Once: true, proxy.Each: false} {
		set(t, p, proxy.Fault{Rewrite: how})
		list, _ := stream(t, p, "ping")
		id := taskID(t, list[0])
		if next := taskID(t, list[1]); next != id {
			t.Errorf("%s: another id in the same stream: %s, %s", how, id, next)
		}
		body := get(t, p, id)
		if !strings.Contains(body, "COMPLETED") || strings.Contains(body, id) != same || !strings.Contains(body, "question-1") {
			t.Errorf("%s: asked for %s: %s", how, id, body)
		}
	}
}

func TestAStoreLags(t *testing.T) {
	p := begin(t, agent.New(agent.Latency(0, 300*time.Millisecond)))
	set(t, p, proxy.Fault{Lag: 2 * time.Second})
	list, _ := stream(t, p, "ping")
	id := taskID(t, list[0])
	if body := get(t, p, id); !strings.Contains(body, "-32001") {
		t.Errorf("known at once: %s", body)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if body := get(t, p, id); strings.Contains(body, "COMPLETED") {
			return
		}
	}
	t.Errorf("it never catches up: %s", get(t, p, id))
}

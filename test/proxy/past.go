package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// past remembers what GetTask said of tasks, so that a lagging store can be played. It asks by itself, a little while, as soon as a stream
// or an answer names a task, and again whenever somebody else asks.
type past struct {
	proxy *Proxy
	mu    sync.Mutex
	tasks map[string]*memory
}

// memory is what is known of one task.
type memory struct {
	since time.Time
	shots []snapshot
}

type snapshot struct {
	at   time.Time
	body []byte
	kind string
}

// How often and for how long a task is asked for.
const (
	pastEvery = 25 * time.Millisecond
	pastFor   = 6 * time.Second
)

// taskOf is the id of the first task that an event or an answer names; empty if it names none.
func taskOf(event []byte) string {
	for line := range bytes.Lines(event) {
		var v any
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("data:")), &v) == nil {
			if id := findTask(v); id != "" {
				return id
			}
		}
	}
	return ""
}

func findTask(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	if id, ok := m["taskId"].(string); ok {
		return id
	}
	if id, ok := m["id"].(string); ok && m["status"] != nil {
		return id
	}
	for _, inner := range m {
		if id := findTask(inner); id != "" {
			return id
		}
	}
	return ""
}

// follow begins to ask for the task that an event names.
func (p *past) follow(event []byte, x *passage) {
	id := taskOf(event)
	if id == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks == nil {
		p.tasks = map[string]*memory{}
	}
	if p.tasks[id] != nil {
		return
	}
	p.tasks[id] = &memory{since: time.Now()}
	method := "tasks/get"
	if x.call.v1 {
		method = "GetTask"
	}
	to := *x.backend
	to.Path = x.call.path
	go p.watch(id, method, &to, x.call.header)
}

func (p *past) watch(id, method string, to *url.URL, header http.Header) {
	for began := time.Now(); time.Since(began) < pastFor; {
		asked := time.Now()
		if body, kind, ok := p.ask(id, method, to, header); ok {
			p.mu.Lock()
			m := p.tasks[id]
			m.shots = append(m.shots, snapshot{asked, body, kind})
			p.mu.Unlock()
		}
		if !wait(p.proxy.base, pastEvery) {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.tasks[id]
	m.shots = m.shots[max(len(m.shots)-1, 0):]
}

func (p *past) ask(id, method string, to *url.URL, header http.Header) ([]byte, string, bool) {
	q, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "past", "method": method, "params": map[string]any{"id": id}})
	r, err := http.NewRequestWithContext(p.proxy.base, http.MethodPost, to.String(), bytes.NewReader(q))
	if err != nil {
		return nil, "", false
	}
	for _, name := range []string{"Authorization", "A2A-Version"} {
		if v := header.Get(name); v != "" {
			r.Header.Set(name, v)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := p.proxy.forward.Transport.RoundTrip(r)
	if err != nil {
		return nil, "", false
	}
	defer func() { _ = a.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxBody))
	return body, a.Header.Get("Content-Type"), err == nil && a.StatusCode == http.StatusOK
}

// answer answers GetTask with what it would have been so long ago.
func (p *past) answer(w http.ResponseWriter, x *passage, lag time.Duration) {
	p.mu.Lock()
	var then *snapshot
	if m := p.tasks[x.call.task]; m != nil {
		for i := range m.shots {
			if !m.shots[i].at.After(time.Now().Add(-lag)) {
				then = &m.shots[i]
			}
		}
		if then == nil && len(m.shots) > 0 && time.Since(m.since) > lag {
			then = &m.shots[0]
		}
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if then == nil {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+x.call.id+`,"error":{"code":-32001,"message":"task not found"}}`)
		return
	}
	w.Header().Set("Content-Type", then.kind)
	_, _ = io.WriteString(w, strings.Replace(string(then.body), `"past"`, x.call.id, 1))
}

package agent

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Counts is what happened at an agent since it was made.
type Counts struct {
	// Requests by JSON-RPC method, "card" for cards and "other" for the rest. Requests that a Fault spoils count too.
	Requests map[string]int `json:"requests"`
	// Tasks made, and Open those of them that are in no terminal state, whatever GetTask claims.
	Tasks int `json:"tasks"`
	Open  int `json:"open"`
	// Streams open now.
	Streams int `json:"streams"`
	// Connections seen (remote addresses).
	Connections int `json:"connections"`
}

// Task is one task as it truly is.
type Task struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	// States it had, oldest first.
	States []State `json:"states"`
	// Text of the message that began it.
	Text string `json:"text"`
}

// Request is one request as it came.
type Request struct {
	Method string // JSON-RPC method, "card" or "other"
	Path   string
	Header http.Header
	Params json.RawMessage
}

const keptRequests = 200

// Counts as of now.
func (a *Agent) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := Counts{Requests: map[string]int{}, Tasks: len(a.made), Streams: a.streams, Connections: len(a.remotes)}
	for k, v := range a.requests {
		c.Requests[k] = v
	}
	for _, t := range a.made {
		if !t.now().state.terminal() {
			c.Open++
		}
	}
	return c
}

// Tasks made, oldest first.
func (a *Agent) Tasks() []Task {
	a.mu.Lock()
	made := slices.Clone(a.made)
	a.mu.Unlock()
	list := []Task{}
	for _, t := range made {
		t.mu.Lock()
		one := Task{ID: t.id, State: t.last().state}
		for _, s := range t.life {
			one.States = append(one.States, s.state)
		}
		if len(t.history) > 0 {
			one.Text = incoming{parts: t.history[0].parts}.text()
		}
		t.mu.Unlock()
		list = append(list, one)
	}
	return list
}

// Requests are the latest requests, oldest first, at most 200.
func (a *Agent) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent)
}

func (a *Agent) note(r *http.Request, method string, params json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests[method]++
	a.remotes[r.RemoteAddr] = true
	if len(a.recent) == keptRequests {
		a.recent = slices.Delete(a.recent, 0, keptRequests/2)
	}
	a.recent = append(a.recent, Request{Method: method, Path: r.URL.Path, Header: r.Header, Params: params})
}

// debug answers GET with counts and tasks, and takes a Spec in YAML or JSON by POST, on top of what is set: a deploy from outside.
func (a *Agent) debug(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		a.deploy(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		Name string `json:"name"`
		Counts
		List []Task `json:"list"`
	}{a.cfg.Load().Name, a.Counts(), a.Tasks()})
}

func (a *Agent) deploy(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	if _, err := copyBounded(&b, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var s Spec
	if err := yaml.UnmarshalStrict([]byte(b.String()), &s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	options, err := s.Options()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.Set(options...)
	w.WriteHeader(http.StatusNoContent)
}

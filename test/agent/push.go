package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// PushConfig is how an agent handles webhooks. The zero value has none: every method about them is -32003.
type PushConfig struct {
	// Sends has a store and a sender: webhooks are called for every event of their task, along with the message or by the method.
	Sends bool `json:"sends,omitempty"`
	// Refuse answers the method with this code, and RefuseText; RefuseInline answers messages that bring a webhook.
	Refuse       int    `json:"refuse,omitempty"`
	RefuseText   string `json:"refuseText,omitempty"`
	RefuseInline int    `json:"refuseInline,omitempty"`
	// NoInline passes over webhooks that come with a message, NoMethod those that come by the method, though it is answered.
	NoInline bool `json:"noInline,omitempty"`
	NoMethod bool `json:"noMethod,omitempty"`
	// Silent accepts webhooks and never calls them.
	Silent bool `json:"silent,omitempty"`
	// OnlyStreamed calls for tasks begun by a stream alone (C81).
	OnlyStreamed bool `json:"onlyStreamed,omitempty"`
	// Calls are the events called for: "" all, "end" the last state, "begin" all but that.
	Calls string `json:"calls,omitempty"`
	// Token is the header of the token: "" X-A2A-Notification-Token, "new" A2A-Notification-Token, "bearer" as credentials, "none", "wrong".
	Token string `json:"token,omitempty"`
	// Auth says what becomes of the credentials: "" sent, "none", "wrong".
	Auth string `json:"auth,omitempty"`
	// Body is its form: "" the generation's own, "task" a bare Task, "new" 1.0's, "text" no JSON, "giant" 128 KiB.
	Body string `json:"body,omitempty"`
	// OtherID calls about another task. Twice calls twice; Reversed in the wrong order, once the task is over.
	OtherID  bool `json:"otherID,omitempty"`
	Twice    bool `json:"twice,omitempty"`
	Reversed bool `json:"reversed,omitempty"`
	// Late is a pause before each call. Early holds the answer to a message back until its webhook was called about the end.
	Late  Duration `json:"late,omitempty"`
	Early bool     `json:"early,omitempty"`
	// MinAge passes over what happens to tasks younger than that. Takes is how long a webhook given by the method takes to take effect.
	MinAge Duration `json:"minAge,omitempty"`
	Takes  Duration `json:"takes,omitempty"`
	// NoID gives configs no id.
	NoID bool `json:"noID,omitempty"`
	// NoDelete answers the method that deletes webhooks with -32601.
	NoDelete bool `json:"noDelete,omitempty"`
}

// pushTarget is a webhook in the form of any generation.
type pushTarget struct {
	ID             string `json:"id,omitempty"`
	URL            string `json:"url"`
	Token          string `json:"token,omitempty"`
	Authentication *struct {
		Scheme      string   `json:"scheme,omitempty"`
		Schemes     []string `json:"schemes,omitempty"`
		Credentials string   `json:"credentials,omitempty"`
	} `json:"authentication,omitempty"`
}

// webhook is one that a task calls.
type webhook struct {
	pushTarget
	stop func()
	// ended is closed when it was called about the end.
	ended chan struct{}
}

// pushWith registers the webhook that came with a message. An agent that is early calls it before it answers.
func (x *call) pushWith(t *placed, in incoming, streamed bool) {
	if in.push == nil || x.c.Push.NoInline {
		return
	}
	h := x.register(t.task, *in.push, streamed, t.from)
	if h == nil || !x.c.Push.Early || x.c.Push.Silent {
		return
	}
	select {
	case <-h.ended:
	case <-x.ctx.Done():
	}
}

// refusesInline answers a message that brings a webhook where such are refused.
func (x *call) refusesInline(in incoming) bool {
	if in.push == nil || x.c.Push.RefuseInline == 0 {
		return false
	}
	x.fail(x.c.Push.RefuseInline, "push notifications are not supported")
	return true
}

// register stores a webhook and begins to call it with what happens from a place in the task's log on.
func (x *call) register(t *task, p pushTarget, streamed bool, from int) *webhook {
	k := x.c.Push
	if !k.Sends {
		return nil
	}
	if p.ID == "" && !k.NoID {
		p.ID = newID()
	}
	ctx, stop := context.WithCancel(x.a.base)
	h := &webhook{pushTarget: p, stop: stop, ended: make(chan struct{})}
	t.mu.Lock()
	t.hooks = append(t.hooks, h)
	streamed = streamed || t.byStream
	t.byStream = streamed
	t.mu.Unlock()
	if !k.Silent && (streamed || !k.OnlyStreamed) {
		out := x.out
		out.proto, out.id, out.rewrite = false, "", nil // no gateway is between an agent and a webhook; what correlates is the agent's own
		s := &sender{c: x.c, t: t, h: h, out: out}
		go func() {
			defer stop()
			s.run(ctx, from)
		}()
	}
	return h
}

// sender calls one webhook.
type sender struct {
	c   *Config
	t   *task
	h   *webhook
	out renderer
}

func (s *sender) run(ctx context.Context, from int) {
	var held []event
	for i := from; ; i++ {
		ev, ok, more := s.t.at(i)
		for !ok {
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
			ev, ok, more = s.t.at(i)
		}
		over := ev.kind != evArtifact && (ev.status.state.terminal() || ev.status.state.interrupted())
		switch {
		case s.c.Push.Reversed && !over:
			held = append(held, ev)
		case s.c.Push.Calls == "end" && !over, s.c.Push.Calls == "begin" && over:
		default:
			s.call(ctx, ev)
		}
		if over {
			for _, ev := range slices.Backward(held) {
				s.call(ctx, ev)
			}
			held = nil
			s.once()
		}
		if over && ev.status.state.terminal() {
			return
		}
	}
}

func (s *sender) once() {
	select {
	case <-s.h.ended:
	default:
		close(s.h.ended)
	}
}

// sending is the client of webhooks; it opens a connection for each.
var sending = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (s *sender) call(ctx context.Context, ev event) {
	k := s.c.Push
	if !sleep(ctx, k.Late.D()) {
		return
	}
	if first, _, _ := s.t.at(0); ev.made.Sub(first.made) < k.MinAge.D() {
		return
	}
	times := 1
	if k.Twice {
		times = 2
	}
	for range times {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.h.URL, bytes.NewReader(s.body(ev)))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		s.secrets(req.Header)
		if s.c.Gateway.Correlation == "header" {
			req.Header.Set(CorrelationHeader, s.t.id)
		}
		resp, err := sending.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}

func (s *sender) secrets(h http.Header) {
	k := s.c.Push
	switch token := s.h.Token; {
	case token == "" || k.Token == "none":
	case k.Token == "new":
		h.Set("A2A-Notification-Token", token)
	case k.Token == "bearer":
		h.Set("Authorization", "Bearer "+token)
	case k.Token == "wrong":
		h.Set("X-A2A-Notification-Token", "not the token")
	default:
		h.Set("X-A2A-Notification-Token", token)
	}
	if a := s.h.Authentication; a != nil && k.Auth != "none" && k.Token != "bearer" {
		scheme, credentials := a.Scheme, a.Credentials
		if scheme == "" && len(a.Schemes) > 0 {
			scheme = a.Schemes[0]
		}
		if k.Auth == "wrong" {
			credentials = "somebody else's"
		}
		h.Set("Authorization", scheme+" "+credentials)
	}
}

// body is what an event looks like to a webhook: 1.0 sends it as its streams do, 0.2 and 0.3 the whole Task, 0.1 what its text suggests.
func (s *sender) body(ev event) []byte {
	v := s.t.snapshot(time.Time{})
	if s.c.Push.OtherID {
		v.id = "other-" + v.id
	}
	out := s.out
	switch s.c.Push.Body {
	case "text":
		return []byte("the task has moved on")
	case "giant":
		return []byte(`{"padding":"` + strings.Repeat("x", 128<<10) + `"}`)
	case "new":
		out.gen = V10
	}
	var body any
	switch {
	case s.c.Push.Body == "task", out.gen == V02, out.gen == V03:
		if ev.kind != evArtifact {
			v.status = ev.status
		}
		body = out.task(v, nil)
	case out.gen == V01:
		body = map[string]any{"taskId": v.id, "status": out.status(v.status, v.id, v.context)}
	default:
		body = out.frame(ev, v)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return text
}

// pushParams are those of the four methods, in the form of any generation.
type pushParams struct {
	Tenant   string      `json:"tenant"`
	TaskID   string      `json:"taskId"`
	ID       string      `json:"id"`
	ConfigID string      `json:"pushNotificationConfigId"`
	Config   *pushTarget `json:"pushNotificationConfig"`
	pushTarget
}

// push answers the methods about webhooks.
func (x *call) push() {
	if !x.c.Push.Sends || x.c.Push.Refuse != 0 {
		code, text := x.c.Push.Refuse, x.c.Push.RefuseText
		if code == 0 {
			code = -32003
		}
		if text == "" {
			text = "push notifications are not supported"
		}
		x.fail(code, text)
		return
	}
	var p pushParams
	if err := json.Unmarshal(x.params, &p); err != nil {
		x.fail(-32602, "params do not parse")
		return
	}
	id, config := p.TaskID, p.ConfigID
	if x.c.Generation == V10 {
		config = p.ID
	} else if id == "" {
		id = p.ID
	}
	switch {
	case x.c.Card.Tenant != "" && p.Tenant != x.c.Card.Tenant:
		x.fail(-32602, "unknown tenant")
		return
	case x.op == opPushDelete && x.c.Push.NoDelete:
		x.fail(-32601, "method not found")
		return
	}
	t := x.a.find(id)
	if t == nil {
		x.fail(-32001, "task not found")
		return
	}
	x.out.id = id
	if x.op == opPushSet {
		x.pushSet(t, p)
		return
	}
	x.pushOf(t, config)
}

func (x *call) pushSet(t *task, p pushParams) {
	target := p.pushTarget
	target.ID = p.ID
	if x.c.Generation != V10 {
		if p.Config == nil {
			x.fail(-32602, "pushNotificationConfig is missing")
			return
		}
		target = *p.Config
	}
	if target.URL == "" {
		x.fail(-32602, "url is missing")
		return
	}
	if !x.c.Push.NoMethod {
		if takes := x.c.Push.Takes.D(); takes > 0 {
			time.AfterFunc(takes, func() { x.register(t, target, false, t.length()) })
		} else if h := x.register(t, target, false, t.length()); h != nil {
			target = h.pushTarget
		}
	}
	x.reply(x.out.pushConfig(t.id, target), nil)
}

// pushOf answers get, list and delete.
func (x *call) pushOf(t *task, config string) {
	t.mu.Lock()
	i := slices.IndexFunc(t.hooks, func(h *webhook) bool { return h.ID == config || config == "" })
	var targets []pushTarget
	for _, h := range t.hooks {
		targets = append(targets, h.pushTarget)
	}
	if x.op == opPushDelete && i >= 0 {
		t.hooks[i].stop()
		t.hooks = slices.Delete(t.hooks, i, i+1)
	}
	t.mu.Unlock()
	var all []any
	for _, p := range targets {
		all = append(all, x.out.pushConfig(t.id, p)) // a gateway's name for the task needs the lock too
	}
	switch {
	case x.op == opPushList && x.c.Generation == V10:
		x.reply(map[string]any{"configs": all}, nil)
	case x.op == opPushList:
		x.reply(all, nil)
	case x.op == opPushDelete && (x.out.proto || x.c.Generation == V10):
		x.reply(map[string]any{}, nil)
	case x.op == opPushDelete:
		x.reply(nil, nil)
	case i < 0:
		x.fail(-32001, "config not found")
	default:
		x.reply(all[i], nil)
	}
}

// length of the task's log.
func (t *task) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.log)
}

// pushConfig is a config as the methods answer with it.
func (r renderer) pushConfig(taskID string, p pushTarget) any {
	id := r.taskID(taskID)
	switch {
	case r.gen == V10:
		return struct {
			TaskID string `json:"taskId"`
			pushTarget
		}{id, p}
	case r.proto:
		return map[string]any{"name": "tasks/" + id + "/pushNotificationConfigs/" + p.ID, "pushNotificationConfig": p}
	case r.gen == V01:
		return map[string]any{"id": id, "pushNotificationConfig": p}
	}
	return map[string]any{"taskId": id, "pushNotificationConfig": p}
}

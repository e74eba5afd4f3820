package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// call is one JSON-RPC request being answered.
type call struct {
	a   *Agent
	c   *Config
	w   http.ResponseWriter
	r   *http.Request
	q   request
	out renderer
}

func (x *call) dispatch() {
	op := x.c.Generation.operation(x.q.Method)
	for _, g := range x.c.Also {
		if op == opUnknown {
			if op = g.operation(x.q.Method); op != opUnknown {
				other := *x.c
				other.Generation = g
				x.c, x.out.gen = &other, g
			}
		}
	}
	if x.c.RPC.Unknown || op == opUnknown {
		x.fail(-32601, "method not found")
		return
	}
	if !x.versionFits() {
		x.fail(-32009, "version not supported")
		return
	}
	switch op {
	case opSend:
		x.send()
	case opStream:
		x.stream()
	case opGet:
		x.get()
	case opList:
		x.list()
	case opCancel:
		x.cancel()
	case opResubscribe:
		x.resubscribe()
	case opPush:
		x.fail(-32003, "push notifications are not supported")
	case opExtendedCard:
		x.fail(x.noExtendedCard(), "no extended card")
	}
}

func (x *call) versionFits() bool {
	if !x.c.RPC.CheckVersion {
		return true
	}
	want := string(x.c.Generation)
	got := x.r.Header.Get("A2A-Version")
	if got == "" {
		got = "0.3"
	}
	return got == want || (x.c.Generation != V10 && got == "0.3")
}

func (x *call) noExtendedCard() int {
	if declared(x.c.Card.ExtendedAgentCard) || x.c.Generation != V10 {
		return -32007
	}
	return -32004
}

// declared says whether a raw flag is true.
func declared(raw json.RawMessage) bool { return string(raw) == "true" }

func (x *call) fail(code int, text string) { x.reply(nil, x.out.fail(code, text)) }

// reply writes a unary answer.
func (x *call) reply(result any, e *rpcError) {
	if !x.a.pause(x.c, x.r) {
		return
	}
	body, err := json.Marshal(x.out.envelope(x.q.ID, result, e))
	if err != nil {
		http.Error(x.w, "encoding the answer", http.StatusInternalServerError)
		return
	}
	kind := "application/json"
	if x.c.RPC.PlainText {
		kind = "text/plain; charset=utf-8"
	}
	x.w.Header().Set("Content-Type", kind)
	if e != nil && x.c.RPC.ErrorStatus != 0 {
		x.w.WriteHeader(x.c.RPC.ErrorStatus)
	}
	_, _ = x.w.Write(body)
}

// read reads the params of a send; false if it has answered with an error.
func (x *call) read() (incoming, bool) {
	in, why := readSend(x.c.Generation, x.q.Params)
	if why == "" {
		why = x.tenant()
	}
	if why == "" && x.c.Script.NeedsData && !in.hasData() {
		why = "one data part is needed"
	}
	if why != "" {
		x.fail(-32602, why)
	}
	return in, why == ""
}

func (x *call) tenant() string {
	if x.c.Card.Tenant == "" {
		return ""
	}
	var p taskParams
	if err := json.Unmarshal(x.q.Params, &p); err != nil || p.Tenant != x.c.Card.Tenant {
		return "unknown tenant"
	}
	return ""
}

// placed is the task of a message, and where a stream about the message begins in the task's log.
type placed struct {
	*task
	// continued is the task just after the reply, nil if the message began the task.
	continued *view
	from      int
}

// place finds or makes the task of a message. It returns nil if it has answered by itself.
func (x *call) place(in incoming, work time.Duration, broken bool) *placed {
	var old *task
	if in.taskID != "" {
		old = x.a.find(in.taskID)
		if old == nil && x.c.Generation != V01 {
			x.fail(-32001, "task not found")
			return nil
		}
	}
	if old == nil {
		return &placed{task: x.a.begin(x.c, in, work, broken)}
	}
	return x.followUp(old, in, work)
}

func (x *call) followUp(old *task, in incoming, work time.Duration) *placed {
	f, state := x.c.FollowUp, old.now().state
	switch {
	case f.NewID && !x.c.exempt(in):
		in.taskID = ""
		in.contextID = old.context
		if f.NewContext {
			in.contextID = ""
		}
		return &placed{task: x.a.begin(x.c, in, work, false)}
	case f.Refuse != 0 && (!f.OnlyWorking || !state.interrupted()):
		x.fail(f.Refuse, "no messages to this task")
		return nil
	case state.terminal() && f.ToTerminal:
		old.force(Working)
	case state.terminal():
		x.fail(x.terminalCode(), "the task is over")
		return nil
	case in.contextID != "" && in.contextID != old.context && x.c.Generation != V01:
		x.fail(-32602, "the task belongs to another context")
		return nil
	}
	v, from := old.reply(in)
	if f.NewContext {
		v.context = newID()
	}
	if f.Rewritten {
		x.out.id = x.a.alias(old)
	}
	return &placed{task: old, continued: &v, from: from}
}

// terminalCode of a message to a terminal task.
func (x *call) terminalCode() int {
	switch x.c.Generation {
	case V10:
		return -32004
	case V01:
		return -32009
	default:
		return -32602
	}
}

func (x *call) send() {
	s := x.c.Send
	if s.Hang {
		x.a.hang(x.r)
		return
	}
	in, ok := x.read()
	if !ok {
		return
	}
	if s.Refuse != 0 && every(x.a.nth("sends"), s.Every) {
		x.fail(s.Refuse, "refused")
		return
	}
	broken := x.a.throws(x.c)
	if broken && x.c.Script.FailAs != "failed" {
		x.fail(-32603, "internal error")
		return
	}
	if x.c.deed(in) == "message" {
		x.reply(x.out.said(newID(), in.contextID, x.out.text("pong")), nil)
		return
	}
	t := x.place(in, x.c.Script.Work.D(), broken)
	if t == nil {
		return
	}
	if in.wait && !s.AtOnce {
		x.await(t.task)
	}
	if t.continued != nil && x.c.FollowUp.Message {
		x.reply(x.out.said(newID(), t.context, x.out.text("thank you")), nil)
		return
	}
	v := t.snapshot(time.Time{})
	if t.continued != nil {
		v.context = t.continued.context
	}
	x.reply(x.out.sent(v, in.historyLength, s.Bare), nil)
}

// await waits until the task rests or is over, or nobody is left to wait.
func (x *call) await(t *task) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.a.base, cancel)()
	t.settled(ctx)
}

// known reads task params and finds the task; nil if it has answered with an error.
func (x *call) known() (*task, taskParams) {
	var p taskParams
	if err := json.Unmarshal(x.q.Params, &p); err != nil || p.ID == "" {
		x.fail(-32602, "id is missing")
		return nil, p
	}
	if x.c.Card.Tenant != "" && p.Tenant != x.c.Card.Tenant {
		x.fail(-32602, "unknown tenant")
		return nil, p
	}
	t := x.a.find(p.ID)
	if t == nil {
		x.fail(-32001, "task not found")
	}
	return t, p
}

func (x *call) get() {
	g := x.c.Get
	if g.Refuse != 0 && g.Refuse != -32001 {
		x.fail(g.Refuse, "refused")
		return
	}
	t, p := x.known()
	if t == nil {
		return
	}
	if g.Refuse != 0 && every(x.a.nth("gets"), g.Every) {
		x.fail(g.Refuse, "task not found")
		return
	}
	if !sleep(x.r.Context(), g.Slow.D()) {
		return
	}
	v := t.snapshot(lagged(g.Lag))
	if g.Live {
		v.status.at = time.Now()
	}
	if g.Purged && v.status.state.terminal() {
		x.fail(-32001, "task not found")
		return
	}
	if g.Stale != "" {
		v.status.state, v.artifact = g.Stale, nil
		v.status.at = t.life0()
	}
	x.out.id = p.ID
	if g.OtherID {
		x.out.id = newID()
	}
	if task := x.out.task(v, p.HistoryLength); g.Wrapped {
		x.reply(union{Task: task}, nil)
	} else {
		x.reply(task, nil)
	}
}

func lagged(d Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(-d.D())
}

// life0 is when the task began.
func (t *task) life0() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.life) == 0 {
		return time.Time{}
	}
	return t.life[0].at
}

func (x *call) list() {
	var p taskParams
	if len(x.q.Params) > 0 {
		if err := json.Unmarshal(x.q.Params, &p); err != nil {
			x.fail(-32602, "params do not parse")
			return
		}
	}
	if p.PageSize <= 0 || p.PageSize > 100 {
		p.PageSize = 50
	}
	tasks, total := []*wireTask{}, 0
	x.a.mu.Lock()
	made := append([]*task(nil), x.a.made...)
	x.a.mu.Unlock()
	for i := len(made) - 1; i >= 0; i-- {
		v := made[i].snapshot(time.Time{})
		if (p.ContextID != "" && p.ContextID != v.context) ||
			(p.Status != "" && !strings.EqualFold(p.Status, protoStates[v.status.state])) {
			continue
		}
		if total++; len(tasks) < p.PageSize {
			none := 0
			tasks = append(tasks, x.out.task(v, &none))
		}
	}
	x.reply(map[string]any{"tasks": tasks, "totalSize": total, "pageSize": p.PageSize, "nextPageToken": ""}, nil)
}

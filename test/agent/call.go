package agent

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// call is one operation that somebody asks for, whatever binding carried the question. A binding parses requests into calls and writes
// their answers; what an agent does, and every lie about it, is decided here.
type call struct {
	a   *Agent
	c   *Config
	ctx context.Context
	op  operation
	// params of the operation as the generation's JSON-RPC has them, or as its proto has where the renderer writes ProtoJSON.
	params json.RawMessage
	// version is what A2A-Version said.
	version string
	out     renderer
	by      binding
}

// binding writes the answer to one call.
type binding interface {
	// answer in one: with a result or with an error.
	answer(result any, e *rpcError)
	// stream is where the events of a streamed answer go, in the form that the configuration asks for. It sends nothing yet.
	stream(c StreamConfig) sink
}

// sink takes the events of one stream.
type sink interface {
	// open sends the headers, once.
	open()
	// event is a result or an error; last says that nothing follows it.
	event(result any, e *rpcError, last bool) error
	// garble sends an event that nobody can read.
	garble() error
	// comment keeps the stream alive where nothing happens.
	comment() error
	// deliver sends what was buffered.
	deliver()
	// cut breaks the stream off, in the way that its configuration names.
	cut()
}

// speaks makes the call one of another generation that the agent answers too.
func (x *call) speaks(g Generation) {
	if g == x.c.Generation {
		return
	}
	other := *x.c
	other.Generation = g
	x.c, x.out.gen = &other, g
}

func (x *call) dispatch() {
	x.out.rewrite, x.out.correlate = x.a.rewriter(x.c, x.op), x.c.Gateway.Correlation
	if x.c.RPC.ParamsFirst && len(strings.Trim(string(x.params), "{} \n")) == 0 {
		x.fail(-32602, "params are missing")
		return
	}
	if x.c.RPC.Unknown || x.op == opUnknown {
		x.fail(-32601, "method not found")
		return
	}
	if !x.versionFits() {
		x.fail(-32009, "version not supported")
		return
	}
	switch x.op {
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
	case opPushSet, opPushGet, opPushList, opPushDelete:
		x.push()
	case opExtendedCard:
		x.extendedCard()
	}
}

func (x *call) versionFits() bool {
	if !x.c.RPC.CheckVersion {
		return true
	}
	want := string(x.c.Generation)
	got := x.version
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
	if x.a.pause(x.ctx, x.c) {
		x.by.answer(result, e)
	}
}

// read reads the params of a send; false if it has answered with an error.
func (x *call) read() (incoming, bool) {
	in, why := readSend(x.c.Generation, x.out.proto, x.params)
	if why == "" {
		why = x.tenant()
	}
	if why == "" && x.c.Script.NeedsData && !in.hasData() {
		why = "one data part is needed"
	}
	if why != "" {
		x.fail(-32602, why)
		return in, false
	}
	if code := x.c.refuses(x.a, in); code != 0 {
		x.fail(code, "content type not supported")
		return in, false
	}
	return in, !x.refusesInline(in)
}

func (x *call) tenant() string {
	if x.c.Card.Tenant == "" {
		return ""
	}
	var p taskParams
	if err := json.Unmarshal(x.params, &p); err != nil || p.Tenant != x.c.Card.Tenant {
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
	f, now := x.c.FollowUp, old.now()
	state := now.state
	switch {
	case f.NewID && !x.c.exempt(in):
		in.taskID = ""
		in.contextID = old.context
		if f.NewContext {
			in.contextID = ""
		}
		return &placed{task: x.a.begin(x.c, in, work, false)}
	case f.Refuse != 0 && (!f.OnlyWorking || !state.interrupted()) && (f.Busy == 0 || time.Since(now.at) < f.Busy.D()):
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
		x.a.hang(x.ctx)
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
	x.correlate(t.id)
	x.pushWith(t, in, false)
	if (in.wait || s.Waits) && !s.AtOnce {
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
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	defer context.AfterFunc(x.a.base, cancel)()
	t.settled(ctx)
}

// known reads task params and finds the task; nil if it has answered with an error.
func (x *call) known() (*task, taskParams) {
	var p taskParams
	if err := json.Unmarshal(x.params, &p); err != nil || p.ID == "" {
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
		return nil, p
	}
	x.correlate(t.id)
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
	if !sleep(x.ctx, g.Slow.D()) {
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
	length := p.HistoryLength
	switch {
	case g.AllHistory:
		length = nil
	case g.MostHistory != nil:
		length = g.MostHistory
	}
	if task := x.out.task(v, length); g.Wrapped {
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
	if len(x.params) > 0 {
		if err := json.Unmarshal(x.params, &p); err != nil {
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

package agent

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// stream answers SendStreamingMessage, message/stream or tasks/sendSubscribe.
func (x *call) stream() {
	sc := x.streamConfig()
	if !x.c.declaresStreaming() && !sc.Undeclared && !sc.bent() {
		x.fail(-32004, "streaming is not supported")
		return
	}
	if sc.Refuse != 0 {
		x.refuseStream(sc)
		return
	}
	in, ok := x.read()
	if !ok {
		return
	}
	broken := x.a.throws(x.c)
	out := &sse{w: x.w, c: sc}
	switch {
	case sc.Empty || (broken && x.c.Script.FailAs != "failed"):
		if x.a.pause(x.c, x.r) {
			out.open()
		}
		return
	case sc.Messages > 0:
		x.manyMessages(out, in, sc.Messages)
		return
	case x.c.deed(in) == "message":
		x.oneMessage(out, in)
		return
	}
	t := x.place(in, x.c.Stream.Work.D(), broken)
	switch {
	case t == nil:
	case sc.Unary:
		x.await(t.task)
		x.reply(x.out.sent(t.snapshot(time.Time{}), nil, false), nil)
	default:
		x.follow(out, t.task, t.continued, t.from, sc)
	}
}

// streamConfig is the configuration that holds for this stream: without the lies where they are for others.
func (x *call) streamConfig() StreamConfig {
	sc := x.c.Stream
	n := x.a.nth("streams")
	if every(n, sc.Every) && n > sc.After && (sc.Until == 0 || n <= sc.Until) {
		return sc
	}
	honest := sc.framing()
	honest.Undeclared, honest.Work = sc.Undeclared, sc.Work
	return honest
}

// bent says that the configuration wants something of streams, which an undeclared stream would not come to.
func (c StreamConfig) bent() bool { return c.Refuse != 0 || c.Empty || c.Unary }

func (x *call) refuseStream(sc StreamConfig) {
	e := x.out.fail(sc.Refuse, "streaming refused")
	if sc.RefuseAs != "sse" {
		x.reply(nil, e)
		return
	}
	if !x.a.pause(x.c, x.r) {
		return
	}
	out := &sse{w: x.w, c: sc}
	_ = out.event(x.out.envelope(x.q.ID, nil, e), true)
}

func (x *call) oneMessage(out *sse, in incoming) {
	if !x.a.pause(x.c, x.r) {
		return
	}
	out.open()
	_ = out.event(x.out.envelope(x.q.ID, x.out.said(newID(), in.contextID, x.out.text("pong")), nil), true)
	out.deliver()
}

func (x *call) manyMessages(out *sse, in incoming, n int) {
	id := newID()
	for i := range n {
		parts := x.out.text("po")
		if i == 0 || i == n-1 {
			parts = []part{}
		}
		if !sleep(x.r.Context(), x.c.Stream.Work.D()/time.Duration(n)) {
			return
		}
		if out.event(x.out.envelope(x.q.ID, x.out.said(id, in.contextID, parts), nil), i == n-1) != nil {
			return
		}
	}
	out.deliver()
}

// resubscribe answers SubscribeToTask or tasks/resubscribe: a snapshot, then what happens from then on.
func (x *call) resubscribe() {
	if x.c.RPC.NoResubscribe {
		x.fail(-32601, "method not found")
		return
	}
	if !x.c.declaresStreaming() && !x.c.Stream.Undeclared {
		x.fail(-32004, "streaming is not supported")
		return
	}
	t, p := x.known()
	if t == nil {
		return
	}
	x.out.id = p.ID
	if t.now().state.terminal() && x.c.Generation == V10 {
		x.fail(-32004, "the task is over")
		return
	}
	sc := x.c.Stream.framing()
	out := &sse{w: x.w, c: sc}
	v, at := t.join()
	x.follow(out, t, &v, at, sc)
}

// framing is what holds for every stream, re-attached ones too: form and keeping open, not lies.
func (c StreamConfig) framing() StreamConfig {
	return StreamConfig{KeepAlive: c.KeepAlive, Fields: c.Fields, Pretty: c.Pretty, LineEnd: c.LineEnd, BOM: c.BOM,
		MediaType: c.MediaType, NDJSON: c.NDJSON, HoldInterrupted: c.HoldInterrupted, HoldTerminal: c.HoldTerminal}
}

// follower is one open stream of one task.
type follower struct {
	*call
	t    *task
	sc   StreamConfig
	out  *sse
	ctx  context.Context
	said int  // events written
	bent bool // the giant event or the malformed one has been sent
}

// follow streams a task from a place in its log on, the task as it is at that place first if it is given.
func (x *call) follow(out *sse, t *task, first *view, from int, sc StreamConfig) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.a.base, cancel)()
	x.a.openStream(1)
	defer x.a.openStream(-1)
	f := &follower{call: x, t: t, sc: sc, out: out, ctx: ctx}
	if !x.a.pause(x.c, x.r) {
		return
	}
	if !sc.HeadersLate {
		out.open()
	}
	if sleep(ctx, sc.FirstEvent.D()) && f.greet(first) {
		f.run(from)
	}
	out.deliver()
	if x.r.Context().Err() != nil {
		f.hungUp()
	}
}

// greet shows the task as it is; false if that is the end of the stream.
func (f *follower) greet(v *view) bool {
	if v == nil {
		return true
	}
	s := v.status.state
	ends := s.terminal() || (s.interrupted() && !f.sc.HoldInterrupted)
	return f.send(f.call.out.taskFrame(*v), ends) && !ends
}

func (a *Agent) openStream(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams += by
}

// hungUp punishes the task for its client's leaving, where a quirk wants it (C91).
func (f *follower) hungUp() {
	switch f.sc.HangUp {
	case "":
	case "stuck":
		f.t.stop()
	default:
		f.t.end(State(f.sc.HangUp))
	}
}

func (f *follower) run(from int) {
	for i := from; ; {
		ev, ok, more := f.t.at(i)
		switch {
		case !ok && f.wait(more):
		case !ok:
			return
		default:
			i++
			if f.step(ev) {
				return
			}
		}
	}
}

// wait until there is more, sending keep-alives; false if the stream is over.
func (f *follower) wait(more <-chan struct{}) bool {
	idle := farFuture
	if f.sc.CutIdle > 0 {
		idle = f.sc.CutIdle.D()
	}
	cut := time.NewTimer(idle)
	defer cut.Stop()
	beat := farFuture
	if f.sc.KeepAlive > 0 {
		beat = f.sc.KeepAlive.D()
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		select {
		case <-more:
			return true
		case <-f.ctx.Done():
			return false
		case <-cut.C:
			f.cut()
			return false
		case <-alive.C:
			f.out.open()
			if f.out.comment() != nil {
				return false
			}
		}
	}
}

// cut ends the stream the way the quirk says.
func (f *follower) cut() {
	f.out.open()
	if f.sc.Cut == "reset" {
		panic(http.ErrAbortHandler)
	}
}

// step shows one event of the task; true if the stream is over.
func (f *follower) step(ev event) bool {
	s := ev.status.state
	ends := ev.kind != evArtifact && s.terminal()
	rests := ev.kind != evArtifact && s.interrupted()
	if ends {
		f.t.mu.Lock()
		lag, silent := f.t.frameLag, f.t.noFrame
		f.t.mu.Unlock()
		if !sleep(f.ctx, lag) || silent {
			return true
		}
	}
	closes := ends || (rests && !f.sc.HoldInterrupted)
	frames := f.shape(ev)
	for i, v := range frames {
		if !f.send(v, closes && i == len(frames)-1 && f.quietEnd()) {
			return true
		}
	}
	switch {
	case ends:
		return f.terminal(s, len(frames) == 0)
	case rests:
		return closes && len(frames) > 0
	case f.sc.Endless && s == Working:
		f.flood()
		return true
	}
	return false
}

// quietEnd says that nothing follows the event that ends a stream.
func (f *follower) quietEnd() bool {
	return len(f.sc.AfterTerminal) == 0 && !f.sc.Snapshot && !f.sc.StatusFirst
}

// shape turns an event of the task into what this stream shows of it.
func (f *follower) shape(ev event) []any {
	v := f.t.snapshot(time.Time{})
	s := ev.status.state
	if f.sc.ForeignTask && f.said > 0 {
		v.id = "foreign-" + v.id
	}
	word := string(s)
	if ev.kind == evArtifact {
		word = "artifact"
	}
	switch {
	case slices.Contains(f.sc.Withhold, word),
		f.sc.NoContent && ev.kind == evArtifact,
		f.sc.StatusFirst && ev.kind == evTask && !s.terminal(),
		f.sc.OneTask && !s.terminal() && !s.interrupted():
		return nil
	case f.sc.OneTask, f.sc.StatusFirst && ev.kind == evStatus && s.terminal():
		v.status = ev.status
		return []any{f.call.out.taskFrame(v)}
	case f.sc.NeverFinal && ev.kind != evArtifact:
		no := false
		ev.final = &no
	}
	if f.sc.GiantEvent > 0 && ev.kind == evArtifact && !f.bent {
		f.bent = true
		ev.text = strings.Repeat("x", f.sc.GiantEvent)
	}
	frames := []any{f.frameOf(ev, v)}
	if f.sc.CompletedTwice && ev.kind == evArtifact {
		no := false
		early := event{kind: evStatus, status: status{state: Completed, at: time.Now(), text: "Which date was it?"}, final: &no}
		frames = append([]any{f.frameOf(early, v)}, frames...)
	}
	return frames
}

func (f *follower) frameOf(ev event, v view) any {
	r := f.call.out
	if f.sc.NoContent {
		v.artifact = nil
	}
	return r.frame(ev, v)
}

// send writes one result; false if the stream is over.
func (f *follower) send(result any, last bool) bool {
	r := f.call.out
	if f.out.event(r.envelope(f.q.ID, result, nil), last) != nil {
		return false
	}
	f.said++
	if f.sc.Malformed && f.said == 1 {
		if f.out.raw([]byte(`{"jsonrpc":"2.0","result":`), false) != nil {
			return false
		}
	}
	if f.sc.ErrorAfter > 0 && f.said >= f.sc.ErrorAfter {
		_ = f.out.event(r.envelope(f.q.ID, nil, r.fail(f.sc.ErrorCode, "error on the stream")), true)
		return false
	}
	if f.sc.CutAfter > 0 && f.said >= f.sc.CutAfter {
		if sleep(f.ctx, f.sc.CutIdle.D()) {
			f.cut()
		}
		return false
	}
	return true
}

// terminal does what follows a terminal event; true if the stream is over.
func (f *follower) terminal(s State, withheld bool) bool {
	f.t.mu.Lock()
	hidden := f.t.hidden
	f.t.mu.Unlock()
	if hidden {
		return false
	}
	if withheld {
		if f.sc.WithheldOpen {
			for f.wait(nil) {
			}
		}
		return true
	}
	if f.sc.Snapshot && !f.send(f.call.out.taskFrame(f.t.snapshot(time.Time{})), false) {
		return true
	}
	for _, what := range f.sc.AfterTerminal {
		ev := event{kind: evStatus, status: status{state: State(what), at: time.Now()}}
		switch what {
		case "artifact":
			ev = event{kind: evArtifact, text: "one more thing", last: true}
		case "repeat":
			ev.status.state = s
		}
		if !f.send(f.frameOf(ev, f.t.snapshot(time.Time{})), false) {
			return true
		}
	}
	if f.sc.HoldTerminal > 0 {
		f.hold(f.sc.HoldTerminal.D())
	}
	return true
}

// hold keeps the stream open and silent, but for keep-alives.
func (f *follower) hold(d time.Duration) {
	over := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	f.wait(over)
}

// flood sends chunks as fast as they are read.
func (f *follower) flood() {
	block := strings.Repeat("x", 1<<10)
	for i := 0; f.ctx.Err() == nil; i++ {
		ev := event{kind: evArtifact, text: block, first: i == 0}
		if !f.send(f.frameOf(ev, f.t.snapshot(time.Time{})), false) {
			return
		}
	}
}

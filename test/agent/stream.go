package agent

import (
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
	out := x.by.stream(sc)
	switch {
	case sc.Empty || (broken && x.c.Script.FailAs != "failed"):
		if x.a.pause(x.ctx, x.c) {
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
	if t == nil {
		return
	}
	x.pushWith(t, in, true)
	if sc.Unary {
		x.await(t.task)
		x.reply(x.out.sent(t.snapshot(time.Time{}), nil, false), nil)
		return
	}
	x.follow(out, t.task, t.continued, t.from, sc)
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
	if !x.a.pause(x.ctx, x.c) {
		return
	}
	out := x.by.stream(sc)
	_ = out.event(nil, e, true)
}

func (x *call) oneMessage(out sink, in incoming) {
	if !x.a.pause(x.ctx, x.c) {
		return
	}
	out.open()
	_ = out.event(x.out.said(newID(), in.contextID, x.out.text("pong")), nil, true)
	out.deliver()
}

func (x *call) manyMessages(out sink, in incoming, n int) {
	id := newID()
	for i := range n {
		parts := x.out.text("po")
		if i == 0 || i == n-1 {
			parts = []part{}
		}
		if !sleep(x.ctx, x.c.Stream.Work.D()/time.Duration(n)) {
			return
		}
		if out.event(x.out.said(id, in.contextID, parts), nil, i == n-1) != nil {
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
	x.pickUp(t)
}

// framing is what holds for every stream, re-attached ones too: form and keeping open, not lies.
func (c StreamConfig) framing() StreamConfig {
	return StreamConfig{KeepAlive: c.KeepAlive, Fields: c.Fields, Pretty: c.Pretty, LineEnd: c.LineEnd, BOM: c.BOM,
		MediaType: c.MediaType, NDJSON: c.NDJSON, HoldInterrupted: c.HoldInterrupted, HoldTerminal: c.HoldTerminal}
}

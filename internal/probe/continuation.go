package probe

import (
	"context"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

func askContinuation(ctx context.Context, s *session, a *asking) trust.Observation {
	f := s.job.Target.Fixtures.InputRequired
	if f == nil || f.Reply == nil {
		return unlearned(trust.Observation{}, trust.ReasonNoFixture, "no message and reply are configured that make the agent ask back")
	}
	s.progress("continuation")
	d := &dialogue{
		s: s, fixture: f, streams: a.streams(),
		promised:    a.r.claims.Legacy && a.r.declared(trust.StateTransitionHistory),
		clientNames: s.generation() == wire.V01,
	}
	a.dialogue = d
	d.run(ctx)
	d.repeatUnsupported(ctx)
	if a.needs(trust.InputModes) {
		d.repeatRefused(ctx)
	}
	o := judgeContinuation(d.seen())
	o.Observed = d.account()
	o.ProbedWith = s.probedWith(f)
	return o
}

// continuationBound: the first task up to waitDeadline, the reply and, at worst, the reply by itself or again to their deadlines, and the looks.
func continuationBound(t Timing) time.Duration {
	return t.Wait + t.Grace + 2*t.Task + t.Repeat + lookBound(t)
}

// dialogue is a message that makes the agent ask, and a reply.
type dialogue struct {
	s       *session
	fixture *Fixture
	streams bool
	// promised: a 0.x card declares stateTransitionHistory. clientNames: the client names tasks (0.1).
	promised, clientNames bool

	first  *tape
	before *look
	reply  *tape
	after  []look
	// repeated is the reply again, on a new connection, where its media type was refused, or the reply as such.
	repeated *tape
	// control is the reply sent as a message of its own, where the peer found its params invalid.
	control *tape
}

// run holds the dialogue. Where a stream carries the first task, the reply is sent while that stream is open: hanging up first would
// change what we came to see (C91).
func (d *dialogue) run(ctx context.Context) {
	m := d.s.message(d.fixture)
	if d.streams {
		replied := false
		d.first = d.s.streamMessage(ctx, d.s.rpc, m, func(w *watch) (time.Duration, leave) {
			return d.step(w, &replied)
		})
		if !replied && d.first.Fail == nil {
			d.answer(ctx, d.first)
		}
		return
	}
	d.first = d.s.sendMessage(ctx, d.s.rpc, m, false)
	d.wait(ctx)
	d.answer(ctx, d.first)
}

// step waits for the question on a stream, replies beside it, and leaves when that is over. Between times it asks GetTask, in case the
// stream keeps the question back.
func (d *dialogue) step(w *watch, replied *bool) (time.Duration, leave) {
	tm, t, now := d.s.timing, w.tape, w.now()
	if *replied {
		return now + tm.Task, leaveIf(w.pending == 0, leftDone)
	}
	asked, _ := d.asked(t)
	switch {
	case t.MessageOnly() || t.lastKnown().Terminal():
		at := t.Quiet() + tm.Grace
		return at, leaveIf(now >= at, leftSettled)
	case asked || now >= tm.Wait:
		*replied = true
		frozen := *t // the loop writes on; the dialogue goes by what is known now
		frozen.Marks, frozen.Looks = slices.Clone(t.Marks), slices.Clone(t.Looks)
		w.aside(func(ctx context.Context) { d.answer(ctx, &frozen) })
		return now + tm.Task, leftNot
	}
	if t.TaskID() != "" && w.pending == 0 {
		if last := lastAsked(t) + tm.Wait/8; now < last {
			return min(last, tm.Wait), leftNot
		}
		w.look(false)
	}
	return tm.Wait, leftNot
}

func lastAsked(t *tape) time.Duration {
	if len(t.Looks) == 0 {
		return t.HeaderAt
	}
	return t.Looks[len(t.Looks)-1].Asked
}

// wait polls a task begun by a unary call until it asks, ends, or waitDeadline is over.
func (d *dialogue) wait(ctx context.Context) {
	t, tm := d.first, d.s.timing
	if t.Fail != nil || t.TaskID() == "" {
		return
	}
	for !settled(t.lastKnown()) && time.Since(t.Began) < tm.Wait {
		if l := d.s.look(ctx, d.s.rpc, t); l.Fail != nil || l.Code != 0 || settled(l.State) {
			return
		}
		if !pause(ctx, tm.Wait/16) {
			return
		}
	}
}

// asked says whether the task asks for input, by stream or by answer.
func (d *dialogue) asked(t *tape) (yes, working bool) {
	for _, a := range t.answers() {
		working = working || a.state == lifecycle.Working
	}
	return t.lastKnown() == lifecycle.InputRequired, working
}

// answer sends the reply, if there is a task to reply to: one that asks, or one that works on though something was promised (design 5,
// case b). GetTask is asked just before and after.
func (d *dialogue) answer(ctx context.Context, t *tape) {
	id := t.TaskID()
	if t.Fail != nil || id == "" || t.lastKnown().Terminal() {
		return
	}
	b := d.getTask(ctx, t, id)
	d.before = &b
	asked, working := d.asked(t)
	asked = asked && !settledOtherwise(b.State) || b.State == lifecycle.InputRequired
	if !asked && !(working && !settled(b.State) && (d.promised || d.clientNames)) {
		return
	}
	m := d.s.message(d.fixture.Reply)
	m.TaskID, m.ContextID = d.s.ids.id(id), t.ContextID()
	if d.streams && d.clientNames {
		// 0.1 cannot ask for an answer at once, and an answer that waits for a task that never moves would tell nothing.
		d.reply = d.s.streamMessage(ctx, d.s.rpc, m, d.follow(id))
	} else {
		// Not on a stream: servers on a2a-js 1.3.0 refuse a streamed reply whose first event is no Task, and continue all the same.
		d.reply = d.s.sendMessage(ctx, d.s.rpc, m, false)
	}
	if code, first, ok := d.reply.Error(); ok && first && code == codeInvalidParams && b.State == lifecycle.InputRequired {
		d.control = d.s.sendMessage(ctx, d.s.rpc, d.s.message(d.fixture.Reply), false)
	}
	// Did the old task move on? Asked at once, and once more where it seems to stand still.
	for i := range 2 {
		l := d.getTask(ctx, t, id)
		d.after = append(d.after, l)
		if i == 0 && (l.State != b.State || !pause(ctx, d.s.timing.Settle)) {
			return
		}
	}
}

// unsupported: the peer says that it does not do that.
func unsupported(t *tape) bool {
	code, first, ok := t.Error()
	return t.Fail == nil && ok && first && code == codeUnsupported
}

// repeatUnsupported sends a reply that was refused as such again, on new connections, while the task asks: another replica may take it.
func (d *dialogue) repeatUnsupported(ctx context.Context) {
	if d.reply == nil || !unsupported(d.reply) || !d.asks() || oldTask(d.seen()) == lifecycle.OldTaskMovedOn || !pause(ctx, d.s.timing.Repeat) {
		return
	}
	d.s.again(func(fresh wire.Peer) bool {
		m := d.s.message(d.fixture.Reply)
		m.TaskID, m.ContextID = d.s.ids.id(d.first.TaskID()), d.first.ContextID()
		d.repeated = d.s.sendMessage(ctx, fresh, m, false)
		return unsupported(d.repeated)
	})
}

// settledOtherwise: the task rests, and not in the question.
func settledOtherwise(s lifecycle.State) bool { return settled(s) && s != lifecycle.InputRequired }

// follow is the step of the reply's stream: to a proper end where the task goes on, and away where another one came instead.
func (d *dialogue) follow(id string) step {
	tm := d.s.timing
	return func(w *watch) (time.Duration, leave) {
		t, now := w.tape, w.now()
		switch {
		case now >= tm.Task:
			return 0, leftDeadline
		case t.TaskID() != "" && t.TaskID() != id:
			at := t.Marks[0].At + tm.Grace
			return at, leaveIf(now >= at, leftDone)
		case t.Ends():
			at := endsAt(t) + tm.Grace
			return at, leaveIf(now >= at, leftSettled)
		}
		return tm.Task, leftNot
	}
}

func (d *dialogue) getTask(ctx context.Context, t *tape, id string) look {
	ctx, cancel := d.s.unary(ctx)
	defer cancel()
	return d.s.getTask(ctx, d.s.rpc, t.Began, id)
}

// account lists what the dialogue saw: the first task plainly, the reply by a word before each entry.
func (d *dialogue) account() []string {
	out := d.first.account("")
	if d.before != nil {
		out = append(out, "before:GetTask:"+d.before.text())
	}
	if d.reply != nil {
		out = append(out, brief(d.reply.account("reply:"))...)
	}
	for _, l := range d.after {
		out = append(out, "old task:"+l.text())
	}
	return shorten(out)
}

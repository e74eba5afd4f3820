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
		persists:    true,
		promised:    a.r.claims.Legacy && a.r.declared(trust.StateTransitionHistory),
		clientNames: s.generation() == wire.V01,
	}
	a.dialogue = d
	d.run(ctx)
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
	// persists: a reply that is refused as such is sent again.
	persists bool

	first *tape
	// known is the first task as it was known when the reply was due: an open stream is written on after it.
	known  *tape
	before *look
	reply  *tape
	after  []look
	// refused is the reply before that one, where it was refused and a later one was not: the dialogue goes by the later one.
	refused *tape
	// repeated is the reply again, on a new connection, where its media type was refused, or the reply as such and all later ones too.
	repeated *tape
	// gone is what GetTask said where the task no longer asked when a refused reply was to be repeated, or had been.
	gone *look
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
			d.wait(ctx)
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

// wait polls a task that no stream shows until it asks, ends, or waitDeadline is over.
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
	d.known = t
	asked, working := d.asked(t)
	b := d.catchUp(ctx, t, id, asked)
	d.before = &b
	asked = asked && !settledOtherwise(b.State) || b.State == lifecycle.InputRequired
	if !asked && !(working && !settled(b.State) && (d.promised || d.clientNames)) {
		return
	}
	d.reply = d.say(ctx, d.s.rpc, t, id)
	if answeredWith(d.reply, codeInvalidParams) && d.asks() {
		d.control = d.s.sendMessage(ctx, d.s.rpc, d.s.message(d.fixture.Reply), false)
	}
	d.after = d.standing(ctx, t, id)
	if d.persists {
		d.repeatReply(ctx, t, id)
	}
}

// catchUp asks GetTask what the task is, and again for as long as a store may lag where the task was told to ask and GetTask does not show it.
func (d *dialogue) catchUp(ctx context.Context, t *tape, id string, asked bool) look {
	for began := time.Now(); ; {
		b := d.getTask(ctx, t, id)
		lags := b.Fail == nil && (b.Code == 0 || b.Code == codeTaskNotFound) && !settled(b.State)
		if !asked || !lags || time.Since(began) >= d.s.timing.Settle || !pause(ctx, d.s.timing.Settle/8) {
			return b
		}
	}
}

// say sends the reply.
func (d *dialogue) say(ctx context.Context, rpc wire.Peer, t *tape, id string) *tape {
	m := d.s.message(d.fixture.Reply)
	m.TaskID, m.ContextID = d.s.ids.id(id), t.ContextID()
	if d.streams && d.clientNames {
		// 0.1 cannot ask for an answer at once, and an answer that waits for a task that never moves would tell nothing.
		return d.s.streamMessage(ctx, rpc, m, d.follow(id))
	}
	// Not on a stream: servers on a2a-js 1.3.0 refuse a streamed reply whose first event is no Task, and continue all the same.
	return d.s.sendMessage(ctx, rpc, m, false)
}

// standing asks whether the old task moved on: at once, and once more where it seems to stand still.
func (d *dialogue) standing(ctx context.Context, t *tape, id string) (after []look) {
	for i := range 2 {
		l := d.getTask(ctx, t, id)
		after = append(after, l)
		if i == 0 && (l.State != d.before.State || !pause(ctx, d.s.timing.Settle)) {
			break
		}
	}
	return after
}

// repeatReply sends a reply that was refused as such again after a pause, on new connections, while the task asks: an executor may have been
// letting go of the task still, and another replica may take it. If a later reply is not refused the dialogue goes by that one.
func (d *dialogue) repeatReply(ctx context.Context, t *tape, id string) {
	k := d.seen()
	if !refusedAsSuch(k) || !d.asks() || oldTask(k) == lifecycle.OldTaskMovedOn {
		return
	}
	if !pause(ctx, d.s.timing.Repeat) {
		d.gone = &look{}
		return
	}
	before := d.getTask(ctx, t, id)
	if before.State != lifecycle.InputRequired {
		d.gone = &before
		return
	}
	code, _, _ := d.reply.Error()
	d.s.again(func(fresh wire.Peer) bool {
		d.repeated = d.say(ctx, fresh, t, id)
		// What is refused by its params may have reached the agent, and costs a task each time.
		return answeredWith(d.repeated, code) && code != codeInvalidParams
	})
	if answeredWith(d.repeated, code) {
		// A task that ended meanwhile refuses rightly.
		if l := d.getTask(ctx, t, id); l.State != lifecycle.InputRequired {
			d.gone = &l
		}
		return
	}
	d.refused, d.reply, d.repeated, d.control = d.reply, d.repeated, nil, nil
	d.before = &before
	d.after = d.standing(ctx, t, id)
}

// answeredWith: the message was answered with this error and nothing else.
func answeredWith(t *tape, code int) bool {
	got, first, ok := t.Error()
	return t.Fail == nil && ok && first && got == code
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
	if d.refused != nil {
		out = append(out, brief(d.refused.account("refused reply:"))...)
	}
	if d.reply != nil {
		out = append(out, brief(d.reply.account("reply:"))...)
	}
	for _, l := range d.after {
		out = append(out, "old task:"+l.text())
	}
	return shorten(out)
}

package probe

import (
	"context"
	"time"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// watch follows one task and writes down what it sees. Its loop runs in one goroutine; calls beside the stream run in their own and hand
// their answers to the loop, so the tape needs no lock.
type watch struct {
	s       *session
	rpc     wire.Peer
	tape    *tape
	notes   chan func()
	pending int
	ctx     context.Context // of calls beside the stream
	// over, if set, is told when the stream is over, by whomever.
	over func()
	// activity and comments of the stream when it was looked at last.
	activity time.Duration
	comments int
}

// step looks at the tape after every change and says when to look again at the latest (an offset; 0: no matter) and whether to leave.
type step func(w *watch) (wake time.Duration, left leave)

// stream begins a task by a streaming call, or opens one again, and follows it to its end or until step leaves. It returns a tape, always.
func (s *session) stream(ctx context.Context, rpc wire.Peer, open func(context.Context) (*wire.Stream, error), do step) *tape {
	w := &watch{
		s: s, rpc: rpc, notes: make(chan func(), 16), ctx: ctx,
		tape: &tape{Generation: rpc.Endpoint().Generation, Began: time.Now()},
	}
	// The step decides when time is up; this is the net below it.
	sctx, cancel := lingering(ctx, s.timing.Task+s.timing.FirstEvent)
	defer cancel()
	headers := time.AfterFunc(s.timing.Task, cancel)
	st, err := open(sctx)
	if !headers.Stop() && err == nil {
		st.Close()
		err = &wire.Error{Class: wire.ClassTimeout}
	}
	if err != nil {
		w.tape.Fail, w.tape.CalledOff = wireError(err), calledOff(ctx)
		if ctx.Err() == nil && sctx.Err() != nil {
			w.tape.Fail = &wire.Error{Class: wire.ClassTimeout}
		}
		w.tape.EndAt = w.now()
		return w.tape
	}
	defer st.Close()
	w.opened(st)
	if st.Unary != nil {
		if err := turnedAway(st.Unary); err != nil {
			w.tape.Fail, w.tape.EndAt = wireError(err), w.now()
			return w.tape
		}
		w.event(st.Unary.Event)
		return w.tape
	}
	w.follow(ctx, st, do)
	return w.tape
}

// now is the offset of this moment.
func (w *watch) now() time.Duration { return time.Since(w.tape.Began) }

func (w *watch) opened(st *wire.Stream) {
	t := w.tape
	t.Status, t.HeaderAt = st.Status, st.HeaderAt
	t.Streamed = st.Unary == nil
	t.WrongType = st.SniffedSSE || st.NDJSON
	t.Clock = t.Clock.see(t.Began, t.when(t.HeaderAt), st.Date)
	t.Open = t.Streamed
}

// event writes an event down and tells the ledger.
func (w *watch) event(e wire.Event) {
	w.s.ids.event(&e)
	w.tape.add(e)
	if e.Kind == wire.KindTask || e.Kind == wire.KindStatus || e.Kind == wire.KindArtifact {
		w.s.ledger.told(w.rpc, e.TaskID, stateOf(e.RawState), time.Now())
	}
}

// follow is the loop.
func (w *watch) follow(ctx context.Context, st *wire.Stream, do step) {
	events, over := st.Events(), ctx.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for events != nil || w.pending > 0 {
		w.notice(st)
		if w.tape.Open && events != nil {
			wake, left := do(w)
			if left != leftNot {
				w.leave(st, left)
			}
			if wake > 0 {
				timer.Reset(max(wake-w.now(), time.Millisecond))
			}
		}
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
				w.ended(st)
			case w.tape.Open:
				w.event(e)
			}
		case note := <-w.notes:
			w.pending--
			note()
		case <-timer.C:
		case <-over:
			over, w.tape.CalledOff = nil, calledOff(ctx)
			if w.tape.Open && !w.waits() {
				w.leave(st, leftDeadline)
			}
			if events == nil {
				return // calls beside the stream end with ctx; nobody needs their answers
			}
		}
		if w.tape.CalledOff && w.tape.Open && !w.waits() {
			w.leave(st, leftDeadline)
		}
	}
}

// waits says that a stream that was called off is worth a moment more: what it began has no name yet. lingering bounds the moment.
func (w *watch) waits() bool {
	return w.tape.CalledOff && w.tape.TaskID() == "" && !w.tape.MessageOnly()
}

// notice notes bytes that came and are no comment: an event on its way. A stream that sends one is not silent, however large it is.
func (w *watch) notice(st *wire.Stream) {
	activity, comments := st.Activity(), st.Comments()
	if activity > w.activity && comments == w.comments {
		w.tape.Bytes = activity
	}
	w.activity, w.comments = activity, comments
}

// leave ends the stream from our side. What comes after is not written down.
func (w *watch) leave(st *wire.Stream, why leave) {
	w.tape.Open, w.tape.Left, w.tape.LeftAt = false, why, w.now()
	st.Close()
}

func (w *watch) ended(st *wire.Stream) {
	w.notice(st) // part of an event may have come just before
	w.tape.Open = false
	w.tape.End, w.tape.EndAt = st.End(), st.EndAt()
	if w.tape.Left != leftNot {
		w.tape.End, w.tape.EndAt = wire.EndOurs, w.tape.LeftAt
	}
	switch w.tape.End { // what came before it is no evidence either: the rest of the story may be in what we did not read
	case wire.EndMalformed:
		w.tape.Fail, w.tape.Marks = &wire.Error{Class: wire.ClassMalformed}, nil
	case wire.EndBusy:
		w.tape.Fail, w.tape.Marks = &wire.Error{Class: wire.ClassBusy}, nil
	}
	if w.over != nil {
		w.over()
	}
}

// look asks GetTask beside the stream, on a new connection if fresh.
func (w *watch) look(fresh bool) {
	rpc, id := w.rpc, w.tape.TaskID()
	if id == "" {
		return
	}
	w.beside(func(ctx context.Context) look {
		if fresh {
			rpc = rpc.Fresh()
			defer rpc.Close()
		}
		l := w.s.getTask(ctx, rpc, w.tape.Began, id)
		l.Fresh = fresh
		return l
	}, &w.tape.Looks)
}

// cancel asks CancelTask beside the stream.
func (w *watch) cancel() {
	id := w.tape.TaskID()
	w.beside(func(ctx context.Context) look { return w.s.cancelTask(ctx, w.rpc, w.tape.Began, id) }, &w.tape.Cancels)
}

// beside runs one call in its own goroutine and lets the loop write its answer down.
func (w *watch) beside(call func(context.Context) look, to *[]look) {
	w.spawn(func() func() {
		ctx, cancel := w.s.unary(w.ctx)
		defer cancel()
		l := call(ctx)
		return func() {
			// Whether the stream still had it open and active is known only here, in the loop's own order.
			_, done := w.tape.Terminal()
			l.Open = w.tape.Open && !done && !w.tape.Ends()
			*to = append(*to, l)
			w.tape.Clock = w.tape.Clock.see(w.tape.when(l.Asked), w.tape.when(l.At), l.date)
		}
	})
}

// look asks GetTask after the stream, in the caller's own goroutine.
func (s *session) look(ctx context.Context, rpc wire.Peer, t *tape) look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	l := s.getTask(ctx, rpc, t.Began, t.TaskID())
	t.Looks = append(t.Looks, l)
	t.Clock = t.Clock.see(t.when(l.Asked), t.when(l.At), l.date)
	return l
}

func (s *session) getTask(ctx context.Context, rpc wire.Peer, began time.Time, id string) look {
	asked := time.Since(began)
	a, err := rpc.GetTask(ctx, s.ids.id(id), nil)
	l := s.answered(a, err, asked, time.Since(began))
	if l.ID == id {
		s.ledger.told(rpc, id, l.State, time.Now())
	}
	if l.Code == codeTaskNotFound {
		l.ID = ""
	}
	return l
}

func (s *session) cancelTask(ctx context.Context, rpc wire.Peer, began time.Time, id string) look {
	asked := time.Since(began)
	a, err := rpc.CancelTask(ctx, s.ids.id(id))
	l := s.answered(a, err, asked, time.Since(began))
	if l.ID == id {
		s.ledger.told(rpc, id, l.State, time.Now())
	}
	return l
}

// answered reads the answer to a call about a task and names the task.
func (s *session) answered(a *wire.Answer, err error, asked, at time.Duration) look {
	l := answered(a, err, asked, at)
	if err == nil {
		l.Correlated = a.Correlation != ""
		l.ID = s.ids.name(l.ID, a.Correlation)
	}
	return l
}

func answered(a *wire.Answer, err error, asked, at time.Duration) look {
	l := look{Asked: asked, At: at}
	if err == nil {
		err = turnedAway(a)
	}
	if err != nil {
		l.Fail = wireError(err)
		return l
	}
	l.Kind, l.ID, l.Stamp, l.Parts, l.Bytes, l.date = a.Kind, a.TaskID, a.Timestamp, a.Parts, a.ArtifactBytes, a.Date
	if a.Err != nil {
		l.Code = a.Err.Code
		if l.Code == 0 {
			l.Code = codeInternal // an error without a code is an error all the same
		}
		return l
	}
	if a.Kind == wire.KindTask || a.Kind == wire.KindStatus {
		l.State = stateOf(a.RawState)
	}
	return l
}

// aside runs a longer errand beside the stream while the loop reads on.
func (w *watch) aside(run func(context.Context)) {
	w.spawn(func() func() {
		run(w.ctx)
		return func() {}
	})
}

// spawn runs work in its own goroutine and what it returns in the loop. A panic is carried over into the loop, where the question's own
// recover finds it.
func (w *watch) spawn(work func() func()) {
	w.pending++
	go func() {
		note := func() {}
		defer func() {
			if r := recover(); r != nil {
				note = func() { panic(r) }
			}
			w.notes <- note
		}()
		note = work()
	}()
}

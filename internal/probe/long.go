package probe

import (
	"context"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// long is one task that works long. It is begun on a stream, picked up by a second stream while it works, and canceled while both listen:
// one task answers what Resubscription and Cancellation ask. Nobody hangs up on it before it is canceled (C91).
type long struct {
	first *tape
	seconds
}

// seconds is what picking the stream up showed.
type seconds struct {
	// again is the second stream, and repeat the last of those on new connections, where the second was refused or ended at once. Nil: not
	// opened.
	again, repeat *tape
	// after are the answers of GetTask asked after again, and after repeat, were over.
	after []look
}

// longTask runs such a task. joins says whether the second stream is wanted.
func (s *session) longTask(ctx context.Context, f *Fixture, joins bool) *long {
	j := &joint{s: s, tm: s.timing}
	step := s.watchCancel()
	if joins {
		step = j.first(step)
	}
	t := s.streamMessage(ctx, s.rpc, s.message(f), step)
	if t.Fail == nil && t.TaskID() != "" && t.Left == leftNot {
		s.lookAfterCancel(ctx, t)
	}
	return &long{first: t, seconds: j.seen()}
}

// join opens the second stream and follows it. What may be a refusal, or ends at once, is tried again on new connections.
func (j *joint) join(ctx context.Context, id string) {
	s := j.s
	var m seconds
	defer func() { j.publish(m) }()
	m.again = s.pickUp(ctx, s.rpc, id, j.second)
	if other := otherID(m.again, id); other != "" {
		m.again.Strange = s.disowned(ctx, s.rpc, m.again.Began, id, other)
	}
	if !doubtful(m.again) {
		return
	}
	m.after = append(m.after, s.ask(ctx, s.rpc, m.again, id))
	if !m.after[0].State.Active() || !pause(ctx, s.timing.Repeat) {
		return
	}
	before := m.after
	s.again(func(fresh wire.Peer) bool {
		m.repeat = s.pickUp(ctx, fresh, id, j.second)
		m.after = append(before[:1:1], s.ask(ctx, fresh, m.repeat, id))
		return doubtful(m.repeat)
	})
}

func (s *session) pickUp(ctx context.Context, rpc wire.Peer, id string, do step) *tape {
	return s.stream(ctx, rpc, func(ctx context.Context) (*wire.Stream, error) { return rpc.Resubscribe(ctx, s.ids.id(id)) }, do)
}

func (s *session) ask(ctx context.Context, rpc wire.Peer, t *tape, id string) look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	return s.getTask(ctx, rpc, t.Began, id)
}

// otherID is the first id that a stream names and that is not the task's.
func otherID(t *tape, id string) string {
	for _, m := range t.Marks {
		if m.TaskID != "" && m.TaskID != id && m.Kind != wire.KindMessage && m.Kind != wire.KindError {
			return m.TaskID
		}
	}
	return ""
}

// doubtful: refused, or over at once without more than a snapshot.
func doubtful(t *tape) bool {
	code, first, failed := t.Error()
	return t.Fail == nil && (failed && first && (code == codeMethodNotFound || code == codeUnsupported) || endedAtOnce(t))
}

// joint is what the two streams of a long task tell each other. Each runs in its own loop.
type joint struct {
	s  *session
	tm Timing
	mu sync.Mutex
	// shown: the second stream has brought more than a snapshot. over is when it had ended and was not tried again.
	shown bool
	over  time.Time
	found seconds
	// release is from when on the second stream is only waited for to end: the cancel is known, or no cancel will be, or the first stream
	// is over. Zero: not yet.
	release time.Time
}

func (j *joint) publish(m seconds) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found, j.over = m, time.Now()
}

// seen is what the second stream has shown, nothing if it is not over.
func (j *joint) seen() seconds {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.found
}

// let go of the second stream, which then has a while to end.
func (j *joint) let() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.release.IsZero() {
		j.release = time.Now()
	}
}

// settled: the second stream has shown itself; or it is over, and the first one has brought more since, or had the time to.
func (j *joint) settled(t *tape, now time.Duration) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.shown || j.over.IsZero() {
		return j.shown
	}
	return broughtAfter(t, j.over) > 0 || now >= j.over.Sub(t.Began)+j.tm.Settle+t.Lateness()
}

// heard: the second stream has shown itself, or is over.
func (j *joint) heard() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shown || !j.over.IsZero()
}

// first is the step of the first stream: it joins the second one at the first sign of life, waits until that has shown itself, and cancels.
func (j *joint) first(cancel step) step {
	var since time.Duration
	begun, ready := false, false
	return func(w *watch) (time.Duration, leave) {
		t, now := w.tape, w.now()
		w.over = j.let
		switch {
		case ready || now >= j.tm.Task || t.Ends():
		case !begun:
			if !works(t) {
				return j.tm.Task, leftNot
			}
			begun, since = true, now
			id := t.TaskID()
			w.aside(func(ctx context.Context) { j.join(ctx, id) })
			return now + tick(j.tm), leftNot
		default:
			ready = j.settled(t, now) || now >= since+joinBound(j.tm)
			if !ready {
				return now + tick(j.tm), leftNot
			}
		}
		wake, left := cancel(w)
		if begun && released(t, now, j.tm) {
			j.let()
		}
		if left != leftNot && w.pending > 0 {
			j.let() // the other one first
			return now + tick(j.tm), leaveIf(now >= j.tm.Task, leftDeadline)
		}
		return min(wake, now+tick(j.tm)*4), left
	}
}

// works: a task of a known id has shown a sign of life.
func works(t *tape) bool {
	m, ok := t.Last()
	return t.TaskID() != "" && (ok && m.State.Active() || has(t, wire.KindArtifact))
}

// released: nothing more is to come that the second stream should be kept for.
func released(t *tape, now time.Duration, tm Timing) bool {
	if _, known := canceledAt(t); known || t.Ends() {
		return true
	}
	return refusedCancel(t) || len(t.Cancels) > 0 && now >= t.Cancels[0].At+cancelPatience(tm)
}

// joinBound is how long the task is left to work for the second stream's sake: for a refusal to be repeated, and an event to come.
func joinBound(tm Timing) time.Duration { return tm.Repeat + 3*tm.Settle }

func tick(tm Timing) time.Duration { return tm.Settle / 6 }

// second is the step of the second stream. It listens until the task ends; once released, for as long as a buffer on the way may need.
func (j *joint) second(w *watch) (time.Duration, leave) {
	t, now := w.tape, w.now()
	j.mu.Lock()
	j.shown = j.shown || shows(t, j.tm, now)
	release := j.release
	j.mu.Unlock()
	switch {
	case now >= j.tm.Task:
		return 0, leftDeadline
	case t.Ends():
		at := endsAt(t) + j.tm.Grace
		return at, leaveIf(now >= at, leftSettled)
	case !release.IsZero():
		at := max(release.Sub(t.Began), t.Quiet()) + t.Lateness() + j.tm.Grace + j.tm.Late
		return at, leaveIf(now >= at, leftDone)
	}
	return now + tick(j.tm), leftNot
}

// shows: more than a snapshot came; or a snapshot, and the task is quiet.
func shows(t *tape, tm Timing, now time.Duration) bool {
	return t.brought() > 1 || t.Events == 1 && now >= t.Quiet()+tm.Settle
}

func askResubscription(ctx context.Context, s *session, a *asking) trust.Observation {
	o := trust.Observation{Rule: "wire 2"}
	f := s.job.Target.Fixtures.LongRunning
	switch {
	case !a.r.declared(trust.Streaming):
		return undeclaredResubscription(o, a.joined)
	case f == nil:
		return unlearned(o, trust.ReasonNoFixture, "no message is configured that makes the agent work long enough for its stream to be picked up")
	case a.long == nil && !a.streams():
		return unlearned(o, trust.ReasonNotExercised, "streams do not work in this round, so there is none to pick up")
	case a.long == nil:
		s.progress("resubscription")
		a.long = s.longTask(ctx, f, true)
		a.canceled = a.long.first
	}
	o = judgeResubscription(a.long)
	o.ProbedWith = s.probedWith(f)
	return o
}

// resubscriptionBound: a task to its deadline, canceled, and its looks.
func resubscriptionBound(t Timing) time.Duration { return t.Task + cancelPatience(t) + lookBound(t) }

// listenBeside picks up the stream of a task beside other calls, waits a moment for it to show itself, and returns what ends it.
func (s *session) listenBeside(ctx context.Context, id string) (end func() *tape) {
	j := &joint{s: s, tm: s.timing}
	done := make(chan *tape, 1)
	go func() {
		defer j.publish(seconds{})
		defer func() {
			if recover() != nil {
				done <- nil // a fault of ours must not cost the other question its answer
			}
		}()
		done <- s.pickUp(ctx, s.rpc, id, j.second)
	}()
	for began := time.Now(); !j.heard() && time.Since(began) < s.timing.Settle; {
		if !pause(ctx, tick(s.timing)) {
			break
		}
	}
	return func() *tape {
		j.let()
		return <-done
	}
}

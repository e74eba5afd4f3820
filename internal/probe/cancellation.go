package probe

import (
	"context"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

func askCancellation(ctx context.Context, s *session, a *asking) trust.Observation {
	f := s.job.Target.Fixtures.LongRunning
	if f == nil {
		return unlearned(trust.Observation{}, trust.ReasonNoFixture, "no message is configured that makes the agent work long enough to cancel")
	}
	s.progress("cancellation")
	var t *tape
	if a.streams() {
		t = a.cancelStream(ctx, s, f)
	} else {
		t, a.joined = s.cancelSingle(ctx, f, a.needs(trust.Resubscription))
	}
	s.repeatCancel(ctx, t)
	a.canceled = t
	o := judgeCancellation(t, s.timing)
	if o.Reason == trust.ReasonEventsAfterCancel {
		s.ledger.zombie(t.TaskID(), t.Began)
	}
	o.ProbedWith = s.probedWith(f)
	return o
}

// cancellationBound: two tasks to their deadlines, their looks, and the repetition of a refusal.
func cancellationBound(t Timing) time.Duration {
	return 2*t.Task + cancelPatience(t) + t.Repeat + lookBound(t)
}

// cancelPatience is how long we wait for a cancel that was accepted to take effect.
func cancelPatience(t Timing) time.Duration { return 2 * (t.Settle + t.Late) }

// race is how long active frames after a cancel may be on their way already (wire reference 7.3: 1 s).
func race(t Timing) time.Duration { return min(time.Second, t.Late/5) }

// cancelStream begins a long task on a stream, cancels it after its first sign of life, and goes on listening: the zombie shows itself only
// to those who stay. Where Resubscription is asked too, a second stream listens to the same task. An agent whose first stream ends when the
// second is opened has nothing to say about cancel there: it gets a task for that alone.
func (a *asking) cancelStream(ctx context.Context, s *session, f *Fixture) *tape {
	a.long = s.longTask(ctx, f, a.needs(trust.Resubscription))
	t := a.long.first
	if a.long.again != nil && len(t.Cancels) == 0 && t.Left == leftNot && !t.Ends() {
		return s.longTask(ctx, f, false).first
	}
	return t
}

// cancelSingle does the same by unary calls: there are no frames, only what CancelTask and GetTask say. joins asks for a stream of the task
// all the same, which nobody declared: it is opened beside and tells nothing of the cancel.
func (s *session) cancelSingle(ctx context.Context, f *Fixture, joins bool) (t, joined *tape) {
	t = s.sendMessage(ctx, s.rpc, s.message(f), false)
	if t.Fail != nil || t.TaskID() == "" {
		return t, nil
	}
	if m, ok := t.Last(); ok && settled(m.State) {
		return t, nil
	}
	if joins {
		end := s.listenBeside(ctx, t.TaskID())
		defer func() { joined = end() }()
	}
	cctx, cancel := s.unary(ctx)
	defer cancel()
	l := s.cancelTask(cctx, s.rpc, t.Began, t.TaskID())
	t.Cancels = append(t.Cancels, l)
	s.lookAfterCancel(ctx, t)
	return t, nil
}

// lookAfterCancel asks GetTask until the task is over or our patience is, and then twice more over some seconds: canceled must stay.
func (s *session) lookAfterCancel(ctx context.Context, t *tape) {
	until := time.Since(t.Began) + cancelPatience(s.timing)
	for {
		l := s.look(ctx, s.rpc, t)
		if l.State.Terminal() || l.Code != 0 || l.Fail != nil || refusedCancel(t) {
			break
		}
		if time.Since(t.Began) > until || !pause(ctx, s.timing.Settle/3) {
			return
		}
	}
	if _, known := canceledAt(t); !known {
		return
	}
	for range 2 {
		if !pause(ctx, s.timing.Settle) {
			return
		}
		s.look(ctx, s.rpc, t)
	}
	s.lookOn(ctx, s.rpc, t)
}

func refusedCancel(t *tape) bool {
	return len(t.Cancels) > 0 && (t.Cancels[0].Code != 0 || t.Cancels[0].Fail != nil)
}

// repeatCancel asks again on new connections where the method is not known though GetTask is (design 4.4).
func (s *session) repeatCancel(ctx context.Context, t *tape) {
	if !cancelUnknown(t) || !pause(ctx, s.timing.Repeat) {
		return
	}
	s.again(func(fresh wire.Peer) bool {
		one, cancel := s.unary(ctx)
		defer cancel()
		l := s.cancelTask(one, fresh, t.Began, t.TaskID())
		l.Fresh = true
		t.Cancels = append(t.Cancels, l)
		return l.Code == codeMethodNotFound
	})
}

// watchCancel is the step of a stream that is to be canceled.
func (s *session) watchCancel() step {
	tm := s.timing
	var asked, refusedLook bool
	var looked time.Duration
	looks := 0
	return func(w *watch) (time.Duration, leave) {
		t, now := w.tape, w.now()
		if now >= tm.Task {
			return 0, leftDeadline
		}
		if !asked {
			if t.Ends() {
				return endsAt(t) + tm.Grace, leaveIf(now >= endsAt(t)+tm.Grace, leftSettled)
			}
			if m, ok := t.Last(); t.TaskID() != "" && (ok && m.State.Active() || has(t, wire.KindArtifact)) {
				asked, t.Unfold = true, true
				w.cancel()
			}
			return tm.Task, leftNot
		}
		if len(t.Cancels) == 0 {
			return tm.Task, leftNot
		}
		answer := t.Cancels[0]
		at, known := canceledAt(t)
		switch {
		case known:
			return s.listen(w, at, &looks)
		case answer.Code != 0 || answer.Fail != nil:
			// Refused. Whether the task had ended meanwhile is worth one question.
			if !refusedLook {
				refusedLook = true
				w.look(false)
			}
			return tm.Task, leaveIf(w.pending == 0, leftDone)
		case t.Ends():
			return endsAt(t) + tm.Grace, leaveIf(now >= endsAt(t)+tm.Grace, leftSettled)
		case now >= answer.At+cancelPatience(tm):
			return tm.Task, leaveIf(w.pending == 0, leftDone)
		}
		// Accepted and not yet done: ask now and then.
		next := max(looked, answer.At) + tm.Settle/3
		if w.pending == 0 && (looked == 0 || now >= next) {
			looked = now
			w.look(false)
		}
		return max(next, now+tm.Settle/3), leftNot
	}
}

// heard is until when we listen after canceled is known, at least: past the race, past what the stream is known to be late by, and past the
// time a buffer may need.
func heard(t *tape, at time.Duration, tm Timing) time.Duration {
	return at + race(tm) + t.Lateness() + max(tm.Late, 2*tm.Settle) + tm.Settle/3
}

// listen goes on reading after canceled is known, and as long as frames of work go on, up to the deadline. Meanwhile GetTask is asked at once and twice more: canceled must stay.
func (s *session) listen(w *watch, at time.Duration, looks *int) (time.Duration, leave) {
	tm, t, now := s.timing, w.tape, w.now()
	end := heard(t, at, tm)
	if late := lateFrames(t, at, tm); len(late) > 0 {
		// Work that was made before the cancel comes before its end, however long the way is backed up. So as long as frames go on, only
		// the end of the task's time tells a zombie from a backlog.
		end = max(end, min(tm.Task, late[len(late)-1].Last+2*tm.Late))
	}
	next, more := at+time.Duration(*looks)*tm.Settle, *looks < 3
	if x, ended := t.secondLooks(); !more && *looks < 5 && w.pending == 0 && ended && x.open(t) {
		more, end = true, max(end, next+tm.Settle/3) // the last look found it elsewhere
	}
	if now >= end {
		return tm.Task, leaveIf(w.pending == 0, leftDone)
	}
	if more && now >= next {
		*looks++
		w.look(false)
		next = at + time.Duration(*looks)*tm.Settle
	}
	if more {
		return min(end, next), leftNot
	}
	return end, leftNot
}

func leaveIf(yes bool, why leave) leave {
	if yes {
		return why
	}
	return leftNot
}

// canceledAt is the first moment at which canceled is known from any source.
func canceledAt(t *tape) (at time.Duration, known bool) {
	first := func(d time.Duration) {
		if !known || d < at {
			at, known = d, true
		}
	}
	for _, m := range t.Marks {
		if t.Own(m) && m.State == lifecycle.Canceled {
			first(m.At)
		}
	}
	for _, list := range [][]look{t.Cancels, t.Looks} {
		for _, l := range list {
			if l.State == lifecycle.Canceled && l.ID == t.TaskID() {
				first(l.At)
			}
		}
	}
	return at, known
}

// lateFrames are the frames of work that came after canceled was known, the race was over, and what had been made before had arrived: the
// first event tells how late a stream may run, and a state older than the cancel by its own time is not work after it.
func lateFrames(t *tape, at time.Duration, tm Timing) []mark {
	var late []mark
	from, stamp := at+race(tm)+t.Lateness(), canceledStamp(t)
	for _, m := range t.Marks {
		old := !m.Stamp.IsZero() && m.Stamp.Before(stamp)
		if m.At > from && !old && t.Own(m) && (m.Kind == wire.KindArtifact || m.Kind == wire.KindMessage || m.State.Active()) {
			late = append(late, m)
		}
	}
	return late
}

// canceledStamp is the time of canceled by the task's own clock, the earliest told; zero if none was.
func canceledStamp(t *tape) (first time.Time) {
	see := func(st lifecycle.State, at time.Time) {
		if st == lifecycle.Canceled && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, m := range t.Marks {
		if t.Own(m) {
			see(m.State, m.Stamp)
		}
	}
	for _, l := range slices.Concat(t.Cancels, t.Looks) {
		if l.ID == t.TaskID() {
			see(l.State, l.Stamp)
		}
	}
	return first
}

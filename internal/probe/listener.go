package probe

import (
	"slices"
	"time"
)

// listener is the step of an ordinary stream: one GetTask early on, more of them where something is odd or silent, and away after the grace
// of a proper end, or at the deadline. It never hangs up early: products change a task's state because its observer left (C91).
type listener struct {
	tm Timing
	// asked is when GetTask was asked last.
	asked                time.Duration
	early, last, parting bool
	// partings counts the looks after the parting one.
	partings int
}

func (s *session) watchStream() step { return (&listener{tm: s.timing}).step }

func (l *listener) step(w *watch) (wake time.Duration, left leave) {
	t, now := w.tape, w.now()
	switch {
	case now >= l.tm.Task:
		return 0, leftDeadline
	case t.Ends():
		return l.part(w, now)
	case t.TaskID() == "" || w.pending > 0:
		return l.tm.Task, leftNot
	case !l.early:
		l.early = true
		return l.ask(w, now, false)
	case l.withheld(t, now):
		return 0, leftWithheld
	}
	wake = l.tm.Task
	for _, due := range l.due(t) {
		if now >= due.at {
			l.last = l.last || due.last
			return l.ask(w, now, due.fresh)
		}
		wake = min(wake, due.at)
	}
	return wake, leftNot
}

func (l *listener) ask(w *watch, now time.Duration, fresh bool) (time.Duration, leave) {
	l.asked = now
	w.look(fresh)
	return l.tm.Task, leftNot
}

// part leaves a stream that stays open after its proper end, once the grace is over. GetTask is asked once more before: afterwards nothing
// is evidence.
func (l *listener) part(w *watch, now time.Duration) (time.Duration, leave) {
	if at := endsAt(w.tape) + l.tm.Grace; now < at {
		return min(at, l.tm.Task), leftNot
	}
	if !l.parting && !w.tape.MessageOnly() {
		l.parting = true
		return l.ask(w, now, false)
	}
	// An end that GetTask no longer shows is asked about again while we are still there.
	if x, ended := w.tape.secondLooks(); w.pending == 0 && l.partings < 2 && ended && x.open(w.tape) {
		if at := l.asked + l.tm.Settle; now < at {
			return min(at, l.tm.Task), leftNot
		}
		l.partings++
		return l.ask(w, now, false)
	}
	return l.tm.Task, leaveIf(w.pending == 0, leftSettled)
}

// due is a reason to ask GetTask beside the stream, and from when on.
type due struct {
	at          time.Duration
	fresh, last bool
}

func (l *listener) due(t *tape) []due {
	// At the latest when the stream has been silent, and once before we have to go.
	list := []due{{at: max(t.Quiet(), l.asked) + l.tm.Idle}}
	if !l.last {
		list = append(list, due{at: l.tm.Task - min(time.Second, l.tm.Task/10), last: true})
	}
	// A task that GetTask missed is asked for on new connections.
	if missing(t) && len(t.Looks) < maxMisses {
		list = append(list, due{at: l.asked + l.tm.Settle/3, fresh: true})
	}
	// An end that only GetTask shows is asked about again after the grace and a buffer's time.
	if since, ok := shownElsewhere(t); ok {
		list = append(list, due{at: l.patience(t, since)})
	}
	return list
}

// maxMisses is how often a task is asked for that GetTask missed.
const maxMisses = 4

func (l *listener) patience(t *tape, since time.Duration) time.Duration {
	return max(since, t.Quiet()) + t.Lateness() + l.tm.Grace + l.tm.Late
}

// withheld: GetTask has shown a settled state for long enough, and again after that, and the stream stays silent.
func (l *listener) withheld(t *tape, now time.Duration) bool {
	since, ok := shownElsewhere(t)
	return ok && now >= l.patience(t, since) && l.asked >= l.patience(t, since)
}

// endsAt is when the tape came to its proper end.
func endsAt(t *tape) time.Duration {
	if m, ok := t.Terminal(); ok {
		return m.At
	}
	if t.MessageOnly() {
		return t.Quiet()
	}
	m, _ := t.Last()
	return m.At
}

// missing: an answer was TaskNotFound, or under another id, though the stream shows the task active.
func missing(t *tape) bool {
	return slices.ContainsFunc(t.Looks, func(l look) bool {
		return l.Open && (l.Code == codeTaskNotFound || l.Code == 0 && l.Fail == nil && l.ID != t.TaskID())
	})
}

// shownElsewhere: the last answers of GetTask, given while the stream was open, all show a settled state; since when.
func shownElsewhere(t *tape) (since time.Duration, ok bool) {
	for _, l := range t.Looks {
		if !l.Open || l.Code != 0 || l.Fail != nil || l.ID != t.TaskID() || !settled(l.State) {
			ok = false
			continue
		}
		if !ok {
			since, ok = l.At, true
		}
	}
	return since, ok
}

package lifecycle

import "time"

// Bounds of what may arrive of a canceled task in good faith.
const (
	// CancelRace is how long after canceled is known frames may still cross with it.
	CancelRace = time.Second
	// BufferLump is the span of time in which a buffer on the way may hand over late frames.
	BufferLump = 5 * time.Second
)

// aftermath is what arrived of a task after it was known to be canceled.
type aftermath struct {
	canceled     time.Time // first known
	canceledLast time.Time // last said
	first, last  time.Time // work beyond the race
}

// WorkAt notes an event that shows work going on, such as an artifact or a message. Comments, snapshots in a terminal
// state and the closing of a stream are no work. States are noted by RecordAt.
func (t *ObservedTask) WorkAt(at time.Time) {
	a := &t.after
	if a.canceled.IsZero() || at.Sub(a.canceled) <= CancelRace {
		return
	}
	if a.first.IsZero() {
		a.first = at
	}
	a.last = at
}

// Orphaned says that the task was canceled and works on all the same: work arrived later than CancelRace after canceled
// was known, over a longer span than BufferLump, and no repeated canceled ended it. Count such a task and report it: it
// costs money and nobody reads it.
func (t *ObservedTask) Orphaned() bool {
	a := t.after
	return a.last.Sub(a.first) > BufferLump && a.canceledLast.Before(a.last)
}

// noteCancel keeps the aftermath up to date with a state.
func (t *ObservedTask) noteCancel(s State, at time.Time) {
	switch {
	case s == Canceled:
		if t.after.canceled.IsZero() {
			t.after.canceled = at
		}
		t.after.canceledLast = at
	case s.Active():
		t.WorkAt(at)
	}
}

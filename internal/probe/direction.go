package probe

import (
	"slices"
	"time"
)

// where a task stood when its stream ended in good order without a proper end.
type where string

const (
	untold   where = "untold"
	withheld where = "withheld" // it was settled, and the stream kept that back
	running  where = "running"  // it goes on: the stream was cut
	later    where = "later"    // it settled after the stream had ended: the stream was cut
)

// prompt is how soon after the end of a stream an answer of GetTask still speaks of that end, where no time of the task's own says more.
// Whatever cuts a stream does not hit the last quarter of a second before the task's end again and again. A stream whose events may
// arrive late may have ended as much earlier.
const prompt = 250 * time.Millisecond

// direction compares the end of the stream with what GetTask says (design 4.2). An answer that was asked for after the end and shows the
// task active decides, whatever times a later answer carries: the task was running, so the stream was cut.
func direction(t *tape) (look, where) {
	var asked []look
	for _, l := range t.Looks {
		if l.Code == 0 && l.Fail == nil && l.ID == t.TaskID() && t.Evidence(l) {
			asked = append(asked, l)
		}
	}
	if i := slices.IndexFunc(asked, func(l look) bool { return l.Asked >= t.EndAt && l.State.Active() }); i >= 0 {
		if last := asked[len(asked)-1]; settled(last.State) {
			return last, later
		}
		return asked[i], running
	}
	if i := slices.IndexFunc(asked, func(l look) bool { return settled(l.State) }); i >= 0 {
		return asked[i], t.settledBy(asked[i])
	}
	return look{}, untold
}

// settledBy says whether a task that this answer, the first of its kind, shows settled was so before the stream ended.
func (t *tape) settledBy(l look) where {
	if l.At+t.Lateness() <= t.EndAt {
		return withheld // told while the stream was open, and the stream had the time to tell it too
	}
	switch t.pace().compare(l.Stamp, t.when(t.EndAt)) {
	case before:
		return withheld
	case after:
		return later
	}
	if t.Clock.compare(l.Stamp, t.when(t.EndAt)) == after {
		return later
	}
	if l.At+t.Lateness() <= t.EndAt+prompt {
		return withheld
	}
	return later
}

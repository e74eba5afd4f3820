package probe

import (
	"slices"
	"time"
)

// pace is what the task's own earlier times tell of the clock that writes them. The answer's Date header does not: a proxy or another host
// may write that, and the worker's clock be seconds or a whole time zone off. Every time told arrives after it was written, so the clock
// is ahead of ours by no less than the largest difference seen; where everything arrives late by the same time, that time is in it too,
// and in the end of the stream as well.
type pace struct {
	known bool
	// tight: events of the stream count too, so that the clock is hardly more ahead than that.
	tight bool
	// ahead is how far the clock is ahead of ours, at least; coarse that its times have whole seconds.
	ahead  time.Duration
	coarse bool
	// latest time told of a state that came before. A time that does not come after it orders nothing: the clock stands still.
	latest time.Time
}

// jitter is what network and scheduling may add to one arrival and not to another.
const jitter = 100 * time.Millisecond

// pace reads the times of the states in which the task was active: those that GetTask told, and, where GetTask tells the same times as the
// stream so that one clock has written both, those of the stream.
func (t *tape) pace() pace {
	var p pace
	see := func(stamp time.Time, at time.Duration) {
		ahead := stamp.Sub(t.when(at))
		if !p.known || ahead > p.ahead {
			p.ahead = ahead
		}
		if stamp.After(p.latest) {
			p.latest = stamp
		}
		p.known, p.coarse = true, p.coarse || stamp.Nanosecond() == 0
	}
	for _, l := range t.Looks {
		if l.ID == t.TaskID() && l.State.Active() && !l.Stamp.IsZero() {
			see(l.Stamp, l.At)
		}
	}
	if !t.oneClock() {
		return p
	}
	for _, m := range t.Marks {
		if t.Own(m) && m.State.Active() && !m.Stamp.IsZero() {
			see(m.Stamp, m.At)
			p.tight = true
		}
	}
	return p
}

// oneClock: GetTask told a state with the very time that the stream gave it.
func (t *tape) oneClock() bool {
	return slices.ContainsFunc(t.Looks, func(l look) bool {
		return l.ID == t.TaskID() && !l.Stamp.IsZero() && slices.ContainsFunc(t.Marks, func(m mark) bool {
			return t.Own(m) && m.State == l.State && m.Stamp.Equal(l.Stamp)
		})
	})
}

// compare tells whether a time of that clock lies before or after at, on ours. It is unordered where that cannot be told for sure.
func (p pace) compare(stamp, at time.Time) order {
	if !p.known || !stamp.After(p.latest) {
		return unordered
	}
	ours, slack := stamp.Add(-p.ahead), time.Duration(0)
	if p.coarse || stamp.Nanosecond() == 0 {
		slack = time.Second
	}
	switch {
	case !ours.Add(slack).After(at.Add(jitter)):
		return before
	case p.tight && ours.Add(-slack).After(at.Add(jitter)):
		return after
	}
	return unordered
}

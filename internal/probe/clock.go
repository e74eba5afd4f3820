package probe

import "time"

// clock knows how far the peer's clock is from ours, as far as Date headers tell: the offset (peer minus ours) lies in [low, high].
// The zero value knows nothing.
type clock struct {
	known     bool
	low, high time.Duration
}

// see takes one Date header of an answer to a request that was sent and answered at these times of ours. The header has whole seconds:
// the peer wrote it somewhere in the second that it names. Readings that cannot all be true (a proxy in between has a clock of its own)
// widen the bounds instead of narrowing them.
func (c clock) see(sent, answered, date time.Time) clock {
	if date.IsZero() {
		return c
	}
	low, high := date.Sub(answered), date.Add(time.Second).Sub(sent)
	if !c.known {
		return clock{known: true, low: low, high: high}
	}
	if low > c.high || high < c.low {
		return clock{known: true, low: min(low, c.low), high: max(high, c.high)}
	}
	return clock{known: true, low: max(low, c.low), high: min(high, c.high)}
}

// order compares a time that the peer wrote with one of ours.
type order int

const (
	unordered order = iota // cannot be told
	before                 // the peer's time is not after ours
	after                  // the peer's time is after ours
)

// compare tells whether stamp, on the peer's clock, lies before or after at, on ours. Stamps of whole seconds may be up to a second
// later than they say.
func (c clock) compare(stamp, at time.Time) order {
	if !c.known || stamp.IsZero() {
		return unordered
	}
	latest := stamp
	if stamp.Nanosecond() == 0 {
		latest = stamp.Add(time.Second)
	}
	switch {
	case !latest.After(at.Add(c.low)):
		return before
	case stamp.After(at.Add(c.high)):
		return after
	}
	return unordered
}

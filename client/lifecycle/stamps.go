package lifecycle

import "time"

// RecordStamped notes a state with the time that the peer gave it, as a status carries it; a zero stamp is none. Answers of several
// channels can overtake one another: their own times say which is newer, not their arrival. One that is older than what was recorded is
// a store that lags behind: it is stale, changes nothing and accuses nobody. A first end is never stale, whatever clock stamped it. Without
// stamps, and with one that no clock of this age shows, arrival decides.
func (t *ObservedTask) RecordStamped(s State, stamp, at time.Time) (stale bool, err error) {
	if y := stamp.UTC().Year(); y < 1970 || y > 9000 {
		stamp = time.Time{} // nothing is known of it, and JSON could not hold the farthest
	}
	if s.known() && Older(stamp, t.stamp) && (!s.Terminal() || t.final != "") {
		return true, nil
	}
	if s.known() && !stamp.IsZero() && !Older(stamp, t.stamp) {
		t.stamp = stamp
	}
	return false, t.RecordAt(s, at)
}

// Newer says that a state stamped so came about after another, by the peer's own clock. An absent stamp is neither newer nor older.
func Newer(stamp, than time.Time) bool {
	return !stamp.IsZero() && !than.IsZero() && stamp.After(than)
}

// Older says that a state stamped so came about before another, by the peer's own clock.
func Older(stamp, than time.Time) bool { return Newer(than, stamp) }

// RecordDelivered notes a state that a push notification brought. Deliveries are lost, doubled and overtake one another, so a history of
// them has gaps: after an end, another state counts only if the peer's own time says that it came later. What does not count is stale.
func (t *ObservedTask) RecordDelivered(s State, stamp, at time.Time) (stale bool, err error) {
	t.GapFree = false
	if s.known() && t.final != "" && s != t.final && !Newer(stamp, t.stamp) {
		return true, nil
	}
	return t.RecordStamped(s, stamp, at)
}

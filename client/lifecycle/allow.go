package lifecycle

// Move is a transition that a client means to drive.
type Move string

// The moves.
const (
	// Wait for the peer to move the task on by itself.
	Wait Move = "Wait"
	// FollowUp with a message that names the task.
	FollowUp Move = "FollowUp"
	// Cancel the task.
	Cancel Move = "Cancel"
)

// Allows checks a move against the observed history; the card alone allows none but waiting.
//
//   - Wait: until the task is over or asks for input. At auth-required it is allowed, since leave may be given
//     elsewhere. Every wait is bounded: see Due.
//   - FollowUp: at input-required and auth-required; at working only where transitions were promised, and even there the
//     peer may refuse it (1.0 §3.3.3). Never on a hint alone, never after the end.
//   - Cancel: whatever has an id and is not over. A first submitted is enough: what we began we may end.
func (t *ObservedTask) Allows(m Move) bool {
	if t.Entry().Terminal() {
		return false
	}
	switch m {
	case Wait:
		return t.State() != InputRequired
	case FollowUp:
		return t.State().Interrupted() || t.State() == Working && t.Promise
	case Cancel:
		return t.ID != ""
	}
	return false
}

package lifecycle

import (
	"errors"
	"slices"
)

// allStates in the order of a simple life.
var allStates = []State{Submitted, Working, InputRequired, AuthRequired, Completed, Canceled, Failed, Rejected}

// Candidates lists the states that may come next: the first of the two phases, in which the card narrows what to expect.
// No graph of transitions is normative, so little is ruled out: after a terminal state everything but itself, and, where
// transitions were promised and none was missed, input-required before working. The second phase is Record, which tells
// when the task does otherwise.
func (t *ObservedTask) Candidates() []State {
	if t.final != "" {
		return []State{t.final}
	}
	return slices.DeleteFunc(slices.Clone(allStates), func(s State) bool { return t.broken(t.State(), s) != nil })
}

// Remedy is what a client does when the observed task does not match what the card let it expect.
type Remedy string

// The remedies.
const (
	// Proceed: nothing is wrong.
	Proceed Remedy = "Proceed"
	// Downgrade: stop waiting for input-required; go on single-shot with all inputs up front, and still answer a question
	// that comes.
	Downgrade Remedy = "Downgrade"
	// Abort with the typed error.
	Abort Remedy = "Abort"
)

// OnMismatch turns an error of Record, Due or FollowUpAnswered into a remedy. A late or oddly ordered task can be
// downgraded if the client can do without transitions (canDowngrade: it has all inputs at hand). One that was left for
// another task, has left a terminal state, or is past the hard deadline cannot: that is Abort, as is any error that is
// not of this package.
func OnMismatch(err error, canDowngrade bool) Remedy {
	if err == nil {
		return Proceed
	}
	var v *AgentCardContractViolation
	if errors.As(err, &v) && v.Rule != WorkingFirst {
		return Abort
	}
	var d *AgentCardDivergenceError
	soft := errors.As(err, &d) && (d.Basis == Deadline || v != nil)
	if soft && canDowngrade {
		return Downgrade
	}
	return Abort
}

// MayReissue says whether the work may be given to a peer again: after a confirmed cancel, or when the caller says that
// doing it twice does no harm. A cancel that was accepted but not seen to take effect is not confirmed.
func (t *ObservedTask) MayReissue(idempotent bool) bool {
	return idempotent || t.final == Canceled && t.State() == Canceled
}

package lifecycle

import (
	"fmt"
	"time"
)

// Deadlines are a client's own expectations of time; no text of the protocol bounds a task. Zero fields take the
// defaults, so that no wait is without bound.
type Deadlines struct {
	// Wait is the seeds' waitDeadline (30 s): how long working may last before the client asks by itself.
	Wait time.Duration
	// Hard is the seeds' hardDeadline (5 m): how long the peer may have the task in hand at a stretch.
	Hard time.Duration
	// Estimated is the skill's estimatedDuration; zero if the card has none. One that is not below Hard never comes to
	// bear.
	Estimated time.Duration
}

// The defaults of Deadlines.
const (
	DefaultWait = 30 * time.Second
	DefaultHard = 5 * time.Minute
)

func (d Deadlines) filled() Deadlines {
	if d.Wait <= 0 {
		d.Wait = DefaultWait
	}
	if d.Hard <= 0 {
		d.Hard = DefaultHard
	}
	return d
}

// Advice is what a client does next about a task it waits for.
type Advice string

// The advices.
const (
	// KeepWaiting: it is not time yet.
	KeepWaiting Advice = "KeepWaiting"
	// PollTask: ask GetTask, record the answer, and ask again what is due.
	PollTask Advice = "PollTask"
	// AnswerPeer: the task is interrupted and waits for us; time accuses nobody.
	AnswerPeer Advice = "AnswerPeer"
	// AbortOrDowngrade: stop relying on transitions (see OnMismatch), after one last GetTask.
	AbortOrDowngrade Advice = "AbortOrDowngrade"
	// CancelOrReissue: give the task up; see MayReissue.
	CancelOrReissue Advice = "CancelOrReissue"
	// NothingDue: the entry is closed.
	NothingDue Advice = "NothingDue"
)

// Due says what the clock asks for. It changes nothing; the error, if any, is of basis Deadline, which accuses nobody.
//
//	closed                                        NothingDue
//	interrupted                                   AnswerPeer
//	in hand past Hard                             CancelOrReissue, *AgentCardContractViolation
//	working past Wait, transitions promised       AbortOrDowngrade, *AgentCardDivergenceError
//	working past Wait, no promise                 PollTask
//	not started past Estimated, promised          AbortOrDowngrade, no error
//	not started past Wait                         PollTask
//	else                                          KeepWaiting
//
// A task that we asked to be long is polled past Wait and never violates. Hard counts from FirstSeen or from when an
// interrupted task was last taken up again, Wait from the last transition.
func (t *ObservedTask) Due(now time.Time, d Deadlines) (Advice, error) {
	d = d.filled()
	inHand, inState := t.inHand(now), t.inState(now)
	switch {
	case t.Entry().Terminal():
		return NothingDue, nil
	case t.State().Interrupted():
		return AnswerPeer, nil
	case t.Long:
		return pollPast(inState >= d.Wait), nil
	case inHand >= d.Hard:
		return CancelOrReissue, t.violation(EndsByHardDeadline, Deadline, fmt.Sprintf("a terminal state within %v", d.Hard),
			string(t.State()), "the task is not over past the hard deadline")
	case t.State() == Working && inState >= d.Wait && t.Promise:
		return AbortOrDowngrade, &AgentCardDivergenceError{TaskID: t.ID, Basis: Deadline, Declared: "stateTransitionHistory",
			Observed: string(Working), Detail: fmt.Sprintf("no transition within %v of working", d.Wait)}
	case t.State() != Working && t.Promise && d.Estimated > 0 && inHand >= d.Estimated:
		return AbortOrDowngrade, nil
	}
	return pollPast(inState >= d.Wait), nil
}

// DueAt is when Due first asks for more than another look if no state is seen before: AbortOrDowngrade or CancelOrReissue. Zero: never, since
// the entry is closed, the task waits for us, or we asked for a long one.
func (t *ObservedTask) DueAt(d Deadlines) time.Time {
	d = d.filled()
	at := t.HardAt(d)
	if at.IsZero() || !t.Promise {
		return at
	}
	promised := time.Time{}
	switch {
	case t.State() == Working:
		promised = t.FirstSeen.Add(t.history[len(t.history)-1].At + d.Wait)
	case d.Estimated > 0:
		promised = t.takenUp().Add(d.Estimated)
	}
	if !promised.IsZero() && promised.Before(at) {
		return promised
	}
	return at
}

// HardAt is when the hard deadline falls; zero if it does not.
func (t *ObservedTask) HardAt(d Deadlines) time.Time {
	if t.Entry().Terminal() || t.State().Interrupted() || t.Long || t.FirstSeen.IsZero() {
		return time.Time{}
	}
	return t.takenUp().Add(d.filled().Hard)
}

// takenUp is since when the peer has had the task at a stretch.
func (t *ObservedTask) takenUp() time.Time {
	if t.activeSince.IsZero() {
		return t.FirstSeen
	}
	return t.activeSince
}

func pollPast(late bool) Advice {
	if late {
		return PollTask
	}
	return KeepWaiting
}

// inHand is how long the peer has had the task at a stretch.
func (t *ObservedTask) inHand(now time.Time) time.Duration {
	if t.activeSince.IsZero() {
		return t.sinceFirst(now)
	}
	return now.Sub(t.activeSince)
}

// inState is how long the last state has lasted.
func (t *ObservedTask) inState(now time.Time) time.Duration {
	if n := len(t.history); n > 0 {
		return t.sinceFirst(now) - t.history[n-1].At
	}
	return t.sinceFirst(now)
}

func (t *ObservedTask) sinceFirst(now time.Time) time.Duration {
	if t.FirstSeen.IsZero() {
		return 0
	}
	return now.Sub(t.FirstSeen)
}

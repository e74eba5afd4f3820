package lifecycle

import "fmt"

// Answer is what came back to a follow-up, as far as identity goes.
type Answer struct {
	// TaskID of the answer; empty if it named no task.
	TaskID string
	// Message says that the answer was a Message and not a Task, which is always legal.
	Message bool
}

// Continuation is what now holds of a task whose follow-up was answered.
type Continuation string

// The answers to "what now".
const (
	// Continued: the same task goes on.
	Continued Continuation = "Continued"
	// Separate: another task was made, and nothing observed promised otherwise. The old one stays as it is and is still
	// ours to follow.
	Separate Continuation = "Separate"
	// Closed: a Message closed the entry as completed.
	Closed Continuation = "Closed"
	// Broken: another task was made although this one had been taken up. The entry is closed as a divergence; the new
	// task is never its continuation.
	Broken Continuation = "Broken"
)

// FollowUpAnswered decides what an answer to a follow-up means for this task (the ledger's question, "what now"; whose
// fault it is is BlameContinuation's). Once working or input-required was seen, a new task id is a divergence of this
// task, promise or not, with a *AgentCardDivergenceError. After a terminal state a new task is a refinement and quite
// normal.
func (t *ObservedTask) FollowUpAnswered(a Answer) (Continuation, error) {
	over := t.Entry().Terminal()
	switch {
	case a.Message:
		t.messaged = t.messaged || !over
		return Closed, nil
	case a.TaskID == t.ID || a.TaskID == "":
		return Continued, nil
	case over || !t.worked && !t.interrupted:
		return Separate, nil
	}
	err := t.notContinued()
	t.Diverge(err)
	return Broken, err
}

func (t *ObservedTask) notContinued() error {
	e := &AgentCardDivergenceError{
		TaskID:   t.ID,
		Declared: "a follow-up continues the task it names",
		Observed: fmt.Sprintf("a new task while this one is %s", t.State()),
		Detail:   "the answer to a follow-up has another task id",
		Basis:    Behaviour,
	}
	switch {
	case t.State() == InputRequired:
		e.Basis = Protocol // 1.0 §3.4.3 and 6.3, 0.3 §9.4
	case t.Promise:
		e.Basis, e.Declared = Card, "stateTransitionHistory"
	}
	return e
}

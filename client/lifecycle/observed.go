package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// ObservedTask is what was really seen of one task. The zero value with an ID is ready; until a state other than
// submitted has been seen the card is a hint, after that the observed sequence rules. It is not safe for concurrent use.
type ObservedTask struct {
	// ID of the task as the peer gave it.
	ID string
	// FirstSeen is the time of the first Record, or earlier if the caller sets it when the request goes out. Offsets
	// count from it.
	FirstSeen time.Time
	// Promise says that the card declares stateTransitionHistory on the 0.x interface in use: transitions were promised.
	Promise bool
	// GapFree says that every event since the task's first has been seen, as on an unbroken stream from the start. Unary
	// answers, push and streams joined late have gaps; leave it false there, and set it false when a stream is cut.
	GapFree bool
	// Long says that we asked for a long task, which no deadline accuses.
	Long bool

	history     []Transition
	dropped     int
	worked      bool      // working was seen
	interrupted bool      // input-required was seen
	final       State     // the first terminal state, empty before
	activeSince time.Time // first seen, or last taken up again after an interruption
	divergence  error     // what closed the entry, if that was not a state
	messaged    bool      // a Message closed the entry
	after       aftermath
	stamp       time.Time // the newest time that the peer itself gave a state
}

// Transition is one change of state.
type Transition struct {
	State State `json:"state"`
	// At is the offset from FirstSeen; never less than that of the transition before. In JSON it is a number of nanoseconds.
	At time.Duration `json:"at"`
}

// String is the form that evidence has in status: "working@12ms".
func (t Transition) String() string { return fmt.Sprintf("%s@%dms", t.State, t.At.Milliseconds()) }

// maxHistory bounds what a peer can make us remember; transitions beyond it replace the last one.
const maxHistory = 256

// Record notes a state seen now. See RecordAt.
func (t *ObservedTask) Record(s State) error { return t.RecordAt(s, time.Now()) }

// RecordAt notes a state seen at a time. Repeats are folded; Unknown, and whatever is none of the eight states, carries
// no information and changes nothing. The state is recorded whatever is returned; an error says which rule this
// observation breaks (*AgentCardContractViolation): a terminal state left, or input-required without working where
// Promise and GapFree hold. Record what came in one order: answers of several channels that disagree must be put in order
// by their own timestamps first.
func (t *ObservedTask) RecordAt(s State, at time.Time) error {
	if t.FirstSeen.IsZero() {
		t.FirstSeen = at
	}
	if t.activeSince.IsZero() {
		t.activeSince = t.FirstSeen
	}
	if !s.known() {
		return nil
	}
	last := t.State()
	err := t.broken(last, s)
	if t.final == "" && s.Terminal() {
		t.final = s
	}
	t.noteCancel(s, at)
	if s == last {
		return err
	}
	if last.Interrupted() && s.Active() {
		t.activeSince = at
	}
	t.append(Transition{State: s, At: t.offset(at)})
	t.worked = t.worked || s == Working
	t.interrupted = t.interrupted || s == InputRequired
	return err
}

// broken names the rule that next breaks.
func (t *ObservedTask) broken(last, next State) error {
	switch {
	case t.final != "" && (next != t.final || last != t.final):
		return t.violation(TerminalIsFinal, Protocol, fmt.Sprintf("%s is terminal", t.final), string(next),
			"a terminal state was left")
	case t.Promise && t.GapFree && next == InputRequired && last != InputRequired && !t.worked:
		return t.violation(WorkingFirst, Behaviour, "stateTransitionHistory", string(next),
			"input-required came without working before it")
	}
	return nil
}

func (t *ObservedTask) violation(r Rule, b Basis, declared, observed, detail string) error {
	return &AgentCardContractViolation{Rule: r, AgentCardDivergenceError: AgentCardDivergenceError{
		TaskID: t.ID, Declared: declared, Observed: observed, Detail: detail, Basis: b,
	}}
}

// offset keeps history in order even if clocks do not.
func (t *ObservedTask) offset(at time.Time) time.Duration {
	var floor time.Duration
	if n := len(t.history); n > 0 {
		floor = t.history[n-1].At
	}
	return max(at.Sub(t.FirstSeen), floor)
}

func (t *ObservedTask) append(tr Transition) {
	if len(t.history) == maxHistory {
		t.history[maxHistory-1] = tr
		t.dropped++
		return
	}
	t.history = append(t.history, tr)
}

// History lists the transitions seen, oldest first, at most 256: of a longer one the first 255 and the newest. The list
// is the caller's own.
func (t *ObservedTask) History() []Transition { return slices.Clone(t.history) }

// Dropped counts the transitions that History leaves out.
func (t *ObservedTask) Dropped() int { return t.dropped }

// State is the last state seen; Unknown before the first.
func (t *ObservedTask) State() State {
	if len(t.history) == 0 {
		return Unknown
	}
	return t.history[len(t.history)-1].State
}

// Final is the first terminal state seen, whatever came after it; ok is false before.
func (t *ObservedTask) Final() (s State, ok bool) { return t.final, t.final != "" }

// Saw says whether working, or input-required, was ever observed: from then on a follow-up is owed the same task.
func (t *ObservedTask) Saw(s State) bool {
	switch s {
	case Working:
		return t.worked
	case InputRequired:
		return t.interrupted
	}
	return slices.ContainsFunc(t.history, func(tr Transition) bool { return tr.State == s })
}

// Validated says that a state other than submitted was seen: the card is no longer a hint, the observed sequence rules.
func (t *ObservedTask) Validated() bool {
	return len(t.history) > 0 && (len(t.history) > 1 || t.history[0].State != Submitted)
}

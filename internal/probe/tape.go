package probe

import (
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// tape is everything that was seen of one task while it was followed: the stream or the one answer that began it, and what GetTask and
// CancelTask said meanwhile and afterwards. It holds no text of the peer but task ids. Judges read it; only watch writes it. All offsets
// count from the moment the request was sent.
type tape struct {
	Generation wire.Generation
	// Began is when the request was sent, by our clock.
	Began time.Time
	// Client is the task id that we made (0.1 only).
	Client string
	// Fail says that nothing of the protocol came back. The tape is empty then.
	Fail *wire.Error
	// Streamed: events came as a stream, by media type or by content. Else Marks holds the one answer.
	Streamed bool
	// WrongType: a stream of another media type than text/event-stream (C19).
	WrongType bool
	HeaderAt  time.Duration
	// Marks are the events in order, repeats folded, bounded.
	Marks []mark
	// Status of the HTTP answer.
	Status int
	// Unfold writes every event down by itself from here on.
	Unfold bool
	// Events counts all of them.
	Events int
	// Bytes is when the last byte of an event was seen to come, whole or not.
	Bytes time.Duration
	// Problems that events had.
	Problems map[wire.Problem]int
	// End and EndAt say how and when the body ended; Open that it has not yet.
	Open  bool
	End   wire.End
	EndAt time.Duration
	// Left says why we ended it, if we did, and LeftAt when.
	Left   leave
	LeftAt time.Duration
	// CalledOff: we ended it because somebody ended the round.
	CalledOff bool
	// Looks are the answers of GetTask, Cancels those of CancelTask, in the order they came.
	Looks   []look
	Cancels []look
	// Strange is what GetTask says of the other task that events of the stream, or else GetTask itself, named, if it was asked.
	Strange *look
	// Clock is what Date headers tell of the peer's.
	Clock clock
}

// leave is why we ended a stream.
type leave string

const (
	leftNot      leave = ""
	leftSettled  leave = "settled"  // a terminal or interrupted state or a Message came, and the grace is over
	leftWithheld leave = "withheld" // GetTask shows a settled state that the stream has not shown for long enough
	leftDone     leave = "done"     // all was seen that this probe wanted to see
	leftDeadline leave = "deadline" // our time is up, or our caller's
)

// mark is one event, or several alike in a row.
type mark struct {
	At, Last time.Duration
	Count    int
	Kind     wire.Kind
	TaskID   string
	Context  string
	Message  string
	State    lifecycle.State
	Stamp    time.Time
	Final    *bool
	Parts    int
	Code     int
	Shape    wire.Generation
	// Correlated: the event told which task it is about by a correlation, which its name rests on.
	Correlated bool
}

// look is one answer of GetTask or CancelTask.
type look struct {
	Asked, At time.Duration
	// Fresh: asked on a new connection.
	Fresh bool
	// Open: the stream was open, and its task not settled on it, when the answer came.
	Open bool
	// Fail says that nothing of the protocol came back; Code is the JSON-RPC error's, 0 if none.
	Fail  *wire.Error
	Code  int
	Kind  wire.Kind
	ID    string
	State lifecycle.State
	Stamp time.Time
	Parts int
	// Bytes are those of the task's artifacts.
	Bytes int
	// Correlated as of a mark.
	Correlated bool
	date       time.Time
}

// showsTask: GetTask or CancelTask is known there, and answered with a task.
func (l look) showsTask() bool { return l.Fail == nil && l.Code == 0 && l.Kind == wire.KindTask }

// maxMarks bounds a tape: the first half and the latest half are kept.
const maxMarks = 256

// add writes one event down.
func (t *tape) add(e wire.Event) {
	t.Events++
	for _, p := range e.Problems {
		if t.Problems == nil {
			t.Problems = map[wire.Problem]int{}
		}
		t.Problems[p]++
	}
	m := mark{
		At: e.At, Last: e.At, Count: 1, Kind: e.Kind, TaskID: e.TaskID, Context: e.ContextID, Message: e.MessageID,
		Stamp: e.Timestamp, Final: e.Final, Parts: e.Parts, Shape: e.Shape, Correlated: e.Correlation != "",
	}
	if e.Kind == wire.KindTask || e.Kind == wire.KindStatus {
		m.State = stateOf(e.RawState)
	}
	if e.Err != nil {
		m.Code = e.Err.Code
	}
	if n := len(t.Marks); n > 0 && !t.Unfold && t.Marks[n-1].alike(m) {
		t.Marks[n-1].Count++
		t.Marks[n-1].Last = m.At
		t.Marks[n-1].Parts += m.Parts
		return
	}
	if len(t.Marks) == maxMarks {
		t.Marks = slices.Delete(t.Marks, maxMarks/2, maxMarks/2+1)
	}
	t.Marks = append(t.Marks, m)
}

// alike marks fold: chunks of artifacts, and one state said again without anything new.
func (m mark) alike(n mark) bool {
	if m.Kind != n.Kind || m.TaskID != n.TaskID {
		return false
	}
	switch m.Kind {
	case wire.KindArtifact, wire.KindOther:
		return true
	case wire.KindStatus:
		return m.State == n.State && m.State.Active() && isFinal(m.Final) == isFinal(n.Final)
	}
	return false
}

func isFinal(b *bool) bool { return b != nil && *b }

// TaskID is the id that the first event named, empty if none did.
func (t *tape) TaskID() string {
	for _, m := range t.Marks {
		if m.TaskID != "" && m.Kind != wire.KindMessage && m.Kind != wire.KindError {
			return m.TaskID
		}
	}
	return ""
}

// ContextID is the first context id named.
func (t *tape) ContextID() string {
	for _, m := range t.Marks {
		if m.Context != "" {
			return m.Context
		}
	}
	return ""
}

// Own says that a mark is about the task of this tape: it names its id or none.
func (t *tape) Own(m mark) bool { return m.TaskID == "" || m.TaskID == t.TaskID() }

// Foreign is the first event that is about another task.
func (t *tape) Foreign() (mark, bool) {
	id := t.TaskID()
	for _, m := range t.Marks {
		if m.Kind != wire.KindMessage && m.Kind != wire.KindError && m.TaskID != "" && m.TaskID != id {
			return m, true
		}
	}
	return mark{}, false
}

// Last state that an event of this task carried; empty if none did. Unknown says nothing and is passed over.
func (t *tape) Last() (mark, bool) {
	for _, m := range slices.Backward(t.Marks) {
		if t.Own(m) && m.State != "" && m.State != lifecycle.Unknown {
			return m, true
		}
	}
	return mark{}, false
}

// Settled is the first event that is a proper end: a terminal or interrupted state of this task, or a Message before any task.
func (t *tape) Settled() (mark, bool) {
	for _, m := range t.Marks {
		if m.Kind == wire.KindMessage && t.TaskID() == "" {
			return m, true
		}
		if t.Own(m) && settled(m.State) {
			return m, true
		}
	}
	return mark{}, false
}

// Ends says that the stream as it stands is at a proper end: a Message, or a terminal state ever (none can be left), or an interrupted
// state as the last one.
func (t *tape) Ends() bool {
	if t.MessageOnly() {
		return true
	}
	if _, ok := t.Terminal(); ok {
		return true
	}
	last, ok := t.Last()
	return ok && last.State.Interrupted()
}

// Terminal is the first event with a terminal state of this task, and its place among the marks.
func (t *tape) Terminal() (mark, bool) {
	if i := t.terminalIndex(); i >= 0 {
		return t.Marks[i], true
	}
	return mark{}, false
}

func (t *tape) terminalIndex() int {
	return slices.IndexFunc(t.Marks, func(m mark) bool { return t.Own(m) && m.State.Terminal() })
}

// MessageOnly says that the peer answered with Messages and no task.
func (t *tape) MessageOnly() bool {
	return t.TaskID() == "" && slices.ContainsFunc(t.Marks, func(m mark) bool { return m.Kind == wire.KindMessage })
}

// Error is the first JSON-RPC error among the events, and whether nothing of substance came before it.
func (t *tape) Error() (code int, first, ok bool) {
	for i, m := range t.Marks {
		if m.Kind == wire.KindError {
			return m.Code, i == 0, true
		}
	}
	return 0, false, false
}

// Quiet is since when the stream has been silent: no event came, nor a part of one. Comments are no events.
func (t *tape) Quiet() time.Duration {
	quiet := max(t.HeaderAt, t.Bytes)
	if len(t.Marks) > 0 {
		quiet = max(quiet, t.Marks[len(t.Marks)-1].Last)
	}
	return quiet
}

// Lateness is how late the stream's events may arrive: by no more than the first one took, less the time in which GetTask answers at best.
// Something on the way may hold every event back by the same time, while GetTask and CancelTask answer at once.
func (t *tape) Lateness() time.Duration {
	if !t.Streamed || len(t.Marks) == 0 {
		return 0
	}
	first := t.Marks[0].At
	trip := first
	for _, l := range t.Looks {
		if l.Fail == nil {
			trip = min(trip, l.At-l.Asked)
		}
	}
	if len(t.Looks) == 0 {
		trip = 0
	}
	return first - trip
}

// ours says what ended a conversation that we ended.
func (t *tape) ours() string {
	if t.CalledOff {
		return "the round was called off"
	}
	return "our deadline came"
}

// Evidence says that a look may be used against the peer: what is read after we hung up is our own doing (C91).
func (t *tape) Evidence(l look) bool { return t.Left == leftNot || l.Asked < t.LeftAt }

// when turns an offset into a time of our clock.
func (t *tape) when(d time.Duration) time.Time { return t.Began.Add(d) }

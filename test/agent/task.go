package agent

import (
	"context"
	"sync"
	"time"
)

// status is one point of a task's life.
type status struct {
	state State
	at    time.Time
	text  string
}

type eventKind int

const (
	evTask eventKind = iota
	evStatus
	evArtifact
)

// event is one entry of a task's log. Every stream of a task reads the same log.
type event struct {
	kind   eventKind
	status status
	// final overrides what status-updates of 0.x say; nil: true at terminal and interrupted states.
	final *bool
	// text, first and last describe an artifact chunk.
	text        string
	first, last bool
	// made is when it came about.
	made time.Time
}

// task is one task of the store.
type task struct {
	id, context string

	mu       sync.Mutex
	log      []event
	life     []status // every state it had, oldest first
	artifact []string
	history  []turn
	changed  chan struct{}        // closed and replaced at each change
	ends     []context.CancelFunc // of its streams
	outside  string               // what a gateway calls it; empty: nothing yet
	over     bool                 // said to be over: a cancel comes too late
	claimed  State                // what GetTask says whatever is true; empty: the truth
	hidden   bool                 // a lie still wants to say something after a terminal state: streams stay open
	noFrame  bool                 // streams end at a terminal state without showing it
	frameLag time.Duration        // streams show a terminal state so much later
	input    chan incoming        // replies to a task that waits for input
	hooks    []*webhook
	byStream bool // begun by a stream, as far as webhooks care
	stop     context.CancelFunc
}

// turn is one message of the history.
type turn struct {
	id    string
	user  bool
	parts []part
}

func newTask(id, contextID string) *task {
	return &task{id: id, context: contextID, changed: make(chan struct{}), input: make(chan incoming, 16), stop: func() {}}
}

// now is the present state. The caller holds no lock.
func (t *task) now() status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last()
}

func (t *task) last() status {
	if len(t.life) == 0 {
		return status{state: Submitted}
	}
	return t.life[len(t.life)-1]
}

func (t *task) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// begin logs the Task itself as the first event.
func (t *task) begin(s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := status{state: s, at: time.Now()}
	t.life = append(t.life, st)
	t.log = append(t.log, event{kind: evTask, status: st, made: st.at})
	t.wake()
}

// beginDone logs a Task that is finished already.
func (t *task) beginDone(s State, text string) {
	t.mu.Lock()
	t.artifact = append(t.artifact, text)
	t.mu.Unlock()
	t.begin(s)
}

// set moves the task on, unless it is terminal. It says whether it did.
func (t *task) set(s State, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last().state.terminal() {
		return false
	}
	t.append(s, text)
	return true
}

// tooLate refuses every later cancel.
func (t *task) tooLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// cancelable tells whether a cancel still comes in time.
func (t *task) cancelable() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && !t.last().state.terminal()
}

// force moves the task on whatever it was: for lies only.
func (t *task) force(s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.append(s, "")
}

func (t *task) append(s State, text string) {
	st := status{state: s, at: time.Now(), text: text}
	t.life = append(t.life, st)
	if text != "" {
		t.history = append(t.history, turn{id: newID(), parts: []part{{Text: &text}}})
	}
	t.log = append(t.log, event{kind: evStatus, status: st, made: st.at})
	t.wake()
}

// relapse takes a terminal state back in the store: for lies only.
func (t *task) relapse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life = append(t.life, status{state: Working, at: time.Now()})
}

// forget takes it back without telling a new time.
func (t *task) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claimed = Working
}

// chunk adds to the one artifact of the task, unless the task is terminal and the caller honest.
func (t *task) chunk(text string, last, zombie bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last().state.terminal() && !zombie {
		return
	}
	t.log = append(t.log, event{kind: evArtifact, text: text, first: len(t.artifact) == 0, last: last, made: time.Now()})
	t.artifact = append(t.artifact, text)
	t.wake()
}

// at yields event i, or a channel that is closed when more may be there.
func (t *task) at(i int) (ev event, ok bool, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < len(t.log) {
		return t.log[i], true, nil
	}
	return event{}, false, t.changed
}

// settled waits until the task is terminal or interrupted, or its executor has returned, or ctx ends.
func (t *task) settled(ctx context.Context) {
	for {
		t.mu.Lock()
		s, changed := t.last().state, t.changed
		t.mu.Unlock()
		if s.terminal() || s.interrupted() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// reply makes a task that waits work again, before the reply is answered, so that whoever waits for
// the next rest does not see the last one.
// It returns the task as it then is, and the end of its log.
func (t *task) reply(in incoming) (view, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history = append(t.history, in.turn())
	if t.last().state.interrupted() {
		t.append(Working, "")
		select {
		case t.input <- in:
		default: // nobody has heard the last sixteen, and nobody will
		}
	}
	v := t.view(time.Time{})
	v.status = t.last()
	return v, len(t.log)
}

// view is a task as GetTask tells it.
type view struct {
	id, context string
	status      status
	artifact    []string
	history     []turn
}

// snapshot is the task as of now, or as it was at a past moment if asOf is set.
func (t *task) snapshot(asOf time.Time) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view(asOf)
}

// join is a snapshot of the truth together with the place in the log where it was taken.
func (t *task) join() (view, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.view(time.Time{})
	v.status = t.last()
	return v, len(t.log)
}

// view does the work of snapshot. The caller holds the lock.
func (t *task) view(asOf time.Time) view {
	v := view{id: t.id, context: t.context, status: t.last()}
	v.artifact = append(v.artifact, t.artifact...)
	v.history = append(v.history, t.history...)
	if !asOf.IsZero() && len(t.life) > 0 {
		v.status = t.life[0]
		for _, s := range t.life {
			if !s.at.After(asOf) {
				v.status = s
			}
		}
		if !v.status.state.terminal() {
			v.artifact = nil
		}
	}
	if t.claimed != "" {
		v.status.state = t.claimed
	}
	return v
}

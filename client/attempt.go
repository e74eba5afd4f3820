package client

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Task is one piece of work under way. It belongs to one goroutine at a time, until AwaitTerminalState or Cancel has ended it.
type Task struct {
	tasks  *Tasks
	ledger *Ledger
	client A2AClient
	peer   Ref
	tenant string
	req    *a2a.SendMessageRequest
	o      TaskOptions
	d      Decision
	// base has the values of the opener's context and never ends, so that a task can be cancelled after it has.
	base context.Context

	// cur is the message that is followed now; a downgrade replaces it.
	cur        *attempt
	turns      int
	downgraded bool
	over       bool
	// final and err are what the task ended with.
	final *Result
	// shown says that the task was streamed, and that the stream showed the last state.
	shown bool
	err   error
	// told are the capabilities that were charged or honoured: each once per task.
	told *told
}

// Entry of the task in the ledger; after a downgrade that of the second message.
func (t *Task) Entry() Entry {
	e, _ := t.ledger.Entry(t.cur.entry)
	return e
}

// Decision that the task was opened under. A flip never interrupts it.
func (t *Task) Decision() Decision { return t.d }

// attempt is one message and the task that it began. One goroutine at a time has it: that of the caller, and after the end the one that
// watches what still comes.
type attempt struct {
	t     *Task
	entry string
	obs   *lifecycle.ObservedTask
	ids   lifecycle.Identities

	// stream is open unless nil; relied says that we still rely on it, streamed that the task was begun by one.
	stream           *pump
	relied, streamed bool
	// byStream says that the stream itself showed the last state.
	byStream bool
	// resumed says that a stream that was cut was picked up once.
	resumed bool
	// lastEvent of the stream.
	lastEvent time.Time

	nextPoll time.Time
	backoff  time.Duration
	// holdOff is until when a deadline that passed while events go on is let be.
	holdOff time.Time
	// pushed counts deliveries.
	pushed int
	// lastLook is when GetTask was last asked for, asksByGet that its last answer, not older than any other, says input-required.
	lastLook  time.Time
	asksByGet bool
	notFound  int
	lastErr   error
	// answered is the peer's own time of the question that was answered last, replied ours of the reply. waited is since when the task, though
	// interrupted, is not ours to move: a question was answered, or leave is given elsewhere.
	answered, replied, waited time.Time
	// heard says that the stream brought an event. unanswered says that it is that of a message about the task, which nothing answered yet: what
	// it brings first may be another task.
	heard, unanswered bool

	contextID string
	status    a2a.TaskStatus
	task      *a2a.Task
	message   *a2a.Message
	size      int
	// gone says that the peer does not know the task any more, unsure that nobody knows whether there is one.
	gone, unsure bool
	// orphaned as in the entry, quiet that OnEvent is shown nothing more.
	orphaned, quiet bool
	saved           saved
}

// saved is what the ledger has.
type saved struct {
	transitions int
	state       lifecycle.Entry
	id, context string
	orphaned    bool
}

// source of an event.
type source int

const (
	fromStream source = iota
	fromAnswer
	fromGetTask
	fromCancel
	fromPush
)

var (
	// errForeign: an event is about another task.
	errForeign = errors.New("event of another task")
	// errStale: an answer is older than what is known.
	errStale = errors.New("answer is older than what is known")
)

// maxID bounds an id that a peer gives, in bytes. One that is longer cannot be kept, so there is nothing to ask for.
const maxID = 1024

// begin writes a new entry before anything is sent.
func (t *Task) begin(ctx context.Context, after string) (*attempt, error) {
	a := &attempt{t: t, obs: &lifecycle.ObservedTask{
		FirstSeen: time.Now(), Promise: t.o.Promise, Long: t.o.Long > 0,
	}}
	e, err := t.ledger.begin(ctx, Entry{Peer: t.peer.String(), Tenant: t.tenant, State: lifecycle.EntryOpen, After: after, Task: a.obs.Snapshot()})
	if err != nil {
		return nil, err
	}
	a.entry, a.backoff = e.ID, firstPoll
	a.saved.state = lifecycle.EntryOpen
	t.tasks.stats.tasks.Add(1)
	return a, nil
}

func (a *attempt) named() bool { return a.obs.ID != "" }

func (a *attempt) deadlines() lifecycle.Deadlines {
	return lifecycle.Deadlines{Wait: a.t.d.Wait, Hard: a.t.d.Hard, Estimated: a.t.o.Estimated}
}

// id to ask the peer for.
func (a *attempt) id() a2a.TaskID { return a2a.TaskID(a.ids.ID(a.obs.ID)) }

// take notes what an event says. It returns a *AgentCardContractViolation if the event breaks a rule, errForeign or errStale if it does
// not count, ErrTooLarge.
func (a *attempt) take(ev a2a.Event, from source, h *held) error {
	if from == fromStream {
		a.lastEvent, a.heard = time.Now(), true
		if a.resumed {
			a.t.honor(v1alpha1.CapabilityResubscription)
		}
	}
	if absent(ev) {
		return nil
	}
	if a.t.o.OnEvent != nil && !a.quiet {
		defer a.t.o.OnEvent(ev) // once it is booked, so that a panic loses no task
	}
	info := ev.TaskInfo()
	c := correlation(a.t.o.Identity, ev, h)
	if _, isMessage := ev.(*a2a.Message); !isMessage {
		if err := a.name(string(info.TaskID), c, from); err != nil {
			return err
		}
	}
	if info.ContextID != "" && len(info.ContextID) <= maxID {
		a.contextID = info.ContextID
	}
	switch e := ev.(type) {
	case *a2a.Message:
		return a.takeMessage(e, from)
	case *a2a.Task:
		err := a.takeStatus(e.Status, from)
		if errors.Is(err, errStale) {
			return err
		}
		return errors.Join(err, a.keepTask(e))
	case *a2a.TaskStatusUpdateEvent:
		return a.takeStatus(e.Status, from)
	case *a2a.TaskArtifactUpdateEvent:
		a.obs.WorkAt(time.Now())
		return a.keepArtifact(e)
	}
	return nil
}

// name gives the task its name, or says that the event is another's.
func (a *attempt) name(id, correlation string, from source) error {
	if len(id) > maxID {
		return errForeign
	}
	name := a.ids.Name(id, correlation)
	switch {
	case id == "":
	case !a.named():
		a.obs.ID = name
	case name == a.obs.ID:
	case correlation == "" && (from == fromGetTask || from == fromCancel):
		// Asked for one task, an answer is about that one, whatever a gateway makes of its id.
	default:
		return errForeign
	}
	return nil
}

func (a *attempt) takeMessage(m *a2a.Message, from source) error {
	if from == fromPush {
		return nil
	}
	a.size += weighMessage(m) - weighMessage(a.message)
	a.message = m
	if !a.named() {
		_, _ = a.obs.FollowUpAnswered(lifecycle.Answer{Message: true})
		a.byStream = from == fromStream
	}
	return a.tooLarge()
}

func (a *attempt) takeStatus(s a2a.TaskStatus, from source) error {
	state, _ := lifecycle.ParseState(string(s.State))
	var stamp time.Time
	if s.Timestamp != nil {
		stamp = *s.Timestamp
	}
	now, before := time.Now(), a.obs.State()
	_, ended := a.obs.Final()
	if state == lifecycle.InputRequired && a.sameQuestion(stamp, now) {
		return errStale
	}
	record := a.obs.RecordStamped
	if from == fromPush {
		record = a.obs.RecordDelivered
	}
	stale, err := record(state, stamp, now)
	if stale {
		return errStale
	}
	if state != lifecycle.Unknown {
		a.asksByGet = from == fromGetTask && state == lifecycle.InputRequired || from != fromGetTask && a.asksByGet && state == lifecycle.InputRequired
	}
	if a.obs.State() != before {
		a.backoff = firstPoll
	}
	if a.obs.State() != before || state == lifecycle.InputRequired && !a.replied.IsZero() {
		a.waited = time.Time{}
	}
	if a.obs.State() != before || from == fromStream && state != lifecycle.Unknown {
		a.byStream = from == fromStream
	}
	if state.Terminal() && !ended {
		a.orphaned = false // somebody waited for it after all
	}
	a.status = s
	if a.task != nil {
		a.task.Status = s
	}
	return err
}

// sameQuestion says that what asks for input is the question which was answered already, and not a new one.
func (a *attempt) sameQuestion(stamp, now time.Time) bool {
	switch {
	case a.replied.IsZero() || a.waited.IsZero():
		return false
	case !stamp.IsZero() && !a.answered.IsZero():
		return !stamp.After(a.answered)
	}
	return now.Sub(a.replied) < a.t.d.Wait
}

// sync writes what changed into the ledger.
func (a *attempt) sync(ctx context.Context) {
	s := saved{
		transitions: len(a.obs.History()) + a.obs.Dropped(), state: a.obs.Entry(), id: a.obs.ID, context: a.contextID, orphaned: a.orphaned,
	}
	if s == a.saved {
		return
	}
	if s.state == lifecycle.EntryDivergence && a.saved.state != s.state {
		a.t.tasks.stats.divergences.Add(1)
	}
	if s.orphaned && !a.saved.orphaned {
		a.t.tasks.stats.orphans.Add(1)
	}
	a.saved = s
	a.t.ledger.update(ctx, a.entry, a.write)
}

func (a *attempt) write(e *Entry) {
	e.TaskID, e.ContextID, e.State, e.Task = string(a.id()), a.contextID, a.obs.Entry(), a.obs.Snapshot()
	if e.Orphaned = a.orphaned; !a.orphaned {
		e.OrphanedSince = time.Time{}
	}
	if err := a.obs.Divergence(); err != nil && e.Divergence == nil {
		v := Classify(err)
		e.Divergence = &EntryDivergence{Text: err.Error(), Basis: basisOf(err), Reason: v.Reason, Capability: v.Capability}
	}
}

func basisOf(err error) lifecycle.Basis {
	var d *lifecycle.AgentCardDivergenceError
	if errors.As(err, &d) {
		return d.Basis
	}
	return ""
}

// closeAs ends an entry of which no task is known: one that was refused, say.
func (a *attempt) closeAs(ctx context.Context, s lifecycle.State) {
	_ = a.obs.RecordAt(s, time.Now())
	a.sync(ctx)
}

// orphan says that the task may still run and nobody waits for it.
func (a *attempt) orphan(ctx context.Context) {
	a.orphaned = true
	a.sync(ctx)
}

// absent says that there is no event in an event.
func absent(ev a2a.Event) bool {
	switch e := ev.(type) {
	case nil:
		return true
	case *a2a.Message:
		return e == nil
	case *a2a.Task:
		return e == nil
	case *a2a.TaskStatusUpdateEvent:
		return e == nil
	case *a2a.TaskArtifactUpdateEvent:
		return e == nil
	}
	return false
}

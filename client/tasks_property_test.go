package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// whim is a peer that does whatever its dice say, as an A2A client of it. It remembers which tasks it has told us of that are not over.
type whim struct {
	mu   sync.Mutex
	dice []byte
	at   int
	made int
	// told is the last state that we were told of each task that answered a message of ours; began by what.
	told map[string]lifecycle.State
	log  []string
}

// roll a die of n sides.
func (w *whim) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at++
	return int(w.dice[w.at%len(w.dice)]+byte(w.at/len(w.dice))) % n
}

func (w *whim) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// newID of a task; sometimes none, or one that is too long.
func (w *whim) newID() string {
	switch w.roll(20) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("x", maxID+1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	return fmt.Sprintf("task-%d", w.made)
}

// tell of a state. What was over stays over for the purposes of the property, whatever the peer says later.
func (w *whim) tell(id string, s lifecycle.State) {
	if id == "" || len(id) > maxID {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.told[id].Terminal() {
		w.told[id] = s
	}
}

// again tells of a task that we were told of before.
func (w *whim) again(id string, s lifecycle.State) {
	w.mu.Lock()
	_, before := w.told[id]
	w.mu.Unlock()
	if before {
		w.tell(id, s)
	}
}

func (w *whim) state() a2a.TaskState {
	return []a2a.TaskState{
		a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected, "what?", "",
	}[w.roll(11)]
}

func (w *whim) status() a2a.TaskStatus {
	s := a2a.TaskStatus{State: w.state()}
	if w.roll(2) == 0 {
		at := time.Now().Add(time.Duration(w.roll(7)-3) * time.Second)
		s.Timestamp = &at
	}
	return s
}

var errs = []error{
	a2a.ErrTaskNotFound, a2a.ErrUnsupportedOperation, a2a.ErrMethodNotFound, a2a.ErrInternalError, a2a.ErrInvalidParams,
	a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedContentType, a2a.ErrPushNotificationNotSupported, a2a.ErrServerError,
	errors.New("unexpected HTTP status: 503 Service Unavailable"), errors.New("unexpected HTTP status: 401 Unauthorized"),
	errors.New("connection reset by peer"), context.DeadlineExceeded,
}

// pause, or hang until the context ends, or long after: an HTTP client may be stuck in the middle of HTTP/2.
func (w *whim) pause(ctx context.Context) error {
	pauses := []time.Duration{0, 0, 0, time.Millisecond, time.Second, 20 * time.Second, 3 * time.Minute, -1, -2}
	d := pauses[w.roll(len(pauses))]
	switch d {
	case -1:
		<-ctx.Done()
		return ctx.Err()
	case -2:
		time.Sleep(time.Hour)
		return errors.New("connection reset by peer")
	}
	if !sleep(ctx, d) {
		return ctx.Err()
	}
	return nil
}

func (w *whim) task(id string) *a2a.Task {
	t := &a2a.Task{ID: a2a.TaskID(id), ContextID: "c", Status: w.status()}
	if w.roll(3) == 0 {
		t.Artifacts = []*a2a.Artifact{{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart("x"), nil}}, nil}
	}
	return t
}

func (w *whim) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	if err := w.pause(ctx); err != nil {
		return nil, err
	}
	switch w.roll(8) {
	case 0:
		return nil, errs[w.roll(len(errs))]
	case 1:
		return a2a.NewMessage(a2a.MessageRoleAgent), nil
	case 2:
		var none *a2a.Task
		return none, nil
	}
	id := string(r.Message.TaskID)
	if id == "" || w.roll(3) == 0 {
		id = w.newID()
	}
	t := w.task(id)
	w.answered(cmp.Or(id, string(r.Message.TaskID)), stateIn(t)) // an answer without an id is about what was asked
	return t, nil
}

// answered a message of ours with a task.
func (w *whim) answered(id string, s lifecycle.State) {
	w.note("answers %s %s", id, s)
	w.tell(id, s)
}

func (w *whim) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return w.events(ctx, string(r.Message.TaskID), true)
}

func (w *whim) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return w.events(ctx, string(r.ID), false)
}

// events of a stream. Only a message begins a task; a stream that is picked up with another's events begins none.
func (w *whim) events(ctx context.Context, id string, begins bool) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		asked := id
		if begins && (id == "" || w.roll(4) == 0) {
			id = w.newID()
		}
		named := !begins
		for range w.roll(12) {
			if err := w.pause(ctx); err != nil {
				yield(nil, err)
				return
			}
			var ev a2a.Event
			about := id
			switch w.roll(16) {
			case 0:
				yield(nil, errs[w.roll(len(errs))])
				return
			case 1:
				ev = a2a.NewMessage(a2a.MessageRoleAgent)
				if !named {
					yield(ev, nil) // the answer is a Message, and that is all
					return
				}
			case 2:
				if named {
					about = "somebody-else's"
				}
			case 3:
				var none *a2a.TaskStatusUpdateEvent
				ev = none
			case 4:
				panic("a fault in the A2A client")
			}
			if ev == nil {
				switch w.roll(3) {
				case 0:
					ev = w.task(about)
				case 1:
					ev = &a2a.TaskStatusUpdateEvent{TaskID: a2a.TaskID(about), Status: w.status()}
				default:
					ev = &a2a.TaskArtifactUpdateEvent{TaskID: a2a.TaskID(about), Artifact: &a2a.Artifact{ID: "a"}, Append: w.roll(2) == 0}
				}
			}
			if absent(ev) || ev.TaskInfo().TaskID == "" || about != id {
				if !absent(ev) && about == "" {
					w.again(asked, stateIn(ev))
				}
				if !yield(ev, nil) {
					return
				}
				continue
			}
			w.mu.Lock()
			_, before := w.told[about]
			w.mu.Unlock()
			w.answered(about, stateIn(ev))
			if !yield(ev, nil) {
				if !before {
					w.mu.Lock()
					delete(w.told, about) // nobody took it from our hand
					w.mu.Unlock()
				}
				return
			}
			named = true
		}
		if w.roll(2) == 0 {
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

func (w *whim) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	if err := w.pause(ctx); err != nil {
		return nil, err
	}
	switch w.roll(5) {
	case 0:
		return nil, errs[w.roll(len(errs))]
	case 1:
		return nil, nil
	}
	t := w.task(string(r.ID))
	w.again(string(r.ID), stateIn(t))
	return t, nil
}

func (w *whim) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if err := w.pause(ctx); err != nil {
		return nil, err
	}
	switch w.roll(4) {
	case 0:
		return nil, errs[w.roll(len(errs))]
	case 1:
		return nil, nil
	}
	t := w.task(string(r.ID))
	if w.roll(2) == 0 {
		t.Status.State = a2a.TaskStateCanceled
	}
	w.again(string(r.ID), stateIn(t))
	return t, nil
}

// Whatever a peer does, no call blocks past its deadline, and no task is left that is not over without being in the ledger as orphaned,
// diverged, handed over, or closed by a Message.
func TestCaseLawNothingHangsAndNoTaskIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &whim{told: map[string]lifecycle.State{}, dice: rapid.SliceOfN(rapid.Byte(), 8, 200).Draw(rt, "dice")}
		o := TaskOptions{
			Idempotent: rapid.Bool().Draw(rt, "idempotent"), Promise: rapid.Bool().Draw(rt, "promise"),
			MaxTurns: rapid.IntRange(1, 3).Draw(rt, "turns"), InputTimeout: time.Minute,
		}
		if rapid.Bool().Draw(rt, "all inputs") {
			o.AllInputs = a2a.NewMessage(a2a.MessageRoleUser)
		}
		if rapid.Bool().Draw(rt, "probe first") {
			o.ProbeFirst = a2a.NewMessage(a2a.MessageRoleUser)
		}
		if rapid.Bool().Draw(rt, "estimated") {
			o.Estimated = 10 * time.Second
		}
		if rapid.IntRange(0, 4).Draw(rt, "long") == 0 {
			o.Long = 10 * time.Minute
		}
		onInput := rapid.SampledFrom([]string{"none", "answers", "declines", "fails", "hangs", "panics"}).Draw(rt, "on input")
		handover := rapid.SampledFrom([]string{"none", "nobody", "somebody", "panics"}).Draw(rt, "handover")
		d := Decision{
			Path:      rapid.SampledFrom([]v1alpha1.DecisionPath{v1alpha1.PathStreaming, v1alpha1.PathSingleShot}).Draw(rt, "path"),
			MultiTurn: rapid.SampledFrom([]v1alpha1.DecisionMultiTurn{v1alpha1.MultiTurnInteractive, v1alpha1.MultiTurnAllInputsUpfront}).Draw(rt, "multi-turn"),
			Updates:   rapid.SampledFrom([]v1alpha1.DecisionUpdates{v1alpha1.UpdatesPoll, v1alpha1.UpdatesPush}).Draw(rt, "updates"),
			Reason:    ReasonNotProbed,
		}
		patience := rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second, 40 * time.Second, 6 * time.Minute}).Draw(rt, "patience")
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = live(t, w, d, o, onInput, handover, patience) })
		if len(wrong) > 0 {
			rt.Fatalf("%s\nthe peer %s", strings.Join(wrong, "\n"), strings.Join(w.log, ", "))
		}
	})
}

type fixed struct{ d Decision }

func (f fixed) Decide(Ref) Decision                        { return f.d }
func (f fixed) Demote(Ref, v1alpha1.CapabilityName, error) {}
func (f fixed) Honored(Ref, v1alpha1.CapabilityName)       {}

func live(t *testing.T, w *whim, d Decision, o TaskOptions, onInput, handover string, patience time.Duration) (wrong []string) {
	switch onInput {
	case "none":
	default:
		o.OnInput = func(ctx context.Context, _ a2a.TaskStatus) (*a2a.Message, error) {
			switch onInput {
			case "answers":
				return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("to Oslo")), nil
			case "fails":
				return nil, errors.New("no idea")
			case "hangs":
				<-ctx.Done()
				return nil, ctx.Err()
			case "panics":
				panic("a fault of the caller's")
			}
			return nil, nil
		}
	}
	switch handover {
	case "none":
	default:
		o.Handover = func(Entry) string {
			switch handover {
			case "somebody":
				return "somebody"
			case "panics":
				panic("another fault of the caller's")
			}
			return ""
		}
	}
	if d.Updates == v1alpha1.UpdatesPush {
		o.Webhook = NewWebhook(a2a.PushConfig{URL: "https://hooks.example.com/x"})
	}
	tasks := Tasks{Peers: fixed{d}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if patience > 0 {
		ctx, stop = context.WithTimeout(ctx, patience)
		defer stop()
	}
	began := time.Now()
	var result *Result
	panicked := func() (p any) {
		defer func() { p = recover() }()
		task, err := tasks.OpenStreamingTask(ctx, w, Named("test", "whim"), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser)}, o)
		if (task == nil) == (err == nil) {
			wrong = append(wrong, fmt.Sprintf("opened as %v with error %v", task, err))
		}
		if task != nil {
			result, err = tasks.AwaitTerminalState(ctx, task)
			if err == nil && !result.State.Terminal() {
				wrong = append(wrong, fmt.Sprintf("ended well at %q", result.State))
			}
		}
		return nil
	}()
	if panicked != nil && !strings.Contains(fmt.Sprint(panicked), "fault of the caller's") {
		wrong = append(wrong, fmt.Sprintf("panic: %v", panicked))
	}
	// Cleaning up takes five seconds for each of three things at most: learning a name, cancelling a task, cancelling another.
	const cleaning = 4 * cleanupTimeout
	bound := cleaning + patience
	if patience == 0 {
		hard := max(DefaultHard, o.Long)
		bound = cleaning + time.Duration(o.MaxTurns+3)*(hard+o.InputTimeout+2*DefaultWait)
	}
	if took := time.Since(began); took > bound {
		wrong = append(wrong, fmt.Sprintf("took %v, want %v at most", took, bound))
	}
	if err := tasks.Drain(t.Context()); err != nil {
		wrong = append(wrong, err.Error())
	}
	synctest.Wait() // until nobody holds out what nobody takes
	ledger, _ := tasks.ledger(t.Context())
	known := map[string]Entry{}
	for _, e := range ledger.Entries() {
		known[e.TaskID] = e
		if !e.State.Terminal() && !e.Orphaned && e.HandedTo == "" {
			wrong = append(wrong, fmt.Sprintf("entry %s is %s and nobody's", e.TaskID, e.State))
		}
		if err := e.check(); err != nil {
			wrong = append(wrong, fmt.Sprintf("entry %+v %v", e, err))
		}
	}
	w.mu.Lock()
	for id, s := range w.told {
		e, ok := known[id]
		accounted := ok && (e.Orphaned || e.State == lifecycle.EntryDivergence || e.HandedTo != "" || e.Task.Messaged)
		if !s.Terminal() && !accounted {
			wrong = append(wrong, fmt.Sprintf("task %s was last said to be %q, and the ledger has it as %q", id, s, e.State))
		}
	}
	w.mu.Unlock()
	if f := ledger.Failing(); f != nil {
		wrong = append(wrong, f.Error())
	}
	time.Sleep(24 * time.Hour) // the bubble's: whatever is left comes to its bound
	return wrong
}

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// cleanupTimeout bounds what is done for a task after its caller has gone.
const cleanupTimeout = 5 * time.Second

// book is what Tasks keeps of itself.
type book struct {
	stats struct {
		tasks, streamed, getTasks, extra, downgrades, cancels, orphans, divergences, handovers atomic.Int64
	}
	memory struct {
		once   sync.Once
		ledger *Ledger
		err    error
	}
	watches sync.WaitGroup
}

// Stats counts what was done so far.
func (t *Tasks) Stats() TaskStats {
	s := &t.stats
	return TaskStats{
		Tasks: s.tasks.Load(), Streamed: s.streamed.Load(), GetTasks: s.getTasks.Load(), ExtraGetTasks: s.extra.Load(),
		Downgrades: s.downgrades.Load(), Cancels: s.cancels.Load(),
		Orphans: s.orphans.Load(), Divergences: s.divergences.Load(), Handovers: s.handovers.Load(),
	}
}

// Drain waits for what goes on in the background: for some seconds after a cancel or an end it is watched whether a stream goes on all
// the same. Call it before the program ends, when nothing new is opened, so that no orphan is missed; it takes twelve seconds at most.
func (t *Tasks) Drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.watches.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cancel ends a task and is done with it. The error is nil if the task is over: cancelled, or ended by itself first. Else the entry is
// orphaned. It takes five seconds at most.
func (t *Tasks) Cancel(ctx context.Context, task *Task) (*Result, error) {
	if err := t.mine(task); err != nil {
		return nil, fmt.Errorf("cancelling a task: %w", err)
	}
	a := task.cur
	a.quiet = true
	if !a.named() {
		task.leave(ctx)
		return task.final, fmt.Errorf("cancelling a task: %w", ErrUncertain)
	}
	ended := a.obs.Entry().Terminal() && !task.Entry().Orphaned
	if !ended {
		ended = task.end(a)
	}
	task.close()
	if !ended {
		task.err = errors.New("cancelling a task: the cancel was not confirmed; the task is orphaned")
	}
	return task.final, task.err
}

// tidy ends what was begun if the function that defers it fails, be it by a panic of somebody's callback.
func (t *Task) tidy(ctx context.Context, err *error) {
	if p := recover(); p != nil {
		t.leave(ctx)
		panic(p)
	}
	if *err != nil {
		t.leave(ctx)
	}
}

// leave is every way out: a task that is not over is handed over, cancelled, or an orphan of the ledger.
func (t *Task) leave(ctx context.Context) {
	if t.over {
		return
	}
	a := t.cur
	a.quiet = true
	a.sync(ctx)
	defer t.close()
	_, ended := a.obs.Final()
	switch {
	case ended, a.obs.Entry() == lifecycle.EntryCompleted:
	case !a.named() && a.stream != nil && a.learnsName():
		t.end(a)
	case !a.named():
		// A message may have begun a task whose name we never learn. If it is known that it has not, the entry is closed already.
		if a.unsure || !a.obs.Entry().Terminal() {
			a.orphan(t.base)
		}
	case t.handOver(a):
	default:
		t.end(a)
	}
}

// learnsName waits a little for the event that names a task which is about to be left.
func (a *attempt) learnsName() bool {
	ctx, stop := context.WithTimeout(context.Background(), cleanupTimeout)
	defer stop()
	for !a.named() && !a.obs.Entry().Terminal() {
		i, open, err := a.first(ctx, cleanupTimeout)
		if err != nil || !open || i.err != nil {
			a.stream.stop()
			return false
		}
		_ = a.take(i.event, fromStream, a.stream.held)
	}
	a.unsure = false
	return a.named()
}

// handOver asks who owns the task from now on.
func (t *Task) handOver(a *attempt) bool {
	if t.o.Handover == nil || a.obs.Entry().Terminal() {
		return false
	}
	owner := ""
	func() {
		// A panic in the callback must not keep the task from being cancelled; the caller hears of it after that.
		defer func() {
			if p := recover(); p != nil {
				t.end(a)
				t.close()
				panic(p)
			}
		}()
		owner = t.o.Handover(t.Entry())
	}()
	if owner == "" {
		return false
	}
	t.ledger.update(t.base, a.entry, func(e *Entry) { e.HandedTo = owner })
	t.tasks.stats.handovers.Add(1)
	return true
}

// close is done with the task: its stream is watched a little longer, and the entry is given back.
func (t *Task) close() {
	if t.over {
		return
	}
	t.over = true
	a := t.cur
	a.sync(t.base)
	a.honorStream()
	t.final, t.shown = t.result(), a.streamed && a.byStream // before the watch has it
	t.watch(a)
	t.ledger.leave(a.entry)
}

// honorStream tells of a stream that showed by itself, and without a break, what it had to.
func (a *attempt) honorStream() {
	if a.streamed && a.byStream && !a.resumed && (settled(a.obs.State()) || a.obs.Entry() == lifecycle.EntryCompleted) {
		a.t.honor(v1alpha1.CapabilityStreaming)
	}
}

// end cancels a task, and says whether it is over. If not, the entry is an orphan.
func (t *Task) end(a *attempt) bool {
	ctx, stop := context.WithTimeout(t.base, cleanupTimeout)
	defer stop()
	over := t.cancel(ctx, a)
	a.orphaned = !over
	a.sync(t.base)
	return over
}

// cancel asks for the end of a task and looks whether it came.
func (t *Task) cancel(ctx context.Context, a *attempt) bool {
	t.tasks.stats.cancels.Add(1)
	call, h := holding(ctx)
	task, err := t.cancelTask(call, a.id())
	if err == nil && task != nil {
		_ = a.take(task, fromCancel, h)
	}
	accepted := err == nil && a.obs.State() == lifecycle.Canceled
	if accepted && a.stream != nil {
		return true // the stream shows what becomes of it: see watch
	}
	// What is said to be over is looked at once, what is not until the time is up.
	for n, pause := 0, firstPoll; n < 3; n, pause = n+1, pause*3 {
		if !accepted && n == 0 && err == nil || n > 0 {
			if !sleep(ctx, pause) {
				break
			}
		}
		state, known := t.peek(ctx, a)
		if n == 0 && err != nil && ambiguous(err) {
			if task, err = t.cancelTask(ctx, a.id()); err == nil && task != nil {
				_ = a.take(task, fromCancel, nil)
				accepted = a.obs.State() == lifecycle.Canceled
			}
		}
		switch {
		case !known && accepted:
			return true // gone, or not to be asked: the cancel was confirmed
		case !known:
		case state.Terminal():
			if accepted && state == lifecycle.Canceled {
				t.honor(v1alpha1.CapabilityCancellation)
			}
			return true
		case errors.Is(err, a2a.ErrMethodNotFound):
			t.charge(a, v1alpha1.CapabilityCancellation, v1alpha1.ReasonCancelMethodMissing, lifecycle.Protocol, err)
			return false
		case errors.Is(err, a2a.ErrTaskNotCancelable), errors.Is(err, a2a.ErrUnsupportedOperation):
			return false
		}
	}
	return false
}

// peek asks GetTask and notes an end, no other state: after a cancel a store may lag.
func (t *Task) peek(ctx context.Context, a *attempt) (lifecycle.State, bool) {
	t.tasks.stats.getTasks.Add(1)
	call, h := holding(ctx)
	task, err := t.getTask(call, a.id())
	if err != nil || task == nil {
		return lifecycle.Unknown, false
	}
	state := stateIn(task)
	if _, ended := a.obs.Final(); state.Terminal() && !ended {
		_ = a.take(task, fromGetTask, h)
	}
	return state, state != lifecycle.Unknown
}

// sleep says false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// watchTimeout is how long a cancelled task is watched: long enough to tell one that works on from a buffer.
const watchTimeout = 2*lifecycle.CancelRace + lifecycle.BufferLump

// downgrade gives the conversation up: the task is cancelled, and all inputs are sent single-shot if that cannot double the work.
func (t *Task) downgrade(ctx context.Context, cause error) error {
	a := t.cur
	innocent := *a.obs
	a.obs.Diverge(cause)
	t.end(a)
	if final, ended := a.obs.Final(); ended && final != lifecycle.Canceled {
		// It ended by itself while it was cancelled, so there is nothing to do again.
		*a.obs = innocent
		a.closeAs(ctx, final)
		return nil
	}
	if cause == nil {
		cause = ErrSlowStart
	}
	if !a.obs.MayReissue(t.o.Idempotent) {
		return cause
	}
	next, err := t.begin(ctx, a.entry)
	if err != nil {
		return errors.Join(cause, err)
	}
	t.watch(a)
	t.ledger.leave(a.entry)
	t.tasks.stats.downgrades.Add(1)
	t.cur, t.downgraded = next, true
	return t.sendOnce(ctx, t.o.AllInputs)
}

// watch looks for a while at what still comes of a task that is over, in the background: events that go on after a cancel make an orphan,
// another state after the end breaks the rule that terminal is final, and what a message begot whose answer was not waited for is put away.
func (t *Task) watch(a *attempt) {
	p := a.stream
	a.stream = nil
	if p == nil {
		return
	}
	final, ended := a.obs.Final()
	if !ended && !a.unanswered {
		p.stop()
		return
	}
	span := lifecycle.CancelRace
	if final == lifecycle.Canceled {
		span = watchTimeout
	}
	t.tasks.watches.Go(func() {
		defer p.stop()
		t.watched(a, p, final, span)
	})
}

func (t *Task) watched(a *attempt, p *pump, final lifecycle.State, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	for {
		select {
		case i, open := <-p.items:
			if !open && final == lifecycle.Canceled && p.cut() == nil {
				t.honor(v1alpha1.CapabilityCancellation)
			}
			if !open || i.err != nil { // of one that breaks off nothing is learned
				return
			}
			if t.lateAnswer(a, i.event, p.held) || t.aftermath(a, i.event) {
				return
			}
		case <-timer.C:
			return
		}
	}
}

// lateAnswer puts away what a message began whose answer was not waited for, and says that nothing else is watched for: of a task that was left
// before its end, its own events say nothing more.
func (t *Task) lateAnswer(a *attempt, ev a2a.Event, h *held) bool {
	if !a.unanswered || absent(ev) {
		return false
	}
	info := ev.TaskInfo()
	foreign := errors.Is(a.name(string(info.TaskID), correlation(t.o.Identity, ev, h), fromStream), errForeign)
	if a.begot(ev, foreign) {
		t.putAway(t.base, ev, a.entry, true)
	}
	_, ended := a.obs.Final()
	return !ended
}

// aftermath notes an event after the end, and says that enough was seen.
func (t *Task) aftermath(a *attempt, ev a2a.Event) bool {
	if absent(ev) || string(ev.TaskInfo().TaskID) != string(a.id()) {
		return false
	}
	now := time.Now()
	switch e := ev.(type) {
	case *a2a.TaskArtifactUpdateEvent, *a2a.Message:
		a.obs.WorkAt(now)
	default:
		state := stateIn(e)
		final, _ := a.obs.Final()
		// Where an answer told the end, what was on its way then comes after it: only a stream that showed the end itself can leave it.
		if !state.Terminal() && final != lifecycle.Canceled && !a.byStream {
			return false
		}
		err := a.obs.RecordAt(state, now)
		a.byStream = a.byStream || state.Terminal()
		// A canceled task that is active may not have heard yet; that it ends another way is against every text.
		if err != nil && state != final && (final != lifecycle.Canceled || state.Terminal()) {
			t.charge(a, v1alpha1.CapabilityLifecycle, v1alpha1.ReasonTerminalStateNotFinal, lifecycle.Protocol, err)
			a.sync(t.base)
			return true
		}
	}
	if !a.obs.Orphaned() {
		return false
	}
	a.orphan(t.base)
	t.charge(a, v1alpha1.CapabilityCancellation, v1alpha1.ReasonEventsAfterCancel, lifecycle.Protocol, nil)
	return true
}

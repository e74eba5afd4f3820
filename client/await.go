package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Pace of polling: it begins here after every change of state, and each look waits half as long again, up to the longest.
const (
	firstPoll   = 200 * time.Millisecond
	longestPoll = 5 * time.Second
)

// ErrSlowStart says that transitions were promised, and the task was not taken up within TaskOptions.Estimated. Nobody is accused.
var ErrSlowStart = errors.New("task was not taken up within its estimated duration")

// AwaitTerminalState follows a task to its end and answers what it asks on the way. What is observed rules, not the card:
//
//   - a stream that is silent for the decision's Wait is not relied on any more: the task is polled. Only if GetTask shows a state that the
//     stream kept back is Streaming charged;
//   - a stream that ends without an end is followed by one GetTask, is picked up once if it was cut, and else the task is polled;
//   - an agent that asks is answered by TaskOptions.OnInput. If the answer begins another task the first has diverged, the second is
//     cancelled, and GetTask on the first says whether Continuation is charged;
//   - where transitions were promised and do not come, the task is cancelled and all inputs are sent single-shot (AllInputs), or it is
//     given up with the typed error;
//   - a task that the agent has had in hand for the decision's Hard, or for Long, is given up.
//
// The error is nil if the task reached a terminal state of its own, failed included, or was answered with a Message. Else it is an
// *AgentCardDivergenceError where the agent broke its contract, an error of this package or of the A2A client, or the context's; the Result
// is there all the same, and the task was cancelled, handed over (TaskOptions.Handover) or stands in the ledger as orphaned or diverged. That
// may take five seconds after the context has ended. Called again, it says the same. A panic of a callback leaves the task as tidy and goes on.
func (t *Tasks) AwaitTerminalState(ctx context.Context, task *Task) (*Result, error) {
	if task != nil && task.tasks == t && task.over {
		return task.final, task.err
	}
	if err := t.mine(task); err != nil {
		return nil, fmt.Errorf("awaiting a task: %w", err)
	}
	return task.await(ctx)
}

// mine says what is wrong with a task that is given to us.
func (t *Tasks) mine(task *Task) error {
	switch {
	case task == nil || task.tasks != t:
		return errors.New("it was not opened here")
	case task.over:
		return fmt.Errorf("it is over, see ledger entry %s", task.cur.entry)
	}
	return nil
}

func (t *Task) await(ctx context.Context) (result *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.leave(ctx)
			panic(p)
		}
	}()
	t.err = t.follow(ctx)
	t.leave(ctx)
	return t.final, t.err
}

// result is what is known now.
func (t *Task) result() *Result {
	a := t.cur
	r := &Result{State: a.obs.State(), Task: a.task, Message: a.message, Entry: t.Entry(), MayReissue: a.obs.MayReissue(t.o.Idempotent)}
	if final, ended := a.obs.Final(); ended {
		r.State = final
	}
	if a.obs.Entry() == lifecycle.EntryCompleted {
		r.State = lifecycle.Completed
	}
	return r
}

// follow returns nil once the entry is closed by an end, and the reason to give the task up otherwise.
func (t *Task) follow(ctx context.Context) error {
	for {
		a := t.cur
		a.sync(ctx)
		if a.obs.Entry().Terminal() {
			return a.obs.Divergence()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		act := t.next
		switch {
		case a.asks():
			act = t.answer
		case !time.Now().Before(a.wake()):
			act = t.due
		}
		if err := act(ctx); err != nil {
			return err
		}
	}
}

// asks says that the task waits for us.
func (a *attempt) asks() bool { return a.obs.State().Interrupted() && a.waited.IsZero() }

// due does what the clock asks for. Whatever it does moves the next wake on.
func (t *Task) due(ctx context.Context) error {
	a, now := t.cur, time.Now()
	if t.o.Long > 0 && now.Sub(a.obs.FirstSeen) >= t.o.Long {
		return fmt.Errorf("task is not over within %v: %w", t.o.Long, errors.Join(context.DeadlineExceeded, a.lastErr))
	}
	if end := a.patience(); !end.IsZero() && !now.Before(end) {
		return fmt.Errorf("%w: %s for %v", ErrNoAnswer, a.obs.State(), now.Sub(a.waited).Round(time.Millisecond))
	}
	advice, err := a.obs.Due(now, a.deadlines())
	silent := !a.relied || now.Sub(a.lastEvent) >= t.d.Wait
	pressing := advice == lifecycle.CancelOrReissue || advice == lifecycle.AbortOrDowngrade && (silent || err == nil)
	switch {
	case pressing && a.lookedBefore(now):
		return t.mismatch(ctx, err)
	case a.relied && (pressing || silent):
		return t.lookBeside(ctx)
	case a.relied:
		// Transitions are slow while events go on: what was promised is kept some other way.
		a.holdOff = now.Add(t.d.Wait)
		return nil
	}
	return t.poll(ctx)
}

// patience is when an interrupted task that is not ours to move is given up; zero if it is not one.
func (a *attempt) patience() time.Time {
	switch {
	case !a.obs.State().Interrupted() || a.waited.IsZero():
		return time.Time{}
	case a.waited.Equal(a.replied):
		return a.waited.Add(a.t.d.Hard)
	}
	return a.waited.Add(a.t.o.InputTimeout)
}

// lookedBefore says that GetTask was asked just now, so that another look would tell nothing.
func (a *attempt) lookedBefore(now time.Time) bool {
	return !a.lastLook.IsZero() && now.Sub(a.lastLook) < firstPoll
}

// mismatch is the second of the two phases: the task does otherwise than the card let us expect. nil is a slow start, which accuses nobody.
func (t *Task) mismatch(ctx context.Context, err error) error {
	a := t.cur
	can := t.o.AllInputs != nil && !t.downgraded
	if err == nil && can || err != nil && lifecycle.OnMismatch(err, can) == lifecycle.Downgrade {
		return t.downgrade(ctx, err)
	}
	if err == nil {
		return ErrSlowStart
	}
	a.obs.Diverge(err)
	a.sync(ctx)
	if a.lastErr != nil {
		return fmt.Errorf("%w (the last look at the task failed: %w)", err, a.lastErr)
	}
	return err
}

// broken decides about an event that does not fit.
func (t *Task) broken(ctx context.Context, err error) error {
	a := t.cur
	var v *AgentCardContractViolation
	switch {
	case errors.Is(err, ErrTooLarge):
		return err
	case errors.As(err, &v):
		if v.Rule == lifecycle.TerminalIsFinal {
			t.charge(a, v1alpha1.CapabilityLifecycle, v1alpha1.ReasonTerminalStateNotFinal, v.Basis, v)
		}
		return t.mismatch(ctx, v)
	case errors.Is(err, errForeign) && !a.named():
		a.unsure = true
		return fmt.Errorf("%w: the id of the task has more than %d bytes", ErrUncertain, maxID)
	}
	return nil
}

// next waits for the next event, delivery or look, whichever comes first.
func (t *Task) next(ctx context.Context) error {
	a := t.cur
	timer := time.NewTimer(time.Until(a.wake()))
	defer timer.Stop()
	var items chan item
	if a.stream != nil {
		items = a.stream.items
	}
	var calls chan delivery
	if t.pushes() {
		calls = t.o.Webhook.calls
	}
	select {
	case i, open := <-items:
		if !open {
			i.err = a.stream.cut()
		}
		if !open || i.err != nil {
			return t.streamEnded(ctx, i.err)
		}
		err := a.take(i.event, fromStream, a.stream.held)
		if a.begot(i.event, errors.Is(err, errForeign)) {
			t.putAway(ctx, i.event, a.entry, a.quiet)
		}
		if errors.Is(err, errForeign) {
			return t.foreign(ctx, i.event)
		}
		if err != nil {
			return t.broken(ctx, err)
		}
	case d := <-calls:
		t.o.Webhook.bytes.Add(-d.size)
		return t.delivered(ctx, d)
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// wake is when the clock asks for something if nothing comes.
func (a *attempt) wake() time.Time {
	at := a.nextPoll
	if a.relied {
		at = a.lastEvent.Add(a.t.d.Wait)
	}
	sooner := func(x time.Time) {
		if !x.IsZero() && x.Before(at) {
			at = x
		}
	}
	due := a.obs.DueAt(a.deadlines())
	if !due.IsZero() && due.Before(a.holdOff) {
		due = a.holdOff
	}
	sooner(due)
	sooner(a.obs.HardAt(a.deadlines()))
	sooner(a.patience())
	if a.t.o.Long > 0 {
		sooner(a.obs.FirstSeen.Add(a.t.o.Long))
	}
	return at
}

// schedule the next look.
func (a *attempt) schedule(now time.Time) {
	if a.t.pushes() && a.backoff == firstPoll && a.lastErr == nil {
		// Push is relied on for as long as a stream would be.
		a.nextPoll = now.Add(a.t.d.Wait)
		return
	}
	a.nextPoll = now.Add(a.backoff)
	a.backoff = min(a.backoff*3/2, longestPoll)
}

// poll asks for the task once.
func (t *Task) poll(ctx context.Context) error {
	a := t.cur
	before := a.obs.State()
	err := t.look(ctx)
	if err == nil && t.pushes() && a.obs.State().Terminal() && !before.Terminal() && a.pushed == 0 {
		// Nobody knows whether the agent can reach us: this brings a probe and no more.
		t.charge(a, v1alpha1.CapabilityPushNotifications, v1alpha1.ReasonPushNotDelivered, lifecycle.Behaviour, nil)
	}
	if err != nil {
		if err := t.broken(ctx, err); err != nil {
			return err
		}
	}
	if t.pushes() && a.obs.State() == before {
		// Push is late or lost: look again soon, and then ever more seldom.
		a.backoff = max(a.backoff, firstPoll+1)
	}
	a.schedule(time.Now())
	return t.missing()
}

// look asks GetTask and notes what it says. An error is one of take; that nothing came is in lastErr.
func (t *Task) look(ctx context.Context) error {
	a := t.cur
	t.tasks.stats.getTasks.Add(1)
	if a.streamed {
		t.tasks.stats.extra.Add(1)
	}
	call, h := holding(ctx)
	call, stop := context.WithTimeout(call, t.d.Wait)
	defer stop()
	task, err := t.getTask(call, a.id())
	a.lastLook = time.Now()
	if err == nil && task == nil {
		err = fmt.Errorf("%w: the answer is empty", a2a.ErrInvalidAgentResponse)
	}
	a.lastErr = err
	if err != nil {
		if errors.Is(err, a2a.ErrTaskNotFound) {
			a.notFound++
		}
		return nil
	}
	a.notFound = 0
	t.honor(v1alpha1.CapabilityTaskRetrieval)
	err = a.take(task, fromGetTask, h)
	if errors.Is(err, errStale) || errors.Is(err, errForeign) {
		return nil
	}
	return err
}

// missing gives a task up that the agent does not know, again and again.
func (t *Task) missing() error {
	if t.cur.notFound < 3 {
		return nil
	}
	t.cur.gone = true
	return fmt.Errorf("%w: %w", ErrTaskGone, t.cur.lastErr)
}

// lookBeside asks GetTask while the stream is open and silent, and leaves off relying on it. Only what the stream keeps back is charged.
func (t *Task) lookBeside(ctx context.Context) error {
	a := t.cur
	if !a.relied {
		return t.poll(ctx)
	}
	shown := a.obs.State()
	if err := t.look(ctx); err != nil {
		if err := t.broken(ctx, err); err != nil {
			return err
		}
	}
	a.relied = false
	a.schedule(time.Now())
	a.obs.GapFree = false
	if now := a.obs.State(); now != shown && settled(now) && a.stream != nil && !a.catchesUp(ctx) {
		if now != lifecycle.Failed && now != lifecycle.Rejected {
			t.charge(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamStateDivergesFromTask, lifecycle.Protocol, &AgentCardDivergenceError{
				TaskID: string(a.id()), Declared: "streaming", Observed: string(shown), Basis: lifecycle.Protocol,
				Detail: fmt.Sprintf("the open stream was silent for %v while GetTask says %s", t.d.Wait, now),
			})
		}
	}
	return t.missing()
}

func settled(s lifecycle.State) bool { return s.Terminal() || s.Interrupted() }

// catchesUp gives a stream a second to show what GetTask shows: the two may have crossed.
func (a *attempt) catchesUp(ctx context.Context) bool {
	want := a.obs.State()
	timer := time.NewTimer(lifecycle.CancelRace)
	defer timer.Stop()
	for {
		select {
		case i, open := <-a.stream.items:
			if !open || i.err != nil {
				a.stream = nil
				return i.err != nil // one that is cut at this moment keeps nothing back
			}
			if stateIn(i.event) == want {
				_ = a.take(i.event, fromStream, a.stream.held)
				return true
			}
		case <-timer.C:
			return false
		case <-ctx.Done():
			return true
		}
	}
}

// stateIn an event; Unknown if it tells none.
func stateIn(ev a2a.Event) lifecycle.State {
	if absent(ev) {
		return lifecycle.Unknown
	}
	var raw a2a.TaskState
	switch e := ev.(type) {
	case *a2a.Task:
		raw = e.Status.State
	case *a2a.TaskStatusUpdateEvent:
		raw = e.Status.State
	}
	s, _ := lifecycle.ParseState(string(raw))
	return s
}

// prompt is how soon after the end of a stream an answer still speaks of that end.
const prompt = 250 * time.Millisecond

// streamEnded goes on after a stream that ended, in good order or with an error.
func (t *Task) streamEnded(ctx context.Context, cause error) error {
	a := t.cur
	end, relied, shown := time.Now(), a.relied, a.obs.State()
	a.stream, a.relied = nil, false
	a.obs.GapFree = false
	a.backoff = firstPoll
	if settled(shown) || !a.named() {
		a.schedule(end)
		return nil
	}
	if err := t.look(ctx); err != nil {
		if err := t.broken(ctx, err); err != nil {
			return err
		}
	}
	now := a.obs.State()
	withheld := settled(now) && cause == nil && relied && a.heard && time.Since(end) <= prompt
	if withheld && now != lifecycle.Failed && now != lifecycle.Rejected {
		t.charge(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamClosedWithoutTerminalState, lifecycle.Protocol, &AgentCardDivergenceError{
			TaskID: string(a.id()), Declared: "streaming", Observed: string(shown), Basis: lifecycle.Protocol,
			Detail: fmt.Sprintf("the stream ended after it had shown %s; GetTask says %s", shown, now),
		})
	}
	if !settled(now) && relied && !a.resumed {
		t.resubscribe()
		return nil
	}
	a.schedule(time.Now())
	return t.missing()
}

// resubscribe picks a stream up that was cut, once.
func (t *Task) resubscribe() {
	a := t.cur
	a.resumed, a.relied, a.heard, a.unanswered, a.lastEvent = true, true, false, false, time.Now()
	req := &a2a.SubscribeToTaskRequest{Tenant: t.tenant, ID: a.id()}
	a.stream = pumping(t.base, t.streamBound(), func(ctx context.Context) iter.Seq2[a2a.Event, error] {
		return t.client.SubscribeToTask(ctx, req)
	})
}

// begot says whether an event is the late answer to a message about the task, and of another task that the message began. Only the first
// event can be: another's that comes later is not ours to end.
func (a *attempt) begot(ev a2a.Event, foreign bool) bool {
	first := a.unanswered && !absent(ev)
	a.unanswered = a.unanswered && !first
	return first && foreign && len(ev.TaskInfo().TaskID) <= maxID
}

// foreign leaves off relying on a stream that brings events of another task. If the agent knows no such task, the stream is to blame;
// if it does, ids are being rewritten, and taskIdentity would help.
func (t *Task) foreign(ctx context.Context, ev a2a.Event) error {
	a := t.cur
	if !a.relied {
		return nil
	}
	a.relied = false
	a.obs.GapFree = false
	a.schedule(time.Now())
	id := ev.TaskInfo().TaskID
	if len(id) > maxID {
		return nil
	}
	t.tasks.stats.getTasks.Add(1)
	t.tasks.stats.extra.Add(1)
	call, stop := context.WithTimeout(ctx, t.d.Wait)
	defer stop()
	if _, err := t.getTask(call, id); errors.Is(err, a2a.ErrTaskNotFound) {
		t.charge(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonForeignTaskInStream, lifecycle.Protocol, nil)
	}
	return nil
}

// delivered takes a push notification.
func (t *Task) delivered(ctx context.Context, d delivery) error {
	a := t.cur
	err := a.take(d.event, fromPush, nil)
	if errors.Is(err, errForeign) {
		return nil
	}
	a.pushed++
	if settled(a.obs.State()) {
		t.honor(v1alpha1.CapabilityPushNotifications)
	}
	if a.obs.State().Terminal() && (a.task == nil || len(a.task.Artifacts) == 0) {
		_ = t.look(ctx) // the payload told the end and not what came of it
	}
	if !errors.Is(err, errStale) && err != nil {
		return t.broken(ctx, err)
	}
	a.schedule(time.Now())
	return nil
}

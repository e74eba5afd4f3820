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

// FollowUp sends a further message about a task that AwaitTerminalState does not follow at this moment. It is allowed at input-required and
// auth-required, and at working where transitions were promised (TaskOptions.Promise), else ErrNotAllowed. The message's task and context
// are filled in.
//
// An answer with another task id is a divergence of this task once working or input-required was seen: the task and the other one are
// cancelled, and the error is an *AgentCardDivergenceError. AwaitTerminalState on the task returns it too. Where it is also the peer's fault
// by lifecycle.BlameContinuation, the error is a *ChargedError that wraps it, and Continuation was demoted.
func (t *Tasks) FollowUp(ctx context.Context, task *Task, m *a2a.Message) error {
	if err := t.mine(task); err != nil {
		return fmt.Errorf("following up: %w", err)
	}
	if m == nil {
		return errors.New("following up: a message is needed")
	}
	defer func() {
		if p := recover(); p != nil {
			task.leave(ctx)
			panic(p)
		}
	}()
	err := task.followUp(ctx, m)
	task.cur.sync(ctx)
	if task.cur.obs.Divergence() != nil {
		task.err = err
		task.leave(ctx)
	}
	if err != nil {
		return fmt.Errorf("following up: %w", err)
	}
	return nil
}

// answer asks OnInput and sends what it says.
func (t *Task) answer(ctx context.Context) error {
	a := t.cur
	a.honorStream()
	asking := a.obs.State()
	if t.turns >= t.o.MaxTurns {
		return fmt.Errorf("%w: %d times", ErrTooManyTurns, t.turns)
	}
	m, err := t.ask(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("answering the agent: %w", err)
	case m == nil && asking == lifecycle.InputRequired:
		return ErrNoAnswer
	case m == nil:
		a.waited = time.Now() // leave may be given elsewhere
		a.schedule(a.waited)
		return nil
	}
	t.turns++
	return t.followUp(ctx, m)
}

// ask puts the question to OnInput, and does not wait for it longer than InputTimeout.
func (t *Task) ask(ctx context.Context) (*a2a.Message, error) {
	if t.o.OnInput == nil {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, t.o.InputTimeout)
	defer stop()
	type answer struct {
		m     *a2a.Message
		err   error
		panic any
	}
	answers, status := make(chan answer, 1), t.cur.status // it may begin when we have gone on
	go func() {
		var x answer
		defer func() {
			x.panic = recover()
			answers <- x
		}()
		x.m, x.err = t.o.OnInput(ctx, status)
	}()
	select {
	case x := <-answers:
		if x.panic != nil {
			panic(x.panic) // it is the caller's, and goes on in the caller's goroutine
		}
		return x.m, x.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// followUp sends a message about the task and decides what its answer means.
func (t *Task) followUp(ctx context.Context, m *a2a.Message) error {
	a := t.cur
	if !a.obs.Allows(lifecycle.FollowUp) || !a.named() {
		return fmt.Errorf("%w: the task is %s", ErrNotAllowed, a.obs.State())
	}
	if a.obs.State() == lifecycle.InputRequired && !a.asksByGet {
		// Whose fault another id would be can only be told if GetTask said so just before.
		if over, err := t.stillAsks(ctx); over || err != nil {
			return err
		}
	}
	asked, before := a.asksByGet, a.obs.State()
	if a.status.Timestamp != nil {
		a.answered = *a.status.Timestamp
	}
	said := *m
	said.TaskID, said.ContextID = a.id(), a.contextID
	if said.Role == a2a.MessageRoleUnspecified {
		said.Role = a2a.MessageRoleUser
	}
	if said.ID == "" {
		said.ID = a2a.NewMessageID()
	}
	ev, h, err := t.say(ctx, &said)
	a.replied = time.Now()
	if err != nil {
		return t.notTaken(ctx, err, before, asked)
	}
	if before.Interrupted() {
		a.waited = a.replied
	}
	return t.answered(ctx, ev, h, before, asked)
}

// stillAsks looks at a question that a stream or a delivery showed, before it is answered. over: it is no longer asked.
func (t *Task) stillAsks(ctx context.Context) (over bool, err error) {
	a := t.cur
	if err := t.look(ctx); err != nil {
		if err := t.broken(ctx, err); err != nil {
			return true, err
		}
	}
	return a.obs.State() != lifecycle.InputRequired, nil
}

// say sends a message about the task on the path that the task is on, and returns its first answer.
func (t *Task) say(ctx context.Context, m *a2a.Message) (a2a.Event, *held, error) {
	a := t.cur
	if !a.streamed || t.told.charged(v1alpha1.CapabilityStreaming) {
		result, h, err := t.send(ctx, t.once(m, t.pushes()))
		if err == nil {
			a.backoff = firstPoll
			a.schedule(time.Now())
		}
		return result, h, err
	}
	old := a.stream
	req := t.request(m)
	a.stream = pumping(t.base, t.streamBound(), func(ctx context.Context) iter.Seq2[a2a.Event, error] {
		return t.client.SendStreamingMessage(ctx, req)
	})
	t.letGo(old)
	a.relied, a.heard, a.unanswered, a.lastEvent = true, false, true, time.Now()
	i, open, err := a.first(ctx, t.d.Wait)
	h := a.stream.held
	if err == nil && open && i.err == nil {
		return i.event, h, nil
	}
	a.relied = false
	a.backoff = firstPoll
	a.schedule(time.Now())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, h, err
	case err != nil, !open:
		// Nothing came, or nothing yet: the task itself says whether it goes on.
		if err == nil {
			a.stream = nil
		}
		return nil, h, nil
	}
	a.stream = nil
	return nil, h, i.err
}

// notTaken decides about an error in answer to a message about the task.
func (t *Task) notTaken(ctx context.Context, cause error, before lifecycle.State, asked bool) error {
	a := t.cur
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := t.refused(a, cause)
	if !before.Interrupted() {
		return err // an early message may be refused
	}
	if lookErr := t.look(ctx); lookErr != nil {
		if lookErr := t.broken(ctx, lookErr); lookErr != nil {
			return lookErr
		}
	}
	if a.lastErr == nil && a.obs.State() != before {
		return nil // taken up all the same: only the answer was lost
	}
	if asked && a.asksByGet && a.lastErr == nil && errors.Is(cause, a2a.ErrUnsupportedOperation) {
		return t.charged(a, v1alpha1.CapabilityContinuation, v1alpha1.ReasonContinuationRefused, lifecycle.Protocol, cause)
	}
	return err
}

// answered decides what the answer to a message about the task means: what now, and whose fault.
func (t *Task) answered(ctx context.Context, ev a2a.Event, h *held, before lifecycle.State, asked bool) error {
	a := t.cur
	if absent(ev) {
		return nil
	}
	a.unanswered = false
	m, isMessage := ev.(*a2a.Message)
	answer := lifecycle.Answer{Message: isMessage}
	if !isMessage {
		answer.TaskID = a.ids.Name(string(ev.TaskInfo().TaskID), correlation(t.o.Identity, ev, h))
	}
	what, err := a.obs.FollowUpAnswered(answer)
	switch what {
	case lifecycle.Closed:
		a.message = m
		if t.o.OnEvent != nil {
			t.o.OnEvent(ev)
		}
		return nil
	case lifecycle.Continued:
		if before == lifecycle.InputRequired && answer.TaskID != "" {
			t.honor(v1alpha1.CapabilityContinuation)
		}
		from := fromAnswer
		if a.streamed && a.relied {
			from = fromStream
		}
		if takeErr := a.take(ev, from, h); takeErr != nil && !errors.Is(takeErr, errStale) {
			return t.broken(ctx, takeErr)
		}
		return nil
	}
	return t.other(ctx, ev, err, before, asked)
}

// other task was begun by a message about this one: it is cancelled, and so is this one if it diverged.
func (t *Task) other(ctx context.Context, ev a2a.Event, diverged error, before lifecycle.State, asked bool) error {
	a := t.cur
	charged := diverged
	if diverged != nil {
		charged = t.blame(ctx, diverged, before, asked)
	}
	a.sync(ctx)
	old := a.stream
	a.relied, a.stream = false, nil
	if old != nil {
		old.stop()
	}
	a.schedule(time.Now())
	t.putAway(ctx, ev, a.entry, a.quiet)
	if diverged == nil {
		return nil // the first is still ours to follow
	}
	return charged
}

// letGo lets a stream end by itself, which another takes the place of: hanging up may change a task. If nothing answered the message that it
// was opened with, what that message begins late is put away, however late. Drain waits for that as long as it does for a cancelled task.
func (t *Task) letGo(p *pump) {
	a := t.cur
	switch {
	case p == nil:
		return
	case !a.unanswered:
		go p.drain()
		return
	}
	name, entry := a.obs.ID, a.entry // the attempt goes on, in its own goroutine
	answered := make(chan struct{})
	go func() {
		for i := range p.items {
			if absent(i.event) {
				continue
			}
			id := string(i.event.TaskInfo().TaskID)
			if id != "" && len(id) <= maxID && a.ids.Name(id, correlation(t.o.Identity, i.event, p.held)) != name {
				t.putAway(t.base, i.event, entry, true)
			}
			break
		}
		close(answered)
		p.drain()
	}()
	t.tasks.watches.Go(func() {
		timer := time.NewTimer(watchTimeout)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C:
		}
	})
}

// putAway ends a task that was begun by mistake, in an entry of its own that comes after another. late: the caller may have gone, so OnEvent is
// not shown it, and until its end is confirmed it is an orphan.
func (t *Task) putAway(ctx context.Context, ev a2a.Event, after string, late bool) {
	b, err := t.begin(ctx, after)
	if err != nil {
		return // Ledger.Failing says why; cancelled it is all the same
	}
	b.quiet, b.orphaned = late, late
	_ = b.take(ev, fromAnswer, nil)
	b.sync(ctx)
	if !b.obs.Entry().Terminal() {
		t.end(b)
	}
	t.ledger.leave(b.entry)
}

// blame asks GetTask for the old task, and charges Continuation if that says so.
func (t *Task) blame(ctx context.Context, diverged error, before lifecycle.State, asked bool) error {
	a := t.cur
	old := lifecycle.OldTaskUnseen
	t.tasks.stats.getTasks.Add(1)
	if a.streamed {
		t.tasks.stats.extra.Add(1)
	}
	call, stop := context.WithTimeout(context.WithoutCancel(ctx), min(t.d.Wait, cleanupTimeout))
	defer stop()
	if task, err := t.getTask(call, a.id()); err == nil && task != nil {
		after, _ := lifecycle.ParseState(string(task.Status.State))
		old = lifecycle.CompareOldTask(before, after)
	}
	whose, basis := lifecycle.BlameContinuation(lifecycle.FollowUpEvidence{
		Old: old, InputRequiredBefore: asked, HistoryPromise: t.o.Promise, WorkingObserved: a.obs.Saw(lifecycle.Working),
	})
	reason := v1alpha1.Reason(v1alpha1.ReasonNotContinued)
	switch whose {
	case lifecycle.BlamePeer:
		reason = v1alpha1.ReasonTaskIdChangedOnContinuation
	case lifecycle.BlameGateway:
		reason = v1alpha1.ReasonTaskIdentityUnstable
	}
	return t.charged(a, v1alpha1.CapabilityContinuation, reason, basis, diverged)
}

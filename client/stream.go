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

// OpenStreamingTask sends a message to a peer on the path that its decision names, and returns once the task has a name, or is over:
//
//	Streaming     by a stream
//	SingleShot    by a message that returns at once; AwaitTerminalState polls, or hears the Webhook. With TaskOptions.ProbeFirst, a peer of
//	              which nothing bad is known is first asked for a stream that costs little
//	Unavailable   ErrPeerUnavailable; nothing is sent
//
// Where a conversation cannot be relied on (decision.multiTurn), TaskOptions.AllInputs is sent in place of the message. A stream that is
// refused, or that comes to nothing, is followed by a single-shot message if that cannot double the work.
//
// The wait for the first answer ends with the context, or at the decision's Hard. The task does not end with the context: follow it with
// AwaitTerminalState, or end it with Cancel. If an error is returned there is no Task, and whatever was begun is cancelled, handed over or
// stands in the ledger as orphaned or diverged; that may take five seconds more.
func (t *Tasks) OpenStreamingTask(ctx context.Context, client A2AClient, peer Ref, req *a2a.SendMessageRequest, o TaskOptions) (task *Task, err error) {
	if client == nil || req == nil || req.Message == nil {
		return nil, errors.New("opening a task: a client and a request with a message are needed")
	}
	k, err := t.newTask(ctx, client, peer, o)
	if err != nil {
		return nil, err
	}
	k.tenant, k.req = req.Tenant, req
	if k.d.Path == v1alpha1.PathUnavailable {
		return nil, fmt.Errorf("opening a task: %w: %s", ErrPeerUnavailable, k.d.Reason)
	}
	m := req.Message
	if k.d.MultiTurn == v1alpha1.MultiTurnAllInputsUpfront && o.AllInputs != nil {
		m = o.AllInputs
	}
	streams := k.d.Path == v1alpha1.PathStreaming
	if !streams && o.ProbeFirst != nil && merelyUnverified(k.d.Reason) {
		streams = k.probe(ctx, o.ProbeFirst)
	}
	if k.cur, err = k.begin(ctx, ""); err != nil {
		return nil, err
	}
	defer k.tidy(ctx, &err)
	if streams {
		err = k.openStream(ctx, m)
	} else {
		err = k.sendOnce(ctx, m)
	}
	if err != nil {
		return nil, fmt.Errorf("opening a task: %w", err)
	}
	return k, nil
}

func (t *Tasks) newTask(ctx context.Context, client A2AClient, peer Ref, o TaskOptions) (*Task, error) {
	ledger, err := t.ledger(ctx)
	if err != nil {
		return nil, err
	}
	d := Decide(nil, time.Now())
	if t.Peers != nil {
		d = t.Peers.Decide(peer)
	}
	if d.Wait <= 0 {
		d.Wait = DefaultWait
	}
	if d.Hard <= 0 {
		d.Hard = DefaultHard
	}
	if o.InputTimeout <= 0 {
		o.InputTimeout = d.Hard
	}
	if o.MaxTurns <= 0 {
		o.MaxTurns = 16
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	return &Task{
		tasks: t, ledger: ledger, client: client, peer: peer, o: o, d: d, base: context.WithoutCancel(ctx),
		told: &told{},
	}, nil
}

// merelyUnverified: nothing bad is known of the peer's streams, or nothing at all.
func merelyUnverified(r v1alpha1.Reason) bool {
	switch r {
	case ReasonNotProbed, ReasonTrustExpired, ReasonStatusOutdated, v1alpha1.ReasonStreamingUnverified:
		return true
	}
	return false
}

// probe asks for a stream that costs little, and says whether it kept what streams promise. Its task has an entry of its own.
func (t *Task) probe(ctx context.Context, m *a2a.Message) bool {
	small := *t
	small.o = TaskOptions{MaxBytes: t.o.MaxBytes, MaxTurns: 1, InputTimeout: t.o.InputTimeout, Identity: t.o.Identity}
	small.told = &told{}
	var err error
	if small.cur, err = small.begin(ctx, ""); err != nil {
		return false
	}
	defer small.tidy(ctx, &err)
	if err = small.openStream(ctx, m); err == nil {
		_, err = small.await(ctx)
	}
	return small.shown && !small.told.charged(v1alpha1.CapabilityStreaming) && (err == nil || errors.Is(err, ErrNoAnswer))
}

// pump reads a stream, so that whoever follows it can look at the clock.
type pump struct {
	items chan item
	held  *held
	stop  context.CancelFunc
	// ended is why we ended the stream; nil where the peer did. It is set before items is closed.
	ended error
}

// item is an event, or the error that a stream ended with. A stream that ends in good order closes the channel.
type item struct {
	event a2a.Event
	err   error
}

// pumping ends by itself at the bound, whatever becomes of its reader.
func pumping(base context.Context, bound time.Duration, open func(context.Context) iter.Seq2[a2a.Event, error]) *pump {
	ctx, held := holding(base)
	ctx, stop := context.WithTimeout(ctx, bound)
	p := &pump{items: make(chan item), held: held, stop: stop}
	go p.run(ctx, open)
	return p
}

func (p *pump) run(ctx context.Context, open func(context.Context) iter.Seq2[a2a.Event, error]) {
	defer p.stop()
	defer close(p.items)
	defer func() { p.ended = ctx.Err() }()
	send := func(i item) bool {
		select {
		case p.items <- i:
			return i.err == nil
		case <-ctx.Done():
			return false
		}
	}
	// Nobody stands above this goroutine: a fault in the A2A client is an error of this stream.
	defer func() {
		if r := recover(); r != nil {
			send(item{err: fmt.Errorf("reading a stream: panic: %v", r)})
		}
	}()
	for ev, err := range open(ctx) {
		if !send(item{event: ev, err: err}) {
			return
		}
	}
}

// cut is why we ended a stream whose items are closed; nil where the peer did.
func (p *pump) cut() error { return p.ended }

// drain reads a stream to its end, which the pump bounds.
func (p *pump) drain() {
	for range p.items { // each is let go
	}
}

// streamBound is how long a stream may be open: a turn, the thinking after it, and what is watched of its end.
func (t *Task) streamBound() time.Duration {
	return max(t.d.Hard, t.o.Long) + t.o.InputTimeout + cleanupTimeout + watchTimeout
}

// openStream sends a message by a stream and waits for its first event.
func (t *Task) openStream(ctx context.Context, m *a2a.Message) error {
	a := t.cur
	req := t.request(m)
	a.streamed, a.relied, a.lastEvent = true, true, time.Now()
	a.obs.GapFree = true
	t.tasks.stats.streamed.Add(1)
	a.stream = pumping(t.base, t.streamBound(), func(ctx context.Context) iter.Seq2[a2a.Event, error] {
		return t.client.SendStreamingMessage(ctx, req)
	})
	i, open, err := a.first(ctx, t.d.Hard)
	switch {
	case err != nil:
		a.unsure = !a.named()
		return err
	case !open || i.err != nil:
		return t.streamFailed(ctx, m, i.err)
	}
	if err := a.take(i.event, fromStream, a.stream.held); err != nil {
		return t.broken(ctx, err)
	}
	a.sync(ctx)
	if !a.named() && !a.obs.Entry().Terminal() {
		a.unsure = true
		return fmt.Errorf("%w: the first event names none", ErrUncertain)
	}
	return nil
}

// first item of a stream, within a time.
func (a *attempt) first(ctx context.Context, within time.Duration) (item, bool, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case i, open := <-a.stream.items:
		return i, open, nil
	case <-timer.C:
		return item{}, false, fmt.Errorf("%w: no event within %v", ErrUncertain, within)
	case <-ctx.Done():
		return item{}, false, context.Cause(ctx)
	}
}

// streamFailed goes on single-shot after a stream that brought nothing, if that cannot double the work. What the message then does is the
// control that decides about the stream.
func (t *Task) streamFailed(ctx context.Context, m *a2a.Message, cause error) error {
	a := t.cur
	a.stream, a.relied, a.streamed = nil, false, false
	a.obs.GapFree = false
	switch {
	case refusesOperation(cause):
		// Nothing was begun.
		if err := t.sendOnce(ctx, m); err != nil {
			return err
		}
		t.charge(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamingRefused, lifecycle.Card, cause)
		return nil
	case cause != nil && !ambiguous(cause):
		a.closeAs(ctx, lifecycle.Failed)
		return t.refused(a, cause)
	case !t.o.Idempotent && cause == nil:
		err := &AgentCardDivergenceError{
			Declared: "streaming", Observed: "a stream without an event", Basis: lifecycle.Behaviour,
			Detail: "the stream ended in good order and named no task",
		}
		a.obs.Diverge(err)
		a.sync(ctx)
		return errors.Join(t.charged(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamEmpty, lifecycle.Behaviour, err), ErrUncertain)
	case !t.o.Idempotent:
		a.unsure = true
		return fmt.Errorf("%w: %w", ErrUncertain, cause)
	}
	// The work may be done twice. What the stream may have begun stays in the ledger.
	a.orphan(ctx)
	t.ledger.leave(a.entry)
	next, err := t.begin(ctx, a.entry)
	if err != nil {
		return err
	}
	t.cur = next
	if err := t.sendOnce(ctx, m); err != nil {
		return err
	}
	if cause == nil {
		t.charge(a, v1alpha1.CapabilityStreaming, v1alpha1.ReasonStreamEmpty, lifecycle.Card, nil)
	}
	return nil
}

// request carries a message to the peer, as the caller's request says.
func (t *Task) request(m *a2a.Message) *a2a.SendMessageRequest {
	req := a2a.SendMessageRequest{Tenant: t.tenant, Message: m}
	if t.req != nil {
		req = *t.req
		req.Message = m
	}
	return &req
}

// once is a request that returns at once, so that the task has a name before it is done, and that names the webhook.
func (t *Task) once(m *a2a.Message, webhook bool) *a2a.SendMessageRequest {
	req := t.request(m)
	var config a2a.SendMessageConfig
	if req.Config != nil {
		config = *req.Config
	}
	config.ReturnImmediately = true
	if webhook {
		push := t.o.Webhook.config
		config.PushConfig = &push
	}
	req.Config = &config
	return req
}

// pushes says that the task is followed by push notifications.
func (t *Task) pushes() bool {
	return t.o.Webhook != nil && t.d.Updates == v1alpha1.UpdatesPush
}

// sendOnce sends a message single-shot.
func (t *Task) sendOnce(ctx context.Context, m *a2a.Message) error {
	a := t.cur
	result, h, err := t.send(ctx, t.once(m, t.pushes()))
	if err != nil && t.pushes() && errors.Is(err, a2a.ErrPushNotificationNotSupported) {
		t.charge(a, v1alpha1.CapabilityPushNotifications, v1alpha1.ReasonPushConfigRefused, lifecycle.Card, err)
		t.o.Webhook = nil
		result, h, err = t.send(ctx, t.once(m, false))
	}
	if err != nil {
		if ambiguous(err) {
			a.unsure = true
			return fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		a.closeAs(ctx, lifecycle.Failed)
		return t.refused(a, err)
	}
	if err := a.take(result, fromAnswer, h); err != nil {
		return t.broken(ctx, err)
	}
	a.schedule(time.Now())
	a.sync(ctx)
	if !a.named() && !a.obs.Entry().Terminal() {
		a.unsure = true
		return fmt.Errorf("%w: the answer names none", ErrUncertain)
	}
	return nil
}

// crossing is how long an answer is waited for that may have crossed with the end of our patience.
const crossing = 100 * time.Millisecond

// send sends a message and does not lose its answer because the context ends: the answer names the task.
func (t *Task) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, *held, error) {
	call, h := holding(t.base)
	call, stop := context.WithTimeout(call, t.d.Hard)
	answers := begin("sending a message", func() (a2a.SendMessageResult, error) {
		defer stop()
		return t.client.SendMessage(call, req)
	})
	wait := func(done <-chan struct{}, within time.Duration) (returned[a2a.SendMessageResult], bool) {
		timer := time.NewTimer(within)
		defer timer.Stop()
		select {
		case x := <-answers:
			return x, true
		case <-done:
		case <-timer.C:
		}
		return returned[a2a.SendMessageResult]{}, false
	}
	x, came := wait(ctx.Done(), t.d.Hard)
	if !came && ctx.Err() != nil {
		x, came = wait(nil, cleanupTimeout)
	}
	if !came {
		stop()
		x, came = wait(nil, crossing)
		came = came && x.err == nil
	}
	switch {
	case !came:
		if err := context.Cause(ctx); err != nil {
			return nil, h, err
		}
		return nil, h, fmt.Errorf("no answer within %v: %w", t.d.Hard, context.DeadlineExceeded)
	case x.err == nil && absent(x.result):
		return nil, h, fmt.Errorf("%w: the answer is empty", a2a.ErrInvalidAgentResponse)
	}
	return x.result, h, x.err
}

// refused is the error of a message that was not taken.
func (t *Task) refused(a *attempt, err error) error {
	if !errors.Is(err, a2a.ErrUnsupportedContentType) {
		return err
	}
	basis := lifecycle.Behaviour
	if t.declares(t.req) {
		basis = lifecycle.Card
	}
	return t.charged(a, v1alpha1.CapabilityInputModes, v1alpha1.ReasonDeclaredModeRefused, basis, err)
}

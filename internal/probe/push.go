package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// pushed is all that was seen of push notifications in one round.
type pushed struct {
	Generation wire.Generation
	Trials     []*trial
	// Before and After are calls of our own webhook, before the first trial and after the last one that was silent, and During those all the
	// while between, as far as at least two of them are of the time in which the last trial was silent.
	Before, During, After selfCall
	// Grace is how long a task has to stay at work with its webhook in place before silence says anything (Timing.Grace).
	Grace time.Duration
	// Reachable: the user says that the peer can reach us. Called: it did before, at this very receiver. Public: our URL is on the internet.
	Reachable, Called, Public bool
	// TurnedAway: our receiver, or another replica's, refused somebody meanwhile, who may have been this peer.
	TurnedAway bool
}

// trial is one task with a webhook of its own.
type trial struct {
	Tape *tape
	// Inline: the webhook went along with the message. Streamed: the message was a streaming call.
	Inline, Streamed bool
	// Sets are the answers to the method that registers a webhook, in order.
	Sets       []setLook
	Deliveries []delivery

	hook *webhook
}

// setLook is one answer to the method that registers a webhook.
type setLook struct {
	look
	// OfAddress: the refusal speaks of the address.
	OfAddress bool
	// None: this generation and binding have no such method.
	None   bool
	config string
}

func (l setLook) accepted() bool { return !l.None && l.Fail == nil && l.Code == 0 }

// ReceiverID names a receiver by its base URL, so that a peer is held to what it did at this one only.
func ReceiverID(r Receiver) string {
	h := sha256.Sum256([]byte(r.Base().String()))
	return hex.EncodeToString(h[:8])
}

func askPush(ctx context.Context, s *session, a *asking) trust.Observation {
	declared := a.r.declared(trust.PushNotifications)
	switch {
	case s.env.Receiver == nil && !declared:
		return unlearned(trust.Observation{Rule: "wire 7.11"}, trust.ReasonNotDeclared, "the card does not declare push notifications")
	case s.env.Receiver == nil:
		return unlearned(trust.Observation{Rule: "wire 7.4"}, trust.ReasonPushReceiverMissing,
			"push notifications are declared, and there is no receiver: --callback-url says under what URL peers reach one")
	}
	s.progress("push notifications")
	p := pushed{Generation: s.generation(), Grace: s.timing.Grace, Reachable: s.job.Target.PushReachable}
	p.Called = s.job.DeliveredTo != "" && s.job.DeliveredTo == ReceiverID(s.env.Receiver)
	defer p.close()
	before, began := s.env.Receiver.TurnedAway(), time.Now()
	if declared {
		s.observePush(ctx, &p, a.streams())
	} else if s.tryInline(ctx, &p, false) != nil {
		s.await(ctx, &p, s.timing.Late)
	}
	p.close()
	p.TurnedAway = s.env.Receiver.TurnedAway() != before || p.mayAccuse() && s.env.Receiver.TurnedAwayElsewhere(ctx, began)
	s.takeBack(ctx, &p)
	o := judgePush(&p)
	if !declared {
		o = undeclaredPush(o)
	}
	if o.Outcome == trust.Honored {
		o.DeliveredTo = ReceiverID(s.env.Receiver)
	}
	o.ProbedWith = s.probedWith(s.job.Target.Fixtures.Message)
	return o
}

// pushBound: three tasks, our own calls, what is waited for between, during and after, and a refusal asked again.
func pushBound(t Timing) time.Duration {
	return 3*(t.Task+2*t.FirstEvent) + 2*t.FirstEvent + 3*t.Late + workPatience(t) + pushPatience(t) + t.Repeat + lookBound(t)
}

// pushPatience is how long we wait for a call after the last task has ended. No text bounds it; those who call do so within seconds, and
// some give up after five.
func pushPatience(t Timing) time.Duration { return max(3*t.Late, t.Task/3) }

// workPatience is how long a long task is left to work with its webhook in place. Many end by themselves in that time.
func workPatience(t Timing) time.Duration { return max(t.Grace+t.Late, t.Task/2) }

// observePush tries one way of registering a webhook after the other until one is called. What most agents know comes first, and costs one
// task: a webhook along with the message, and by the method too while the task is at work.
func (s *session) observePush(ctx context.Context, p *pushed, streams bool) {
	p.Before = s.callSelf(ctx)
	v := s.keepVigil(ctx, p.Before)
	defer v.end()
	first := s.tryInline(ctx, p, false)
	if first == nil || first.Tape.Fail != nil || first.Tape.MessageOnly() {
		return
	}
	if s.await(ctx, p, s.timing.Late); p.heard() {
		return
	}
	switch code, _, failed := first.Tape.Error(); {
	case failed && (refusesPush(code) || code == codeInvalidParams):
		s.byMethod(ctx, p) // the message with the webhook was refused: does it know the method?
	case failed:
		return
	case first.refused() && first.Sets[0].Code == codeUnsupported && s.job.Target.Fixtures.LongRunning != nil:
		s.byMethod(ctx, p) // a long task is at work still when it is asked again
		return
	case first.refused():
		s.confirmPush(ctx, first)
		return
	default:
		s.tryFurther(ctx, p, streams)
	}
	if p.heard() || !p.accepted() {
		return
	}
	silent := time.Now()
	s.await(ctx, p, pushPatience(s.timing))
	p.During = v.since(silent)
	if !p.heard() {
		p.After = s.callSelf(ctx)
		base := s.env.Receiver.Base()
		p.Public = base.Scheme == "https" && wire.Public(ctx, base.Hostname())
	}
}

// tryFurther: nobody called for the ordinary task. Some call for streamed tasks only (C81), and the task may have been over too soon for
// those who know the method alone, call for tasks of some length only, or need a moment before a webhook takes effect.
func (s *session) tryFurther(ctx context.Context, p *pushed, streams bool) {
	if streams {
		s.tryInline(ctx, p, true)
		if s.await(ctx, p, s.timing.Late); p.heard() {
			return
		}
	}
	if s.job.Target.Fixtures.LongRunning != nil && !p.due() {
		s.byMethod(ctx, p)
	}
}

// newTrial begins a trial; nil if our receiver takes no more.
func (s *session) newTrial(p *pushed) *trial {
	h, err := s.openWebhook()
	if err != nil {
		return nil
	}
	t := &trial{hook: h}
	p.Trials = append(p.Trials, t)
	return t
}

// tryInline sends the ordinary message with a webhook along, and registers the webhook by the method too while the task is at work.
func (s *session) tryInline(ctx context.Context, p *pushed, streamed bool) *trial {
	t := s.newTrial(p)
	if t == nil {
		return nil
	}
	t.Inline, t.Streamed = true, streamed
	m := s.message(s.job.Target.Fixtures.Message)
	cfg := s.config(streamed)
	cfg.Push = &t.hook.config
	if streamed {
		t.Tape = s.streamWith(ctx, s.rpc, m, cfg, s.watchPush(t))
		if t.Tape.Fail == nil && t.Tape.TaskID() != "" && !t.Tape.Ends() {
			s.rest(ctx, t.Tape)
		}
		return t
	}
	t.Tape = s.sendWith(ctx, s.rpc, m, cfg)
	s.setAndRest(ctx, t)
	return t
}

// byMethod sends a message without a webhook, the long one if there is one, and registers the webhook by the method. A long task is
// left to work for a while; if it does not end by itself then, it is canceled.
func (s *session) byMethod(ctx context.Context, p *pushed) {
	t := s.newTrial(p)
	if t == nil {
		return
	}
	f, long := s.job.Target.Fixtures.LongRunning, true
	if f == nil {
		f, long = s.job.Target.Fixtures.Message, false
	}
	t.Tape = s.sendWith(ctx, s.rpc, s.message(f), s.config(false))
	if t.Tape.Fail != nil || t.Tape.TaskID() == "" {
		return
	}
	s.set(ctx, s.rpc, t)
	s.look(ctx, s.rpc, t.Tape)
	switch {
	case t.refused():
		s.confirmPush(ctx, t)
	case t.Sets[0].accepted() && long:
		if s.leaveToWork(ctx, p, t); !p.heard() && !t.over() {
			one, cancel := s.unary(ctx)
			t.Tape.Cancels = append(t.Tape.Cancels, s.cancelTask(one, s.rpc, t.Tape.Began, t.Tape.TaskID()))
			cancel()
			s.rest(ctx, t.Tape)
		}
	case t.Sets[0].accepted():
		s.rest(ctx, t.Tape)
	}
}

// leaveToWork follows a long task until it ends, its webhook is called about that, or workPatience is over. One whose webhook is called at all
// is canceled sooner, and so is one whose work is in plain sight: its end by itself is not the only thing to go by.
func (s *session) leaveToWork(ctx context.Context, p *pushed, t *trial) {
	began, wait := time.Now(), s.timing.Settle/6
	for since := time.Duration(0); since < workPatience(s.timing); since = time.Since(began) {
		p.collect()
		if since >= workPatience(s.timing)*2/3 && t.grewAfter(t.Sets[0].At+s.timing.Grace) {
			return
		}
		if p.heard() || t.over() || since >= s.timing.Late && len(t.counted()) > 0 || !pause(ctx, wait) {
			return
		}
		if l := s.look(ctx, s.rpc, t.Tape); l.Code != 0 || l.Fail != nil {
			return
		}
		wait = min(2*wait, s.timing.Settle, s.timing.Grace)
	}
}

// setAndRest registers the webhook of a task by the method, whether it is over or not, and follows the task to its rest.
func (s *session) setAndRest(ctx context.Context, t *trial) {
	if t.Tape.Fail != nil || t.Tape.TaskID() == "" {
		return
	}
	s.set(ctx, s.rpc, t)
	if !t.Tape.Ends() {
		s.rest(ctx, t.Tape)
	}
}

func (s *session) set(ctx context.Context, rpc wire.Peer, t *trial) {
	t.Sets = append(t.Sets, s.setPush(ctx, rpc, t.Tape.Began, t.Tape.TaskID(), t.hook.config))
}

func (s *session) setPush(ctx context.Context, rpc wire.Peer, began time.Time, id string, config wire.PushConfig) setLook {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	asked := time.Since(began)
	a, err := rpc.SetPushConfig(ctx, s.ids.id(id), config)
	if errors.Is(err, wire.ErrNoSuchMethod) {
		return setLook{None: true}
	}
	l := setLook{look: answered(a, err, asked, time.Since(began))}
	if err == nil && a.Err != nil {
		l.OfAddress = a.Err.OfAddress
	} else if err == nil {
		l.config = a.ConfigID
	}
	return l
}

// confirmPush asks again on new connections, not before Timing.Repeat, and then whether the task is still at work (design 4.4).
func (s *session) confirmPush(ctx context.Context, t *trial) {
	if !pause(ctx, s.timing.Repeat) {
		return
	}
	s.again(func(fresh wire.Peer) bool {
		l := s.setPush(ctx, fresh, t.Tape.Began, t.Tape.TaskID(), t.hook.config)
		l.Fresh = true
		t.Sets = append(t.Sets, l)
		return l.refuses()
	})
	s.look(ctx, s.rpc, t.Tape)
}

// watchPush follows the stream of a task and registers its webhook by the method as soon as the task has a name.
func (s *session) watchPush(t *trial) step {
	tm, asked := s.timing, false
	return func(w *watch) (time.Duration, leave) {
		now := w.now()
		switch {
		case now >= tm.Task:
			return 0, leftDeadline
		case w.tape.Ends():
			at := endsAt(w.tape) + tm.Grace
			return at, leaveIf(now >= at && w.pending == 0, leftSettled)
		case !asked && w.tape.TaskID() != "":
			asked = true
			id, began := w.tape.TaskID(), w.tape.Began
			w.spawn(func() func() {
				l := s.setPush(w.ctx, w.rpc, began, id, t.hook.config)
				return func() {
					t.Sets = append(t.Sets, l)
					w.look(false)
				}
			})
		}
		return tm.Task, leftNot
	}
}

// await waits until a webhook is called with the end of its task, or the time is over.
func (s *session) await(ctx context.Context, p *pushed, d time.Duration) {
	timer, tick := time.NewTimer(d), time.NewTicker(max(d/100, 5*time.Millisecond))
	defer timer.Stop()
	defer tick.Stop()
	for p.collect(); !p.heard(); p.collect() {
		select {
		case <-tick.C:
		case <-timer.C:
			p.collect()
			return
		case <-ctx.Done():
			return
		}
	}
}

// close is the end of all that may be delivered: a call that is under way is one.
func (p *pushed) close() {
	for _, t := range p.Trials {
		t.hook.done()
	}
	p.collect()
}

// collect takes over what has been delivered so far.
func (p *pushed) collect() {
	for _, t := range p.Trials {
		if t.Tape != nil {
			t.Deliveries = t.hook.deliveries(t.Tape.Began)
		}
	}
}

// takeBack deletes the webhooks that the peer named; the tasks are over, so this is tidiness and no more.
func (s *session) takeBack(ctx context.Context, p *pushed) {
	for _, t := range p.Trials {
		for _, l := range t.Sets {
			if l.config == "" || ctx.Err() != nil {
				continue
			}
			one, cancel := s.unary(ctx)
			_, _ = s.rpc.DeletePushConfig(one, s.ids.id(t.Tape.TaskID()), l.config)
			cancel()
		}
	}
}

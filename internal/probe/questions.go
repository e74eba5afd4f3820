package probe

import (
	"context"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// question is one thing that can be asked of a peer.
type question struct {
	capability trust.Capability
	// cost in tasks that reach the handler, at worst.
	cost int
	// bound of the time it takes.
	bound func(Timing) time.Duration
	// ask measures and judges. Those that share the round's one exchange find it in the asking.
	ask func(context.Context, *session, *asking) trust.Observation
}

// questions is the table, in the order in which they are asked; Lifecycle is judged by what the others began. Streaming's cost is a stream, the control, a second stream and the control again; the control by itself costs no more than that.
// Continuation's is a message, its reply, the reply by itself, and the reply again. TaskRetrieval and Lifecycle are judged by the same exchange and cost a task only where Streaming is not asked; TaskRetrieval costs a long task; Lifecycle one more where Cancellation is not asked.
// PushNotifications' is a message with a webhook, a stream with one, and a long task that gets one by the method; most agents call for the first.
var questions = []question{
	{trust.Streaming, 4, streamingBound, askStreaming},
	{trust.Cancellation, 1, cancellationBound, askCancellation},
	{trust.Resubscription, 1, resubscriptionBound, askResubscription},
	{trust.Continuation, 4, continuationBound, askContinuation},
	{trust.TaskRetrieval, maxRetrievals, retrievalBound, askRetrieval},
	{trust.InputModes, maxModeMessages, inputModesBound, askInputModes},
	{trust.ExtendedAgentCard, 0, extendedCardBound, askExtendedCard},
	{trust.PushNotifications, 3, pushBound, askPush},
	{trust.Lifecycle, 2, lifecycleBound, askLifecycle},
}

// Costs tells the worst cost of asking each capability, in tasks that reach the handler, and of the control. The control is part of
// Streaming's worst cost already.
func Costs() (cost map[trust.Capability]int, control int) {
	cost = map[trust.Capability]int{}
	for _, q := range questions {
		cost[q.capability] = q.cost
	}
	return cost, 0
}

// Questions lists the capabilities that can be asked, sorted.
func Questions() []trust.Capability {
	var list []trust.Capability
	for _, q := range questions {
		list = append(list, q.capability)
	}
	slices.Sort(list)
	return list
}

// asking is what the questions of one round share.
type asking struct {
	r        *round
	s        *session
	exchange *exchange
	// long is the long task that Resubscription and Cancellation share; nil if none was begun on a stream.
	long *long
	// joined is a stream of a long task that no card declares; nil if none was tried.
	joined *tape
	// dialogue of Continuation; its reply tells of input modes too.
	dialogue *dialogue
	// canceled is the task that Cancellation began and canceled; its life counts for Lifecycle too.
	canceled *tape
}

// streams says whether a task is best followed by a stream: streaming is declared, and nothing in this round or before it speaks against
// it.
func (a *asking) streams() bool {
	return a.mayStream() && (a.exchange == nil || a.exchange.one.sort == good)
}

// mayStream says whether this round asks for streams at all.
func (a *asking) mayStream() bool { return a.r.declared(trust.Streaming) && !a.r.job.SingleShot }

// ask asks each question of the job, in the order of the table. A question that panics is Inconclusive and takes no other with it.
func (r *round) ask(ctx context.Context, s *session) {
	a := &asking{r: r, s: s}
	for _, q := range questions {
		if r.asked(q.capability) {
			r.observations = append(r.observations, a.one(ctx, s, q))
		}
	}
	for _, c := range r.job.Ask {
		if !slices.ContainsFunc(questions, func(q question) bool { return q.capability == c }) {
			r.observations = append(r.observations, unlearned(trust.Observation{Capability: c}, trust.ReasonNotExercised,
				"there is no question for this yet"))
		}
	}
}

func (a *asking) one(ctx context.Context, s *session, q question) (o trust.Observation) {
	defer func() {
		if recover() != nil {
			o = unlearned(trust.Observation{Capability: q.capability}, trust.ReasonPanicked, "a fault of the prober's own ended this question")
		}
	}()
	if ctx.Err() != nil {
		text := "the round ended before this was asked"
		if calledOff(ctx) {
			text = "the round was called off before this was asked"
		}
		return unlearned(trust.Observation{Capability: q.capability}, trust.ReasonProbeDeadlineExceeded, text)
	}
	ctx, cancel := context.WithTimeout(ctx, q.bound(s.timing))
	defer cancel()
	before := s.ledger.spent()
	s.asking.begin(string(q.capability))
	o = q.ask(ctx, s, a)
	o.Tasks = s.ledger.spent() - before
	o.Capability = q.capability
	o.Reason = s.job.Target.rejected(o.Reason, s.in.URL, wire.Binding(s.in.Binding))
	if o.Reason == trust.ReasonTaskIdentityUnstable {
		o.Rule = "design 4.14"
		if s.job.Target.Identity == (wire.Identity{}) {
			o.Message += identityHint
		}
	}
	o.Warnings = unique(o.Warnings)
	return o
}

func (a *asking) needs(c trust.Capability) bool { return a.r.asked(c) }

// shared is the round's one exchange, made by whoever needs it first: a stream where one may be asked for, else the single-shot control.
func (a *asking) shared(ctx context.Context, s *session) *exchange {
	if a.exchange != nil {
		return a.exchange
	}
	deep := a.needs(trust.Lifecycle)
	if !a.mayStream() {
		a.exchange = s.observeControl(ctx, deep)
		return a.exchange
	}
	x := s.observeStreaming(ctx, deep, a.needs(trust.Streaming))
	a.exchange = x
	if x.one.sort == refused && x.control == nil && (deep || a.needs(trust.TaskRetrieval)) {
		x.control = s.probeControl(ctx, s.job.Target.Fixtures.Message) // a refused stream costs no task and shows none
	}
	if t := x.followed(); t == x.control {
		s.lookAfter(ctx, s.rpc, t, deep)
	}
	return x
}

// streamingBound: two streams, two controls, and a stream picked up again or asked of a sibling dialect.
func streamingBound(t Timing) time.Duration {
	return 5*t.Task + t.Repeat + lookBound(t)
}

// exchangeBound: one stream or control, and its looks.
func exchangeBound(t Timing) time.Duration { return t.Task + lookBound(t) }

// lifecycleBound: the exchange, and a task to cancel.
func lifecycleBound(t Timing) time.Duration { return exchangeBound(t) + cancellationBound(t) }

func lookBound(t Timing) time.Duration { return 2*t.FirstEvent + 5*t.Settle }

func askStreaming(ctx context.Context, s *session, a *asking) trust.Observation {
	if !a.r.declared(trust.Streaming) {
		return s.undeclared(ctx)
	}
	o := a.shared(ctx, s).streaming()
	o.ProbedWith = s.probedWith(s.job.Target.Fixtures.Message)
	if o.Confirmed && (o.Reason == trust.ReasonMethodNotFound || o.Reason == trust.ReasonProtocolGenerationMismatch) && !a.exchange.partly {
		a.r.unusable = true
	}
	return o
}

// canceledTask is the task that Cancellation has begun and canceled. Where that is not asked in this round, one is begun for Lifecycle alone:
// what a peer does to canceled tasks can neither be confirmed nor be cleared by others.
func (a *asking) canceledTask(ctx context.Context, s *session) *tape {
	f := s.job.Target.Fixtures.LongRunning
	switch {
	case f == nil || a.needs(trust.Cancellation):
	case a.streams():
		a.canceled = s.longTask(ctx, f, false).first
	default:
		a.canceled, _ = s.cancelSingle(ctx, f, false)
	}
	return a.canceled
}

func askLifecycle(ctx context.Context, s *session, a *asking) trust.Observation {
	o := judgeLifecycle(a.shared(ctx, s).followed())
	if o.Outcome == trust.Diverged {
		o.ProbedWith = s.probedWith(s.job.Target.Fixtures.Message)
		return o
	}
	if t := a.canceledTask(ctx, s); t != nil {
		// canceled is terminal like any other state; its own task may show what the ordinary one did not (C71).
		if c := judgeCanceledLife(t); c.Outcome == trust.Diverged || c.Reason == trust.ReasonReplicaInconsistency {
			c.Capability = o.Capability
			o = c
			o.ProbedWith = s.probedWith(s.job.Target.Fixtures.LongRunning)
			return o
		}
	}
	o.ProbedWith = s.probedWith(s.job.Target.Fixtures.Message)
	return o
}

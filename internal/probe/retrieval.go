package probe

import (
	"context"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// historySeen is how many messages of history GetTask gave of one task: asked for one, asked for one again on a new connection where that
// gave more, and asked for none. -1: it gave none that could be counted, or was not asked.
type historySeen struct{ one, again, none int }

// immediate is a send of a long prompt that was to be answered at once.
type immediate struct {
	tape *tape
	// patience is how long an answer may take that is not at all immediate.
	patience time.Duration
	// other is the ordinary message, sent in the same way within the round; nil if it was not.
	other *tape
}

// maxRetrievals is how many tasks TaskRetrieval begins at most: the ordinary one or, where Streaming has begun that, one more after a
// send that waited; and the long one.
const maxRetrievals = 2

func askRetrieval(ctx context.Context, s *session, a *asking) trust.Observation {
	spent := s.ledger.spent()
	t := a.shared(ctx, s).followed()
	o := judgeRetrieval(t)
	o.ProbedWith = s.probedWith(s.job.Target.Fixtures.Message)
	if o.Outcome == trust.Diverged || o.Reason == trust.ReasonMessageOnly {
		return o
	}
	if s.generation() == wire.V10 && o.Outcome == trust.Honored {
		id := t.TaskID()
		if d := a.dialogue; d != nil && d.reply != nil && d.reply.TaskID() == d.first.TaskID() {
			id = d.first.TaskID() // its history is the longest
		}
		o = judgeHistory(o, s.probeHistory(ctx, id))
	}
	if f := s.job.Target.Fixtures.LongRunning; f != nil && o.Outcome != trust.Diverged && s.generation() != wire.V01 {
		x := immediate{tape: a.sentAtOnce(ctx, s, f), patience: s.timing.FirstEvent}
		switch {
		case !x.waited() || s.generation() != wire.V10:
		case a.exchange.first == a.exchange.control:
			x.other = a.exchange.first // by a unary call, a moment ago
		case s.ledger.spent()-spent < maxRetrievals:
			x.other = s.sendMessage(ctx, s.rpc, s.message(s.job.Target.Fixtures.Message), false)
		}
		o = judgeImmediate(o, x)
	}
	return o
}

// retrievalBound: the exchange, four questions about history, a long task that is to be answered at once, and an ordinary one.
func retrievalBound(t Timing) time.Duration { return exchangeBound(t) + 2*t.Task + 4*t.FirstEvent }

func (s *session) probeHistory(ctx context.Context, id string) historySeen {
	h := historySeen{one: s.historyOf(ctx, s.rpc, id, 1), again: -1}
	if h.one > 1 {
		fresh := s.fresh()
		defer fresh.Close()
		h.again = s.historyOf(ctx, fresh, id, 1)
	}
	h.none = s.historyOf(ctx, s.rpc, id, 0)
	return h
}

func (s *session) historyOf(ctx context.Context, rpc wire.Peer, id string, most int) int {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	a, err := rpc.GetTask(ctx, s.ids.id(id), &most)
	if err != nil || a.Err != nil || a.Kind != wire.KindTask || turnedAway(a) != nil {
		return -1
	}
	return a.History
}

// sentAtOnce is a long prompt sent by a call that is to return at once. Where no streaming is declared Cancellation has sent one already. Its
// own is canceled as soon as it was answered.
func (a *asking) sentAtOnce(ctx context.Context, s *session, f *Fixture) *tape {
	if a.canceled != nil && !a.canceled.Streamed {
		return a.canceled
	}
	s.progress("a send that returns at once")
	t := s.sendMessage(ctx, s.rpc, s.message(f), false)
	if t.TaskID() != "" && !t.lastKnown().Terminal() {
		one, cancel := s.unary(ctx)
		defer cancel()
		s.cancelTask(one, s.rpc, t.Began, t.TaskID())
	}
	return t
}

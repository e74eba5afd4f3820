package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// maxInterfaces that one round tries, best first.
const maxInterfaces = 3

// contact is what came of looking for an interface that answers.
type contact struct {
	in         *card.Interface
	generation wire.Generation
	reach      trust.Observation
	// usable is false where a valid card names nothing that we can use: no binding or version of ours, or an endpoint that knows no
	// method of the declared generation, twice.
	usable bool
	// refusal is set where the endpoint knows no method of the declared generation; it is what Streaming is charged with.
	refusal *sight
	retry   time.Duration
}

// findInterface tries the card's interfaces in order until one is reached. Where none is, the first one's reason stands.
func (s *session) findInterface(ctx context.Context, list []card.Interface) contact {
	var first *contact
	tried := 0
	for _, in := range list {
		if !s.job.Target.allowed(in.URL) {
			if first == nil {
				first = &contact{usable: true, reach: unlearned(trust.Observation{Rule: "C109"}, trust.ReasonOriginNotAllowed,
					"the card's interface is on an origin that spec.allowedOrigins does not name")}
			}
			continue
		}
		if tried++; tried > maxInterfaces {
			break
		}
		c := s.tryInterface(ctx, in)
		if c.reach.Outcome == trust.Honored {
			return c
		}
		// An interface that could be asked says more than one that may not be.
		if first == nil || first.in == nil {
			first = &c
		}
	}
	return *first
}

// tryInterface asks one interface for a task that cannot exist. It never reaches the model.
func (s *session) tryInterface(ctx context.Context, in card.Interface) contact {
	c := contact{in: &in, usable: true, generation: declaredGeneration(in)}
	s.speak(in, c.generation)
	if in.Generation() == "" {
		if failed := s.settleGeneration(ctx, &c); failed {
			return c
		}
		s.speak(in, c.generation)
	}
	if !s.job.CardAndTask || s.job.NoReach {
		c.reach = honored(c.reach, "design 4.9", "the card was read; tasks are not part of reachability here")
		return c
	}
	began := time.Now()
	l := s.lookFor(ctx, newID(), began)
	c.reach, c.retry = judgeReach(l, c.generation), retryAfter(l.Fail)
	if l.Code == codeMethodNotFound {
		s.doubtDialect(ctx, &c)
	}
	return c
}

func (s *session) lookFor(ctx context.Context, id string, began time.Time) look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	a, err := s.rpc.GetTask(ctx, id, nil)
	return answered(a, err, 0, time.Since(began))
}

// declaredGeneration is what the interface says of itself; 0.2 where it says nothing, to be settled by asking.
func declaredGeneration(in card.Interface) wire.Generation {
	if g := in.Generation(); g != "" {
		return wire.Generation(g)
	}
	return wire.V02
}

// settleGeneration tells 0.1 from 0.2 where the card says nothing: message/send with empty params is -32601 only in 0.1 (wire reference
// 1). failed says that the interface cannot be used.
func (s *session) settleGeneration(ctx context.Context, c *contact) (failed bool) {
	l := s.ping(ctx, s.rpc)
	if l.Fail != nil {
		c.reach, c.retry = judgeReach(l, c.generation), retryAfter(l.Fail)
		return true
	}
	if l.Code != codeMethodNotFound {
		return false
	}
	if s.knows(ctx, s.dialect(s.in, wire.V01)) == nil {
		c.generation = wire.V01
		return false
	}
	m := s.mismatch(ctx, l)
	s.refuse(c, m)
	return true
}

// doubtDialect: GetTask is unknown. That is a gateway without task operations if the send method is known (C85), and else an endpoint that
// does not speak what its card says (C35, C37, C38).
func (s *session) doubtDialect(ctx context.Context, c *contact) {
	unknown := s.knows(ctx, s.rpc)
	if unknown == nil {
		c.reach = honored(trust.Observation{}, "C85", "the endpoint answers; GetTask is not known there")
		c.reach.Warnings = []trust.Reason{trust.ReasonTaskOpsUnavailable}
		return
	}
	s.refuse(c, s.mismatch(ctx, *unknown))
}

// refuse notes that the interface knows no method of its declared generation.
func (s *session) refuse(c *contact, m sight) {
	if m.sort != refused {
		c.reach = unlearned(trust.Observation{Rule: m.rule}, m.reason, m.text)
		return
	}
	c.refusal = &m
	c.reach = unlearned(trust.Observation{Rule: m.rule}, m.reason, m.text)
}

// ping asks the send method with empty params, which no server can carry out.
func (s *session) ping(ctx context.Context, rpc *wire.JSONRPC) look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	began := time.Now()
	a, err := rpc.Ping(ctx)
	l := answered(a, err, 0, time.Since(began))
	if l.Kind == wire.KindTask || l.Kind == wire.KindMessage {
		s.ledger.count() // a server that carries out anything
		s.ledger.told(rpc, l.ID, l.State, time.Now())
	}
	return l
}

// knows says whether a dialect's send method is known there: nil if it is, else what came instead.
func (s *session) knows(ctx context.Context, rpc *wire.JSONRPC) *look {
	l := s.ping(ctx, rpc)
	if l.Fail == nil && l.Code != codeMethodNotFound {
		return nil
	}
	return &l
}

// siblings are the dialects to try where the declared one is not known, nearest first.
var siblings = map[wire.Generation][]wire.Generation{
	wire.V10: {wire.V03, wire.V01},
	wire.V03: {wire.V10, wire.V01},
	wire.V02: {wire.V10, wire.V01},
	wire.V01: {wire.V03, wire.V10},
}

// sibling is the first sibling dialect whose send method is known there; empty if none is.
func (s *session) sibling(ctx context.Context) wire.Generation {
	for _, g := range siblings[s.generation()] {
		if s.knows(ctx, s.dialect(s.in, g)) == nil {
			return g
		}
	}
	return ""
}

// mismatch names the true reason why the declared dialect's methods are unknown (C35, C37, C38).
func (s *session) mismatch(ctx context.Context, own look) sight {
	if own.Fail != nil {
		return saw(unsure, failReason(own.Fail), "design 4.1", "asked whether the send method is known: %s", failText(own.Fail))
	}
	if g := s.sibling(ctx); g != "" {
		return saw(refused, trust.ReasonProtocolGenerationMismatch, "C37",
			"the card declares %s, whose methods are not found; the endpoint speaks %s", s.generation(), g).on(lifecycle.Card)
	}
	return saw(refused, trust.ReasonMethodNotFound, "C35", "every A2A method is not found, in every dialect").on(lifecycle.Card)
}

// judgeReach says what the answer to a question for a task that cannot exist tells (wire reference 7.1): any answer of the protocol is a
// peer that is there.
func judgeReach(l look, g wire.Generation) trust.Observation {
	o := trust.Observation{Rule: "wire 7.1"}
	switch {
	case l.Fail != nil:
		return unlearned(o, failReason(l.Fail), "asked for a task that cannot exist: "+failText(l.Fail))
	case l.Code == codeVersion && g != wire.V01:
		return unlearned(o, trust.ReasonVersionNegotiationFailed, fmt.Sprintf("asked in %s, error %d: version not supported", g, l.Code))
	case l.Code == codeUnauthenticated || l.Code == codeAuth01 && g == wire.V01:
		return unlearned(o, trust.ReasonAuthenticationRequired, fmt.Sprintf("asked for a task that cannot exist: error %d", l.Code))
	case l.Code == codePermissionDenied || l.Code == codePermission01 && g == wire.V01:
		return unlearned(o, trust.ReasonPermissionDenied, fmt.Sprintf("asked for a task that cannot exist: error %d", l.Code))
	case l.Code == codeRateLimit01 && g == wire.V01:
		return unlearned(o, trust.ReasonRateLimited, fmt.Sprintf("asked for a task that cannot exist: error %d", l.Code))
	case l.Code == codeParse:
		return unlearned(o, trust.ReasonUnexpectedAnswer, fmt.Sprintf("asked for a task that cannot exist: error %d", l.Code))
	case l.Code == 0 && l.Kind != wire.KindTask:
		return unlearned(o, trust.ReasonUnexpectedAnswer, "asked for a task that cannot exist: the answer is none of A2A")
	}
	return honored(o, o.Rule, "asked for a task that cannot exist: the protocol answered")
}

func retryAfter(e *wire.Error) time.Duration {
	if e == nil {
		return 0
	}
	return e.RetryAfter
}

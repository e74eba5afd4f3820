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
	// code that it was refused with: -32601, or -32009 for the declared version itself.
	code int
	// others: the card has interfaces that were not asked, so one of them may be good.
	others bool
	// spoken is the generation that was found there in place of the declared one; empty if none was.
	spoken wire.Generation
	retry  time.Duration
}

// findInterface tries the card's interfaces in order until one is reached. Where none is, the first one's reason stands. A refusal stands
// only where every interface was asked and refused: one that could not be reached or asked may be the good one, and then the refusal of
// another is a finding about the card and about no capability (design 3).
func (s *session) findInterface(ctx context.Context, list []card.Interface) contact {
	var barred *contact
	for _, in := range list {
		if !s.job.Target.allowed(in.URL) {
			barred = &contact{usable: true, reach: unlearned(trust.Observation{Rule: "C109"}, trust.ReasonOriginNotAllowed,
				"the card's interface is on an origin that spec.allowedOrigins does not name")}
			continue
		}
		if len(s.tried) == maxInterfaces {
			break
		}
		c := s.tryInterface(ctx, in, "")
		if c.reach.Outcome == trust.Honored {
			return c
		}
		s.tried = append(s.tried, c)
	}
	return noneReached(s.tried, barred, len(list))
}

// noneReached picks the contact whose reason stands: an interface that could be asked says more than one that may not be, and one that may
// be good more than one that refuses.
func noneReached(tried []contact, barred *contact, listed int) contact {
	if len(tried) == 0 {
		return *barred
	}
	for _, c := range tried {
		if c.refusal == nil {
			return c
		}
	}
	c := tried[0]
	c.others = len(tried) < listed
	return c
}

// tryInterface asks one interface for a task that cannot exist. It never reaches the model. known is its generation where that has been
// settled before.
func (s *session) tryInterface(ctx context.Context, in card.Interface, known wire.Generation) contact {
	c := s.lookAtInterface(ctx, in, known)
	c.reach.Reason = s.job.Target.rejected(c.reach.Reason, in.URL, wire.Binding(in.Binding))
	return c
}

func (s *session) lookAtInterface(ctx context.Context, in card.Interface, known wire.Generation) contact {
	c := contact{in: &in, usable: true, generation: wire.Generation(in.Generation())}
	s.spoken = ""
	if c.generation == "" {
		c.generation = known
	}
	if c.generation == "" && !s.settleGeneration(ctx, &c) {
		return c
	}
	s.speak(in, c.generation)
	if !s.job.CardAndTask || s.job.NoReach {
		c.reach = honored(c.reach, "design 4.9", "the card was read; tasks are not part of reachability here")
		return c
	}
	l := s.lookFor(ctx, newID(), time.Now())
	c.reach, c.retry = judgeReach(l, c.generation), retryAfter(l.Fail)
	switch {
	case l.routeMissing():
		s.doubtRoute(ctx, &c)
	case l.Code == codeMethodNotFound:
		s.doubtDialect(ctx, &c)
	case l.Code == codeVersion && c.generation == wire.V10:
		s.doubtVersion(ctx, &c)
	}
	return c
}

func (s *session) lookFor(ctx context.Context, id string, began time.Time) look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	a, err := s.rpc.GetTask(ctx, id, nil)
	return answered(a, err, 0, time.Since(began))
}

// settleGeneration finds out what an interface without a version speaks, by asking the send method with empty params (wire reference 1).
// Where it says nothing, nothing it speaks is a mismatch. ok is false where no dialect is known or the interface cannot be asked.
func (s *session) settleGeneration(ctx context.Context, c *contact) (ok bool) {
	order := []wire.Generation{wire.V10, wire.V02, wire.V01}
	if c.in.Legacy {
		order = []wire.Generation{wire.V02, wire.V01, wire.V10}
	}
	missing := "" // not a refusal: see doubtRoute
	var failing wire.Generation
	for _, g := range order {
		if !card.Speaks(c.in.Binding, string(g)) {
			continue // 0.1 has JSON-RPC alone
		}
		s.speak(*c.in, g)
		c.generation = g
		l := s.ping(ctx, s.rpc)
		if l.routeMissing() {
			missing = "the paths of no generation are known there"
			continue
		}
		if l.Fail != nil {
			c.reach, c.retry = judgeReach(l, g), retryAfter(l.Fail)
			return false
		}
		if l.Code == codeInternal && failing == "" {
			failing = g // what fails may fail whatever it is asked: see whether another one is known for sure
			continue
		}
		if l.Code != codeMethodNotFound && l.Code != codeInternal {
			return true
		}
	}
	if failing != "" {
		c.generation = failing
		s.speak(*c.in, failing)
		return true
	}
	c.generation = order[0]
	s.speak(*c.in, c.generation)
	if missing != "" {
		c.reach = unlearned(trust.Observation{Rule: "wire 7.1"}, trust.ReasonEndpointNotFound, missing)
		return false
	}
	s.refuse(c, codeMethodNotFound, noMethod())
	return false
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
	s.refuse(c, codeMethodNotFound, s.mismatch(ctx, *unknown))
}

// doubtVersion: the endpoint does not support the very version that its card declares, which is the one we send (C43). That is the peer's
// own word, if the send method says so too.
func (s *session) doubtVersion(ctx context.Context, c *contact) {
	if l := s.ping(ctx, s.rpc); l.Code != codeVersion {
		return
	}
	text := "the card declares 1.0, and the endpoint says that this version is not supported"
	if g := s.sibling(ctx); g != "" {
		text += "; it speaks " + string(g)
	}
	s.refuse(c, codeVersion, saw(refused, trust.ReasonProtocolGenerationMismatch, "C43", "%s", text).on(lifecycle.Card))
}

// refuse notes that the interface refuses its declared dialect, if that is what m says.
func (s *session) refuse(c *contact, code int, m sight) {
	if m.sort == refused {
		c.refusal, c.code, c.spoken = &m, code, s.spoken
	}
	c.reach = unlearned(trust.Observation{Rule: m.rule}, m.reason, m.text)
}

// ping asks the send method with empty params, which no server can carry out.
func (s *session) ping(ctx context.Context, rpc wire.Peer) look {
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
func (s *session) knows(ctx context.Context, rpc wire.Peer) *look {
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
			s.spoken = g
			return g
		}
	}
	return ""
}

// siblingByGet is the same by GetTask, whose params are whole, for endpoints that answer empty params with an error of their own whatever
// the method.
func (s *session) siblingByGet(ctx context.Context) wire.Generation {
	for _, g := range siblings[s.generation()] {
		b := s.branch(s.client)
		b.rpc = s.dialect(s.in, g)
		if l := b.lookFor(ctx, newID(), time.Now()); l.Fail == nil && l.Code != codeMethodNotFound && l.Code != codeVersion {
			s.spoken = g
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
		return s.otherGeneration(g)
	}
	return noMethod()
}

// otherGeneration: another generation than the declared one is spoken. Where the card declares none, the mistake is ours.
func (s *session) otherGeneration(spoken wire.Generation) sight {
	if s.in.Generation() == "" {
		return saw(unsure, trust.ReasonVersionNegotiationFailed, "wire 1",
			"the card names no version; %s was taken for it, and the endpoint speaks %s", s.generation(), spoken)
	}
	return saw(refused, trust.ReasonProtocolGenerationMismatch, "C37",
		"the card declares %s, whose methods are not found; the endpoint speaks %s", s.generation(), spoken).on(lifecycle.Card)
}

func noMethod() sight {
	return saw(refused, trust.ReasonMethodNotFound, "C35", "no A2A method is found, in any dialect").on(lifecycle.Card)
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

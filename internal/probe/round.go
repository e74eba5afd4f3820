package probe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Run runs one round to its end: target in, report out. It never panics, always returns within Bound(job), and leaves no task of its own
// behind that it could cancel; those it could not are in the report. Everything that goes wrong is an outcome in the report.
func Run(ctx context.Context, env Env, job Job) (rep Report) {
	r := &round{job: job, started: time.Now()}
	defer func() {
		if recover() != nil {
			rep = r.panicked()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, Bound(job)-cleanupTimeout)
	defer cancel()
	s, err := open(env, job)
	if err != nil {
		r.reach = unlearned(trust.Observation{}, trust.ReasonInternal, "the target's settings cannot be used")
		return r.report(nil)
	}
	defer s.close()
	r.run(ctx, s)
	s.asking.begin(ErrandCleanUp)
	r.orphans = s.cleanUp(ctx)
	return r.report(s)
}

// Bound is the longest that Run of this job may take: each part has a time of its own, which is enforced.
func Bound(job Job) time.Duration {
	t := job.Target.Timing
	b := cardBound(t) + reachBound(t) + cleanupTimeout
	if job.Target.Verification.JWKS != nil {
		b += t.FirstEvent
	}
	if job.Kind != trust.Behavior {
		return b
	}
	for _, q := range questions {
		if slices.Contains(job.Ask, q.capability) {
			b += q.bound(t)
		}
	}
	return b + interfacesBound(t) + cardBound(t) // the card is read once more before a demotion
}

// cardBound: both well-known names. reachBound: the interfaces, the dialects, and a refusal asked again.
func cardBound(t Timing) time.Duration  { return 2 * t.FirstEvent }
func reachBound(t Timing) time.Duration { return 4*t.FirstEvent + t.Repeat }

// round gathers what one round learns.
type round struct {
	job          Job
	started      time.Time
	fetched      fetched
	claims       trust.Claims
	contact      contact
	reach        trust.Observation
	unusable     bool
	observations []trust.Observation
	orphans      []Orphan
	interfaces   []InterfaceReport
	signature    trust.Signature
	// refusalStands: the endpoint refused its declared dialect again, on a new connection.
	refusalStands bool
}

// run is the story of a round: the card, an interface, reachability, and then the questions.
func (r *round) run(ctx context.Context, s *session) {
	s.asking.begin(ErrandCard)
	s.progress("reading the card")
	// What was asked for and not answered has the reason of Reach.
	if r.readCard(ctx, s) && r.findInterface(ctx, s) && r.job.Kind == trust.Behavior {
		r.ask(ctx, s)
	}
	s.asking.begin(ErrandInterfaces)
	r.lookAtInterfaces(ctx, s)
	s.asking.begin(ErrandConfirm)
	r.confirm(ctx, s)
}

// readCard reads the card, or takes what is known of it where it has not changed. It says whether there is one.
func (r *round) readCard(ctx context.Context, s *session) bool {
	etag := ""
	if r.job.Known != nil && r.job.Kind == trust.Reachability && !r.job.Target.Verification.Wanted {
		// A behaviour round reads the card itself: its modes shape the probes. What is verified is read whole as well, so that a key that
		// was taken away stops counting although the card stays as it is.
		etag = r.job.ETag
	}
	r.fetched = s.fetchCard(ctx, etag)
	if r.fetched.reason != "" {
		r.reach = unlearned(trust.Observation{Rule: "wire 6"}, r.fetched.reason, r.fetched.text)
		r.contact.retry = r.fetched.retry
		return false
	}
	s.card = r.fetched.card
	if s.card != nil && r.job.Target.Verification.Wanted {
		s.asking.begin(ErrandKeys)
		r.signature = s.verify(ctx, s.card)
	}
	return true
}

// findInterface settles on an interface and a dialect and says whether one was reached.
func (r *round) findInterface(ctx context.Context, s *session) bool {
	s.asking.begin(ErrandReach)
	s.progress("reaching the endpoint")
	ctx, cancel := context.WithTimeout(ctx, reachBound(s.timing))
	defer cancel()
	if s.card == nil {
		r.reachKnown(ctx, s)
	} else if !r.reachCard(ctx, s) {
		return false
	}
	if r.contact.refusal != nil {
		r.confirmRefusal(ctx, s)
	}
	return r.reach.Outcome == trust.Honored
}

// reachKnown: the card has not changed, so the interface that was in use is asked again.
func (r *round) reachKnown(ctx context.Context, s *session) {
	k := r.job.Known
	r.claims = k.Claims
	r.contact = s.tryInterface(ctx, k.Interface, k.Generation)
	r.reach = r.contact.reach
}

func (r *round) reachCard(ctx context.Context, s *session) bool {
	list, why := s.card.Usable(r.job.Target.Preference)
	if len(list) == 0 {
		r.unusable = true
		r.reach = unlearned(trust.Observation{Rule: "C99"}, why, "the card names no interface of a binding and version that is spoken here")
		if len(s.card.Interfaces) > 0 {
			r.claims = s.card.Claims(s.card.Interfaces[0])
		} else {
			r.claims = trust.Claims{Digest: s.card.Digest, Declared: s.card.Declared}
		}
		return false
	}
	r.claims = s.card.Claims(list[0])
	r.contact = s.findInterface(ctx, list)
	r.contact.others = r.contact.others || s.otherWords()
	r.reach = r.contact.reach
	if r.contact.in != nil {
		s.speak(*r.contact.in, r.contact.generation)
		r.claims = s.card.Claims(*r.contact.in)
	}
	reached := r.contact.in
	if r.reach.Outcome != trust.Honored {
		reached = nil
	}
	r.signature = s.addressed(r.signature, reached, list)
	return true
}

// otherWords: the card has an interface of a binding or version that is not spoken here, so one that might be good.
func (s *session) otherWords() bool {
	return slices.ContainsFunc(s.card.Interfaces, func(in card.Interface) bool {
		_, why := s.card.Use(in, card.Preference{})
		return why == trust.ReasonNoUsableInterface
	})
}

// confirmRefusal asks an endpoint that refuses its declared dialect again, on new connections and not before Timing.Repeat,
// and charges Streaming with it where that is declared (C35, C37), unless the card has further interfaces that were not asked.
func (r *round) confirmRefusal(ctx context.Context, s *session) {
	m := r.contact.refusal
	refusedWith := fmt.Sprintf("error %d", r.contact.code)
	o := trust.Observation{Capability: trust.Streaming, Explicit: true, Observed: []string{"GetTask:" + refusedWith, "send:" + refusedWith}}
	o = diverged(o, m.reason, m.basis, m.rule, m.text)
	if pause(ctx, s.timing.Repeat) {
		var again look
		s.again(func(fresh wire.Peer) bool {
			again = s.ping(ctx, fresh)
			return again.Code == r.contact.code
		})
		switch {
		case again.Code == r.contact.code:
			o.Confirmed, r.unusable, r.refusalStands = true, true, true
			o.Message += "; again on a new connection"
			o.Observed = append(o.Observed, "again:send:"+refusedWith)
		case again.Fail == nil:
			r.reach = unlearned(r.reach, trust.ReasonReplicaInconsistency, m.text+"; on a new connection it is otherwise")
			return
		}
	}
	if r.contact.others {
		r.reach = unlearned(trust.Observation{Rule: "C99"}, trust.ReasonNoUsableInterface,
			m.text+"; the card's other interfaces are of a binding, version or origin that is not used here")
		return
	}
	if r.job.Kind == trust.Behavior && r.asked(trust.Streaming) && r.declared(trust.Streaming) {
		r.observations = append(r.observations, o)
	}
}

func (r *round) asked(c trust.Capability) bool { return slices.Contains(r.job.Ask, c) }

func (r *round) declared(c trust.Capability) bool { return r.claims.Declared[c] == trust.Declared }

// inconclusive turns an observation into one from which nothing was learned, keeping its account.
func inconclusive(o trust.Observation, reason trust.Reason, message string) trust.Observation {
	o.Basis, o.Explicit, o.Confirmed, o.Pair = "", false, false, nil
	return unlearned(o, reason, message)
}

// cardWarnings are the card's own, and how it was found.
func (r *round) cardWarnings() []card.Warning {
	list := append(slices.Clone(r.fetched.card.Warnings), interfaceWarnings(r.interfaces)...)
	if r.fetched.legacy {
		list = append(list, card.LegacyCardPath)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (r *round) report(s *session) Report {
	rep := Report{
		Key:        r.job.Target.Key,
		Target:     r.job.Target.ID,
		Generation: r.job.Generation,
		ETag:       r.fetched.etag,
		Card:       r.fetched.card,
		Interfaces: r.interfaces,
		Orphans:    r.orphans,
		RetryAfter: r.contact.retry,
		Round: trust.Round{
			Number:       r.job.Round,
			Kind:         r.job.Kind,
			Unmarked:     r.job.Unmarked,
			Started:      r.started,
			Finished:     time.Now(),
			Claims:       r.claims,
			Reach:        r.reach,
			Usable:       !r.unusable,
			Observations: r.observations,
			Signature:    r.signature,
		},
	}
	if r.job.Kind == trust.Behavior {
		rep.Round.Asked = slices.Clone(r.job.Ask)
	}
	if r.fetched.card != nil {
		rep.CardWarnings = r.cardWarnings()
	}
	if r.contact.in != nil {
		rep.Interface = r.contact.in
		rep.WireGeneration = r.contact.generation
	}
	if s != nil {
		rep.Round.Tasks = s.ledger.spent()
		rep.RetryAfter = max(rep.RetryAfter, s.retry)
		if r.contact.refusal != nil && s.spoken != "" {
			rep.WireGeneration = s.spoken
		}
	}
	return rep
}

// panicked is the report of a round that a fault of ours ended: nothing was learned, and nobody is charged.
func (r *round) panicked() Report {
	r.observations = nil
	r.reach = unlearned(trust.Observation{}, trust.ReasonPanicked, "a fault of the prober's own ended this round")
	r.unusable = false
	return r.report(nil)
}

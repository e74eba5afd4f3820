package probe

import (
	"context"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// cardReads is how often the card is read again before a contradiction may demote, each time on a new connection. While a deploy is under
// way two versions answer in turn, and one read shows the old card as often as not.
const cardReads = 6

// refusals is how often a refusal is asked again, for the same reason. It costs a peer that refuses nothing.
const refusals = 3

// again asks for what was refused, each time on a new connection, for as long as it is refused.
func (s *session) again(refused func(fresh wire.Peer) bool) {
	for range refusals {
		fresh := s.fresh()
		stands := refused(fresh)
		fresh.Close()
		if !stands {
			return
		}
	}
}

// confirm reads the card afresh before a contradiction is reported that may demote: other claims, and nothing was learned (design 4.4), nor
// where the card does not come. A liar that withholds it then is not demoted, but has its trust lapse; a false demotion would be worse.
func (r *round) confirm(ctx context.Context, s *session) {
	var again *fetched
	for i, o := range r.observations {
		if !mayDemote(o, r.job.Doubt) {
			continue
		}
		if again == nil {
			f := r.readAgain(ctx, s)
			again = &f
		}
		switch {
		case again.card == nil:
			r.observations[i] = inconclusive(o, again.reason, o.Message+"; the card that came at first did not come again, to be sure: "+again.text)
		case again.card.Digest != r.claims.Digest:
			r.observations[i] = inconclusive(o, trust.ReasonCardChanged, o.Message+"; the card's claims changed meanwhile")
		}
	}
}

// readAgain reads the card again and again and returns the first reading that is not what the round began with, or the last. Cards that
// are slow are read less often, once at least.
func (r *round) readAgain(ctx context.Context, s *session) (f fetched) {
	for n, began := 0, time.Now(); n < cardReads; n++ {
		if n > 0 && time.Since(began) > cardBound(s.timing)/4 {
			break
		}
		c := s.client.Fresh()
		f = (&session{job: s.job, timing: s.timing, env: s.env, client: c}).fetchCard(ctx, "")
		c.Close()
		if f.card == nil || f.card.Digest != r.claims.Digest {
			break
		}
	}
	return f
}

// mayDemote: a contradiction that is confirmed or comes upon others, or a stream that fails beside a good control while they are compared.
func mayDemote(o trust.Observation, doubt []trust.Capability) bool {
	if o.Outcome == trust.Diverged && o.Explicit && o.Confirmed {
		return true
	}
	compared := o.Pair != nil && o.Pair.StreamFailed && !o.Pair.ControlFailed
	return slices.Contains(doubt, o.Capability) && (o.Outcome == trust.Diverged || compared)
}

package simulate

import (
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// key is a capability under one claim set.
type key struct {
	digest     string
	capability trust.Capability
}

// laws remember by themselves what was seen, and find what must not be.
type laws struct {
	policy trust.Policy
	// honored is when a capability was last seen to be honoured under a claim set.
	honored map[key]time.Time
	spent   []spending
	broken  []string
}

type spending struct {
	at    time.Time
	tasks int
}

const maxBroken = 20

func (w *laws) breaks(format string, args ...any) {
	if len(w.broken) < maxBroken {
		w.broken = append(w.broken, fmt.Sprintf(format, args...))
	}
}

// round checks what must hold after a round was folded.
func (w *laws) round(before, after trust.Peer, r *trust.Round, now time.Time) {
	for _, obs := range r.Observations {
		if obs.Outcome == trust.Honored {
			w.honored[key{after.Claims.Digest, obs.Capability}] = now
		}
	}
	w.evidence(after, now)
	w.budget(r.Tasks, now)
	w.soft(before, after, r)
}

// evidence: whatever is trusted was honoured under these claims within its time, and by a clock that is whole seconds behind at most.
func (w *laws) evidence(p trust.Peer, now time.Time) {
	for i := range p.Records {
		rec := &p.Records[i]
		if rec.State != trust.Trusted {
			continue
		}
		until := w.honored[key{p.Claims.Digest, rec.Capability}].Add(w.policy.Trust(rec.Capability))
		if !rec.Expiration.After(now) || rec.Expiration.After(until) {
			w.breaks("trust in %s until %s at %s outlives its evidence, which ends %s", rec.Capability, rec.Expiration.Sub(epoch), now.Sub(epoch), until.Sub(epoch))
		}
	}
}

// budget: no 24 h see more tasks than the budget.
func (w *laws) budget(tasks int, now time.Time) {
	if tasks == 0 {
		return
	}
	w.spent = append(w.spent, spending{now, tasks})
	for !w.spent[0].at.After(now.Add(-day)) {
		w.spent = w.spent[1:]
	}
	sum := 0
	for _, s := range w.spent {
		sum += s.tasks
	}
	if sum > w.policy.MaxTasksPerDay {
		w.breaks("%d tasks in the 24 h before %s, budget %d", sum, now.Sub(epoch), w.policy.MaxTasksPerDay)
	}
}

// soft: one contradiction that the peer does not state itself demotes nothing that was well, and none at all within two intervals of
// becoming reachable again or of a card change.
func (w *laws) soft(before, after trust.Peer, r *trust.Round) {
	for i := range after.Records {
		rec := &after.Records[i]
		was := find(before, rec.Capability)
		if rec.State != trust.Demoted || was != nil && was.State == trust.Demoted {
			continue
		}
		for _, obs := range r.Observations {
			if obs.Capability == rec.Capability && !(obs.Explicit && obs.Confirmed) && (was == nil || len(was.Recent) == 0 && was.Pairs.Since.IsZero()) {
				w.breaks("one contradiction demoted %s", rec.Capability)
			}
		}
		grace := 2 * w.policy.Interval
		if at := r.Finished; at.Sub(after.ClaimsSince) < grace || at.Sub(after.Rounds.ReachableSince) < grace {
			w.breaks("%s was demoted %s after a card change or an outage", rec.Capability, at.Sub(after.ClaimsSince))
		}
	}
}

// decision: no decision says Streaming without live trust, whenever it is read.
func (w *laws) decision(p trust.Peer, at time.Time) {
	d := trust.Decide(p, trust.DecideInput{Interval: w.policy.Interval}, at)
	if d.Path != trust.PathStreaming {
		return
	}
	if !w.honored[key{p.Claims.Digest, trust.Streaming}].Add(w.policy.Trust(trust.Streaming)).After(at) {
		w.breaks("the decision says Streaming at %s, which nobody has seen to work lately", at.Sub(epoch))
	}
	if !d.Expiration.After(at) {
		w.breaks("the decision at %s ran out at %s", at.Sub(epoch), d.Expiration.Sub(epoch))
	}
}

func find(p trust.Peer, c trust.Capability) *trust.Record {
	for i := range p.Records {
		if p.Records[i].Capability == c {
			return &p.Records[i]
		}
	}
	return nil
}

package client

import (
	"slices"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// answer is what readers of one Ref are told: immutable, found with one look, and right for every moment from from until its last step
// ends.
type answer struct {
	from moment
	// now is the first step, later are those after it.
	now   step
	later []step
	// A capability is trusted from the end of its hold until its trust ends. A hold of forever ends with a later verdict only.
	held, trusted [capabilities]moment
	refused       []string
	// of are the AgentPeers that it is about, by namespace and name.
	of []*facts
}

// at is the step that holds at a moment; nil where the answer has to be worked out anew.
func (a *answer) at(now moment) *step {
	if now < a.from {
		return nil
	}
	if now < a.now.until {
		return &a.now
	}
	for i := range a.later {
		if now < a.later[i].until {
			return &a.later[i]
		}
	}
	return nil
}

// answerOf lays what this process saw itself over the facts of one AgentPeer.
func answerOf(f *facts, held [capabilities]moment) *answer {
	a := &answer{held: held, trusted: f.trusted, refused: f.refused, of: []*facts{f}, now: f.steps[0], later: f.steps[1:]}
	if held == ([capabilities]moment{}) {
		return a
	}
	ends := make([]moment, 0, len(f.steps)+atPushNotifications+1)
	for i := range f.steps {
		ends = append(ends, f.steps[i].until)
	}
	for _, h := range held[:atPushNotifications+1] {
		if h > 0 && !slices.Contains(ends, h) {
			ends = append(ends, h)
		}
	}
	slices.Sort(ends)
	steps := make([]step, 0, len(ends))
	for _, end := range ends {
		// Each hold either lasts until end or longer, or was over when this step began.
		i := slices.IndexFunc(f.steps, func(s step) bool { return end <= s.until })
		steps = append(steps, step{end, demoted(f.steps[i].Decision, func(at int) bool { return held[at] >= end })})
	}
	a.now, a.later = steps[0], steps[1:]
	return a
}

// demoted is a decision without what is held against the peer.
func demoted(d Decision, held func(at int) bool) Decision {
	if held(atStreaming) && d.Path == v1alpha1.PathStreaming {
		d.Path, d.Reason = v1alpha1.PathSingleShot, ReasonDemotedHere
	}
	if held(atContinuation) {
		d.MultiTurn = v1alpha1.MultiTurnAllInputsUpfront
	}
	if held(atCancellation) {
		d.Cancel = v1alpha1.CancelBestEffort
	}
	if held(atPushNotifications) {
		d.Updates = v1alpha1.UpdatesPoll
	}
	return d
}

// worst is the answer for several AgentPeers that stand for one URL, from now until the first of them says something else.
func worst(all []*answer, now moment) *answer {
	out := &answer{held: all[0].held, trusted: all[0].trusted, now: step{until: forever}}
	for i, a := range all {
		s, from := a.span(now)
		out.from, out.now.until = max(out.from, from), min(out.now.until, s.until)
		if i == 0 {
			out.now.Decision = s.Decision
		} else {
			out.now.Decision = worse(out.now.Decision, s.Decision)
			for c := range out.held {
				out.held[c], out.trusted[c] = max(out.held[c], a.held[c]), min(out.trusted[c], a.trusted[c])
			}
		}
		out.of = append(out.of, a.of...)
		out.refused = append(out.refused, a.refused...)
	}
	slices.Sort(out.refused)
	out.refused = slices.Clip(slices.Compact(out.refused))
	return out
}

// span is the step that holds at a moment, and when it began.
func (a *answer) span(now moment) (s *step, from moment) {
	s = &a.now
	for i := 0; now >= s.until && i < len(a.later); i++ {
		from, s = s.until, &a.later[i]
	}
	return s, from
}

// worse takes the worse of each field, and the reason of the worse path.
func worse(a, b Decision) Decision {
	if rank(b.Path) > rank(a.Path) {
		a.Path, a.Reason = b.Path, b.Reason
	}
	if b.MultiTurn == v1alpha1.MultiTurnAllInputsUpfront {
		a.MultiTurn = b.MultiTurn
	}
	if b.Cancel == v1alpha1.CancelBestEffort {
		a.Cancel = b.Cancel
	}
	if b.Updates == v1alpha1.UpdatesPoll {
		a.Updates = b.Updates
	}
	if a.Expiration.IsZero() || !b.Expiration.IsZero() && b.Expiration.Before(a.Expiration) {
		a.Expiration = b.Expiration
	}
	a.Wait, a.Hard = min(a.Wait, b.Wait), min(a.Hard, b.Hard)
	return a
}

func rank(p v1alpha1.DecisionPath) int {
	switch p {
	case v1alpha1.PathStreaming:
		return 0
	case v1alpha1.PathUnavailable:
		return 2
	}
	return 1
}

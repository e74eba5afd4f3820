package trust

import (
	"slices"
	"time"
)

// enough tells whether the contradictions that a record remembers, the newest among them, suffice to demote
// (design 4.4): 2 of the last 3 conclusive rounds or 3 of the last 10, none older than 24 h. All of the last 3 where a
// single-shot control failed lately (AgentFlaky).
//
// Streaming is asked for more as soon as it was seen to work within the window: all of the last 3. A stream that works
// at times is the business of the paired comparison, which alone decides while it runs, because counting bad streams
// would demote agents that fail on every path.
func (f *fold) enough(rec *Record) bool { return f.next.enough(rec, f.policy, f.at) }

func (p Peer) enough(rec *Record, policy Policy, at time.Time) bool {
	if rec.Pairs.open() {
		return false
	}
	last := rec.contradictions(policy.DemoteOfLast, at)
	if p.flaky(rec) || rec.Capability == Streaming && rec.worked() {
		return last >= policy.DemoteOfLast
	}
	// A policy that asks for more than two of three asks for as many more in the long window.
	return last >= policy.DemoteDiverged || rec.contradictions(Window, at) > policy.DemoteDiverged && rec.Capability != Streaming
}

// soonAfter tells whether this round ended within the confirmation interval after another. Only rounds that somebody asked
// for do, and what two of them see is one incident seen twice: it counts once, so that whoever asks again and again after
// a first contradiction cannot confirm it sooner than the schedule would.
func (f *fold) soonAfter(before time.Time) bool {
	since := f.at.Sub(before)
	return !before.IsZero() && since >= 0 && since < f.policy.ConfirmInterval.Truncate(time.Second) // as precise as our times
}

// contradicted remembers a contradiction. One that was seen soon before is the same one, now seen last.
func (f *fold) contradicted(rec *Record, result Result) {
	i := slices.IndexFunc(rec.Recent, func(r Result) bool { return r.Outcome == Diverged })
	if i >= 0 && f.soonAfter(rec.Recent[i].Time) {
		result.Time = rec.Recent[i].Time
		result.ControlFailed = result.ControlFailed || rec.Recent[i].ControlFailed
		rec.Recent = slices.Delete(rec.Recent, i, i+1)
	}
	rec.push(result)
}

// contradictions counts those among the last n conclusive outcomes that are not too old to count.
func (r *Record) contradictions(n int, at time.Time) int {
	count := 0
	for _, result := range r.Recent[:min(len(r.Recent), n)] {
		if result.Outcome == Diverged && at.Sub(result.Time) <= day {
			count++
		}
	}
	return count
}

// suspected tells whether a contradiction waits to be confirmed or cleared: some, and not yet followed by enough
// honoured rounds that one more could not demote.
func (r *Record) suspected(policy Policy, at time.Time) bool {
	return r.State != Demoted && r.contradictions(policy.DemoteOfLast-1, at) > 0
}

// worked tells whether any remembered outcome was honoured.
func (r *Record) worked() bool {
	return slices.ContainsFunc(r.Recent, func(x Result) bool { return x.Outcome == Honored })
}

// flaky tells whether a control failed within the last ten behaviour rounds, or beside a remembered outcome: an agent
// that fails on every path now and then.
func (p Peer) flaky(rec *Record) bool {
	r := p.Rounds
	if r.ControlFailedAt > 0 && r.Behaviors-r.ControlFailedAt < Window {
		return true
	}
	return slices.ContainsFunc(rec.Recent, func(x Result) bool { return x.ControlFailed })
}

// Doubt lists, sorted, the capabilities that one more soft contradiction would demote: before it is reported the card
// is fetched afresh (design 4.4).
func Doubt(p Peer, policy Policy, now time.Time) []Capability {
	if now.Before(graceEnd(p, policy)) {
		return nil
	}
	var out []Capability
	for _, rec := range p.Records {
		if rec.State == Demoted || !rec.owed() {
			continue
		}
		rec.Recent = slices.Clone(rec.Recent)
		rec.push(Result{Outcome: Diverged, Time: now})
		if p.enough(&rec, policy, now) || rec.Pairs.open() && rec.Pairs.Score+scoreStreamOnly >= ScoreDemotes {
			out = append(out, rec.Capability)
		}
	}
	return out
}

package trust

import (
	"slices"
	"time"
)

// enough tells whether the contradictions that a record remembers, the newest among them, suffice to demote
// (design 4.4): 2 of the last 3 conclusive rounds or 3 of the last 10, none older than 24 h. All of the last 3 where a
// single-shot control failed lately (AgentFlaky), and for streams that the agent's own failing would excuse: three in a row
// are needed to tell them from an agent that fails on every path. What works at times is the business of the
// comparison, which alone decides while it runs.
func (f *fold) enough(rec *Record) bool { return f.next.enough(rec, f.policy, f.at) }

func (p Peer) enough(rec *Record, policy Policy, at time.Time) bool {
	if rec.Pairs.open() {
		return false
	}
	if rec.contradictions(policy.DemoteOfLast, at) >= policy.DemoteOfLast {
		return true
	}
	if p.flaky(rec) {
		return false
	}
	count := rec.contradictions
	if rec.Capability == Streaming {
		count = rec.unexcused
	}
	// A policy that asks for more than two of three asks for as many more in the long window.
	return count(policy.DemoteOfLast, at) >= policy.DemoteDiverged || count(Window, at) > policy.DemoteDiverged
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
		result.Unexcused = result.Unexcused && rec.Recent[i].Unexcused
		rec.Recent = slices.Delete(rec.Recent, i, i+1)
	}
	rec.push(result)
}

// contradictions counts those among the last n conclusive outcomes that are not too old to count.
func (r *Record) contradictions(n int, at time.Time) int { return r.count(n, at, false) }

// unexcused counts those of the contradictions that no failing of the agent explains.
func (r *Record) unexcused(n int, at time.Time) int { return r.count(n, at, true) }

func (r *Record) count(n int, at time.Time, unexcused bool) int {
	count := 0
	for _, result := range r.Recent[:min(len(r.Recent), n)] {
		if result.Outcome == Diverged && at.Sub(result.Time) <= day && (result.Unexcused || !unexcused) {
			count++
		}
	}
	return count
}

// suspected tells whether a contradiction waits to be confirmed or cleared: some, and not yet followed by enough
// honoured rounds that one more could not demote.
func (r *Record) suspected(policy Policy, at time.Time) bool {
	return !r.condemned() && r.contradictions(policy.DemoteOfLast-1, at) > 0
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
		if rec.condemned() || !rec.owed() {
			continue
		}
		rec.Recent = slices.Clone(rec.Recent)
		rec.push(Result{Outcome: Diverged, Time: now, Unexcused: true})
		if p.enough(&rec, policy, now) || rec.Pairs.open() && rec.Pairs.Score+rec.Pairs.worst() >= rec.Pairs.decides() {
			out = append(out, rec.Capability)
		}
	}
	return out
}

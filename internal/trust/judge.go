package trust

import (
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// observe folds what one probe saw into the record of its capability.
func (f *fold) observe(obs Observation) {
	rec := f.record(obs.Capability)
	again := f.soonAfter(rec.LastTime)
	rec.LastOutcome, rec.LastReason, rec.LastTime = obs.Outcome, obs.Reason, f.at
	rec.ProbedWith = bounded(obs.ProbedWith, maxKeys, maxKey)
	if obs.Outcome == Honored || obs.Outcome == Diverged {
		rec.RefusedModes = bounded(obs.RefusedModes, MaxRefusedModes, maxMode)
	}
	if obs.DeliveredTo != "" {
		rec.DeliveredTo = cut(obs.DeliveredTo, maxReceiver)
	}
	if obs.Outcome != Honored && obs.Outcome != Diverged {
		rec.LastOutcome = Inconclusive
	}
	if !rec.owed() {
		f.undeclared(rec, obs)
		return
	}
	if f.round.Unmarked && rec.LastOutcome == Diverged {
		obs.Warnings = append([]Reason{WarnProbedUnmarked}, obs.Warnings...)
	}
	f.compare(rec, obs, again)
	switch {
	case rec.LastOutcome == Honored:
		f.honored(rec, obs, again)
	case rec.LastOutcome == Inconclusive:
		f.inconclusive(rec, obs)
	case f.charged(obs):
		f.diverged(rec, obs)
	default:
		f.warned(rec, obs)
	}
	if f.round.Reach.Outcome == Inconclusive && !f.policy.SkipReachability {
		return // still due: no behaviour round starts before the peer is reachable again
	}
	due := rec.NextProbe
	rec.NextProbe = f.at.Add(f.gap(rec))
	if f.round.Reported && rec.LastOutcome == Inconclusive && rec.State != Demoted && rec.NextProbe.Before(due) {
		rec.NextProbe = due // it was not due: whoever only reports brings no more rounds than that one
	}
}

// undeclared: no penalty and no promotion, but if it works all the same, say so.
func (f *fold) undeclared(rec *Record, obs Observation) {
	rec.Warnings = nil
	if rec.Declared == "" {
		rec.Reason = obs.Reason // no card was ever read; say why
	}
	if obs.Outcome == Honored && rec.Capability != StateTransitionHistory {
		rec.Warnings = []Reason{WarnUndeclaredButWorks}
	}
}

// honored renews trust, earns it, or counts towards the end of a demotion: a clean round soon after another (again) is the same
// good moment seen twice, so that whoever asks again and again cannot lift a demotion sooner than the schedule would.
func (f *fold) honored(rec *Record, obs Observation, again bool) {
	rec.push(Result{Outcome: Honored, ControlFailed: obs.ControlFailed})
	rec.Honored = later(rec.Honored, f.began)
	if rec.provisional() {
		if !f.began.After(rec.Reports.Newest) {
			return // what was reported was seen later
		}
		rec.Reports.Lifted = f.began
	}
	if !rec.condemned() {
		if f.at.Sub(rec.Reports.Lifted) >= day {
			rec.Reports = Reports{}
		}
		f.trust(rec)
		if !rec.suspected(f.policy, f.at) && !rec.Pairs.undecided() {
			rec.account(obs, obs.Warnings)
		}
		return
	}
	if rec.Clean == 0 || !again {
		rec.Clean++
	}
	if rec.Clean < f.policy.RestoreAfter || f.at.Before(rec.DemotedUntil) {
		return
	}
	first := !rec.Relapsed && !f.next.ClaimsSince.After(rec.Transition) && !rec.disagreeing()
	if rec.disagreeing() {
		rec.Reports.Lifted = f.began
	}
	rec.Recent = slices.DeleteFunc(rec.Recent, func(r Result) bool { return r.Outcome == Diverged })
	rec.Clean, rec.Relapsed, rec.DemotedUntil, rec.GoodSince = 0, false, time.Time{}, f.at
	f.trust(rec)
	f.transitions[len(f.transitions)-1].FirstReprobe = first
	rec.account(obs, obs.Warnings)
}

// trust is given or renewed. A day of good conduct pays off one demotion.
func (f *fold) trust(rec *Record) {
	f.become(rec, Trusted, ReasonHonored)
	rec.Expiration = f.at.Add(f.policy.Trust(rec.Capability))
	if rec.Demotions > 0 && f.at.Sub(rec.GoodSince) >= day {
		rec.Demotions--
		rec.GoodSince = f.at
	}
	if rec.Demotions == 0 {
		rec.GoodSince = time.Time{}
	}
}

// inconclusive moves no streak: it only ages what is known, and says why nothing was learned.
func (f *fold) inconclusive(rec *Record, obs Observation) {
	if f.comparisonDemotes(rec, obs) {
		f.demote(rec, obs, rec.Pairs.reason(obs))
		return
	}
	if rec.State == Demoted || rec.suspected(f.policy, f.at) {
		return
	}
	if rec.State == Unverified {
		rec.Reason = obs.Reason
	}
	warnings := obs.Warnings
	if obs.Reason == ReasonStreamIntermittent {
		warnings = append([]Reason{obs.Reason}, warnings...)
	}
	rec.account(obs, warnings)
}

// diverged counts a contradiction that may cost trust.
func (f *fold) diverged(rec *Record, obs Observation) {
	f.contradicted(rec, Result{Outcome: Diverged, Reason: obs.Reason, Time: f.at, ControlFailed: obs.ControlFailed,
		Unexcused: obs.unexcused()})
	if rec.Demotions > 0 {
		rec.GoodSince = f.at
	}
	if rec.condemned() {
		rec.Clean, rec.Relapsed, rec.Reason, rec.Source = 0, true, obs.Reason, ""
		rec.account(obs, append([]Reason{obs.Reason}, obs.Warnings...))
		return
	}
	explicit := obs.Explicit && obs.Confirmed
	if (explicit || f.enough(rec) || f.comparisonDemotes(rec, obs)) && !f.grace() {
		f.demote(rec, obs, obs.Reason)
		return
	}
	if rec.State == Unverified {
		rec.Reason = obs.Reason
	}
	warnings := append([]Reason{obs.Reason}, obs.Warnings...)
	if f.next.flaky(rec) {
		warnings = append(warnings, ReasonAgentFlaky)
	}
	rec.account(obs, warnings)
}

// warned: a divergence whose basis cannot demote. It counts for nothing; live trust runs on, unrenewed, and what is
// Unverified stays so with the reason.
func (f *fold) warned(rec *Record, obs Observation) {
	if rec.State == Demoted || rec.suspected(f.policy, f.at) {
		return
	}
	if rec.State == Unverified {
		rec.Reason = obs.Reason
	}
	rec.account(obs, append([]Reason{obs.Reason}, obs.Warnings...))
}

// demote ends trust. Each demotion lasts at least twice as long as the one before it.
func (f *fold) demote(rec *Record, obs Observation, reason Reason) {
	if rec.provisional() { // until now by reports; now it is the probes' own
		f.transitions = append(f.transitions, Transition{Capability: rec.Capability, From: Demoted, To: Demoted, Reason: reason})
	}
	f.become(rec, Demoted, reason)
	rec.Demotions = min(rec.Demotions+1, maxDemotions)
	rec.DemotedUntil = f.at.Add(f.policy.demotion(rec.Demotions))
	rec.GoodSince = f.at
	rec.Clean, rec.Relapsed, rec.Pairs = 0, false, Pairs{}
	rec.account(obs, append([]Reason{reason}, obs.Warnings...))
}

// charged tells whether a divergence may cost trust at all: by its basis, and not on a 0.x card without capabilities,
// whose core behaviours only warn.
func (f *fold) charged(obs Observation) bool {
	if obs.Basis != lifecycle.Card && obs.Basis != lifecycle.Protocol {
		return false
	}
	return !(obs.Capability.Core() && f.next.Claims.Legacy && f.next.Claims.NoCapabilities)
}

// grace tells whether this round falls within two intervals of a claims change or of becoming reachable again.
// Contradictions are remembered all the same; the first one after that time acts on all that still count.
func (f *fold) grace() bool { return f.at.Before(graceEnd(f.next, f.policy)) }

func graceEnd(p Peer, policy Policy) time.Time {
	since := p.ClaimsSince
	if p.Rounds.ReachableSince.After(since) {
		since = p.Rounds.ReachableSince
	}
	if since.IsZero() {
		return since
	}
	return since.Add(graceIntervals * policy.Interval)
}

// Bounds of what a record keeps for people to read.
const (
	maxKeys, maxKey      = 8, 64
	maxSeen, maxSeenWord = 16, 64
	maxWarnings          = 8
	maxMessage, maxRule  = 256, 64
	maxDemotions         = 16
	maxMode              = 127
	maxReceiver          = 64
)

// account keeps the evidence of an observation where something is demoted or warned, and drops it where all is well.
func (r *Record) account(obs Observation, warnings []Reason) {
	r.Warnings, r.Message, r.Observed, r.Rule = nil, "", nil, ""
	for _, w := range warnings {
		if len(r.Warnings) < maxWarnings && !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
	if len(r.Warnings) == 0 {
		return
	}
	r.Message, r.Rule = cut(obs.Message, maxMessage), cut(obs.Rule, maxRule)
	r.Observed = bounded(obs.Observed, maxSeen, maxSeenWord)
}

// push remembers a conclusive outcome, newest first.
func (r *Record) push(result Result) {
	r.Recent = slices.Insert(r.Recent, 0, result)
	r.Recent = r.Recent[:min(len(r.Recent), Window)]
}

func bounded(in []string, most, length int) []string {
	var out []string
	for _, s := range in[:min(len(in), most)] {
		out = append(out, cut(s, length))
	}
	return out
}

// cut shortens s to at most n bytes without splitting a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

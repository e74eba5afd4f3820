package trust

import "time"

// gap is how long after this round a capability wants to be asked again.
func (f *fold) gap(rec *Record) time.Duration {
	p, confirm := f.policy, f.policy.ConfirmInterval
	cadence := p.Cadence(rec.Capability)
	switch {
	case rec.provisional() && rec.LastOutcome != Inconclusive:
		return confirm // a clean round that began too early, or a contradiction that confirms what was reported
	case rec.State == Demoted:
		return f.reprobe(rec)
	case f.unstable: // no early rounds
		return cadence
	case rec.LastReason == ReasonNoFixture, rec.LastReason == ReasonNoCredentials:
		return cadence
	case rec.Pairs.undecided():
		return confirm
	case rec.suspected(p, f.at):
		return f.confirm(rec)
	case rec.LastOutcome == Honored, rec.LastOutcome == Diverged:
		return cadence
	case rec.State == Trusted:
		// A quarter of the time that is left, again and again: some ten tries before trust runs out.
		return within(rec.Expiration.Sub(f.at)/4, confirm, cadence)
	}
	// Nothing learned and no trust to lose: try again after as long as this has lasted, ever more rarely.
	first, rarest := p.Interval, cadence
	if rec.Capability == Streaming {
		first = confirm
	}
	if rec.LastReason.wantsCredentials() {
		rarest = max(day, cadence)
	}
	return within(f.at.Sub(rec.Transition), first, rarest)
}

// confirm is when a contradiction is looked at again: soon; when nothing may be demoted yet although there is enough, at
// the end of that time; ever more rarely while nothing is learned.
func (f *fold) confirm(rec *Record) time.Duration {
	soon, cadence := f.policy.ConfirmInterval, f.policy.Cadence(rec.Capability)
	if rec.LastOutcome == Inconclusive {
		return within(f.at.Sub(rec.newest(Diverged)), soon, cadence)
	}
	if f.grace() && f.enough(rec) {
		return within(graceEnd(f.next, f.policy).Sub(f.at), soon, cadence)
	}
	return soon
}

// reprobe is when a demoted capability is asked again: after as long as the demotion has lasted, between the least and
// the greatest demotion time; soon after a clean round, but a round that could lift no earlier than it may.
func (f *fold) reprobe(rec *Record) time.Duration {
	p := f.policy
	if rec.Clean > 0 {
		soon := p.ConfirmInterval
		if rec.LastOutcome == Inconclusive {
			soon = max(p.Interval/4, soon)
		}
		if rec.Clean >= p.RestoreAfter {
			soon = max(soon, rec.DemotedUntil.Sub(f.at))
		}
		return soon
	}
	since := rec.Transition
	if f.next.ClaimsSince.After(since) {
		since = f.next.ClaimsSince
	}
	return within(f.at.Sub(since), max(p.MinDemotion, p.ConfirmInterval), max(p.MinDemotion, p.MaxDemotion, p.ConfirmInterval))
}

// newest is when an outcome was last remembered.
func (r *Record) newest(o Outcome) time.Time {
	for _, result := range r.Recent {
		if result.Outcome == o {
			return result.Time
		}
	}
	return time.Time{}
}

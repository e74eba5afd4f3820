package trust

import "time"

// Decide computes the decision from what is known at now (design 3).
//
// Precedence, highest first: signature policy, override, confirmed demotion, report, trust, card. What stands before
// demotion comes in from outside and is laid over this decision by whoever knows it, except for the signature policy, which comes first
// in mode Observe too. Where what is known is baseless, nothing of it counts in any mode.
func Decide(p Peer, in DecideInput, now time.Time) Decision {
	if in.Baseless != "" {
		d := unproven(PathSingleShot, in.Baseless)
		if in.RequireSignature {
			d.Path = PathUnavailable
		}
		return d
	}
	d := decide(p, in, now)
	if !in.RequireSignature {
		return d
	}
	if why := p.Signature.Unmet(now); why != "" {
		none := unproven(PathUnavailable, why)
		if in.Observe {
			would := none
			none.Would = &would
		}
		return none
	}
	d.until(p.Signature.Expiration)
	return d
}

// unproven is what holds where nothing is trusted.
func unproven(path Path, why Reason) Decision {
	return Decision{Path: path, MultiTurn: AllInputsUpfront, Cancel: BestEffort, Updates: Poll, Reason: why}
}

func decide(p Peer, in DecideInput, now time.Time) Decision {
	if in.Observe {
		would := judge(&p, in, now)
		d := observed(&p, would)
		d.Would = &would
		return d
	}
	return judge(&p, in, now)
}

// judge is the decision of mode Enforce.
func judge(p *Peer, in DecideInput, now time.Time) Decision {
	d := unproven(PathSingleShot, "")
	since := now.Add(-graceIntervals * in.interval())
	if reason := p.unavailable(); reason != "" {
		d.Path, d.Reason = PathUnavailable, reason
		return d
	}
	streaming, unsettled := p.live(Streaming, since, now)
	d.Reason = ReasonStreamingTrusted
	if streaming.IsZero() {
		d.Reason = p.whySingleShot(unsettled, now)
	} else {
		d.Path = PathStreaming
		d.until(streaming)
	}
	if at, _ := p.live(Continuation, since, now); !at.IsZero() {
		d.MultiTurn = Interactive
		d.until(at)
	}
	if at, _ := p.live(Cancellation, since, now); !at.IsZero() {
		d.Cancel = Reliable
		d.until(at)
	}
	if at, _ := p.live(PushNotifications, since, now); !at.IsZero() {
		d.Updates = Push
		d.until(at)
	}
	return d
}

// observed is what mode Observe says: the card's word, whatever was seen. A card that names no interface we can use
// names nothing to decide on.
func observed(p *Peer, would Decision) Decision {
	d := Decision{Path: PathSingleShot, MultiTurn: Interactive, Cancel: Reliable, Updates: Poll, Reason: ReasonObserveOnly}
	if p.Claims.declared(Streaming) == Declared {
		d.Path = PathStreaming
	}
	if p.Claims.declared(PushNotifications) == Declared {
		d.Updates = Push
	}
	if would.Path == PathUnavailable && !p.Rounds.Usable {
		d.Path = PathUnavailable
	}
	return d
}

// unavailable: no usable interface stands on a valid card, every A2A method is refused and that was confirmed, or the only
// interfaces left were confirmed to speak another generation than the card says.
func (p *Peer) unavailable() Reason {
	if !p.Rounds.Usable && p.Rounds.UsableReason == ReasonNoUsableInterface {
		return ReasonNoUsableInterface
	}
	for i := range p.Records {
		r := &p.Records[i]
		if r.State == Demoted && (r.Reason == ReasonMethodNotFound || r.Reason == ReasonProtocolGenerationMismatch && !p.Rounds.Usable) {
			return r.Reason
		}
	}
	return ""
}

// live is until when a capability is trusted: the earliest end of trust over all claim sets seen since then, zero if any
// of them is not trusted. unsettled says that only another claim set stood in the way.
func (p *Peer) live(c Capability, since, now time.Time) (until time.Time, unsettled bool) {
	rec := p.record(c)
	if rec == nil || rec.State != Trusted || !rec.Expiration.After(now) {
		return time.Time{}, false
	}
	until = rec.Expiration
	for i := range p.Digests {
		d := &p.Digests[i]
		if d.Digest == p.Claims.Digest || d.LastSeen.Before(since) {
			continue
		}
		h, ok := d.live(c, now)
		if !ok {
			return time.Time{}, true
		}
		if h.Expiration.Before(until) {
			until = h.Expiration
		}
	}
	return until, false
}

// whySingleShot names what keeps the caller off the stream.
func (p *Peer) whySingleShot(unsettled bool, now time.Time) Reason {
	rec := p.record(Streaming)
	switch {
	case unsettled:
		return ReasonClaimsUnsettled
	case rec != nil && rec.State == Demoted:
		return ReasonStreamingDemoted
	case rec != nil && rec.Declared == NotDeclared:
		return ReasonNotDeclared
	case p.Rounds.ReachFailures >= UnreachableAfter, p.Rounds.ReachFailures > 0 && p.Claims.Digest == "":
		return p.Rounds.ReachReason
	case rec != nil && rec.expired(now):
		return ReasonTrustExpired
	case rec != nil && rec.Reason != "" && rec.Reason != ReasonNotExercised:
		return rec.Reason
	case p.Rounds.Last == 0:
		return ReasonNotProbed
	case p.Rounds.ReachFailures > 0 && p.Rounds.ReachReason != "":
		return p.Rounds.ReachReason
	}
	return ReasonStreamingUnverified
}

func (p *Peer) record(c Capability) *Record {
	for i := range p.Records {
		if p.Records[i].Capability == c {
			return &p.Records[i]
		}
	}
	return nil
}

func (d *Decision) until(at time.Time) {
	if d.Expiration.IsZero() || at.Before(d.Expiration) {
		d.Expiration = at
	}
}

func (in DecideInput) interval() time.Duration {
	if in.Interval > 0 {
		return in.Interval
	}
	return time.Hour
}

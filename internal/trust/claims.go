package trust

import (
	"maps"
	"slices"
	"time"
)

// cardCapabilities are those that a card declares and we grade; each has a record as soon as a card was read.
var cardCapabilities = []Capability{ExtendedAgentCard, PushNotifications, Streaming}

// claims takes in the card of a round. A changed digest is a new claim (design 4.7); no card changes nothing.
func (f *fold) claims() {
	c, p := f.round.Claims, &f.next
	switch {
	case c.Digest == "":
		return
	case p.Claims.Digest == "": // first sight: no change, hence no FirstSeen and no grace
		p.Digests = []Digest{{Digest: c.Digest, LastSeen: f.at}}
	case p.Claims.Digest != c.Digest:
		f.remember(c.Digest)
		defer f.reclaim()
	default:
		f.seen(c.Digest)
	}
	p.Claims = c.clone()
	f.declare()
}

// seen dates the current claim set.
func (f *fold) seen(digest string) {
	for i := range f.next.Digests {
		if f.next.Digests[i].Digest == digest {
			f.next.Digests[i].LastSeen = f.at
		}
	}
}

// remember puts the claim set that goes away and the one that comes at the head of the memory.
func (f *fold) remember(digest string) {
	p := &f.next
	f.seen(p.Claims.Digest) // it stood until now
	current := Digest{Digest: digest, FirstSeen: f.at}
	var rest []Digest
	for _, d := range p.Digests {
		switch {
		case d.Digest == digest:
			current = d
		case d.Digest == p.Claims.Digest:
			d.Held = held(p.Records, f.at)
			rest = append(rest, d)
		case d.LastSeen.After(f.at.Add(-day)) || slices.ContainsFunc(d.Held, func(h Held) bool { return h.Expiration.After(f.at) }):
			rest = append(rest, d)
		}
	}
	current.LastSeen = f.at
	slices.SortStableFunc(rest, func(a, b Digest) int { return b.LastSeen.Compare(a.LastSeen) })
	p.Digests = append([]Digest{current}, rest...)
	p.Digests = p.Digests[:min(len(p.Digests), MaxDigests)]
	p.ClaimsSince = f.at
	p.Rounds.MessageOnly = 0
}

// held is what would count for a claim set that comes back.
func held(records []Record, at time.Time) []Held {
	var out []Held
	for _, r := range records {
		if r.State == Demoted || r.State == Trusted && r.Expiration.After(at) {
			out = append(out, Held{Capability: r.Capability, State: r.State, Expiration: r.Expiration})
		}
	}
	return out
}

// reclaim judges every record under claims that took the place of others: what was Trusted is Unverified unless the
// new claims were themselves judged and their trust still runs; what was Demoted stays so until it passes, but need not wait.
// Old evidence is about the old claims and goes.
func (f *fold) reclaim() {
	reason, early := ReasonCardChanged, true
	if unstable(f.next, f.at) {
		reason, early = ReasonCardUnstable, false
	}
	current := &f.next.Digests[0]
	for i := range f.next.Records {
		rec := &f.next.Records[i]
		if !rec.owed() {
			continue
		}
		rec.Recent, rec.Pairs, rec.Clean, rec.DeliveredTo = nil, Pairs{}, 0, ""
		was := rec.NextProbe
		if early {
			rec.NextProbe = time.Time{}
		}
		if rec.State == Demoted {
			rec.DemotedUntil = time.Time{}
			continue
		}
		rec.Reports = Reports{} // what was reported was of the other claims
		rec.Warnings, rec.Message, rec.Observed, rec.Rule, rec.RefusedModes = nil, "", nil, "", nil
		if h, ok := current.live(rec.Capability, f.at); ok {
			if rec.State != Trusted {
				f.become(rec, Trusted, ReasonClaimsReturned)
			}
			rec.Expiration, rec.NextProbe = h.Expiration, was
			continue
		}
		f.become(rec, Unverified, reason)
	}
	current.Held = nil // the records hold it now
}

// declare brings every record's declaration up to date. What is no longer declared is neither trusted nor demoted.
func (f *fold) declare() {
	claims := f.next.Claims
	for _, c := range cardCapabilities {
		f.record(c)
	}
	if claims.declared(StateTransitionHistory) == Declared {
		f.record(StateTransitionHistory)
	}
	for i := range f.next.Records {
		rec := &f.next.Records[i]
		if rec.Capability.Core() {
			continue
		}
		was := rec.Declared
		rec.Declared = claims.declared(rec.Capability)
		switch {
		case rec.Capability == StateTransitionHistory:
			rec.Reason = ReasonUnverifiable
		case rec.Declared == NotDeclared:
			f.become(rec, Unverified, ReasonNotDeclared)
			if was == Declared {
				*rec = Record{Capability: rec.Capability, Declared: NotDeclared, State: Unverified, Reason: ReasonNotDeclared,
					Transition: rec.Transition, Demotions: rec.Demotions, GoodSince: rec.GoodSince}
			}
		case was != Declared:
			rec.Reason, rec.NextProbe, rec.Warnings = ReasonNotExercised, time.Time{}, nil
		}
	}
}

// live finds remembered trust that still runs.
func (d *Digest) live(c Capability, at time.Time) (Held, bool) {
	for _, h := range d.Held {
		if h.Capability == c && h.State == Trusted && h.Expiration.After(at) {
			return h, true
		}
	}
	return Held{}, false
}

// unstable tells whether more than three new claim sets came up within 24 h.
func unstable(p Peer, at time.Time) bool {
	fresh := 0
	for _, d := range p.Digests {
		if d.FirstSeen.After(at.Add(-day)) {
			fresh++
		}
	}
	return fresh > MaxNewDigests
}

// declared is empty as long as no card was read: what nobody has said is neither declared nor not.
func (c Claims) declared(name Capability) Declaration {
	if c.Digest == "" {
		return ""
	}
	if c.Declared[name] == Declared {
		return Declared
	}
	return NotDeclared
}

func (c Claims) clone() Claims {
	c.Declared = maps.Clone(c.Declared)
	return c
}

package trust

import (
	"slices"
	"time"
)

// Truth is the status of a fact, spelt as the conditions of Kubernetes spell it.
type Truth string

// The three truths.
const (
	True    Truth = "True"
	False   Truth = "False"
	Unknown Truth = "Unknown"
)

// Fact is one sentence about a peer, for conditions.
type Fact struct {
	Status Truth
	// Capability that decided, the first by name; empty if none did.
	Capability Capability
	Reason     Reason
}

// AllTrusted tells whether every declared or required capability is trusted at now (design 4.11): False if any of them
// is Demoted, True if all have live trust, else Unknown. A capability that cannot be asked for want of a fixture or of
// credentials does not count, unless it is required.
func AllTrusted(p Peer, required []Capability, now time.Time) Fact {
	wanted := slices.Clone(required)
	for i := range p.Records {
		if r := &p.Records[i]; r.Declared == Declared && r.owed() && !r.unaskable() {
			wanted = append(wanted, r.Capability)
		}
	}
	switch {
	case len(wanted) > 0:
	case p.Claims.Digest != "":
		return Fact{Status: Unknown, Reason: ReasonNothingDeclared}
	default:
		return Fact{Status: Unknown, Reason: p.unread(ReasonNotProbed)}
	}
	return p.fact(wanted, now, ReasonAllTrusted, func(r Record) bool { return r.State == Demoted })
}

// unaskable: the question needs a message, or credentials, that nobody has configured.
func (r *Record) unaskable() bool {
	return r.Reason == ReasonNoFixture || r.Reason == ReasonNoCredentials || r.Reason == ReasonPushReceiverMissing
}

// Requirements tells whether every required capability has live trust: False names the first that is Demoted or not
// declared, Unknown the first that is still Unverified. Nothing required is True. As long as no card was read nothing is
// refuted.
func Requirements(p Peer, required []Capability, now time.Time) Fact {
	return p.fact(required, now, ReasonRequirementsMet, func(r Record) bool {
		return r.State == Demoted || r.Declared == NotDeclared
	})
}

// fact is False for the first capability that is refuted, else Unknown for the first without live trust, else True.
func (p Peer) fact(wanted []Capability, now time.Time, met Reason, refuted func(Record) bool) Fact {
	wanted = slices.Clone(wanted)
	slices.Sort(wanted)
	fact := Fact{Status: True, Reason: met}
	for _, c := range wanted {
		rec, known := p.find(c)
		switch {
		case known && refuted(rec):
			return Fact{Status: False, Capability: c, Reason: rec.Reason}
		case fact.Status == Unknown || known && rec.State == Trusted && !rec.expired(now):
		case !known:
			fact = Fact{Status: Unknown, Capability: c, Reason: p.unread(ReasonNotExercised)}
		case rec.expired(now):
			fact = Fact{Status: Unknown, Capability: c, Reason: ReasonTrustExpired}
		default:
			fact = Fact{Status: Unknown, Capability: c, Reason: p.unread(rec.Reason)}
		}
	}
	return fact
}

// unread is why no card was ever read, as the last round has it, and otherwise if one was or if no round failed.
func (p Peer) unread(otherwise Reason) Reason {
	if p.Claims.Digest == "" && p.Rounds.ReachFailures > 0 && p.Rounds.ReachReason != "" {
		return p.Rounds.ReachReason
	}
	return otherwise
}

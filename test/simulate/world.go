package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// span is a time in which something is so.
type span struct{ from, to time.Time }

func (s span) holds(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

// events are what happens in one life, drawn before it begins.
type events struct {
	outages, canaries []span
	deploys, requests []time.Time
	flaps             bool
	readings          int
}

func happen(w world, rng *rand.Rand, from, to time.Time) events {
	e := events{flaps: w.flaps, deploys: moments(rng, w.deploys, from, to), requests: moments(rng, w.requests, from, to)}
	for _, at := range moments(rng, w.outages, from, to) {
		e.outages = append(e.outages, span{at, at.Add(time.Duration(rng.Float64() * float64(w.outageFor)))})
	}
	for _, at := range moments(rng, w.canaries, from, to) {
		e.canaries = append(e.canaries, span{at, at.Add(time.Hour)})
	}
	return e
}

// moments come perDay times a day on average, each independent of the others.
func moments(rng *rand.Rand, perDay float64, from, to time.Time) (out []time.Time) {
	if perDay <= 0 {
		return nil
	}
	for at := from; ; {
		at = at.Add(time.Duration(rng.ExpFloat64() / perDay * float64(day)))
		if !at.Before(to) {
			return out
		}
		out = append(out, at)
	}
}

func (e *events) down(at time.Time) bool {
	return slices.ContainsFunc(e.outages, func(s span) bool { return s.holds(at) })
}

// digest of the card that is read at that time.
func (e *events) digest(at time.Time) string {
	version := 0
	for _, d := range e.deploys {
		if !d.After(at) {
			version++
		}
	}
	e.readings++
	if (e.flaps || slices.ContainsFunc(e.canaries, func(s span) bool { return s.holds(at) })) && e.readings%2 == 0 {
		return fmt.Sprintf("sha256:%d+", version)
	}
	return fmt.Sprintf("sha256:%d", version)
}

// next is the first moment after now at which a cheap round would find something else than it found at now.
func (e *events) next(now time.Time) (first time.Time) {
	sooner := func(at time.Time) {
		if at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, s := range slices.Concat(e.outages, e.canaries) {
		sooner(s.from)
		if s.holds(now) {
			sooner(now.Add(time.Nanosecond))
		}
	}
	for _, d := range e.deploys {
		sooner(d)
	}
	for _, r := range e.requests {
		sooner(r)
	}
	if e.flaps {
		sooner(now.Add(time.Nanosecond))
	}
	return first
}

// declared by every card of the simulation: all that can be.
func claims(digest string) trust.Claims {
	return trust.Claims{Digest: digest, Declared: map[trust.Capability]trust.Declaration{
		trust.Streaming: trust.Declared, trust.PushNotifications: trust.Declared, trust.ExtendedAgentCard: trust.Declared,
	}}
}

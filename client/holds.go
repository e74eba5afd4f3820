package client

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// How long a Demote holds at least, and how long it can grow to.
const (
	minHold = time.Minute
	maxHold = time.Hour
	// forgiveAfter an hour without another one, the next hold is half as long.
	forgiveAfter = time.Hour
)

// holds remember what this process saw peers break. The cache guards them with its own lock.
type holds map[types.NamespacedName]*peerHolds

// peerHolds are about one target of one AgentPeer.
type peerHolds struct {
	uid    types.UID
	target string
	of     [capabilities]hold
}

// hold is one capability's. The zero hold is none.
type hold struct {
	// since is when the peer was last seen to break its word, until the end of the hold-down.
	since, until moment
	length       time.Duration
}

// demote begins a hold, or renews one. What is seen within one hold-down counts as one: it comes from work that was under way when the
// first was seen.
func (h holds) demote(f *facts, at int, now moment) {
	p := h[f.name]
	if p == nil || !p.about(f) {
		p = &peerHolds{uid: f.uid, target: f.target}
		h[f.name] = p
	}
	held := &p.of[at]
	if now >= held.until {
		quiet := time.Duration(now - held.since)
		held.length = max(minHold, min(maxHold, forgiven(held.length, quiet)*2))
	}
	held.since, held.until = now, now+int64(held.length)
}

// forgiven halves a length for each hour of quiet.
func forgiven(length, quiet time.Duration) time.Duration {
	for ; quiet >= forgiveAfter && length > 0; quiet -= forgiveAfter {
		length /= 2
	}
	return length
}

// ends is when each capability of a peer is no longer held: forever as long as no round that began later than what was seen, by more
// than the clocks may differ, saw it work. Holds of another object or target are dropped.
func (h holds) ends(f *facts, skew time.Duration) (out [capabilities]moment) {
	p := h[f.name]
	if p == nil {
		return out
	}
	if !p.about(f) {
		delete(h, f.name)
		return out
	}
	for at := range p.of {
		switch held := &p.of[at]; {
		case held.length == 0:
		case f.honored[at] > held.since+int64(skew):
			out[at] = held.until
		default:
			out[at] = forever
		}
	}
	return out
}

func (p *peerHolds) about(f *facts) bool { return p.uid == f.uid && p.target == f.target }

package client

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// windowSlots is into how many slices a window is cut. What is older than the window is dropped a slice at a time.
const windowSlots = 15

// seenPeer is what this process saw of one AgentPeer within the window, and when it was written. It is guarded by Reporter.mu.
type seenPeer struct {
	peer   types.NamespacedName
	uid    types.UID
	target string
	claims v1alpha1.ClaimsDigest
	// since is when the first thing was seen of this target and these claims; what was seen before it, of others, counts no more.
	since       time.Time
	counts      map[v1alpha1.CapabilityName]*tally
	divergences []v1alpha1.ReportedDivergence // newest first

	last    time.Time // when something was last seen
	changed time.Time // since when something has been seen that is not written; zero: nothing
	urgent  bool      // what is not written includes the first divergence of a capability
	// alarmed is when a first divergence of a capability was last told at once.
	alarmed map[alarm]time.Time

	written time.Time     // when it was last written
	jitter  time.Duration // beyond the interval, so that the peers of many pods do not all come at once
	fails   int           // to write it, in a row
	hold    time.Time     // until when it is not tried again
	salt    string        // makes another name of it, where somebody else's object has the name
}

// An alarm is a first divergence of a capability; one that can cost trust is another than one that cannot.
type alarm struct {
	capability v1alpha1.CapabilityName
	costsTrust bool
}

// tally counts what was seen of one capability, by slices of time.
type tally struct {
	slots                       [windowSlots]seenSlot
	honored, diverged, suspects time.Time // when each was last seen
}

// A seenSlot counts what was seen in one slice of time, which its number names.
type seenSlot struct {
	number                       int64
	honored, diverged, suspected int64
}

// sums adds up the slots from a number on.
func (t *tally) sums(from int64) (s seenSlot) {
	for _, one := range t.slots {
		if one.number >= from {
			s.honored, s.diverged, s.suspected = s.honored+one.honored, s.diverged+one.diverged, s.suspected+one.suspected
		}
	}
	return s
}

// number names the slice of time that holds t.
func (r *Reporter) number(t time.Time) int64 { return t.UnixNano() / int64(r.window/windowSlots) }

// oldest is the first slice that is wholly within the window.
func (r *Reporter) oldest(now time.Time) int64 { return r.number(now) - windowSlots + 1 }

// count takes a sighting that is complete and within the window. It tells whether that is to be written at once.
func (r *Reporter) count(p *seenPeer, s Sighting, now time.Time) (urgent bool) {
	if p.target != s.Target || p.claims != s.ClaimsDigest {
		p.target, p.claims, p.since, p.counts, p.divergences = s.Target, s.ClaimsDigest, s.Time, map[v1alpha1.CapabilityName]*tally{}, nil
	}
	p.since = earlier(p.since, s.Time)
	p.last = now
	if p.changed.IsZero() {
		p.changed = now
	}
	t := p.counts[s.Capability]
	if t == nil {
		t = &tally{}
		p.counts[s.Capability] = t
	}
	number := r.number(s.Time)
	in := &t.slots[(number%windowSlots+windowSlots)%windowSlots]
	before := t.sums(r.oldest(now))
	if in.number != number {
		*in = seenSlot{number: number}
	}
	switch {
	case s.Honored:
		in.honored++
		t.honored = later(t.honored, s.Time)
		return false
	case s.costsTrust():
		in.diverged++
		t.diverged = later(t.diverged, s.Time)
		urgent = before.diverged == 0
	default:
		in.suspected++
		t.suspects = later(t.suspects, s.Time)
		urgent = before.diverged == 0 && before.suspected == 0
	}
	if d, ok := s.evidence(); ok {
		at, _ := slices.BinarySearchFunc(p.divergences, d, func(a, b v1alpha1.ReportedDivergence) int { return b.Time.Compare(a.Time.Time) })
		p.divergences = slices.Insert(p.divergences, at, d)
		p.divergences = p.divergences[:min(len(p.divergences), v1alpha1.MaxReportedDivergences)]
	}
	about := alarm{s.Capability, s.costsTrust()}
	if told := p.alarmed[about]; !urgent || !told.IsZero() && now.Sub(told) < r.interval {
		return false // claims that change with every round make no first divergence of each
	}
	p.alarmed[about] = now
	return true
}

// report is what the API server is told of a peer at now.
func (r *Reporter) report(p *seenPeer, by v1alpha1.Reporter, now time.Time) *v1alpha1.AgentPeerReport {
	from := r.oldest(now)
	start := later(time.Unix(0, from*int64(r.window/windowSlots)), p.since)
	end := later(now, start)
	out := &v1alpha1.AgentPeerReport{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AgentPeerReport"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.peer.Namespace, Name: reportName(p, by, r.host),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "AgentPeer", Name: p.peer.Name, UID: p.uid,
			}},
		},
		Spec: v1alpha1.AgentPeerReportSpec{
			PeerRef: v1alpha1.ReportedPeer{Name: p.peer.Name, UID: string(p.uid)}, Reporter: by, Target: p.target,
			Window: v1alpha1.ReportWindow{StartTime: metav1.NewTime(start.UTC()), EndTime: metav1.NewTime(end.UTC())},
		},
	}
	if shapeDigest.MatchString(string(p.claims)) {
		out.Spec.ClaimsDigest = p.claims
	}
	for _, name := range reportable {
		t := p.counts[name]
		if t == nil {
			continue
		}
		sum := t.sums(from)
		if sum == (seenSlot{}) {
			continue
		}
		out.Spec.Capabilities = append(out.Spec.Capabilities, v1alpha1.ReportedCapability{
			Name: v1alpha1.RequirableCapability(name), Honored: bounded(sum.honored), Diverged: bounded(sum.diverged), Suspected: bounded(sum.suspected),
			LastHonoredTime: within(t.honored, sum.honored), LastDivergedTime: within(t.diverged, sum.diverged),
			LastSuspectedTime: within(t.suspects, sum.suspected),
		})
	}
	for _, d := range p.divergences {
		if !d.Time.Time.Before(start) {
			out.Spec.Divergences = append(out.Spec.Divergences, d)
		}
	}
	return out
}

// within is a time that belongs to a count; of none there is no time.
func within(t time.Time, count int64) *metav1.Time {
	if count == 0 {
		return nil
	}
	return &metav1.Time{Time: t.UTC()}
}

func bounded(n int64) int32 { return int32(min(n, math.MaxInt32)) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// ReportMode is what reports of orchestrators may do. Empty is ReportsIgnore.
type ReportMode string

// Reports do nothing; bring a probe; or demote and extend trust as well, where enough ServiceAccounts say the same.
const (
	ReportsIgnore ReportMode = "Ignore"
	ReportsProbe  ReportMode = "Probe"
	ReportsDemote ReportMode = "Demote"
)

// ReportPolicy is how reports are weighed.
type ReportPolicy struct {
	Mode ReportMode
	// Quorum is how many ServiceAccounts must say the same (2); none can demote or extend anything if it is not positive.
	Quorum int
	// Window is how old what they saw may be (15 m); at most 24 h.
	Window time.Duration
	// Withheld: too many peers fail alike, which is likelier our trouble than theirs (Fuse). Nothing is demoted.
	Withheld bool
}

// Testimony is what one ServiceAccount saw of one capability in real traffic. The caller leaves out whoever does not count with the peer's
// owner; where there are several of one ServiceAccount, they are one witness.
type Testimony struct {
	Capability Capability
	// Witness is the ServiceAccount, however many pods it has.
	Witness string
	// Target and Claims are whom it saw, and the digest of the claims that stood then.
	Target, Claims string
	// Diverged is when it last saw a contradiction of basis Card or Protocol, Suspected one of basis Deadline or Behaviour, and Honored
	// when it last saw the capability work; zero if never.
	Diverged, Suspected, Honored time.Time
	// Reason of the last contradiction, as the witness says. Only what is a reason of ours is shown.
	Reason Reason
}

const (
	// clockSkew is how far ahead of our clock another may be. A time that lies farther ahead is made up or wrong: it brings a probe, no more.
	clockSkew = time.Minute
	// maxExtension is how many durations past the last honoured probe reports of good work can carry trust.
	maxExtension = 8
)

// Weigh lays what orchestrators reported over what is known of a peer. Below a quorum it changes nothing and only names, sorted, the
// capabilities that a probe should look at (PlanInput.Reported); reports never promote, and weighing the same twice changes nothing more. p
// is left as it is.
func Weigh(p Peer, list []Testimony, rp ReportPolicy, policy Policy, now time.Time) (next Peer, transitions []Transition, wanted []Capability) {
	if rp.Mode != ReportsProbe && rp.Mode != ReportsDemote {
		return p, nil, nil
	}
	f := fold{policy: policy, at: moment(now, now), next: p}
	f.unstable = unstable(p, f.at)
	mine := false // whether f.next is a copy that may be changed
	for i := range p.Records {
		rec := &f.next.Records[i]
		if !rec.owed() {
			continue
		}
		b := f.hear(rec, list, rp.Window)
		demotes, until := f.reportsDemote(rec, b, rp), f.extended(rec, b, rp)
		if (demotes || !until.IsZero()) && !mine {
			f.next, mine = p.clone(), true
			rec = &f.next.Records[i]
		}
		switch {
		case demotes:
			f.demoteByReports(rec, b)
		case !until.IsZero():
			rec.Expiration = until
		}
		if f.worthALook(rec, b) {
			wanted = append(wanted, rec.Capability)
		}
	}
	return f.next, f.transitions, wanted
}

// heard is what all witnesses together say of one capability.
type heard struct {
	// against and for list, one for each witness, the newest time that counts to a quorum.
	against, good []voice
	// reason of the newest contradiction that counts; empty if it is none of ours.
	reason Reason
	newest time.Time
	// doubt is when anybody last saw it fail or come late, in the window, under whatever claims; zero if nobody did.
	doubt time.Time
}

// voice is one witness, and when it last saw what it says.
type voice struct {
	witness string
	at      time.Time
}

// hear counts what is said of a capability of the peer's target. To a quorum count only contradictions under the claims that stand, in the
// window, and later than the beginning of the last clean round: that one asked again and knows better.
func (f *fold) hear(rec *Record, list []Testimony, window time.Duration) (b heard) {
	for i := range list {
		t := &list[i]
		if t.Capability != rec.Capability || t.Target != f.next.Target {
			continue
		}
		for _, seen := range []time.Time{t.Diverged, t.Suspected} {
			if at, _, ok := f.within(seen, window); ok {
				b.doubt = later(b.doubt, at)
			}
		}
		if t.Claims != f.next.Claims.Digest || t.Claims == "" {
			continue
		}
		if at, sure, ok := f.within(t.Honored, window); ok && sure {
			b.good = speak(b.good, t.Witness, at)
		}
		at, sure, ok := f.within(t.Diverged, window)
		if !ok || !sure || !at.After(rec.Honored) {
			continue
		}
		b.against = speak(b.against, t.Witness, at)
		if at.After(b.newest) {
			b.newest, b.reason = at, ""
		}
		if at.Equal(b.newest) && b.reason == "" && reportable[t.Reason] {
			b.reason = t.Reason
		}
	}
	return b
}

// within takes a time that a witness names: as status can hold it, and not in the future. sure is false where it lies so far ahead that the
// clock it comes from cannot be believed. ok is false where it is too old, or none.
func (f *fold) within(t time.Time, window time.Duration) (at time.Time, sure, ok bool) {
	if t.IsZero() {
		return time.Time{}, false, false
	}
	at = moment(t, f.at)
	return at, t.Sub(f.at) <= clockSkew, f.at.Sub(at) < window
}

// speak counts a witness once, with the newest that it saw.
func speak(list []voice, witness string, at time.Time) []voice {
	for i := range list {
		if list[i].witness == witness {
			list[i].at = later(list[i].at, at)
			return list
		}
	}
	return append(list, voice{witness, at})
}

// worthALook: somebody saw it fail since it was last asked. What is condemned is asked on its own schedule.
func (f *fold) worthALook(rec *Record, b heard) bool {
	return !rec.condemned() && (rec.askedBefore(b.doubt) || rec.provisional() && rec.askedBefore(rec.Reports.Newest))
}

// askedBefore tells whether the last round that asked cannot have known what was seen at t. A round that ran meanwhile need not have met
// it; of the last good one it is known when it began, of others only when they ended.
func (r *Record) askedBefore(t time.Time) bool {
	switch {
	case t.IsZero():
		return false
	case r.LastOutcome == Honored && !r.Honored.IsZero():
		return t.After(r.Honored)
	}
	return !t.Before(r.LastTime)
}

// reportsDemote: a quorum contradicts, of what the peer owes, at a time when a probe's contradiction could demote as well.
func (f *fold) reportsDemote(rec *Record, b heard, rp ReportPolicy) bool {
	return rp.Mode == ReportsDemote && !rp.Withheld && rp.Quorum > 0 && len(b.against) >= rp.Quorum && rec.State != Demoted &&
		f.charged(Observation{Capability: rec.Capability, Basis: lifecycle.Protocol}) && !f.grace() && !f.unstable
}

// demoteByReports demotes at once. The first time it is provisional: not counted, with no least time, until a clean round begun later. Where
// a clean round has lifted that within a day, probes and reports disagree, and it lasts like a demotion by probes.
func (f *fold) demoteByReports(rec *Record, b heard) {
	lifted, soon := rec.Reports.Lifted, f.at.Add(max(f.policy.MinDemotion, f.policy.ConfirmInterval))
	reported := []Reason{}
	message := fmt.Sprintf("contradictions reported by %d ServiceAccounts", len(b.against))
	if len(b.against) == 1 {
		message = "contradictions reported by 1 ServiceAccount"
	}
	if b.reason != "" {
		reported = append(reported, b.reason)
		message += ", the newest: " + string(b.reason)
	}
	rec.ProbedWith = nil
	if lifted.IsZero() || f.at.Sub(lifted) >= day {
		lifted = time.Time{}
		message += "; a clean round begun later lifts this"
		f.become(rec, Demoted, ReasonReportedByOrchestrators)
		rec.DemotedUntil, rec.Clean, rec.Relapsed = time.Time{}, 0, false
		rec.account(Observation{Message: message}, append([]Reason{rec.Reason}, reported...))
	} else {
		message += ", though a round since the last such report was clean; rounds now go without the probe mark"
		f.demote(rec, Observation{Message: message, Warnings: reported}, ReasonProbesAndReportsDisagree)
	}
	rec.Source = SourceReport
	rec.Reports = Reports{Reporters: len(b.against), Newest: b.newest, Lifted: lifted}
	if rec.NextProbe.After(soon) {
		rec.NextProbe = soon
	}
	f.transitions[len(f.transitions)-1].Source = SourceReport
}

// extended is until when reports of good work carry trust that a probe has earned; zero if they do not. A quorum has to say so and nobody
// anything else, nothing may speak against the capability, and it is written only now and then: when a third of the time is left.
func (f *fold) extended(rec *Record, b heard, rp ReportPolicy) time.Time {
	length := f.policy.Trust(rec.Capability)
	earned := rec.State == Trusted && rec.Source == "" && !rec.expired(f.at) && rec.LastOutcome != Diverged && rec.Honored.After(f.next.ClaimsSince)
	if rp.Mode != ReportsDemote || rp.Quorum <= 0 || len(b.good) < rp.Quorum || !earned || !b.doubt.IsZero() ||
		rec.suspected(f.policy, f.at) || rec.Pairs.undecided() || rec.Expiration.Sub(f.at) >= length/3 {
		return time.Time{}
	}
	slices.SortFunc(b.good, func(x, y voice) int { return y.at.Compare(x.at) })
	last := rec.Honored.Add(maxExtension * length)
	until := b.good[rp.Quorum-1].at.Add(length) // when the quorum was full
	if until.After(last) {
		until = last
	}
	if gain := until.Sub(rec.Expiration); gain <= 0 || gain < length/3 && until.Before(last) {
		return time.Time{}
	}
	return until
}

// ReportedBy names a ServiceAccount as a Witness.
func ReportedBy(namespace, name string) string { return strings.Join([]string{namespace, name}, "/") }

// reportable are the reasons of contradictions that an orchestrator can see in its own traffic. A report can name any word, and only these
// are repeated.
var reportable = map[Reason]bool{
	ReasonStreamingRefused: true, ReasonStreamEmpty: true, ReasonStreamClosedWithoutTerminalState: true, ReasonStreamStateDivergesFromTask: true,
	ReasonStreamShapeViolation: true, ReasonWrongStreamMediaType: true, ReasonUnaryAnswerToStream: true, ReasonForeignTaskInStream: true,
	ReasonMethodNotFound: true, ReasonProtocolBindingMismatch: true, ReasonProtocolGenerationMismatch: true, ReasonEventsAfterCancel: true,
	ReasonCancelRefused: true, ReasonTaskIDChangedOnContinuation: true, ReasonContinuationRefused: true, ReasonTaskNotRetrievable: true,
	ReasonTaskIDMismatch: true, ReasonHistoryLimitExceeded: true, ReasonReturnImmediatelyIgnored: true, ReasonResubscriptionRefused: true,
	ReasonResubscribedStreamEnded: true, ReasonResubscribedStreamSilent: true, ReasonDeclaredModeRefused: true, ReasonPushConfigRefused: true,
	ReasonPushNotDelivered: true, ReasonPushUnauthenticated: true, ReasonExtendedCardNotConfigured: true, ReasonExtendedCardRefused: true,
	ReasonTerminalStateNotFinal: true, ReasonEventsAfterTerminal: true,
}

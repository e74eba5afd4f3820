package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

const (
	// keptFor is how long after its window a report is kept.
	keptFor = 24 * time.Hour
	// orphanedFor is how long a report whose peer is not there, or is another, waits for our cache to catch up.
	orphanedFor = time.Minute
	// toldEvery is how often a report is acknowledged at most, unless it comes to count or ceases to.
	toldEvery = time.Minute
	// reportDeleted is the outcome of a report that was collected, besides the reasons of Accepted.
	reportDeleted = "Deleted"
)

// reportFacts are all that one look at a report knows.
type reportFacts struct {
	report *trustv1alpha1.AgentPeerReport
	// peer it is about, nil if there is none, and the settings that hold for that.
	peer     *trustv1alpha1.AgentPeer
	settings Settings
	// proven is since when writers of reports are; zero if they are not.
	proven time.Time
	// told is when the report was last acknowledged.
	told time.Time
	now  time.Time
}

// acknowledgement is what becomes of a report: it is collected, or its status is written, or neither; and when to look again.
type acknowledgement struct {
	collect bool
	write   bool
	status  trustv1alpha1.AgentPeerReportStatus
	again   time.Time
}

// acknowledge makes an acknowledgement out of facts.
func acknowledge(f reportFacts) acknowledgement {
	old := &f.report.Status
	was := meta.FindStatusCondition(old.Conditions, trustv1alpha1.ConditionAccepted)
	expires := expires(f)
	reason := accepted(f.report, f.peer, &f.settings, f.proven, f.now)
	c := metav1.Condition{Type: trustv1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: reason, Message: acceptedWords[reason],
		ObservedGeneration: f.report.Generation, LastTransitionTime: metav1.NewTime(f.now.UTC().Truncate(time.Second))}
	if reason == trustv1alpha1.ReasonReportWeighed {
		c.Status = metav1.ConditionTrue
	}
	changed := was == nil || was.Status != c.Status || was.Reason != c.Reason
	if !changed { // of its reason too, so that an orphan is known by it
		c.LastTransitionTime = was.LastTransitionTime
	}
	a := acknowledgement{again: expires, status: trustv1alpha1.AgentPeerReportStatus{
		ObservedGeneration: f.report.Generation, ExpirationTime: writeTime(expires), Conditions: []metav1.Condition{c}}}
	gone := orphaned(f.report, f.peer)
	switch {
	case !expires.After(f.now), unproven(f.report, f.proven), gone && !changed && f.now.Sub(c.LastTransitionTime.Time) >= orphanedFor:
		return acknowledgement{collect: true}
	case gone:
		a.again = soonest(a.again, c.LastTransitionTime.Add(orphanedFor))
	case reason == trustv1alpha1.ReasonReportWeighed:
		a.again = soonest(a.again, earlier(f.report.Spec.Window.EndTime.Time, f.now).Add(f.settings.Reports.Window.Duration))
	case f.proven.IsZero():
		a.again = soonest(a.again, f.now.Add(net))
	}
	stale := old.ObservedGeneration != f.report.Generation || old.ExpirationTime == nil || !old.ExpirationTime.Equal(a.status.ExpirationTime)
	switch {
	case changed, stale && f.now.Sub(f.told) >= toldEvery:
		a.write = true
	case stale:
		a.again = soonest(a.again, f.told.Add(toldEvery))
	}
	return a
}

// expires is when a report is too old to be kept. An end of its window that lies in the future counts as the time when it was first seen.
func expires(f reportFacts) time.Time {
	latest := f.now.Add(keptFor).UTC().Truncate(time.Second)
	if s := &f.report.Status; s.ObservedGeneration == f.report.Generation && s.ExpirationTime != nil {
		return earlier(s.ExpirationTime.UTC(), latest)
	}
	return earlier(f.report.Spec.Window.EndTime.Add(keptFor).UTC().Truncate(time.Second), latest)
}

// orphaned: there is no peer that the report could ever be about.
func orphaned(report *trustv1alpha1.AgentPeerReport, peer *trustv1alpha1.AgentPeer) bool {
	return peer == nil || string(peer.UID) != report.Spec.PeerRef.UID
}

// acceptedWords say what a reason of Accepted means and what helps.
var acceptedWords = map[string]string{
	trustv1alpha1.ReasonReportWeighed:  "counts as spec.reports of the AgentPeer says",
	trustv1alpha1.ReasonReportsIgnored: "spec.reports.mode of the AgentPeer is Ignore",
	trustv1alpha1.ReasonReporterNotListed: "spec.reports.from of the AgentPeer does not list this ServiceAccount: list it there, if its word is to " +
		"count",
	trustv1alpha1.ReasonReportPolicyMissing: "nothing proves who wrote this: the admission policy for reports or its binding is missing, does not deny, or " +
		"may not be read by the operator",
	trustv1alpha1.ReasonReportOfOtherTarget: "the AgentPeer has another target now, or is another object than the one that this report is about",
	trustv1alpha1.ReasonPeerNotFound:        "there is no such AgentPeer in this namespace: this report is deleted in a minute",
	trustv1alpha1.ReasonReportExpired:       "older than spec.reports.window of the AgentPeer",
}

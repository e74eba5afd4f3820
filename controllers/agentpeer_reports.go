package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// indexPeer finds the AgentPeerReports about an AgentPeer. It is a selectable field of the API server as well.
const indexPeer = "spec.peerRef.name"

// +kubebuilder:rbac:groups=trust.agentpeer.dev,resources=agentpeerreports,verbs=get;list;watch;delete

// hear gathers what orchestrators reported of a peer.
func (r *AgentPeerReconciler) hear(ctx context.Context, f *facts) error {
	if f.settings.Reports.Mode == trustv1alpha1.ReportsIgnore || f.peer.Spec.Suspend || f.fault != nil && f.fault.stalled {
		return nil
	}
	var list trustv1alpha1.AgentPeerReportList
	err := r.List(ctx, &list, client.InNamespace(f.peer.Namespace), client.MatchingFields{indexPeer: f.peer.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the AgentPeerReports of %q: %w", key(f.peer), err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	proven := r.identity.proven(ctx)
	f.testimonies = testimonies(list.Items, func(report *trustv1alpha1.AgentPeerReport) bool {
		return accepted(report, f.peer, &f.settings, proven, f.now) == trustv1alpha1.ReasonReportWeighed
	}, string(f.known.Claims.Digest), len(f.settings.Reports.From) > 0)
	if len(f.testimonies) > 0 && f.settings.Reports.Mode == trustv1alpha1.ReportsDemote {
		f.doubted = r.fuse.holds(f.peer.Namespace, f.now)
	}
	return nil
}

// accepted says whether a report counts (Weighed), and else why it does not: a reason of the condition Accepted. peer is nil where there is
// none of that name, and proven since when names are.
func accepted(report *trustv1alpha1.AgentPeerReport, peer *trustv1alpha1.AgentPeer, s *Settings, proven, now time.Time) string {
	switch spec := &report.Spec; {
	case peer == nil || !peer.DeletionTimestamp.IsZero():
		return trustv1alpha1.ReasonPeerNotFound
	case spec.PeerRef.UID != string(peer.UID):
		return trustv1alpha1.ReasonReportOfOtherTarget
	case s.Reports.Mode == trustv1alpha1.ReportsIgnore:
		return trustv1alpha1.ReasonReportsIgnored
	case proven.IsZero() || unproven(report, proven):
		return trustv1alpha1.ReasonReportPolicyMissing
	case !mayReport(&spec.Reporter, peer):
		return trustv1alpha1.ReasonReporterNotListed
	case spec.Target != peer.Status.Target:
		return trustv1alpha1.ReasonReportOfOtherTarget
	case now.Sub(spec.Window.EndTime.Time) >= s.Reports.Window.Duration:
		return trustv1alpha1.ReasonReportExpired
	}
	return trustv1alpha1.ReasonReportWeighed
}

// unproven: the report is older than the policy that proves who writes reports. Both times are the API server's, in whole seconds.
func unproven(report *trustv1alpha1.AgentPeerReport, proven time.Time) bool {
	return !proven.IsZero() && !report.CreationTimestamp.After(proven)
}

// mayReport tells whether the peer's owner lets a ServiceAccount's reports count. Where nobody is listed, all that may write here do.
func mayReport(reporter *trustv1alpha1.Reporter, peer *trustv1alpha1.AgentPeer) bool {
	from := peer.Spec.Reports.From
	return len(from) == 0 || slices.ContainsFunc(from, func(s trustv1alpha1.ReportSource) bool {
		return s.Name == reporter.Name && or(s.Namespace, peer.Namespace) == reporter.Namespace
	})
}

// testimonies puts the reports that count together, one for each ServiceAccount and capability under the claims that stand and one under all
// others, however many pods report and however many reports there are. Where nobody is listed it does not matter who spoke.
func testimonies(reports []trustv1alpha1.AgentPeerReport, counts func(*trustv1alpha1.AgentPeerReport) bool, claims string, named bool) []trust.Testimony {
	type about struct {
		witness    string
		capability trustv1alpha1.RequirableCapability
		stands     bool
	}
	var out []trust.Testimony
	found := map[about]int{}
	for i := range reports {
		report := &reports[i]
		if !counts(report) {
			continue
		}
		witness := ""
		if named {
			witness = trust.ReportedBy(report.Spec.Reporter.Namespace, report.Spec.Reporter.Name)
		}
		for j := range report.Spec.Capabilities {
			c := &report.Spec.Capabilities[j]
			next := testimony(&report.Spec, c)
			next.Witness = witness
			k := about{witness, c.Name, next.Claims == claims}
			if !k.stands {
				next.Claims = "" // which ones does not matter
			}
			if n, known := found[k]; known {
				merge(&out[n], next)
				continue
			}
			found[k] = len(out)
			out = append(out, next)
		}
	}
	return out
}

// testimony is what one report says of one capability. Times lie within its window: a report cannot know of what came after it.
func testimony(spec *trustv1alpha1.AgentPeerReportSpec, c *trustv1alpha1.ReportedCapability) trust.Testimony {
	t := trust.Testimony{Capability: trust.Capability(c.Name), Target: spec.Target, Claims: string(spec.ClaimsDigest)}
	var diverged, suspected time.Time
	for i := range spec.Divergences {
		d := &spec.Divergences[i]
		hard := d.Basis == trustv1alpha1.BasisCard || d.Basis == trustv1alpha1.BasisProtocol
		switch {
		case d.Capability != c.Name:
		case hard && (diverged.IsZero() || d.Time.After(diverged)):
			diverged, t.Reason = d.Time.Time, trust.Reason(d.Reason)
		case !hard && d.Time.After(suspected):
			suspected = d.Time.Time
		}
	}
	end := spec.Window.EndTime.Time
	if c.LastDivergedTime != nil {
		diverged = c.LastDivergedTime.Time
	}
	if c.LastSuspectedTime != nil {
		suspected = c.LastSuspectedTime.Time
	}
	if c.Diverged > 0 {
		t.Diverged = earlier(diverged, end)
	}
	if c.Suspected > 0 {
		t.Suspected = earlier(suspected, end)
	}
	if c.Honored > 0 && c.LastHonoredTime != nil {
		t.Honored = earlier(c.LastHonoredTime.Time, end)
	}
	return t
}

// merge keeps the newest of two that the same ServiceAccount says of the same.
func merge(into *trust.Testimony, from trust.Testimony) {
	if from.Diverged.After(into.Diverged) {
		into.Diverged, into.Reason = from.Diverged, from.Reason
	}
	if from.Suspected.After(into.Suspected) {
		into.Suspected = from.Suspected
	}
	if from.Honored.After(into.Honored) {
		into.Honored = from.Honored
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

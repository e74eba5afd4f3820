package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

const (
	// reportedPeers are what so many reports are about, and reportingPods write them.
	reportedPeers, reportsWritten, reportWriters = 50, 2000, 32
	reportPolicy                                 = "agentpeer-" + v1alpha1.ReportPolicyName
)

// reportsAbsorbed: as many reports as the API server takes come in about a fleet; how many a second are acknowledged and weighed, and how many
// requests that change something does each cost besides the one that brought it?
func reportsAbsorbed(ctx context.Context, b *bed, _, _ int) ([]figure, error) {
	agents, urls, err := b.agents(ctx, "honest", "honest", reportedPeers, "")
	if err != nil {
		return nil, err
	}
	defer agents.stop()
	pods, err := b.proveReporters(ctx)
	if err != nil {
		return nil, err
	}
	operator, metrics, err := b.operator(ctx)
	if err != nil {
		return nil, err
	}
	defer operator.stop()
	if err := b.verdicts(ctx, "p-", reportedPeers, func() error { return b.apply(ctx, "p", urls, nil) }); err != nil {
		return nil, err
	}
	var fleet v1alpha1.AgentPeerList
	if err := b.api.List(ctx, &fleet, ctrlclient.InNamespace(namespace)); err != nil {
		return nil, err
	}
	if err := until(ctx, func() (bool, error) {
		present, err := sum(metrics, "agentpeer_report_policy_present")
		return present == 1, err
	}); err != nil {
		return nil, fmt.Errorf("waiting for the operator to see the policy: %w", err)
	}
	acknowledged := func() (float64, error) { return sum(metrics, "agentpeer_reports_total", `outcome="Weighed"`) }
	changes := func() (total float64, err error) {
		for _, method := range []string{"PATCH", "POST", "PUT", "DELETE"} {
			n, err1 := sum(metrics, "rest_client_requests_total", `method="`+method+`"`)
			total, err = total+n, errors.Join(err, err1)
		}
		return total, err
	}
	before, err := changes()
	if err != nil {
		return nil, err
	}
	cpu, err := operator.cpu()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := each(reportWriters, reportsWritten, func(i int) error { return pods.Create(ctx, reportOn(&fleet.Items[i%reportedPeers], i)) }); err != nil {
		return nil, err
	}
	written := time.Since(start).Seconds()
	if err := until(ctx, func() (bool, error) {
		n, err := acknowledged()
		return n >= reportsWritten, err
	}); err != nil {
		return nil, fmt.Errorf("waiting for the reports to be acknowledged: %w", err)
	}
	absorbed := time.Since(start).Seconds()
	after, err1 := changes()
	used, err2 := operator.cpu()
	return []figure{{Name: "reports_per_s", Value: reportsWritten / absorbed, Unit: "reports acknowledged a second",
		Of: map[string]float64{"reports": reportsWritten, "peers": reportedPeers, "written_per_s": reportsWritten / written,
			"writes_per_report": (after - before) / reportsWritten, "operator_cpu_ms_per_report": (used - cpu) * 1000 / reportsWritten}},
	}, errors.Join(err1, err2, b.api.DeleteAllOf(ctx, &v1alpha1.AgentPeerReport{}, ctrlclient.InNamespace(namespace)), b.clear(ctx))
}

// reporter is the ServiceAccount that all pods of the bench run under.
var reporter = v1alpha1.Reporter{Namespace: namespace, Name: "orchestrator"}

// proveReporters applies the policy that proves who reports, as it is shipped, and connects as one who may.
func (b *bed) proveReporters(ctx context.Context) (ctrlclient.Client, error) {
	raw, err := os.ReadFile(filepath.Join(b.root, "config", "admission", "report_identity.yaml"))
	if err != nil {
		return nil, err
	}
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			return nil, err
		}
		o.SetName(reportPolicy)
		if o.GetKind() == "ValidatingAdmissionPolicyBinding" {
			if err := unstructured.SetNestedField(o.Object, reportPolicy, "spec", "policyName"); err != nil {
				return nil, err
			}
		}
		if err := b.api.Create(ctx, &o); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
	}
	config := rest.CopyConfig(b.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + reporter.Namespace + ":" + reporter.Name,
		Groups: []string{"system:masters", "system:serviceaccounts"}} // rights are not what is measured
	pods, err := ctrlclient.New(config, ctrlclient.Options{Scheme: newScheme()})
	if err != nil {
		return nil, err
	}
	// It holds once nobody can report in another's name; what is created a second later is surely younger than it.
	probe := reportOn(&v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}, 0)
	probe.Spec.Reporter.Name = "somebody-else"
	created := time.Now().Unix()
	return pods, until(ctx, func() (bool, error) {
		err := pods.Create(ctx, probe.DeepCopy(), ctrlclient.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) {
			return false, err
		}
		return err != nil && time.Now().Unix() > created, nil
	})
}

// reportOn says that streams of a peer were seen to diverge now, and all else to work.
func reportOn(peer *v1alpha1.AgentPeer, i int) *v1alpha1.AgentPeerReport {
	now := metav1.Now()
	digest := v1alpha1.ClaimsDigest("")
	if peer.Status.Card != nil {
		digest = peer.Status.Card.ClaimsDigest
	}
	target := peer.Status.Target
	if target == "" {
		target = "https://nobody.example.com/"
	}
	return &v1alpha1.AgentPeerReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "report-" + strconv.Itoa(i)},
		Spec: v1alpha1.AgentPeerReportSpec{
			PeerRef: v1alpha1.ReportedPeer{Name: peer.Name, UID: string(peer.UID)}, Reporter: reporter,
			Target: target, ClaimsDigest: digest, Window: v1alpha1.ReportWindow{StartTime: now, EndTime: now},
			Capabilities: []v1alpha1.ReportedCapability{
				{Name: "Streaming", Honored: 10, LastHonoredTime: &now, Diverged: 1, LastDivergedTime: &now},
				{Name: "Continuation", Honored: 3, LastHonoredTime: &now}, {Name: "Cancellation", Honored: 1, LastHonoredTime: &now},
			},
			Divergences: []v1alpha1.ReportedDivergence{{Capability: "Streaming", Reason: "StreamClosedWithoutTerminalState", Basis: v1alpha1.BasisProtocol,
				Time: now, TaskID: "task-" + strconv.Itoa(i), Observed: []string{"submitted@0ms", "working@12ms", "end@310ms"}}},
		},
	}
}

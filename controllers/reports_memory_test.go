package controllers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// TestSecurityReportsFillNoMemoryWithWhatNobodyReads: an orchestrator that was taken over may write as many reports as it likes; what each
// has us hold is what is weighed.
func TestSecurityReportsFillNoMemoryWithWhatNobodyReads(t *testing.T) {
	now := metav1.NewTime(time.Now())
	report := &trustv1alpha1.AgentPeerReport{ObjectMeta: metav1.ObjectMeta{Namespace: "travel", Name: "r", UID: "u", ResourceVersion: "7", Generation: 2,
		CreationTimestamp: now, Annotations: map[string]string{"x": strings.Repeat("x", 250<<10)}, Labels: map[string]string{},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: strings.Repeat("x", 100)}}}}
	for i := range 1000 {
		report.Labels[strings.Repeat("l", i%60+1)] = strings.Repeat("x", 63)
		report.OwnerReferences = append(report.OwnerReferences, metav1.OwnerReference{Name: strings.Repeat("o", 200)})
		report.Finalizers = append(report.Finalizers, "x/"+strings.Repeat("f", 60))
	}
	for range trustv1alpha1.MaxReportedDivergences {
		report.Spec.Divergences = append(report.Spec.Divergences, trustv1alpha1.ReportedDivergence{Capability: "Streaming", Reason: "StreamEmpty",
			Basis: trustv1alpha1.BasisCard, Time: now, TaskID: strings.Repeat("t", 128), Observed: []string{strings.Repeat("w", 64)}})
	}
	transform := CacheOptions().DefaultTransform
	kept, err := transform(report)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 4<<10 {
		t.Errorf("%d bytes of a report are held, want 4 KiB at most", len(b))
	}
	r, is := kept.(*trustv1alpha1.AgentPeerReport)
	if !is || r.UID != "u" || r.ResourceVersion != "7" || r.Generation != 2 || !r.CreationTimestamp.Equal(&now) ||
		len(r.Spec.Divergences) != trustv1alpha1.MaxReportedDivergences || r.Spec.Divergences[0].Reason != "StreamEmpty" {
		t.Errorf("what is looked at is gone: %s", b)
	}
}

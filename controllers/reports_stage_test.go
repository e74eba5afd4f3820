package controllers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// prove installs the admission policy that proves who reports, as it is shipped, under a name of this test's own, and waits until it holds.
func (s *stage) prove() {
	s.Helper()
	if s.r.ReportPolicy == "" {
		s.r.ReportPolicy = s.namespace + "-identity"
		s.r.identity.name = s.r.ReportPolicy
	}
	for _, o := range s.policy() {
		if err := s.client.Create(s.Context(), o); err != nil {
			s.Fatal(err)
		}
	}
	s.Cleanup(s.unprove)
	created := time.Now()
	s.eventually(30*time.Second, func(g Gomega) {
		err := s.client.Create(s.Context(), s.reportObject("probe", "nobody", "", "nobody"), client.DryRunAll)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		g.Expect(time.Now().Unix()).To(BeNumerically(">", created.Unix())) // an object of the same second may be older than the policy
	})
}

// background outlives the test, for what it leaves.
func (s *stage) background() context.Context { return context.WithoutCancel(s.Context()) }

// policy is config/admission/report_identity.yaml, renamed.
func (s *stage) policy() []client.Object {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join(apiserver.Root(), "config", "admission", "report_identity.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	var out []client.Object
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal(doc, &u.Object); err != nil {
			s.Fatal(err)
		}
		u.SetName(s.r.ReportPolicy)
		if u.GetKind() == "ValidatingAdmissionPolicyBinding" {
			if err := unstructured.SetNestedField(u.Object, s.r.ReportPolicy, "spec", "policyName"); err != nil {
				s.Fatal(err)
			}
		}
		out = append(out, &u)
	}
	return out
}

// unprove takes the policy away, and waits until it holds nobody back.
func (s *stage) unprove() {
	for _, o := range s.policy() {
		if err := s.server.Client.Delete(s.background(), o); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	}
	NewWithT(s).Eventually(func() error {
		return s.server.Client.Create(s.background(), s.reportObject("probe", "nobody", "", "nobody"), client.DryRunAll)
	}).WithTimeout(30 * time.Second).Should(Succeed())
}

// as connects as a ServiceAccount of the namespace, in a pod if one is named. It may write reports.
func (s *stage) as(account, pod string) client.Client {
	s.Helper()
	user := "system:serviceaccount:" + s.namespace + ":" + account
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "reporter"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{trustv1alpha1.GroupVersion.Group}, Resources: []string{"agentpeerreports"}, Verbs: []string{"get", "create", "update", "patch"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "reporter-" + account},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
	for _, o := range []client.Object{role, binding} {
		if err := s.server.Client.Create(s.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			s.Fatal(err)
		}
	}
	config := rest.CopyConfig(s.server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	if pod != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/pod-name": {pod}}
	}
	c, err := client.New(config, client.Options{Scheme: s.server.Scheme})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// reportObject says that streams of a peer were seen to diverge now.
func (s *stage) reportObject(name, account, pod, peer string) *trustv1alpha1.AgentPeerReport {
	now := metav1.NewTime(s.clock.Now())
	r := &trustv1alpha1.AgentPeerReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: trustv1alpha1.AgentPeerReportSpec{
			PeerRef:      trustv1alpha1.ReportedPeer{Name: peer, UID: "unknown"},
			Reporter:     trustv1alpha1.Reporter{Namespace: s.namespace, Name: account, PodName: pod},
			Target:       "https://" + peer + ".example.com/",
			ClaimsDigest: digestA,
			Window:       trustv1alpha1.ReportWindow{StartTime: metav1.NewTime(now.Add(-time.Minute)), EndTime: now},
			Capabilities: []trustv1alpha1.ReportedCapability{{Name: "Streaming", Diverged: 1, LastDivergedTime: &now}},
			Divergences: []trustv1alpha1.ReportedDivergence{{Capability: "Streaming", Reason: "StreamClosedWithoutTerminalState",
				Basis: trustv1alpha1.BasisProtocol, Time: now}},
		},
	}
	var known trustv1alpha1.AgentPeer
	if err := s.server.Client.Get(s.background(), client.ObjectKey{Namespace: s.namespace, Name: peer}, &known); err == nil {
		r.Spec.PeerRef.UID = string(known.UID)
	}
	return r
}

// says writes a report as a pod of a ServiceAccount: streams of the peer were seen to diverge now, unless changed.
func (s *stage) says(account, pod, peer string, change ...func(*trustv1alpha1.AgentPeerReport)) string {
	s.Helper()
	r := s.reportObject(strings.Trim(account+"-"+pod, "-")+"-"+peer, account, pod, peer)
	for _, c := range change {
		c(r)
	}
	c := s.as(account, pod)
	var old trustv1alpha1.AgentPeerReport
	switch err := c.Get(s.Context(), client.ObjectKeyFromObject(r), &old); {
	case apierrors.IsNotFound(err):
		if err := c.Create(s.Context(), r); err != nil {
			s.Fatal(err)
		}
	case err != nil:
		s.Fatal(err)
	default:
		old.Spec = r.Spec
		if err := c.Update(s.Context(), &old); err != nil {
			s.Fatal(err)
		}
	}
	return r.Name
}

// acknowledge lets the operator look at a report. It returns what the report's status says then, and when it is looked at again; nil if the
// report is gone.
func (s *stage) acknowledge(rr *reportReconciler, name string) (*trustv1alpha1.AgentPeerReportStatus, time.Duration) {
	s.Helper()
	k := client.ObjectKey{Namespace: s.namespace, Name: name}
	result, err := rr.Reconcile(s.Context(), ctrl.Request{NamespacedName: k})
	if err != nil {
		s.Fatal(err)
	}
	var r trustv1alpha1.AgentPeerReport
	if err := s.client.Get(s.Context(), k, &r); apierrors.IsNotFound(err) {
		return nil, 0
	} else if err != nil {
		s.Fatal(err)
	}
	return &r.Status, result.RequeueAfter
}

func (s *stage) wantAccepted(rr *reportReconciler, name string, want metav1.ConditionStatus, reason string) {
	s.Helper()
	status, _ := s.acknowledge(rr, name)
	if status == nil {
		s.Errorf("report %q is gone, want Accepted %s (%s)", name, want, reason)
		return
	}
	c := meta.FindStatusCondition(status.Conditions, trustv1alpha1.ConditionAccepted)
	if c == nil || c.Status != want || c.Reason != reason || c.Message == "" {
		s.Errorf("report %q: %+v, want Accepted %s (%s)", name, c, want, reason)
	}
}

// demotable lets two of three ServiceAccounts demote.
func demotable(p *trustv1alpha1.AgentPeer) {
	p.Spec.Reports = trustv1alpha1.ReportPolicy{Mode: trustv1alpha1.ReportsDemote, Quorum: ptr.To[int32](2),
		From: []trustv1alpha1.ReportSource{{Name: "booking"}, {Name: "support"}, {Name: "rogue", Namespace: p.Namespace}}}
}

// requestedTasks is what rounds asked for, by users and by reports, cost in the last 24 h.
func requestedTasks(p *trustv1alpha1.AgentPeer) (sum int32) {
	for _, n := range p.Status.Rounds.RequestedTasksPerHour {
		sum += n
	}
	return sum
}

// settled is a peer that has been trusted for some time.
func (s *stage) settled(name string, with ...func(*trustv1alpha1.AgentPeer)) *trustv1alpha1.AgentPeer {
	s.Helper()
	s.peer(name, with...)
	s.settle(name)
	s.pass(name, 10*time.Minute)
	s.asked()
	s.told()
	s.counted()
	return s.get(name)
}

func forged(i int) func(*trustv1alpha1.AgentPeerReport) {
	return func(r *trustv1alpha1.AgentPeerReport) {
		ahead := metav1.NewTime(r.Spec.Window.EndTime.AddDate(1, 0, 0))
		r.Name = fmt.Sprintf("forged-%d", i)
		began := r.Spec.Window.StartTime
		r.Spec.Window, r.Spec.Capabilities = trustv1alpha1.ReportWindow{StartTime: ahead, EndTime: ahead}, nil
		for _, c := range allNames {
			if c == "StateTransitionHistory" {
				continue
			}
			seen := metav1.NewTime(began.Add(time.Duration(i) * 10 * time.Minute))
			r.Spec.Capabilities = append(r.Spec.Capabilities, trustv1alpha1.ReportedCapability{Name: trustv1alpha1.RequirableCapability(c), Diverged: 2147483647,
				Suspected: 7, Honored: 9, LastDivergedTime: &seen, LastSuspectedTime: &ahead, LastHonoredTime: &ahead})
		}
	}
}

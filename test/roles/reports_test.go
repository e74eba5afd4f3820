package roles

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// orchestrator is a new ServiceAccount with the role of orchestrators.
func (w world) orchestrator(t *testing.T, namespace, name string) {
	t.Helper()
	w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "agentpeer-orchestrator"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		})
}

// podToken gets a token that is bound to a pod, as the kubelet would for one that it runs.
func (w world) podToken(t *testing.T, namespace, account, pod string) string {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}, Spec: corev1.PodSpec{
		ServiceAccountName: account, Containers: []corev1.Container{{Name: "orchestrator", Image: "orchestrator"}}}}
	w.create(t, p)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600),
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}}}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := w.Client.SubResource("token").Create(t.Context(), of, request); err != nil {
		t.Fatalf("asking for a token of pod %s: %v", pod, err)
	}
	return request.Status.Token
}

// report is one of a ServiceAccount and pod about an AgentPeer that need not be there.
func report(namespace, name string, by v1alpha1.Reporter) *v1alpha1.AgentPeerReport {
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	return &v1alpha1.AgentPeerReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.AgentPeerReportSpec{
		PeerRef: v1alpha1.ReportedPeer{Name: "planner", UID: "0"}, Reporter: by, Target: "https://agent.example.com",
		Window: v1alpha1.ReportWindow{StartTime: now, EndTime: now},
	}}
}

// settled waits until the API server knows the role and the policies, which it learns of from watches.
func (w world) settled(t *testing.T, namespace string, somebody client.Client) {
	t.Helper()
	forged := report(namespace, "forged", v1alpha1.Reporter{Namespace: namespace, Name: "nobody"})
	gomega.NewWithT(t).Eventually(func() string {
		if err := somebody.Create(t.Context(), forged.DeepCopy(), client.DryRunAll); err != nil {
			return err.Error()
		}
		return "allowed"
	}, "20s", "100ms").Should(gomega.ContainSubstring("agentpeer-report-identity"), "a policy that never took effect")
}

func TestSecurityReportsAreWrittenInOnesOwnNameAlone(t *testing.T) {
	w := enter(t)
	tenant, other := w.Namespace(t), w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	w.orchestrator(t, tenant, "unbound")
	podded, bare := w.as(t, w.podToken(t, tenant, "concierge", "concierge-0")), w.as(t, w.token(t, tenant, "unbound"))
	w.settled(t, tenant, podded)
	w.settled(t, tenant, bare)
	by := func(namespace, name, pod string) v1alpha1.Reporter {
		return v1alpha1.Reporter{Namespace: namespace, Name: name, PodName: pod}
	}
	for name, c := range map[string]struct {
		who  client.Client
		by   v1alpha1.Reporter
		says string // empty: it is accepted
	}{
		"one's own, of a pod":                            {podded, by(tenant, "concierge", "concierge-0"), ""},
		"one's own, of no pod":                           {bare, by(tenant, "unbound", ""), ""},
		"another's name":                                 {podded, by(tenant, "unbound", "concierge-0"), "write namespace: " + tenant + " and name: concierge"},
		"one's name of another namespace":                {podded, by(other, "concierge", "concierge-0"), "write namespace: " + tenant + " and name: concierge"},
		"another pod's name":                             {podded, by(tenant, "concierge", "concierge-1"), "write podName: concierge-0"},
		"a pod, and no pod named":                        {podded, by(tenant, "concierge", ""), "write podName: concierge-0"},
		"a pod's name without a pod":                     {bare, by(tenant, "unbound", "concierge-0"), "must be left out"},
		"an administrator who is no ServiceAccount":      {w.Client, by(tenant, "concierge", "concierge-0"), "is none: write them with the token of a ServiceAccount"},
		"a ServiceAccount with dots reads as it stands":  {podded, by(tenant, "concierge.x", "concierge-0"), "write namespace: " + tenant + " and name: concierge"},
		"an administrator who names a ServiceAccount":    {w.Client, by(tenant, "unbound", ""), "is none"},
		"the operator, in the name of an orchestrator":   {w.operator(t), by(tenant, "unbound", ""), "forbidden"},
		"the reporter's own namespace and another's pod": {bare, by(tenant, "concierge", "concierge-0"), "write namespace: " + tenant + " and name: unbound"},
	} {
		t.Run(name, func(t *testing.T) {
			object := report(tenant, "", c.by)
			object.GenerateName = "report-"
			err := c.who.Create(t.Context(), object)
			if c.says == "" {
				expect(t, err, true)
				return
			}
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it forbidden in words that say %q", err, c.says)
			}
		})
	}
}

// TestSecurityReportsOfOthersAreLeftAlone: whoever may write reports could else hold up those of others, or give them other owners.
func TestSecurityReportsOfOthersAreLeftAlone(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	w.orchestrator(t, tenant, "rival")
	mine := w.as(t, w.podToken(t, tenant, "concierge", "concierge-0"))
	sibling := w.as(t, w.podToken(t, tenant, "concierge", "concierge-1"))
	rival := w.as(t, w.podToken(t, tenant, "rival", "rival-0"))
	editor := w.bound(t, tenant, "agentpeer-editor")
	for _, somebody := range []client.Client{mine, sibling, rival, editor} {
		w.settled(t, tenant, somebody)
	}
	known := report(tenant, "mine", v1alpha1.Reporter{Namespace: tenant, Name: "concierge", PodName: "concierge-0"})
	if err := mine.Create(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	merge := func(c client.Client, patch string) error {
		return c.Patch(t.Context(), known.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	const counts = `{"spec":{"capabilities":[{"name":"Streaming","diverged":7}]}}`
	const says = "and yours is another"
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a rival's counts":               {merge(rival, counts), says},
		"a label by a rival":             {merge(rival, `{"metadata":{"labels":{"a":"b"}}}`), says},
		"a finalizer by a rival":         {merge(rival, `{"metadata":{"finalizers":["example.com/never"]}}`), says},
		"an owner by a rival":            {merge(rival, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"1"}]}}`), says},
		"another pod's counts":           {merge(sibling, counts), says},
		"a label by an editor":           {merge(editor, `{"metadata":{"labels":{"a":"b"}}}`), says},
		"a label by an administrator":    {merge(w.Client, `{"metadata":{"labels":{"a":"b"}}}`), "is none"},
		"nothing at all by a rival":      {rival.Update(t.Context(), known.DeepCopy()), says},
		"a takeover by a rival":          {merge(rival, `{"spec":{"reporter":{"name":"rival","podName":"rival-0"}}}`), ""},
		"status by the reporter":         {mine.Status().Patch(t.Context(), known.DeepCopy(), statusPatch), ""},
		"deleting, by the reporter":      {mine.Delete(t.Context(), known.DeepCopy()), ""},
		"deleting, by a rival":           {rival.Delete(t.Context(), known.DeepCopy()), ""},
		"listing those of the namespace": {rival.List(t.Context(), &v1alpha1.AgentPeerReportList{}, client.InNamespace(tenant)), ""},
	} {
		if !apierrors.IsForbidden(c.err) && !apierrors.IsInvalid(c.err) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v, want it refused in words that say %q", name, c.err, c.says)
		}
	}
	expect(t, merge(mine, counts), true)
	expect(t, merge(mine, `{"metadata":{"labels":{"a":"b"}}}`), true)
	if err := merge(mine, `{"spec":{"reporter":{"podName":"concierge-1"}}}`); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "create another AgentPeerReport") {
		t.Errorf("another reporter of one's own report: %v, want it refused as immutable", err)
	}
}

// TestSecurityReportsAreCollectedAllTheSame: what Kubernetes does to objects of any kind is not held up.
func TestSecurityReportsAreCollectedAllTheSame(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	mine := w.as(t, w.token(t, tenant, "concierge"))
	editor := w.bound(t, tenant, "agentpeer-editor")
	w.settled(t, tenant, mine)
	w.settled(t, tenant, editor)
	collector := w.collector(t)
	make := func(name string) *v1alpha1.AgentPeerReport {
		r := report(tenant, name, v1alpha1.Reporter{Namespace: tenant, Name: "concierge"})
		r.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AgentPeer", Name: "planner", UID: "0"}}
		if err := mine.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	merge := func(c client.Client, r *v1alpha1.AgentPeerReport, patch string) error {
		return c.Patch(t.Context(), r, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	orphan := make("orphan")
	expect(t, merge(collector, orphan, `{"metadata":{"ownerReferences":null}}`), true) // kubectl delete --cascade=orphan of the AgentPeer
	if err := merge(collector, orphan, `{"spec":{"capabilities":[{"name":"Streaming","diverged":7}]}}`); !apierrors.IsForbidden(err) {
		t.Errorf("a collector that writes the spec: %v, want it forbidden", err)
	}

	foreground := make("foreground")
	if err := editor.Delete(t.Context(), foreground, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatalf("deleting in the foreground: %v", err)
	}
	expect(t, merge(collector, foreground, `{"metadata":{"finalizers":null}}`), true)

	stuck := make("stuck")
	expect(t, merge(mine, stuck, `{"metadata":{"finalizers":["example.com/mistake"]}}`), true)
	if err := editor.Delete(t.Context(), stuck); err != nil {
		t.Fatalf("deleting: %v", err)
	}
	expect(t, merge(editor, stuck, `{"metadata":{"finalizers":null}}`), true)
	for _, r := range []*v1alpha1.AgentPeerReport{foreground, stuck} {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r); !apierrors.IsNotFound(err) {
			t.Errorf("report %s after its last finalizer: %v, want it gone", r.Name, err)
		}
	}
}

// collector connects as Kubernetes' garbage collector does, which is not running here.
func (w world) collector(t *testing.T) client.Client {
	t.Helper()
	const name = "generic-garbage-collector"
	w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}})
	return w.as(t, w.token(t, metav1.NamespaceSystem, name)) // Kubernetes itself binds its role
}

// TestSecurityReportsStatusIsTheOperators is beside TestSecurityAdmissionOnlyTheOperatorWritesStatusWhateverRolesSay.
func TestSecurityReportsStatusIsTheOperators(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	w.orchestrator(t, tenant, "concierge")
	mine := w.as(t, w.token(t, tenant, "concierge"))
	w.settled(t, tenant, mine)
	forged := report(tenant, "mine", v1alpha1.Reporter{Namespace: tenant, Name: "concierge"})
	forged.Status.ObservedGeneration = 7
	if err := mine.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	if forged.Status.ObservedGeneration != 0 {
		t.Errorf("a report was created with generation %d observed, want none", forged.Status.ObservedGeneration)
	}
	err := w.Client.Status().Patch(t.Context(), forged.DeepCopy(), statusPatch)
	const says = "the status of an AgentPeerReport is written by its operator alone (system:serviceaccount:agentpeer-system:agentpeer-operator): write spec"
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says) {
		t.Errorf("an administrator: %v, want it refused in words that say %q", err, says)
	}
	operator := rest.CopyConfig(w.Config) // with its name, whatever its roles say
	operator.Impersonate.UserName = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount
	operator.Impersonate.Groups = []string{"system:masters"}
	c, err := client.New(operator, client.Options{Scheme: w.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c.Status().Patch(t.Context(), forged.DeepCopy(), statusPatch), true)
}

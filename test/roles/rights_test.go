package roles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// rights asks the API server for all that somebody may do in a namespace: "resource.group" with its verbs, and the names it
// is narrowed to.
func rights(t *testing.T, c client.Client, namespace string) map[string]string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := strings.TrimSuffix(resource+"."+group, ".")
				if len(rule.ResourceNames) > 0 {
					key += " " + strings.Join(rule.ResourceNames, " ")
				}
				found[key] = append(found[key], rule.Verbs...)
			}
		}
	}
	out := map[string]string{}
	for key, verbs := range found {
		slices.Sort(verbs)
		out[key] = strings.Join(slices.Compact(verbs), " ")
	}
	return out
}

// theOperators are the operator's rights in every namespace. Another one is a decision to be made here, not a side effect.
var theOperators = map[string]string{
	"agentpeers.trust.agentpeer.dev":                                                           "get list watch",
	"agentpeers/status.trust.agentpeer.dev":                                                    "patch",
	"agentpeerreports.trust.agentpeer.dev":                                                     "delete get list watch",
	"agentpeerreports/status.trust.agentpeer.dev":                                              "patch",
	"validatingadmissionpolicies.admissionregistration.k8s.io agentpeer-report-identity":       "get",
	"validatingadmissionpolicybindings.admissionregistration.k8s.io agentpeer-report-identity": "get",

	"configmaps":                         "get list watch",
	"services":                           "get list watch",
	"secrets":                            "get",
	"endpointslices.discovery.k8s.io":    "list",
	"events.events.k8s.io":               "create patch",
	"tokenreviews.authentication.k8s.io": "create",

	"subjectaccessreviews.authorization.k8s.io": "create",
}

func TestSecurityRolesTheRightsOfEachAreTheseAndNoMore(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	own := maps.Clone(theOperators)
	maps.Copy(own, map[string]string{
		"leases.coordination.k8s.io":                              "create",
		"leases.coordination.k8s.io operator.trust.agentpeer.dev": "get patch update",
		"events": "create patch",
	})
	readers := map[string]string{
		"agentpeers.trust.agentpeer.dev":        "get list watch",
		"agentpeers/status.trust.agentpeer.dev": "get",

		"agentpeerreports.trust.agentpeer.dev":        "get list watch",
		"agentpeerreports/status.trust.agentpeer.dev": "get",
	}
	w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "unbound"}})
	everybodys := rights(t, w.as(t, w.token(t, tenant, "unbound")), tenant) // such as selfsubjectreviews
	operator := w.operator(t)
	editor, viewer := w.bound(t, tenant, "agentpeer-editor"), w.bound(t, tenant, "agentpeer-viewer")
	orchestrator := w.bound(t, tenant, "agentpeer-orchestrator")
	for name, c := range map[string]struct {
		who  client.Client
		in   string
		want map[string]string
	}{
		"the operator in a tenant's namespace": {operator, tenant, theOperators},
		"the operator in its own namespace":    {operator, operatorNamespace, own},
		"the operator in kube-system":          {operator, "kube-system", theOperators},
		"an editor": {editor, tenant, map[string]string{
			"agentpeers.trust.agentpeer.dev":        "create delete deletecollection get list patch update watch",
			"agentpeers/status.trust.agentpeer.dev": "get",

			"agentpeerreports.trust.agentpeer.dev":        "create delete deletecollection get list patch update watch",
			"agentpeerreports/status.trust.agentpeer.dev": "get",
		}},
		"an editor elsewhere": {editor, "default", map[string]string{}},
		"a viewer":            {viewer, tenant, readers},
		"a viewer elsewhere":  {viewer, "default", map[string]string{}},
		"an orchestrator": {orchestrator, tenant, map[string]string{
			"agentpeers.trust.agentpeer.dev":       "get list watch",
			"agentpeerreports.trust.agentpeer.dev": "create get patch update",
		}},
		"an orchestrator elsewhere": {orchestrator, "default", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var diff string
			gomega.NewWithT(t).Eventually(func() string { // the authorizer learns of bindings from a watch
				got := rights(t, c.who, c.in)
				maps.DeleteFunc(got, func(key, verbs string) bool { return everybodys[key] == verbs })
				diff = cmp.Diff(c.want, got)
				return diff
			}, "10s", "50ms").Should(gomega.BeEmpty(), "rights (-want +got)")
		})
	}
}

// TestSecurityRolesAskedForTheRightsThatMatter asks one by one, so that a right that comes by another way than a rule (a
// wildcard, a group) is seen too.
func TestSecurityRolesAskedForTheRightsThatMatter(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	who := map[string]client.Client{
		"operator":     w.operator(t),
		"editor":       w.bound(t, tenant, "agentpeer-editor"),
		"viewer":       w.bound(t, tenant, "agentpeer-viewer"),
		"orchestrator": w.bound(t, tenant, "agentpeer-orchestrator"),
	}
	trust := v1alpha1.GroupVersion.Group
	for _, c := range []struct {
		verb, group, resource string
		namespace             string
		allowed               string // those who may
	}{
		{"get", trust, "agentpeers", tenant, "operator editor viewer orchestrator"},
		{"list", trust, "agentpeers", tenant, "operator editor viewer orchestrator"},
		{"watch", trust, "agentpeers", tenant, "operator editor viewer orchestrator"},
		{"create", trust, "agentpeers", tenant, "editor"},
		{"update", trust, "agentpeers", tenant, "editor"},
		{"patch", trust, "agentpeers", tenant, "editor"},
		{"delete", trust, "agentpeers", tenant, "editor"},
		{"deletecollection", trust, "agentpeers", tenant, "editor"},
		{"patch", trust, "agentpeers/status", tenant, "operator"},
		{"update", trust, "agentpeers/status", tenant, ""},
		{"update", trust, "agentpeers/finalizers", tenant, ""},
		{"list", trust, "agentpeers", "", "operator"},
		{"get", trust, "agentpeerreports", tenant, "operator editor viewer orchestrator"},
		{"delete", trust, "agentpeerreports", tenant, "operator editor"},
		{"patch", trust, "agentpeerreports/status", tenant, "operator"},
		{"get", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""}, // of one name alone
		{"list", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""},
		{"update", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", ""},
		{"create", trust, "agentpeerreports", tenant, "editor orchestrator"},
		{"update", trust, "agentpeerreports", tenant, "editor orchestrator"},
		{"patch", trust, "agentpeerreports", tenant, "editor orchestrator"},
		{"patch", trust, "agentpeerreports", "kube-system", ""},
		{"deletecollection", trust, "agentpeerreports", tenant, "editor"},
		{"update", trust, "agentpeerreports/status", tenant, ""},
		{"update", trust, "agentpeerreports/finalizers", tenant, ""},
		{"get", "", "secrets", tenant, "operator"},
		{"get", "", "secrets", "kube-system", "operator"}, // config/namespaced is for whom this is too much
		{"list", "", "secrets", tenant, ""},
		{"watch", "", "secrets", tenant, ""},
		{"list", "", "secrets", "", ""},
		{"create", "", "secrets", tenant, ""},
		{"update", "", "secrets", tenant, ""},
		{"delete", "", "secrets", tenant, ""},
		{"get", "", "serviceaccounts", tenant, ""},
		{"create", "", "serviceaccounts/token", tenant, ""},
		{"create", "", "serviceaccounts/token", operatorNamespace, ""},
		{"get", "", "configmaps", tenant, "operator"},
		{"update", "", "configmaps", tenant, ""},
		{"get", "", "services", tenant, "operator"},
		{"create", "", "services", tenant, ""},
		{"get", "", "services/proxy", tenant, ""},
		{"get", "", "pods", tenant, ""},
		{"list", "", "pods", tenant, ""},
		{"create", "", "pods", tenant, ""},
		{"create", "", "pods/exec", tenant, ""},
		{"get", "", "nodes", "", ""},
		{"get", "", "nodes/proxy", "", ""},
		{"get", "", "namespaces", "", ""},
		{"update", "", "namespaces", tenant, ""},
		{"create", "events.k8s.io", "events", tenant, "operator"},
		{"list", "events.k8s.io", "events", tenant, ""},
		{"list", "rbac.authorization.k8s.io", "roles", tenant, ""},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", ""},
		{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""},
		{"impersonate", "", "users", "", ""},
		{"impersonate", "", "serviceaccounts", tenant, ""},
		{"create", "authentication.k8s.io", "tokenreviews", "", "operator"},
		{"create", "authorization.k8s.io", "subjectaccessreviews", "", "operator"},
		{"update", "apiextensions.k8s.io", "customresourcedefinitions", "", ""},
		{"delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", ""},
		{"update", "apps", "deployments", operatorNamespace, ""},
		{"get", "coordination.k8s.io", "leases", "kube-system", ""},
	} {
		resource, sub, _ := strings.Cut(c.resource, "/")
		for name, somebody := range who {
			allowed := slices.Contains(strings.Fields(c.allowed), name)
			t.Run(strings.Join([]string{name, c.verb, c.resource, "in", c.namespace}, " "), func(t *testing.T) {
				gomega.NewWithT(t).Eventually(func() bool {
					review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
						ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: c.verb, Group: c.group, Resource: resource,
							Subresource: sub, Namespace: c.namespace}}}
					if err := somebody.Create(t.Context(), review); err != nil {
						t.Fatal(err)
					}
					return review.Status.Allowed
				}, "10s", "50ms").Should(gomega.Equal(allowed))
			})
		}
	}
}

var (
	statusPatch  = client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`))
	suspendPatch = client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
)

func TestSecurityRolesRealRequestsAreAnsweredAsTheRolesSay(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "token"}}
	known := peer(tenant, "peer")
	w.create(t, secret, known)
	for name, c := range map[string]struct {
		who     client.Client
		allowed string
	}{
		"operator":     {w.operator(t), "reads lists get-secret write-status lease"},
		"editor":       {w.bound(t, tenant, "agentpeer-editor"), "reads lists suspends creates deletes"},
		"viewer":       {w.bound(t, tenant, "agentpeer-viewer"), "reads lists"},
		"orchestrator": {w.bound(t, tenant, "agentpeer-orchestrator"), "reads lists"},
	} {
		gomega.NewWithT(t).Eventually(func() error {
			return c.who.Get(t.Context(), client.ObjectKeyFromObject(known), &v1alpha1.AgentPeer{})
		}, "10s", "50ms").Should(gomega.Succeed())
		in := client.InNamespace(tenant)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "operator.trust.agentpeer.dev"}}
		of := peer(tenant, "of-"+name)
		if name != "editor" {
			w.create(t, peer(tenant, of.Name)) // there is something to delete
		}
		for _, do := range []struct {
			what string
			err  func() error
		}{
			{"reads", func() error { return c.who.Get(t.Context(), client.ObjectKeyFromObject(known), &v1alpha1.AgentPeer{}) }},
			{"lists", func() error { return c.who.List(t.Context(), &v1alpha1.AgentPeerList{}, in) }},
			{"suspends", func() error { return c.who.Patch(t.Context(), known.DeepCopy(), suspendPatch) }},
			{"creates", func() error { return c.who.Create(t.Context(), of.DeepCopy()) }},
			{"deletes", func() error { return c.who.Delete(t.Context(), of.DeepCopy()) }},
			{"write-status", func() error { return c.who.Status().Patch(t.Context(), known.DeepCopy(), statusPatch) }},
			{"update-status", func() error { return c.who.Status().Update(t.Context(), known.DeepCopy()) }},
			{"get-secret", func() error { return c.who.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}) }},
			{"list-secrets", func() error { return c.who.List(t.Context(), &corev1.SecretList{}, in) }},
			{"list-all-secrets", func() error { return c.who.List(t.Context(), &corev1.SecretList{}) }},
			{"change-secret", func() error {
				return c.who.Patch(t.Context(), secret.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"trust.agentpeer.dev/send-to-peers":"true"}}}`)))
			}},
			{"list-pods", func() error { return c.who.List(t.Context(), &corev1.PodList{}, in) }},
			{"list-roles", func() error { return c.who.List(t.Context(), &rbacv1.ClusterRoleList{}) }},
			{"lease", func() error { return c.who.Create(t.Context(), lease.DeepCopy()) }},
			{"other-lease", func() error {
				return c.who.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "another"}, &coordinationv1.Lease{})
			}},
		} {
			t.Run(name+" "+do.what, func(t *testing.T) { expect(t, do.err(), slices.Contains(strings.Fields(c.allowed), do.what)) })
		}
	}
}

// TestSecurityRolesEditViewAndAdminCollectOurs does by hand what the aggregation controller does: each of Kubernetes' own
// roles takes the ClusterRoles whose labels it selects.
func TestSecurityRolesEditViewAndAdminCollectOurs(t *testing.T) {
	w := enter(t)
	var all rbacv1.ClusterRoleList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	collects := func(role string) []string {
		var builtIn rbacv1.ClusterRole
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: role}, &builtIn); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range all.Items {
			for _, s := range builtIn.AggregationRule.ClusterRoleSelectors {
				selector, err := metav1.LabelSelectorAsSelector(&s)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(all.Items[i].Name, "agentpeer-") && selector.Matches(labels.Set(all.Items[i].Labels)) {
					names = append(names, all.Items[i].Name)
				}
			}
		}
		return names
	}
	for role, want := range map[string][]string{
		"view":  {"agentpeer-viewer"},
		"edit":  {"agentpeer-editor"},
		"admin": {"agentpeer-editor"},
	} {
		if diff := cmp.Diff(want, collects(role)); diff != "" {
			t.Errorf("%s collects (-want +got):\n%s", role, diff)
		}
	}
}

// TestSecurityRolesAnOrchestratorReadsEverywhereByOneBinding is how the docs tell to set up an orchestrator.
func TestSecurityRolesAnOrchestratorReadsEverywhereByOneBinding(t *testing.T) {
	w := enter(t)
	namespace := w.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orchestrator"}}
	w.create(t, account)
	orchestrator := w.as(t, w.token(t, namespace, account.Name))
	expect(t, orchestrator.List(t.Context(), &v1alpha1.AgentPeerList{}), false)
	w.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-orchestrator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "agentpeer-orchestrator"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
	})
	gomega.NewWithT(t).Eventually(func() error { // the authorizer learns of the binding from a watch
		return orchestrator.List(t.Context(), &v1alpha1.AgentPeerList{})
	}, "10s", "50ms").Should(gomega.Succeed())
	expect(t, orchestrator.Create(t.Context(), peer(namespace, "peer")), false)
}

package roles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// enforced waits until the API server applies the policies, which it learns of from a watch.
func (w world) enforced(t *testing.T) {
	t.Helper()
	probe := peer(w.Namespace(t), "probe")
	w.create(t, probe)
	gomega.NewWithT(t).Eventually(func() error { return w.Client.Status().Patch(t.Context(), probe.DeepCopy(), statusPatch) },
		"20s", "100ms").ShouldNot(gomega.Succeed(), "a policy that never took effect")
}

func TestSecurityAdmissionOnlyTheOperatorWritesStatusWhateverRolesSay(t *testing.T) {
	w := enter(t)
	w.enforced(t)
	tenant := w.Namespace(t)
	known := peer(tenant, "peer")
	w.create(t, known, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: tenant + "-writer"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"agentpeers", "agentpeers/status"},
			Verbs: []string{"get", "patch", "update"}}},
	})
	writer := w.bound(t, tenant, tenant+"-writer")
	gomega.NewWithT(t).Eventually(func() error {
		return writer.Get(t.Context(), client.ObjectKeyFromObject(known), known)
	}, "10s", "50ms").Should(gomega.Succeed())

	update := func(c client.Client) error {
		fresh := &v1alpha1.AgentPeer{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(known), fresh); err != nil {
			t.Fatal(err)
		}
		fresh.Status.ObservedGeneration = 7
		return c.Status().Update(t.Context(), fresh)
	}
	for who, err := range map[string]error{
		"a patch by one with the right":   writer.Status().Patch(t.Context(), known.DeepCopy(), statusPatch),
		"an update by one with the right": update(writer),
		"a patch by an administrator":     w.Client.Status().Patch(t.Context(), known.DeepCopy(), statusPatch),
		"an update by an administrator":   update(w.Client),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "written by its operator alone (system:serviceaccount:agentpeer-system:agentpeer-operator)") {
			t.Errorf("%s: %v, want it refused with the operator named", who, err)
		}
	}
	if err := w.operator(t).Status().Patch(t.Context(), known.DeepCopy(), statusPatch); err != nil {
		t.Errorf("the operator: %v, want it allowed", err)
	}
	if err := writer.Patch(t.Context(), known.DeepCopy(), suspendPatch); err != nil {
		t.Errorf("the spec, by one with the right: %v, want it allowed", err)
	}
}

// TestSecurityAdmissionStatusSentWithTheSpecIsDropped: the other way to write a status would be to create it.
func TestSecurityAdmissionStatusSentWithTheSpecIsDropped(t *testing.T) {
	w := enter(t)
	tenant := w.Namespace(t)
	editor := w.bound(t, tenant, "agentpeer-editor")
	forged := peer(tenant, "forged")
	forged.Status.ObservedGeneration = 7
	forged.Status.Target = "https://forged.example.com"
	gomega.NewWithT(t).Eventually(func() error { return editor.Create(t.Context(), forged.DeepCopy()) }, "10s", "50ms").Should(gomega.Succeed())
	got := &v1alpha1.AgentPeer{}
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(forged), got); err != nil {
		t.Fatal(err)
	}
	if got.Status.ObservedGeneration != -1 || got.Status.Target != "" {
		t.Errorf("an editor created an AgentPeer with generation %d and target %q observed, want -1 and none", got.Status.ObservedGeneration, got.Status.Target)
	}
}

func TestSecurityAdmissionANamespaceAllowsTheHostsOfItsList(t *testing.T) {
	w := enter(t)
	w.enforced(t)
	namespace := func(list *string) string {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hosts-"}}
		if list != nil {
			ns.Annotations = map[string]string{"trust.agentpeer.dev/allowed-hosts": *list}
		}
		w.create(t, ns)
		return ns.Name
	}
	list, nothing := " agents.example.com, LOGIN.example.org ,10.1.2.3,2001:db8::7", ""
	listed, empty, free := namespace(&list), namespace(&nothing), namespace(nil)
	url := func(u string) v1alpha1.AgentPeerSpec { return v1alpha1.AgentPeerSpec{URL: u} }
	with := func(change func(*v1alpha1.AgentPeerSpec)) v1alpha1.AgentPeerSpec {
		spec := url("https://agents.example.com")
		change(&spec)
		return spec
	}
	oauth2 := func(token string) v1alpha1.AgentPeerSpec {
		return with(func(s *v1alpha1.AgentPeerSpec) {
			s.Auth = &v1alpha1.Auth{Type: v1alpha1.AuthOAuth2, OAuth2: &v1alpha1.OAuth2Auth{TokenURL: token, ClientID: "me",
				ClientSecretRef: v1alpha1.ClientSecretReference{Name: "client"}}}
		})
	}
	jwks := func(u string) v1alpha1.AgentPeerSpec {
		return with(func(s *v1alpha1.AgentPeerSpec) {
			s.Card.Verification = v1alpha1.CardVerification{Policy: v1alpha1.SignatureWarn, JWKSURL: u}
		})
	}
	origins := func(o ...v1alpha1.Origin) v1alpha1.AgentPeerSpec {
		return with(func(s *v1alpha1.AgentPeerSpec) { s.AllowedOrigins = o })
	}
	service := v1alpha1.AgentPeerSpec{ServiceRef: &v1alpha1.ServiceReference{Name: "agent"}}
	service.ServiceRef.Port.IntVal = 80
	for name, c := range map[string]struct {
		in      string
		spec    v1alpha1.AgentPeerSpec
		refused string // the host that the message names; empty: it is allowed
	}{
		"the host itself":                     {listed, url("https://agents.example.com/a?b=c"), ""},
		"a name below it":                     {listed, url("https://a.b.agents.example.com:8443"), ""},
		"capitals":                            {listed, url("https://Agents.EXAMPLE.com"), ""},
		"capitals in the list":                {listed, url("https://login.example.org"), ""},
		"a dot at the end":                    {listed, url("https://agents.example.com./"), ""},
		"an address of the list":              {listed, url("https://10.1.2.3"), ""},
		"a Service":                           {listed, service, ""},
		"another host":                        {listed, url("https://evil.example.net"), "evil.example.net"},
		"the domain above":                    {listed, url("https://example.com"), "example.com"},
		"a name that ends alike":              {listed, url("https://evilagents.example.com"), "evilagents.example.com"},
		"the host as somebody's subdomain":    {listed, url("https://agents.example.com.evil.example.net"), "agents.example.com.evil.example.net"},
		"the host in the path":                {listed, url("https://evil.example.net/agents.example.com"), "evil.example.net"},
		"the host in the query":               {listed, url("https://evil.example.net?.agents.example.com"), "evil.example.net"},
		"two dots at the end":                 {listed, url("https://agents.example.com../"), "agents.example.com."},
		"an address":                          {listed, url("https://10.1.2.4"), "10.1.2.4"},
		"a name below an address":             {listed, url("https://5.10.1.2.3"), "5.10.1.2.3"},
		"an address of IPv6 of the list":      {listed, url("https://[2001:DB8::7]"), ""},
		"an address of IPv6 that wraps one":   {listed, url("https://[::ffff:10.1.2.3]"), "::ffff:10.1.2.3"},
		"an address of IPv6":                  {listed, url("https://[2001:db8::1]:443"), "2001:db8::1"},
		"origins of the list":                 {listed, origins("https://x.agents.example.com", "https://login.example.org:8443"), ""},
		"an origin that is not":               {listed, origins("https://x.agents.example.com", "https://evil.example.net"), "evil.example.net"},
		"a token endpoint of the list":        {listed, oauth2("https://login.example.org/token"), ""},
		"a token endpoint that is not":        {listed, oauth2("https://evil.example.net/token"), "evil.example.net"},
		"a key set of the list":               {listed, jwks("https://keys.agents.example.com/jwks.json"), ""},
		"a key set that is not":               {listed, jwks("https://evil.example.net/jwks.json"), "evil.example.net"},
		"any host where the list is empty":    {empty, url("https://agents.example.com"), "agents.example.com"},
		"a Service where the list is empty":   {empty, service, ""},
		"any host where there is no list":     {free, url("https://evil.example.net"), ""},
		"any origin where there is no list":   {free, origins("https://evil.example.net"), ""},
		"any endpoint where there is no list": {free, oauth2("https://evil.example.net/token"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := w.Client.Create(t.Context(), &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: c.in, GenerateName: "peer-"}, Spec: c.spec})
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("%v, want it allowed", err)
			case c.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `does not allow the host "`+c.refused+`"`)):
				t.Errorf("%v, want it refused with the host %q named", err, c.refused)
			case c.refused != "" && c.in == listed && !strings.Contains(err.Error(), "only agents.example.com, login.example.org, 10.1.2.3, 2001:db8::7"):
				t.Errorf("%v, want it to say what is allowed", err)
			}
		})
	}
	t.Run("a change from one host to another", func(t *testing.T) {
		moving := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: listed, Name: "moving"}, Spec: url("https://agents.example.com")}
		w.create(t, moving)
		moving.Spec.URL = "https://evil.example.net"
		expect(t, w.Client.Update(t.Context(), moving), false)
	})
}

// TestSecurityAdmissionALongListIsStillAList: what no message can hold is refused all the same, with words of its own.
func TestSecurityAdmissionALongListIsStillAList(t *testing.T) {
	w := enter(t)
	w.enforced(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hosts-", Annotations: map[string]string{
		"trust.agentpeer.dev/allowed-hosts": strings.Repeat("agents.example.com,", 500)}}}
	w.create(t, ns)
	in := func(url string) error {
		p := peer(ns.Name, "")
		p.GenerateName, p.Spec.URL = "peer-", url
		p.Spec.AllowedOrigins = []v1alpha1.Origin{"https://a.agents.example.com", "https://b.agents.example.com", "https://c.agents.example.com"}
		return w.Client.Create(t.Context(), p)
	}
	if err := in("https://agents.example.com"); err != nil {
		t.Errorf("%v, want it allowed", err)
	}
	if err := in("https://evil.example.net"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "does not allow this host") {
		t.Errorf("%v, want it refused in words of its own", err)
	}
}

// TestSecurityAdmissionNoTenantWritesTheListOfItsOwnNamespace looks into what edit and admin are made of.
func TestSecurityAdmissionNoTenantWritesTheListOfItsOwnNamespace(t *testing.T) {
	w := enter(t)
	var all rbacv1.ClusterRoleList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, role := range all.Items {
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-edit"] != "true" && role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] != "true" {
			continue
		}
		seen++
		for _, rule := range role.Rules {
			over := slices.Contains(rule.Resources, "namespaces") || slices.Contains(rule.Resources, "*")
			writes := slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == "update" || v == "patch" || v == "*" })
			if over && writes {
				t.Errorf("ClusterRole %s, which edit or admin collects, writes Namespaces", role.Name)
			}
		}
	}
	if seen < 3 {
		t.Errorf("found %d roles that edit and admin collect, want Kubernetes' own and ours", seen)
	}
}

// TestSecurityAdmissionTheListLooksAtEveryAddressOfASpec finds the fields whose schema says that they hold a URL. One that is
// new has to be named by config/admission/allowed_hosts.yaml, and here.
func TestSecurityAdmissionTheListLooksAtEveryAddressOfASpec(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(apiserver.Root(), "config", "crd", "bases", "trust.agentpeer.dev_agentpeers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(path string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if slices.ContainsFunc(schema.XValidations, func(r apiextensionsv1.ValidationRule) bool { return strings.Contains(r.Rule, "isURL(self)") }) {
			found = append(found, path)
		}
		for name, member := range schema.Properties {
			walk(path+"."+name, member)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(path+"[]", *schema.Items.Schema)
		}
	}
	walk("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	slices.Sort(found)
	want := []string{"spec.allowedOrigins[]", "spec.auth.oauth2.tokenURL", "spec.card.verification.jwksURL", "spec.url"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("the addresses that a spec can name (-those of the policy +those of the CRD):\n%s", diff)
	}
}

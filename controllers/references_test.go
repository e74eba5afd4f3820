package controllers

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func withToken(p *trustv1alpha1.AgentPeer) {
	p.Spec.Auth = &trustv1alpha1.Auth{Type: trustv1alpha1.AuthBearer, Bearer: &trustv1alpha1.BearerAuth{
		SecretRef: trustv1alpha1.SecretKeyReference{Name: "planner-token", Key: "token"}}}
}

func (s *stage) create(o client.Object) {
	s.Helper()
	o.SetNamespace(s.namespace)
	if err := s.client.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) update(o client.Object) {
	s.Helper()
	if err := s.client.Update(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) wantMessage(name, kind, part string) {
	s.Helper()
	c := meta.FindStatusCondition(s.get(name).Status.Conditions, kind)
	if c == nil || !strings.Contains(c.Message, part) {
		s.Errorf("%s of %q says %+v, want it to say %q", kind, name, c, part)
	}
}

func TestAMissingSecretIsNamedAndHealsStepByStep_CaseC101(t *testing.T) {
	s := newStage(t)
	s.peer("planner", withToken)

	next := s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonSecretNotFound)
	s.wantCondition("planner", trustv1alpha1.ConditionReconciling, metav1.ConditionTrue, trustv1alpha1.ReasonWaitingForReference)
	s.wantMessage("planner", trustv1alpha1.ConditionReady, `Secret "planner-token" does not exist`)
	s.wantKStatus("planner", kstatus.InProgressStatus)
	if next != 2*time.Second {
		t.Errorf("looked for again after %s, want 2 s", next)
	}
	if p := s.get("planner"); p.Status.ObservedGeneration == p.Generation {
		t.Error("observedGeneration moved while waiting")
	}
	if jobs := s.asked(); len(jobs) != 0 {
		t.Errorf("%d rounds without the credentials, want none", len(jobs))
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "planner-token"}, StringData: map[string]string{"other": "x"}}
	s.create(secret)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonSecretNotAllowed)
	s.wantMessage("planner", trustv1alpha1.ConditionReady, trustv1alpha1.SendToPeersLabel+"=true")

	secret.Labels = map[string]string{trustv1alpha1.SendToPeersLabel: trustv1alpha1.SendToPeersValue}
	s.update(secret)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonSecretKeyNotFound)

	secret.Data = map[string][]byte{"token": []byte("two\nlines")}
	s.update(secret)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonCredentialInvalid)

	secret.Data = map[string][]byte{"token": []byte("s3cr3t-value\n")}
	s.update(secret)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionTrue, trustv1alpha1.ReasonAccepted)
	s.wantCondition("planner", trustv1alpha1.ConditionReconciling, "", "")
	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.wantKStatus("planner", kstatus.CurrentStatus)
	jobs := s.asked()
	if len(jobs) == 0 {
		t.Fatal("no round although everything is there")
	}
	c := jobs[0].Target.Credentials
	if c.Header != "Authorization" || c.Value != "Bearer s3cr3t-value" || len(c.Origins) != 1 || c.Origins[0] != "https://planner.example.com" {
		t.Errorf("credentials go to %v, want to the origin of the spec only", c.Origins)
	}
	raw := s.server.Kubectl(t, "", "get", "agentpeer", "-n", s.namespace, "planner", "-o", "yaml")
	if strings.Contains(raw+s.told(), "s3cr3t") {
		t.Error("the token shows in the object or an event")
	}
}

func TestAMissingReferenceIsAskedForEverMoreSlowlyAndWrittenOnce_CaseC101(t *testing.T) {
	s := newStage(t)
	s.peer("planner", withToken)
	s.pass("planner", time.Hour)

	if n := s.counted(); n != 1 {
		t.Errorf("%d writes while a Secret was missing for an hour, want 1", n)
	}
	if next := s.settle("planner"); next != 2*time.Minute {
		t.Errorf("looked for again after %s, want 2 min", next)
	}
	if told := s.told(); strings.Count(told, "\n") != 0 || !strings.Contains(told, trustv1alpha1.ReasonSecretNotFound) {
		t.Errorf("events are %q, want one", told)
	}
}

func TestALateSecretIsNoticedWhileItsUserIsWatching(t *testing.T) {
	s := newStage(t)
	s.peer("planner", withToken)
	s.pass("planner", 20*time.Minute) // nobody is watching any more

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "planner-token"}, StringData: map[string]string{"token": "s3cr3t"}}
	s.create(secret)
	if next := s.settle("planner"); next != 2*time.Second { // what is wrong has changed: somebody is
		t.Errorf("looked for the label after %s, want 2 s", next)
	}
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonSecretNotAllowed)
	if next := s.settle("planner"); next != 2*time.Second {
		t.Errorf("looked for it again after %s, want 2 s", next)
	}
}

func TestPatience(t *testing.T) {
	for _, test := range []struct{ missingFor, want time.Duration }{
		{0, 2 * time.Second}, {3 * time.Second, 2 * time.Second}, {10 * time.Second, 5 * time.Second}, {time.Minute, 30 * time.Second},
		{9 * time.Minute, 30 * time.Second}, {10 * time.Minute, 2 * time.Minute}, {24 * time.Hour, 2 * time.Minute},
	} {
		if got := patience(&fault{}, test.missingFor); got != test.want {
			t.Errorf("missing for %s: looked for again after %s, want %s", test.missingFor, got, test.want)
		}
	}
	if got := patience(&fault{slow: true}, 0); got != 2*time.Minute {
		t.Errorf("where the operator lacks a right: %s, want 2 min", got)
	}
}

func TestASecretTheOperatorMayNotReadIsAStateNotAnError_CaseC105(t *testing.T) {
	s := newStage(t)
	s.r.Client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, o, opts...)
		}})
	s.peer("planner", withToken)

	if next := s.settle("planner"); next != 2*time.Minute {
		t.Errorf("asked again after %s, want 2 min", next)
	}
	s.wantMessage("planner", trustv1alpha1.ConditionReady, "ServiceAccount")
	s.wantKStatus("planner", kstatus.InProgressStatus)
}

func TestAServiceBehindAReference_CaseC101(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.URL = ""
		p.Spec.ServiceRef = &trustv1alpha1.ServiceReference{Name: "planner", Port: intstr.FromString("http"), Path: "/agents/route"}
	})
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonServiceNotFound)

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "planner"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "grpc", Port: 9000}}}}
	s.create(service)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonServicePortNotFound)
	s.wantMessage("planner", trustv1alpha1.ConditionReady, "grpc (9000)")

	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "http", Port: 8080})
	s.update(service)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionTrue, "")
	host := "planner." + s.namespace + ".svc:8080"
	target := s.asked()[0].Target
	if target.ID != "http://"+host+"/agents/route" || len(target.AllowHosts) != 0 {
		t.Errorf("target is %q with %v allowed, want the Service's DNS name and nothing that a name server could answer for", target.ID, target.AllowHosts)
	}
	want := map[string][]netip.AddrPort{host: {netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), 8080)}}
	if diff := cmp.Diff(want, target.Pinned, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("pinned (-want +got):\n%s", diff)
	}
	s.wantKStatus("planner", kstatus.CurrentStatus)

	if err := s.client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	s.settle("planner") // no stale green
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonServiceNotFound)
	s.wantState("planner", trust.Streaming, trust.Trusted) // nothing was learned of the peer
}

// TestSecurityEgressToAServiceIsToThatServiceAlone: cluster IPs where it has them, and what its port leads to where it is headless.
func TestSecurityEgressToAServiceIsToThatServiceAlone(t *testing.T) {
	s := newStage(t)
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "planner"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone,
		ExternalIPs: []string{"203.0.113.9"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 9000}}}})
	refer := func(p *trustv1alpha1.AgentPeerSpec) {
		p.URL, p.ServiceRef = "", &trustv1alpha1.ServiceReference{Name: "planner", Port: intstr.FromString("http")}
	}
	host := "planner." + s.namespace + ".svc:80"
	target, f := s.resolve(refer)
	if addresses, pinned := target.Pinned[host]; f != nil || !pinned || len(addresses) != 0 || len(target.AllowHosts) != 0 {
		t.Errorf("without endpoints: %+v, %v, want a pin to nowhere: an agent that is down is no fault of the spec", f, target.Pinned)
	}

	endpoint := func(ready bool, addresses ...string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
	}
	slice := func(name, service string, kind discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint) {
		s.create(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: kind, Endpoints: endpoints,
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}, {Name: ptr.To("grpc"), Port: ptr.To[int32](9000)}},
		})
	}
	slice("v4", "planner", discoveryv1.AddressTypeIPv4, endpoint(true, "10.1.0.2"), endpoint(false, "10.1.0.3"), endpoint(true, "10.1.0.1"))
	slice("v6", "planner", discoveryv1.AddressTypeIPv6, endpoint(true, "fd12::7"))
	slice("names", "planner", discoveryv1.AddressTypeFQDN, endpoint(true, "metadata.internal"))
	slice("other", "other", discoveryv1.AddressTypeIPv4, endpoint(true, "10.9.9.9"))
	want := map[string][]netip.AddrPort{host: {
		netip.MustParseAddrPort("10.1.0.1:8080"), netip.MustParseAddrPort("10.1.0.2:8080"), netip.MustParseAddrPort("[fd12::7]:8080")}}
	target, f = s.resolve(refer)
	if diff := cmp.Diff(want, target.Pinned, cmpopts.EquateComparable(netip.AddrPort{})); f != nil || diff != "" {
		t.Errorf("pinned: %+v (-want +got):\n%s", f, diff)
	}
}

func TestSlicesThatAreWrittenByHandCannotNameThisMachine(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](80)}, {Name: ptr.To("other"), Port: ptr.To[int32](81)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "fe80::1", "224.0.0.1", "not an address", "10.0.0.1"}}}}
	got := readyAt(slice, &corev1.ServicePort{Port: 8080})
	if len(got) != 1 || got[0] != netip.MustParseAddrPort("10.0.0.1:80") {
		t.Errorf("addresses are %v, want 10.0.0.1:80 alone", got)
	}
}

func TestAnExternalNameServiceStalls(t *testing.T) {
	s := newStage(t)
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "planner"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "metadata.internal"}})
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.URL = ""
		p.Spec.ServiceRef = &trustv1alpha1.ServiceReference{Name: "planner", Port: intstr.FromInt32(80)}
	})

	s.settle("planner")

	s.wantCondition("planner", trustv1alpha1.ConditionStalled, metav1.ConditionTrue, trustv1alpha1.ReasonInvalidSpec)
	s.wantCondition("planner", trustv1alpha1.ConditionReconciling, "", "")
	s.wantKStatus("planner", kstatus.FailedStatus)
	if p := s.get("planner"); p.Status.ObservedGeneration != p.Generation {
		t.Error("observedGeneration did not move although the spec was rejected")
	}
}

func TestCertificatesComeFromAConfigMap(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.TLS.CARef = &trustv1alpha1.CAReference{Kind: trustv1alpha1.ReferenceConfigMap, Name: "ca"}
	})
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonCABundleNotFound)

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string]string{"ca.crt": "no certificate"}}
	s.create(config)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionFalse, trustv1alpha1.ReasonCABundleInvalid)

	config.Data["ca.crt"] = string(s.server.Config.CAData)
	s.update(config)
	s.settle("planner")
	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionTrue, "")
	if string(s.asked()[0].Target.RootCAs) != config.Data["ca.crt"] {
		t.Error("the round got other certificates")
	}
}

package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Readers compare status.target with the spec by themselves. What they take for the same must be what the operator makes of the spec.
func TestReadersKnowTheTargetThatTheOperatorMakesOfASpec(t *testing.T) {
	s := newStage(t)
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "rpc", Port: 8080}, {Name: "other", Port: 8081}}}})
	at := func(ref trustv1alpha1.ServiceReference) func(*trustv1alpha1.AgentPeerSpec) {
		return func(spec *trustv1alpha1.AgentPeerSpec) { ref.Name = "agent"; spec.URL, spec.ServiceRef = "", &ref }
	}
	url := func(u string) func(*trustv1alpha1.AgentPeerSpec) {
		return func(spec *trustv1alpha1.AgentPeerSpec) { spec.URL = u }
	}
	specs := map[string]func(*trustv1alpha1.AgentPeerSpec){
		"a URL":                         url("https://planner.example.com/agents/route"),
		"a URL without a path":          url("https://planner.example.com"),
		"a URL in capitals":             url("HTTPS://Planner.Example.com/Agents"),
		"a URL with a port":             url("https://planner.example.com:443/"),
		"a URL with a query":            url("https://planner.example.com/a2a?tenant=x"),
		"a URL to be escaped":           url("https://planner.example.com/größe"),
		"a URL that is escaped oddly":   url("https://planner.example.com/a%2fb"),
		"a Service by number":           at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080), Scheme: "https", Path: "/a2a"}),
		"a Service by another number":   at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8081), Scheme: "https", Path: "/a2a"}),
		"a Service by the port's name":  at(trustv1alpha1.ServiceReference{Port: intstr.FromString("rpc"), Path: "/named"}),
		"a Service with no path":        at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080)}),
		"a Service path to be escaped":  at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080), Path: "/größe"}),
		"a Service path escaped oddly":  at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080), Path: "/a%2fb"}),
		"a Service path with a colon":   at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080), Path: "/v1:a"}),
		"a Service path with two steps": at(trustv1alpha1.ServiceReference{Port: intstr.FromInt32(8080), Path: "/a//b/"}),
	}
	for name, change := range specs {
		target, f := s.resolve(change)
		if f != nil {
			t.Errorf("%s: %s", name, f.message)
			continue
		}
		for other, change := range specs {
			peer := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace}}
			change(&peer.Spec)
			if got := peer.HasTarget(target.ID); got != (name == other) {
				t.Errorf("the target of %s, %q, is the one of %s: %v", name, target.ID, other, got)
			}
		}
	}
}

func TestATargetThatIsNoneIsNobodys(t *testing.T) {
	byName := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: "travel"}, Spec: trustv1alpha1.AgentPeerSpec{
		ServiceRef: &trustv1alpha1.ServiceReference{Name: "agent", Port: intstr.FromString("rpc"), Path: "/x"}}}
	for _, target := range []string{"", "http://agent.travel.svc", "http://agent.travel.svc:/x", "http://agent.travel.svc:rpc/x", "http://agent.travel.svc:99999/x",
		"http://agent.travel.svc:8080", "http://agent.travel.svc:8080/y", "https://agent.travel.svc:8080/x", "http://agent.other.svc:8080/x", "http://agents.travel.svc:8080/x"} {
		if byName.HasTarget(target) {
			t.Errorf("%q counts", target)
		}
	}
	if !byName.HasTarget("http://agent.travel.svc:8080/x") {
		t.Error("its own does not count")
	}
	if (&trustv1alpha1.AgentPeer{}).HasTarget("") {
		t.Error("a spec without an address has a target")
	}
}

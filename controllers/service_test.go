package controllers

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// serviceOf makes a Service with cluster IPs and no selector, so that its slices are whatever somebody writes.
func (s *stage) serviceOf(name string) func(*trustv1alpha1.AgentPeerSpec) {
	s.Helper()
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt32(8443)}}}})
	return func(p *trustv1alpha1.AgentPeerSpec) {
		p.URL, p.ServiceRef = "", &trustv1alpha1.ServiceReference{Name: name, Port: intstr.FromInt32(443), Scheme: "https"}
	}
}

// sliceOf a Service with endpoints of some addresses each.
func (s *stage) sliceOf(service, name string, endpoints ...[]string) {
	s.Helper()
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](8443)}}}
	for _, addresses := range endpoints {
		if strings.Contains(addresses[0], ":") {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: addresses})
	}
	s.create(slice)
}

// TestSecurityEgressBehindAClusterIPIsJudged: the operator dials the cluster IP, and the cluster leads it on.
func TestSecurityEgressBehindAClusterIPIsJudged(t *testing.T) {
	s := newStage(t)
	egress, err := wire.NewEgress(wire.EgressPolicy{Deny: []netip.Prefix{netip.MustParsePrefix("172.18.0.0/16")},
		APIServer: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.5:6443")}})
	if err != nil {
		t.Fatal(err)
	}
	s.r.Egress = egress
	blocked := 0
	for i, test := range []struct {
		name    string
		refused bool
		behind  []string
	}{
		{"nothing", false, nil},
		{"pods", false, []string{"10.1.0.1", "10.1.0.2"}},
		{"pods of IPv6", false, []string{"fd12::7"}},
		{"a public address", false, []string{"93.184.216.34"}},
		{"the API server", true, []string{"10.0.0.5"}},
		{"what is denied", true, []string{"172.18.0.3"}},
		{"what is denied, behind a pod", true, []string{"10.1.0.1", "172.18.0.3"}},
		{"the metadata of Azure", true, []string{"168.63.129.16"}},
		{"the metadata of Alibaba", true, []string{"100.100.100.200"}},
		{"the metadata of Amazon", true, []string{"fd00:ec2::254"}},
		{"what is denied, translated", true, []string{"64:ff9b::ac12:3"}},
	} {
		name := fmt.Sprint("svc-", i)
		refer := s.serviceOf(name)
		for j, address := range test.behind {
			s.sliceOf(name, fmt.Sprint(name, "-", j), []string{address})
		}
		target, f := s.resolve(refer)
		switch {
		case !test.refused && (f != nil || len(target.Pinned) != 1):
			t.Errorf("%s: %+v, want it pinned", test.name, f)
		case test.refused && (f == nil || f.reason != trustv1alpha1.ReasonAddressNotAllowed || f.stalled || f.slow ||
			!strings.Contains(f.message, "an EndpointSlice of Service")):
			t.Errorf("%s: %+v, want %s that waits", test.name, f, trustv1alpha1.ReasonAddressNotAllowed)
		case test.refused:
			blocked++
		}
	}
	t.Attr("ssrf_blocked", fmt.Sprint(blocked))
}

// TestSecurityEgressReadsNoMoreSlicesThanItCanHold: a tenant may write slices of 100,000 addresses, and many of them.
func TestSecurityEgressReadsNoMoreSlicesThanItCanHold(t *testing.T) {
	s := newStage(t)
	read := 0
	counted := interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if found, ok := list.(*discoveryv1.EndpointSliceList); ok {
				read += len(found.Items)
			}
			return err
		}})
	resolve := func(refer func(*trustv1alpha1.AgentPeerSpec)) *fault {
		peer := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "planner"}}
		refer(&peer.Spec)
		r := s.resolver()
		r.client, read = counted, 0
		_, f, err := r.resolve(t.Context(), peer)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}

	huge, wide := s.serviceOf("huge"), s.serviceOf("wide")
	for i := range 6 {
		var endpoints [][]string
		for e := range 101 {
			var addresses []string
			for a := range 10 {
				addresses = append(addresses, fmt.Sprintf("10.%d.%d.%d", i, e, a))
			}
			endpoints = append(endpoints, addresses)
		}
		s.sliceOf("huge", fmt.Sprint("huge-", i), endpoints...)
	}
	if f := resolve(huge); f == nil || f.reason != trustv1alpha1.ReasonAddressNotAllowed || !f.slow || f.stalled || !strings.Contains(f.message, "more than 1000 addresses") {
		t.Errorf("slices of 1,010 addresses: %+v, want them refused for how large they are", f)
	}
	if read > slicePage {
		t.Errorf("read %d of the large slices, want no more than one page of %d", read, slicePage)
	}

	for i := range maxSlices {
		s.sliceOf("wide", fmt.Sprintf("wide-%02d", i), []string{fmt.Sprint("10.0.0.", i+1)})
	}
	if f := resolve(wide); f != nil || read != maxSlices {
		t.Errorf("%d slices: %+v after %d, want all read and allowed", maxSlices, f, read)
	}
	s.sliceOf("wide", "wide-zz", []string{"168.63.129.16"})
	if f := resolve(wide); f == nil || !f.slow || f.stalled || !strings.Contains(f.message, "too many to look at") {
		t.Errorf("one slice more: %+v, want it refused, since nobody looked at all of them", f)
	}
	if read > maxSlices {
		t.Errorf("read %d slices, want no more than %d", read, maxSlices)
	}
}

func TestAServiceWhoseSlicesMayNotBeListedSaysWhatToGrant_CaseC105(t *testing.T) {
	s := newStage(t)
	refer := s.serviceOf("planner")
	s.client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*discoveryv1.EndpointSliceList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, "", nil)
			}
			return c.List(ctx, list, opts...)
		}})
	if _, f := s.resolve(refer); f == nil || !f.slow || f.stalled || !strings.Contains(f.message, "let its ServiceAccount list them") {
		t.Errorf("got %+v, want a fault that waits and says what to grant", f)
	}
}

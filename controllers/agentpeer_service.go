package controllers

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

const (
	// maxEndpoints is how many addresses of a headless Service are tried.
	maxEndpoints = 64
	// maxSlices is how many EndpointSlices of a Service are read, slicePage at a time: one by hand can have 100,000 addresses.
	maxSlices, slicePage = 32, 2
	// maxSliceAddresses is what Kubernetes itself may be told to write into one: an address for each endpoint.
	maxSliceAddresses = 1000
)

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list

// service names the peer by the Service's DNS name, so that its certificate and its card can name it too, and gives that one host and
// port the addresses of the Service. They may be private: whoever may write a Service here may reach it anyway; what no policy but an
// exact one opens stays refused, behind a cluster IP too. No name server is asked, so none can send us elsewhere.
func (r *resolver) service(ctx context.Context, namespace string, ref *trustv1alpha1.ServiceReference, t *probe.Target) (*fault, error) {
	var service corev1.Service
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &service)
	if f := missing(err, "Service", ref.Name, trustv1alpha1.ReasonServiceNotFound); f != nil {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Service %q: %w", ref.Name, err)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return unusable("Service %q is of type ExternalName, which can point anywhere: set spec.url to the address instead", ref.Name), nil
	}
	port, ok := servicePort(&service, ref.Port)
	if !ok {
		return waiting(trustv1alpha1.ReasonServicePortNotFound, "Service %q has no port %s: add it, or set spec.serviceRef.port to one of %s",
			ref.Name, ref.Port.String(), portList(&service)), nil
	}
	host := ref.Name + "." + namespace + ".svc:" + strconv.Itoa(int(port.Port))
	u, err := url.Parse(or(ref.Scheme, "http") + "://" + host + or(ref.Path, "/"))
	if err != nil {
		return unusable("spec.serviceRef.path cannot be used: write an absolute path such as /agents/route"), nil
	}
	addresses, f, err := r.addresses(ctx, &service, port)
	if f != nil || err != nil {
		return f, err
	}
	t.URL, t.Pinned = u, map[string][]netip.AddrPort{host: addresses}
	return nil, nil
}

// addresses are where a Service listens: at its cluster IPs, or, where it is headless, at its endpoints that are ready. None at all is
// an agent that is down, which is no fault of the spec. A cluster IP is dialled and what stands behind it is not, so the dialer's guard
// never sees that: it is judged here.
func (r *resolver) addresses(ctx context.Context, service *corev1.Service, port *corev1.ServicePort) ([]netip.AddrPort, *fault, error) {
	out, refused := []netip.AddrPort{}, false
	headless := service.Spec.ClusterIP == corev1.ClusterIPNone
	all, f, err := r.slices(ctx, service, func(slice *discoveryv1.EndpointSlice) {
		if headless {
			out = append(out, readyAt(slice, port)...)
		} else {
			refused = refused || r.refusesAny(slice, port)
		}
	})
	switch {
	case f != nil || err != nil:
		return nil, f, err
	case headless:
		slices.SortFunc(out, netip.AddrPort.Compare)
		out = slices.Compact(out)
		return out[:min(len(out), maxEndpoints)], nil, nil
	case refused:
		return nil, waiting(string(trust.ReasonAddressNotAllowed), "an EndpointSlice of Service %q has an address that this operator never connects to "+
			"(denied, the API server's, link-local, or the cloud's metadata): let it lead to the agent's pods only", service.Name), nil
	case !all:
		return nil, tooMuch("Service %q has more than %d EndpointSlices, too many to look at: give the agent a Service of its own", service.Name, maxSlices), nil
	}
	for _, text := range service.Spec.ClusterIPs {
		if ip, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.AddrPortFrom(ip, uint16(port.Port)))
		}
	}
	return out, nil, nil
}

// tooMuch is the fault of what could be mended and costs much to look at again.
func tooMuch(format string, args ...any) *fault {
	f := waiting(string(trust.ReasonAddressNotAllowed), format, args...)
	f.slow = true
	return f
}

// slices looks at the EndpointSlices of a Service, a few at a time, and tells whether it saw them all. It stops at one that no
// controller of Kubernetes writes.
func (r *resolver) slices(ctx context.Context, service *corev1.Service, look func(*discoveryv1.EndpointSlice)) (bool, *fault, error) {
	next := ""
	for seen := 0; seen < maxSlices; seen += slicePage {
		var page discoveryv1.EndpointSliceList
		err := r.client.List(ctx, &page, client.InNamespace(service.Namespace), client.Limit(slicePage), client.Continue(next),
			client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
		if apierrors.IsForbidden(err) {
			return false, &fault{reason: trustv1alpha1.ReasonServiceNotFound, slow: true, message: fmt.Sprintf(
				"the operator may not list EndpointSlices here, and so not see where Service %q leads: let its ServiceAccount list them", service.Name)}, nil
		}
		if err != nil {
			return false, nil, fmt.Errorf("listing the EndpointSlices of Service %q: %w", service.Name, err)
		}
		for i := range page.Items {
			addresses := 0
			for _, endpoint := range page.Items[i].Endpoints {
				addresses += len(endpoint.Addresses)
			}
			if addresses > maxSliceAddresses {
				return false, tooMuch("an EndpointSlice of Service %q has more than %d addresses: spread them over several", service.Name, maxSliceAddresses), nil
			}
			look(&page.Items[i])
		}
		if next = page.Continue; next == "" {
			return true, nil, nil
		}
	}
	return false, nil, nil
}

// refusesAny tells whether a port of a Service may lead to what the guard never dials. Endpoints that are not ready may be soon.
func (r *resolver) refusesAny(slice *discoveryv1.EndpointSlice, port *corev1.ServicePort) bool {
	for _, number := range portsOf(slice, port) {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				ip, err := netip.ParseAddr(text)
				if slice.AddressType != discoveryv1.AddressTypeFQDN && (err != nil || r.egress.RefusesPinned(netip.AddrPortFrom(ip, number))) {
					return true
				}
			}
		}
	}
	return false
}

// portsOf a slice that a port of a Service leads to.
func portsOf(slice *discoveryv1.EndpointSlice, port *corev1.ServicePort) []uint16 {
	var out []uint16
	for _, p := range slice.Ports {
		if ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP && p.Port != nil {
			out = append(out, uint16(*p.Port))
		}
	}
	return out
}

// readyAt lists the addresses of a slice that serve a port of the Service, with the number that the port has behind it. Slices can be
// written by hand: what is no address of another machine is left out, and the dialer's guard looks at the rest.
func readyAt(slice *discoveryv1.EndpointSlice, port *corev1.ServicePort) []netip.AddrPort {
	var out []netip.AddrPort
	for _, number := range portsOf(slice, port) {
		for _, endpoint := range slice.Endpoints {
			if !ptr.Deref(endpoint.Conditions.Ready, true) {
				continue
			}
			for _, text := range endpoint.Addresses {
				if ip, err := netip.ParseAddr(text); err == nil && ip.IsGlobalUnicast() {
					out = append(out, netip.AddrPortFrom(ip, number))
				}
			}
		}
	}
	return out
}

// servicePort finds a TCP port of a Service by name or number.
func servicePort(service *corev1.Service, want intstr.IntOrString) (*corev1.ServicePort, bool) {
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		if want.Type == intstr.String && p.Name == want.StrVal || want.Type == intstr.Int && p.Port == want.IntVal {
			return p, true
		}
	}
	return nil, false
}

// portList names the ports of a Service, the first few.
func portList(service *corev1.Service) string {
	var names []string
	for _, p := range service.Spec.Ports[:min(len(service.Spec.Ports), 8)] {
		if p.Name != "" {
			names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.Port))
		} else {
			names = append(names, strconv.Itoa(int(p.Port)))
		}
	}
	if len(names) == 0 {
		return "those it will have: it has none now"
	}
	return strings.Join(names, ", ")
}

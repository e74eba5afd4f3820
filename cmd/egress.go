package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// newEgress makes of the flags, and of what is known of the API server, where the operator's rounds may connect.
func newEgress(ctx context.Context, kubeconfig *rest.Config, o options, log logr.Logger) (*wire.Egress, error) {
	allow, errAllow := prefixes("--allow-cidrs", o.allowCIDRs)
	deny, errDeny := prefixes("--deny-cidrs", o.denyCIDRs)
	plaintext, errPlaintext := hosts("--allow-http-hosts", o.allowHTTPHosts)
	denied, errDenied := hosts("--deny-hosts", o.denyHosts)
	var errConnections error
	if o.connectionsPerAddress < 1 {
		errConnections = fmt.Errorf("reading --connections-per-address: %d, want at least 1", o.connectionsPerAddress)
	}
	if err := errors.Join(errAllow, errDeny, errPlaintext, errDenied, errConnections); err != nil {
		return nil, err
	}
	egress, err := wire.NewEgress(wire.EgressPolicy{
		Allow: allow, Deny: deny, DenyHosts: denied, PlaintextHosts: plaintext,
		APIServer: apiServer(ctx, kubeconfig, log), ConnectionsPerAddress: o.connectionsPerAddress, BytesInFlight: bytesInFlight(),
	})
	if err != nil {
		return nil, fmt.Errorf("reading --allow-cidrs, --deny-cidrs, --deny-hosts and --allow-http-hosts: %w", err)
	}
	return egress, nil
}

// bytesInFlight is a quarter of the memory that GOMEMLIMIT gives us, and 0, which is the default, where it is not set.
func bytesInFlight() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return max(limit/4, 1<<20)
}

// prefixes reads a comma-separated list of address ranges.
func prefixes(name, list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range split(list) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %q is not an address range such as 10.0.0.0/8: %w", name, text, err)
		}
		if p.Masked() != p {
			return nil, fmt.Errorf("reading %s: %q has bits set beyond its mask, want %s", name, text, p.Masked())
		}
		out = append(out, p)
	}
	return out, nil
}

// hosts reads a comma-separated list of hosts. What could never match, such as a URL, must not go unnoticed.
func hosts(name, list string) ([]string, error) {
	var out []string
	for _, text := range split(list) {
		_, err := netip.ParseAddr(text)
		if err != nil && strings.ContainsAny(text, ":/*@?#[] ") || strings.Trim(text, ".") == "" {
			return nil, fmt.Errorf("reading %s: %q is not a host: write a name such as corp.example.com, which stands for those below it too, "+
				"or an address, without scheme, port or *", name, text)
		}
		out = append(out, text)
	}
	return out, nil
}

// lookupTimeout bounds what is asked about the API server before the operator starts.
const lookupTimeout = 5 * time.Second

// apiServer lists where the API server listens, so that nobody who writes an AgentPeer or a Service makes the operator call it. What
// cannot be found out is logged: the guard refuses private addresses anyway.
func apiServer(ctx context.Context, kubeconfig *rest.Config, log logr.Logger) []netip.AddrPort {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var out []netip.AddrPort
	add := func(from, hostport string) {
		found, err := lookup(ctx, hostport)
		if err != nil {
			log.Error(err, "Looking up an address of the API server, which is not guarded by it", "from", from)
		}
		out = append(out, found...)
	}
	add("kubeconfig", hostPort(kubeconfig.Host))
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		add("KUBERNETES_SERVICE_HOST", net.JoinHostPort(host, port))
	}
	told, err := toldAddresses(ctx, kubeconfig)
	if err != nil {
		log.Error(err, "Asking the API server for its addresses")
	}
	for _, hostport := range told {
		add("/api", hostport)
	}
	replicas, err := replicaAddresses(ctx, kubeconfig)
	if err != nil { // such as an operator without rights beyond its own namespaces
		log.V(1).Info("The API server's replicas are not known", "error", err.Error())
	}
	for _, hostport := range replicas {
		add("EndpointSlice", hostport)
	}
	return out
}

// toldAddresses are those that the API server itself tells its clients.
func toldAddresses(ctx context.Context, kubeconfig *rest.Config) ([]string, error) {
	plain := rest.CopyConfig(kubeconfig)
	plain.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(plain)
	if err != nil {
		return nil, err
	}
	raw, err := client.Get().AbsPath("/api").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var versions metav1.APIVersions
	if err := json.Unmarshal(raw, &versions); err != nil {
		return nil, err
	}
	var out []string
	for _, a := range versions.ServerAddressByClientCIDRs {
		out = append(out, hostPort(a.ServerAddress))
	}
	return out, nil
}

// replicaAddresses are those behind the Service of the API server.
func replicaAddresses(ctx context.Context, kubeconfig *rest.Config) ([]string, error) {
	c, err := client.New(kubeconfig, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	var behind discoveryv1.EndpointSliceList
	if err := c.List(ctx, &behind, client.InNamespace(metav1.NamespaceDefault), client.Limit(16),
		client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, err
	}
	var out []string
	for _, slice := range behind.Items {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				for _, address := range endpoint.Addresses {
					out = append(out, net.JoinHostPort(address, strconv.Itoa(int(ptr.Deref(port.Port, 443)))))
				}
			}
		}
	}
	return out, nil
}

// hostPort is the host and port of what a kubeconfig names, which may be a URL or not; 443 where it has no port.
func hostPort(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// lookup finds the addresses of a host and port.
func lookup(ctx context.Context, hostport string) ([]netip.AddrPort, error) {
	host, text, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("reading a port: %w", err)
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var out []netip.AddrPort
	for _, ip := range ips {
		out = append(out, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return out, err
}

// ownToken reads the operator's own ServiceAccount and the audiences of its token, which are the API server's; zero where it has another
// kind of credential. The token is its own, so nothing is verified.
func ownToken(kubeconfig *rest.Config) (self types.NamespacedName, audiences []string) {
	token := kubeconfig.BearerToken
	if raw, err := os.ReadFile(kubeconfig.BearerTokenFile); kubeconfig.BearerTokenFile != "" && err == nil {
		token = strings.TrimSpace(string(raw))
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return types.NamespacedName{}, nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return types.NamespacedName{}, nil
	}
	var claims struct {
		Subject  string          `json:"sub"`
		Audience json.RawMessage `json:"aud"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return types.NamespacedName{}, nil
	}
	if json.Unmarshal(claims.Audience, &audiences) != nil { // one audience may be a text instead of a list
		audiences = make([]string, 1)
		_ = json.Unmarshal(claims.Audience, &audiences[0])
	}
	name, ok := strings.CutPrefix(claims.Subject, "system:serviceaccount:")
	if !ok {
		return types.NamespacedName{}, audiences
	}
	self.Namespace, self.Name, _ = strings.Cut(name, ":")
	return self, audiences
}

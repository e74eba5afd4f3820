package wire

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// metadata lists addresses that hand out credentials of the cloud or steer the node, besides all of link-local. They
// are refused unless a prefix names exactly the address, however private the rest of the network is.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure WireServer, a public address
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud, in shared address space
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud, classic
	netip.MustParsePrefix("fd00:ec2::/32"),          // Amazon: metadata, DNS, time, pod identity
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
}

// table is the range table of IANA's special-purpose registries, all ports.
var table = ssrf.New(ssrf.WithAnyPort())

// blockedError says that an address may not be dialled. It names neither address nor host: both may be the peer's
// choice.
type blockedError struct{ why string }

func (e *blockedError) Error() string { return "address refused: " + e.why }

// guard decides which addresses may be dialled. It looks at the address that the dialer is about to connect to, after
// DNS, so no spelling of a host (decimal, hex, a name that resolves to something else the second time) gets past it.
type guard struct {
	allow    []netip.Prefix
	hosts    map[string]bool
	resolver *net.Resolver // nil: the machine's
}

// newGuard checks and normalises what the user opened. 4-in-6 prefixes count as the IPv4 prefixes that they are.
func newGuard(allow []netip.Prefix, hosts []string) (*guard, error) {
	g := &guard{hosts: make(map[string]bool, len(hosts))}
	for _, p := range allow {
		if !p.IsValid() {
			return nil, fmt.Errorf("opening address ranges: an invalid prefix")
		}
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.allow = append(g.allow, p.Masked())
	}
	for _, h := range hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("opening hosts: %q is not host:port", h)
		}
		g.hosts[hostKey(host, port)] = true
	}
	return g, nil
}

func hostKey(host, port string) string { return net.JoinHostPort(strings.ToLower(host), port) }

// opens tells whether the user named this host:port, so that it may be at any address but the worst.
func (g *guard) opens(hostport string) bool { return g.hosts[strings.ToLower(hostport)] }

// dial connects to a host:port within dialTimeout, all its addresses together, trying none that the guard refuses.
func (g *guard) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.resolver, Control: g.control(g.opens(hostport))}
	return d.DialContext(ctx, network, hostport)
}

// control is a net.Dialer's Control for one dial.
func (g *guard) control(open bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return &blockedError{"not TCP"}
		}
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return &blockedError{"not an address"}
		}
		return g.check(ap.Addr(), open)
	}
}

// check is the decision: nil, or a *blockedError. An address that carries an IPv4 address inside is judged by that one
// too.
func (g *guard) check(ip netip.Addr, open bool) error {
	ip = ip.Unmap().WithZone("")
	if g.names(ip) {
		return nil
	}
	if why := worst(ip); why != "" {
		return &blockedError{why}
	}
	if inner, ok := embedded(ip); ok {
		if err := g.check(inner, open); err != nil {
			return err
		}
	}
	switch {
	case open:
		return nil
	case ip.IsUnspecified(), ip.IsMulticast():
		return &blockedError{"names no single host"} // 0.0.0.0 and [::] are this very pod (C46)
	case g.contains(ip):
		return nil
	case table.SafeAddrPort(netip.AddrPortFrom(ip, 443)) != nil:
		return &blockedError{"a special-purpose range"}
	}
	return nil
}

// names tells whether a prefix is exactly this address.
func (g *guard) names(ip netip.Addr) bool {
	for _, p := range g.allow {
		if p.IsSingleIP() && p.Addr() == ip {
			return true
		}
	}
	return false
}

func (g *guard) contains(ip netip.Addr) bool {
	for _, p := range g.allow {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// worst says why an address stays refused even to a wide prefix or a named host; empty if it does not.
func worst(ip netip.Addr) string {
	if ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsInterfaceLocalMulticast() {
		return "link-local"
	}
	for _, p := range metadata {
		if p.Contains(ip) {
			return "cloud metadata"
		}
	}
	return ""
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

// embedded finds the IPv4 address inside a translated one, so that opening NAT64 does not open the metadata service
// behind it.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() || ip.IsUnspecified() || ip.IsLoopback() {
		return netip.Addr{}, false
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip), compatible.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

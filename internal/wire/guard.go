package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

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
	egress   *Egress
	tenant   string // for whom it dials; empty: nobody else is there
	hosts    map[string]bool
	pinned   map[string][]netip.AddrPort
	resolver *net.Resolver // nil: the machine's
	// dialling, if set, is told of every address that is let through. For tests.
	dialling func(netip.AddrPort)
}

// newGuard makes the guard of one client, and checks which hosts are open to it beyond the policy.
func (e *Egress) newGuard(hosts []string, pinned map[string][]netip.AddrPort) (*guard, error) {
	g := &guard{egress: e.orStrictest(), hosts: make(map[string]bool, len(hosts)), pinned: make(map[string][]netip.AddrPort, len(pinned))}
	for _, h := range hosts {
		key, err := openedHost(h)
		if err != nil {
			return nil, err
		}
		g.hosts[key] = true
	}
	for h, addresses := range pinned {
		key, err := openedHost(h)
		if err != nil {
			return nil, err
		}
		for _, ap := range addresses {
			if !ap.IsValid() || ap.Port() == 0 {
				return nil, fmt.Errorf("pinning hosts: %q has %s, which is not an address and a port: write 10.0.0.1:8080 or [fd00::1]:8080", h, ap)
			}
		}
		g.pinned[key] = addresses
	}
	return g, nil
}

func openedHost(h string) (string, error) {
	host, port, err := net.SplitHostPort(h)
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("opening hosts: %q is not host:port: write planner.example.com:443 or [::1]:8080", h)
	}
	return hostKey(host, port), nil
}

func hostKey(host, port string) string { return net.JoinHostPort(strings.ToLower(host), port) }

// opens tells whether the user named this host:port, so that it may be at any address but the worst.
func (g *guard) opens(hostport string) bool {
	key := strings.ToLower(hostport)
	_, pinned := g.pinned[key]
	return g.hosts[key] || pinned
}

// dial connects to a host:port within dialTimeout, all its addresses together, trying none that the guard refuses.
func (g *guard) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(hostport)
	switch {
	case err != nil || g.egress.denied.has(host):
		return nil, &blockedError{"a denied host"}
	case strings.Contains(host, "%"): // the zone is not looked at by the address, and may end in any name
		return nil, &blockedError{"a zone of this machine"}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l := &lease{slots: g.egress.slots, tenant: g.tenant}
	d := net.Dialer{Resolver: g.resolver, ControlContext: g.control(g.opens(hostport), l)}
	conn, err := g.connect(ctx, &d, network, hostport)
	conn = l.settle(conn)
	if err != nil && l.busy {
		return nil, errors.Join(errBusy, err)
	}
	return conn, err
}

// connect dials a host where it is pinned to, one address after another, and any other where name servers say that it is. One that is
// pinned to no address is down.
func (g *guard) connect(ctx context.Context, d *net.Dialer, network, hostport string) (net.Conn, error) {
	addresses, pinned := g.pinned[strings.ToLower(hostport)]
	if !pinned {
		return d.DialContext(ctx, network, hostport)
	}
	if len(addresses) == 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	var first error
	for i, ap := range addresses {
		conn, err := dialShare(ctx, d, network, ap, len(addresses)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// dialShare dials one of n addresses within its share of the time that is left.
func dialShare(ctx context.Context, d *net.Dialer, network string, ap netip.AddrPort, n int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
		defer cancel()
	}
	return d.DialContext(ctx, network, ap.String())
}

// control is a net.Dialer's ControlContext for one dial.
func (g *guard) control(open bool, l *lease) func(ctx context.Context, network, address string, _ syscall.RawConn) error {
	return func(ctx context.Context, network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return &blockedError{"not TCP"}
		}
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return &blockedError{"not an address"}
		}
		if err := g.check(ap, open); err != nil {
			return err
		}
		if err := l.take(ctx, plain(ap.Addr())); err != nil {
			return err
		}
		if g.dialling != nil {
			g.dialling(ap)
		}
		return nil
	}
}

// check is the decision: nil, or a *blockedError. An address that carries an IPv4 address inside is judged by that one
// too.
func (g *guard) check(ap netip.AddrPort, open bool) error {
	ip, port := plain(ap.Addr()), ap.Port()
	named := g.names(ip)
	for _, a := range carried(ip) {
		if why := g.never(a, port); why != "" {
			return &blockedError{why}
		}
		if why := worst(a); why != "" && !named {
			return &blockedError{why}
		}
	}
	if named {
		return nil
	}
	if inner, ok := embedded(ip); ok {
		if err := g.check(netip.AddrPortFrom(inner, port), open); err != nil {
			return err
		}
	}
	switch {
	case open:
		return nil
	case ip.IsUnspecified(), ip.IsMulticast():
		return &blockedError{"names no single host"} // 0.0.0.0 and [::] are this very pod (C46)
	case holds(g.egress.allow, ip):
		return nil
	case table.SafeAddrPort(netip.AddrPortFrom(ip, 443)) != nil:
		return &blockedError{"a special-purpose range"}
	}
	return nil
}

// never says why an address and port is refused whatever opens it; empty if it is not.
func (g *guard) never(ip netip.Addr, port uint16) string {
	switch e := g.egress; {
	case holds(e.deny, ip):
		return "denied"
	case e.apiServer[netip.AddrPortFrom(ip, 0)], e.apiServer[netip.AddrPortFrom(ip, port)]:
		return "the API server"
	}
	return ""
}

// names tells whether a prefix is exactly this address.
func (g *guard) names(ip netip.Addr) bool {
	return slices.ContainsFunc(g.egress.allow, func(p netip.Prefix) bool { return p.IsSingleIP() && p.Addr() == ip })
}

// holds tells whether one of the ranges holds an address.
func holds(list []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
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
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	stateless  = netip.MustParsePrefix("::ffff:0:0:0/96") // of stateless translation, RFC 2765
	teredo     = netip.MustParsePrefix("2001::/32")
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
		return v4(b[12:]), true
	case sixToFour.Contains(ip):
		return v4(b[2:]), true
	}
	return netip.Addr{}, false
}

// carried lists an address and every IPv4 address that it may carry. Some forms leave open where it stands or whether there is one, so not
// all of these are reached by it; that none of them is among the worst is little to ask.
func carried(ip netip.Addr) []netip.Addr {
	list := []netip.Addr{ip}
	if inner, ok := embedded(ip); ok {
		list = append(list, inner)
	}
	if !ip.Is6() {
		return list
	}
	b := ip.As16()
	switch {
	case localNAT64.Contains(ip): // RFC 6052 has a place for each length of the prefix, around the byte in the middle
		list = append(list, v4(b[12:]), v4([]byte{b[6], b[7], b[9], b[10]}), v4([]byte{b[7], b[9], b[10], b[11]}), v4(b[9:]))
	case stateless.Contains(ip):
		list = append(list, v4(b[12:]))
	case teredo.Contains(ip):
		list = append(list, v4(b[4:]), v4([]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP
		list = append(list, v4(b[12:]))
	}
	return list
}

func v4(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b[:4])) }

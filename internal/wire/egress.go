package wire

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Egress says where an operator's clients may connect, and how often at once. One Egress is shared by all clients of a process. A nil
// Egress is the strictest: https to public addresses.
type Egress struct {
	allow, deny     []netip.Prefix
	denied, plainly hostSet
	apiServer       map[netip.AddrPort]bool // port 0: every port
	slots           *slots
	bytes           *budget
}

// EgressPolicy is what an administrator sets. The zero value is the strictest. Hosts of its lists are names, which mean themselves and
// every name below them (example.com is api.example.com too, and not myexample.com), or addresses. Neither case nor a trailing dot
// matters, and names beyond ASCII are compared in their ASCII form.
type EgressPolicy struct {
	// Allow lists address ranges that may be dialled although they are private or loopback. Link-local and cloud metadata addresses stay
	// refused unless a range names them exactly.
	Allow []netip.Prefix
	// Deny lists address ranges that are never dialled, whatever else allows them.
	Deny []netip.Prefix
	// DenyHosts lists hosts that are never asked, whatever else allows them.
	DenyHosts []string
	// PlaintextHosts lists hosts that may be asked by http. Others are asked by https only.
	PlaintextHosts []string
	// APIServer lists where the Kubernetes API server listens; it is never dialled, whatever else allows it. Of an address that is not
	// loopback no other port is dialled either: what else listens on a control plane is none of our peers.
	APIServer []netip.AddrPort
	// ConnectionsPerAddress bounds how many connections to one address are open at once, by all clients together; 0: 256. Those of one tenant
	// have half of them. A dial beyond waits for as long as dialling may take and then fails with ClassBusy.
	ConnectionsPerAddress int
	// BytesInFlight bounds how many bytes of answers, beyond the first 64 KiB of each, all clients together hold while they come; 0: 256 MiB.
	// Those of one tenant have half of them, and one client 12 MiB. An answer that would need more waits for 3 s at most and then fails
	// with ClassBusy; a stream, of which it counts when what comes, ends at once with EndBusy.
	BytesInFlight int64
}

// connectionsPerAddress is the default.
const connectionsPerAddress = 256

// NewEgress checks a policy. Its errors name the entry that cannot be used and what to write instead.
func NewEgress(p EgressPolicy) (*Egress, error) {
	e := &Egress{apiServer: map[netip.AddrPort]bool{}}
	var err error
	if e.allow, err = plainPrefixes("opening address ranges", p.Allow); err != nil {
		return nil, err
	}
	if e.deny, err = plainPrefixes("denying address ranges", p.Deny); err != nil {
		return nil, err
	}
	if e.denied, err = newHostSet("denying hosts", p.DenyHosts); err != nil {
		return nil, err
	}
	if e.plainly, err = newHostSet("allowing http", p.PlaintextHosts); err != nil {
		return nil, err
	}
	for ip := range e.denied.addresses { // however a URL spells it, and whatever name leads there
		e.deny = append(e.deny, netip.PrefixFrom(ip, ip.BitLen()))
	}
	for i, ap := range p.APIServer {
		if !ap.IsValid() || ap.Port() == 0 {
			return nil, fmt.Errorf("keeping off the API server: entry %d (%s) is not an address and a port: write 10.0.0.1:443 or [fd00::1]:443", i+1, ap)
		}
		ip, port := plain(ap.Addr()), ap.Port()
		if !ip.IsLoopback() {
			port = 0
		}
		e.apiServer[netip.AddrPortFrom(ip, port)] = true
	}
	if p.ConnectionsPerAddress < 0 {
		return nil, fmt.Errorf("bounding connections per address: %d is negative: write 1 or more, or 0 for %d", p.ConnectionsPerAddress, connectionsPerAddress)
	}
	if p.BytesInFlight < 0 {
		return nil, fmt.Errorf("bounding bytes in flight: %d is negative: write 1048576 or more, or 0 for %d", p.BytesInFlight, bytesInFlight)
	}
	e.slots = newSlots(cmp.Or(p.ConnectionsPerAddress, connectionsPerAddress))
	e.bytes = newBudget(cmp.Or(p.BytesInFlight, bytesInFlight))
	return e, nil
}

// strictest is what a nil Egress stands for; shared, so that its clients share the bounds.
var strictest = &Egress{slots: newSlots(connectionsPerAddress), bytes: newBudget(bytesInFlight)}

// orStrictest gives a nil Egress its meaning.
func (e *Egress) orStrictest() *Egress {
	if e == nil {
		return strictest
	}
	return e
}

// plain is an address without a zone, and an IPv4 address where IPv6 only wraps one.
func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// plainPrefixes checks ranges and normalises them. 4-in-6 prefixes count as the IPv4 prefixes that they are.
func plainPrefixes(doing string, list []netip.Prefix) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(list))
	for i, p := range list {
		switch {
		case !p.IsValid():
			return nil, fmt.Errorf("%s: entry %d is not a range: write 10.0.0.0/8 or fd00::/8, and 10.0.0.1/32 for one address", doing, i+1)
		case p.Addr().Is4In6() && p.Bits() < 96:
			return nil, fmt.Errorf("%s: %s cuts through the addresses that IPv6 maps from IPv4: write the IPv4 range and the IPv6 range as two entries", doing, p)
		case p.Addr().Is4In6():
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// speaks tells whether a URL may be asked by its scheme. Its host is judged when it is dialled.
func (g *guard) speaks(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, "https") || g.opens(hostKey(u.Hostname(), portOf(u))) || g.egress.plainly.has(u.Hostname())
}

// Refusal says why a URL is not asked.
type Refusal string

// The refusals.
const (
	RefusedAddress   Refusal = "Address"   // the host is the literal of an address that is not dialled, has a zone, or is denied
	RefusedPlaintext Refusal = "Plaintext" // the scheme is http and must be https
)

// Refuses tells whether a URL would never be asked, so that it can be said before anything is tried; empty if it may be. A name that
// is not denied, and any odd spelling of an address, is judged only when it is dialled.
func (e *Egress) Refuses(u *url.URL) Refusal {
	g := &guard{egress: e.orStrictest()}
	if g.egress.denied.has(u.Hostname()) || strings.Contains(u.Hostname(), "%") {
		return RefusedAddress
	}
	if ip, err := netip.ParseAddr(strings.TrimRight(u.Hostname(), ".")); err == nil && g.check(netip.AddrPortFrom(ip, portNumber(u)), false) != nil {
		return RefusedAddress
	}
	if !g.speaks(u) {
		return RefusedPlaintext
	}
	return ""
}

// RefusesPinned tells whether an address would never be dialled, not even for a host that is pinned to it: one that is denied, the API
// server's, link-local or cloud metadata, or none at all. It is for addresses that something between us and them, such as a
// Service, may lead to without being dialled itself.
func (e *Egress) RefusesPinned(ap netip.AddrPort) bool {
	g := &guard{egress: e.orStrictest()}
	return !ap.IsValid() || g.check(ap, true) != nil
}

package wire

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func mustGuard(t testing.TB, allow []netip.Prefix, hosts ...string) *guard {
	t.Helper()
	g, err := mustEgress(t, EgressPolicy{Allow: allow}).newGuard(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// https is port 443 of an address, for checks in which the port does not matter.
func https(ip netip.Addr) netip.AddrPort { return netip.AddrPortFrom(ip, 443) }

func TestCaseC110GuardDecidesByAddress(t *testing.T) {
	everything := prefixes("0.0.0.0/0", "::/0")
	for name, tc := range map[string]struct {
		ip    string
		allow []netip.Prefix
		open  bool
		want  bool
	}{
		"a public address may be dialled":                              {ip: "93.184.215.14", want: true},
		"a public IPv6 address may be dialled":                         {ip: "2606:2800:21f::1", want: true},
		"loopback is refused":                                          {ip: "127.0.0.1"},
		"the far end of loopback is refused":                           {ip: "127.8.8.8"},
		"IPv6 loopback is refused":                                     {ip: "::1"},
		"IPv4 loopback mapped into IPv6 is refused":                    {ip: "::ffff:127.0.0.1"},
		"a private address is refused":                                 {ip: "10.1.2.3"},
		"a unique local address is refused":                            {ip: "fd12::1"},
		"shared address space is refused":                              {ip: "100.64.0.1"},
		"multicast is refused":                                         {ip: "224.0.0.1"},
		"the broadcast address is refused":                             {ip: "255.255.255.255"},
		"site-local is refused":                                        {ip: "fec0::1"},
		"NAT64 is refused":                                             {ip: "64:ff9b::0808:0808"},
		"6to4 is refused":                                              {ip: "2002:7f00:1::1"},
		"Teredo is refused":                                            {ip: "2001:0:1::1"},
		"documentation is refused":                                     {ip: "2001:db8::1"},
		"an allowed range opens loopback":                              {ip: "127.0.0.1", allow: prefixes("127.0.0.0/8"), want: true},
		"an allowed range opens the mapped form too":                   {ip: "::ffff:127.0.0.1", allow: prefixes("127.0.0.0/8"), want: true},
		"a range written in mapped form opens the plain one":           {ip: "10.1.2.3", allow: prefixes("::ffff:10.0.0.0/104"), want: true},
		"an allowed range opens nothing beside itself":                 {ip: "10.1.2.3", allow: prefixes("127.0.0.0/8", "192.168.0.0/16")},
		"the wildcard is not opened by a range (C46)":                  {ip: "0.0.0.0", allow: everything},
		"the IPv6 wildcard is not opened by a range (C46)":             {ip: "::", allow: everything},
		"the wildcard is dialled when its own host:port is named":      {ip: "0.0.0.0", open: true, want: true},
		"multicast is not opened by a range":                           {ip: "ff02::1", allow: everything},
		"instance metadata is refused (C110)":                          {ip: "169.254.169.254"},
		"instance metadata stays refused to a wide range":              {ip: "169.254.169.254", allow: everything},
		"instance metadata stays refused to all of link-local":         {ip: "169.254.169.254", allow: prefixes("169.254.0.0/16")},
		"instance metadata stays refused to a named host":              {ip: "169.254.169.254", open: true},
		"instance metadata mapped into IPv6 stays refused":             {ip: "::ffff:169.254.169.254", open: true},
		"instance metadata is opened by its very address":              {ip: "169.254.169.254", allow: prefixes("169.254.169.254/32"), want: true},
		"instance metadata behind NAT64 stays refused":                 {ip: "64:ff9b::a9fe:a9fe", allow: everything},
		"instance metadata behind NAT64 is refused to a named host":    {ip: "64:ff9b::a9fe:a9fe", open: true},
		"instance metadata behind 6to4 stays refused":                  {ip: "2002:a9fe:a9fe::1", allow: everything},
		"instance metadata in a compatible address stays refused":      {ip: "::a9fe:a9fe", allow: everything},
		"opening NAT64 opens the internet behind it":                   {ip: "64:ff9b::0808:0808", allow: prefixes("64:ff9b::/96"), want: true},
		"opening NAT64 opens no private network behind it":             {ip: "64:ff9b::0a00:0001", allow: prefixes("64:ff9b::/96")},
		"Azure's WireServer is refused though public":                  {ip: "168.63.129.16"},
		"Azure's WireServer stays refused to a wide range":             {ip: "168.63.129.16", allow: everything},
		"Alibaba's metadata stays refused where its range is open":     {ip: "100.100.100.200", allow: prefixes("100.64.0.0/10")},
		"Amazon's IPv6 metadata stays refused where ULA is open":       {ip: "fd00:ec2::254", allow: prefixes("fc00::/7")},
		"Google's IPv6 metadata stays refused where ULA is open":       {ip: "fd20:ce::254", allow: prefixes("fc00::/7")},
		"another unique local address is opened by its range":          {ip: "fd00:ec3::254", allow: prefixes("fc00::/7"), want: true},
		"IPv6 link-local is refused":                                   {ip: "fe80::1", allow: everything},
		"IPv6 link-local with a zone is refused":                       {ip: "fe80::1%eth0", allow: everything, open: true},
		"a zone does not hide loopback":                                {ip: "::1%lo"},
		"a named host may be private":                                  {ip: "10.1.2.3", open: true, want: true},
		"a named host may be loopback":                                 {ip: "127.0.0.1", open: true, want: true},
		"a single address opens itself alone":                          {ip: "10.0.0.8", allow: prefixes("10.0.0.7/32")},
		"one address of loopback can be opened without the rest of it": {ip: "127.0.0.2", allow: prefixes("127.0.0.1/32")},
	} {
		t.Run(name, func(t *testing.T) {
			err := mustGuard(t, tc.allow).check(https(netip.MustParseAddr(tc.ip)), tc.open)
			if (err == nil) != tc.want {
				t.Errorf("check(%s) = %v, want allowed %v", tc.ip, err, tc.want)
			}
			var blocked *blockedError
			if err != nil && !errors.As(err, &blocked) {
				t.Errorf("check(%s) = %T, want *blockedError", tc.ip, err)
			}
		})
	}
}

func TestGuardOpensHostsToTheLetterButNotTheCase(t *testing.T) {
	g := mustGuard(t, nil, "Planner.travel.svc:8080", "[::1]:80")
	for hostport, want := range map[string]bool{
		"planner.travel.svc:8080":  true,
		"PLANNER.travel.svc:8080":  true,
		"planner.travel.svc:8081":  false,
		"planner.travel.svc.:8080": false,
		"[::1]:80":                 true,
		"[::1]:443":                false,
	} {
		if got := g.opens(hostport); got != want {
			t.Errorf("opens(%q) = %v, want %v", hostport, got, want)
		}
	}
}

func TestGuardRefusesUnreadableSettings(t *testing.T) {
	for _, h := range []string{"planner", "planner:", ":80", ""} {
		if _, err := (*Egress)(nil).newGuard([]string{h}, nil); err == nil {
			t.Errorf("host %q was accepted", h)
		}
	}
}

func TestGuardAllowsTCPOnly(t *testing.T) {
	g := mustGuard(t, nil)
	control := func(network, address string) error {
		l := &lease{slots: g.egress.slots}
		defer l.settle(nil)
		return g.control(true, l)(t.Context(), network, address, nil)
	}
	for _, network := range []string{"udp4", "unix", "tcp"} {
		if err := control(network, "93.184.215.14:443"); err == nil {
			t.Errorf("%s was allowed", network)
		}
	}
	if err := control("tcp4", "nonsense"); err == nil {
		t.Error("an unreadable address was allowed")
	}
}

// TestGuardChecksWhatANameResolvesTo uses a name server of its own: no spelling of a host gets past a check of the address that
// is really dialled.
func TestGuardChecksWhatANameResolvesTo(t *testing.T) {
	for name, tc := range map[string]struct {
		host  string
		ip    string
		allow []netip.Prefix
		hosts []string
		// numeric: Go's own resolver does not even ask for it
		numeric bool
	}{
		"a name that points at instance metadata":                {host: "meta.test:80", ip: "169.254.169.254"},
		"a named host that turned to instance metadata":          {host: "peer.test:80", ip: "169.254.169.254", hosts: []string{"peer.test:80"}},
		"a name that points at loopback":                         {host: "home.test:80", ip: "127.0.0.1"},
		"a name that points into a network beside the allowed":   {host: "db.test:5432", ip: "10.0.0.5", allow: prefixes("10.1.0.0/16")},
		"another port of a named host":                           {host: "peer.test:81", ip: "127.0.0.1", hosts: []string{"peer.test:80"}},
		"a decimal host, which some resolvers read as loopback":  {host: "2130706433:80", ip: "127.0.0.1", numeric: true},
		"a hexadecimal host, which some resolvers read as well":  {host: "0x7f000001:80", ip: "127.0.0.1"},
		"an IPv6 literal with IPv4 loopback in it":               {host: "[::ffff:7f00:1]:80"},
		"an IPv6 literal with a zone":                            {host: "[fe80::1%25lo]:80"},
		"the wildcard, which reaches the operator itself (C46)":  {host: "0.0.0.0:80"},
		"the IPv6 wildcard, which reaches the operator as well":  {host: "[::]:80"},
		"the empty host, which the dialer takes for the machine": {host: ":80"},
	} {
		t.Run(name, func(t *testing.T) {
			g := mustGuard(t, tc.allow, tc.hosts...)
			g.resolver = resolverTo(t, tc.ip)
			conn, err := g.dial(t.Context(), "tcp", tc.host)
			if err == nil {
				_ = conn.Close()
				t.Fatal("connected")
			}
			want := ClassBlocked
			if tc.numeric {
				want = ClassDNS
			}
			if c := classify(t.Context(), err); c != want && tc.ip != "" {
				t.Errorf("class = %s (%v), want %s", c, err, want)
			}
		})
	}
}

// resolverTo is a resolver whose server answers every name with one address.
func resolverTo(t *testing.T, ip string) *net.Resolver {
	t.Helper()
	if ip == "" {
		return nil
	}
	return names(t, func(q dnsmessage.Question) []dnsmessage.ResourceBody { return body(q, ip) })
}

func TestRefusesTellsOfLiteralsBeforeAnythingIsTried(t *testing.T) {
	e := mustEgress(t, EgressPolicy{Allow: prefixes("10.1.0.0/16"), DenyHosts: []string{"evil.test", "10.1.2.3"}, PlaintextHosts: []string{"plain.test"}})
	for u, want := range map[string]Refusal{
		"https://169.254.169.254/": RefusedAddress, "https://127.0.0.1/": RefusedAddress, "https://[::1]/": RefusedAddress,
		"https://10.0.0.1/": RefusedAddress, "https://10.1.0.1/": "", "https://[::ffff:169.254.169.254]/": RefusedAddress, "https://2130706433/": "", "https://8.8.8.8/": "", "https://localhost/": "",
		"https://evil.test/": RefusedAddress, "https://api.EVIL.test./": RefusedAddress, "https://medevil.test/": "", "https://10.1.2.3/": RefusedAddress,
		"http://peer.test/": RefusedPlaintext, "http://plain.test/": "", "http://a.plain.test:8080/": "", "http://explain.test/": RefusedPlaintext,
	} {
		if got := e.Refuses(mustURL(t, u)); got != want {
			t.Errorf("Refuses(%q) = %q, want %q", u, got, want)
		}
	}
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// attempts counts what was tried against the guard, and fails where anything was let through to the network.
type attempts struct {
	t     *testing.T
	count int
	// trap listens on loopback. Whoever connects to it was let through.
	trap *trap
}

// trap counts the connections that it gets.
type trap struct {
	addr netip.AddrPort
	hits atomic.Int32
}

func newTrap(t *testing.T, on string) *trap {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(on, "0"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	tr := &trap{addr: netip.MustParseAddrPort(l.Addr().String())}
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tr.hits.Add(1)
			_ = conn.Close()
		}
	}()
	return tr
}

func newAttempts(t *testing.T) *attempts {
	t.Helper()
	a := &attempts{t: t, trap: newTrap(t, "127.0.0.1")}
	t.Cleanup(func() {
		if n := a.trap.hits.Load(); n != 0 {
			t.Errorf("%d connections came to what nobody may reach", n)
		}
		t.Attr("ssrf_blocked", strconv.Itoa(a.count))
		t.Logf("%d attempts", a.count)
	})
	return a
}

// port of the trap.
func (a *attempts) port() string { return strconv.Itoa(int(a.trap.addr.Port())) }

// watched is a client and every address that its guard let through.
type watched struct {
	*Client
	mu  sync.Mutex
	let []netip.AddrPort
}

func watch(t *testing.T, o Options, resolver *net.Resolver) *watched {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &watched{Client: c}
	c.impl.guard.resolver = resolver
	c.impl.guard.dialling = func(ap netip.AddrPort) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.let = append(w.let, ap)
	}
	return w
}

// dialled lists what was let through, and forgets it.
func (w *watched) dialled() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.let
	w.let = nil
	return list
}

// refused takes the outcome of one attempt: an *Error of one of the classes, and nothing dialled.
func (a *attempts) refused(t *testing.T, w *watched, what string, err error, classes ...Class) {
	t.Helper()
	a.count++
	var e *Error
	if !errors.As(err, &e) || !slices.Contains(classes, e.Class) {
		t.Errorf("%s: %v (%v), want one of %v", what, err, errors.Unwrap(err), classes)
	}
	if let := w.dialled(); len(let) != 0 {
		t.Errorf("%s: dialled %v", what, let)
	}
}

// get tries one URL, as a card's, that is to be refused.
func (a *attempts) get(t *testing.T, w *watched, raw string, classes ...Class) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		a.count++ // no spec and no card can hold it
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = w.Get(ctx, u, nil)
	a.refused(t, w, raw, err, classes...)
}

// special lists an address of every range that is not the internet, and of every form in which one address hides in another.
var special = map[string]string{
	"this network": "0.0.0.0", "this network, beyond the wildcard": "0.1.2.3", "private, 10/8": "10.0.0.1", "shared": "100.64.0.1",
	"loopback": "127.0.0.1", "the end of loopback": "127.255.255.254", "instance metadata": "169.254.169.254", "task metadata": "169.254.170.2",
	"pod identity": "169.254.170.23", "the node's DNS cache": "169.254.20.10", "private, 172.16/12": "172.16.0.1", "the end of 172.16/12": "172.31.255.255", "protocol assignments": "192.0.0.1",
	"Oracle's classic metadata": "192.0.0.192", "documentation 1": "192.0.2.1", "6to4 relays": "192.88.99.1", "private, 192.168/16": "192.168.1.1",
	"benchmarks": "198.18.0.1", "the end of benchmarks": "198.19.255.255", "documentation 2": "198.51.100.1", "documentation 3": "203.0.113.1",
	"multicast": "224.0.0.1", "service discovery": "239.255.255.250", "reserved": "240.0.0.1", "broadcast": "255.255.255.255",
	"Azure's WireServer": "168.63.129.16", "Alibaba's metadata": "100.100.100.200",

	"IPv6 wildcard": "::", "IPv6 loopback": "::1", "mapped loopback": "::ffff:127.0.0.1", "mapped metadata": "::ffff:169.254.169.254", "mapped private": "::ffff:10.0.0.1",
	"compatible loopback": "::127.0.0.1", "compatible metadata": "::169.254.169.254", "translated metadata": "::ffff:0:169.254.169.254",
	"NAT64 loopback": "64:ff9b::127.0.0.1", "NAT64 metadata": "64:ff9b::169.254.169.254", "NAT64 private": "64:ff9b::10.0.0.1",
	"local NAT64 metadata": "64:ff9b:1::169.254.169.254", "local NAT64 metadata in the middle": "64:ff9b:1:a9fe:a9:fe00::", "discard": "100::1",
	"Teredo": "2001::1", "Teredo with metadata for a server": "2001:0:a9fe:a9fe::1", "Teredo with metadata for a client": "2001:0:808:808:0:0:5601:5601",
	"IPv6 benchmarks": "2001:2::1", "ORCHID": "2001:10::1", "ORCHIDv2": "2001:20::1", "IPv6 documentation": "2001:db8::1", "more IPv6 documentation": "3fff::1",
	"6to4 loopback": "2002:7f00:1::1", "6to4 metadata": "2002:a9fe:a9fe::1", "6to4 private": "2002:a00:1::1", "segment routing": "5f00::1", "unique local": "fc00::1", "more unique local": "fd12:3456::1",
	"Amazon's metadata": "fd00:ec2::254", "Google's metadata": "fd20:ce::254", "Oracle's metadata": "fd00:c1::a9fe:a9fe", "Scaleway's metadata": "fd00:42::42",
	"link-local": "fe80::1", "the end of link-local": "febf::1", "site-local": "fec0::1", "multicast, link": "ff02::1", "multicast, global": "ff0e::1",
	"ISATAP metadata": "2606:4700::5efe:a9fe:a9fe", "ISATAP metadata, global": "2606:4700::200:5efe:a9fe:a9fe",
}

func TestSecuritySSRFNoSpecialAddressIsDialled(t *testing.T) {
	a := newAttempts(t)
	w := watch(t, Options{}, nil)
	for name, ip := range special {
		host := ip
		if strings.Contains(ip, ":") {
			host = "[" + ip + "]"
		}
		t.Run(name, func(t *testing.T) { a.get(t, w, "https://"+host+":"+a.port()+"/", ClassBlocked) })
	}
}

// What is worst stays refused to every way in which a user or an administrator opens addresses, short of naming the very address.
func TestSecuritySSRFWhatIsWorstStaysRefusedToAllThatOpens(t *testing.T) {
	a := newAttempts(t)
	wide := mustEgress(t, EgressPolicy{Allow: prefixes("0.0.0.0/0", "::/0", "169.254.0.0/16", "fe80::/10"), PlaintextHosts: []string{"test", "169.254.169.254"}})
	at := netip.MustParseAddrPort("169.254.169.254:80")
	mapped := netip.MustParseAddrPort("[::ffff:169.254.169.254]:80")
	w := watch(t, Options{
		Egress: wide, AllowHosts: []string{"169.254.169.254:80", "peer.test:80", "[64:ff9b::a9fe:a9fe]:80"},
		Pinned: map[string][]netip.AddrPort{"pinned.test:80": {at}, "mapped.test:80": {mapped}, "both.test:80": {at, mapped}},
	}, resolverTo(t, "169.254.169.254"))
	for _, u := range []string{
		"http://169.254.169.254/", "http://peer.test/", "http://other.test/", "http://[64:ff9b::a9fe:a9fe]/", "http://pinned.test/", "http://mapped.test/",
		"http://both.test/", "https://[::ffff:a9fe:a9fe]/", "https://[::a9fe:a9fe]/", "https://[2002:a9fe:a9fe::]/", "https://[fe80::1]/", "https://[fd00:ec2::254]/",
		"https://168.63.129.16/", "https://100.100.100.200/", "https://0.0.0.0/", "https://[::]/", "https://[64:ff9b:1::a9fe:a9fe]/", "https://[2001:0:a9fe:a9fe::1]/",
	} {
		a.get(t, w, u, ClassBlocked)
	}
}

// Spellings of loopback, where a name server that reads all of them as loopback would help.
func TestSecuritySSRFNoSpellingOfAHostGetsPast(t *testing.T) {
	a := newAttempts(t)
	w := watch(t, Options{}, resolverTo(t, "127.0.0.1"))
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7f.1", "0x7f.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "127.000.000.001", "127.0.0.1.", "127.0.0.1..",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::FFFF:7F00:1]", "[::ffff:127.0.0.1]", "[::1%25lo]", "[fe80::1%25eth0]", "[fe80::1%25]", "LOCALHOST", "localhost.", "LocalHost.LocalDomain",
		"127。0。0。1", "127．0．0．1", "１２７.0.0.1", "①②⑦.⓪.⓪.①", "localhost。", "ｌｏｃａｌｈｏｓｔ",
		"127%2e0%2e0%2e1", "%31%32%37.0.0.1", "127.0.0.1%00.good.test", "127.0.0.1%20", "good.test\\@127.0.0.1", "good.test@127.0.0.1", "good.test:443@127.0.0.1", "a:b@[::1]",
		"127.0.0.1.nip.test", "good.test%2f@127.0.0.1",
	} {
		a.get(t, w, "https://"+host+":"+a.port()+"/", ClassBlocked, ClassDNS, ClassOrigin, ClassConnect)
	}
	for _, u := range []string{
		"https://", "https:///", "https://:" + a.port() + "/", "https:127.0.0.1", "//127.0.0.1/", "/etc/passwd", "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/",
		"unix:///run/containerd.sock", "dict://127.0.0.1:11211/", "ldap://127.0.0.1/", "javascript:alert(1)", "data:,x", "jar:http://127.0.0.1!/", "tcp://127.0.0.1:80",
	} {
		a.get(t, w, u, ClassOrigin, ClassBlocked)
	}
}

func TestSecuritySSRFHTTPIsForHostsThatAreNamed(t *testing.T) {
	a := newAttempts(t)
	w := watch(t, Options{Egress: mustEgress(t, EgressPolicy{PlaintextHosts: []string{"plain.test"}}), AllowHosts: []string{"typed.test:80"}}, resolverTo(t, "93.184.215.14"))
	for _, u := range []string{
		"http://peer.test/", "HTTP://peer.test/", "http://explain.test/", "http://plain.test.evil.test/", "http://plain.test@evil.test/", "http://typed.test:8080/",
		"http://typed.test./", "http://93.184.215.14/", "http://plain.tes/", "http://test/",
	} {
		a.get(t, w, u, ClassPlaintext)
	}
}

// names is a resolver of its own: every question is answered by what answers says.
func names(t *testing.T, answers func(q dnsmessage.Question) []dnsmessage.ResourceBody) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = pc.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			name := m.Questions[0].Name
			for _, body := range answers(m.Questions[0]) {
				h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1}
				if c, ok := body.(*dnsmessage.CNAMEResource); ok {
					name = c.CNAME
				}
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: body})
			}
			if out, err := m.Pack(); err == nil {
				_, _ = pc.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", pc.LocalAddr().String())
	}}
}

// body is an answer of the type that was asked for; nil if the address is of the other.
func body(q dnsmessage.Question, ip string) []dnsmessage.ResourceBody {
	a := netip.MustParseAddr(ip)
	switch {
	case q.Type == dnsmessage.TypeA && a.Is4():
		return []dnsmessage.ResourceBody{&dnsmessage.AResource{A: a.As4()}}
	case q.Type == dnsmessage.TypeAAAA && a.Is6():
		return []dnsmessage.ResourceBody{&dnsmessage.AAAAResource{AAAA: a.As16()}}
	}
	return nil
}

func TestSecuritySSRFNoNameLeadsInside(t *testing.T) {
	a := newAttempts(t)
	many := func(q dnsmessage.Question) (list []dnsmessage.ResourceBody) {
		for i := range 20 {
			list = append(list, body(q, fmt.Sprintf("10.0.0.%d", i))...)
		}
		return append(list, body(q, "127.0.0.1")...)
	}
	chain := func(q dnsmessage.Question) (list []dnsmessage.ResourceBody) {
		for i := range 5 {
			list = append(list, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(fmt.Sprintf("hop%d.test.", i))})
		}
		return append(list, body(q, "127.0.0.1")...)
	}
	one := func(ip string) func(dnsmessage.Question) []dnsmessage.ResourceBody {
		return func(q dnsmessage.Question) []dnsmessage.ResourceBody { return body(q, ip) }
	}
	for name, answers := range map[string]func(dnsmessage.Question) []dnsmessage.ResourceBody{
		"to loopback": one("127.0.0.1"), "to a private address": one("10.1.2.3"), "to metadata": one("169.254.169.254"), "to shared space": one("100.64.0.1"),
		"to IPv6 loopback": one("::1"), "to a unique local address": one("fd12::1"), "to mapped loopback": one("::ffff:127.0.0.1"), "to NAT64 metadata": one("64:ff9b::a9fe:a9fe"),
		"to IPv6 metadata": one("fd00:ec2::254"), "to the wildcard": one("0.0.0.0"), "to twenty private addresses and loopback": many, "through a chain of names": chain,
	} {
		t.Run(name, func(t *testing.T) {
			a.get(t, watch(t, Options{}, names(t, answers)), "https://peer.test:"+a.port()+"/", ClassBlocked)
		})
	}
}

// The name is public when it is looked at, and leads inside from then on.
func TestSecuritySSRFNoNameThatTurnsInsideIsDialled(t *testing.T) {
	a := newAttempts(t)
	for _, turned := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1"} {
		var inside atomic.Bool
		resolver := names(t, func(q dnsmessage.Question) []dnsmessage.ResourceBody {
			if inside.Load() {
				return body(q, turned)
			}
			return body(q, "93.184.215.14")
		})
		w := watch(t, Options{}, resolver)
		if list, err := resolver.LookupNetIP(t.Context(), "ip4", "peer.test"); err != nil || len(list) != 1 || w.impl.guard.check(https(list[0]), false) != nil {
			t.Fatalf("looked up %v, %v, want an address that may be dialled", list, err)
		}
		if why := (*Egress)(nil).Refuses(mustURL(t, "https://peer.test/")); why != "" {
			t.Fatalf("refused as %s before it turned", why)
		}
		inside.Store(true)
		a.get(t, w, "https://peer.test:"+a.port()+"/", ClassBlocked)
	}
}

// Of many addresses the good ones are dialled and no other: here the good one is a second loopback address, where nobody listens.
func TestSecuritySSRFOfManyAddressesTheBadAreLeftOut(t *testing.T) {
	a := newAttempts(t)
	good := netip.MustParseAddr("127.0.0.2")
	w := watch(t, Options{Egress: mustEgress(t, EgressPolicy{Allow: prefixes("127.0.0.2/32")})}, names(t, func(q dnsmessage.Question) (list []dnsmessage.ResourceBody) {
		for _, ip := range []string{"10.0.0.1", "127.0.0.1", "127.0.0.2", "169.254.169.254", "::1"} {
			list = append(list, body(q, ip)...)
		}
		return list
	}))
	_, err := w.Get(within(t, 10*time.Second), mustURL(t, "https://peer.test:"+a.port()+"/"), nil)
	if err == nil {
		t.Fatal("connected")
	}
	a.count += 4
	for _, ap := range w.dialled() {
		if ap.Addr() != good {
			t.Errorf("dialled %s", ap)
		}
	}
}

func TestSecuritySSRFDenialsWinOverAllThatOpens(t *testing.T) {
	a := newAttempts(t)
	at := func(s string) []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(s)} }
	e := mustEgress(t, EgressPolicy{
		Allow: prefixes("0.0.0.0/0", "::/0", "10.9.9.9/32", "64:ff9b::a09:909/128"), Deny: prefixes("10.9.0.0/16", "::ffff:192.168.0.0/112", "2606:4700::/32"),
		DenyHosts: []string{"evil.test", ".internal", "127.0.0.1", "2606:2800:21f::1", "bücher.test"}, PlaintextHosts: []string{"test"},
	})
	w := watch(t, Options{
		Egress: e, AllowHosts: []string{"10.9.1.1:443", "evil.test:443", "named.test:443"},
		Pinned: map[string][]netip.AddrPort{"pinned.test:443": at("10.9.2.2:443"), "mapped.test:443": at("[::ffff:10.9.2.2]:443"), "api.evil.test:443": at("10.1.1.1:443")},
	}, resolverTo(t, "10.9.3.3"))
	for _, u := range []string{
		"https://10.9.9.9/", "https://10.9.1.1/", "https://[::ffff:10.9.9.9]/", "https://[64:ff9b::a09:909]/", "https://[2002:a09:909::]/", "https://[::10.9.9.9]/", "https://192.168.3.4/",
		"https://[2606:4700::1111]/", "https://named.test/", "https://other.test/", "https://pinned.test/", "https://mapped.test/",
		"https://evil.test/", "https://EVIL.test/", "https://evil.test./", "https://api.evil.test/", "https://a.b.Evil.Test:8443/", "https://x.internal/", "https://127.0.0.1:" + a.port() + "/",
		"https://127.0.0.1.:" + a.port() + "/", "https://[::ffff:7f00:1]:" + a.port() + "/", "https://[2606:2800:21f:0::1]/", "https://evil。test/", "https://bücher.test/", "https://xn--bcher-kva.test/",
		"https://BÜCHER.test/", "https://a.bücher.test./", "http://evil.test/", "https://user@evil.test/",
	} {
		a.get(t, w, u, ClassBlocked, ClassDNS)
	}
}

// A name of a denied address is no way in, however it is spelled; a host that merely ends like a denied one is another.
func TestDeniedHostsMatchWholeLabels(t *testing.T) {
	s, err := newHostSet("", []string{"evil.test", ".internal", "10.1.2.3", "2001:db8::1", "bücher.test"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"evil.test": true, "EVIL.TEST.": true, "api.evil.test": true, "medevil.test": false, "evil.test.com": false, "test": false, "": false, "internal": true, "x.internal": true,
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.1.2.30": false, "x.10.1.2.3": false, "2001:DB8:0::1": true, "xn--bcher-kva.test": true, "a.BÜCHER.test": true, "bucher.test": false,
	} {
		if got := s.has(host); got != want {
			t.Errorf("has(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestSecuritySSRFTheAPIServerIsNeverDialled(t *testing.T) {
	a := newAttempts(t)
	api := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	e := mustEgress(t, EgressPolicy{
		Allow: prefixes("10.0.0.0/8", "10.96.0.1/32", "127.0.0.0/8", "::1/128", "fd00:1::1/128", "64:ff9b::a60:1/128"), PlaintextHosts: []string{"127.0.0.1"},
		APIServer: []netip.AddrPort{api("[::ffff:10.96.0.1]:443"), api("34.1.2.3:443"), api("[fd00:1::1]:6443"), a.trap.addr, api("[::1]:6443")},
	})
	w := watch(t, Options{
		Egress: e, AllowHosts: []string{"kubernetes.default.svc:443", "10.96.0.1:443", "[::ffff:10.96.0.1]:443", "127.0.0.1:" + a.port()},
		Pinned: map[string][]netip.AddrPort{
			"planner.travel.svc:443": {api("10.96.0.1:443")}, "mapped.travel.svc:443": {api("[::ffff:10.96.0.1]:443")}, "kubelet.travel.svc:443": {api("10.96.0.1:10250")},
			"home.travel.svc:443": {a.trap.addr},
		},
	}, resolverTo(t, "10.96.0.1"))
	for _, u := range []string{
		"https://kubernetes.default.svc/", "https://10.96.0.1/", "https://[::ffff:10.96.0.1]/", "https://peer.test/", "https://10.96.0.1:6443/", "https://10.96.0.1:10250/",
		"https://[::10.96.0.1]/", "https://[64:ff9b::a60:1]/", "https://[2002:a60:1::]/", "https://34.1.2.3/", "https://34.1.2.3:8443/", "https://[fd00:1::1]:6443/", "https://[fd00:1::1]/",
		"https://planner.travel.svc/", "https://mapped.travel.svc/", "https://kubelet.travel.svc/", "https://home.travel.svc/", "https://127.0.0.1:" + a.port() + "/",
		"http://127.0.0.1:" + a.port() + "/", "https://[::ffff:127.0.0.1]:" + a.port() + "/", "https://[::1]:6443/",
	} {
		a.get(t, w, u, ClassBlocked)
	}
	if err := w.impl.guard.check(netip.AddrPortFrom(a.trap.addr.Addr(), a.trap.addr.Port()+1), false); err != nil {
		t.Errorf("another port of loopback is refused: %v", err)
	}
}

func TestSecuritySSRFNoRedirectLeadsAnywhereElse(t *testing.T) {
	a := newAttempts(t)
	var to string
	var status int
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	})
	w := watch(t, Options{Egress: loopbackEgress(t)}, nil)
	self := mustURL(t, s.URL)
	try := func(t *testing.T) {
		t.Helper()
		what := fmt.Sprintf("%d to %s", status, to)
		_, err := w.Get(within(t, 5*time.Second), mustURL(t, s.URL+"/card"), nil)
		w.forget(self)
		a.refused(t, w, what, err, ClassRedirect)
	}
	for _, status = range []int{301, 302, 303, 307, 308} {
		for _, to = range []string{
			"http://169.254.169.254/latest/meta-data/", "https://other.test/card", "https://127.0.0.1:" + a.port() + "/", "http://127.0.0.1:" + a.port() + "/", "file:///etc/passwd",
			"https://" + self.Host + "/card", "http://" + self.Host + "@127.0.0.1:" + a.port() + "/", "//127.0.0.1:" + a.port() + "/", "http://localhost:" + self.Port() + "/",
		} {
			try(t)
		}
	}
	for _, status = range []int{300, 301, 302, 303, 305, 306} {
		to = "/elsewhere"
		try(t)
	}
	for _, binding := range []Binding{BindingJSONRPC, BindingHTTPJSON} {
		for _, status = range []int{301, 302, 303, 307, 308} {
			to = "/elsewhere"
			p, err := Open(w.Client, binding, Endpoint{URL: self, Generation: V10})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.GetTask(within(t, 5*time.Second), "t1", nil)
			w.forget(self)
			a.refused(t, w, fmt.Sprintf("%s %d", binding, status), err, ClassRedirect)
			_, err = p.SendStream(within(t, 5*time.Second), ping, SendConfig{})
			w.forget(self)
			a.refused(t, w, fmt.Sprintf("%s %d, streaming", binding, status), err, ClassRedirect)
		}
	}
}

// forget the connections to the peer itself, which are in order.
func (w *watched) forget(self *url.URL) {
	own := netip.MustParseAddrPort(self.Host)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.let = slices.DeleteFunc(w.let, func(ap netip.AddrPort) bool { return ap == own })
}

// Every way of asking goes by the same guard.
func TestSecuritySSRFNoBindingDialsInside(t *testing.T) {
	a := newAttempts(t)
	w := watch(t, Options{}, resolverTo(t, "127.0.0.1"))
	for _, binding := range []Binding{BindingJSONRPC, BindingHTTPJSON, BindingGRPC} {
		for _, at := range []string{
			"https://169.254.169.254", "https://127.0.0.1:" + a.port(), "https://10.0.0.1:50051", "https://[::1]:" + a.port(), "https://grpc.test:" + a.port(), "https://good.test@127.0.0.1:" + a.port(),
			"https://[::ffff:a9fe:a9fe]",
		} {
			p, err := Open(w.Client, binding, Endpoint{URL: mustURL(t, at), Generation: V10})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.GetTask(within(t, 5*time.Second), "t1", nil)
			a.refused(t, w, string(binding)+" "+at, err, ClassBlocked)
			_, err = p.SendStream(within(t, 5*time.Second), ping, SendConfig{})
			a.refused(t, w, string(binding)+", streaming "+at, err, ClassBlocked)
		}
		p, err := Open(w.Client, binding, Endpoint{URL: mustURL(t, "http://93.184.215.14"), Generation: V10})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.GetTask(within(t, 5*time.Second), "t1", nil)
		a.refused(t, w, string(binding)+" by http", err, ClassPlaintext)
	}
	for _, at := range []string{"https://169.254.169.254/", "https://127.0.0.1:" + a.port() + "/", "http://peer.test/"} {
		_, err := w.Post(within(t, 5*time.Second), mustURL(t, at), nil, []byte("{}"))
		a.refused(t, w, "a webhook at "+at, err, ClassBlocked, ClassPlaintext)
	}
}

// An access token is got behind the same guard.
func TestSecuritySSRFNoTokenEndpointIsDialledInside(t *testing.T) {
	a := newAttempts(t)
	for _, at := range []string{
		"https://169.254.169.254/token", "https://127.0.0.1:" + a.port() + "/token", "https://token.test:" + a.port() + "/token", "https://10.0.0.1/token", "https://[::1]:" + a.port() + "/",
		"http://93.184.215.14/token", "https://[64:ff9b::a9fe:a9fe]/token",
	} {
		w := watch(t, Options{Credentials: Credentials{
			OAuth2:  &OAuth2{TokenURL: mustURL(t, at), ClientID: "me", ClientSecret: "s3cret", Source: "s"},
			Origins: []string{"https://93.184.215.14"},
		}}, resolverTo(t, "127.0.0.1"))
		_, err := w.Get(within(t, 5*time.Second), mustURL(t, "https://93.184.215.14/card"), nil)
		a.refused(t, w, at, err, ClassBlocked, ClassPlaintext, ClassToken)
	}
}

// A proxy would dial for us what we refuse to.
func TestSecuritySSRFNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	a := newAttempts(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+a.trap.addr.String())
	}
	t.Setenv("NO_PROXY", "")
	w := watch(t, Options{Egress: mustEgress(t, EgressPolicy{PlaintextHosts: []string{"test", "10.0.0.1"}})}, resolverTo(t, "10.0.0.1"))
	for _, u := range []string{"http://peer.test/", "https://peer.test/", "http://10.0.0.1/", "https://10.0.0.1/"} {
		a.get(t, w, u, ClassBlocked)
	}
}

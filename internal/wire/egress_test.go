package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentpeer/agentpeer/test/ports"
)

func TestEgressNamesTheEntryThatItCannotUse(t *testing.T) {
	for name, tc := range map[string]struct {
		policy EgressPolicy
		says   []string
	}{
		"no range":              {EgressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), {}}}, []string{"entry 2", "10.0.0.0/8"}},
		"no range to deny":      {EgressPolicy{Deny: []netip.Prefix{{}}}, []string{"denying", "entry 1"}},
		"half of the mapped":    {EgressPolicy{Deny: prefixes("::ffff:0:0/80")}, []string{"::ffff:0.0.0.0/80", "IPv4 range"}},
		"a scheme":              {EgressPolicy{DenyHosts: []string{"https://evil.test"}}, []string{`"https://evil.test"`, "scheme", "example.com"}},
		"a port":                {EgressPolicy{PlaintextHosts: []string{"plain.test:80"}}, []string{`"plain.test:80"`, "port"}},
		"an address and a port": {EgressPolicy{DenyHosts: []string{"10.0.0.1:80"}}, []string{"port"}},
		"brackets":              {EgressPolicy{DenyHosts: []string{"[::1]"}}, []string{"brackets"}},
		"a zone":                {EgressPolicy{DenyHosts: []string{"fe80::1%eth0"}}, []string{"zone"}},
		"a path":                {EgressPolicy{DenyHosts: []string{"evil.test/x"}}, []string{"path"}},
		"a range":               {EgressPolicy{DenyHosts: []string{"10.0.0.0/8"}}, []string{"path"}},
		"a user name":           {EgressPolicy{DenyHosts: []string{"me@evil.test"}}, []string{"user name"}},
		"a blank":               {EgressPolicy{DenyHosts: []string{"evil.test "}}, []string{"blanks"}},
		"a line's end":          {EgressPolicy{DenyHosts: []string{"evil\n.test"}}, []string{"blanks"}},
		"a wildcard":            {EgressPolicy{DenyHosts: []string{"*.evil.test"}}, []string{"wildcard", "below"}},
		"nothing":               {EgressPolicy{DenyHosts: []string{""}}, []string{"empty"}},
		"a dot":                 {EgressPolicy{DenyHosts: []string{"."}}, []string{"empty"}},
		"an empty label":        {EgressPolicy{DenyHosts: []string{"evil..test"}}, []string{"not a name"}},
		"no API server":         {EgressPolicy{APIServer: []netip.AddrPort{{}}}, []string{"entry 1", "10.0.0.1:443"}},
		"no port of it":         {EgressPolicy{APIServer: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), 0)}}, []string{"10.0.0.1:0"}},
		"a negative count":      {EgressPolicy{ConnectionsPerAddress: -1}, []string{"-1", "256"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewEgress(tc.policy)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
	for host, addresses := range map[string][]netip.AddrPort{
		"planner": {netip.MustParseAddrPort("10.0.0.1:80")}, "other:80": {{}}, "third:80": {netip.MustParseAddrPort("10.0.0.1:0")},
	} {
		if _, err := NewClient(Options{Pinned: map[string][]netip.AddrPort{host: addresses}}); err == nil || !strings.Contains(err.Error(), host) {
			t.Errorf("%q at %v: %v, want an error that names it", host, addresses, err)
		}
	}
}

// A pinned host is dialled where it is pinned to: no name server is asked, private addresses are fine, http too, and the certificate is
// still to be for its name.
func TestPinnedHostsAreDialledWhereTheyArePinned(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { write(w, r.Host) })
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	dead := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.3"), at.Port())
	mapped := netip.AddrPortFrom(netip.AddrFrom16(at.Addr().As16()), at.Port())
	secure, ca := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { write(w, r.Host) })
	w := watch(t, Options{RootCAs: ca, Pinned: map[string][]netip.AddrPort{
		"planner.travel.svc:8080": {at}, "two.travel.svc:80": {dead, at}, "mapped.travel.svc:80": {mapped},
		"down.travel.svc:80": nil, "Secure.travel.svc:443": {netip.MustParseAddrPort(secure.Listener.Addr().String())}, "example.com:443": {netip.MustParseAddrPort(secure.Listener.Addr().String())},
	}}, names(t, nil)) // which panics if it is asked
	for u, host := range map[string]string{
		"http://planner.travel.svc:8080/": "planner.travel.svc:8080", "http://PLANNER.travel.svc:8080/": "PLANNER.travel.svc:8080", "http://two.travel.svc/": "two.travel.svc",
		"http://mapped.travel.svc/": "mapped.travel.svc", "https://example.com/": "example.com",
	} {
		p, err := w.Get(within(t, 10*time.Second), mustURL(t, u), nil)
		if err != nil || string(p.Body) != host {
			t.Errorf("%s: %+v, %v", u, p, err)
		}
	}
	_, err := w.Get(within(t, 10*time.Second), mustURL(t, "https://secure.travel.svc/"), nil)
	wantClass(t, err, ClassTLS)
	_, err = w.Get(within(t, 10*time.Second), mustURL(t, "http://down.travel.svc/"), nil) // pinned to nowhere is not left to name servers
	wantClass(t, err, ClassConnect)
	for _, ap := range w.dialled() {
		if !ap.Addr().Unmap().IsLoopback() {
			t.Errorf("dialled %s", ap)
		}
	}
}

// busy serves n connections that stay open until the test says so.
func busy(t *testing.T) (s *httptest.Server, release func()) {
	t.Helper()
	done := make(chan struct{})
	release = sync.OnceFunc(func() { close(done) })
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-done
		}
	})
	t.Cleanup(release)
	return s, release
}

func TestConnectionsToOneAddressAreBoundedOverAllClients(t *testing.T) {
	s, release := busy(t)
	port := mustURL(t, s.URL).Port()
	e := mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1", "test"}, ConnectionsPerAddress: 2})
	answered := make(chan error, 2)
	for range 2 {
		c := newTestClient(t, Options{Egress: e})
		go func() {
			_, err := c.Get(within(t, 20*time.Second), mustURL(t, s.URL+"/wait"), nil)
			answered <- err
		}()
	}
	until(t, func() bool { return e.slots.inUse(netip.MustParseAddr("127.0.0.1")) == 2 })
	// Another name and the mapped form lead to the same address; another address is not concerned.
	resolver := resolverTo(t, "127.0.0.1")
	for _, host := range []string{"127.0.0.1", "peer.test", "[::ffff:127.0.0.1]"} {
		w := watch(t, Options{Egress: e, AllowHosts: []string{host + ":" + port}}, resolver)
		_, err := w.Get(within(t, 20*time.Second), mustURL(t, "http://"+host+":"+port+"/"), nil)
		if wantClass(t, err, ClassBusy); len(w.dialled()) != 0 {
			t.Errorf("%s was dialled", host)
		}
	}
	release()
	for range 2 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	// The connections idle now, and make room by themselves.
	if _, err := newTestClient(t, Options{Egress: e}).Get(within(t, 20*time.Second), mustURL(t, s.URL), nil); err != nil {
		t.Error(err)
	}
}

// until waits for something that another goroutine is about to do.
func until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it did not come about")
		}
	}
}

// inUse is how many places of an address are taken.
func (s *slots) inUse(ip netip.Addr) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.byKey[slotKey{ip: ip}]; of != nil {
		return len(of.places)
	}
	return 0
}

// A connection that comes to nothing gives its place back: refused, reset before TLS, a certificate that is not trusted, given up.
func TestFailedConnectionsHoldNoPlace(t *testing.T) {
	e := mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1"}, ConnectionsPerAddress: 1})
	secure, _ := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	mute := serveBytes(t, func(conn net.Conn) { untilClosed(conn) })
	gone := ports.Closed(t)
	for range 3 {
		for u, class := range map[string]Class{
			secure.URL: ClassTLS, "http://" + gone: ClassConnect, "https://" + gone: ClassConnect, mute.String(): ClassTimeout,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if class == ClassTimeout {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			c := newTestClient(t, Options{Egress: e})
			_, err := c.Get(ctx, mustURL(t, u), nil)
			wantClass(t, err, class)
			cancel()
			c.Close()
		}
	}
	until(t, func() bool { return e.slots.inUse(netip.MustParseAddr("127.0.0.1")) == 0 })
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	if len(e.slots.byKey) != 0 {
		t.Errorf("%d addresses are remembered", len(e.slots.byKey))
	}
}

func TestAPlaceIsWaitedForAsLongAsTheContextLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ip := newSlots(1), netip.MustParseAddr("10.0.0.1")
		if err := s.take(t.Context(), ip, ""); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := s.take(ctx, ip, ""); !errors.Is(err, errBusy) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s, want busy after 3 s", err, time.Since(began))
		}
		ctx, giveUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, giveUp)
		if err := s.take(ctx, ip, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that the caller gave up", err)
		}
		time.AfterFunc(time.Second, func() { s.free(ip, "") })
		if err := s.take(t.Context(), ip, ""); err != nil {
			t.Errorf("%v, though a place became free", err)
		}
		if err := s.take(t.Context(), netip.MustParseAddr("10.0.0.2"), ""); err != nil {
			t.Errorf("another address: %v", err)
		}
	})
}

// A dial that is over may still be trying another address.
func TestADialThatIsOverKeepsNoPlace(t *testing.T) {
	s, ip := newSlots(1), netip.MustParseAddr("10.0.0.1")
	l := &lease{slots: s}
	if conn := l.settle(nil); conn != nil {
		t.Errorf("a connection %v", conn)
	}
	if err := l.take(t.Context(), ip); err == nil || s.inUse(ip) != 0 {
		t.Errorf("%v, and %d places are taken", err, s.inUse(ip))
	}
}

// What gives the place back survives TLS and HTTP/2.
func TestAPlaceIsGivenBackOnceWhoeverClosesHowOften(t *testing.T) {
	s, ip := newSlots(2), netip.MustParseAddr("127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	of := &lease{slots: s}
	for _, tried := range []string{"10.0.0.9", "127.0.0.1"} {
		if err := of.take(t.Context(), netip.MustParseAddr(tried)); err != nil {
			t.Fatal(err)
		}
	}
	conn := of.settle(raw)
	if s.inUse(ip) != 1 || s.inUse(netip.MustParseAddr("10.0.0.9")) != 0 {
		t.Error("want the place of the connection and no other")
	}
	secure := tls.Client(conn, &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12})
	_ = secure.Close()
	_ = conn.Close()
	if n := s.inUse(ip); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

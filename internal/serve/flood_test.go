package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// opened is a webhook that collects what is delivered.
func opened(t *testing.T, r *Receiver) (*url.URL, *heard) {
	t.Helper()
	h := &heard{}
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return hook, h
}

// dial opens a connection from an address of loopback.
func dial(t *testing.T, r *Receiver, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", r.Base().Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// half sends half a delivery and holds the connection.
func half(t *testing.T, c net.Conn, hook *url.URL) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", hook.Path); err != nil {
		t.Fatal(err)
	}
}

// One source cannot take all connections: others still get through. That somebody was turned away is counted, for it may have been anybody.
func TestSecurityWebhookFloodOfConnectionsLeavesRoomForOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs several addresses on loopback")
	}
	r := start(t, ReceiverOptions{}, func(r *Receiver) { r.listener.(*gate).most, r.listener.(*gate).perSource = 20, 10 })
	hook, told := opened(t, r)
	g := gomega.NewWithT(t)
	for range 10 {
		dial(t, r, "127.0.0.9")
	}
	held := func() int {
		gate := r.listener.(*gate)
		gate.mu.Lock()
		defer gate.mu.Unlock()
		return gate.open
	}
	g.Eventually(held, "10s").Should(gomega.Equal(10))
	if _, err := dial(t, r, "127.0.0.9").Read(make([]byte, 1)); err == nil {
		t.Error("the eleventh connection is served")
	}
	if n := r.TurnedAway(); n != 1 {
		t.Errorf("turned away %d, want 1", n)
	}
	if status, _ := post(t, hook, nil, strings.NewReader("{}")); status != http.StatusOK || len(told.all()) != 1 {
		t.Errorf("another source: status %d, heard %q", status, told.all())
	}
}

// Many sources together take no more connections than there are places, and whoever hangs up leaves a place.
func TestSecurityWebhookFloodOfSourcesIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs several addresses on loopback")
	}
	r := start(t, ReceiverOptions{}, func(r *Receiver) { r.listener.(*gate).most, r.listener.(*gate).perSource = 4, 2 })
	g := gomega.NewWithT(t)
	held := func() int {
		gate := r.listener.(*gate)
		gate.mu.Lock()
		defer gate.mu.Unlock()
		return gate.open
	}
	var guests []net.Conn
	for _, from := range []string{"127.0.0.7", "127.0.0.7", "127.0.0.8", "127.0.0.8"} {
		guests = append(guests, dial(t, r, from))
	}
	g.Eventually(held, "10s").Should(gomega.Equal(4))
	if _, err := dial(t, r, "127.0.0.9").Read(make([]byte, 1)); err == nil || r.TurnedAway() != 1 {
		t.Errorf("a fifth connection: %v, turned away %d", err, r.TurnedAway())
	}
	for _, c := range guests {
		_ = c.Close()
	}
	g.Eventually(held, "10s").Should(gomega.BeZero())
	remembered := func() int {
		gate := r.listener.(*gate)
		gate.mu.Lock()
		defer gate.mu.Unlock()
		return len(gate.from)
	}
	g.Eventually(remembered, "10s").Should(gomega.BeZero())
	hook, told := opened(t, r)
	if status, _ := post(t, hook, nil, strings.NewReader("{}")); status != http.StatusOK || len(told.all()) != 1 {
		t.Errorf("afterwards: status %d, heard %q", status, told.all())
	}
}

// A webhook with slow or many deliveries takes some places and not all; its own probe hears of what was refused, and nobody else's is affected.
func TestSecurityWebhookFloodOfOneHookLeavesRoomForOthers(t *testing.T) {
	r := start(t, ReceiverOptions{})
	flooded, toldFlooded := opened(t, r)
	other, toldOther := opened(t, r)
	g := gomega.NewWithT(t)
	for range maxAtOnce {
		half(t, dial(t, r, "127.0.0.1"), flooded)
	}
	g.Eventually(func() int { return len(r.flight) }, "10s").Should(gomega.Equal(maxAtOnce))
	if status, _ := post(t, flooded, nil, strings.NewReader("{}")); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: status %d", status)
	}
	if want := []string{"||false"}; !slices.Equal(toldFlooded.all(), want) {
		t.Errorf("its probe heard %q, want %q", toldFlooded.all(), want)
	}
	if status, _ := post(t, other, nil, strings.NewReader("{}")); status != http.StatusOK || len(toldOther.all()) != 1 {
		t.Errorf("another webhook: status %d, heard %q", status, toldOther.all())
	}
	if n := r.TurnedAway(); n != 0 {
		t.Errorf("%d count as anybody's, though it is known whose they were", n)
	}
}

// Where all places are taken, a delivery of a known webhook is told without its body: its peer is not silent.
func TestSecurityWebhookFloodSilencesNobody(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, told := opened(t, r)
	for range maxInFlight {
		r.flight <- struct{}{}
	}
	if status, _ := post(t, hook, http.Header{"X-Token": {"t"}}, strings.NewReader("{}")); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	if want := []string{"t||false"}; !slices.Equal(told.all(), want) {
		t.Errorf("heard %q, want %q", told.all(), want)
	}
}

// A hundred thousand calls cost time and hardly any memory, and tell a bounded number of deliveries.
func TestSecurityWebhookFloodOfCallsIsBounded(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, told := opened(t, r)
	calls := 100_000
	if testing.Short() {
		calls = 10_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range 8 {
		c := dial(t, r, "127.0.0.1")
		all.Go(func() {
			one := []byte("POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
			all.Go(func() { _, _ = c.Write(bytes.Repeat(one, calls/8)) })
			in := bufio.NewReader(c)
			for range calls / 8 {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Errorf("the connection is lost: %v", err)
					return
				}
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(told.all()); n != maxDeliveries {
		t.Errorf("%d deliveries are told, want %d", n, maxDeliveries)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// Bodies without an end are cut off, and so are headers.
func TestSecurityWebhookGiantsAreCutOff(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, told := opened(t, r)
	for name, text := range map[string]string{
		"a body":   "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a header": "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nX-A: ",
		"a path":   "POST /",
	} {
		c := dial(t, r, "127.0.0.1")
		chunk := bytes.Repeat([]byte("a"), 4096)
		if name == "a body" {
			chunk = append([]byte("1000\r\n"), append(chunk, "\r\n"...)...)
		}
		sent, err := c.Write([]byte(text))
		for err == nil && sent < 64<<20 {
			var n int
			n, err = c.Write(chunk)
			sent += n
		}
		if err == nil {
			t.Errorf("%s of %d MiB is read", name, sent>>20)
		}
	}
	if got := told.all(); !slices.Equal(got, []string{"||false"}) {
		t.Errorf("heard %q", got)
	}
}

// Nobody hears of what was meant for others, whatever is guessed, and no answer tells a near miss from a far one.
func TestSecurityWebhookForgeriesReachNobody(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, told := opened(t, r)
	other, toldOther := opened(t, r)
	dir, secret := hook.Path[:strings.LastIndexByte(hook.Path, '/')+1], hook.Path[strings.LastIndexByte(hook.Path, '/')+1:]
	for _, path := range []string{
		dir + secret[:42], dir + secret + "A", dir + secret[:42] + "_", dir + strings.ToUpper(secret), dir + "*", dir + "%2e%2e/" + secret,
		dir, "/hooks/" + secret, "/hooks//" + secret, "/hooks/LOCAL/" + secret, dir + strings.Repeat("A", 43), strings.Replace(hook.Path, "hooks", "hook", 1),
		dir + url.PathEscape(secret[:21]+"/"+secret[22:]), hook.Path + "/", hook.Path + "/..",
	} {
		c := dial(t, r, "127.0.0.1")
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", path)
		answer, err := io.ReadAll(c)
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 404")) || bytes.Contains(answer, []byte(secret)) {
			t.Errorf("%.80q is answered with %.60q %v", path, answer, err)
		}
	}
	if len(told.all())+len(toldOther.all()) > 0 {
		t.Errorf("heard %q and %q (%s)", told.all(), toldOther.all(), other.Path[:8])
	}
}

// No answer holds a byte of what was sent, and what smuggles a second request into a first is two requests or none.
func TestSecurityWebhookReflectsNothing(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, _ := opened(t, r)
	const canary = "reflectedcanary"
	for name, text := range map[string]string{
		"in all places": "POST " + hook.Path + "?" + canary + " HTTP/1.1\r\nHost: " + canary + "\r\nX-A: " + canary + "\r\nOrigin: http://" + canary +
			"\r\nContent-Length: 15\r\nConnection: close\r\n\r\n" + canary,
		"to nowhere":          "POST /" + canary + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"by a method":         canary + " " + hook.Path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"with two lengths":    "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + canary,
		"with two framings":   "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked, " + canary + "\r\n\r\n{}",
		"by TRACE":            "TRACE " + hook.Path + " HTTP/1.1\r\nHost: x\r\nX-A: " + canary + "\r\nConnection: close\r\n\r\n",
		"by an upgrade":       "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: " + canary + "\r\nContent-Length: 0\r\n\r\n",
		"without a host":      "POST " + hook.Path + " HTTP/1.1\r\nX-A: " + canary + "\r\nConnection: close\r\n\r\n",
		"as no HTTP":          canary + "\r\n\r\n",
		"by an expectation":   "POST " + hook.Path + " HTTP/1.1\r\nHost: x\r\nExpect: " + canary + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"as HTTP/2":           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + canary,
		"as an absolute form": "POST http://" + canary + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"by CONNECT":          "CONNECT " + canary + ":80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	} {
		c := dial(t, r, "127.0.0.1")
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		if answer, _ := io.ReadAll(c); bytes.Contains(answer, []byte(canary)) {
			t.Errorf("%s: %.300q", name, answer)
		}
	}
}

// A probe that is over hears no replay, and the answer is the same as before: nothing tells whoever replays that it is.
func TestSecurityWebhookReplaysAreTold(t *testing.T) {
	r := start(t, ReceiverOptions{})
	h := &heard{}
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := post(t, hook, nil, strings.NewReader("{}"))
	done()
	again, _ := post(t, hook, nil, strings.NewReader("{}"))
	if first != http.StatusOK || again != first || len(h.all()) != 1 {
		t.Errorf("%d and %d, heard %q", first, again, h.all())
	}
}

// What another replica asked for makes one hop at most, whatever its headers say, and takes a part of the places only.
func TestSecurityWebhookRelaysOnce(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	passed, release := make(chan *http.Request, 2*maxRelayed), make(chan struct{})
	r := start(t, ReceiverOptions{
		Self: one, Others: func(context.Context) ([]netip.Addr, error) { return []netip.Addr{one, two}, nil },
		Relay: transport(func(req *http.Request) (*http.Response, error) {
			passed <- req
			<-release
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Secret": {"theirs"}}, Body: io.NopCloser(strings.NewReader("theirs"))}, nil
		}),
	}, func(r *Receiver) { r.relays.most = maxRelayed })
	at := func() *url.URL {
		u := r.Base()
		u.Host, u.Path = r.listener.Addr().String(), hookPath(replicaName(two), strings.Repeat("x", 43))
		return u
	}
	for _, forged := range []string{"1", "0", "yes"} {
		if status, _ := post(t, at(), http.Header{hopHeader: {forged}}, strings.NewReader("{}")); status != http.StatusNotFound {
			t.Errorf("marked with %q it is passed on: %d", forged, status)
		}
	}
	var all sync.WaitGroup
	for range maxRelayed {
		all.Go(func() {
			if status, answer := post(t, at(), http.Header{"X-Token": {"t"}, "Connection": {"X-Token"}}, strings.NewReader("{}")); status != http.StatusOK || answer != "" {
				t.Errorf("status %d %q", status, answer)
			}
		})
	}
	for range maxRelayed {
		if req := <-passed; req.Header.Get(hopHeader) != "1" || req.URL.Hostname() != two.String() {
			t.Errorf("passed on to %s with %q", req.URL, req.Header.Get(hopHeader))
		}
	}
	if status, _ := post(t, at(), nil, strings.NewReader("{}")); status != http.StatusServiceUnavailable || r.TurnedAway() != 1 {
		t.Errorf("one too many: status %d, turned away %d", status, r.TurnedAway())
	}
	hook, told := opened(t, r)
	if status, _ := post(t, &url.URL{Scheme: "http", Host: r.listener.Addr().String(), Path: hook.Path}, nil, strings.NewReader("{}")); status != http.StatusOK || len(told.all()) != 1 {
		t.Errorf("our own webhook suffers: %d", status)
	}
	close(release)
	all.Wait()
}

// One host with a whole IPv6 network is one source.
func TestSecurityWebhookSourcesAreNetworks(t *testing.T) {
	for at, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "[2001:db8:1:2::9%eth0]:80": "2001:db8:1:2::",
	} {
		ap, err := netip.ParseAddrPort(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := networkOf(net.TCPAddrFromAddrPort(ap)); got.String() != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
}

// Whoever holds connections when we stop holds up the stop for a moment, and is cut then.
func TestSecurityWebhookStopsThoughConnectionsAreHeld(t *testing.T) {
	r, err := NewReceiver(ReceiverOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	hook, _ := opened(t, r)
	c := dial(t, r, "127.0.0.1")
	half(t, c, hook)
	gomega.NewWithT(t).Eventually(func() int { return len(r.flight) }, "10s").Should(gomega.Equal(1))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	gomega.NewWithT(t).Eventually(func() int { return len(r.flight) }, "2s").Should(gomega.BeZero())
}

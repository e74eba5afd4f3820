package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// replicas are two receivers that know each other. What comes to the second for the first is passed on.
func replicas(t *testing.T, change ...func(*Receiver)) (first, second *Receiver) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs two addresses on loopback")
	}
	one, two := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	others := func(context.Context) ([]netip.Addr, error) { return []netip.Addr{one, two}, nil }
	first = start(t, ReceiverOptions{Self: one, Others: others, Relay: client(t).Transport})
	second = start(t, ReceiverOptions{Address: fmt.Sprintf("127.0.0.2:%d", first.relay.port), Self: two, Others: others, Relay: client(t).Transport}, change...)
	return first, second
}

// by is the same webhook, called by way of a receiver.
func by(r *Receiver, hook *url.URL) *url.URL {
	u := *hook
	u.Host = r.listener.Addr().String()
	return &u
}

// reading sends half a delivery, and returns once its body is being read.
func reading(t *testing.T, c net.Conn, path string) {
	t.Helper()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\nhalf", path)
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("its body is not read: %q %v", line, err)
	}
}

// Whoever sends bodies slowly to another replica's paths, with no secret at all, takes no place from those who have one.
func TestSecurityWebhookSlowBodiesTakeNoPlaceOfTheRelay(t *testing.T) {
	first, second := replicas(t)
	hook, told := opened(t, first)
	for range maxRelayed {
		reading(t, dial(t, second, "127.0.0.1"), hookPath(first.replica, strings.Repeat("A", 43)))
	}
	if status, _ := post(t, by(second, hook), nil, strings.NewReader("{}")); status != http.StatusOK || !slices.Equal(told.all(), []string{"|{}|true"}) {
		t.Errorf("an honest call beside them: status %d, heard %q", status, told.all())
	}
}

// A body that does not arrive at another replica is a call all the same.
func TestSecurityWebhookTornBodiesArePassedOnAsCalls(t *testing.T) {
	first, second := replicas(t)
	hook, told := opened(t, first)
	c := dial(t, second, "127.0.0.1")
	half(t, c, hook)
	_ = c.(*net.TCPConn).CloseWrite()
	gomega.NewWithT(t).Eventually(told.all, "10s").Should(gomega.Equal([]string{"||false"}))
}

// Some senders do not wait for the answer, which costs them nothing.
func TestSecurityWebhookSendersMayHangUp(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	passing, hungUp, passed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r := start(t, ReceiverOptions{
		Self: one, Others: func(context.Context) ([]netip.Addr, error) { return []netip.Addr{two}, nil },
		Relay: transport(func(req *http.Request) (*http.Response, error) {
			close(passing)
			<-hungUp
			passed <- req.Context().Err()
			return nil, errors.New("enough")
		}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	req := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: hookPath(replicaName(two), strings.Repeat("x", 43))}, Body: http.NoBody}).WithContext(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r.ServeHTTP(&nowhere{}, req)
	}()
	<-passing
	cancel()
	close(hungUp)
	if err := <-passed; err != nil {
		t.Errorf("what is passed on ends with who sent it: %v", err)
	}
	<-answered
}

// nowhere is where an answer goes that nobody waits for.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(int)             {}

// One source takes a share of the places, in the relay and at home; another still gets through.
func TestSecurityWebhookPlacesAreShared(t *testing.T) {
	first, second := replicas(t, func(r *Receiver) { r.relays.most, r.flights.most = 1, 1 })
	relayed, _ := opened(t, first)
	for name, tc := range map[string]struct {
		hook *url.URL
		of   *shares
		hold chan struct{}
	}{
		"the relay": {by(second, relayed), &second.relays, second.relayed},
		"home":      {func() *url.URL { u, _ := opened(t, second); return u }(), &second.flights, second.flight},
	} {
		if !tc.of.enter(netip.MustParseAddr("127.0.0.9")) {
			t.Fatal("there is no place")
		}
		c := dial(t, second, "127.0.0.9")
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", tc.hook.Path)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable || !answer.Close {
			t.Errorf("%s: more than its share: status %d, hangs up: %v", name, answer.StatusCode, answer.Close)
		}
		if status, _ := post(t, tc.hook, nil, strings.NewReader("{}")); status != http.StatusOK {
			t.Errorf("%s: another source: status %d", name, status)
		}
		tc.of.leave(netip.MustParseAddr("127.0.0.9"))
		gomega.NewWithT(t).Eventually(func() int { return len(tc.hold) }, "5s").Should(gomega.BeZero())
		if len(tc.of.from) != 0 {
			t.Errorf("%s: sources are remembered that are gone", name)
		}
	}
}

// Whoever asked hears that another replica turned somebody away, or may have; nobody else hears anything.
func TestSecurityWebhookReplicasTellWhomTheyTurnedAway(t *testing.T) {
	first, second := replicas(t)
	before := time.Now().Add(-time.Minute)
	if !first.TurnedAwayElsewhere(t.Context(), before) {
		t.Error("a replica speaks for a time when it was not there")
	}
	second.lastAway.Store(0)
	if first.TurnedAwayElsewhere(t.Context(), before) {
		t.Error("nobody was turned away")
	}
	if first.TurnedAwayElsewhere(t.Context(), time.Now()) {
		t.Error("nobody was turned away in this moment")
	}
	second.turnAway()
	if !first.TurnedAwayElsewhere(t.Context(), before) {
		t.Error("somebody was turned away")
	}
	second.lastAway.Store(0)
	c := dial(t, second, "127.0.0.9")
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%s: 1\r\n%s: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", quietPath, sinceHeader, hopHeader)
	if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
		t.Errorf("a stranger is answered: %q %v", answer, err)
	}
	_ = second.Close()
	if !first.TurnedAwayElsewhere(t.Context(), before) {
		t.Error("a replica that is gone turned nobody away")
	}
	if alone := start(t, ReceiverOptions{}); alone.TurnedAwayElsewhere(t.Context(), before) {
		t.Error("where there are no others somebody was turned away")
	}
}

// What could not be passed on may have been anybody's.
func TestSecurityWebhookWhatIsNotPassedOnIsTurnedAway(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for name, tc := range map[string]struct {
		lookup error
		status int
		want   int
	}{
		"no look-up":   {errors.New("no DNS"), 0, http.StatusServiceUnavailable},
		"no answer":    {nil, 0, http.StatusBadGateway},
		"busy as well": {nil, http.StatusServiceUnavailable, http.StatusBadGateway},
	} {
		r := start(t, ReceiverOptions{
			Self: one, Others: func(context.Context) ([]netip.Addr, error) { return []netip.Addr{one, two}, tc.lookup },
			Relay: transport(func(*http.Request) (*http.Response, error) {
				if tc.status == 0 {
					return nil, errors.New("refused")
				}
				return &http.Response{StatusCode: tc.status, Body: http.NoBody}, nil
			}),
		})
		u := by(r, &url.URL{Scheme: "http", Path: hookPath(replicaName(two), strings.Repeat("x", 43))})
		if status, _ := post(t, u, nil, strings.NewReader("{}")); status != tc.want || r.TurnedAway() != 1 {
			t.Errorf("%s: status %d, want %d; turned away %d", name, status, tc.want, r.TurnedAway())
		}
	}
}

// A look-up is everybody's: strangers who ask and hang up end none, and those who wait share one.
func TestSecurityWebhookLookUpsOutliveWhoAsked(t *testing.T) {
	two := netip.MustParseAddr("10.0.0.2")
	began, release := make(chan struct{}, 8), make(chan struct{})
	r := relay{send: transport(nil), others: func(ctx context.Context) ([]netip.Addr, error) {
		began <- struct{}{}
		select {
		case <-release:
			return []netip.Addr{two}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	stranger, hangUp := context.WithCancel(t.Context())
	gone := make(chan found)
	go func() {
		_, f := r.address(stranger, "unknown", time.Now())
		gone <- f
	}()
	<-began
	hangUp()
	if f := <-gone; f != replicaUnsure {
		t.Errorf("who hung up is told %v", f)
	}
	honest := make(chan found)
	go func() {
		_, f := r.address(t.Context(), replicaName(two), time.Now())
		honest <- f
	}()
	close(release)
	if f := <-honest; f != replicaFound || len(began) > 1 {
		t.Errorf("who waits is told %v after %d look-ups more", f, len(began))
	}
}

// A look-up that fails finds that nothing is known, not that there is nobody, and is tried again.
func TestSecurityWebhookLookUpsThatFailSayNothing(t *testing.T) {
	two, now, fails, looks := netip.MustParseAddr("10.0.0.2"), time.Now(), true, 0
	r := relay{send: transport(nil), others: func(context.Context) ([]netip.Addr, error) {
		looks++
		if fails {
			return nil, errors.New("no DNS")
		}
		return []netip.Addr{two}, nil
	}}
	for range 3 {
		if _, f := r.address(t.Context(), replicaName(two), now); f != replicaUnsure {
			t.Errorf("it says %v", f)
		}
	}
	if looks != 1 {
		t.Errorf("%d look-ups at once", looks)
	}
	fails = false
	if ip, f := r.address(t.Context(), replicaName(two), now.Add(2*lookEvery)); f != replicaFound || ip != two {
		t.Errorf("a second later it says %v", f)
	}
}

// Webhooks whose probe is over are answered at once, whatever is under way, and hold nothing of what others need.
func TestSecurityWebhookLateCallsHoldNoPlace(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, done, err := r.Open(func(http.Header, []byte, bool) { t.Error("it is told") })
	if err != nil {
		t.Fatal(err)
	}
	done()
	for range maxInFlight {
		r.flight <- struct{}{}
	}
	for range maxAtOnce + 1 {
		c := dial(t, r, "127.0.0.1")
		half(t, c, hook)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusOK || !answer.Close {
			t.Fatalf("half a call that is late: %v %v", answer, err)
		}
		_ = answer.Body.Close()
	}
}

// A body is waited for a moment, so that slow ones hold no place for long.
func TestSecurityWebhookSlowBodiesHoldPlacesBriefly(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, told := opened(t, r)
	reading(t, dial(t, r, "127.0.0.1"), hook.Path)
	g := gomega.NewWithT(t)
	g.Eventually(func() int { return len(r.flight) }, "6s").Should(gomega.BeZero())
	if want := []string{"||false"}; !slices.Equal(told.all(), want) {
		t.Errorf("heard %q, want %q", told.all(), want)
	}
}

// A fault of ours leaks no place.
func TestSecurityWebhookFaultsLeakNoPlace(t *testing.T) {
	r := start(t, ReceiverOptions{})
	hook, done, err := r.Open(func(http.Header, []byte, bool) { panic("a fault") })
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for range maxAtOnce + 1 {
		c := dial(t, r, "127.0.0.1")
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", hook.Path)
		if answer, err := io.ReadAll(c); err != nil || len(answer) > 0 {
			t.Fatalf("it is answered: %q %v", answer, err)
		}
	}
	taken := func() int {
		r.flights.mu.Lock()
		defer r.flights.mu.Unlock()
		return len(r.flight) + len(r.flights.from)
	}
	gomega.NewWithT(t).Eventually(taken, "10s").Should(gomega.BeZero())
}

// Whoever is refused is hung up on, so that no refusal holds a connection.
func TestSecurityWebhookRefusalsHangUp(t *testing.T) {
	r := start(t, ReceiverOptions{})
	seen := map[int]bool{}
	for range 2 * unknownPerSecond {
		resp, err := (&http.Client{Transport: &http.Transport{}}).Post("http://"+r.listener.Addr().String()+"/nowhere", "", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		seen[resp.StatusCode] = true
		if !resp.Close {
			t.Fatalf("status %d keeps the connection", resp.StatusCode)
		}
	}
	if !seen[http.StatusNotFound] || !seen[http.StatusTooManyRequests] {
		t.Errorf("answered with %v", seen)
	}
}

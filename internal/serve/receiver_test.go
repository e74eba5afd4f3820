package serve

import (
	"bufio"
	"bytes"
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
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard collects deliveries.
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) hear(header http.Header, body []byte, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprintf("%s|%s|%v", header.Get("X-Token"), body, whole))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// counter counts outcomes.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) count(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[outcome]++
}

func (c *counter) of(outcome string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[outcome]
}

func start(t *testing.T, o ReceiverOptions, change ...func(*Receiver)) *Receiver {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	r, err := NewReceiver(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// client uses each connection once, so that none is idle when a receiver stops.
func client(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
}

func post(t *testing.T, u *url.URL, header http.Header, body io.Reader) (status int, answer string) {
	t.Helper()
	return request(t, http.MethodPost, u, header, body)
}

func request(t *testing.T, method string, u *url.URL, header http.Header, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.String(), body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// What is posted to a path that was given away is told to whoever gave it, duplicates too, and answered with nothing but a status.
func TestDeliveriesReachWhoAskedForThem(t *testing.T) {
	var c counter
	r := start(t, ReceiverOptions{Count: c.count})
	var one, two heard
	hook, done, err := r.Open(one.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	other, doneOther, err := r.Open(two.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer doneOther()
	for _, body := range []string{`{"a":1}`, `{"a":1}`, "no JSON", ""} {
		if status, answer := post(t, hook, http.Header{"X-Token": {"t"}}, strings.NewReader(body)); status != http.StatusOK || answer != "" {
			t.Errorf("%q is answered with %d %q, want 200 and nothing", body, status, answer)
		}
	}
	if want := []string{`t|{"a":1}|true`, `t|{"a":1}|true`, "t|no JSON|true", "t||true"}; !slices.Equal(one.all(), want) {
		t.Errorf("heard %q, want %q", one.all(), want)
	}
	if len(two.all()) != 0 || hook.String() == other.String() {
		t.Errorf("the other webhook heard %q", two.all())
	}
	if c.of("taken") != 4 {
		t.Errorf("counted %d", c.of("taken"))
	}
}

func TestWhatIsNoDeliveryIsTurnedAway(t *testing.T) {
	r := start(t, ReceiverOptions{})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	guess := *hook
	guess.Path = hook.Path[:len(hook.Path)-1] + "x"
	if strings.HasSuffix(hook.Path, "x") {
		guess.Path = hook.Path[:len(hook.Path)-1] + "y"
	}
	elsewhere := *hook
	elsewhere.Path = "/metrics"
	for name, tc := range map[string]struct {
		method string
		u      *url.URL
		want   int
	}{
		"another secret":  {http.MethodPost, &guess, http.StatusNotFound},
		"no path of ours": {http.MethodPost, &elsewhere, http.StatusNotFound},
		"a GET":           {http.MethodGet, hook, http.StatusMethodNotAllowed},
		"a PUT":           {http.MethodPut, hook, http.StatusMethodNotAllowed},
	} {
		if status, answer := request(t, tc.method, tc.u, nil, strings.NewReader("secret text")); status != tc.want || answer != "" {
			t.Errorf("%s: %d %q, want %d and no word", name, status, answer, tc.want)
		}
	}
	if len(h.all()) != 0 {
		t.Errorf("heard %q", h.all())
	}
}

// A body over the limit is noted and not read; one of the limit is.
func TestLargeBodiesAreNotedAndNotRead(t *testing.T) {
	r := start(t, ReceiverOptions{})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if status, _ := post(t, hook, nil, bytes.NewReader(make([]byte, maxBody+1))); status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", status)
	}
	if status, _ := post(t, hook, nil, bytes.NewReader(bytes.Repeat([]byte("x"), maxBody))); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	got := h.all()
	if len(got) != 2 || got[0] != "||false" || !strings.HasSuffix(got[1], "x|true") {
		t.Errorf("heard %d deliveries, the first %.20q", len(got), got[0])
	}
}

// A probe that is over hears nothing more, and its peer gets no error for being late.
func TestLateDeliveriesAreTakenAndTellNobody(t *testing.T) {
	var c counter
	r := start(t, ReceiverOptions{Count: c.count})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if status, _ := post(t, hook, nil, strings.NewReader("{}")); status != http.StatusOK || len(h.all()) != 0 || c.of("late") != 1 {
		t.Errorf("status %d, heard %q", status, h.all())
	}
}

// A busy machine judged a peer silent while its call was being read.
func TestSecurityWebhookCallsUnderWayAreNoSilence(t *testing.T) {
	r := start(t, ReceiverOptions{})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-Token: own\r\nContent-Length: 4\r\n\r\nha", hook.Path)
	for deadline := time.Now().Add(10 * time.Second); r.hooks.underWay() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the call did not arrive")
		}
	}
	done()
	want := []string{"own||false"}
	if got := h.all(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q: it had called", got, want)
	}
	fmt.Fprint(conn, "lf")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	done()
	if got := h.all(); answer.StatusCode != http.StatusOK || !slices.Equal(got, want) {
		t.Errorf("status %d, told %q, want 200 and no more than %q", answer.StatusCode, got, want)
	}
}

// underWay counts the deliveries whose bodies are being read.
func (h *hooks) underWay() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.open {
		n += len(one.coming)
	}
	return n
}

func TestHooksAreBounded(t *testing.T) {
	var table hooks
	now := time.Now()
	var h heard
	secret, _, err := table.add(h.hear, now)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDeliveries {
		d, known := table.find(secret, nil, now)
		if d.hear == nil || !known {
			t.Fatal("not told")
		}
		tell(d.hear, nil, nil)
		d.done()
	}
	if d, known := table.find(secret, nil, now); d.hear != nil || !known {
		t.Error("a flood of deliveries is told without end")
	}
	if _, known := table.find(secret, nil, now.Add(hookLife+time.Second)); known {
		t.Error("it lives for ever")
	}
	for range maxHooks - 1 {
		if _, _, err := table.add(h.hear, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := table.add(h.hear, now); !errors.Is(err, errTooManyHooks) {
		t.Errorf("error %v", err)
	}
	if _, _, err := table.add(h.hear, now.Add(hookLife+time.Second)); err != nil {
		t.Errorf("those that ended make no room: %v", err)
	}
}

// Guessing is slowed down, and costs a real delivery nothing.
func TestUnknownPathsAreRateBound(t *testing.T) {
	var b bucket
	b.perSecond = 5
	now := time.Now()
	n := 0
	for range 100 {
		if b.take(now) {
			n++
		}
	}
	if n != 5 || !b.take(now.Add(time.Second)) {
		t.Errorf("%d at once", n)
	}
	r := start(t, ReceiverOptions{})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for range 2 * unknownPerSecond {
		r.unknown.take(time.Now())
	}
	none := *hook
	none.Path = "/nothing"
	if status, _ := post(t, &none, nil, nil); status != http.StatusTooManyRequests {
		t.Errorf("status %d", status)
	}
	if status, _ := post(t, hook, nil, strings.NewReader("{}")); status != http.StatusOK {
		t.Errorf("a real delivery suffers: %d", status)
	}
}

// Two replicas behind one Service: whichever a webhook reaches, it gets to the one that asked.
func TestWebhooksReachTheReplicaThatAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs two addresses on loopback")
	}
	one, two := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	others := func(context.Context) ([]netip.Addr, error) { return []netip.Addr{one, two}, nil }
	var c counter
	asked := start(t, ReceiverOptions{Self: one, Others: others, Relay: client(t).Transport})
	port := asked.relay.port
	other := start(t, ReceiverOptions{
		Address: fmt.Sprintf("127.0.0.2:%d", port), Self: two, Others: others, Relay: client(t).Transport, Count: c.count,
	})
	var h heard
	hook, done, err := asked.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	there := *hook
	there.Host = other.listener.Addr().String()
	if status, _ := post(t, &there, http.Header{"X-Token": {"t"}}, strings.NewReader("{}")); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if status, _ := post(t, &there, nil, bytes.NewReader(make([]byte, maxBody+1))); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: status %d", status)
	}
	if want := []string{"t|{}|true", "||false"}; !slices.Equal(h.all(), want) || c.of("passed-on") != 2 {
		t.Errorf("heard %q, want %q", h.all(), want)
	}

	// What is marked as passed on is not passed on again, whoever marked it.
	if status, _ := post(t, &there, http.Header{hopHeader: {"1"}}, strings.NewReader("{}")); status != http.StatusNotFound {
		t.Errorf("passed on twice: %d", status)
	}
	// A replica that there is not is dialled by nobody.
	nobody := there
	nobody.Path = hookPath(replicaName(netip.MustParseAddr("127.0.0.3")), strings.Repeat("x", 43))
	if status, _ := post(t, &nobody, nil, strings.NewReader("{}")); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	if len(h.all()) != 2 {
		t.Errorf("heard %q", h.all())
	}
}

// No path names an address: what stands for a replica is a hash, and only replicas that there are match it.
func TestPathsNameNoAddress(t *testing.T) {
	dialled := make(chan string, 8)
	relayed := transport(func(r *http.Request) (*http.Response, error) {
		dialled <- r.URL.Host
		return nil, errors.New("refused")
	})
	var lookups counter
	r := start(t, ReceiverOptions{
		Self: netip.MustParseAddr("10.0.0.1"), Relay: relayed,
		Others: func(context.Context) ([]netip.Addr, error) {
			lookups.count("lookup")
			return []netip.Addr{netip.MustParseAddr("10.0.0.2")}, nil
		},
	})
	secret := strings.Repeat("x", 43)
	for replica, want := range map[string]int{
		"169.254.169.254": http.StatusNotFound, "127.0.0.1:80": http.StatusNotFound, "local": http.StatusNotFound, "..": http.StatusNotFound,
		replicaName(netip.MustParseAddr("10.0.0.2")): http.StatusBadGateway,
	} {
		u := r.Base()
		u.Host, u.Path = r.listener.Addr().String(), hookPath(replica, secret)
		if status, _ := post(t, u, nil, strings.NewReader("{}")); status != want {
			t.Errorf("%s: status %d, want %d", replica, status, want)
		}
	}
	if lookups.of("lookup") > 2 {
		t.Errorf("%d look-ups within a moment", lookups.of("lookup"))
	}
	close(dialled)
	for host := range dialled {
		if want := fmt.Sprintf("10.0.0.2:%d", r.relay.port); host != want {
			t.Errorf("dialled %s", host)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The base URL is what peers are given, whatever a proxy in front does with its path.
func TestPathsBelowABaseURL(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "callbacks.example.com", Path: "/agentpeer/"}
	r := start(t, ReceiverOptions{URL: base})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if !strings.HasPrefix(hook.String(), "https://callbacks.example.com/agentpeer/hooks/local/") {
		t.Errorf("the webhook is at %s", hook)
	}
	for _, path := range []string{hook.Path, strings.TrimPrefix(hook.Path, "/agentpeer")} {
		at := &url.URL{Scheme: "http", Host: r.listener.Addr().String(), Path: path}
		if status, _ := post(t, at, nil, strings.NewReader("{}")); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// A client that sends its headers or body ever so slowly holds a connection, not a place.
func TestSlowSendersDoNotHoldUpOthers(t *testing.T) {
	r := start(t, ReceiverOptions{}, func(r *Receiver) {
		r.server.ReadTimeout, r.server.ReadHeaderTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	var h heard
	hook, done, err := r.Open(h.hear)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	conn, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", hook.Path)
	if status, _ := post(t, hook, nil, strings.NewReader("{}")); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("it is not hung up on: %v", err)
	}
	if got := h.all(); !slices.Equal(got, []string{"|{}|true", "||false"}) {
		t.Errorf("told %q: half a body is none, and a call all the same", got)
	}
}

func TestAnAddressInUseShowsAtOnce(t *testing.T) {
	r := start(t, ReceiverOptions{})
	if _, err := NewReceiver(ReceiverOptions{Address: r.listener.Addr().String()}); err == nil || !strings.Contains(err.Error(), "listening for webhooks") {
		t.Errorf("error %v", err)
	}
}

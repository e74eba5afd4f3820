package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/ports"
)

// receiverBehind starts a receiver that listens behind a front, which decides about each call, and whether it is our own.
func receiverBehind(t *testing.T, o serve.ReceiverOptions, front *httptest.Server) *serve.Receiver {
	t.Helper()
	o.URL = &url.URL{Scheme: "http", Host: front.Listener.Addr().String()}
	r, err := serve.NewReceiver(o)
	if err != nil {
		t.Fatal(err)
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

// to passes calls on to an address, each on a connection of its own.
func to(address string) *httputil.ReverseProxy {
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	p.Transport = &http.Transport{DisableKeepAlives: true}
	return p
}

func ourOwn(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(`"taskId":"self"`))
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A stranger who closes our door for a while, and is gone before we look again, makes no peer look silent: we look all the while.
func TestSecurityWebhookDoorsThatWereClosedMeanwhileAccuseNobody(t *testing.T) {
	t.Parallel()
	inconclusive := expectation{outcome: trust.Inconclusive, reason: trust.ReasonPushReceiverUnreachable}
	for name, tc := range map[string]struct {
		closed func(w http.ResponseWriter, r *http.Request, next http.Handler)
		want   expectation
	}{
		"it was full": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, inconclusive},
		"it hung up": {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, inconclusive},
		"it was slow": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			<-r.Context().Done()
			next.ServeHTTP(w, r)
		}, inconclusive},
		"it lost headers": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Authorization")
			next.ServeHTTP(w, r)
		}, inconclusive},
		"somebody else answered": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusOK) }, inconclusive},
		"it was open": {func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) },
			expectation{outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front := httptest.NewUnstartedServer(nil)
			at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
			r, next := receiverBehind(t, serve.ReceiverOptions{Address: at}, front), to(at)
			// The door closes after the calls before, for much less than the round.
			var calls, since atomic.Int64
			front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ourOwn(r)
				n := calls.Add(1)
				if n == selfCalls+1 {
					since.Store(time.Now().UnixNano())
				}
				if n > selfCalls && time.Since(time.Unix(0, since.Load())) < time.Second {
					tc.closed(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			})
			front.Start()
			t.Cleanup(front.Close)
			job := pushJob(t, with(agent.V10, "push-silent").Start(t))
			check(t, runPush(t, job, r), trust.PushNotifications, tc.want)
		})
	}
}

// What another replica could not pass on may have been the peer's, though our own calls never met that replica.
func TestSecurityWebhookRefusalsOfAnotherReplicaAccuseNobody(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs two addresses on loopback")
	}
	for name, tc := range map[string]struct {
		broken bool
		want   expectation
	}{
		"it passes on": {false, expectation{outcome: trust.Honored}},
		"it does not":  {true, expectation{outcome: trust.Inconclusive, reason: trust.ReasonPushReceiverUnreachable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two, port := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"), freePort(t)
			others := func(context.Context) ([]netip.Addr, error) { return []netip.Addr{one, two}, nil }
			front := httptest.NewUnstartedServer(nil)
			relay := wire.NewRelay()
			t.Cleanup(relay.(interface{ CloseIdleConnections() }).CloseIdleConnections)
			asks := receiverBehind(t, serve.ReceiverOptions{Address: fmt.Sprintf("127.0.0.1:%d", port), Self: one, Others: others, Relay: relay}, front)
			o := serve.ReceiverOptions{Address: fmt.Sprintf("127.0.0.2:%d", port), Self: two, Others: others, Relay: relay}
			if tc.broken {
				o.Relay = broken{}
			}
			receiverBehind(t, o, front)
			first, second := to(fmt.Sprintf("127.0.0.1:%d", port)), to(fmt.Sprintf("127.0.0.2:%d", port))
			front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if ourOwn(r) {
					first.ServeHTTP(w, r)
					return
				}
				second.ServeHTTP(w, r)
			})
			front.Start()
			t.Cleanup(front.Close)
			check(t, runPush(t, pushJob(t, with(agent.V10, "push").Start(t)), asks), trust.PushNotifications, tc.want)
		})
	}
}

type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("broken") }

// One call while a peer is silent may be luck.
func TestSecurityWebhookVigilsNeedCallsOfTheSilence(t *testing.T) {
	t.Parallel()
	now := time.Now()
	call := func(after time.Duration, reached, whole bool) vigilCall {
		return vigilCall{now.Add(after), reached, whole}
	}
	for name, tc := range map[string]struct {
		calls []vigilCall
		good  bool
	}{
		"none":                          {nil, false},
		"one":                           {[]vigilCall{call(1, true, true)}, false},
		"two before":                    {[]vigilCall{call(-2, true, true), call(-1, true, true)}, false},
		"one before and one after":      {[]vigilCall{call(-2, true, true), call(1, true, true)}, false},
		"two":                           {[]vigilCall{call(1, true, true), call(2, true, true)}, true},
		"two, one before did not come":  {[]vigilCall{call(-1, false, false), call(1, true, true), call(2, true, true)}, false},
		"two, one before lost a header": {[]vigilCall{call(-1, true, false), call(1, true, true), call(2, true, true)}, false},
	} {
		v := &vigil{end: func() {}, calls: tc.calls}
		if got := v.since(now); got.good() != tc.good {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

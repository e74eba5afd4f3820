package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// snapshot is what a budget gave out, in all and by tenant.
func (b *budget) snapshot() (int64, map[string]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, maps.Clone(b.tenants)
}

// untilNothingIsHeld waits for what ends of itself.
func untilNothingIsHeld(t *testing.T, e *Egress) {
	t.Helper()
	until(t, func() bool { held, tenants := e.bytes.snapshot(); return held == 0 && len(tenants) == 0 })
}

// dripping serves answers that come to size bytes at once and end only when the test does.
func dripping(t *testing.T, size int) *http.Server {
	t.Helper()
	done := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		begin, kind, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
		if begin == "whole" {
			write(w, `{"name":"`, strings.Repeat("x", size), `"}`)
			return
		}
		w.Header().Set("Content-Type", strings.ReplaceAll(kind, "+", "/"))
		write(w, map[string]string{"sse": "data: ", "line": "", "json": ""}[begin], `{"x":"`, strings.Repeat("x", size))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-done:
		case <-q.Context().Done():
		}
	})
	t.Cleanup(func() { close(done) })
	s.Config.Addr = s.URL
	return s.Config
}

// TestSecurityTenantsDrippersHoldNoMoreThanTheirTenantsShare: peers send megabytes and then nothing more, in every way that we read.
func TestSecurityTenantsDrippersHoldNoMoreThanTheirTenantsShare(t *testing.T) {
	const share = 8 * mib
	s := dripping(t, 900<<10)
	e := mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1"}, BytesInFlight: 2 * share})
	before := liveHeap()
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	ended := make(chan error, 64)
	for i := range 40 {
		path := []string{"/json/application+json", "/sse/text+event-stream", "/line/application+x-ndjson", "/json/text+html"}[i%4]
		peer := askOf(t, mustURL(t, s.Addr+path), V03, Options{Egress: e, Tenant: "evil"})
		go func() {
			if i%4 == 0 {
				_, err := peer.Send(ctx, ping, SendConfig{})
				ended <- err
				return
			}
			st, err := peer.SendStream(ctx, ping, SendConfig{})
			if err == nil {
				if st.End() == EndBusy {
					err = &Error{Class: ClassBusy}
				}
			}
			ended <- err
		}()
	}
	busy := func(err error) bool { var f *Error; return errors.As(err, &f) && f.Class == ClassBusy }
	for range 25 { // each holds about a MiB, so at most 8 of 40 are still there
		if err := <-ended; !busy(err) {
			t.Errorf("%v, want that too much is in flight", err)
		}
	}
	held, tenants := e.bytes.snapshot()
	if held > share || tenants["evil"] != held || held < share/2 {
		t.Errorf("%d bytes are held, %v, want at most %d and most of it", held, tenants, share)
	}
	if grown := liveHeap() - before; grown > 3*share {
		t.Errorf("the heap has grown by %d MiB", grown/mib)
	}
	for range 3 {
		c := newTestClient(t, Options{Egress: e, Tenant: "good"})
		if p, err := c.Get(within(t, 20*time.Second), mustURL(t, s.Addr+"/whole"), nil); err != nil || len(p.Body) < 900<<10 {
			t.Errorf("another tenant's ordinary exchange: %v", err)
		}
	}
	cancel()
	for range 15 {
		<-ended
	}
	untilNothingIsHeld(t, e)
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSecurityTenantsOneRoundSharesWhatItHolds: however many interfaces it asks at once, and with connections of their own.
func TestSecurityTenantsOneRoundSharesWhatItHolds(t *testing.T) {
	s := dripping(t, 39*mib/10)
	e := loopbackEgress(t)
	first := askOf(t, mustURL(t, s.Addr+"/json/application+json"), V03, Options{Egress: e, Tenant: "evil"})
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	ended := make(chan error, 8)
	for range 8 {
		peer := first.Fresh()
		t.Cleanup(peer.Close)
		go func() {
			_, err := peer.Send(ctx, ping, SendConfig{})
			ended <- err
		}()
	}
	for range 5 {
		wantClass(t, <-ended, ClassBusy)
	}
	if held, _ := e.bytes.snapshot(); held > roundBytes || held == 0 {
		t.Errorf("one round holds %d MiB", held/mib)
	}
	cancel()
	for range 3 {
		<-ended
	}
	untilNothingIsHeld(t, e)
}

// TestSecurityTenantsWhatIsHeldIsGivenBack: whichever way an exchange ends, and each did hold something.
func TestSecurityTenantsWhatIsHeldIsGivenBack(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	update := `{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t1","metadata":{"x":"` + long + `"},"status":{"state":"working"}}}`
	rpc := map[string]struct{ mediaType, body string }{
		"an answer":                {"application/json", update},
		"an answer that is none":   {"application/json", "[" + update},
		"a page":                   {"text/html", "<html>" + long},
		"one that is too large":    {"application/json", strings.Repeat(" ", 5*mib)},
		"events":                   {"text/event-stream", "data: " + update + "\n\ndata: " + update + "\n\n"},
		"an event that is cut":     {"text/event-stream", "data: " + update},
		"an event too large":       {"text/event-stream", "data: " + strings.Repeat("x", 2*mib)},
		"a comment":                {"text/event-stream", ": " + long + "\n\n"},
		"lines":                    {"application/x-ndjson", update + "\n" + update + "\n"},
		"lines by another name":    {"text/plain", update + "\n" + update + "\n"},
		"one line of a wrong kind": {"text/plain", update},
	}
	for name, tc := range rpc {
		t.Run(name, func(t *testing.T) {
			e, most := loopbackEgress(t), int64(0)
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.mediaType)
				write(w, tc.body)
				_ = http.NewResponseController(w).Flush()
				if tc.mediaType != "text/html" {
					for end := time.Now().Add(time.Second); most == 0 && time.Now().Before(end); runtime.Gosched() {
						most, _ = e.bytes.snapshot()
					}
				}
			})
			peer := askOf(t, mustURL(t, s.URL), V03, Options{Egress: e, Tenant: "a"})
			for _, leave := range []bool{false, true} {
				_, _ = peer.Send(within(t, 10*time.Second), ping, SendConfig{})
				if st, err := peer.SendStream(within(t, 10*time.Second), ping, SendConfig{}); err == nil {
					if !leave {
						all(t, st)
					}
					st.Close()
				}
			}
			s.Close() // so that its handlers are over
			if untilNothingIsHeld(t, e); most == 0 && tc.mediaType != "text/html" {
				t.Error("nothing was ever held")
			}
		})
	}
}

// Messages of gRPC come whole or packed; one at a time is held.
func TestSecurityTenantsMessagesOfGRPCAreCounted(t *testing.T) {
	b := newBudget(4 * mib)
	p := b.purse("a")
	small, large := framed([]byte("x")), framed(bytes.Repeat([]byte("x"), mib))
	r := &reply{bytes: p.open(t.Context()), Response: &http.Response{Body: io.NopCloser(bytes.NewReader(slices.Concat(small, large, small, large[:len(large)/2])))}}
	f := newGRPCFrames(r, newMeter(r, 16*mib), 4*mib)
	for i, want := range []bool{false, true, false} {
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
		if held, _ := b.snapshot(); (held >= mib-freeBytes) != want {
			t.Errorf("message %d: %d bytes are held", i+1, held)
		}
	}
	if _, err := f.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if held, _ := b.snapshot(); held == 0 {
		t.Error("nothing is held of a message that is cut")
	}
	r.bytes.release()
	r.bytes.release()
	if held, tenants := b.snapshot(); held != 0 || len(tenants) != 0 {
		t.Errorf("%d bytes are held, %v", held, tenants)
	}
}

// TestSecurityTenantsAFaultOfOursGivesBack: a fault of ours, on the caller's goroutine.
func TestSecurityTenantsAFaultOfOursGivesBack(t *testing.T) {
	b := newBudget(4 * mib)
	h := b.purse("a").open(t.Context())
	func() {
		defer func() { _ = recover() }()
		closing := countedBody{io.NopCloser(nil), h}
		defer func() { _ = closing.Close() }()
		_, _ = h.readAll(io.MultiReader(bytes.NewReader(make([]byte, mib)), nil), 0, 0)
		t.Error("it went on")
	}()
	if held, _ := b.snapshot(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	e, held := loopbackEgress(t), int64(0)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, `{"jsonrpc":"2.0","id":1,"result":"`, strings.Repeat("x", mib), `"}`)
	})
	peer := askOf(t, mustURL(t, s.URL), V03, Options{Egress: e, Tenant: "a", Trace: func(Exchange) {
		held, _ = e.bytes.snapshot()
		panic("a fault of our own")
	}})
	for name, ask := range map[string]func(){
		"an answer":       func() { _, _ = peer.Send(within(t, 10*time.Second), ping, SendConfig{}) },
		"one to a stream": func() { _, _ = peer.SendStream(within(t, 10*time.Second), ping, SendConfig{}) },
		"a card":          func() { _, _ = peer.client.Get(within(t, 10*time.Second), mustURL(t, s.URL), nil) },
	} {
		held = 0
		func() {
			defer func() { _ = recover() }()
			ask()
			t.Errorf("%s: it went on", name)
		}()
		if now, _ := e.bytes.snapshot(); held == 0 || now != 0 {
			t.Errorf("%s: %d bytes were held, and %d are", name, held, now)
		}
	}
}

// TestSecurityTenantsAStreamThatWeStoppedReadingIsNoEvidence: what stands in an event that was not read to its end is not what it says.
func TestSecurityTenantsAStreamThatWeStoppedReadingIsNoEvidence(t *testing.T) {
	e := mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1"}, BytesInFlight: 4 * drawStep})
	long := strings.Repeat(" ", 400<<10)
	for mediaType, body := range map[string]string{
		"text/event-stream":    "data: " + completed + "\ndata: " + long + "\n\n",
		"application/x-ndjson": completed + long + "\n",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			write(w, body)
		})
		st, err := askOf(t, mustURL(t, s.URL), V03, Options{Egress: e, Tenant: "a"}).SendStream(within(t, 10*time.Second), ping, SendConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if events := all(t, st); len(events) != 0 || st.End() != EndBusy || st.EndAt() > 2*time.Second {
			t.Errorf("%s: %d events, %s at %s, want none and that it was us, at once", mediaType, len(events), st.End(), st.EndAt())
		}
	}
	untilNothingIsHeld(t, e)
}

// Events that wait for a slow reader count, and hold no more of what came than they say.
func TestSecurityTenantsEventsThatWaitAreCountedAndSmall(t *testing.T) {
	b := newBudget(4 * mib)
	h := b.purse("a").open(t.Context())
	for n := range 64 {
		h.queue(n, Event{TaskID: strings.Repeat("x", maxID), ContextID: strings.Repeat("x", maxID)})
	}
	if _ = h.keep(0); h.held < 64*2*maxID-freeBytes {
		t.Errorf("%d bytes are held", h.held)
	}
	h.queue(0, Event{})
	if _ = h.keep(0); h.held != 0 {
		t.Errorf("%d bytes are held of what was taken", h.held)
	}
	state := readEvent([]byte(`{"result":{"kind":"task","id":"t","status":{"state":"`+strings.Repeat("x", mib)+`"}}}`), expect{generation: V03}).RawState
	if len(state) != maxState {
		t.Errorf("a state of %d bytes", len(state))
	}
}

func TestSecurityTenantsBytesAreWaitedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(2 * mib)
		greedy := b.purse("a").open(t.Context())
		if err := greedy.keep(mib + freeBytes); err != nil {
			t.Fatal(err)
		}
		one := func(ctx context.Context) (*holding, func(error, time.Duration)) {
			h, began := b.purse("a").open(ctx), time.Now()
			return h, func(want error, after time.Duration) {
				t.Helper()
				if err := h.keep(freeBytes + 1); !errors.Is(err, want) || time.Since(began) != after {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(began), want, after)
				}
			}
		}
		h, wants := one(t.Context())
		wants(errBusy, 3*time.Second)
		if err := h.keep(freeBytes); err != nil {
			t.Errorf("what is free: %v", err)
		}
		wants(errBusy, 3*time.Second) // its patience is for all of it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, wants = one(ctx)
		wants(errBusy, time.Second)
		stalled, stall := context.WithCancelCause(t.Context())
		stall(errStalled)
		_, wants = one(stalled)
		wants(errBusy, 0) // for it was us who did not read
		given, giveUp := context.WithCancel(t.Context())
		giveUp()
		_, wants = one(given)
		wants(context.Canceled, 0)
		h, wants = one(t.Context())
		h.hurry()
		wants(errBusy, 0)
		_, wants = one(t.Context())
		time.AfterFunc(time.Second, greedy.release)
		wants(nil, time.Second)
		other := b.purse("b").open(t.Context())
		if err := other.keep(mib + freeBytes); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		if err := newBudget(2 * mib).purse("").open(t.Context()).keep(2*mib + freeBytes); err != nil {
			t.Errorf("one who is alone: %v", err)
		}
	})
}

// TestSecurityTenantsConnectionsToOneAddressAreShared: one tenant has half of them, at least one.
func TestSecurityTenantsConnectionsToOneAddressAreShared(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.1")
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for limit, share := range map[int]int{1: 1, 2: 1, 7: 3, 256: 128} {
		s := newSlots(limit)
		for i := range share {
			if err := s.take(over, ip, "evil"); err != nil {
				t.Errorf("%d of %d: %v", i+1, limit, err)
			}
		}
		if err := s.take(over, ip, "evil"); !errors.Is(err, errBusy) {
			t.Errorf("more than its share of %d: %v", limit, err)
		}
		if err := s.take(over, ip, "good"); limit > 1 && err != nil {
			t.Errorf("another tenant: %v", err)
		} else if limit > 1 {
			s.free(ip, "good")
		}
		for range share {
			s.free(ip, "evil")
		}
		for range limit {
			if err := s.take(over, ip, ""); err != nil {
				t.Errorf("one who is alone: %v", err)
			}
		}
		if err := s.take(over, ip, "good"); !errors.Is(err, errBusy) {
			t.Errorf("more than all: %v", err)
		}
		for range limit {
			s.free(ip, "")
		}
		if len(s.byKey) != 0 {
			t.Errorf("%d keys are remembered", len(s.byKey))
		}
	}
}

// The client's tenant is what its dials are counted for.
func TestSecurityTenantsAClientDialsForItsTenant(t *testing.T) {
	s, release := busy(t)
	e := mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1"}, ConnectionsPerAddress: 2})
	answered := make(chan error)
	c := newTestClient(t, Options{Egress: e, Tenant: "evil"})
	go func() {
		_, err := c.Get(within(t, 20*time.Second), mustURL(t, s.URL+"/wait"), nil)
		answered <- err
	}()
	until(t, func() bool { return e.slots.inUse(netip.MustParseAddr("127.0.0.1")) == 1 })
	fresh := c.Fresh()
	defer fresh.Close()
	_, err := fresh.Get(within(t, 20*time.Second), mustURL(t, s.URL), nil)
	wantClass(t, err, ClassBusy)
	if _, err := newTestClient(t, Options{Egress: e, Tenant: "good"}).Get(within(t, 20*time.Second), mustURL(t, s.URL), nil); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestSecurityTenantsNobodyEvictsTheTokensOfOthers: by having many of its own.
func TestSecurityTenantsNobodyEvictsTheTokensOfOthers(t *testing.T) {
	tokens := NewTokens()
	tokens.keep("good", "mine", "x", time.Hour)
	for i := range 2 * maxTokens {
		tokens.keep("evil", fmt.Sprint(i), "x", 2*time.Hour)
	}
	if n := len(tokens.kept); n != maxTenantTokens+1 {
		t.Errorf("%d tokens are kept, want %d of one and 1 of the other", n, maxTenantTokens)
	}
	for i := range 2 * maxTokens { // a crowd of namespaces loses its own first
		tokens.keep(fmt.Sprint("evil-", i/maxTenantTokens), fmt.Sprint("more-", i), "x", 2*time.Hour)
	}
	if n := len(tokens.kept); n != maxTokens {
		t.Errorf("%d tokens are kept, want %d", n, maxTokens)
	}
	if _, ok := tokens.find("mine"); !ok {
		t.Error("the token of another tenant is gone")
	}
	if _, ok := tokens.find(fmt.Sprint("more-", 2*maxTokens-1)); !ok {
		t.Error("the newest is gone")
	}
}

// TestSecuritySSRFZonesAreNotAsked: a zone of IPv6 may end in the name of a host that is open.
func TestSecuritySSRFZonesAreNotAsked(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	e := mustEgress(t, EgressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("::1/128")}, PlaintextHosts: []string{"agents.example.com"}})
	w := watch(t, Options{Egress: e}, nil)
	for _, u := range []string{
		"http://[::1%25x.agents.example.com]:" + port + "/", "https://[::1%25x.agents.example.com]:" + port + "/", "https://[::1%251]:" + port + "/",
		"http://x%25.agents.example.com:" + port + "/",
	} {
		_, err := w.Get(within(t, 5*time.Second), mustURL(t, u), nil)
		wantClass(t, err, ClassOrigin)
		if r := e.Refuses(mustURL(t, u)); r != RefusedAddress {
			t.Errorf("%s: %q, want that its address is refused", u, r)
		}
	}
	var blocked *blockedError
	conn, err := w.impl.guard.dial(within(t, 5*time.Second), "tcp", net.JoinHostPort("::1%x.agents.example.com", port))
	if conn != nil || !errors.As(err, &blocked) || len(w.dialled()) != 0 {
		t.Errorf("%v, %v, and %d were dialled", conn, err, len(w.dialled()))
	}
	t.Attr("ssrf_blocked", "5")
}

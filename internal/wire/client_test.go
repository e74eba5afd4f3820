package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/test/ports"
)

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	write(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGetReadsACard(t *testing.T) {
	const card = `{"name":"x"}`
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want Page
	}{
		"as it is": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Cache-Control", "max-age=60")
				write(w, card)
			},
			Page{Status: 200, MediaType: "application/json", ETag: `"1"`, CacheControl: "max-age=60", Body: []byte(card)},
		},
		"with a byte order mark, which stays": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				write(w, "\ufeff", card)
			},
			Page{Status: 200, MediaType: "application/json", Body: []byte("\ufeff" + card)},
		},
		"in gzip (C61)": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(gzipped(t, card))
			},
			Page{Status: 200, MediaType: "application/json", Body: []byte(card)},
		},
		"in gzip that no header tells of": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(gzipped(t, card))
			},
			Page{Status: 200, MediaType: "application/json", Body: []byte(card)},
		},
		"not modified": {
			func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("If-None-Match") == `"1"` {
					w.WriteHeader(http.StatusNotModified)
				}
			},
			Page{Status: 304, NotModified: true},
		},
		"not there: a page all the same, without its body": {
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
			Page{Status: 404, MediaType: "text/plain"},
		},
		"too busy, in seconds": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			Page{Status: 429, RetryAfter: 2 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tc.h)
			u := mustURL(t, s.URL+"/.well-known/agent-card.json")
			got, err := newTestClient(t, Options{}).Get(within(t, 5*time.Second), u, http.Header{"If-None-Match": {`"1"`}})
			if err != nil {
				t.Fatal(err)
			}
			if got.Date.IsZero() {
				t.Error("no date")
			}
			tc.want.FinalURL, tc.want.Date = u, got.Date
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGetSaysWhatItAsksWith(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	c := newTestClient(t, Options{UserAgent: "agentpeer/1"})
	h := http.Header{"A2A-Version": {"1.0"}, "Accept": {"application/json"}}
	if _, err := c.Get(within(t, 5*time.Second), mustURL(t, s.URL), h); err != nil {
		t.Fatal(err)
	}
	want := http.Header{"A2a-Version": {"1.0"}, "Accept": {"application/json"}, "User-Agent": {"agentpeer/1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	now := time.Date(2026, 8, 12, 10, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "5": 5 * time.Second, "99999999999": maxRetryAfter, "999999999999999999999": 0, "soon": 0,
		"Wed, 12 Aug 2026 10:01:00 GMT": time.Minute, "Wed, 12 Aug 2020 10:01:00 GMT": 0, "Wed, 12 Aug 2099 10:01:00 GMT": maxRetryAfter,
	} {
		r := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {v}}}
		if got := retryAfter(r, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", v, got, want)
		}
		r.StatusCode = http.StatusOK
		if got := retryAfter(r, now); got != 0 {
			t.Errorf("retryAfter(%q) of a 200 = %v, want 0", v, got)
		}
	}
}

// TestPeersThatGiveNothing are failures below the protocol; each is of the class that says so, and within its time.
func TestPeersThatGiveNothing(t *testing.T) {
	big := strings.Repeat("x", 8<<10)
	limits := Limits{CardBytes: 4 << 10, BodyBytes: 4 << 10, HeaderBytes: 8 << 10}
	for name, tc := range map[string]struct {
		f    func(conn *net.TCPConn, a asked)
		want Class
	}{
		"closes at once (C88)":     {func(*net.TCPConn, asked) {}, ClassReset},
		"resets at once":           {func(c *net.TCPConn, _ asked) { reset(c) }, ClassReset},
		"says nothing":             {func(c *net.TCPConn, _ asked) { untilClosed(c) }, ClassTimeout},
		"stops within the headers": {func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\nContent-"); untilClosed(c) }, ClassTimeout},
		"stops within the body": {func(c *net.TCPConn, _ asked) {
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
			untilClosed(c)
		}, ClassTimeout},
		"cuts the body":       {func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{") }, ClassReset},
		"cuts a chunk":        {func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\n", chunked, "5\r\n{}") }, ClassReset},
		"sends no HTTP":       {func(c *net.TCPConn, _ asked) { write(c, "SSH-2.0-OpenSSH_9.6\r\n"); untilClosed(c) }, ClassNoHTTP},
		"sends giant headers": {func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\nX: ", big, big, "\r\n\r\n") }, ClassTooLarge},
		"sends a giant body": {func(c *net.TCPConn, _ asked) {
			write(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 16384\r\n\r\n", big, big)
		}, ClassTooLarge},
		"sends an endless body": {func(c *net.TCPConn, _ asked) { drip(c, big, 0) }, ClassTooLarge},
		"sends a bomb": {func(c *net.TCPConn, _ asked) {
			write(c, "HTTP/1.1 200 OK\r\n\r\n", string(gzipped(t, strings.Repeat(big, 64))))
		}, ClassTooLarge},
		"sends gzip that is none":     {func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\n\r\n\x1f\x8bnonsense, and more of it") }, ClassMalformed},
		"drips for longer than we do": {func(c *net.TCPConn, _ asked) { drip(c, "x", 20*time.Millisecond) }, ClassTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			j := askOf(t, serveRaw(t, tc.f), V03, Options{Limits: limits})
			limit := 5 * time.Second
			if tc.want == ClassTimeout {
				limit = 150 * time.Millisecond
			}
			_, err := j.client.Get(within(t, limit), j.at.URL, nil)
			wantClass(t, err, tc.want)
			_, err = j.Send(within(t, limit), ping, SendConfig{})
			wantClass(t, err, tc.want)
			_, err = j.SendStream(within(t, limit), ping, SendConfig{})
			wantClass(t, err, tc.want)
		})
	}
}

// drip sends a 200 and then one piece after the other until the other side has gone.
func drip(c net.Conn, piece string, pause time.Duration) {
	write(c, "HTTP/1.1 200 OK\r\n\r\n")
	tick := time.NewTicker(max(pause, time.Microsecond))
	defer tick.Stop()
	for {
		if _, err := c.Write([]byte(piece)); err != nil {
			return
		}
		<-tick.C
	}
}

func TestErrorsBelowHTTP(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	secure, ca := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} //nolint:gosec // what we refuse
	old.Config.ErrorLog = quiet()
	old.StartTLS()
	t.Cleanup(old.Close)
	c := newTestClient(t, Options{})
	trusting := newTestClient(t, Options{RootCAs: ca})
	for name, tc := range map[string]struct {
		c    *Client
		u    string
		want Class
	}{
		"nobody listens":                             {c, "http://" + ports.Closed(t), ClassConnect},
		"an unknown authority":                       {c, secure.URL, ClassTLS},
		"a certificate for another name":             {trusting, strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), ClassTLS},
		"plain HTTP where TLS was asked for":         {c, strings.Replace(plain.URL, "http:", "https:", 1), ClassTLS},
		"a TLS version that is too old":              {trusting, old.URL, ClassTLS},
		"a private address nobody opened":            {c, "https://10.255.255.1/", ClassBlocked},
		"instance metadata (C110)":                   {c, "https://169.254.169.254/latest/meta-data/", ClassBlocked},
		"the IPv6 wildcard of a card (C46)":          {c, "https://[::]:8080/invoke", ClassBlocked},
		"http where nobody allowed it":               {c, "http://10.255.255.1/", ClassPlaintext},
		"a URL without a host (C56)":                 {c, "/.well-known/agent-card.json", ClassOrigin},
		"a URL with a port alone":                    {c, "http://:8080/", ClassOrigin},
		"a scheme that is not ours":                  {c, "file:///etc/passwd", ClassOrigin},
		"another scheme with a host, and with port":  {c, "gopher://127.0.0.1:70/", ClassOrigin},
		"an opaque URL":                              {c, "http:127.0.0.1", ClassOrigin},
		"a certificate that the given authority has": {trusting, secure.URL, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.c.Get(within(t, 5*time.Second), mustURL(t, tc.u), nil)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantClass(t, err, tc.want)
		})
	}
	t.Run("no URL at all", func(t *testing.T) {
		_, err := c.Get(t.Context(), nil, nil)
		wantClass(t, err, ClassOrigin)
	})
	t.Run("our caller gave up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Get(ctx, mustURL(t, plain.URL), nil)
		wantClass(t, err, ClassCanceled)
	})
}

// TestErrorsHoldNoByteOfThePeer: what a peer chose must not travel into status or logs by way of an error.
func TestErrorsHoldNoByteOfThePeer(t *testing.T) {
	const evil = "EVIL-TEXT"
	for name, f := range map[string]func(conn *net.TCPConn, a asked){
		"in place of HTTP":   func(c *net.TCPConn, _ asked) { write(c, evil, "\r\n\r\n") },
		"in the status line": func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 500 ", evil, "\r\nContent-Length: 0\r\n\r\n") },
		"in a header":        func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\nBad Header ", evil, "\r\n\r\n") },
		"in where it points": func(c *net.TCPConn, _ asked) {
			write(c, "HTTP/1.1 302 Found\r\nLocation: http://", evil, "/\r\nContent-Length: 0\r\n\r\n")
		},
		"in the body":          func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", evil) },
		"in the body of a 404": func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 404 X\r\nContent-Length: 9\r\n\r\n", evil) },
		"in the media type": func(c *net.TCPConn, _ asked) {
			write(c, "HTTP/1.1 200 OK\r\nContent-Type: ", evil, "\r\nContent-Length: 9\r\n\r\n", evil)
		},
		"in the chunk's length": func(c *net.TCPConn, _ asked) { write(c, "HTTP/1.1 200 OK\r\n", chunked, evil, "\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			j := askOf(t, serveRaw(t, f), V03, Options{})
			_, err := j.Send(within(t, 5*time.Second), ping, SendConfig{})
			if err == nil || strings.Contains(strings.ToUpper(err.Error()), evil) {
				t.Errorf("err = %v, want one without the peer's text", err)
			}
		})
	}
	for class, text := range doing {
		if got := (&Error{Class: class}).Error(); got != text || text == "" {
			t.Errorf("%s reads %q", class, got)
		}
	}
}

func TestFreshUsesAConnectionOfItsOwn(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	get := func(c *Client) {
		t.Helper()
		if _, err := c.Get(within(t, 5*time.Second), mustURL(t, s.URL), nil); err != nil {
			t.Fatal(err)
		}
	}
	c := newTestClient(t, Options{})
	get(c)
	get(c)
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for two requests of one client, want 1", n)
	}
	fresh := c.Fresh()
	t.Cleanup(fresh.Close)
	get(fresh)
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections after Fresh, want 2", n)
	}
	get(c)
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections after the old client asked again, want 2", n)
	}
}

func TestNewClientRefusesWhatItCannotUse(t *testing.T) {
	for name, o := range map[string]Options{
		"a host without a port":        {AllowHosts: []string{"peer"}},
		"PEM data without certificate": {RootCAs: []byte("nothing")},
		"a header that is none":        {Credentials: Credentials{Header: "Bad Header", Value: "s3cret"}},
		"a header of the protocol":     {Credentials: Credentials{Header: "content-type", Value: "s3cret"}},
		"a value with a line end":      {Credentials: Credentials{Header: "Authorization", Value: "s3cret\r\nX: y"}},
		"an empty value":               {Credentials: Credentials{Header: "Authorization"}},
		"an origin that is none":       {Credentials: Credentials{Header: "Authorization", Value: "s3cret", Origins: []string{"peer"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewClient(o)
			if err == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the credential: %v", err)
			}
		})
	}
}

func TestRootsAreParsedOnce(t *testing.T) {
	_, ca := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	a, err := rootsWith(ca)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := rootsWith(ca); a != b {
		t.Error("the same bundle was parsed twice")
	}
	if none, _ := rootsWith(nil); none != nil {
		t.Error("no bundle is not the system's pool")
	}
}

// TestNoProxyFromTheEnvironment: behind a proxy the guard would look at the wrong address.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	if newTransport(mustGuard(t, nil), nil, 0).Proxy != nil {
		t.Error("the transport has a proxy")
	}
}

func TestHTTP2IsSpokenWhereOffered(t *testing.T) {
	s, ca := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.ProtoMajor) })
	p, err := newTestClient(t, Options{RootCAs: ca}).Get(within(t, 5*time.Second), mustURL(t, s.URL), nil)
	if err != nil || string(p.Body) != "2" {
		t.Fatalf("protocol %q, %v, want 2", p.Body, err)
	}
}

func originsOf(list ...string) []string { return list }

// TestCredentialsGoToTheirOriginsAlone is C109: the card is hostile input, and the operator holds everybody's tokens.
func TestCredentialsGoToTheirOriginsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		origins []string
		u       string
		want    bool
	}{
		"the origin itself":                       {originsOf("https://peer.test:443"), "https://peer.test/a2a", true},
		"the port may be left out":                {originsOf("https://peer.test"), "https://PEER.test:443/a2a", true},
		"a path in the origin is no part of it":   {originsOf("https://peer.test/x"), "https://peer.test/y", true},
		"IPv6":                                    {originsOf("http://[::1]:8080"), "http://[::1]:8080/", true},
		"another port":                            {originsOf("https://peer.test"), "https://peer.test:8443/", false},
		"http where https was named":              {originsOf("https://peer.test"), "http://peer.test/", false},
		"http on the port of https":               {originsOf("https://peer.test"), "http://peer.test:443/", false},
		"https where http was named":              {originsOf("http://peer.test"), "https://peer.test/", false},
		"a subdomain":                             {originsOf("https://peer.test"), "https://x.peer.test/", false},
		"a name that ends alike":                  {originsOf("https://peer.test"), "https://evilpeer.test/", false},
		"a name that begins alike":                {originsOf("https://peer.test"), "https://peer.test.evil.test/", false},
		"the origin as the user of another":       {originsOf("https://peer.test"), "https://peer.test@evil.test/", false},
		"no origin at all":                        {nil, "https://peer.test/", false},
		"a trailing dot is another name for sure": {originsOf("https://peer.test"), "https://peer.test./", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSecret(Options{Credentials: Credentials{Header: "Authorization", Value: "Bearer x", Origins: tc.origins}})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.goesTo(mustURL(t, tc.u)); got != tc.want {
				t.Errorf("goesTo = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUserOfAURLIsNeitherSentNorTraced(t *testing.T) {
	var got, traced string
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
	u := mustURL(t, s.URL)
	u.User = url.UserPassword("a", "b")
	c := newTestClient(t, Options{Trace: func(x Exchange) { traced = x.URL }})
	if _, err := c.Get(within(t, 5*time.Second), u, nil); err != nil {
		t.Fatal(err)
	}
	if got != "" || traced != s.URL {
		t.Errorf("Authorization %q, traced URL %q, want none and %q", got, traced, s.URL)
	}
}

// TestQuestionsThatDoNoHarmSurviveADeadConnection: servers close idle connections without a word. A question is asked again, a
// send is not: it may have begun a task.
func TestQuestionsThatDoNoHarmSurviveADeadConnection(t *testing.T) {
	asks := make(chan string, 9)
	u := serveRaw(t, func(c *net.TCPConn, a asked) {
		asks <- a.Method
		write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ", fmt.Sprint(len(a.reply(task))), "\r\n\r\n", a.reply(task))
		_, _ = http.ReadRequest(bufio.NewReader(c)) // the next request is read and never answered
	})
	j := askOf(t, u, V03, Options{})
	ctx := within(t, 5*time.Second)
	for range 2 {
		if _, err := j.GetTask(ctx, "t1", nil); err != nil {
			t.Fatalf("%v: %v", err, errors.Unwrap(err))
		}
	}
	if n := len(asks); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	_, err := j.Send(ctx, ping, SendConfig{})
	wantClass(t, err, ClassReset)
}

package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback opens what the test servers listen on.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// loopbackEgress lets clients dial what the test servers listen on, by http too.
func loopbackEgress(t testing.TB) *Egress {
	return mustEgress(t, EgressPolicy{Allow: loopback, PlaintextHosts: []string{"127.0.0.1", "localhost"}})
}

func mustEgress(t testing.TB, p EgressPolicy) *Egress {
	t.Helper()
	e, err := NewEgress(p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// newTestClient may dial loopback.
func newTestClient(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Egress == nil {
		o.Egress = loopbackEgress(t)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// within bounds a test that would hang without the thing it tests.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// serve starts an HTTP server that dies with the test.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serveTLS starts an HTTPS server that speaks HTTP/2, and returns its certificate in PEM.
func serveTLS(t testing.TB, h http.HandlerFunc) (*httptest.Server, []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// quiet keeps servers from telling the test's output what their clients did to them on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// asked is a JSON-RPC request as a peer reads it.
type asked struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
}

func readAsked(r io.Reader) (a asked) {
	_ = json.NewDecoder(r).Decode(&a)
	return a
}

// reply is an answer to the request, in one line.
func (a asked) reply(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, a.ID, result)
}

const (
	working   = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working"},"final":false}`
	completed = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}`
	task      = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}`
)

// serveRaw answers every connection by hand: f writes whatever bytes it likes after the request was read. The connection is
// closed when f returns.
func serveRaw(t testing.TB, f func(conn *net.TCPConn, a asked)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				f(conn.(*net.TCPConn), readAsked(req.Body))
			})
		}
	})
	return mustURL(t, "http://"+l.Addr().String()+"/a2a")
}

// reset cuts a connection with RST instead of FIN.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// untilClosed waits until the other side has gone.
func untilClosed(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func write(w io.Writer, parts ...string) { _, _ = io.WriteString(w, strings.Join(parts, "")) }

const (
	sseHead   = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunked   = "Transfer-Encoding: chunked\r\n\r\n"
	lastChunk = "0\r\n\r\n"
)

// askOf is a JSON-RPC client of a test server.
func askOf(t testing.TB, u *url.URL, g Generation, o Options) *jsonRPC {
	t.Helper()
	return &jsonRPC{client: newTestClient(t, o), at: Endpoint{URL: u, Generation: g}}
}

var ping = Message{Parts: []Part{{Text: "ping"}}}

// wantClass checks that err is an *Error of a class.
func wantClass(t testing.TB, err error, want Class) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %v (%T), want an *Error of class %s", err, err, want)
	}
	if e.Class != want {
		t.Fatalf("class = %s (%v: %v), want %s", e.Class, e, e.Err, want)
	}
	return e
}

// all reads a stream to its end.
func all(t testing.TB, s *Stream) (events []Event) {
	t.Helper()
	for e := range s.Events() {
		events = append(events, e)
	}
	return events
}

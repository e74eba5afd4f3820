package hostile

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

// stand is where one hostile peer stands, until its test is over.
type stand struct {
	t    *testing.T
	over context.Context
	// met counts how often the peer got to do what it is there for.
	met atomic.Int64
	// url of the card, and what else its errand says.
	errand
	// after, if set, looks at what became of it.
	after func(t *testing.T, o outcome)
}

func newStand(t *testing.T) *stand {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return &stand{t: t, over: ctx}
}

// forever writes the same until nobody reads any more.
func (s *stand) forever(w io.Writer, what []byte) {
	s.met.Add(1)
	flush := func() {}
	if f, ok := w.(http.Flusher); ok {
		flush = f.Flush
	}
	for s.over.Err() == nil {
		if _, err := w.Write(what); err != nil {
			return
		}
		flush()
	}
}

// drip writes one byte at a time.
func (s *stand) drip(w io.Writer, what []byte, every time.Duration) {
	s.met.Add(1)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := w.Write(what[i%len(what) : i%len(what)+1]); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-tick.C:
		case <-s.over.Done():
			return
		}
	}
}

// hang holds a request until the client or the test ends.
func (s *stand) hang(ctx context.Context) {
	s.met.Add(1)
	select {
	case <-ctx.Done():
	case <-s.over.Done():
	}
}

// http serves a handler in plain text, HTTP/1 and HTTP/2, and returns its base URL.
func (s *stand) http(h http.Handler) string {
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = agent.Protocols()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// https serves it by HTTP/2 over TLS.
func (s *stand) https(h http.Handler) string {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// raw serves connections and returns host:port. Each is closed when its function returns, and all when the test ends.
func (s *stand) raw(serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.over)
	s.over = ctx
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				serve(c)
			})
		}
	})
	s.t.Cleanup(func() {
		cancel()
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// withRequest reads one request of HTTP/1 before it lets the connection be served.
func withRequest(serve func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) == nil {
			serve(c)
		}
	}
}

// readRequest reads a request to the end of its headers, and some of its body.
func readRequest(c net.Conn) error {
	var got []byte
	for buf := make([]byte, 4096); !bytes.Contains(got, []byte("\r\n\r\n")); {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		if got = append(got, buf[:n]...); len(got) > 64<<10 {
			return errors.New("no request")
		}
	}
	return nil
}

// rawEndpoint is a raw server that a well-behaved card names as its one interface.
func (s *stand) rawEndpoint(serve func(net.Conn)) {
	s.endpoint("http://" + s.raw(serve) + "/a2a")
}

// endpoint makes a well-behaved card that names this URL as its one interface.
func (s *stand) endpoint(u string) {
	a := agent.New(agent.Speaks(agent.V10), agent.Is("push"), agent.With(func(c *agent.Config) { c.Card.URL = u }))
	s.t.Cleanup(a.Close)
	s.URL = s.http(a.Handler())
	scheme, rest, _ := strings.Cut(u, "://")
	host, _, _ := strings.Cut(rest, "/")
	s.Origins = append(s.Origins, scheme+"://"+host)
}

// call is a JSON-RPC call.
type call struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
}

// between is an honest agent with somebody before it who answers calls himself where he says so. On other binding's paths the method is the
// path's last element.
func (s *stand) between(answer func(w http.ResponseWriter, r *http.Request, c call) bool, options ...agent.Option) http.Handler {
	a := agent.New(append([]agent.Option{agent.Speaks(agent.V10), agent.Is("push")}, options...)...)
	s.t.Cleanup(a.Close)
	h := a.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call{Method: r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]}
		if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err != nil {
				return
			}
			_ = json.Unmarshal(body, &c)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if !answer(w, r, c) {
			h.ServeHTTP(w, r)
		}
	})
}

// on is between for some methods; its answers are event streams where the client asks for one, else JSON. Tasks whose id begins with t, as no
// honest one's does, are at work, so that a peer that streams about them tells no lie.
func (s *stand) on(methods string, answer func(w http.ResponseWriter, r *http.Request, c call), options ...agent.Option) {
	s.URL = s.http(s.between(func(w http.ResponseWriter, r *http.Request, c call) bool {
		if !strings.Contains(" "+methods+" ", " "+c.Method+" ") {
			return atWork(w, c)
		}
		kind := "application/json"
		if strings.Contains(c.Method, "Stream") || strings.Contains(c.Method, "Subscribe") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		answer(w, r, c)
		return true
	}, options...))
}

func atWork(w http.ResponseWriter, c call) bool {
	var p struct{ ID string }
	if c.Method != "GetTask" || json.Unmarshal(c.Params, &p) != nil || !strings.HasPrefix(p.ID, "t") {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, result(c, fmt.Sprintf(`{"id":%q,"contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`, p.ID)))
	return true
}

// onCard is an honest agent but for how its card is served.
func (s *stand) onCard(answer http.HandlerFunc) {
	s.URL = s.http(s.between(func(w http.ResponseWriter, r *http.Request, _ call) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/.well-known/") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
		return true
	}))
}

// card is a well-formed card but for some members, given as JSON. {{URL}} in it is the agent's endpoint.
func (s *stand) card(members string) {
	s.onCard(func(w http.ResponseWriter, r *http.Request) {
		s.met.Add(1)
		text := `{"name":"n","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],` +
			`"defaultOutputModes":["text/plain"],"skills":[],"supportedInterfaces":[{"url":"{{URL}}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` +
			members + `}`
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "{{URL}}", "http://"+r.Host+"/a2a"))
	})
}

// result is a JSON-RPC answer.
func result(c call, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, text)
}

// event is one of a stream.
func event(c call, text string) string { return "data: " + result(c, text) + "\n\n" }

// update is a status update of 1.0.
func update(task, state string) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":%q,"contextId":"c","status":{"state":%q}}}`, task, state)
}

// hijack takes the connection of a request over.
func (s *stand) hijack(w http.ResponseWriter) (net.Conn, bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false
	}
	s.met.Add(1)
	return c, true
}

// identity is a certificate with its key, and the PEM of its CA, which is itself.
type identity struct {
	tls.Certificate
	pem []byte
}

// issue makes a self-signed certificate; change bends it.
func (s *stand) issue(change func(*x509.Certificate)) identity {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hostile"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		s.t.Fatal(err)
	}
	return identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

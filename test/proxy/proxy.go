package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request that is looked into and an answer that is rewritten.
const maxBody = 8 << 20

// Proxy is one proxy on a loopback port. It is safe for concurrent use.
type Proxy struct {
	backends []*url.URL
	address  string
	server   *http.Server
	forward  *httputil.ReverseProxy
	fault    atomic.Pointer[Fault]
	turn     atomic.Uint64
	base     context.Context
	stop     context.CancelFunc

	mu       sync.Mutex
	chance   *rand.Rand
	listener net.Listener
	open     map[net.Conn]struct{}

	names names
	past  past
	// ports are the addresses at which backends serve gRPC, where that is another port, as their cards told.
	ports sync.Map
}

// New starts a proxy on a port of its own, in front of backends given as base URLs; the first one serves unless a fault says otherwise.
func New(seed uint64, backends ...string) (*Proxy, error) {
	p := &Proxy{chance: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)), open: map[net.Conn]struct{}{}}
	p.base, p.stop = context.WithCancel(context.Background())
	p.fault.Store(&Fault{})
	for _, b := range backends {
		u, err := url.Parse(b)
		if err != nil {
			return nil, fmt.Errorf("reading the backend %q: %w", b, err)
		}
		p.backends = append(p.backends, u)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	p.address = l.Addr().String()
	p.past.proxy = p
	p.forward = &httputil.ReverseProxy{
		Rewrite: p.rewriteRequest, ModifyResponse: p.rewriteResponse, ErrorHandler: gone, FlushInterval: -1,
		Transport: newTransport(), ErrorLog: log.New(io.Discard, "", 0),
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	p.server = &http.Server{
		Handler: p, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, ConnState: p.connState,
		ConnContext: p.connContext, ErrorLog: log.New(io.Discard, "", 0),
	}
	p.listen(l)
	return p, nil
}

// newTransport speaks HTTP/1.1, and HTTP/2 without TLS where the client did.
func newTransport() http.RoundTripper {
	one := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32, IdleConnTimeout: 2 * time.Second} // Node closes idle ones after 5 s
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	two := &http.Transport{DisableCompression: true, Protocols: protocols}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.ProtoMajor == 2 {
			return two.RoundTrip(r)
		}
		return one.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// URL is where the peer is found through the proxy, with the path of its first backend and without a slash at the end.
func (p *Proxy) URL() string {
	return "http://" + p.address + strings.TrimSuffix(p.backends[0].Path, "/")
}

// Set sets the fault of the requests that begin from now on. Coming up again after Down may take a moment; an error says that the port
// was taken meanwhile.
func (p *Proxy) Set(f Fault) error {
	f.set = time.Now()
	was := p.fault.Swap(&f)
	switch {
	case f.Down && !was.Down:
		p.down()
	case !f.Down && was.Down:
		return p.up()
	}
	return nil
}

// Close ends the proxy and everything that goes through it.
func (p *Proxy) Close() {
	p.stop()
	_ = p.server.Close()
}

func (p *Proxy) listen(l net.Listener) {
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go func() { _ = p.server.Serve(&slowListener{Listener: l, p: p}) }()
}

// down closes the port, so that connecting to it is refused, and every connection there is.
func (p *Proxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
	for c := range p.open {
		_ = c.Close()
	}
}

// up listens on the same port again.
func (p *Proxy) up() error {
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", p.address); err == nil {
			p.listen(l)
			return nil
		}
		wait(p.base, 20*time.Millisecond)
	}
	return fmt.Errorf("listening on %q again: %w", p.address, err)
}

func (p *Proxy) connState(c net.Conn, s http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case http.StateNew:
		p.open[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(p.open, c)
	}
}

// slowListener holds back the first byte of new connections while the fault says so.
type slowListener struct {
	net.Listener
	p *Proxy
}

func (l *slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if d := l.p.fault.Load().DialDelay; d > 0 {
		return &slowConn{Conn: c, until: time.Now().Add(d)}, nil
	}
	return c, nil
}

type slowConn struct {
	net.Conn
	until time.Time
}

func (c *slowConn) Read(b []byte) (int, error) {
	if d := time.Until(c.until); d > 0 {
		wait(context.Background(), d)
	}
	return c.Conn.Read(b)
}

type connKey struct{}

// connContext gives every connection a replica of its own.
func (p *Proxy) connContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, p.draw(len(p.backends)))
}

// draw is a number below n by chance; happens says whether something of this probability does.
func (p *Proxy) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chance.IntN(max(n, 1))
}

func (p *Proxy) happens(share float64) bool {
	if share <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chance.Float64() < share
}

// passage is one request on its way through.
type passage struct {
	fault   Fault
	call    call
	backend *url.URL
}

type passageKey struct{}

func passageOf(r *http.Request) *passage { return r.Context().Value(passageKey{}).(*passage) }

// ServeHTTP turns a request away, answers it, or passes it on, as the fault says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pass := &passage{fault: *p.fault.Load()}
	if !pass.read(w, r) {
		return
	}
	f := pass.fault
	switch {
	case p.happens(f.Drop):
		hangUp(w)
	case f.Status != 0 && p.happens(f.Share):
		turnAway(w, f)
	case pass.call.begins() && p.happens(f.Fail):
		pass.call.throw(w, p.happens(0.5))
	default:
		pass.backend = p.choose(r, f)
		if f.Lag > 0 && pass.call.get() {
			p.past.answer(w, pass, f.Lag)
			return
		}
		p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passageKey{}, pass)))
	}
}

// read looks into the request, unless it is gRPC.
func (x *passage) read(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		x.call = readCall(r, nil)
		return true
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "reading the request", http.StatusBadRequest)
		return false
	}
	x.call = readCall(r, body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return true
}

// choose picks the replica.
func (p *Proxy) choose(r *http.Request, f Fault) *url.URL {
	n := f.Backend
	if f.moved() {
		n++
	}
	switch f.Replicas {
	case ByRequest:
		n = int(p.turn.Add(1))
	case ByConnection:
		n, _ = r.Context().Value(connKey{}).(int)
	}
	return p.backends[n%len(p.backends)]
}

func (p *Proxy) rewriteRequest(r *httputil.ProxyRequest) {
	x := passageOf(r.In)
	host := x.backend.Host
	if other, ok := p.ports.Load(host); ok && x.call.grpc {
		host = other.(string)
	}
	r.SetURL(&url.URL{Scheme: x.backend.Scheme, Host: host})
	r.Out.Header.Del("Accept-Encoding")
	r.Out.URL.Path, r.Out.URL.RawPath = p.names.original(r.Out.URL.Path), ""
	if x.call.body != nil {
		body := p.names.originalBody(x.call.body)
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
}

func (p *Proxy) rewriteResponse(r *http.Response) error {
	x := passageOf(r.Request)
	if x.fault.DateOff != 0 {
		r.Header.Set("Date", time.Now().Add(x.fault.DateOff).UTC().Format(http.TimeFormat))
	}
	switch {
	case x.call.card:
		return p.rewriteCard(r, x.backend)
	case x.call.streams(r):
		r.Body = p.spoil(r, x)
	case x.fault.Lag > 0 && x.call.send():
		return rewriteBody(r, func(body []byte) []byte { p.past.follow(body, x); return body })
	case x.fault.Rewrite != "" && x.call.body != nil:
		return rewriteBody(r, func(body []byte) []byte { return p.names.rename(body, x.call.id, x.fault.Rewrite, fresh{}) })
	}
	return nil
}

// loopback is an address on this machine, as cards here name them.
var loopback = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// rewriteCard makes the card's addresses lead back here. One of another port than the card's own is where gRPC is served.
func (p *Proxy) rewriteCard(r *http.Response, backend *url.URL) error {
	return rewriteBody(r, func(body []byte) []byte {
		return loopback.ReplaceAllFunc(body, func(address []byte) []byte {
			if string(address) != backend.Host {
				p.ports.Store(backend.Host, string(address))
			}
			return []byte(p.address)
		})
	})
}

func rewriteBody(r *http.Response, change func([]byte) []byte) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	_ = r.Body.Close()
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	body = change(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return nil
}

// gone is what comes where the peer does not answer: what a balancer says.
func gone(w http.ResponseWriter, _ *http.Request, _ error) {
	http.Error(w, "<html><body>502 Bad Gateway</body></html>", http.StatusBadGateway)
}

// hangUp closes the connection without a byte.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: a reset is the closest there is
	}
	_ = conn.Close()
}

func turnAway(w http.ResponseWriter, f Fault) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(f.Status)
	fmt.Fprintf(w, "<html><body>%d %s</body></html>", f.Status, http.StatusText(f.Status))
}

// wait waits, or says false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

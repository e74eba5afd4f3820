package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds of one delivery and of all that come at once.
const (
	maxBody        = 64 << 10
	maxHeader      = 16 << 10
	maxConnections = 512
	maxInFlight    = 128
	// unknownPerSecond is how fast paths that nobody knows may be tried.
	unknownPerSecond = 50
)

// ReceiverOptions of a Receiver.
type ReceiverOptions struct {
	// Address to listen on, such as ":8083" or "127.0.0.1:0".
	Address string
	// URL under which peers reach this address; it may have a path. Nil: http and the address itself.
	URL *url.URL
	// Self is the address by which the other replicas reach this one; the zero value: there are none.
	Self netip.Addr
	// Others yields the addresses of all replicas, which listen on the same port, and Relay passes on to them what is theirs. Nil: there
	// are none.
	Others func(context.Context) ([]netip.Addr, error)
	Relay  http.RoundTripper
	// Count, if set, is told what became of each request: "taken", "late", "too-large", "passed-on", "unknown" or "refused".
	Count func(outcome string)
}

// Receiver takes webhooks. Make it with NewReceiver, which listens already; Start serves. Safe for concurrent use.
type Receiver struct {
	base     *url.URL
	replica  string
	listener net.Listener
	server   *http.Server
	hooks    hooks
	relay    relay
	unknown  bucket
	flight   chan struct{}
	count    func(string)
}

// NewReceiver listens, so that an address in use shows at once. Close or Start releases the address.
func NewReceiver(o ReceiverOptions) (*Receiver, error) {
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for webhooks on %q: %w", o.Address, err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		_ = l.Close()
		return nil, fmt.Errorf("listening for webhooks on %q: not a TCP address", o.Address)
	}
	r := &Receiver{
		base: o.URL, replica: "local", listener: netutil.LimitListener(l, maxConnections), count: o.Count,
		relay:   relay{others: o.Others, send: o.Relay, port: at.Port},
		unknown: bucket{perSecond: unknownPerSecond}, flight: make(chan struct{}, maxInFlight),
	}
	if r.base == nil {
		r.base = &url.URL{Scheme: "http", Host: at.String()}
	}
	if o.Self.IsValid() {
		r.replica = replicaName(o.Self)
	}
	if r.count == nil {
		r.count = func(string) {}
	}
	r.server = &http.Server{
		Handler:           r,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would quote what strangers send
	}
	return r, nil
}

// NeedLeaderElection says that every replica listens: what reaches one that did not ask is passed on.
func (r *Receiver) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and returns when what is under way is answered, 5 s later at most.
func (r *Receiver) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if r.server.Shutdown(last) != nil {
			_ = r.server.Close()
		}
	})
	defer stop()
	if err := r.server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	return nil
}

// Close stops at once.
func (r *Receiver) Close() error {
	return errors.Join(r.server.Close(), ignoreClosed(r.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Base is the URL below which every webhook lies.
func (r *Receiver) Base() *url.URL {
	u := *r.base
	return &u
}

// Open makes a webhook that nobody can guess. hear is told of what is delivered there until done is called.
func (r *Receiver) Open(hear func(header http.Header, body []byte, whole bool)) (hook *url.URL, done func(), err error) {
	secret, done, err := r.hooks.add(hear, time.Now())
	if err != nil {
		return nil, nil, err
	}
	u := r.Base()
	u.Path = strings.TrimSuffix(u.Path, "/") + hookPath(r.replica, secret)
	return u, done, nil
}

func hookPath(replica, secret string) string { return "/hooks/" + replica + "/" + secret }

// splitPath reads a path of ours, whatever stands before it: a proxy in front may strip its own prefix or not.
func splitPath(path string) (replica, secret string, ok bool) {
	parts := strings.Split(path, "/")
	n := len(parts)
	if n < 4 || n > 32 || parts[n-3] != "hooks" || len(parts[n-2]) > 16 || len(parts[n-1]) != 43 {
		return "", "", false
	}
	return parts[n-2], parts[n-1], true
}

// ServeHTTP takes one delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	select {
	case r.flight <- struct{}{}:
		defer func() { <-r.flight }()
	default:
		r.answer(w, http.StatusServiceUnavailable, "refused")
		return
	}
	now := time.Now()
	replica, secret, ok := splitPath(req.URL.Path)
	if !ok {
		r.stranger(w, now)
		return
	}
	if replica != r.replica {
		r.passOn(w, req, replica, secret, now)
		return
	}
	hear, known := r.hooks.find(secret, now)
	switch {
	case !known:
		r.stranger(w, now)
	case req.Method != http.MethodPost:
		r.answer(w, http.StatusMethodNotAllowed, "refused")
	default:
		r.take(w, req, hear)
	}
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request, hear Hear) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	large := len(body) > maxBody
	switch {
	case err != nil:
		r.answer(w, http.StatusBadRequest, "refused")
		return
	case large:
		body = nil
	}
	if hear != nil {
		hear(req.Header, body, !large)
	}
	switch {
	case large:
		r.answer(w, http.StatusRequestEntityTooLarge, "too-large")
	case hear == nil:
		r.answer(w, http.StatusOK, "late")
	default:
		r.answer(w, http.StatusOK, "taken")
	}
}

// passOn is for what another replica asked for.
func (r *Receiver) passOn(w http.ResponseWriter, req *http.Request, replica, secret string, now time.Time) {
	if req.Method != http.MethodPost || req.Header.Get(hopHeader) != "" {
		r.stranger(w, now)
		return
	}
	ip, ok := r.relay.address(req.Context(), replica, now)
	if !ok {
		r.stranger(w, now)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1)) // one byte too many shows the other that it was too large
	if err != nil {
		r.answer(w, http.StatusBadRequest, "refused")
		return
	}
	r.answer(w, r.relay.pass(req, ip, replica, secret, body), "passed-on")
}

// stranger answers whoever knows no path of ours.
func (r *Receiver) stranger(w http.ResponseWriter, now time.Time) {
	w.Header().Set("Connection", "close")
	if !r.unknown.take(now) {
		r.answer(w, http.StatusTooManyRequests, "refused")
		return
	}
	r.answer(w, http.StatusNotFound, "unknown")
}

func (r *Receiver) answer(w http.ResponseWriter, status int, outcome string) {
	r.count(outcome)
	w.WriteHeader(status)
}

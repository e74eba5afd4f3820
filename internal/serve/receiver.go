package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of one delivery and of all that come at once.
const (
	maxBody     = 64 << 10
	maxInFlight = 128
	// maxRelayed of those that are in flight may be for other replicas.
	maxRelayed = maxInFlight / 2
	// bodyTimeout is how long a body may take; those of honest senders are small and come at once.
	bodyTimeout = 2 * time.Second
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
	relayed  chan struct{}
	// flights and relays are what one source has of these.
	flights, relays shares
	count           func(string)
	away            atomic.Int64
	// lastAway is when somebody was turned away last, in milliseconds; at first, when we began.
	lastAway atomic.Int64
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
		base: o.URL, replica: "local", count: o.Count,
		relay:   relay{others: o.Others, send: o.Relay, port: at.Port},
		unknown: bucket{perSecond: unknownPerSecond}, flight: make(chan struct{}, maxInFlight), relayed: make(chan struct{}, maxRelayed),
		flights: shares{most: maxInFlight / 2}, relays: shares{most: maxRelayed / 2},
	}
	r.lastAway.Store(time.Now().UnixMilli())
	r.listener = &gate{Listener: l, most: maxConnections, perSource: maxPerSource, sourceOf: networkOf, turnedAway: r.turnAway}
	if r.base == nil {
		r.base = &url.URL{Scheme: "http", Host: at.String()}
	}
	if o.Self.IsValid() {
		r.replica = replicaName(o.Self)
	}
	if r.count == nil {
		r.count = func(string) {}
	}
	r.server = Server(r)
	return r, nil
}

// NeedLeaderElection says that every replica listens: what reaches one that did not ask is passed on.
func (r *Receiver) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and returns when what is under way is answered, 5 s later at most.
func (r *Receiver) Start(ctx context.Context) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if r.server.Shutdown(last) != nil {
			_ = r.server.Close()
		}
	})
	err := r.server.Serve(r.listener)
	if !stop() {
		<-ended // Serve returns as soon as the end has begun
	}
	if !errors.Is(err, http.ErrServerClosed) {
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

// turnAway counts what was refused before it was known what it was about.
func (r *Receiver) turnAway() {
	r.away.Add(1)
	r.lastAway.Store(time.Now().UnixMilli())
	r.count("refused")
}

// TurnedAway is how many connections and requests were refused here so far that may have been anybody's: there were too many at once, or the
// replica that they were for could not be found or reached. Refused deliveries of a webhook that is known are not among them; whoever opened it
// hears of those. TurnedAwayElsewhere tells of other replicas.
func (r *Receiver) TurnedAway() int64 { return r.away.Load() }

// Base is the URL below which every webhook lies.
func (r *Receiver) Base() *url.URL {
	u := *r.base
	return &u
}

// Open makes a webhook that nobody can guess. hear is told of what is delivered there until done is called, with its body or, where that was
// too large, did not arrive, or came when too much was under way, without. done tells it of what is under way, without a body, and returns.
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
	now := time.Now()
	if req.URL.Path == quietPath {
		r.quiet(w, req, now)
		return
	}
	replica, secret, ok := splitPath(req.URL.Path)
	if !ok {
		r.stranger(w, now)
		return
	}
	if replica != r.replica {
		r.passOn(w, req, replica, secret, now)
		return
	}
	if req.Method != http.MethodPost {
		if !r.hooks.knows(secret, now) {
			r.stranger(w, now)
			return
		}
		r.answer(w, http.StatusMethodNotAllowed, "refused")
		return
	}
	d, known := r.hooks.find(secret, req.Header, now)
	if !known {
		r.stranger(w, now)
		return
	}
	if d.done != nil {
		defer d.done()
	}
	r.deliver(w, req, d)
}

// deliver takes a delivery of a webhook that is known. Nobody waits for what comes after its probe, and it holds no place.
func (r *Receiver) deliver(w http.ResponseWriter, req *http.Request, d delivery) {
	if d.late {
		w.Header().Set("Connection", "close") // its body is not read
		r.answer(w, http.StatusOK, "late")
		return
	}
	leave := func() {}
	if d.done != nil {
		leave = begin(r.flight, &r.flights, req)
	}
	if d.done == nil || leave == nil {
		// Its probe hears that there was a call, so that whoever floods us silences nobody.
		tell(d.hear, req.Header, nil)
		r.busy(w)
		return
	}
	defer leave()
	r.take(w, req, d.hear)
}

// begin takes a place, if there is one and its source has not its share already, and returns how to leave it.
func begin(places chan struct{}, of *shares, req *http.Request) (leave func()) {
	source := sourceOfRequest(req)
	if !of.enter(source) {
		return nil
	}
	select {
	case places <- struct{}{}:
		return func() {
			<-places
			of.leave(source)
		}
	default:
		of.leave(source)
		return nil
	}
}

// tell tells a probe that is not over of a delivery; a body of nil is one that was not read.
func tell(hear Hear, header http.Header, body []byte) {
	if hear != nil {
		hear(header, body, body != nil)
	}
}

// read reads a body, and one byte more than it may have at most.
func read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err == nil {
		_ = c.SetReadDeadline(time.Time{})
	}
	return body, err
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request, hear Hear) {
	body, err := read(w, req)
	large := len(body) > maxBody
	torn := err != nil || req.Header.Get(hopHeader) == hopTorn
	if torn || large {
		body = nil
	}
	tell(hear, req.Header, body)
	switch {
	case torn:
		r.answer(w, http.StatusBadRequest, "refused")
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
	ip, f := r.relay.address(req.Context(), replica, now)
	if f == replicaUnsure {
		r.turnAway()
		r.reply(w, http.StatusServiceUnavailable)
		return
	}
	if f == replicaNone {
		r.stranger(w, now)
		return
	}
	// The body first: whoever sends it slowly, with whatever secret, holds a connection and no place.
	body, err := read(w, req)
	hop := hopWhole
	if err != nil {
		body, hop = nil, hopTorn // its probe hears that there was a call
	}
	leave := begin(r.relayed, &r.relays, req)
	if leave == nil {
		r.turnAway()
		r.reply(w, http.StatusServiceUnavailable)
		return
	}
	defer leave()
	status := r.relay.pass(req, ip, hookPath(replica, secret), hop, body)
	if status == http.StatusBadGateway { // also if that replica is too busy
		r.turnAway()
		r.reply(w, status)
		return
	}
	r.answer(w, status, "passed-on")
}

// stranger answers whoever knows no path of ours.
func (r *Receiver) stranger(w http.ResponseWriter, now time.Time) {
	if !r.unknown.take(now) {
		r.answer(w, http.StatusTooManyRequests, "refused")
		return
	}
	r.answer(w, http.StatusNotFound, "unknown")
}

// busy answers what comes while too much is under way; honest senders try again later.
func (r *Receiver) busy(w http.ResponseWriter) { r.answer(w, http.StatusServiceUnavailable, "refused") }

func (r *Receiver) answer(w http.ResponseWriter, status int, outcome string) {
	r.count(outcome)
	r.reply(w, status)
}

// reply hangs up after all that is no delivery, so that no body is waited for.
func (r *Receiver) reply(w http.ResponseWriter, status int) {
	if status != http.StatusOK {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
}

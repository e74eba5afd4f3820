package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// hopHeader marks what was passed on once, and how.
const (
	hopHeader = "X-Agentpeer-Hop"
	// hopWhole marks what was passed on as it came, hopTorn what came without the end of its body.
	hopWhole = "1"
	hopTorn  = "torn"
)

// maxReplicas that are looked among.
const maxReplicas = 64

// Bounds of what replicas ask for, whoever made them ask.
const (
	lookupTimeout = 2 * time.Second
	passTimeout   = 5 * time.Second
	quietTimeout  = 3 * time.Second
)

// relay passes webhooks on to the replica that their path names.
type relay struct {
	// others yields the addresses of all replicas; nil: there are none.
	others func(context.Context) ([]netip.Addr, error)
	port   int
	send   http.RoundTripper

	flight singleflight.Group
	mu     sync.Mutex
	known  map[string]netip.Addr
	// looked is when the addresses were found, and failed when they could not be, both last.
	looked, failed time.Time
}

// replicaName is what paths call a replica: a hash of its address, which no path can turn back into one.
func replicaName(ip netip.Addr) string {
	h := sha256.Sum256([]byte("agentpeer replica " + ip.Unmap().WithZone("").String()))
	return hex.EncodeToString(h[:8])
}

// lookEvery bounds how often the replicas' addresses are looked up, and lookAgain how long they are good for: the address of a pod that is
// gone may become anybody's.
const (
	lookEvery = time.Second
	lookAgain = 10 * time.Second
)

// found is what became of the search for a replica.
type found int

const (
	// replicaUnsure: its address could not be looked up.
	replicaUnsure found = iota
	replicaNone
	replicaFound
)

// address finds the replica of a name among those that there are. A look-up is everybody's: no caller who hangs up ends it, and whoever needs
// what it finds waits for it.
func (r *relay) address(ctx context.Context, name string, now time.Time) (netip.Addr, found) {
	if r.others == nil || r.send == nil {
		return netip.Addr{}, replicaNone
	}
	if ip, f, fresh := r.remembered(name, now); fresh {
		return ip, f
	}
	found := r.flight.DoChan("", func() (_ any, err error) {
		defer func() {
			if recover() != nil { // nobody is above this goroutine
				err = errLookup
			}
		}()
		return nil, r.lookUp(context.WithoutCancel(ctx))
	})
	select {
	case l := <-found:
		if l.Err != nil {
			return netip.Addr{}, replicaUnsure
		}
	case <-ctx.Done():
		return netip.Addr{}, replicaUnsure
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ip, ok := r.known[name]; ok {
		return ip, replicaFound
	}
	return netip.Addr{}, replicaNone
}

var errLookup = errors.New("looking up the replicas: a fault of ours")

// remembered answers from the last look-up, where that is fresh enough or failed a moment ago.
func (r *relay) remembered(name string, now time.Time) (ip netip.Addr, f found, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ip, ok := r.known[name]
	switch age := now.Sub(r.looked); {
	case ok && age < lookAgain:
		return ip, replicaFound, true
	case age < lookEvery:
		return netip.Addr{}, replicaNone, true
	}
	return netip.Addr{}, replicaUnsure, now.Sub(r.failed) < lookEvery
}

// lookUp finds the addresses of all replicas. What fails is no look-up, and is tried again soon.
func (r *relay) lookUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := r.others(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed = time.Now()
		return err
	}
	r.known, r.looked = map[string]netip.Addr{}, time.Now()
	for _, a := range list[:min(len(list), maxReplicas)] {
		r.known[replicaName(a)] = a
	}
	return nil
}

// statuses that a replica answers with and that may be passed back.
var statuses = []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

// pass sends a webhook on to a replica and returns the status to answer with. Whoever called may have hung up, for some do not wait for answers.
func (r *relay) pass(req *http.Request, ip netip.Addr, path, hop string, body []byte) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), passTimeout)
	defer cancel()
	status, err := r.post(ctx, ip, path, hop, req.Header, body)
	if err != nil || !slices.Contains(statuses, status) {
		return http.StatusBadGateway
	}
	return status
}

func (r *relay) post(ctx context.Context, ip netip.Addr, path, hop string, header http.Header, body []byte) (status int, err error) {
	u := url.URL{Scheme: "http", Host: netip.AddrPortFrom(ip, uint16(r.port)).String(), Path: path}
	on, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, values := range header {
		if !slices.Contains(hopByHop, name) {
			on.Header[name] = values
		}
	}
	on.Header.Set(hopHeader, hop)
	answer, err := r.send.RoundTrip(on)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	return answer.StatusCode, nil
}

// hopByHop are the headers that are about one connection.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect"}

// quietPath is where replicas ask each other whether they turned nobody away, and sinceHeader says for how long, in milliseconds.
const (
	quietPath   = "/replicas/quiet"
	sinceHeader = "X-Agentpeer-Since"
)

// TurnedAwayElsewhere tells whether another replica turned somebody away since then who may have been anybody, or does not say that it did not:
// it may be new, gone or too busy. The replicas are asked at once, within 3 s. Where there are no others it is false.
func (r *Receiver) TurnedAwayElsewhere(ctx context.Context, since time.Time) bool {
	if r.relay.others == nil || r.relay.send == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	list, err := r.relay.others(ctx)
	if err != nil || len(list) > maxReplicas {
		return true
	}
	header := http.Header{sinceHeader: {strconv.FormatInt(time.Since(since).Milliseconds()+1, 10)}}
	asked, away := 0, make(chan bool, len(list))
	for _, ip := range list {
		if replicaName(ip) == r.replica {
			continue
		}
		asked++
		go func() {
			status, err := r.relay.post(ctx, ip, quietPath, hopWhole, header, nil)
			away <- err != nil || status != http.StatusOK
		}()
	}
	any := false
	for range asked {
		any = <-away || any
	}
	return any
}

// quiet answers a replica that asks; to all others there is nothing here.
func (r *Receiver) quiet(w http.ResponseWriter, req *http.Request, now time.Time) {
	ms, err := strconv.ParseInt(req.Header.Get(sinceHeader), 10, 64)
	from, errFrom := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil || errFrom != nil || ms < 0 || req.Method != http.MethodPost {
		r.stranger(w, now)
		return
	}
	if _, f := r.relay.address(req.Context(), replicaName(from.Addr()), now); f != replicaFound {
		r.stranger(w, now)
		return
	}
	// What was before we were there nobody can say.
	if last := r.lastAway.Load(); now.Sub(time.UnixMilli(last)).Milliseconds() <= ms {
		r.answer(w, http.StatusConflict, "unknown")
		return
	}
	r.answer(w, http.StatusOK, "passed-on")
}

package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hopHeader marks what was passed on once.
const hopHeader = "X-Agentpeer-Hop"

// maxReplicas that are looked among.
const maxReplicas = 64

// relay passes webhooks on to the replica that their path names.
type relay struct {
	// others yields the addresses of all replicas; nil: there are none.
	others func(context.Context) ([]netip.Addr, error)
	port   int
	send   http.RoundTripper

	mu     sync.Mutex
	known  map[string]netip.Addr
	looked time.Time
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

// address finds the replica of a name among those that there are.
func (r *relay) address(ctx context.Context, name string, now time.Time) (netip.Addr, bool) {
	if r.others == nil || r.send == nil {
		return netip.Addr{}, false
	}
	r.mu.Lock()
	ip, ok := r.known[name]
	age := now.Sub(r.looked)
	look := age >= lookAgain || !ok && age >= lookEvery
	if look {
		r.looked = now
	}
	r.mu.Unlock()
	if !look {
		return ip, ok
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	list, err := r.others(ctx)
	if err != nil {
		return ip, ok
	}
	known := map[string]netip.Addr{}
	for _, a := range list[:min(len(list), maxReplicas)] {
		known[replicaName(a)] = a
	}
	r.mu.Lock()
	r.known = known
	r.mu.Unlock()
	ip, ok = known[name]
	return ip, ok
}

// statuses that a replica answers with and that may be passed back.
var statuses = []int{http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

// pass sends a webhook on to a replica and returns the status to answer with.
func (r *relay) pass(req *http.Request, ip netip.Addr, replica, secret string, body []byte) int {
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	u := url.URL{Scheme: "http", Host: netip.AddrPortFrom(ip, uint16(r.port)).String(), Path: hookPath(replica, secret)}
	on, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway
	}
	for name, values := range req.Header {
		if !slices.Contains(hopByHop, name) {
			on.Header[name] = values
		}
	}
	on.Header.Set(hopHeader, strconv.Itoa(1))
	answer, err := r.send.RoundTrip(on)
	if err != nil {
		return http.StatusBadGateway
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	if !slices.Contains(statuses, answer.StatusCode) {
		return http.StatusBadGateway
	}
	return answer.StatusCode
}

// hopByHop are the headers that are about one connection.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect"}

package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds of the webhooks that are open at once.
const (
	maxHooks = 4096
	// maxDeliveries that one webhook tells its probe of; more are answered and dropped. Some agents call about every word they write.
	maxDeliveries = 2048
	// maxAtOnce deliveries of one webhook are taken at the same time, so that no one of them takes every place.
	maxAtOnce = 16
	// hookLife is how long a webhook lives that nobody closes.
	hookLife = 30 * time.Minute
	// hookLinger is how long a closed one is still answered with 200: its peer has done nothing wrong.
	hookLinger = 2 * time.Minute
)

// Hear is told of one delivery: its headers, and its body. whole is false, and body nil, where the body was larger than is read, did not arrive,
// or was not waited for. It may be called from several goroutines and must be quick: the peer waits for its answer.
type Hear = func(header http.Header, body []byte, whole bool)

// hooks are the webhooks that are open. They are kept by the hash of their secret, so that how long a look-up takes tells nothing.
type hooks struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*hook
}

type hook struct {
	hear    Hear
	closed  bool // its probe is over
	expires time.Time
	left    int
	now     int // deliveries under way
}

var errTooManyHooks = errors.New("opening a webhook: too many are open")

// add opens a webhook and returns its secret, and how to close it.
func (h *hooks) add(hear Hear, now time.Time) (secret string, done func(), err error) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	secret = base64.RawURLEncoding.EncodeToString(b[:])
	key := sha256.Sum256([]byte(secret))
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, old := range h.open {
		if now.After(old.expires) {
			delete(h.open, k)
		}
	}
	if len(h.open) >= maxHooks {
		return "", nil, errTooManyHooks
	}
	if h.open == nil {
		h.open = map[[sha256.Size]byte]*hook{}
	}
	one := &hook{hear: hear, expires: now.Add(hookLife), left: maxDeliveries}
	h.open[key] = one
	return secret, func() { h.close(one) }, nil
}

func (h *hooks) close(one *hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.hear, one.closed = nil, true
	if linger := time.Now().Add(hookLinger); linger.Before(one.expires) {
		one.expires = linger
	}
}

// delivery is one that has begun.
type delivery struct {
	// hear is whom to tell; nil if its probe is over or has heard enough.
	hear Hear
	// late: its probe is over.
	late bool
	// done ends the delivery; it is nil if it is late, or as many are under way as may be.
	done func()
}

// find begins a delivery, if the secret is known.
func (h *hooks) find(secret string, now time.Time) (d delivery, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.known(secret, now)
	if one == nil {
		return delivery{}, false
	}
	if one.closed {
		return delivery{late: true}, true
	}
	if one.left > 0 {
		one.left--
		d.hear = one.hear
	}
	if one.now < maxAtOnce {
		one.now++
		d.done = func() { h.end(one) }
	}
	return d, true
}

func (h *hooks) end(one *hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.now--
}

func (h *hooks) knows(secret string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known(secret, now) != nil
}

// known needs the lock.
func (h *hooks) known(secret string, now time.Time) *hook {
	one := h.open[sha256.Sum256([]byte(secret))]
	if one == nil || now.After(one.expires) {
		return nil
	}
	return one
}

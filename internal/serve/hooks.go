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
	// coming are those of which its probe was not told yet.
	coming map[*coming]struct{}
}

// coming is a delivery whose body is being read.
type coming struct{ header http.Header }

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

// close tells of what is still coming as of calls that were not waited for: whoever is about to say something is not silent.
func (h *hooks) close(one *hook) {
	h.mu.Lock()
	hear, cut := one.hear, one.coming
	one.hear, one.coming, one.closed = nil, nil, true
	if linger := time.Now().Add(hookLinger); linger.Before(one.expires) {
		one.expires = linger
	}
	h.mu.Unlock()
	for c := range cut {
		hear(c.header, nil, false)
	}
}

// expect is told of a delivery that begins, and returns whom to tell when it is there. It needs the lock.
func (h *hooks) expect(one *hook, header http.Header) Hear {
	c := &coming{header}
	if one.coming == nil {
		one.coming = map[*coming]struct{}{}
	}
	one.coming[c] = struct{}{}
	return func(header http.Header, body []byte, whole bool) {
		h.mu.Lock()
		hear := one.hear
		delete(one.coming, c)
		h.mu.Unlock()
		if hear != nil {
			hear(header, body, whole)
		}
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

// find begins a delivery with a header, if the secret is known. Where somebody is to be told of it, that must be done in the end.
func (h *hooks) find(secret string, header http.Header, now time.Time) (d delivery, known bool) {
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
		d.hear = h.expect(one, header)
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

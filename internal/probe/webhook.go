package probe

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// delivery is one call of a webhook. It holds no text of the peer but a task id.
type delivery struct {
	// At counts from when the task's message was sent; it is negative for what came before.
	At     time.Duration
	Kind   wire.Kind
	TaskID string
	State  lifecycle.State
	// Shape: the body has the shape of another generation. Unread: it is too large, or nothing of A2A.
	Shape, Unread bool
	// Token and Auth are what the headers say of the two secrets that the webhook was registered with.
	Token, Auth secret
}

// secret says what became of one secret of a webhook.
type secret string

const (
	secretAbsent secret = "absent"
	secretRight  secret = "right"
	secretWrong  secret = "wrong"
)

// proven: it knows one of the secrets. Neither is needed: the path itself is known to nobody else.
func (d delivery) proven() bool { return d.Token == secretRight || d.Auth == secretRight }

// forged: it carries secrets, and none of ours.
func (d delivery) forged() bool {
	return !d.proven() && (d.Token == secretWrong || d.Auth == secretWrong)
}

// maxDeliveries that are written down of one webhook; of what comes after only the end of the task tells anything new.
const maxDeliveries = 128

// webhook is one webhook that was opened for one task. Safe for concurrent use.
type webhook struct {
	config wire.PushConfig
	done   func()

	generation wire.Generation
	identity   wire.Identity
	ids        *identities
	mu         sync.Mutex
	list       []call
}

// call is a delivery with the time it came and the correlation that it named its task by.
type call struct {
	at          time.Time
	correlation string
	delivery
}

// openWebhook makes a webhook with secrets of its own: a token and credentials, so that either proves where a call comes from, and the
// credentials can be graded by themselves (wire reference 7.4).
func (s *session) openWebhook() (*webhook, error) {
	h := &webhook{
		generation: s.generation(), identity: s.job.Target.Identity, ids: s.ids,
		config: wire.PushConfig{Token: newSecret(), Scheme: "Bearer", Credentials: newSecret()},
	}
	u, done, err := s.env.Receiver.Open(h.hear)
	if err != nil {
		return nil, err
	}
	h.config.URL, h.done = u.String(), done
	return h, nil
}

// newSecret is 256 random bits in letters that any header can hold.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hear writes one delivery down.
func (h *webhook) hear(header http.Header, body []byte, whole bool) {
	d, correlation := delivery{Kind: wire.KindOther, Unread: true}, ""
	if whole {
		e := wire.ReadWebhook(body, h.generation, header, h.identity)
		correlation = e.Correlation
		d.Kind, d.TaskID, d.Shape = e.Kind, e.TaskID, e.Has(wire.ProblemShape)
		d.Unread = e.Kind == wire.KindOther
		if e.Kind == wire.KindTask || e.Kind == wire.KindStatus {
			d.State = stateOf(e.RawState)
		}
	}
	d.Token, d.Auth = h.secrets(header)
	h.mu.Lock()
	defer h.mu.Unlock()
	c := call{at: time.Now(), correlation: correlation, delivery: d}
	switch {
	case len(h.list) < maxDeliveries:
		h.list = append(h.list, c)
	case settled(d.State):
		h.list[maxDeliveries-1] = c // an agent that calls about every word ends its task all the same
	}
}

// tokenHeaders are the names that the token goes by; no generation fixed one.
var tokenHeaders = []string{"X-A2A-Notification-Token", "A2A-Notification-Token"}

// secrets compares in constant time. A peer may also send the token where credentials belong.
func (h *webhook) secrets(header http.Header) (token, auth secret) {
	token, auth = secretAbsent, secretAbsent
	for _, name := range tokenHeaders {
		for _, v := range header.Values(name) {
			if token != secretRight {
				token = compare(v, h.config.Token)
			}
		}
	}
	for _, v := range header.Values("Authorization") {
		scheme, given, _ := strings.Cut(strings.TrimSpace(v), " ")
		given = strings.TrimSpace(given)
		switch {
		case auth == secretRight:
		case strings.EqualFold(scheme, h.config.Scheme) && compare(given, h.config.Credentials) == secretRight:
			auth = secretRight
		case compare(given, h.config.Token) == secretRight || compare(v, h.config.Token) == secretRight:
			token = secretRight
		default:
			auth = secretWrong
		}
	}
	return token, auth
}

func compare(given, want string) secret {
	if subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1 {
		return secretRight
	}
	return secretWrong
}

// drain takes out what came so far.
func (h *webhook) drain() []call {
	h.mu.Lock()
	defer h.mu.Unlock()
	came := h.list
	h.list = nil
	return came
}

// deliveries are those so far, counted from began. Their tasks are named when they are looked at: what comes before the answer that began
// the task must not be the first to name it.
func (h *webhook) deliveries(began time.Time) []delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]delivery, 0, len(h.list))
	for _, c := range h.list {
		c.At = c.at.Sub(began)
		if !c.Unread {
			c.TaskID = h.ids.name(c.TaskID, c.correlation)
		}
		out = append(out, c.delivery)
	}
	return out
}

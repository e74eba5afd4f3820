package client

import (
	"context"
	"crypto/tls"
	"errors"
	"mime"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// told remembers what was said of a peer about one task: each capability once, and nothing good after something bad.
type told struct {
	mu   sync.Mutex
	list map[v1alpha1.CapabilityName]bool // true: charged
}

// once says that nothing was said yet, and notes that now it is.
func (t *told) once(c v1alpha1.CapabilityName, charge bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	charged, said := t.list[c]
	if said && (charged || !charge) {
		return false
	}
	if t.list == nil {
		t.list = map[v1alpha1.CapabilityName]bool{}
	}
	t.list[c] = charge
	return true
}

func (t *told) charged(c v1alpha1.CapabilityName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[c]
}

// maxObserved bounds the transitions that a charge names.
const maxObserved = 16

// charge tells the peer's capabilities of a divergence, once per task, and writes it into the ledger.
func (t *Task) charge(a *attempt, c v1alpha1.CapabilityName, reason v1alpha1.Reason, basis lifecycle.Basis, cause error) {
	_ = t.charged(a, c, reason, basis, cause)
}

// charged is charge for callers who give the task up with the error.
func (t *Task) charged(a *attempt, c v1alpha1.CapabilityName, reason v1alpha1.Reason, basis lifecycle.Basis, cause error) error {
	err := &ChargedError{Capability: c, Reason: reason, Basis: basis, Err: cause}
	if a.named() {
		err.TaskID = string(a.id())
	}
	for _, tr := range a.obs.History() {
		err.Observed = append(err.Observed, tr.String())
	}
	if n := len(err.Observed); n > maxObserved {
		err.Observed = slices.Delete(err.Observed, maxObserved/2, n-maxObserved/2)
	}
	if basis == "" || !t.told.once(c, true) {
		return err
	}
	t.ledger.update(t.base, a.entry, func(e *Entry) {
		if e.Divergence == nil || e.Divergence.Capability != c || e.Divergence.Reason != reason {
			e.Divergence = &EntryDivergence{Text: chargeText(err), Basis: basis, Reason: reason, Capability: c}
		}
	})
	if t.tasks.Peers != nil {
		t.tasks.Peers.Demote(t.peer, c, err)
	}
	return err
}

// chargeText is the charge in our own words: what an A2A client wraps is text of the peer.
func chargeText(e *ChargedError) string {
	var d *AgentCardDivergenceError
	if errors.As(e.Err, &d) {
		return e.Error()
	}
	return (&ChargedError{Capability: e.Capability, Reason: e.Reason}).Error()
}

// honor tells of good work, once per task.
func (t *Task) honor(c v1alpha1.CapabilityName) {
	if t.told.once(c, false) && t.tasks.Peers != nil {
		t.tasks.Peers.Honored(t.peer, c)
	}
}

// declares says that the card is known to declare the media type of every part of the request.
func (t *Task) declares(req *a2a.SendMessageRequest) bool {
	if len(t.o.InputModes) == 0 || req == nil {
		return false
	}
	declared := map[string]bool{}
	for _, m := range t.o.InputModes {
		declared[mediaType(m)] = true
	}
	for _, p := range req.Message.Parts {
		if p == nil || !declared[modeOf(p)] {
			return false
		}
	}
	return true
}

// modeOf a part: what it says, or else what its kind implies.
func modeOf(p *a2a.Part) string {
	if p.MediaType != "" {
		return mediaType(p.MediaType)
	}
	switch p.Content.(type) {
	case a2a.Text:
		return "text/plain"
	case a2a.Data:
		return "application/json"
	}
	return ""
}

func mediaType(s string) string {
	if m, _, err := mime.ParseMediaType(s); err == nil {
		return m
	}
	return strings.ToLower(s)
}

// answeredErrors are what an A2A client makes of an error that the agent itself answered with: the message was not taken.
var answeredErrors = []error{
	a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrInternalError, a2a.ErrTaskNotFound,
	a2a.ErrTaskNotCancelable, a2a.ErrPushNotificationNotSupported, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType,
	a2a.ErrExtendedCardNotConfigured, a2a.ErrExtensionSupportRequired, a2a.ErrVersionNotSupported, a2a.ErrUnauthenticated, a2a.ErrUnauthorized,
}

// ambiguous says that a message which ended in this error may have begun a task all the same: it went out, and no answer of the agent came.
func ambiguous(err error) bool {
	if slices.ContainsFunc(answeredErrors, func(known error) bool { return errors.Is(err, known) }) {
		return false
	}
	var op *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op) && op.Op == "dial", errors.As(err, &dns), errors.As(err, &certificate):
		return false
	// What a2a-go says of HTTP statuses: 4xx and redirects did not reach the agent, or it would not hear us.
	case strings.Contains(err.Error(), "unexpected HTTP status: 3"), strings.Contains(err.Error(), "unexpected HTTP status: 4"):
		return false
	}
	return true
}

// ledger is the field, or one in memory.
func (t *Tasks) ledger(ctx context.Context) (*Ledger, error) {
	if t.Ledger != nil {
		return t.Ledger, nil
	}
	t.memory.once.Do(func() { t.memory.ledger, t.memory.err = NewLedger(ctx, NewMemoryStore()) })
	return t.memory.ledger, t.memory.err
}

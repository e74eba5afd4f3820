package serve

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// problem is an answer that is none of what was asked for (RFC 9457). Its detail says how to mend it; nothing of a peer's stands in it.
type problem struct {
	Title  string          `json:"title"`
	Status int             `json:"status"`
	Detail string          `json:"detail"`
	Reason v1alpha1.Reason `json:"reason,omitempty"`

	retryAfter time.Duration
	header     http.Header
}

func newProblem(status int, detail string) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

func (p *problem) answer(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	if p.retryAfter > 0 {
		seconds := int64((p.retryAfter + time.Second - 1) / time.Second)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // texts and a number always marshal
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // whoever asked is gone
}

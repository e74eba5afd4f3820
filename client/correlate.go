package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// CorrelateBy makes the response header that tells tasks apart visible to Tasks, where spec.taskIdentity of the AgentPeer has source
// Header: an A2A client shows no headers. Use it as the transport of the A2A client's http.Client. A nil base is http.DefaultTransport.
func CorrelateBy(header string, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return correlator{header: header, base: base}
}

type correlator struct {
	header string
	base   http.RoundTripper
}

func (c correlator) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.base.RoundTrip(r)
	if held, _ := r.Context().Value(heldKey{}).(*held); held != nil && err == nil {
		// A header that comes twice says nothing.
		if values := response.Header.Values(c.header); len(values) == 1 {
			held.set(values[0])
		}
	}
	return response, err
}

// held is the correlation that the header of one answer carried.
type held struct {
	mu   sync.Mutex
	text string
}

type heldKey struct{}

// holding makes a context in which a correlator leaves what it sees.
func holding(ctx context.Context) (context.Context, *held) {
	h := &held{}
	return context.WithValue(ctx, heldKey{}, h), h
}

func (h *held) set(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = trimmed(s)
}

func (h *held) get() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text
}

// correlation of an event, as the peer's identity says.
func correlation(by *v1alpha1.TaskIdentity, ev a2a.Event, h *held) string {
	if by == nil {
		return ""
	}
	switch by.Source {
	case v1alpha1.IdentityHeader:
		return h.get()
	case v1alpha1.IdentityMetadata:
		if c := word(ev.Meta()[by.Key]); c != "" {
			return c
		}
		var status a2a.TaskStatus
		switch e := ev.(type) {
		case *a2a.Task:
			status = e.Status
		case *a2a.TaskStatusUpdateEvent:
			status = e.Status
		}
		if status.Message != nil {
			return word(status.Message.Metadata[by.Key])
		}
	}
	return ""
}

// word of a value that is a string or a number.
func word(v any) string {
	switch x := v.(type) {
	case string:
		return trimmed(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}

func trimmed(s string) string {
	if s = strings.TrimSpace(s); len(s) > lifecycle.MaxCorrelation {
		return ""
	}
	return strings.Clone(s)
}

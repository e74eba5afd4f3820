package probe

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// selfCalls is how often we call our own webhook, each time on a new connection: it may lead to one replica of several, and each has to
// get it to us.
const selfCalls = 3

// selfCall says whether a webhook of ours reaches us by the URL that peers are given. It is the control of every silence: the fault may be
// before our own door.
type selfCall struct {
	// Made is false where nobody needed to know.
	Made bool
	// Reached: every call came to us. Whole: with its headers; something on the way may take Authorization out.
	Reached, Whole bool
}

func (c selfCall) good() bool { return c.Made && c.Reached && c.Whole }

// callSelf calls a webhook of its own, so that nothing mixes with what peers deliver.
func (s *session) callSelf(ctx context.Context) selfCall {
	c := selfCall{Made: true}
	h, err := s.openWebhook()
	if err != nil {
		return c
	}
	defer h.done()
	base := s.env.Receiver.Base()
	client, err := wire.NewClient(wire.Options{AllowHosts: []string{hostPort(base)}, UserAgent: s.env.UserAgent})
	if err != nil {
		return c
	}
	defer client.Close()
	ctx, cancel := s.unary(ctx)
	defer cancel()
	u, err := base.Parse(h.config.URL)
	if err != nil {
		return c
	}
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {h.config.Scheme + " " + h.config.Credentials}}
	for _, name := range tokenHeaders {
		header.Set(name, h.config.Token)
	}
	for range selfCalls {
		fresh := client.Fresh()
		status, err := fresh.Post(ctx, u, header, []byte(`{"statusUpdate":{"taskId":"self","status":{"state":"TASK_STATE_WORKING"}}}`))
		fresh.Close()
		if err != nil || status < 200 || status > 299 {
			return c
		}
	}
	came := h.deliveries(time.Now())
	c.Reached = len(came) >= selfCalls
	c.Whole = c.Reached
	for _, d := range came {
		c.Whole = c.Whole && d.Token == secretRight && d.Auth == secretRight && !d.Unread
	}
	return c
}

// hostPort of a URL, with the scheme's own port where it names none.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Post sends a body as a peer's webhook sender would and returns the HTTP status; the answer's body is thrown away, and no redirect is
// followed. It is how a prober makes sure that its own webhook can be reached. The error is an *Error.
func (c *Client) Post(ctx context.Context, u *url.URL, header http.Header, body []byte) (status int, err error) {
	r, err := c.impl.once(ctx, ask{method: http.MethodPost, url: u, header: header, body: body})
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 4<<10))
	r.record.done("", nil)
	return r.StatusCode, nil
}

// NewRelay is what one replica of ours passes a webhook on to another with: plain HTTP/1 within the cluster, to any address but
// link-local and cloud metadata. Whom to dial is the caller's to know; nothing that a peer sent may name it.
func NewRelay() http.RoundTripper {
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	g := &guard{egress: &Egress{allow: everything, slots: newSlots(connectionsPerAddress)}}
	t := newTransport(g, nil, 16<<10)
	t.Protocols.SetHTTP2(false)
	t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = 1, 5*time.Second
	return t
}

// Public tells whether a host is on the public internet: every address that it has is one that a Client would dial with nothing opened.
// A name that does not resolve is not.
func Public(ctx context.Context, host string) bool {
	g := &guard{egress: strictest}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range list {
		if g.check(netip.AddrPortFrom(ip, 443), false) != nil {
			return false
		}
	}
	return err == nil && len(list) > 0
}

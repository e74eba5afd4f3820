package wire

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Options of a Client.
type Options struct {
	// Allow lists address ranges that may be dialled although they are private or loopback. Link-local and cloud
	// metadata addresses stay refused unless a range names them exactly.
	Allow []netip.Prefix
	// AllowHosts are host:port pairs that may be dialled whatever their address (a serviceRef, or what the user of the
	// CLI typed); link-local and cloud metadata stay refused.
	AllowHosts  []string
	Credentials Credentials
	// UserAgent of every request; empty means "agentpeer".
	UserAgent string
	Limits    Limits
	// RootCAs in PEM, added to the system's; nil: system only.
	RootCAs []byte
	// Trace, if set, is told of every exchange. It may be called from several goroutines.
	Trace func(Exchange)
	// Question, if set, names what a request is for as it is sent, for the trace.
	Question func() string
}

// Client talks to one peer. Safe for concurrent use; Close when the round is over.
type Client struct{ impl *client }

type client struct {
	transport *http.Transport
	// http2 speaks nothing else, without TLS too; gRPC needs it.
	http2    *http.Transport
	guard    *guard
	roots    *x509.CertPool
	secret   *secret
	agent    string
	limits   Limits
	trace    func(Exchange)
	question func() string
}

// NewClient makes a client with its own connection pool. It opens nothing yet, and costs little enough to be done for
// every round. It fails on an invalid prefix, a host without port, PEM data without a certificate and an unsendable
// credential.
func NewClient(o Options) (*Client, error) {
	g, err := newGuard(o.Allow, o.AllowHosts)
	if err != nil {
		return nil, err
	}
	s, err := newSecret(o.Credentials)
	if err != nil {
		return nil, err
	}
	roots, err := rootsWith(o.RootCAs)
	if err != nil {
		return nil, err
	}
	c := &client{guard: g, roots: roots, secret: s, agent: o.UserAgent, limits: o.Limits.withDefaults(), trace: o.Trace, question: o.Question}
	if c.agent == "" {
		c.agent = "agentpeer"
	}
	c.connect()
	return &Client{impl: c}, nil
}

// Fresh returns a client of the same options with a pool of its own, so that the next request uses a new connection.
// The old client is left as it is; both are to be closed.
func (c *Client) Fresh() *Client {
	fresh := *c.impl
	fresh.connect()
	return &Client{impl: &fresh}
}

// connect makes the pools of connections.
func (c *client) connect() {
	c.transport = newTransport(c.guard, c.roots, c.limits.HeaderBytes)
	c.http2 = newTransport(c.guard, c.roots, c.limits.HeaderBytes)
	c.http2.Protocols.SetHTTP1(false)
	c.http2.Protocols.SetUnencryptedHTTP2(true)
}

// Close drops idle connections. Streams that are still open keep theirs until they end.
func (c *Client) Close() {
	c.impl.transport.CloseIdleConnections()
	c.impl.http2.CloseIdleConnections()
}

// maxRedirects that are followed for one request.
const maxRedirects = 3

// ask is one question: a request that may have to be sent again to where the peer moved.
type ask struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	// repeatable: being carried out twice does no harm, so it is sent again if an idle connection turns out to be dead.
	repeatable bool
	// http2: over HTTP/2 and nothing else.
	http2 bool
	// shown stands for the body in the trace, where that is not readable.
	shown []byte
}

// reply is the answer to an ask, its body unread.
type reply struct {
	*http.Response
	url        *url.URL
	redirected bool
	sent       time.Time
	headerAt   time.Duration
	record     *record
}

// do asks and follows the redirects that may be followed. The error is an *Error. The caller closes the body.
func (c *client) do(ctx context.Context, a ask) (*reply, error) {
	for hop := 0; ; hop++ {
		r, err := c.once(ctx, a)
		if err != nil {
			return nil, err
		}
		r.redirected = hop > 0
		if !isRedirect(r.StatusCode) {
			return r, nil
		}
		location := locationOf(r)
		_ = r.Body.Close()
		r.record.done("", nil)
		if hop == maxRedirects || !mayFollow(a, r.StatusCode, location) {
			return nil, &Error{Class: ClassRedirect, Status: r.StatusCode, Location: location}
		}
		a.url = location
	}
}

// askable: http or https, and a host. A card may name anything, a path alone included (C56).
func askable(u *url.URL) bool {
	if u == nil || u.Hostname() == "" {
		return false
	}
	return strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
}

// once sends one request. Credentials are decided here, for the very URL that is asked.
func (c *client) once(ctx context.Context, a ask) (*reply, error) {
	if !askable(a.url) {
		return nil, &Error{Class: ClassOrigin}
	}
	req, err := c.request(ctx, a)
	if err != nil {
		return nil, &Error{Class: ClassOrigin, Err: err}
	}
	shown, pool := a.body, c.transport
	if a.http2 {
		shown, pool = a.shown, c.http2
	}
	r := &reply{url: a.url, sent: time.Now(), record: c.newRecord(req, shown)}
	r.Response, err = pool.RoundTrip(req)
	if err != nil {
		r.record.done("", err)
		return nil, failure(ctx, 0, err)
	}
	r.headerAt = time.Since(r.sent)
	r.record.answered(r.Response)
	return r, nil
}

func (c *client) request(ctx context.Context, a ask) (*http.Request, error) {
	target := *a.url
	target.User, target.Fragment, target.RawFragment = nil, "", ""
	target.Scheme = strings.ToLower(target.Scheme)
	var body io.Reader
	if a.body != nil {
		body = bytes.NewReader(a.body)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	for k, v := range a.header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	if a.repeatable {
		req.Header["Idempotency-Key"] = []string{} // tells net/http and, being empty, nobody else
	}
	req.Header.Set("User-Agent", c.agent)
	if c.secret.goesTo(req.URL) {
		req.Header.Set(c.secret.header, c.secret.value)
	}
	return req, nil
}

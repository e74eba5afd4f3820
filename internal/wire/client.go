package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	// Egress is where the operator lets its clients connect; nil: the strictest.
	Egress *Egress
	// Tenant is for whom this client asks, a namespace: it gets a share of what Egress bounds. Empty: nobody else is there.
	Tenant string
	// AllowHosts are host:port pairs that may be asked by http and dialled whatever their address (what the user of the CLI typed);
	// what Egress denies, link-local and cloud metadata stay refused.
	AllowHosts []string
	// Pinned gives host:port pairs their addresses, so that no name server is asked (a serviceRef). They may be asked as those of
	// AllowHosts may, and at these addresses only; without one the host is down.
	Pinned      map[string][]netip.AddrPort
	Credentials Credentials
	// Tokens keeps access tokens between clients; nil: each client gets its own.
	Tokens *Tokens
	// UserAgent of every request; empty means "agentpeer".
	UserAgent string
	Limits    Limits
	// RootCAs in PEM, added to the system's; nil: system only.
	RootCAs []byte
	// ServerName is what certificates of the Credentials' Origins must be for; empty: the host of the URL.
	ServerName string
	// SPKI pins the Credentials' Origins: one certificate of the verified chain must have one of these SHA-256 hashes of its
	// SubjectPublicKeyInfo; none: no pin.
	SPKI [][sha256.Size]byte
	// Trace, if set, is told of every exchange. It may be called from several goroutines.
	Trace func(Exchange)
	// Question, if set, names what a request is for as it is sent, for the trace.
	Question func() string
}

// Client talks to one peer. Safe for concurrent use; Close when the round is over.
type Client struct{ impl *client }

type client struct {
	// own leads to the credential's origins, others to the rest; they are the same where nothing sets the origins apart.
	own, others road
	guard       *guard
	purse       *purse
	roots       *x509.CertPool
	secret      *secret
	tokens      *Tokens
	agent       string
	limits      Limits
	trace       func(Exchange)
	question    func() string
}

// NewClient makes a client with its own connection pool. It opens nothing yet, and costs little enough to be done for
// every round. It fails on an invalid prefix, a host without port, PEM data without a certificate and an unsendable
// credential.
func NewClient(o Options) (*Client, error) {
	g, err := o.Egress.newGuard(o.AllowHosts, o.Pinned)
	if err != nil {
		return nil, err
	}
	g.tenant = o.Tenant
	s, err := newSecret(o)
	if err != nil {
		return nil, err
	}
	roots, err := rootsWith(o.RootCAs)
	if err != nil {
		return nil, err
	}
	c := &client{guard: g, purse: g.egress.bytes.purse(o.Tenant), roots: roots, secret: s, agent: o.UserAgent, limits: o.Limits.withDefaults(), trace: o.Trace, question: o.Question}
	if c.agent == "" {
		c.agent = "agentpeer"
	}
	if c.tokens = o.Tokens; c.tokens == nil {
		c.tokens = NewTokens()
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

// Anonymous returns a client of the same options but the credentials, with a pool of its own: nothing that it sends says who asks. Server
// name and pins still hold for the origins. Both are to be closed.
func (c *Client) Anonymous() *Client {
	nobody := *c.impl
	nobody.secret = c.impl.secret.anonymous()
	nobody.connect()
	return &Client{impl: &nobody}
}

// connect makes the pools of connections. What is special about connections to the credential's origins stays in pools of their own, so
// that no other origin ever meets it.
func (c *client) connect() {
	c.others = newRoad(c.guard, c.roots, c.limits.HeaderBytes)
	c.own = c.others
	if c.secret.secures() {
		c.own = newRoad(c.guard, c.roots, c.limits.HeaderBytes)
		c.own.secure(c.secret)
	}
}

// Close drops idle connections at once, and after closeGrace all the others, whatever their peers do.
func (c *Client) Close() {
	c.impl.own.close()
	c.impl.others.close()
}

// ask is one question.
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
	url      *url.URL
	sent     time.Time
	headerAt time.Duration
	record   *record
	bytes    *holding
	// refused forgets the access token that the request carried; nil if it was sent by nobody.
	refused func()
}

// unauthenticated is called where an answer says that we are not.
func (r *reply) unauthenticated() {
	if r.refused != nil {
		r.refused()
	}
}

// do asks and takes any answer but a redirect: none is followed. The error is an *Error. The caller closes the body.
func (c *client) do(ctx context.Context, a ask) (*reply, error) {
	r, err := c.once(ctx, a)
	if err != nil || !isRedirect(r.StatusCode) {
		return r, err
	}
	_ = r.Body.Close()
	r.record.done("", nil)
	return nil, &Error{Class: ClassRedirect, Status: r.StatusCode, Location: locationOf(r)}
}

// askable: http or https, and a host. A card may name anything, a path alone included (C56). A host with a zone of IPv6 is of this machine
// alone, and would end in whatever its author likes.
func askable(u *url.URL) bool {
	if u == nil || u.Hostname() == "" || strings.Contains(u.Hostname(), "%") {
		return false
	}
	return strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
}

// once sends one request. Credentials are decided here, for the very URL that is asked, and put in last: nothing but the connection sees
// them.
func (c *client) once(ctx context.Context, a ask) (*reply, error) {
	if !askable(a.url) {
		return nil, &Error{Class: ClassOrigin}
	}
	if !c.guard.speaks(a.url) {
		return nil, &Error{Class: ClassPlaintext}
	}
	value, road := "", c.others
	ours := c.secret.goesTo(a.url)
	if ours {
		road, value = c.own, c.secret.Value
	}
	if ours && c.secret.OAuth2 != nil {
		var fail *Error
		if value, fail = c.token(ctx); fail != nil {
			return nil, fail
		}
	}
	req, err := c.request(ctx, a)
	if err != nil {
		return nil, &Error{Class: ClassOrigin, Err: err}
	}
	shown, pool := a.body, road.http
	if a.http2 {
		shown, pool = a.shown, road.http2
	}
	record := c.newRecord(req, shown)
	if ours {
		c.secret.mark(req, value, a.http2)
	}
	r := &reply{url: a.url, sent: time.Now(), record: record, refused: func() { c.unauthenticated(value) }}
	r.Response, err = pool.RoundTrip(req)
	if err != nil {
		r.record.done("", err)
		return nil, failure(ctx, 0, err)
	}
	if r.StatusCode == http.StatusSwitchingProtocols {
		// Nobody asked for that, and what net/http hands out then is the bare connection, whose reads no context ends.
		_ = r.Body.Close()
		r.record.done("", nil)
		return nil, &Error{Class: ClassNoHTTP, Status: r.StatusCode}
	}
	r.headerAt = time.Since(r.sent)
	r.bytes = c.purse.open(ctx)
	r.Body = countedBody{r.Body, r.bytes}
	c.secret.clean(r.Header)
	r.record.answered(r.Response)
	if r.StatusCode == http.StatusUnauthorized {
		r.unauthenticated()
	}
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
	return req, nil
}

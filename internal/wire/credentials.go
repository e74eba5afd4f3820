package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// Credentials are sent to the origins named here and to nobody else. At most one of Header, Query and OAuth2 is set; Certificate goes
// with any of them, or alone. Origins may be set with none of them: Options.ServerName and Options.SPKI are about these origins too.
type Credentials struct {
	// Header that carries Value, such as Authorization and "Bearer ...". Headers that belong to HTTP or to the protocol are refused.
	Header string
	// Query is the name of the parameter of the URL that carries Value, in place of one of that name: letters, digits, -, _ and ., at most
	// 128. It is added as the request is sent, so that no URL that a Client returns holds it. gRPC has no place for it: its paths have no
	// query, and a server would take it for the name of a method that it does not know.
	Query string
	// Value is one line of printable characters, at most 16 KiB; of a header, ASCII.
	Value string
	// OAuth2 gets the token that goes into Authorization.
	OAuth2 *OAuth2
	// Certificate is shown to servers of Origins that ask for one.
	Certificate *tls.Certificate
	// Origins (scheme://host:port) that may receive it. Scheme, host and effective port must all be equal, so an https
	// origin never lets the header out over http.
	Origins []string
}

// GoTo tells whether a request to an interface of this URL and binding carries any of the credentials; the empty binding is plain HTTP, as
// the card is fetched by. A certificate goes to whoever asks for it, so it counts for every https origin.
func (c Credentials) GoTo(u *url.URL, b Binding) bool {
	if u == nil || !slices.ContainsFunc(c.Origins, func(o string) bool {
		origin, err := url.Parse(o)
		return err == nil && Origin(origin) == Origin(u)
	}) {
		return false
	}
	return c.Header != "" || c.OAuth2 != nil || c.Query != "" && b != BindingGRPC ||
		c.Certificate != nil && strings.EqualFold(u.Scheme, "https")
}

// reserved headers belong to the protocol or to HTTP itself; a credential may not take their place. So do all that begin with
// reservedPrefix. The rule of HeaderAuth.name in the API is the same.
var reserved = []string{
	"host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer", "upgrade", "expect",
	"accept", "accept-encoding", "keep-alive", "proxy-connection", "user-agent", "idempotency-key",
}

const reservedPrefix = "a2a-"

// maxSecret bounds every value and token, in bytes.
const maxSecret = 16 << 10

// queryName is what a parameter may be called.
var queryName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// secret is a checked credential. It is shared by a client and those that Fresh makes of it: they are one round.
type secret struct {
	Credentials
	origins    []string
	serverName string
	pins       [][sha256.Size]byte
	blotter

	mu sync.Mutex
	// refused: a token was refused and dropped once already.
	refused bool
	// failed is why there was no token, and until when that is not tried again.
	failed   *Error
	failedTo time.Time
}

// newSecret checks a credential. Its errors hold neither the value nor a part of it.
func newSecret(o Options) (*secret, error) {
	s := &secret{Credentials: o.Credentials, serverName: o.ServerName, pins: o.SPKI}
	for _, origin := range o.Credentials.Origins {
		u, err := url.Parse(origin)
		if err != nil || !askable(u) {
			return nil, fmt.Errorf("reading credentials: %q is not an origin", origin)
		}
		s.origins = append(s.origins, Origin(u))
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	s.hide(s.Value)
	if s.Header != "" {
		s.Header = http.CanonicalHeaderKey(s.Header)
	}
	if a := s.OAuth2; a != nil {
		s.hide(a.ClientSecret)
		s.hide(url.QueryEscape(a.ClientID) + ":" + url.QueryEscape(a.ClientSecret))
	}
	return s, nil
}

func (s *secret) check() error {
	if c := s.Certificate; c != nil && (len(c.Certificate) == 0 || c.PrivateKey == nil) {
		return errors.New("the client certificate needs both a certificate and its private key")
	}
	if (s.Header != "" && s.Query != "") || s.OAuth2 != nil && (s.Header != "" || s.Query != "") {
		return errors.New("a header, a query parameter and OAuth2 exclude each other: set one of them")
	}
	switch {
	case s.Header != "":
		return checkHeader(s.Header, s.Value)
	case s.Query != "":
		return checkQuery(s.Query, s.Value)
	case s.Value != "":
		return errors.New("a value without a name: set the header or the query parameter that carries it")
	case s.OAuth2 != nil:
		return s.OAuth2.check()
	}
	return nil
}

func checkHeader(name, value string) error {
	lower := strings.ToLower(name)
	if !httpguts.ValidHeaderFieldName(name) || slices.Contains(reserved, lower) || strings.HasPrefix(lower, reservedPrefix) {
		return fmt.Errorf("header %q cannot carry them: name one that belongs neither to HTTP nor to the protocol", name)
	}
	if !visible(value, ' ') {
		return fmt.Errorf("the value of header %q is not one line of 1 to %d printable ASCII characters", name, maxSecret)
	}
	return nil
}

func checkQuery(name, value string) error {
	if !queryName.MatchString(name) {
		return fmt.Errorf("query parameter %q: want 1 to 128 letters, digits, dots, dashes and underscores", name)
	}
	if value == "" || len(value) > maxSecret || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("the value of query parameter %q is not one line of 1 to %d printable bytes", name, maxSecret)
	}
	return nil
}

// visible: a text of printable ASCII characters from lowest on, neither empty nor longer than maxSecret.
func visible(text string, lowest rune) bool {
	return text != "" && len(text) <= maxSecret && !strings.ContainsFunc(text, func(r rune) bool { return r < lowest || r > '~' })
}

// goesTo tells whether a URL is of an origin that credentials, server name and pins are for.
func (s *secret) goesTo(u *url.URL) bool { return slices.Contains(s.origins, Origin(u)) }

// secures says whether connections to the origins differ from others.
func (s *secret) secures() bool { return s.Certificate != nil || s.serverName != "" || len(s.pins) > 0 }

// anonymous is the same without anything that says who we are. Whom connections must reach stays.
func (s *secret) anonymous() *secret {
	return &secret{Credentials: Credentials{Origins: s.Origins}, origins: s.origins, serverName: s.serverName, pins: s.pins}
}

// mark puts a credential into a request to one of the origins. value is what stands in the header or parameter.
func (s *secret) mark(req *http.Request, value string, grpc bool) {
	switch {
	case s.Header != "":
		req.Header.Set(s.Header, value)
	case s.OAuth2 != nil:
		req.Header.Set("Authorization", "Bearer "+value)
	case s.Query != "" && !grpc:
		req.URL.RawQuery = strings.TrimPrefix(without(req.URL.RawQuery, s.Query)+"&"+s.Query+"="+url.QueryEscape(value), "&")
	}
}

// without is a query without the parameters of a name, the others byte for byte.
func without(query, name string) string {
	if query == "" {
		return ""
	}
	pairs := strings.Split(query, "&")
	return strings.Join(slices.DeleteFunc(pairs, func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(key)
		return err == nil && plain == name
	}), "&")
}

// clean takes the credential out of where a peer points, so that no URL that is followed or returned holds it: as the parameter that
// carries it, which the next request gets anew, or else with the whole header.
func (s *secret) clean(h http.Header) {
	location := h.Get("Location")
	if location == "" {
		return
	}
	if s.Query != "" {
		if u, err := url.Parse(location); err == nil && without(u.RawQuery, s.Query) != u.RawQuery {
			u.RawQuery = without(u.RawQuery, s.Query)
			location = u.String()
			h.Set("Location", location)
		}
	}
	if s.blot(location) != location {
		h.Del("Location")
	}
}

// Origin is scheme, host and effective port in one spelling: URLs of equal origin may see the same credentials.
func Origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + hostKey(u.Hostname(), portOf(u))
}

// portOf is the effective port, empty for a scheme that is not ours.
func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	switch strings.ToLower(u.Scheme) {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

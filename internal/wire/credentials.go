package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Credentials are sent to the origins named here and to nobody else.
type Credentials struct {
	// Header and Value of the one header, such as Authorization and "Bearer ...". Empty Header: none.
	Header string
	Value  string
	// Origins (scheme://host:port) that may receive it. Scheme, host and effective port must all be equal, so an https
	// origin never lets the header out over http.
	Origins []string
}

// reserved headers belong to the protocol or to HTTP itself; a credential may not take their place.
var reserved = []string{
	"Host", "Connection", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Te", "Trailer",
	"Upgrade", "Expect", "Accept", "A2a-Version",
}

// secret is a checked credential.
type secret struct {
	header, value string
	origins       []string
}

// newSecret checks a credential. Its errors hold neither the value nor a part of it.
func newSecret(c Credentials) (*secret, error) {
	if c.Header == "" {
		return &secret{}, nil
	}
	s := &secret{header: http.CanonicalHeaderKey(c.Header), value: c.Value}
	if !httpguts.ValidHeaderFieldName(c.Header) || slices.Contains(reserved, s.header) {
		return nil, fmt.Errorf("reading credentials: %q cannot carry them", c.Header)
	}
	if c.Value == "" || !httpguts.ValidHeaderFieldValue(c.Value) {
		return nil, fmt.Errorf("reading credentials: the value of %q is empty, or no header can hold it", c.Header)
	}
	for _, o := range c.Origins {
		u, err := url.Parse(o)
		if err != nil || !askable(u) {
			return nil, fmt.Errorf("reading credentials: %q is not an origin", o)
		}
		s.origins = append(s.origins, Origin(u))
	}
	return s, nil
}

// goesTo tells whether the credential may be sent to a URL.
func (s *secret) goesTo(u *url.URL) bool {
	return s.header != "" && slices.Contains(s.origins, Origin(u))
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

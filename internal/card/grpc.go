package card

import (
	"net/url"
	"strings"
)

// grpcSchemes are the schemes that gRPC addresses come with, and what they say about TLS.
var grpcSchemes = map[string]string{"http": "http", "https": "https", "grpc": "http", "grpcs": "https"}

// grpcURL reads the address of a gRPC interface, which comes as a URL or as host:port, "dns:" before it or not, and makes it an http or
// https URL, which says by its scheme whether there is TLS. An address without a scheme is as safe as the card that names it: https if the
// card came by https or its origin is not known, http if it came by http; port 443 is always https, port 80 never
// (docs/decisions/wire-grpc.md).
func (p *parser) grpcURL(text string) (*url.URL, bool) {
	text, named := strings.CutPrefix(text, "dns:")
	if named {
		text = text[strings.LastIndexByte(text, '/')+1:] // a name server may stand before the name
	}
	bare := !strings.Contains(text, "://")
	if bare {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, false
	}
	if u.User != nil {
		p.warn.add(InterfaceMalformed)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.Scheme = grpcSchemes[strings.ToLower(u.Scheme)]; bare {
		u.Scheme = p.bareScheme(u.Port())
	}
	return u, u.Scheme != "" && cleanHost(u)
}

func (p *parser) bareScheme(port string) string {
	switch {
	case port == "443":
		return "https"
	case port == "80", p.source != nil && p.source.Scheme == "http":
		return "http"
	}
	return "https"
}

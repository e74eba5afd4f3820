package card

import (
	"net/netip"
	"net/url"
	"strings"
)

// url reads an endpoint; ok is false if it leads nowhere.
func (p *parser) url(text, binding string) (u *url.URL, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxURL {
		return nil, false
	}
	if binding == GRPC {
		return p.grpcURL(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, false
	}
	if u.User != nil {
		// A peer does not choose what we log in with.
		p.warn.add(InterfaceMalformed)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.Host == "" && (u.Scheme == "" || isHTTP(u)) {
		p.warn.add(RelativeEndpoint)
		u.Scheme = ""
		u = p.resolve(u)
	}
	if u.Scheme == "" && u.Host != "" {
		p.warn.add(RelativeEndpoint)
		u = p.resolve(u)
	}
	return u, cleanHost(u) && (isHTTP(u) || u.Scheme == "")
}

// resolve completes a relative endpoint (C56). Without the card's own address it stays relative, and unusable.
func (p *parser) resolve(u *url.URL) *url.URL {
	if p.source == nil {
		return u
	}
	u = p.source.ResolveReference(u)
	u.User = nil
	return u
}

func isHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// cleanHost refuses what neither names nor addresses hold: url.Parse lets quotes and brackets pass.
func cleanHost(u *url.URL) bool {
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for i := range len(host) {
		if c := host[i]; c == ':' || c == '/' || c == '@' || c == '+' || !safeByte(c) {
			return false
		}
	}
	return len(host) <= 253
}

// endpoint warns about where an interface points to.
func (p *parser) endpoint(in Interface) {
	u := in.URL
	if u.Host == "" {
		return
	}
	if in.Binding != GRPC && isCard(u, p.source) {
		p.warn.add(EndpointIsCard)
	}
	if unroutable(u, p.source) {
		p.warn.add(EndpointUnroutable)
		return
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		p.warn.add(InsecureEndpoint)
	}
	if p.source == nil || p.source.Host == "" {
		return
	}
	if u.Scheme == "http" && p.source.Scheme == "https" {
		p.warn.add(SchemeDowngrade)
	}
	if !samePlace(u, p.source) {
		p.warn.add(EndpointOriginDiffers)
	}
}

// unroutable says that dialling u would reach us and not the peer (C46): a wildcard address always, a loopback one unless
// the card came from loopback too.
func unroutable(u, source *url.URL) bool {
	host := u.Hostname()
	if host == "" || wildcard(host) {
		return true
	}
	return loopback(host) && (source == nil || !loopback(source.Hostname()))
}

func wildcard(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().WithZone("").IsUnspecified()
}

func loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isCard says that u is where cards are (C54): the address this one came from, or a path that serves nothing else.
func isCard(u, source *url.URL) bool {
	for _, suffix := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json", "/v1/card"} {
		if strings.HasSuffix(u.Path, suffix) {
			return true
		}
	}
	return source != nil && strings.Trim(u.Path, "/") != "" && u.Path == source.Path && samePlace(u, source)
}

// samePlace compares host and port. http and https on their usual ports are one place: SchemeDowngrade tells that story.
func samePlace(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if (u.Scheme == "http" && u.Port() == "80") || (u.Scheme == "https" && u.Port() == "443") {
		return ""
	}
	return u.Port()
}

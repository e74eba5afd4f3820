package card

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Preference chooses among interfaces. Zero fields mean no preference.
type Preference struct {
	// Binding by any of its spellings.
	Binding string
	// ProtocolVersion picks a generation: patch numbers do not count. An interface without a version takes this one.
	ProtocolVersion string
	// FromEndpoint takes the URL of the spec instead of the card's (urlFrom: Endpoint).
	FromEndpoint bool
	Endpoint     *url.URL
}

// spoken holds the generations that we speak by each binding; one without a version is found out by asking.
var spoken = map[string]map[string]bool{
	JSONRPC:  {"1.0": true, "0.3": true, "0.2": true, "0.1": true, "": true},
	HTTPJSON: {"1.0": true, "0.3": true, "0.2": true, "": true}, // came with 0.2.5
	GRPC:     {"1.0": true, "0.3": true, "0.2": true, "": true}, // a2a.v1 came with 0.2.5
}

// Speaks tells whether we speak a generation by a binding.
func Speaks(binding, generation string) bool { return spoken[binding][generation] }

// Usable lists the interfaces that we can speak, in the order of the card, at an address that can be the peer's (C46, C99). A
// preference narrows it. why is empty unless the list is.
func (c *Card) Usable(p Preference) (list []Interface, why trust.Reason) {
	for _, in := range c.Interfaces {
		if in, why := c.Use(in, p); why == "" {
			list = append(list, in)
		}
	}
	if len(list) == 0 {
		return nil, trust.ReasonNoUsableInterface
	}
	return unique(list), ""
}

// Use completes one of the card's interfaces by the preference. why says that it is none of those that Usable lists: NoUsableInterface
// where binding or version are not spoken here or not preferred, EndpointUnroutable where its address cannot be the peer's.
func (c *Card) Use(in Interface, p Preference) (used Interface, why trust.Reason) {
	used, ok := p.apply(in)
	switch {
	case !ok:
		return used, trust.ReasonNoUsableInterface
	case !c.reachable(used, p):
		return used, trust.Reason(EndpointUnroutable)
	}
	return used, ""
}

// Names tells whether the card itself says that the agent is at u: one of its interfaces has this origin, path and query, written out. A
// relative URL names no address, as it leads wherever the card is served; of host:port and //host only the scheme is taken from there.
func (c *Card) Names(u *url.URL) bool {
	var from *url.URL
	if c.source != nil {
		from = &url.URL{Scheme: c.source.Scheme}
	}
	alone, err := Parse(c.Raw, from)
	return err == nil && slices.ContainsFunc(alone.Interfaces, func(in Interface) bool {
		return in.URL.Host != "" && in.URL.Scheme == u.Scheme && samePlace(in.URL, u) && in.URL.RawQuery == u.RawQuery &&
			strings.TrimSuffix(in.URL.EscapedPath(), "/") == strings.TrimSuffix(u.EscapedPath(), "/")
	})
}

// apply narrows and completes one interface by the preference.
func (p Preference) apply(in Interface) (Interface, bool) {
	if !Speaks(in.Binding, in.Generation()) {
		return in, false
	}
	if p.Binding != "" && bindingName(p.Binding) != in.Binding {
		return in, false
	}
	if want := generation(p.ProtocolVersion); want != "" {
		if in.Generation() == "" {
			in.ProtocolVersion = readVersion(p.ProtocolVersion)
		}
		if in.Generation() != want {
			return in, false
		}
	}
	if p.FromEndpoint {
		in.URL = p.Endpoint
	}
	return in, true
}

// Unroutable tells an interface whose address cannot be the peer's: dialling it would reach whoever dials.
func (c *Card) Unroutable(in Interface, p Preference) bool { return !c.reachable(in, p) }

// reachable says that the interface has an address that can be the peer's. The user may name whatever address they like.
func (c *Card) reachable(in Interface, p Preference) bool {
	if in.URL == nil || in.URL.Host == "" || !isHTTP(in.URL) {
		return false
	}
	return p.FromEndpoint || !unroutable(in.URL, c.source)
}

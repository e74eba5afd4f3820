package card

import (
	"net/url"

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

// reachable says that the interface has an address that can be the peer's. The user may name whatever address they like.
func (c *Card) reachable(in Interface, p Preference) bool {
	if in.URL == nil || in.URL.Host == "" || !isHTTP(in.URL) {
		return false
	}
	return p.FromEndpoint || !unroutable(in.URL, c.source)
}

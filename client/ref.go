package client

import (
	"net/url"
	"strconv"
	"strings"
)

// Ref names a peer: an AgentPeer by its name, or whatever AgentPeers stand for an endpoint URL. Refs are comparable, so they can be keys
// of maps. Make one with Named or At and keep it: At reads the URL anew each time, a question about a Ref does not. The zero Ref names
// nobody.
type Ref struct{ namespace, name, url string }

// malformed begins the url of a Ref that At could not read. No URL begins so, so such a Ref matches nothing.
const malformed = "!"

// maxEndpoint is how long an endpoint may be, as the target of a status may. It also bounds what a malformed one leaves in a Ref.
const maxEndpoint = 2048

// Named is the AgentPeer of this name.
func Named(namespace, name string) Ref { return Ref{namespace: namespace, name: name} }

// At is every AgentPeer whose target, or one of whose interfaces, is at this URL: the address that the orchestrator is about to call, or
// the one it resolves the card below. Several AgentPeers for one URL count as one, and the worst of each field is decided.
//
// Scheme and host are compared in lower case, and a default port and one trailing slash do not matter; a query does, a fragment does not. A
// text that is no absolute http or https URL with a host and without a user name gives a Ref that matches nothing: decisions about
// it are those about a peer nobody knows, with reason PeerUnknown.
func At(endpoint string) Ref {
	if u, ok := normal(endpoint); ok {
		return Ref{url: u}
	}
	return Ref{url: malformed + endpoint[:min(len(endpoint), maxEndpoint)]}
}

// String is NAMESPACE/NAME or the URL, for people.
func (r Ref) String() string {
	switch text, bad := strings.CutPrefix(r.url, malformed); {
	case bad:
		return strconv.Quote(text) + ", which is no absolute http or https URL"
	case r.url != "":
		return r.url
	case r == Ref{}:
		return "nobody"
	}
	return r.namespace + "/" + r.name
}

// normal is the one form of a URL that Refs and the index compare.
func normal(endpoint string) (string, bool) {
	if len(endpoint) > maxEndpoint {
		return "", false
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return "", false
	}
	u.Host = strings.ToLower(u.Host)
	switch port := u.Port(); {
	case port == "", u.Scheme == "http" && port == "80", u.Scheme == "https" && port == "443":
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, port), ":")
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	u.Fragment, u.RawFragment = "", ""
	return u.String(), true
}

package probe

import (
	"net/url"
)

// allowed says whether an interface may be asked at all: the card is hostile input, so its interfaces stay on the origin that the spec
// names, or on one that the spec allows (C109).
func (t *Target) allowed(u *url.URL) bool {
	if t.Preference.FromEndpoint {
		return true // the user named it
	}
	return t.named(u)
}

// named says whether a URL lies on an origin that the spec names.
func (t *Target) named(u *url.URL) bool {
	origin := originOf(u)
	if origin == originOf(t.URL) {
		return true
	}
	for _, text := range t.AllowedOrigins {
		if o, err := url.Parse(text); err == nil && o.Host != "" && originOf(o) == origin {
			return true
		}
	}
	return false
}

package wire

import (
	"net/http"
	"net/url"
)

// isRedirect tells the statuses that say "elsewhere". 304 is not one of them, and 300 offers a choice that we do not
// make.
func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// locationOf resolves where a redirect points; nil if it does not say so in a URL.
func locationOf(r *reply) *url.URL {
	l := r.Header.Get("Location")
	if l == "" {
		return nil
	}
	u, err := r.url.Parse(l)
	if err != nil {
		return nil
	}
	return u
}

// maxRedirects that are followed for one card.
const maxRedirects = 3

// mayFollow is the policy for a card: to the very same origin, and only where the peer says that the request is to be sent again as it is
// (307, 308). Nothing else is ever followed: a question belongs to the address that the card names, and what another address answers to it
// says nothing about that one (C47).
func mayFollow(from *url.URL, status int, to *url.URL) bool {
	again := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	return again && to != nil && askable(to) && Origin(from) == Origin(to)
}

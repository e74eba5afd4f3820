package wire

import (
	"net/http"
	"net/url"
	"strings"
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

// mayFollow is the policy: the same host only, never from https to http, and a POST only where it stays a POST with its
// body (307, 308). A 301 or 302 would have it sent again as a GET, and the peer would look broken (C47).
func mayFollow(a ask, status int, to *url.URL) bool {
	if to == nil || !sameHost(a.url, to) {
		return false
	}
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return a.method == http.MethodGet
	}
	return false
}

// sameHost: the host is the same, and so is the port unless http gives way to https, which comes with a port of its
// own.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	fs, ts := strings.ToLower(from.Scheme), strings.ToLower(to.Scheme)
	switch {
	case fs == ts:
		return portOf(from) == portOf(to)
	case fs == "http" && ts == "https":
		return true
	}
	return false
}

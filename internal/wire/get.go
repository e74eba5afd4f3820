package wire

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Page is the answer to a Get.
type Page struct {
	Status    int
	MediaType string
	// Body of a 200, nil for every other status.
	Body []byte
	ETag string
	// NotModified is set for a 304 in answer to If-None-Match. Where none was sent a 304 is a status like any other: no card came.
	NotModified  bool
	FinalURL     *url.URL
	Redirected   bool
	Date         time.Time
	CacheControl string
	// RetryAfter of a 429 or 503, bounded to a day.
	RetryAfter time.Duration
}

// Get fetches a card: body capped at Limits.CardBytes and Limits.JSONDepth, gzip honoured (declared or not), BOM left in place. Redirects:
// 307 and 308 to the same origin, at most 3; any other is an *Error of class Redirect. Every other status is a Page, 404 and 500 included:
// the caller knows where else a card may be.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*Page, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, hops, err := c.impl.follow(ctx, ask{method: http.MethodGet, url: u, header: header})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	p := &Page{
		Status: r.StatusCode, MediaType: mediaType(r.Response), ETag: r.Header.Get("ETag"),
		NotModified: r.StatusCode == http.StatusNotModified && header.Get("If-None-Match") != "", FinalURL: r.url, Redirected: hops > 0,
		Date: dateOf(r.Response), CacheControl: r.Header.Get("Cache-Control"), RetryAfter: retryAfter(r.Response, time.Now()),
	}
	body, err := c.impl.readAll(ctx, cancel, r, c.impl.limits.CardBytes, c.impl.limits.ofCard())
	r.record.body(body)
	r.record.done("", err)
	if p.Status != http.StatusOK {
		return p, nil // the status said it all, however its body came
	}
	if err != nil {
		return nil, err
	}
	if deeper(body, c.impl.limits.JSONDepth) {
		return nil, &Error{Class: ClassMalformed, Status: r.StatusCode, Err: errDeep}
	}
	p.Body = body
	return p, nil
}

// follow asks for a card and follows the redirects that may be followed. Credentials are decided for every hop anew.
func (c *client) follow(ctx context.Context, a ask) (r *reply, hops int, err error) {
	for ; ; hops++ {
		if r, err = c.once(ctx, a); err != nil || !isRedirect(r.StatusCode) {
			return r, hops, err
		}
		location := locationOf(r)
		_ = r.Body.Close()
		r.record.done("", nil)
		if hops == maxRedirects || !mayFollow(a.url, r.StatusCode, location) {
			return nil, hops, &Error{Class: ClassRedirect, Status: r.StatusCode, Location: location}
		}
		a.url = location
	}
}

// mediaType is the media type of an answer in lower case without parameters; of an unreadable one what stands before
// the first semicolon.
func mediaType(r *http.Response) string {
	v := r.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(v); err == nil {
		return t
	}
	t, _, _ := strings.Cut(v, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

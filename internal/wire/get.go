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
	Body         []byte
	ETag         string
	NotModified  bool
	FinalURL     *url.URL
	Redirected   bool
	Date         time.Time
	CacheControl string
	// RetryAfter of a 429 or 503, bounded to a day.
	RetryAfter time.Duration
}

// Get fetches a card: body capped at Limits.CardBytes, gzip honoured (declared or not), BOM left in place. Redirects:
// at most 3, same host only, never https to http; credentials only to their origins. A redirect that may not be
// followed is an *Error of class Redirect. Every other status is a Page, 404 and 500 included: the caller knows where
// else a card may be.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*Page, error) {
	r, err := c.impl.do(ctx, ask{method: http.MethodGet, url: u, header: header})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	p := &Page{
		Status: r.StatusCode, MediaType: mediaType(r.Response), ETag: r.Header.Get("ETag"),
		NotModified: r.StatusCode == http.StatusNotModified, FinalURL: r.url, Redirected: r.redirected,
		Date: dateOf(r.Response), CacheControl: r.Header.Get("Cache-Control"), RetryAfter: retryAfter(r.Response, time.Now()),
	}
	body, err := readAll(ctx, r, c.impl.limits.CardBytes)
	r.record.body(body)
	r.record.done("", err)
	if p.Status != http.StatusOK {
		return p, nil // the status said it all, however its body came
	}
	if err != nil {
		return nil, err
	}
	p.Body = body
	return p, nil
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

package probe

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// The names under which cards are found, new and old (wire reference 6).
const (
	cardName       = ".well-known/agent-card.json"
	legacyCardName = ".well-known/agent.json"
)

// fetched is what came of asking for a card.
type fetched struct {
	card        *card.Card
	etag        string
	notModified bool
	// legacy: found under the old name only (C50).
	legacy bool
	// reason and text say why there is no card; empty if there is.
	reason trust.Reason
	text   string
	retry  time.Duration
}

// fetchCard asks for the card: the explicit path if there is one, else both well-known names joined to the path of the target, the old
// one only where the new one is not there (C48, C50). The version header matters: some peers serve another card without it.
func (s *session) fetchCard(ctx context.Context, etag string) fetched {
	t := s.job.Target
	if t.CardPath != "" {
		f, _ := s.fetch(ctx, at(t.URL, t.CardPath), etag)
		return f
	}
	f, absent := s.fetch(ctx, below(t.URL, cardName), etag)
	if !absent {
		return f
	}
	f, absent = s.fetch(ctx, below(t.URL, legacyCardName), etag)
	f.legacy = f.card != nil || f.notModified
	if absent {
		f.text = "no card under either well-known name"
	}
	return f
}

// below joins a name to the path of a URL.
func below(u *url.URL, name string) *url.URL {
	j := *u
	j.Path, j.RawPath = strings.TrimSuffix(u.Path, "/")+"/"+name, ""
	j.RawQuery, j.Fragment, j.RawFragment = "", "", ""
	return &j
}

// at puts an absolute path, with a query if it has one, on the origin of a URL.
func at(u *url.URL, path string) *url.URL {
	j := *u
	path, j.RawQuery, _ = strings.Cut(path, "?")
	j.Path, j.RawPath = "/"+strings.TrimPrefix(path, "/"), ""
	j.Fragment, j.RawFragment = "", ""
	return &j
}

// fetch asks for one URL. absent says that no card is there, so that the old name may be tried.
func (s *session) fetch(ctx context.Context, u *url.URL, etag string) (f fetched, absent bool) {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	defer func() { f.reason = s.job.Target.rejected(f.reason, u, "") }()
	h := http.Header{"Accept": {"application/json"}, "A2A-Version": {"1.0"}}
	if etag != "" {
		h.Set("If-None-Match", etag)
	} else {
		// As it is now, and not as some cache on the way has it. Whoever reads a card again to confirm asks as at first: a liar must not tell
		// one reading from the other by what it says.
		h.Set("Cache-Control", "no-cache")
	}
	page, err := s.client.Get(ctx, u, h)
	if err != nil {
		return cardFailure(wireError(err))
	}
	if page.NotModified {
		return fetched{notModified: true, etag: etag}, false
	}
	if page.Status != http.StatusOK {
		f, absent := cardFailure(&wire.Error{Class: wire.ClassStatus, Status: page.Status})
		if page.Status == http.StatusNotModified {
			f.reason, f.text = trust.ReasonCardUnavailable, f.text+" to a request that asked for the card whatever it is"
		}
		if page.Status == http.StatusBadRequest && u.Scheme == "http" {
			f.text += "; a port that expects https answers so: try https"
		}
		return f, absent
	}
	source := u
	if page.FinalURL != nil {
		source = page.FinalURL
	}
	c, err := card.Parse(page.Body, source)
	if err != nil {
		return fetched{reason: trust.ReasonCardMalformed, text: "what is served as the card is not a JSON object"}, false
	}
	return fetched{card: c, etag: page.ETag}, false
}

// cardFailure says why there is no card.
func cardFailure(e *wire.Error) (f fetched, absent bool) {
	f = fetched{reason: failReason(e), text: "asking for the card: " + failText(e), retry: e.RetryAfter}
	switch {
	case e.Class == wire.ClassTooLarge || e.Class == wire.ClassMalformed && e.Status < 300:
		f.reason = trust.ReasonCardMalformed
	case e.Status == 404 || e.Status == 405 || e.Status == 410:
		f.reason = trust.ReasonCardUnavailable
		return f, true
	case e.Status >= 400 && (f.reason == trust.ReasonUnexpectedAnswer || f.reason == trust.ReasonEndpointNotFound):
		f.reason = trust.ReasonCardUnavailable // C100: 400 from a TLS port asked in plain http
	}
	return f, false
}

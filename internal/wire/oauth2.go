package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
)

// OAuth2 is a client of a token endpoint that gets access tokens by the client credentials grant (RFC 6749, section 4.4).
type OAuth2 struct {
	// TokenURL comes from whoever owns the credentials, and never from a card. It is dialled behind the same guard, without redirects.
	// Absolute, without user name, query or fragment.
	TokenURL *url.URL
	// ClientID and ClientSecret are printable, of at most 16 KiB.
	ClientID, ClientSecret string
	Scopes                 []string
	// Audience to ask for; empty: none.
	Audience string
	// InBody sends the secret in the form; else it goes into the header.
	InBody bool
	// Source names what the secret was read from, such as a Secret's UID and resourceVersion: a token is kept for one source.
	Source string
}

// Bounds of getting and keeping tokens.
const (
	tokenTimeout = 15 * time.Second
	tokenBytes   = 64 << 10
	// tokenMargin is how long before it expires a token is no longer used; of short-lived ones it is half their life.
	tokenMargin = 30 * time.Second
	// tokenUnstated is how long a token is kept that does not say when it expires.
	tokenUnstated   = 5 * time.Minute
	maxTokens       = 1024 // and of them
	maxTenantTokens = 64   // of one tenant
)

// check says what is wrong, without the secret.
func (a *OAuth2) check() error {
	u := a.TokenURL
	switch {
	case !askable(u) || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the token URL of OAuth2 must be absolute, without user name, query and fragment, such as https://login.example.com/token")
	case !visible(a.ClientID, ' '):
		return errors.New("the client ID of OAuth2 is not one line of printable ASCII characters")
	case !visible(a.ClientSecret, ' '):
		return fmt.Errorf("the client secret of OAuth2 is not one line of 1 to %d printable ASCII characters", maxSecret)
	case a.Audience != "" && !visible(a.Audience, ' '), slices.ContainsFunc(a.Scopes, func(s string) bool { return !visible(s, '!') }):
		return errors.New("audience and scopes of OAuth2 must be printable ASCII, scopes without spaces")
	}
	return nil
}

// key tells tokens apart. Two secrets never share one, even if whoever made them named the same source.
func (a *OAuth2) key() string {
	return fmt.Sprintf("%q", []string{
		a.Source, a.TokenURL.String(), a.ClientID, strings.Join(a.Scopes, " "), a.Audience, fmt.Sprint(a.InBody),
		fmt.Sprintf("%x", sha256.Sum256([]byte(a.ClientSecret))),
	})
}

// Tokens keeps access tokens until they expire or are refused. One store serves all clients of a process, so that a token is fetched once
// and not once a round; the source that it belongs to is part of its key. At most 1024 are kept, and 64 of one tenant, so that nobody makes
// others fetch theirs anew. Safe for concurrent use.
type Tokens struct {
	now    func() time.Time
	flight singleflight.Group

	mu   sync.Mutex
	kept map[string]keptToken
}

type keptToken struct {
	value, tenant string
	until         time.Time
}

// NewTokens makes an empty store.
func NewTokens() *Tokens { return &Tokens{now: time.Now, kept: map[string]keptToken{}} }

func (t *Tokens) find(key string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.kept[key]
	if ok && t.now().Before(k.until) {
		return k.value, true
	}
	delete(t.kept, key)
	return "", false
}

// keep a token for its life less the margin.
func (t *Tokens) keep(tenant, key, value string, life time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	maps.DeleteFunc(t.kept, func(_ string, k keptToken) bool { return !now.Before(k.until) })
	t.kept[key] = keptToken{value, tenant, now.Add(life - min(tokenMargin, life/2))}
	count := map[string]int{}
	most := tenant
	for _, k := range t.kept {
		if count[k.tenant]++; count[k.tenant] > count[most] {
			most = k.tenant
		}
	}
	switch {
	case count[tenant] > maxTenantTokens:
		t.evict(tenant, key)
	case len(t.kept) > maxTokens:
		t.evict(most, key)
	}
}

// evict forgets the token of a tenant that ends first: if it is missed it is fetched again. The newest stays.
func (t *Tokens) evict(tenant, newest string) {
	victim := ""
	for key, k := range t.kept {
		if k.tenant == tenant && key != newest && (victim == "" || k.until.Before(t.kept[victim].until)) {
			victim = key
		}
	}
	delete(t.kept, victim)
}

// drop forgets a token that was refused, unless another has taken its place.
func (t *Tokens) drop(key, value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept[key].value == value {
		delete(t.kept, key)
	}
}

// get is the token that is kept, or a new one. All who want it at once share one fetch, which goes on though some of them give up.
func (t *Tokens) get(ctx context.Context, tenant string, a *OAuth2, via http.RoundTripper) (string, *Error) {
	key := a.key()
	if value, ok := t.find(key); ok {
		return value, nil
	}
	if ctx.Err() != nil { // nobody would wait for it
		return "", gaveUp(ctx)
	}
	fetched := t.flight.DoChan(key, func() (_ any, err error) {
		defer func() {
			if recover() != nil { // nobody is above this goroutine
				err = noToken(ClassMalformed, 0, nil)
			}
		}()
		if value, ok := t.find(key); ok {
			return value, nil // it came between our look and this
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		value, life, err := a.fetch(ctx, via)
		if err != nil {
			return "", err
		}
		t.keep(tenant, key, value, life)
		return value, nil
	})
	select {
	case r := <-fetched:
		var e *Error
		if errors.As(r.Err, &e) {
			return "", e
		}
		return r.Val.(string), nil
	case <-ctx.Done():
		return "", gaveUp(ctx)
	}
}

func gaveUp(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return noToken(ClassTimeout, 0, ctx.Err())
	}
	return &Error{Class: ClassCanceled, Err: ctx.Err()}
}

// fetch asks for a token and says how long it lives. The error is an *Error and holds nothing of what the endpoint said.
func (a *OAuth2) fetch(ctx context.Context, via http.RoundTripper) (value string, life time.Duration, err error) {
	config := clientcredentials.Config{
		ClientID: a.ClientID, ClientSecret: a.ClientSecret, TokenURL: a.TokenURL.String(), Scopes: a.Scopes, AuthStyle: oauth2.AuthStyleInHeader,
	}
	if a.InBody {
		config.AuthStyle = oauth2.AuthStyleInParams
	}
	if a.Audience != "" {
		config.EndpointParams = url.Values{"audience": {a.Audience}}
	}
	asking := context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport:     via,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	token, err := config.Token(asking)
	if err != nil {
		return "", 0, tokenFailure(ctx, err)
	}
	switch {
	case !strings.EqualFold(token.Type(), "Bearer"): // none at all counts as it
		return "", 0, noToken(ClassMalformed, 0, errors.New("the token is of another type than bearer"))
	case !visible(token.AccessToken, '!'):
		return "", 0, noToken(ClassMalformed, 0, errors.New("the token is not printable, or too long"))
	}
	life = tokenUnstated
	if !token.Expiry.IsZero() {
		life = max(0, time.Until(token.Expiry))
	}
	return token.AccessToken, life, nil
}

// tokenFailure says why there is no token.
func tokenFailure(ctx context.Context, err error) *Error {
	var refused *oauth2.RetrieveError
	var below *Error
	var transport *url.Error
	switch {
	case errors.As(err, &refused):
		status := refused.Response.StatusCode
		if refused.ErrorCode == "invalid_client" {
			status = http.StatusUnauthorized // RFC 6749 lets it come with 400
		}
		return noToken(ClassStatus, status, nil)
	case errors.As(err, &below):
		return noToken(below.Class, 0, below.Err)
	case errors.As(err, &transport):
		return noToken(classify(ctx, transport.Err), 0, transport.Err)
	}
	return noToken(ClassMalformed, 0, nil)
}

// noToken is the failure to get a token because of what class says about the token endpoint. Only the statuses that refuse the client are
// those of the error: the others would look like the peer's.
func noToken(c Class, status int, err error) *Error {
	e := &Error{Class: ClassToken, Err: &tokenError{class: c, status: status, err: err}}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.Status = status
	}
	return e
}

// tokenError says what is wrong with the token endpoint. Its text is all our own.
type tokenError struct {
	class  Class
	status int
	err    error
}

// tokenTrouble says it in words.
var tokenTrouble = map[Class]string{
	ClassBlocked:   "its address may not be dialled",
	ClassDNS:       "its name does not resolve",
	ClassConnect:   "no connection",
	ClassTLS:       "the connection cannot be secured",
	ClassTimeout:   "no answer in time",
	ClassReset:     "the connection was lost",
	ClassTooLarge:  "its answer is too large",
	ClassMalformed: "its answer holds no bearer token",
	ClassNoHTTP:    "it does not speak HTTP",
	ClassPlaintext: "http is not allowed for it",
	ClassBusy:      "as many connections to its address as may be are open",
}

func (e *tokenError) Error() string {
	switch {
	case isRedirect(e.status):
		return fmt.Sprintf("the token endpoint redirects (status %d), which is not followed", e.status)
	case e.status != 0:
		return fmt.Sprintf("the token endpoint answers with status %d", e.status)
	case tokenTrouble[e.class] != "":
		return "the token endpoint: " + tokenTrouble[e.class]
	}
	return "the token endpoint gave none"
}

func (e *tokenError) Unwrap() error { return e.err }

// tokenRoad carries requests to one token endpoint and to nothing else, behind the guard of the client that wants the token. It shows no
// certificate of ours, and none of its exchanges is traced.
type tokenRoad struct {
	client *client
	to     *url.URL
}

func (r tokenRoad) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.String() != r.to.String() {
		return nil, &Error{Class: ClassRedirect}
	}
	if !r.client.guard.speaks(req.URL) {
		return nil, &Error{Class: ClassPlaintext}
	}
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", r.client.agent)
	req.Header.Set("Accept", "application/json")
	t := newTransport(r.client.guard, r.client.roots, r.client.limits.HeaderBytes)
	t.DisableKeepAlives = true
	defer track(t).close()
	defer t.CloseIdleConnections()
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, &Error{Class: ClassNoHTTP} // reads of what comes then are ended by no context
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, tokenBytes+1))
	if err == nil && len(body) > tokenBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// token is what goes with a request to one of the origins. What could not be had a moment ago is not asked for again at once.
func (c *client) token(ctx context.Context) (string, *Error) {
	s := c.secret
	s.mu.Lock()
	failed := s.failed
	if time.Now().After(s.failedTo) {
		failed = nil
	}
	s.mu.Unlock()
	if failed != nil {
		return "", failed
	}
	value, err := c.tokens.get(ctx, c.guard.tenant, s.OAuth2, tokenRoad{client: c, to: s.OAuth2.TokenURL})
	if err != nil {
		if ctx.Err() == nil {
			s.mu.Lock()
			s.failed, s.failedTo = err, time.Now().Add(tokenTimeout)
			s.mu.Unlock()
		}
		return "", err
	}
	s.hide(value)
	return value, nil
}

// unauthenticated is called when a peer refuses the token that a request carried. The next request gets another one, but once a round
// only: who refuses them all would have us fetch for ever.
func (c *client) unauthenticated(token string) {
	s := c.secret
	if s.OAuth2 == nil || token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused {
		return
	}
	s.refused = true
	c.tokens.drop(s.OAuth2.key(), token)
}

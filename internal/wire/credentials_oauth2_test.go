package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loggingIn is a client of a peer by tokens of an endpoint.
func loggingIn(t testing.TB, peer *recorder, e *tokenEndpoint, tokens *Tokens, change func(*OAuth2)) *Client {
	t.Helper()
	a := &OAuth2{TokenURL: mustURL(t, e.URL+"/token"), ClientID: "id", ClientSecret: aSecret, Source: "uid/1"}
	if change != nil {
		change(a)
	}
	return newTestClient(t, Options{
		RootCAs: slices.Concat(pemOf(peer.Server), pemOf(e.Server)), Tokens: tokens, Credentials: Credentials{OAuth2: a, Origins: []string{peer.URL}},
	})
}

func get(t testing.TB, c *Client, u string) error {
	t.Helper()
	_, err := c.Get(within(t, 20*time.Second), mustURL(t, u), nil)
	return err
}

func TestSecurityCredentialsOfOAuth2AreShownAsTheSpecSays(t *testing.T) {
	for name, tc := range map[string]struct {
		inBody bool
		want   url.Values
		basic  bool
	}{
		"Basic": {false, url.Values{"grant_type": {"client_credentials"}, "scope": {"a b"}, "audience": {"peers"}}, true},
		"Post": {true, url.Values{
			"grant_type": {"client_credentials"}, "scope": {"a b"}, "audience": {"peers"}, "client_id": {"id"}, "client_secret": {aSecret},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			peer, e := recording(t, true), issueTokens(t, nil)
			c := loggingIn(t, peer, e, nil, func(a *OAuth2) { a.InBody, a.Scopes, a.Audience = tc.inBody, []string{"a", "b"}, "peers" })
			if e.asked() != 0 {
				t.Fatal("a token was fetched before anybody needed it")
			}
			if err := get(t, c, peer.URL); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]url.Values{tc.want}, e.forms); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := e.all()[0].header.Get("Authorization") != ""; got != tc.basic {
				t.Errorf("Authorization sent = %v, want %v", got, tc.basic)
			}
		})
	}
}

// TestSecurityCredentialsTokensAreKeptForTheirSource: one fetch for many rounds, and another for another Secret, client, scope or audience.
func TestSecurityCredentialsTokensAreKeptForTheirSource(t *testing.T) {
	peer, e, tokens := recording(t, true), issueTokens(t, nil), NewTokens()
	for range 5 {
		if err := get(t, loggingIn(t, peer, e, tokens, nil), peer.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := e.asked(); n != 1 {
		t.Errorf("%d fetches for five rounds of one source, want 1", n)
	}
	for i, change := range []func(*OAuth2){
		func(a *OAuth2) { a.Source = "uid/2" }, func(a *OAuth2) { a.ClientID = "other" }, func(a *OAuth2) { a.Scopes = []string{"x"} },
		func(a *OAuth2) { a.Audience = "x" }, func(a *OAuth2) { a.InBody = true }, func(a *OAuth2) { a.ClientSecret = "other" },
		func(a *OAuth2) { a.TokenURL = a.TokenURL.JoinPath("x") },
	} {
		if err := get(t, loggingIn(t, peer, e, tokens, change), peer.URL); err != nil {
			t.Fatal(err)
		}
		seen := peer.all()
		want := fmt.Sprintf("Bearer issued-%d", i+2)
		if got := seen[len(seen)-1].header.Get("Authorization"); got != want || e.asked() != i+2 {
			t.Errorf("change %d: %q after %d fetches, want %q", i, got, e.asked(), want)
		}
	}
}

func TestSecurityCredentialsTokensEnd(t *testing.T) {
	now := time.Now()
	tokens := NewTokens()
	tokens.now = func() time.Time { return now }
	for name, tc := range map[string]struct {
		life        time.Duration
		still, gone time.Duration
	}{
		"an hour":        {time.Hour, 59 * time.Minute, 59*time.Minute + 31*time.Second},
		"a few seconds":  {10 * time.Second, 4 * time.Second, 6 * time.Second},
		"over already":   {0, -1, 0},
		"it did not say": {tokenUnstated, 4 * time.Minute, 5 * time.Minute},
	} {
		began := now
		tokens.keep("", name, "x", tc.life)
		now = began.Add(tc.still)
		if _, ok := tokens.find(name); !ok {
			t.Errorf("%s: gone after %v", name, tc.still)
		}
		now = began.Add(tc.gone)
		if _, ok := tokens.find(name); ok {
			t.Errorf("%s: still used after %v", name, tc.gone)
		}
		now = began
	}
	for i := range 2 * maxTokens {
		tokens.keep(fmt.Sprint(i%32), fmt.Sprint(i), "x", time.Hour)
	}
	if n := len(tokens.kept); n != maxTokens {
		t.Errorf("%d tokens are kept, want %d", n, maxTokens)
	}
	if _, ok := tokens.find(fmt.Sprint(2*maxTokens - 1)); !ok {
		t.Error("the newest is not among them")
	}
}

// TestSecurityCredentialsARefusedTokenIsReplacedOnceARound: a peer that refuses them all must not have us fetch for ever.
func TestSecurityCredentialsARefusedTokenIsReplacedOnceARound(t *testing.T) {
	e, tokens := issueTokens(t, nil), NewTokens()
	peer := &recorder{}
	s, _ := serveTLS(t, func(w http.ResponseWriter, q *http.Request) {
		peer.note(q)
		if q.Header.Get("Authorization") != "Bearer issued-2" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	peer.Server = s
	ask := func(c *Client) int {
		t.Helper()
		p, err := c.Get(within(t, 10*time.Second), mustURL(t, s.URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Status
	}
	c := loggingIn(t, peer, e, tokens, nil)
	if got := []int{ask(c), ask(c), ask(c)}; !slices.Equal(got, []int{401, 200, 200}) || e.asked() != 2 {
		t.Errorf("statuses %v after %d fetches, want one 401 and a new token", got, e.asked())
	}
	tokens.drop((&OAuth2{TokenURL: mustURL(t, e.URL+"/token"), ClientID: "id", ClientSecret: aSecret, Source: "uid/1"}).key(), "issued-2")
	refusing := loggingIn(t, peer, e, tokens, nil)
	for range 9 {
		fresh := refusing.Fresh()
		ask(fresh)
		fresh.Close()
	}
	if n := e.asked(); n != 4 {
		t.Errorf("%d fetches, want two more for a round in which all is refused", n)
	}
}

func TestSecurityCredentialsARefusalByGRPCDropsTheTokenToo(t *testing.T) {
	e, tokens := issueTokens(t, nil), NewTokens()
	peer := &recorder{}
	s, _ := serveTLS(t, func(w http.ResponseWriter, q *http.Request) {
		peer.note(q)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "16")
	})
	peer.Server = s
	p, err := Open(loggingIn(t, peer, e, tokens, nil), BindingGRPC, Endpoint{URL: mustURL(t, s.URL), Generation: V10})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := p.GetTask(within(t, 10*time.Second), "t1", nil); wantClass(t, err, ClassStatus).Status != 401 {
			t.Error(err)
		}
	}
	if n := e.asked(); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
}

// TestSecurityCredentialsOneFetchServesAllWhoWait: and one who gives up takes it from nobody.
func TestSecurityCredentialsOneFetchServesAllWhoWait(t *testing.T) {
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	e := issueTokens(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = fmt.Fprintf(w, `{"access_token":"issued-%d","token_type":"Bearer"}`, n)
	})
	peer, tokens := recording(t, true), NewTokens()
	c := loggingIn(t, peer, e, tokens, nil)
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	gone := make(chan error, 1)
	go func() { _, err := c.Get(ctx, mustURL(t, peer.URL), nil); gone <- err }()
	<-arrived
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := get(t, loggingIn(t, peer, e, tokens, nil), peer.URL); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	wantClass(t, <-gone, ClassCanceled)
	close(release)
	all.Wait()
	if n := e.asked(); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}

// TestSecurityCredentialsTokenEndpointsThatGiveNothing: each ends in time, and says nothing of what the endpoint said.
func TestSecurityCredentialsTokenEndpointsThatGiveNothing(t *testing.T) {
	stolen := recording(t, true)
	say := func(status int, text string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			write(w, text)
		}
	}
	for name, tc := range map[string]struct {
		answer func(int, http.ResponseWriter, *http.Request)
		status int
		text   string
	}{
		"redirects": {func(_ int, w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, stolen.URL, http.StatusTemporaryRedirect)
		}, 0, "status 307"},
		"redirects to itself": {func(_ int, w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "/token", http.StatusPermanentRedirect)
		}, 0, "status 308"},
		"switches protocols": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nEVIL")
			go func() { // nobody says goodbye
				defer c.Close()
				_, _ = io.Copy(io.Discard, c)
			}()
		}, 0, "does not speak HTTP"},
		"hangs":                    {func(_ int, _ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }, 0, "no answer in time"},
		"is huge":                  {say(200, `{"access_token":"EVIL-`+strings.Repeat("x", tokenBytes)+`"}`), 0, "too large"},
		"gives a long token":       {say(200, `{"token_type":"bearer","access_token":"EVIL-`+strings.Repeat("x", maxSecret)+`"}`), 0, "no bearer token"},
		"gives a line end":         {say(200, `{"token_type":"bearer","access_token":"EVIL\r\nX: y"}`), 0, "no bearer token"},
		"gives a control byte":     {say(200, `{"token_type":"bearer","access_token":"EVIL\u0001"}`), 0, "no bearer token"},
		"gives a space":            {say(200, `{"token_type":"bearer","access_token":"EVIL TEXT"}`), 0, "no bearer token"},
		"gives another type":       {say(200, `{"token_type":"EVIL","access_token":"x"}`), 0, "no bearer token"},
		"gives none":               {say(200, `{"EVIL":1}`), 0, "no bearer token"},
		"gives no JSON":            {say(200, "<EVIL>"), 0, "no bearer token"},
		"refuses the client":       {say(401, `{"error":"invalid_client","error_description":"EVIL"}`), 401, "status 401"},
		"refuses it with 400":      {say(400, `{"error":"invalid_client","error_description":"EVIL"}`), 401, "status 401"},
		"forbids":                  {say(403, "EVIL"), 403, "status 403"},
		"wants another scope":      {say(400, `{"error":"invalid_scope","error_description":"EVIL"}`), 0, "status 400"},
		"is not there":             {say(404, "EVIL"), 0, "status 404"},
		"does not like the type":   {say(415, "EVIL"), 0, "status 415"},
		"fails":                    {say(503, "EVIL"), 0, "status 503"},
		"says an error with a 200": {say(200, `{"error":"EVIL","access_token":"x"}`), 0, "status 200"},
	} {
		t.Run(name, func(t *testing.T) {
			peer, e := recording(t, true), issueTokens(t, tc.answer)
			c := loggingIn(t, peer, e, nil, nil)
			limit := 20 * time.Second
			if name == "hangs" {
				limit = 200 * time.Millisecond
			}
			_, err := c.Get(within(t, limit), mustURL(t, peer.URL), nil)
			got := wantClass(t, err, ClassToken)
			if got.Status != tc.status || !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), "EVIL") {
				t.Errorf("status %d, %q; want %d and %q", got.Status, err, tc.status, tc.text)
			}
			if len(peer.all()) > 0 {
				t.Error("the peer was asked without a token")
			}
			if name == "hangs" {
				e.CloseClientConnections() // ends the fetch that nobody waits for
				return
			}
			_, _ = c.Get(within(t, limit), mustURL(t, peer.URL), nil)
			if n := e.asked(); n != 1 {
				t.Errorf("asked %d times in one round, want 1", n)
			}
		})
	}
	if len(stolen.all()) > 0 {
		t.Errorf("the redirect was followed: %+v", stolen.all())
	}
}

// TestSecurityCredentialsTokenEndpointsSeeNoCertificateOfOurs: it is for the origins alone, as the access token is.
func TestSecurityCredentialsTokenEndpointsSeeNoCertificateOfOurs(t *testing.T) {
	peer, e := recording(t, true), issueTokens(t, nil)
	a := &OAuth2{TokenURL: mustURL(t, e.URL+"/token"), ClientID: "id", ClientSecret: aSecret, Source: "uid/1"}
	c := newTestClient(t, Options{RootCAs: slices.Concat(pemOf(peer.Server), pemOf(e.Server)),
		Credentials: Credentials{OAuth2: a, Certificate: clientCertificate(t), Origins: []string{peer.URL}}})
	if err := get(t, c, peer.URL); err != nil {
		t.Fatal(err)
	}
	if seen := peer.all(); len(seen) != 1 || seen[0].certificates != 1 {
		t.Errorf("the peer was shown %+v, want the certificate", seen)
	}
	if seen := e.all(); len(seen) != 1 || seen[0].certificates != 0 {
		t.Errorf("the token endpoint was shown %+v, want no certificate", seen)
	}
}

// TestSecurityCredentialsTokenEndpointsAreTheOnesThatAreNamed: whoever makes the requests, now or in a later release, has no other road.
func TestSecurityCredentialsTokenEndpointsAreTheOnesThatAreNamed(t *testing.T) {
	peer, e := recording(t, true), issueTokens(t, nil)
	c := loggingIn(t, peer, e, nil, nil)
	road := tokenRoad{client: c.impl, to: mustURL(t, e.URL+"/token")}
	for _, at := range []string{e.URL + "/tokens", e.URL + "/token?x=y", e.URL + "/", peer.URL + "/token"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader("client_secret="+aSecret))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := road.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		wantClass(t, err, ClassRedirect)
	}
	if e.asked() > 0 || len(peer.all()) > 0 {
		t.Error("it was asked all the same")
	}
}

// TestSecurityCredentialsTokenEndpointsAreBehindTheGuard: by address, and by scheme.
func TestSecurityCredentialsTokenEndpointsAreBehindTheGuard(t *testing.T) {
	for name, tc := range map[string]struct {
		url  string
		want string
	}{
		"private":        {"https://10.255.255.1/token", "may not be dialled"},
		"cloud metadata": {"https://169.254.169.254/token", "may not be dialled"},
		"a decimal host": {"https://2852039166/token", "the token endpoint: "},
		"http":           {"http://login.test/token", "http is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			peer := recording(t, true)
			a := &OAuth2{TokenURL: mustURL(t, tc.url), ClientID: "id", ClientSecret: "s"}
			c := newTestClient(t, Options{RootCAs: pemOf(peer.Server), Credentials: Credentials{OAuth2: a, Origins: []string{peer.URL}}})
			err := get(t, c, peer.URL)
			if got := wantClass(t, err, ClassToken); got.Status != 0 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v: %v", err, errors.Unwrap(err))
			}
			if len(peer.all()) > 0 {
				t.Error("the peer was asked without a token")
			}
		})
	}
}

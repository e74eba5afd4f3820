package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shown is what a recording peer saw of one request.
type shown struct {
	method, uri  string
	header       http.Header
	certificates int
}

// recorder is a peer that remembers what it was shown: an HTTPS server that speaks HTTP/2, answers all bindings, and asks every client for
// a certificate.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []shown
}

func (r *recorder) note(q *http.Request) {
	s := shown{method: q.Method, uri: q.RequestURI, header: q.Header.Clone()}
	if q.TLS != nil {
		s.certificates = len(q.TLS.PeerCertificates)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, s)
}

func (r *recorder) all() []shown {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// answer is what a peer of 0.3 says to everything.
func (r *recorder) answer(w http.ResponseWriter, q *http.Request) {
	r.note(q)
	switch {
	case strings.HasPrefix(q.Header.Get("Content-Type"), "application/grpc"):
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "5")
	case q.Header.Get("Accept") == "text/event-stream":
		a := readAsked(q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, event(a, working), event(a, completed))
	default:
		a := readAsked(q.Body)
		w.Header().Set("Content-Type", "application/json")
		if a.ID == nil {
			write(w, task)
			return
		}
		write(w, a.reply(task))
	}
}

func recording(t testing.TB, secure bool) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.answer))
	r.Config.ErrorLog = quiet()
	r.Config.Protocols = new(http.Protocols)
	r.Config.Protocols.SetHTTP1(true)
	r.Config.Protocols.SetHTTP2(secure)
	r.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		r.EnableHTTP2 = true
		r.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

// askEverything asks an address in every way there is: the card, all bindings, streams, and new connections.
func askEverything(t testing.TB, c *Client, base string) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	u := mustURL(t, base)
	for _, client := range []*Client{c, c.Fresh()} {
		_, _ = client.Get(ctx, u.JoinPath("card.json"), nil)
		for _, b := range []Binding{BindingJSONRPC, BindingHTTPJSON, BindingGRPC} {
			p, err := Open(client, b, Endpoint{URL: u.JoinPath("a2a"), Generation: V03})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = p.Send(ctx, ping, SendConfig{})
			if s, err := p.SendStream(ctx, ping, SendConfig{}); err == nil {
				for range s.Events() {
				}
			}
			fresh := p.Fresh()
			_, _ = fresh.GetTask(ctx, "t1", nil)
			fresh.Close()
		}
		if client != c {
			client.Close()
		}
	}
}

const aSecret = "s3cret/+ value"

// kind is one way to show credentials, and how a peer tells that it was shown.
type kind struct {
	set  func(c *Credentials)
	sees func(s shown) bool
	// grpc: gRPC can carry it.
	grpc bool
}

func kindsOfCredentials(t testing.TB, token *url.URL) map[string]kind {
	cert := clientCertificate(t)
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + aSecret))
	header := func(name, value string) kind {
		return kind{func(c *Credentials) { c.Header, c.Value = name, value }, func(s shown) bool { return s.header.Get(name) == value }, true}
	}
	oauth := func(inBody bool) kind {
		return kind{
			func(c *Credentials) {
				c.OAuth2 = &OAuth2{TokenURL: token, ClientID: "id", ClientSecret: aSecret, InBody: inBody, Source: fmt.Sprint(inBody)}
			},
			func(s shown) bool { return strings.HasPrefix(s.header.Get("Authorization"), "Bearer issued-") }, true,
		}
	}
	return map[string]kind{
		"Bearer": header("Authorization", "Bearer s3cret"),
		"Header": header("X-Api-Key", aSecret),
		"Basic":  header("Authorization", "Basic "+basic),
		"Query": {
			func(c *Credentials) { c.Query, c.Value = "api_key", aSecret },
			func(s shown) bool { return strings.Contains(s.uri, "api_key="+url.QueryEscape(aSecret)) }, false,
		},
		"OAuth2 Basic": oauth(false),
		"OAuth2 Post":  oauth(true),
		"Certificate":  {func(c *Credentials) { c.Certificate = cert }, func(s shown) bool { return s.certificates > 0 }, true},
	}
}

func clientCertificate(t testing.TB) *tls.Certificate {
	t.Helper()
	leaf, key, _ := issue(t, "client", nil, nil)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
}

// issue makes a certificate for loopback and localhost, signed by an authority or by itself.
func issue(t testing.TB, name string, by *x509.Certificate, byKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: strings.Contains(name, "CA"), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{name, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if by == nil {
		by, byKey = c, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err = x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// tokenEndpoint issues tokens issued-1, issued-2 and so on; it remembers what it was shown.
type tokenEndpoint struct {
	*recorder
	forms []url.Values
}

func issueTokens(t testing.TB, answer func(n int, w http.ResponseWriter, q *http.Request)) *tokenEndpoint {
	t.Helper()
	e := &tokenEndpoint{recorder: &recorder{}}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_ = q.ParseForm()
		e.note(q)
		e.mu.Lock()
		e.forms = append(e.forms, q.PostForm)
		n := len(e.forms)
		e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if answer != nil {
			answer(n, w, q)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"issued-%d","token_type":"bearer","expires_in":3600}`, n)
	}))
	e.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	e.Config.ErrorLog = quiet()
	e.StartTLS()
	t.Cleanup(e.Close)
	return e
}

// asksOf how often a token was asked for.
func (e *tokenEndpoint) asked() int { return len(e.all()) }

// TestSecurityCredentialsGoToTheirOriginAndNoOther is the confused deputy (C109): a card names any host, a redirect leads anywhere, and the
// operator holds everybody's credentials.
func TestSecurityCredentialsGoToTheirOriginAndNoOther(t *testing.T) {
	endpoint := issueTokens(t, nil)
	for name, k := range kindsOfCredentials(t, mustURL(t, endpoint.URL+"/token")) {
		t.Run(name, func(t *testing.T) {
			own, port, plain := recording(t, true), recording(t, true), recording(t, false)
			roots := slices.Concat(pemOf(own.Server), pemOf(endpoint.Server))
			cred := Credentials{Origins: []string{own.URL}}
			k.set(&cred)
			c := newTestClient(t, Options{RootCAs: roots, Credentials: cred})
			askEverything(t, c, own.URL)
			askEverything(t, c, port.URL)
			askEverything(t, c, plain.URL)
			askEverything(t, c, strings.Replace(own.URL, "https://127.0.0.1", "https://localhost", 1))
			askEverything(t, c, strings.Replace(own.URL, "https:", "http:", 1))
			anonymous := c.Anonymous()
			askEverything(t, anonymous, own.URL)
			anonymous.Close()

			var with, without int
			for _, s := range own.all() {
				grpc := strings.HasPrefix(s.header.Get("Content-Type"), "application/grpc")
				switch {
				case k.sees(s):
					with++
				case !grpc || k.grpc:
					without++
				}
				if grpc && strings.Contains(s.uri, "?") {
					t.Errorf("gRPC was asked for the method %s, which no server knows", s.uri)
				}
			}
			// Once as itself, once by another name of the same server, once anonymously: a third of the requests is ours.
			if n := len(own.all()); with == 0 || without < with || n < 40 {
				t.Errorf("%d requests with the credential and %d without, of %d", with, without, n)
			}
			if first := own.all()[0]; !k.sees(first) {
				t.Errorf("the card was asked for without it: %+v", first)
			}
			for where, r := range map[string]*recorder{"another port": port, "http": plain} {
				if len(r.all()) < 10 {
					t.Errorf("%s was asked %d times only", where, len(r.all()))
				}
				for _, s := range r.all() {
					if k.sees(s) || s.certificates > 0 || strings.Contains(fmt.Sprint(s), "s3cret") || s.header.Get("Authorization") != "" {
						t.Errorf("%s was shown %+v", where, s)
					}
				}
			}
		})
	}
	for _, s := range endpoint.all() {
		if s.certificates > 0 || s.method != http.MethodPost {
			t.Errorf("the token endpoint was shown %+v", s)
		}
	}
}

// TestSecurityCredentialsReachEveryBindingOfTheirOrigin: each request to the origin carries them, however it is asked.
func TestSecurityCredentialsReachEveryBindingOfTheirOrigin(t *testing.T) {
	endpoint := issueTokens(t, nil)
	for name, k := range kindsOfCredentials(t, mustURL(t, endpoint.URL+"/token")) {
		t.Run(name, func(t *testing.T) {
			own := recording(t, true)
			cred := Credentials{Origins: []string{own.URL}}
			k.set(&cred)
			c := newTestClient(t, Options{RootCAs: slices.Concat(pemOf(own.Server), pemOf(endpoint.Server)), Credentials: cred})
			askEverything(t, c, own.URL)
			var grpc int
			for _, s := range own.all() {
				if strings.HasPrefix(s.header.Get("Content-Type"), "application/grpc") {
					if grpc++; !k.grpc {
						continue
					}
				}
				if !k.sees(s) {
					t.Errorf("asked without it: %s %s", s.method, s.uri)
				}
			}
			if n := len(own.all()); n < 20 || grpc < 6 {
				t.Errorf("%d requests, %d of gRPC", n, grpc)
			}
		})
	}
}

// TestSecurityCredentialsStayOutOfAllThatIsReturned: the peer sends them back in every place and form it can.
func TestSecurityCredentialsStayOutOfAllThatIsReturned(t *testing.T) {
	endpoint := issueTokens(t, nil)
	for name, k := range kindsOfCredentials(t, mustURL(t, endpoint.URL+"/token")) {
		if name == "Certificate" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			peer, ca := serveTLS(t, func(w http.ResponseWriter, q *http.Request) {
				_ = q.ParseForm() // what there is
				said := q.Form.Get("api_key") + q.Header.Get("X-Api-Key") + strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
				w.Header().Set("X-Echo", said)
				w.Header().Set("X-Escaped", url.QueryEscape(said)+" "+strings.ToLower(url.PathEscape(said)))
				switch q.URL.Path {
				case "/moved":
					w.Header().Set("Location", "/here?x=1&"+q.URL.RawQuery)
					w.WriteHeader(http.StatusTemporaryRedirect)
					return
				case "/away":
					w.Header().Set("Location", "https://elsewhere.test/"+url.PathEscape(said)+"?"+q.URL.RawQuery)
					w.WriteHeader(http.StatusTemporaryRedirect)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, ": %s\n\ndata: {\"echo\":%q,\"b64\":%q}\n\n", said, said, base64.StdEncoding.EncodeToString([]byte(said)))
			})
			var mu sync.Mutex
			var told strings.Builder
			cred := Credentials{Origins: []string{peer.URL}}
			k.set(&cred)
			c := newTestClient(t, Options{RootCAs: slices.Concat(ca, pemOf(endpoint.Server)), Credentials: cred, Trace: func(x Exchange) {
				mu.Lock()
				defer mu.Unlock()
				_, _ = fmt.Fprintln(&told, x.URL, x.Request, x.Response, string(x.Body), string(x.Answer), x.Err)
				for _, f := range x.Frames {
					_, _ = fmt.Fprintln(&told, string(f.Data))
				}
			}})
			ctx := within(t, 20*time.Second)
			_, err := c.Get(ctx, mustURL(t, peer.URL+"/away?keep=1"), nil)
			_, _ = fmt.Fprintln(&told, err, wantClass(t, err, ClassRedirect).Location)
			for from, to := range map[string]string{"/moved?keep=1": "/here?x=1&keep=1", "/card?keep=1": "/card?keep=1"} {
				p, err := c.Get(ctx, mustURL(t, peer.URL+from), nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.FinalURL.RequestURI(); got != to {
					t.Errorf("%s led to %s, want %s", from, got, to)
				}
			}
			j := &jsonRPC{client: c, at: Endpoint{URL: mustURL(t, peer.URL+"/a2a"), Generation: V03}}
			s, err := j.SendStream(ctx, ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			all(t, s)
			s.End()
			mu.Lock()
			defer mu.Unlock()
			text := told.String()
			if !strings.Contains(text, blotted) || !strings.Contains(text, "/a2a") {
				t.Fatalf("the trace does not tell what happened: %s", text)
			}
			if strings.Contains(text, "/token") {
				t.Errorf("the trace tells of the token endpoint: %s", text)
			}
			encoded := base64.StdEncoding.EncodeToString([]byte("user:" + aSecret))
			for _, secret := range []string{"s3cret", aSecret, url.QueryEscape(aSecret), strings.ToLower(url.PathEscape(aSecret)), encoded, "issued-1",
				base64.StdEncoding.EncodeToString([]byte(aSecret)), "czNjcmV0"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q is told: %s", secret, text)
				}
			}
		})
	}
}

func TestSecurityCredentialsThatCannotBeSentAreRefusedWithoutTellingThem(t *testing.T) {
	token := mustURL(t, "https://login.test/token")
	long := strings.Repeat("s3cret", maxSecret)
	for name, c := range map[string]Credentials{
		"two at once":                {Header: "X-Key", Query: "key", Value: "s3cret"},
		"OAuth2 and a header":        {Header: "X-Key", Value: "s3cret", OAuth2: &OAuth2{TokenURL: token, ClientID: "a", ClientSecret: "s3cret"}},
		"a value and no name":        {Value: "s3cret"},
		"a query name with a space":  {Query: "api key", Value: "s3cret"},
		"a query value in two lines": {Query: "key", Value: "s3cret\nx"},
		"a long value":               {Header: "X-Key", Value: long},
		"a long query value":         {Query: "key", Value: long},
		"no client secret":           {OAuth2: &OAuth2{TokenURL: token, ClientID: "a"}},
		"a client secret in two":     {OAuth2: &OAuth2{TokenURL: token, ClientID: "a", ClientSecret: "s3cret\r"}},
		"no token URL":               {OAuth2: &OAuth2{ClientID: "a", ClientSecret: "s3cret"}},
		"a token URL with a user":    {OAuth2: &OAuth2{TokenURL: mustURL(t, "https://u:s3cret@login.test/"), ClientID: "a", ClientSecret: "s3cret"}},
		"a token URL with a query":   {OAuth2: &OAuth2{TokenURL: mustURL(t, "https://login.test/?s3cret"), ClientID: "a", ClientSecret: "s3cret"}},
		"a relative token URL":       {OAuth2: &OAuth2{TokenURL: mustURL(t, "/token"), ClientID: "a", ClientSecret: "s3cret"}},
		"a scope with a space":       {OAuth2: &OAuth2{TokenURL: token, ClientID: "a", ClientSecret: "s3cret", Scopes: []string{"a b"}}},
		"a certificate without key":  {Certificate: &tls.Certificate{Certificate: [][]byte{{1}}}},
	} {
		if _, err := NewClient(Options{Credentials: c}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewClient(Options{Credentials: Credentials{Origins: []string{"https://peer.test"}}, ServerName: "x"}); err != nil {
		t.Errorf("origins that only a server name is for: %v", err)
	}
}

// TestSecurityCredentialsTakeNoHeaderOfTheProtocol: what the API refuses, the wire refuses too.
func TestSecurityCredentialsTakeNoHeaderOfTheProtocol(t *testing.T) {
	rule, err := os.ReadFile("../../api/v1alpha1/endpoint_types.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(rule), "self.lowerAscii() in ['")
	list, _, ok2 := strings.Cut(list, "']")
	names := strings.Split(list, "', '")
	if !ok || !ok2 || !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(reserved))) {
		t.Errorf("the API refuses %q, the wire %q", names, reserved)
	}
	for _, n := range append(names, "A2A-Version", "a2a-extensions", "Content-Type") {
		if checkHeader(n, "x") == nil {
			t.Errorf("%s may carry a credential", n)
		}
	}
}

// TestSecurityCredentialsPinsAndServerName: they narrow what is taken for the peer, at its origins and nowhere else.
func TestSecurityCredentialsPinsAndServerName(t *testing.T) {
	root, rootKey, rootPEM := issue(t, "root CA", nil, nil)
	middle, middleKey, _ := issue(t, "middle CA", root, rootKey)
	leaf, leafKey, _ := issue(t, "peer.test", middle, middleKey)
	stray, _, _ := issue(t, "stray CA", nil, nil)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, "{}") }))
	s.Config.ErrorLog = quiet()
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{
		{Certificate: [][]byte{leaf.Raw, middle.Raw, stray.Raw}, PrivateKey: leafKey},
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	pin := func(list ...*x509.Certificate) (pins [][sha256.Size]byte) {
		for _, c := range list {
			pins = append(pins, sha256.Sum256(c.RawSubjectPublicKeyInfo))
		}
		return pins
	}
	for name, tc := range map[string]struct {
		o       Options
		foreign bool
		want    Class
	}{
		"the leaf":         {o: Options{SPKI: pin(leaf)}},
		"the intermediate": {o: Options{SPKI: pin(middle)}},
		"the root":         {o: Options{SPKI: pin(root)}},
		"one of two":       {o: Options{SPKI: pin(stray, leaf)}},
		"another key":      {o: Options{SPKI: pin(clientLeaf(t))}, want: ClassTLS},
		"a certificate that is sent, but not used": {o: Options{SPKI: pin(stray)}, want: ClassTLS},
		"another key, and another origin":          {o: Options{SPKI: pin(stray)}, foreign: true},
		"the name":                                 {o: Options{ServerName: "peer.test"}},
		"another name":                             {o: Options{ServerName: "other.test"}, want: ClassTLS},
		"another name, and another origin":         {o: Options{ServerName: "other.test"}, foreign: true},
		"a pin on a certificate nobody trusts":     {o: Options{SPKI: pin(leaf), RootCAs: pemOfRaw(stray.Raw)}, want: ClassTLS},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.o
			o.Credentials.Origins = []string{s.URL}
			if tc.foreign {
				o.Credentials.Origins = []string{"https://127.0.0.1:1"}
			}
			if o.RootCAs == nil {
				o.RootCAs = rootPEM
			}
			c := newTestClient(t, o)
			_, err := c.Get(within(t, 10*time.Second), mustURL(t, s.URL), nil)
			p, _ := Open(c, BindingGRPC, Endpoint{URL: mustURL(t, s.URL), Generation: V10})
			_, grpcErr := p.GetTask(within(t, 10*time.Second), "t1", nil)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err, errors.Unwrap(err))
				}
				wantClass(t, grpcErr, ClassMediaType)
				return
			}
			wantClass(t, err, tc.want)
			wantClass(t, grpcErr, tc.want)
		})
	}
}

func clientLeaf(t testing.TB) *x509.Certificate {
	c, _, _ := issue(t, "client", nil, nil)
	return c
}

func pemOfRaw(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

package probe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// gate stands before a scripted agent and lets in whoever shows what it wants; everybody else gets status.
func gate(t *testing.T, a *agent.Agent, wants func(*http.Request) bool, status int) (base string, roots []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wants(r) {
			http.Error(w, "no", status)
			return
		}
		q := r.URL.Query()
		q.Del("api_key")
		r.URL.RawQuery = q.Encode()
		a.Handler().ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(func() { s.Close(); a.Close() })
	return s.URL, certificateOf(s)
}

func certificateOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// issuer is a token endpoint that gives issued-1 and so on, or status where that is not 200.
func issuer(t *testing.T, status int) *httptest.Server {
	t.Helper()
	n := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"access_token":"issued-%d","token_type":"bearer","expires_in":600,"error_description":"EVIL"}`, n)
	}))
	t.Cleanup(s.Close)
	return s
}

// showing is each kind of credential, and how an agent knows it.
func showing(t *testing.T, token *httptest.Server) map[string]struct {
	set  func(*wire.Credentials)
	sees func(*http.Request) bool
} {
	t.Helper()
	type way = struct {
		set  func(*wire.Credentials)
		sees func(*http.Request) bool
	}
	header := func(name, value string) way {
		return way{func(c *wire.Credentials) { c.Header, c.Value = name, value }, func(r *http.Request) bool { return r.Header.Get(name) == value }}
	}
	cert := clientCertificate(t)
	return map[string]way{
		"Bearer": header("Authorization", "Bearer s3cret"),
		"Header": header("X-Api-Key", "s3cret"),
		"Basic":  header("Authorization", "Basic dXNlcjpzM2NyZXQ="),
		"Query": {func(c *wire.Credentials) { c.Query, c.Value = "api_key", "s3cret" },
			func(r *http.Request) bool { return r.URL.Query().Get("api_key") == "s3cret" }},
		"OAuth2": {func(c *wire.Credentials) {
			u, _ := url.Parse(token.URL + "/token")
			c.OAuth2 = &wire.OAuth2{TokenURL: u, ClientID: "id", ClientSecret: "s3cret"}
		}, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Bearer issued-") }},
		"Certificate": {func(c *wire.Credentials) { c.Certificate = cert }, func(r *http.Request) bool { return len(r.TLS.PeerCertificates) > 0 }},
	}
}

func clientCertificate(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// TestSecurityCredentialsOfEachKindCarryARound: an agent that wants them is trusted with them, and one that refuses them is accused of
// nothing, as long as it does.
func TestSecurityCredentialsOfEachKindCarryARound(t *testing.T) {
	token := issuer(t, http.StatusOK)
	for name, k := range showing(t, token) {
		t.Run(name, func(t *testing.T) {
			base, roots := gate(t, with(agent.V10), k.sees, http.StatusUnauthorized)
			job := jobFor(t, base, trust.Streaming)
			job.Target.RootCAs = append(roots, certificateOf(token)...)
			rep := runJob(t, job)
			if r := rep.Round.Reach; r.Outcome != trust.Inconclusive || r.Reason != trust.ReasonAuthenticationRequired {
				t.Errorf("without credentials: %+v", r)
			}
			job.Target.Credentials.Origins = []string{base}
			k.set(&job.Target.Credentials)
			check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Honored})
		})
	}
}

// TestSecurityCredentialsThatAreRefusedAccuseNobody: whatever is refused, the card or the tasks alone, and with which status.
func TestSecurityCredentialsThatAreRefusedAccuseNobody(t *testing.T) {
	token := issuer(t, http.StatusOK)
	for name, k := range showing(t, token) {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			for what, wants := range map[string]func(*http.Request) bool{
				"all":   func(*http.Request) bool { return false },
				"tasks": func(r *http.Request) bool { return r.Method == http.MethodGet },
			} {
				t.Run(fmt.Sprint(name, " ", status, " ", what), func(t *testing.T) {
					base, roots := gate(t, with(agent.V10), wants, status)
					job := jobFor(t, base, trust.Streaming)
					job.Target.RootCAs = append(roots, certificateOf(token)...)
					job.Target.Credentials.Origins = []string{base}
					k.set(&job.Target.Credentials)
					rep := runJob(t, job)
					if r := rep.Round.Reach; r.Outcome != trust.Inconclusive || r.Reason != trust.ReasonCredentialsRejected {
						t.Errorf("reach is %+v", r)
					}
					for _, o := range rep.Round.Observations {
						if o.Outcome != trust.Inconclusive {
							t.Errorf("%+v", o)
						}
					}
				})
			}
		}
	}
}

// TestSecurityCredentialsARefusalByTheQuestionAlone: reachability is not asked by a task, so that the question itself meets the refusal.
func TestSecurityCredentialsARefusalByTheQuestionAlone(t *testing.T) {
	base, roots := gate(t, with(agent.V10), func(r *http.Request) bool { return r.Method == http.MethodGet }, http.StatusUnauthorized)
	job := jobFor(t, base, trust.Streaming)
	job.CardAndTask = false
	job.Target.RootCAs = roots
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonAuthenticationRequired})
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer s3cret", Origins: []string{base}}
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCredentialsRejected})
	job.Target.Credentials.Origins = []string{"https://elsewhere.test"}
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonAuthenticationRequired})
}

// TestSecurityCredentialsATokenEndpointsFaultIsNotTheAgents: not even where its status is one that says something about a card.
func TestSecurityCredentialsATokenEndpointsFaultIsNotTheAgents(t *testing.T) {
	for status, reason := range map[int]trust.Reason{
		401: trust.ReasonCredentialsRejected, 404: trust.ReasonTokenUnavailable, 410: trust.ReasonTokenUnavailable, 503: trust.ReasonTokenUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			token := issuer(t, status)
			a := with(agent.V10)
			base, roots := gate(t, a, func(*http.Request) bool { return true }, 0)
			job := jobFor(t, base, trust.Streaming)
			job.Target.RootCAs = append(roots, certificateOf(token)...)
			job.Target.Credentials.Origins = []string{base}
			showing(t, token)["OAuth2"].set(&job.Target.Credentials)
			rep := runJob(t, job)
			if r := rep.Round.Reach; r.Outcome != trust.Inconclusive || r.Reason != reason || strings.Contains(fmt.Sprint(rep), "EVIL") {
				t.Errorf("reach is %+v", r)
			}
			if n := len(a.Requests()); n > 0 {
				t.Errorf("the agent was asked %d times without the token", n)
			}
		})
	}
}

// TestSecurityCredentialsStayOnTheOriginOfTheSpecForAWholeRound: the card names interfaces elsewhere, one of them allowed.
func TestSecurityCredentialsStayOnTheOriginOfTheSpecForAWholeRound(t *testing.T) {
	token := issuer(t, http.StatusOK)
	for name, k := range showing(t, token) {
		t.Run(name, func(t *testing.T) {
			shown := make(chan string, 1000)
			a := with(agent.V10)
			elsewhere, elsewhereRoots := gate(t, a, func(r *http.Request) bool {
				if k.sees(r) || len(r.TLS.PeerCertificates) > 0 || r.Header.Get("Authorization") != "" {
					shown <- r.Method + " " + r.URL.Path
				}
				return true
			}, 0)
			card := fmt.Sprintf(`{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
				"capabilities":{"streaming":true},"skills":[],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}`, elsewhere+"/")
			home := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !k.sees(r) {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(card))
			}))
			home.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
			home.StartTLS()
			t.Cleanup(home.Close)
			job := jobFor(t, home.URL, trust.Streaming)
			job.Target.RootCAs = append(append(certificateOf(home), elsewhereRoots...), certificateOf(token)...)
			job.Target.AllowedOrigins = []string{elsewhere}
			job.Target.Credentials.Origins = []string{home.URL}
			k.set(&job.Target.Credentials)
			check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Honored})
			if len(a.Requests()) == 0 {
				t.Error("the interface was never asked")
			}
			close(shown)
			for s := range shown {
				t.Errorf("shown the credential: %s", s)
			}
		})
	}
}

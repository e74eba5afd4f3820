package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// signs makes the agent serve its own card, signed, and returns the JWK set of its key.
func signs(t *testing.T, a *agent.Agent, base string) []byte {
	t.Helper()
	raw := []byte(servedCard(t, base))
	payload, err := jcs.Transform(raw)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	protected := b64([]byte(`{"alg":"ES256","kid":"k"}`))
	sum := sha256.Sum256([]byte(protected + "." + b64(payload)))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	members["signatures"] = json.RawMessage(fmt.Sprintf(`[{"protected":%q,"signature":%q}]`, protected, signature))
	signed, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	a.Set(agent.With(func(c *agent.Config) { c.Card.Raw = string(signed) }))
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return []byte(fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:])))
}

func TestSecuritySignatureOfARound(t *testing.T) {
	a := with(agent.V10)
	base := a.Start(t)
	keys := signs(t, a, base)

	var asked atomic.Int32
	var leaked atomic.Bool
	status := atomic.Int32{}
	status.Store(http.StatusOK)
	jwks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			leaked.Store(true)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(keys)
	}))
	defer jwks.Close()
	at, err := url.Parse(jwks.URL + "/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: jwks.Certificate().Raw})
	der, err := x509.MarshalPKIXPublicKey(jwks.Certificate().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	foreign := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})

	cheap := func(v Verification, origins ...string) trust.Signature {
		t.Helper()
		job := jobFor(t, base)
		job.Kind, job.Target.Verification, job.Target.AllowedOrigins, job.Target.RootCAs = trust.Reachability, v, origins, bundle
		job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{base, jwks.URL}}
		rep := Run(context.Background(), Env{Egress: agent.Loopback()}, job)
		if rep.Round.Reach.Outcome != trust.Honored || len(rep.Round.Observations) > 0 {
			t.Errorf("the round came to %+v", rep.Round)
		}
		if got := rep.Round.Signature.KeysDigest; got != v.Digest() {
			t.Errorf("verified with %q, want %q: other keys would not be noticed", got, v.Digest())
		}
		return rep.Round.Signature
	}
	want := func(what string, got trust.Signature, result trust.SignatureResult, reason trust.Reason) {
		t.Helper()
		if got.Result != result || got.Reason != reason {
			t.Errorf("%s: %+v, want %s (%s)", what, got, result, reason)
		}
	}
	want("not wanted", cheap(Verification{}), "", "")
	want("a pinned key", cheap(Verification{Wanted: true, Keys: [][]byte{keys}}), trust.SignatureVerified, trust.ReasonSignatureVerified)
	want("no key", cheap(Verification{Wanted: true}), trust.SignatureUnverifiable, trust.ReasonSignatureKeyUnknown)
	if asked.Load() != 0 {
		t.Error("a JWK set was fetched that nobody named")
	}
	want("a fetched key", cheap(Verification{Wanted: true, JWKS: at}, jwks.URL), trust.SignatureVerified, trust.ReasonSignatureVerified)
	if asked.Load() != 1 || leaked.Load() {
		t.Errorf("the JWK set was asked for %d times, with credentials: %v; want once and without", asked.Load(), leaked.Load())
	}
	want("an origin that the spec does not name", cheap(Verification{Wanted: true, JWKS: at}), trust.SignatureUnverifiable,
		trust.ReasonSignatureKeysUnavailable)
	if asked.Load() != 1 {
		t.Error("an origin was asked that the spec does not name")
	}
	status.Store(http.StatusServiceUnavailable)
	want("no set to be had", cheap(Verification{Wanted: true, JWKS: at}, jwks.URL), trust.SignatureUnverifiable, trust.ReasonSignatureKeysUnavailable)
	want("no set, and a pinned key", cheap(Verification{Wanted: true, JWKS: at, Keys: [][]byte{foreign, keys}}, jwks.URL),
		trust.SignatureVerified, trust.ReasonSignatureVerified)

	a.Set(agent.With(func(c *agent.Config) { c.Card.Raw = "" }))
	before := asked.Load()
	want("no signature", cheap(Verification{Wanted: true, JWKS: at}, jwks.URL), trust.SignatureAbsent, trust.ReasonSignatureAbsent)
	if asked.Load() != before {
		t.Error("keys were fetched for a card without signatures")
	}
}

// Keys that are taken away must stop counting although the card stays as it is.
func TestSecuritySignatureReadsTheCardWhole(t *testing.T) {
	a := with(agent.V10)
	base := a.Start(t)
	keys := signs(t, a, base)
	job := jobFor(t, base)
	job.Kind = trust.Reachability
	first := Run(context.Background(), Env{Egress: agent.Loopback()}, job)
	job.ETag, job.Known = first.ETag, &Known{Interface: *first.Interface, Generation: first.WireGeneration, Claims: first.Round.Claims}
	if rep := Run(context.Background(), Env{Egress: agent.Loopback()}, job); rep.Card != nil {
		t.Error("the card was served anew without need")
	}
	job.Target.Verification = Verification{Wanted: true, Keys: [][]byte{keys}}
	if rep := Run(context.Background(), Env{Egress: agent.Loopback()}, job); rep.Round.Signature.Result != trust.SignatureVerified {
		t.Errorf("the signature came to %+v", rep.Round.Signature)
	}
}

// A signed card can be copied to any address, so the signature has to cover the one that is used.
func TestSecuritySignatureOfAnotherAddress(t *testing.T) {
	a := with(agent.V10)
	base := a.Start(t)
	verified := trust.ReasonSignatureVerified
	other := trust.ReasonSignatureOtherAddress
	liar := httptest.NewServer(a.Handler()) // serves the same card and answers as well
	defer liar.Close()
	nowhere := func(raw string) string { return strings.ReplaceAll(raw, base, "") }
	signed := func(change func(raw string) string) (keys []byte, in *url.URL) {
		t.Helper()
		a.Set(agent.With(func(c *agent.Config) { c.Card.Raw = "" }))
		raw := servedCard(t, base)
		own, err := card.Parse([]byte(raw), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Set(agent.With(func(c *agent.Config) { c.Card.Raw = change(raw) }))
		return signs(t, a, base), own.Interfaces[0].URL
	}
	a.SetURL(base)
	for name, c := range map[string]struct {
		change   func(raw string) string
		at       string
		endpoint bool
		closed   bool
		origins  []string
		reach    trust.Outcome
		want     trust.Reason
	}{
		"at home":                                {at: base, reach: trust.Honored, want: verified},
		"elsewhere, and the card leads home":     {at: liar.URL, origins: []string{base}, reach: trust.Honored, want: verified},
		"elsewhere, and home is not allowed":     {at: liar.URL, reach: trust.Inconclusive, want: other},
		"elsewhere by the spec's own address":    {at: liar.URL, endpoint: true, reach: trust.Honored, want: other},
		"the spec's address is that of the card": {at: base, endpoint: true, reach: trust.Honored, want: verified},
		"the card leads wherever it is":          {at: base, change: nowhere, reach: trust.Honored, want: other},
		"the same, and nobody answers":           {at: base, change: nowhere, closed: true, reach: trust.Inconclusive, want: other},
		"at home, and nobody answers":            {at: base, closed: true, reach: trust.Inconclusive, want: verified},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change == nil {
				c.change = func(raw string) string { return raw }
			}
			keys, in := signed(c.change)
			a.Set(agent.With(func(k *agent.Config) {
				k.HTTP = nil
				if c.closed {
					k.HTTP = []agent.Fault{{On: "post", Status: http.StatusServiceUnavailable}}
				}
			}))
			job := jobFor(t, c.at+in.Path)
			job.Kind, job.Target.CardPath, job.Target.AllowedOrigins = trust.Reachability, "/"+cardName, c.origins
			job.Target.Verification = Verification{Wanted: true, Keys: [][]byte{keys}}
			job.Target.Preference = card.Preference{FromEndpoint: c.endpoint, Endpoint: job.Target.URL}
			rep := runJob(t, job)
			got := rep.Round.Signature
			if got.Result != trust.SignatureVerified || got.Reason != c.want || got.Partial != (c.want == other) || rep.Round.Reach.Outcome != c.reach {
				t.Errorf("%+v, %s (%s); want %s and %s", got, rep.Round.Reach.Outcome, rep.Round.Reach.Reason, c.want, c.reach)
			}
		})
	}
}

// servedCard is the card as an agent serves it.
func servedCard(t *testing.T, base string) string {
	t.Helper()
	answer, err := http.Get(base + "/" + cardName)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestVerificationDigest(t *testing.T) {
	at, _ := url.Parse("https://a/jwks.json") // parses
	key := []byte(`{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`)
	seen := map[string]bool{}
	for _, v := range []Verification{{}, {Keys: [][]byte{key}}, {JWKS: at}, {Keys: [][]byte{key}, JWKS: at}} {
		seen[v.Digest()] = true
	}
	if len(seen) != 4 || !seen[""] {
		t.Errorf("digests %v", seen)
	}
	if v := (Verification{Keys: [][]byte{key}}); !v.Knows("k") || v.Knows("other") || v.Knows("") {
		t.Error("the key is not known by its id, or another is")
	}
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
)

// signedFor is a card for an agent at base, signed in the canonical form, and a file with the key.
func signedFor(t *testing.T, base string) (card, keys string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	card = fmt.Sprintf(`{"name":"planner","description":"Plans routes.","version":"1","capabilities":{"streaming":true},
		"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"defaultInputModes":["text/plain"],
		"defaultOutputModes":["text/plain"],"skills":[{"id":"plan","name":"Plan","description":"Plans.","tags":["routes"]}]}`, base+"/a2a")
	payload, err := jcs.Transform([]byte(card))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: "k1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(compact, ".")
	card = strings.TrimSuffix(card, "}") + fmt.Sprintf(`,"signatures":[{"protected":%q,"signature":%q}]}`, parts[0], parts[2])
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "k1"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys = filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(keys, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return card, keys
}

// Nothing but the card is served, so that the check can say no more than what became of its signatures.
func TestSecuritySignatureIsVerifiedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bend           func(card string) string
		result, reason string
		code           int
	}{
		"the card as it was signed": {func(c string) string { return c }, "Verified", "SignatureVerified", exitUnclear},
		"a card that was changed": {func(c string) string { return strings.Replace(c, "Plans routes.", "Plans wars.", 1) },
			"Invalid", "SignatureInvalid", exitDiverged},
		"a card without a signature": {func(c string) string { return strings.Replace(c, `"signatures"`, `"others"`, 1) },
			"Absent", "SignatureAbsent", exitDiverged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var card string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(card))
			}))
			defer s.Close()
			whole, keys := signedFor(t, s.URL)
			card = tc.bend(whole)
			code, out, errs := checks(t, s.URL, "--card-keys", keys, "-o", "json")
			got := decoded(t, out).Card.Signature
			if got == nil || got.Result != tc.result || got.Reason != tc.reason || got.Partial || code != tc.code {
				t.Errorf("exit code %d and signature %+v, want %d and %s\n%s", code, got, tc.code, tc.result, errs)
			}
			if _, table, _ := checks(t, s.URL, "--card-keys", keys); !strings.Contains(table, "SIGNATURE") || !strings.Contains(table, tc.result) {
				t.Errorf("the table does not show the signature:\n%s", table)
			}
			if _, out, _ := checks(t, s.URL, "-o", "json"); decoded(t, out).Card.Signature != nil {
				t.Error("a signature is shown although nobody asked")
			}
		})
	}
}

// An SDK's signed card that names another address says nothing about who answers here.
func TestSecuritySignatureOfAnotherAddressFailsTheCheck(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "internal", "card", "testdata", "signatures")
	signed, err := os.ReadFile(filepath.Join(folder, "plain.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(signed) }))
	defer s.Close()
	code, out, _ := checks(t, s.URL, "--card-keys", filepath.Join(folder, "jwks.json"), "-o", "json")
	if got := decoded(t, out).Card.Signature; got == nil || got.Result != "Verified" || !got.Partial || got.Reason != "SignatureOtherAddress" || code != exitDiverged {
		t.Errorf("exit code %d and signature %+v, want 1 and Verified for another address", code, got)
	}
}

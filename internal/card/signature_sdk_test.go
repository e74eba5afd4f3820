package card

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
)

func readSigned(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "signatures", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parseSigned(t testing.TB, raw []byte) *Card {
	t.Helper()
	c, err := Parse(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustKeys(t testing.TB, document []byte) Keys {
	t.Helper()
	keys, err := ParseKeys(document)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestSecuritySignatureOfSDKs verifies cards as @a2a-js/sdk 1.3.0 signs and serves them.
func TestSecuritySignatureOfSDKs(t *testing.T) {
	stands := func(result trust.SignatureResult, why trust.Reason, variant string, partial bool) trust.Signature {
		return trust.Signature{Result: result, Reason: why, Variant: variant, Partial: partial, KeyID: "card-2026", Algorithm: "ES256"}
	}
	verified := stands(trust.SignatureVerified, trust.ReasonSignatureVerified, "", false)
	loose := stands(trust.SignatureVerifiedNonCanonical, trust.ReasonSignatureNonCanonical, trust.EmptiesDropped, false)
	partial := stands(trust.SignatureVerifiedNonCanonical, trust.ReasonSignaturePartial, trust.EmptiesDropped, true)
	invalid := trust.Signature{Result: trust.SignatureInvalid, Reason: trust.ReasonSignatureInvalid}
	old := verified
	old.KeyID, old.Algorithm = "card-2025", "RS256"

	tests := map[string]struct {
		file, keys string
		want       trust.Signature
		reason     string
	}{
		"a plain card":                   {"plain", "current", verified, "what the SDK leaves out are defaults"},
		"empty required members":         {"empties", "current", loose, "the SDK drops REQUIRED members too, which say nothing when empty"},
		"the same as ProtoJSON":          {"empties-protojson", "current", verified, "what is served is what was signed"},
		"security schemes":               {"schemes", "current", invalid, "what is served was never signed (a2a-js issue 663)"},
		"the same as ProtoJSON too":      {"schemes-protojson", "current", invalid, "no form leaves out members that are not empty"},
		"security schemes given as JSON": {"schemes-given-json", "current", verified, "then the SDK signs them"},
		"schemes that say it by presence": {"mtls-given-json", "current", partial,
			"an empty scheme is a statement, and anybody could add or remove it"},
		"two signatures, the new key known":  {"rotated", "current", verified, "one that stands is enough"},
		"two signatures, both keys known":    {"rotated", "jwks", old, "the first of equals"},
		"two signatures, before the old key": {"plain", "jwks", verified, "keys that signed nothing do no harm"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := parseSigned(t, readSigned(t, test.file)).Verify(mustKeys(t, readSigned(t, test.keys)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The measured table of the wire reference, section 11: which form each signature stands over.
func TestSecuritySignatureForms(t *testing.T) {
	tests := map[string]string{
		"plain":              "B - D C",
		"empties":            "- - D -",
		"empties-protojson":  "B A D C",
		"schemes":            "- - - -",
		"schemes-protojson":  "- - - -",
		"schemes-given-json": "B A D C",
		"mtls-given-json":    "- - D C",
	}
	keys := mustKeys(t, readSigned(t, "current"))
	for file, want := range tests {
		t.Run(file, func(t *testing.T) {
			raw := readSigned(t, file)
			top, _, _ := readObject(raw)
			entries, _ := readArray(top["signatures"])
			entry, ok := readJWS(entries[0])
			if !ok {
				t.Fatal("the signature cannot be read")
			}
			signature, err := jose.ParseDetached(entry.protected+".."+entry.signature, []byte{}, algorithms)
			if err != nil {
				t.Fatal(err)
			}
			f, ok := formsOf(raw)
			if !ok {
				t.Fatal("the card has no forms")
			}
			got := ""
			for i, payload := range [][]byte{f.ruled, f.served, f.ruledBare, f.servedBare} {
				mark := "-"
				if signature.DetachedVerify(payload, keys.list[0].public) == nil {
					mark = "BADC"[i : i+1]
				}
				got += " " + mark
			}
			if got[1:] != want {
				t.Errorf("stands over %s, want %s", got[1:], want)
			}
		})
	}
}

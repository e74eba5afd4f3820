package card

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// signer signs as a card's owner would, or as an attacker.
type signer struct {
	kid, alg string
	private  crypto.Signer
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// header is a protected header; more members are added as they are.
func (s signer) header(more ...string) string {
	return fmt.Sprintf(`{"alg":%q,"kid":%q%s}`, s.alg, s.kid, strings.Join(more, ""))
}

// sign makes an entry of signatures over a payload.
func (s signer) sign(t testing.TB, protected string, payload []byte) string {
	t.Helper()
	input := []byte(b64([]byte(protected)) + "." + b64(payload))
	sum := sha256.Sum256(input)
	var signature []byte
	var err error
	switch key := s.private.(type) {
	case *ecdsa.PrivateKey:
		r, v, e := ecdsa.Sign(rand.Reader, key, sum[:])
		if err = e; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
		}
	case *rsa.PrivateKey:
		if strings.HasPrefix(s.alg, "PS") {
			signature, err = rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		} else {
			signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, input)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"protected":%q,"signature":%q}`, b64([]byte(protected)), b64(signature))
}

func (s signer) pem(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(s.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// keys are the signer's public key, with its id.
func (s signer) keys(t testing.TB) Keys {
	t.Helper()
	keys := mustKeys(t, s.pem(t))
	keys.list[0].id = s.kid
	return keys
}

// The signers are made once: RSA keys take their time.
var (
	owner   = sync.OnceValue(func() signer { return ecSigner("owner", elliptic.P256()) })
	forger  = sync.OnceValue(func() signer { return ecSigner("owner", elliptic.P256()) }) // under the owner's id
	edOwner = sync.OnceValue(func() signer {
		_, key, _ := ed25519.GenerateKey(rand.Reader) // never fails
		return signer{"owner", "EdDSA", key}
	})
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return key
	})
)

func ecSigner(kid string, curve elliptic.Curve) signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return signer{kid, "ES256", key}
}

// cardText is a card of 1.0 as an owner writes it, in the canonical form already.
const cardText = `{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],` +
	`"description":"","name":"Planner","securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},"skills":[],` +
	`"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://peer.test/a2a"}],"version":"1"}`

// carry puts signatures into a card.
func carry(t testing.TB, text string, entries ...string) []byte {
	t.Helper()
	if !strings.HasSuffix(text, "}") {
		t.Fatal("not an object")
	}
	return []byte(text[:len(text)-1] + `,"signatures":[` + strings.Join(entries, ",") + `]}`)
}

// over is the canonical spelling of a text.
func over(t testing.TB, text string) []byte {
	t.Helper()
	out, err := jcs.Transform([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func result(s trust.Signature) string {
	text := fmt.Sprintf("%s %s", s.Result, s.Reason)
	if s.Variant != "" {
		text += " " + s.Variant
	}
	if s.Partial {
		text += " partial"
	}
	if s.KeyID != "" {
		text += " by " + s.KeyID
	}
	return strings.TrimSpace(text + " " + s.Algorithm)
}

func TestSecuritySignatureAlgorithms(t *testing.T) {
	for name, s := range map[string]signer{
		"ES256": owner(),
		"EdDSA": edOwner(),
		"RS256": {"owner", "RS256", rsaKey()},
		"PS256": {"owner", "PS256", rsaKey()},
	} {
		t.Run(name, func(t *testing.T) {
			c := parseSigned(t, carry(t, cardText, s.sign(t, s.header(), over(t, cardText))))
			if got, want := result(c.Verify(s.keys(t))), "Verified SignatureVerified by owner "+name; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestSecuritySignatureRefusals(t *testing.T) {
	s := owner()
	good := s.sign(t, s.header(), over(t, cardText))
	with := func(old, new string) string {
		t.Helper()
		out := strings.Replace(cardText, old, new, 1)
		if out == cardText {
			t.Fatalf("%q is not in the card", old)
		}
		return out
	}
	public := s.pem(t)
	hmacSigned := func() string {
		header := `{"alg":"HS256","kid":"owner"}`
		mac := hmac.New(sha256.New, public)
		mac.Write([]byte(b64([]byte(header)) + "." + b64(over(t, cardText))))
		return fmt.Sprintf(`{"protected":%q,"signature":%q}`, b64([]byte(header)), b64(mac.Sum(nil)))
	}
	embedded := func() string {
		key := forger().private.Public().(*ecdsa.PublicKey)
		point, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`,"jwk":{"kty":"EC","crv":"P-256","x":%q,"y":%q}`, b64(point[1:33]), b64(point[33:]))
	}
	stranger := signer{"stranger", "ES256", forger().private}
	invalid, unknown := "Invalid SignatureInvalid", "Unverifiable SignatureKeyUnknown"
	malformed, forbidden := "Unverifiable SignatureMalformed", "Unverifiable SignatureAlgorithmNotAllowed"
	signed := func(by signer, header string) []byte {
		return carry(t, cardText, by.sign(t, header, over(t, cardText)))
	}
	raw := func(format string, args ...any) []byte { return carry(t, cardText, fmt.Sprintf(format, args...)) }

	tests := map[string]struct {
		card []byte
		want string
	}{
		"no signatures":                      {[]byte(cardText), "Absent SignatureAbsent"},
		"an empty list":                      {carry(t, cardText), "Absent SignatureAbsent"},
		"null":                               {[]byte(cardText[:len(cardText)-1] + `,"signatures":null}`), "Absent SignatureAbsent"},
		"no list":                            {[]byte(cardText[:len(cardText)-1] + `,"signatures":"x"}`), malformed},
		"an entry that is no object":         {carry(t, cardText, "null", `"x"`, "7"), malformed},
		"another name":                       {carry(t, with(`"Planner"`, `"Plannar"`), good), invalid},
		"another url":                        {carry(t, with("peer.test", "evil.test"), good), invalid},
		"another capability":                 {carry(t, with(`"streaming":false`, `"streaming":true`), good), invalid},
		"a capability added":                 {carry(t, with(`"streaming":false`, `"streaming":false,"pushNotifications":false`), good), invalid},
		"a capability taken away":            {carry(t, with(`{"streaming":false}`, `{}`), good), invalid},
		"a security scheme added":            {carry(t, with(`{"b":`, `{"a":{"mtlsSecurityScheme":{}},"b":`), good), invalid},
		"a security requirement added":       {carry(t, with(`"skills"`, `"securityRequirements":[{}],"skills"`), good), invalid},
		"a scope taken away":                 {carry(t, with(`"scheme":"bearer"`, `"scheme":""`), good), invalid},
		"an unknown member added":            {carry(t, with(`"skills"`, `"a":false,"skills"`), good), invalid},
		"a member of 0.x added":              {carry(t, with(`"skills"`, `"url":"https://evil.test","skills"`), good), invalid},
		"a member in another case":           {carry(t, with(`"name":"Planner"`, `"Name":"Evil","name":"Planner"`), good), invalid},
		"a member twice":                     {carry(t, with(`"name":"Planner"`, `"name":"Evil","name":"Planner"`), good), invalid},
		"a member twice within":              {carry(t, with(`"url":`, `"url":"https://evil.test","url":`), good), invalid},
		"a member twice by an escape":        {carry(t, with(`"name":"Planner"`, `"n\u0061me":"Evil","name":"Planner"`), good), invalid},
		"signatures twice":                   {carry(t, string(carry(t, cardText)), good), invalid},
		"a lone surrogate":                   {carry(t, with(`"Planner"`, `"\ud800"`), good), invalid},
		"by another under the owner's id":    {signed(forger(), s.header()), invalid},
		"by an unknown key":                  {signed(stranger, stranger.header()), unknown},
		"of no algorithm":                    {raw(`{"protected":%q,"signature":""}`, b64([]byte(`{"alg":"none","kid":"owner"}`))), malformed},
		"of no algorithm, with bytes":        {raw(`{"protected":%q,"signature":"AAAA"}`, b64([]byte(`{"alg":"none","kid":"owner"}`))), forbidden},
		"by the public key as a secret":      {carry(t, cardText, hmacSigned()), forbidden},
		"an algorithm that is not the key's": {signed(s, `{"alg":"RS256","kid":"owner"}`), forbidden},
		"an algorithm in small letters":      {signed(s, `{"alg":"es256","kid":"owner"}`), forbidden},
		"a key that it brings along":         {signed(stranger, stranger.header(embedded())), unknown},
		"a key it brings, the owner's id":    {signed(forger(), s.header(embedded())), invalid},
		"a key set of the forger's":          {signed(stranger, stranger.header(`,"jku":"https://evil.test/jwks.json"`)), unknown},
		"an extension that is critical":      {signed(s, s.header(`,"crit":["exp"],"exp":1`)), malformed},
		"an empty list of extensions":        {signed(s, s.header(`,"crit":[]`)), malformed},
		"an unencoded payload":               {signed(s, s.header(`,"crit":["b64"],"b64":false`)), malformed},
		"an unencoded payload in silence":    {signed(s, s.header(`,"b64":false`)), malformed},
		"an algorithm twice":                 {signed(s, `{"alg":"none","alg":"ES256","kid":"owner"}`), malformed},
		"without a key id":                   {signed(s, `{"alg":"ES256"}`), malformed},
		"without an algorithm":               {signed(s, `{"kid":"owner"}`), malformed},
		"a header that is no object":         {signed(s, `["ES256"]`), malformed},
		"a header of one megabyte":           {signed(s, s.header(`,"x":"`+strings.Repeat("x", 1<<20)+`"`)), malformed},
		"padded":                             {[]byte(strings.Replace(string(carry(t, cardText, good)), `","signature"`, `=","signature"`, 1)), malformed},
		"with a line break":                  {[]byte(strings.Replace(string(carry(t, cardText, good)), `","signature"`, `\n","signature"`, 1)), malformed},
	}
	var entry struct{ Protected, Signature string }
	if err := json.Unmarshal([]byte(good), &entry); err != nil {
		t.Fatal(err)
	}
	type row = struct {
		card []byte
		want string
	}
	tests["cut short"] = row{raw(`{"protected":%q,"signature":%q}`, entry.Protected, entry.Signature[:40]), invalid}
	deep := with(`"skills"`, `"x":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`,"skills"`)
	tests["nested too deep, and signed"] = row{carry(t, deep, s.sign(t, s.header(), over(t, deep))), invalid}
	tests["critical in the open header"] = row{raw(`{"protected":%q,"signature":%q,"header":{"crit":["x"]}}`, entry.Protected, entry.Signature), malformed}
	tests["an algorithm in the open header"] = row{raw(`{"protected":%q,"signature":%q,"header":{"alg":"ES256"}}`,
		b64([]byte(`{"kid":"owner"}`)), entry.Signature), malformed}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := result(parseSigned(t, test.card).Verify(s.keys(t))); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestSecuritySignatureCanonicalForm(t *testing.T) {
	s := owner()
	good := s.sign(t, s.header(), over(t, cardText))
	verified := "Verified SignatureVerified by owner ES256"
	bare := over(t, strings.Replace(strings.Replace(cardText, `"description":"",`, "", 1), `"skills":[],`, "", 1))
	loose := s.sign(t, s.header(), bare)
	with := func(old, new string) string { return strings.Replace(cardText, old, new, 1) }
	tests := map[string]struct {
		card         []byte
		want, reason string
	}{
		"as it is": {carry(t, cardText, good), verified, "the form of the rule"},
		"another order and white space": {
			carry(t, "{ \"version\":\"1\",\n"+strings.Replace(cardText[1:], `,"version":"1"`, "", 1), good), verified, "RFC 8785 sorts"},
		"characters escaped":    {carry(t, with("Planner", `\u0050lanner`), good), verified, "RFC 8785 has one spelling"},
		"a byte order mark":     {append([]byte("\xef\xbb\xbf"), carry(t, cardText, good)...), verified, "it is before the card"},
		"defaults added":        {carry(t, with(`"skills"`, `"securityRequirements":[],"skills"`), good), verified, "an empty list is a list that is not there"},
		"a tenant without text": {carry(t, with(`"url"`, `"tenant":"","url"`), good), verified, "a default"},
		"defaults of a scheme": {carry(t, with(`"scheme":"bearer"`, `"bearerFormat":"","description":"","scheme":"bearer"`), good), verified,
			"defaults"},
		"members that are null": {carry(t, with(`"skills"`, `"provider":null,"skills"`), good), verified, "ProtoJSON for not set"},
		"empties dropped by the signer": {carry(t, cardText, loose),
			"VerifiedNonCanonical SignatureNonCanonical EmptiesDropped by owner ES256", "REQUIRED members are dropped by SDKs, and said nothing"},
		"a scheme of nothing added": {carry(t, with(`{"b":`, `{"a":{"mtlsSecurityScheme":{}},"b":`), loose),
			"VerifiedNonCanonical SignaturePartial EmptiesDropped partial by owner ES256", "not covered: anybody can add it"},
		"nobody has to log in, added": {carry(t, with(`"skills"`, `"securityRequirements":[{}],"skills"`), loose),
			"VerifiedNonCanonical SignaturePartial EmptiesDropped partial by owner ES256", "not covered: anybody can add it"},
		"a requirement of a skill": {carry(t, with(`"skills":[]`, `"skills":[{"securityRequirements":[{"schemes":{"b":{}}}]}]`), loose),
			"VerifiedNonCanonical SignaturePartial EmptiesDropped partial by owner ES256", "at every depth"},
		"an extension with nothing": {carry(t, with(`{"streaming":false}`, `{"extensions":[{"params":{}}],"streaming":false}`), loose),
			"VerifiedNonCanonical SignaturePartial EmptiesDropped partial by owner ES256", "extensions too"},
		"a scheme that is not empty added": {carry(t, with(`{"b":`, `{"a":{"mtlsSecurityScheme":{"description":"x"}},"b":`), loose),
			"Invalid SignatureInvalid", "no form drops what is not empty"},
		"two signatures, one by nobody": {carry(t, cardText, forger().sign(t, `{"alg":"ES256","kid":"new"}`, over(t, cardText)), good), verified, "one is enough"},
		"a bad one before a good one":   {carry(t, cardText, forger().sign(t, s.header(), over(t, cardText)), good), verified, "one is enough"},
		"the better of two":             {carry(t, cardText, loose, good), verified, "the best counts"},
		"the ninth":                     {carry(t, cardText, strings.Repeat(`{},`, 8)+good), "Unverifiable SignatureMalformed", "eight are looked at"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := result(parseSigned(t, test.card).Verify(s.keys(t))); got != test.want {
				t.Errorf("%s, want %s: %s", got, test.want, test.reason)
			}
		})
	}
}

// Numbers and other scripts stand in extension parameters, which are the signer's own data.
func TestSecuritySignatureOfNumbersAndScripts(t *testing.T) {
	s := owner()
	served := strings.Replace(cardText, `{"streaming":false}`, `{"extensions":[{"params":{"a":1e2,"b":1.0,"c":0,"d":"","e":[],"f":null,"g":false,`+
		`"h":12345678901234567890,"é":"\u00e9","𝄞":"\ud834\udd1e","\ufb33":1,"<":"&"},"uri":"x"}],"streaming":false}`, 1)
	payload := `{"capabilities":{"extensions":[{"params":{"<":"&","a":100,"b":1,"c":0,"d":"","e":[],"f":null,"g":false,` +
		`"h":12345678901234567000,"é":"é","𝄞":"𝄞","` + "\ufb33" + `":1},"uri":"x"}],"streaming":false}` + strings.TrimPrefix(cardText, `{"capabilities":{"streaming":false}`)
	c := parseSigned(t, carry(t, served, s.sign(t, s.header(), []byte(payload))))
	if got, want := result(c.Verify(s.keys(t))), "Verified SignatureVerified by owner ES256"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is said by members that a form leaves out, or by a spelling that it does not keep, could be said by anybody.
func TestSecuritySignatureCoversWhatIsRead(t *testing.T) {
	s := owner()
	const (
		modern = `{"capabilities":{"streaming":true},"name":"P","protocolVersion":"1.0",` +
			`"supportedInterfaces":[{"protocolBinding":"JSONRPC","url":"https://peer.test/a"}],"version":"1"}`
		two = `{"capabilities":{"streaming":true},"name":"P","supportedInterfaces":[{"protocolVersion":"1.0","transport":"GRPC",` +
			`"url":"https://peer.test/a"},{"protocolVersion":"1.0","protocolBinding":"JSONRPC","url":"https://peer.test/b"}],"version":"1"}`
		old    = `{"name":"P","protocolVersion":"0.3.0","url":"https://peer.test/a","version":"1"}`
		number = `{"capabilities":{},"name":"P","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":1,` +
			`"url":"https://peer.test/a"}],"version":"1"}`
	)
	for name, c := range map[string]struct {
		signed, old, new string
		partial          bool
	}{
		"an empty version":              {modern, `{"protocolBinding"`, `{"protocolVersion":"","protocolBinding"`, true},
		"a version of another type":     {modern, `{"protocolBinding"`, `{"protocolVersion":{},"protocolBinding"`, true},
		"an empty binding":              {two, `{"protocolVersion":"1.0","transport"`, `{"protocolBinding":"","protocolVersion":"1.0","transport"`, true},
		"empty capabilities, 0.x":       {old, `{"name"`, `{"capabilities":{},"name"`, true},
		"interfaces in front":           {modern, `"supportedInterfaces":[`, `"supportedInterfaces":[` + strings.Repeat("{},", maxItems), true},
		"a version in another spelling": {number, `"protocolVersion":1,`, `"protocolVersion":1.0,`, true},
		"an empty description":          {modern, `{"capabilities"`, `{"description":"","capabilities"`, false},
		"an empty list of interfaces":   {old, `{"name"`, `{"additionalInterfaces":[],"name"`, false},
		"skills without content":        {modern, `{"capabilities"`, `{"skills":[{}],"capabilities"`, false},
		"empty capabilities, 1.0":       {strings.Replace(modern, `"capabilities":{"streaming":true},`, "", 1), `{"name"`, `{"capabilities":{},"name"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			signature := s.sign(t, s.header(), over(t, c.signed))
			if got := parseSigned(t, carry(t, c.signed, signature)).Verify(s.keys(t)); got.Partial || !stands(got) {
				t.Fatalf("what was signed: %s", result(got))
			}
			changed := strings.Replace(c.signed, c.old, c.new, 1)
			if changed == c.signed {
				t.Fatal("nothing is changed")
			}
			got := parseSigned(t, carry(t, changed, signature)).Verify(s.keys(t))
			if !stands(got) || got.Partial != c.partial || c.partial != (got.Reason == trust.ReasonSignaturePartial) {
				t.Errorf("%s, want partial %v", result(got), c.partial)
			}
		})
	}
}

func stands(s trust.Signature) bool {
	return s.Result == trust.SignatureVerified || s.Result == trust.SignatureVerifiedNonCanonical
}

// A signed card that leads wherever it is served vouches for no address.
func TestSecuritySignatureCardNamesItsAddress(t *testing.T) {
	grpc := strings.NewReplacer("JSONRPC", "GRPC", "https://peer.test/a2a", "peer.test:443").Replace(cardText)
	for name, c := range map[string]struct {
		card, from, in string
		want           bool
	}{
		"its own":                   {cardText, "https://peer.test/x", "https://peer.test/a2a", true},
		"served elsewhere":          {cardText, "https://evil.test/x", "https://peer.test/a2a", true},
		"in another spelling":       {cardText, "https://peer.test/x", "https://PEER.test:443/a2a/", true},
		"another host":              {cardText, "https://evil.test/x", "https://evil.test/a2a", false},
		"another port":              {cardText, "https://peer.test/x", "https://peer.test:8443/a2a", false},
		"another path":              {cardText, "https://peer.test/x", "https://peer.test/evil", false},
		"another query":             {cardText, "https://peer.test/x", "https://peer.test/a2a?agent=evil", false},
		"without TLS":               {cardText, "https://peer.test/x", "http://peer.test/a2a", false},
		"a path alone":              {strings.Replace(cardText, "https://peer.test", "", 1), "https://evil.test/x", "https://evil.test/a2a", false},
		"a relative path":           {strings.Replace(cardText, "https://peer.test/", "", 1), "https://evil.test/x", "https://evil.test/a2a", false},
		"a scheme and a path":       {strings.Replace(cardText, "//peer.test", "", 1), "https://evil.test/x", "https://evil.test/a2a", false},
		"a host without its scheme": {strings.Replace(cardText, "https:", "", 1), "https://evil.test/x", "https://peer.test/a2a", true},
		"host and port":             {grpc, "https://evil.test/x", "https://peer.test:443", true},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse([]byte(c.card), mustURL(t, c.from))
			if err != nil {
				t.Fatal(err)
			}
			if got := parsed.Names(mustURL(t, c.in)); got != c.want {
				t.Errorf("the card names %s: %v", c.in, got)
			}
		})
	}
}

// 0.3 has signatures and no rule for what is signed: nothing is Verified.
func TestSecuritySignatureOfOldCards(t *testing.T) {
	s := owner()
	text := `{"name":"n","description":"","url":"https://peer.test/","protocolVersion":"0.3.0","preferredTransport":"JSONRPC",` +
		`"skills":[],"security":[{"b":[]}],"securitySchemes":{"b":{"type":"http","scheme":"bearer"}}}`
	tests := map[string]struct{ payload, want string }{
		"as served": {text, "VerifiedNonCanonical SignatureNonCanonical DefaultsDropped by owner ES256"},
		"empties dropped": {strings.NewReplacer(`"description":"",`, "", `"skills":[],"security":[{"b":[]}],`, "").Replace(text),
			"VerifiedNonCanonical SignaturePartial EmptiesDropped partial by owner ES256"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := parseSigned(t, carry(t, text, s.sign(t, s.header(), over(t, test.payload))))
			if got := result(c.Verify(s.keys(t))); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestSecuritySignatureOfOldCardsWithAnEmptyList(t *testing.T) {
	s := owner()
	text := `{"name":"n","url":"https://peer.test/","protocolVersion":"0.3.0","security":[]}`
	c := parseSigned(t, carry(t, text, s.sign(t, s.header(), over(t, strings.Replace(text, `,"security":[]`, "", 1)))))
	if got, want := result(c.Verify(s.keys(t))), "VerifiedNonCanonical SignatureNonCanonical EmptiesDropped by owner ES256"; got != want {
		t.Errorf("%s, want %s: an empty list says as much as none", got, want)
	}
}

func TestSecuritySignatureKeysThatIDsDoNotTell(t *testing.T) {
	s := owner()
	c := parseSigned(t, carry(t, cardText, s.sign(t, s.header(), over(t, cardText))))
	both := mustKeys(t, append(forger().pem(t), s.pem(t)...))
	if got, want := result(c.Verify(both)), "Verified SignatureVerified ES256"; got != want {
		t.Errorf("by PEM: %s, want %s", got, want)
	}
	if got, want := result(c.Verify(mustKeys(t, forger().pem(t)))), "Unverifiable SignatureKeyUnknown"; got != want {
		t.Errorf("by somebody else's PEM: %s, want %s", got, want)
	}
	if got, want := result(c.Verify(forger().keys(t).Join(s.keys(t)))), "Verified SignatureVerified by owner ES256"; got != want {
		t.Errorf("by the second key of one id: %s, want %s", got, want)
	}
	if got, want := result(c.Verify(Keys{})), "Unverifiable SignatureKeyUnknown"; got != want {
		t.Errorf("without keys: %s, want %s", got, want)
	}
}

// A key id is peer text: it reaches status hashed unless it is of the safe alphabet.
func TestSecuritySignatureKeyIDIsSafe(t *testing.T) {
	s := owner()
	s.kid = "owner <script>"
	c := parseSigned(t, carry(t, cardText, s.sign(t, s.header(), over(t, cardText))))
	keys := s.keys(t)
	got := c.Verify(keys)
	if got.Result != trust.SignatureVerified || got.KeyID != Safe(s.kid) || strings.Contains(got.KeyID, "<") {
		t.Errorf("key id %q of %+v", got.KeyID, got)
	}
	if !keys.Has(got.KeyID) || keys.Has("") || keys.Has("other") {
		t.Error("the key is not found by the id that is shown")
	}
}

// A card that asks for more work than it is worth is given up, and accused of nothing.
func TestSecuritySignatureWorkIsBounded(t *testing.T) {
	s := owner()
	var keys Keys
	for range 3 {
		keys.list = append(keys.list, ecSigner("owner", elliptic.P256()).keys(t).list...)
	}
	big := strings.Replace(cardText, `"skills"`, `"x":"`+strings.Repeat("x", 1<<20)+`","skills"`, 1)
	var entries []string
	for range maxSignatures {
		entries = append(entries, s.sign(t, s.header(), []byte("other")))
	}
	v := verification{card: parseSigned(t, carry(t, big, entries...)), keys: keys, hashed: maxHashed - 1<<20}
	if got, want := result(v.signature([]byte(entries[0]))), "Unverifiable SignatureMalformed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSecuritySignatureKeysOfADocument(t *testing.T) {
	s := owner()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.private)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	good := strings.TrimSpace(string(readSigned(t, "current")))
	jwk := strings.TrimSuffix(strings.TrimPrefix(strings.Join(strings.Fields(good), ""), `{"keys":[`), `]}`)
	oct := `{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}`
	tests := map[string]struct {
		document string
		keys     int // of a user's document
		says     string
		fetched  int // of a fetched one; -1: no set
	}{
		"a set":                        {good, 1, "", 1},
		"one key":                      {jwk, 1, "", 1},
		"the same key twice":           {`{"keys":[` + jwk + `,` + jwk + `]}`, 1, "", 1},
		"PEM":                          {string(s.pem(t)), 1, "", -1},
		"PEM, two":                     {string(s.pem(t)) + string(forger().pem(t)), 2, "", -1},
		"nothing":                      {"", 0, "write a JWK set", -1},
		"text":                         {"key", 0, "write a JWK set", -1},
		"an empty set":                 {`{"keys":[]}`, 0, "none can verify", 0},
		"a set that is null":           {`{"keys":null}`, 0, "write a JWK set", -1},
		"another object":               {`{"a":1}`, 0, "write a JWK set", -1},
		"a private key in PEM":         {string(private), 0, "private key", -1},
		"a private JWK":                {strings.Replace(jwk, `"kid"`, `"d":"AAAA","kid"`, 1), 0, "private key", 0},
		"a symmetric key":              {`{"keys":[` + jwk + `,` + oct + `]}`, 0, "symmetric", 1},
		"a small RSA key":              {string(signer{private: small}.pem(t)), 0, "2048", -1},
		"a key for encryption":         {`{"keys":[` + jwk + `,` + strings.Replace(jwk, `"sig"`, `"enc"`, 1) + `]}`, 1, "", 1},
		"only a key for encryption":    {strings.Replace(jwk, `"sig"`, `"enc"`, 1), 0, "none can verify", 0},
		"a key that may not verify":    {strings.Replace(jwk, `"use":"sig"`, `"key_ops":["sign"]`, 1), 0, "none can verify", 0},
		"a key of another curve":       {`{"keys":[` + jwk + `,{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}]}`, 1, "", 1},
		"a point that is not on it":    {`{"keys":[` + jwk + `,{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, 0, "cannot be read", 1},
		"a member twice":               {strings.Replace(jwk, `{`, `{"kty":"oct",`, 1), 0, "write a JWK set", -1},
		"another block of PEM":         {"-----BEGIN X-----\nAAAA\n-----END X-----\n", 0, "write a JWK set", -1},
		"more than there may be":       {`{"keys":[` + jwk + strings.Repeat(`,`+jwk, MaxKeys) + `]}`, 0, "more than 64", 1},
		"larger than it may be":        {good + strings.Repeat(" ", 10) + strings.Repeat("x", MaxKeyDocument), 0, "more than 262144 bytes", -1},
		"cut short":                    {good[:len(good)/2], 0, "write a JWK set", -1},
		"certificates beside the keys": {strings.Replace(jwk, `"kid"`, `"x5c":["AAAA"],"x5u":"https://evil.test","kid"`, 1), 1, "", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys, err := ParseKeys([]byte(test.document))
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) || keys.Len() != test.keys {
				t.Errorf("%d keys and %v, want %d and %q", keys.Len(), err, test.keys, test.says)
			}
			document := []byte(test.document)
			fetched, err := ParseFetchedKeys(document)
			if string(document) != test.document {
				t.Error("the document was written over")
			}
			if (err != nil) != (test.fetched < 0) || fetched.Len() != max(test.fetched, 0) {
				t.Errorf("fetched: %d keys and %v, want %d", fetched.Len(), err, test.fetched)
			}
		})
	}
}

func TestKeysDigest(t *testing.T) {
	a, b := owner().keys(t), edOwner().keys(t)
	if a.Join(b).Digest() != b.Join(a).Digest() {
		t.Error("the order changes the digest")
	}
	seen := map[string]bool{}
	other := owner().keys(t)
	other.list[0].id = "other"
	for _, k := range []Keys{{}, a, b, a.Join(b), other} {
		seen[k.Digest()] = true
	}
	if len(seen) != 5 || (Keys{}).Digest() != "" {
		t.Errorf("digests %v", maps.Keys(seen))
	}
	if diff := cmp.Diff(a.Join(a).Len(), 1); diff != "" {
		t.Error(diff)
	}
}

// changes are made to every genuine card before fuzzing makes its own.
var changes = [][2]string{
	{`"protocolBinding"`, `"protocolVersion":"","protocolBinding"`},
	{`"protocolBinding"`, `"transport":"GRPC","protocolBinding":"","x":`},
	{`{`, `{"capabilities":{},`},
	{`{`, `{"url":"https://evil.test/",`},
	{`"streaming":true`, `"streaming":false`},
	{`"streaming":true`, `"streaming":""`},
	{`"skills":[`, `"skills":[{},`},
	{`"id"`, `"inputModes":[""],"id"`},
	{`"text/plain"`, `"","text/plain"`},
	{`"1.0"`, `1.0`},
	{`"supportedInterfaces":[`, `"supportedInterfaces":[` + strings.Repeat("{},", maxItems)},
}

// FuzzVerify: whatever is served, verifying ends, says something of itself, and takes nothing for signed that was changed. The law: what
// stands and is not partial reads as the card that was signed, so whoever changes a claim breaks it.
func FuzzVerify(f *testing.F) {
	for _, name := range []string{"plain", "empties", "schemes-given-json", "mtls-given-json", "rotated"} {
		raw := readSigned(f, name)
		f.Add(raw)
		for _, change := range changes {
			f.Add(bytes.Replace(raw, []byte(change[0]), []byte(change[1]), 1))
		}
	}
	keys := mustKeys(f, readSigned(f, "jwks"))
	genuine := map[string][]string{} // what a form says, by every card that has it
	for _, name := range []string{"plain", "empties", "empties-protojson", "schemes-given-json", "mtls-given-json", "rotated"} {
		raw := readSigned(f, name)
		for _, c := range candidates(raw, true) {
			genuine[string(c.payload)] = append(genuine[string(c.payload)], said(parseSigned(f, raw)))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Parse(raw, nil)
		if err != nil {
			return
		}
		s := c.Verify(keys)
		if s.Result == "" || s.Reason == "" {
			t.Fatalf("no result: %+v", s)
		}
		if !stands(s) {
			return
		}
		var known []string
		for _, form := range candidates(raw, true) {
			known = append(known, genuine[string(form.payload)]...)
		}
		if known == nil {
			t.Fatalf("%+v stands over what nobody signed", s)
		}
		if !s.Partial && !slices.Contains(known, said(c)) {
			t.Fatalf("%+v stands, and the card says\n%s\nwhere what was signed says\n%s", s, said(c), strings.Join(known, "\n"))
		}
	})
}

// said are the claims of a card, in words: those of the digest, and what callers act on besides.
func said(c *Card) string {
	words := fmt.Sprint(c.Digest, c.AuthDeclared, c.DefaultInputModes, c.DefaultOutputModes, c.Skills)
	for _, in := range c.Interfaces {
		claims := c.Claims(in)
		words += fmt.Sprintln(in.URL, in.Binding, in.ProtocolVersion, in.Tenant, in.Legacy, claims.Declared, claims.NoCapabilities)
	}
	return words
}

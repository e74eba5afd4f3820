package card

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Bounds of what is looked at. A card is hostile, and so may be the set that its keys were fetched from.
const (
	// maxSignatures of a card, the first ones.
	maxSignatures = 8
	// maxProtected and maxSignature are bytes of base64url.
	maxProtected = 8 << 10
	maxSignature = 2 << 10
	// maxTries bounds the pairs of a signature and a key, and maxHashed the bytes that are hashed for them.
	maxTries  = 64
	maxHashed = 64 << 20
)

// algorithms that are allowed: those by a key pair, and no other. With HMAC whoever verifies could sign, and the public key would be the
// secret; none signs nothing.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// rank of the results, best first; of equal results, that of the reasons.
var (
	rankResults = []trust.SignatureResult{trust.SignatureVerified, trust.SignatureVerifiedNonCanonical, trust.SignatureInvalid,
		trust.SignatureUnverifiable, trust.SignatureAbsent}
	rankReasons = []trust.Reason{trust.ReasonSignatureVerified, trust.ReasonSignatureNonCanonical, trust.ReasonSignaturePartial,
		trust.ReasonSignatureInvalid, trust.ReasonSignatureKeyUnknown, trust.ReasonSignatureAlgorithmNotAllowed, trust.ReasonSignatureMalformed}
)

// Verify looks for a signature of the card by one of the keys and says what came of it, the best of all signatures: one that stands is
// enough, so that keys can be rotated. Keys come from the caller only; what a signature says of its own key (jku, jwk, x5c, x5u) is not
// looked at. A signature stands over the canonical form (Verified, of cards with a 1.0 interface), or over another form of the whole card
// (VerifiedNonCanonical); it is Partial where that form does not say all that the card says. KeysDigest and the times are left to the caller,
// and so is whether the card names the address that is talked to (Names).
func (c *Card) Verify(keys Keys) trust.Signature {
	top, _, _ := readObject(bytes.TrimPrefix(c.Raw, byteOrderMark))
	if isNull(top["signatures"]) {
		return trust.Signature{Result: trust.SignatureAbsent, Reason: trust.ReasonSignatureAbsent}
	}
	entries, ok := readArray(top["signatures"])
	if ok && len(entries) == 0 {
		return trust.Signature{Result: trust.SignatureAbsent, Reason: trust.ReasonSignatureAbsent}
	}
	v := verification{card: c, keys: keys}
	best := unverifiable(trust.ReasonSignatureMalformed)
	for _, entry := range entries[:min(len(entries), maxSignatures)] {
		if s := v.signature(entry); better(s, best) {
			best = s
		}
	}
	return best
}

func unverifiable(why trust.Reason) trust.Signature {
	return trust.Signature{Result: trust.SignatureUnverifiable, Reason: why}
}

func better(a, b trust.Signature) bool {
	return cmp.Or(cmp.Compare(slices.Index(rankResults, a.Result), slices.Index(rankResults, b.Result)),
		cmp.Compare(slices.Index(rankReasons, a.Reason), slices.Index(rankReasons, b.Reason))) < 0
}

// verification is one look at the signatures of one card.
type verification struct {
	card *Card
	keys Keys
	// forms are made when the first signature has a key, and tries and hashed counted over all of them.
	forms         []candidate
	formed        bool
	tries, hashed int
}

// signature is what one of them comes to.
func (v *verification) signature(raw json.RawMessage) trust.Signature {
	jws, ok := readJWS(raw)
	if !ok {
		return unverifiable(trust.ReasonSignatureMalformed)
	}
	if !slices.Contains(algorithms, jose.SignatureAlgorithm(jws.algorithm)) {
		return unverifiable(trust.ReasonSignatureAlgorithmNotAllowed)
	}
	parsed, err := jose.ParseDetached(jws.protected+".."+jws.signature, []byte{}, algorithms)
	if err != nil {
		return unverifiable(trust.ReasonSignatureMalformed)
	}
	named, fitting, nameless := v.choose(jws)
	for _, k := range slices.Concat(fitting, nameless) {
		if s, stands := v.try(parsed, jws, k); stands {
			return s
		}
	}
	switch {
	case v.tries > maxTries || v.hashed > maxHashed: // not all was looked at
		return unverifiable(trust.ReasonSignatureMalformed)
	case len(fitting) > 0:
		return trust.Signature{Result: trust.SignatureInvalid, Reason: trust.ReasonSignatureInvalid}
	case named:
		return unverifiable(trust.ReasonSignatureAlgorithmNotAllowed)
	}
	return unverifiable(trust.ReasonSignatureKeyUnknown)
}

// choose finds the keys that a signature may be by: those of its key id that may verify its algorithm, and those without an id, of which
// nobody can say whether they are meant. named says that there is a key of its id at all.
func (v *verification) choose(jws jws) (named bool, fitting, nameless []key) {
	for _, k := range v.keys.list {
		named = named || k.id == jws.keyID
		switch {
		case !k.fits(jws.algorithm):
		case k.id == jws.keyID:
			fitting = append(fitting, k)
		case k.id == "":
			nameless = append(nameless, k)
		}
	}
	return named, fitting, nameless
}

// try verifies one signature with one key over one form after the other.
func (v *verification) try(parsed *jose.JSONWebSignature, jws jws, k key) (s trust.Signature, stands bool) {
	if !v.formed {
		v.forms, v.formed = candidates(v.card.Raw, v.card.modern()), true
	}
	if v.tries++; v.tries > maxTries {
		return s, false
	}
	for _, form := range v.forms {
		if v.hashed += len(form.payload); v.hashed > maxHashed {
			return s, false
		}
		if parsed.DetachedVerify(form.payload, k.public) != nil {
			continue
		}
		s = trust.Signature{Result: trust.SignatureVerifiedNonCanonical, Reason: trust.ReasonSignatureNonCanonical, Variant: form.variant,
			Partial: form.partial || !v.card.readsAs(form.payload), KeyID: k.shown(), Algorithm: jws.algorithm}
		if form.canonical {
			s.Result, s.Reason = trust.SignatureVerified, trust.ReasonSignatureVerified
		}
		if s.Partial {
			s.Reason = trust.ReasonSignaturePartial
		}
		return s, true
	}
	return s, false
}

// readsAs tells whether a signed form says to us what the card says as it is served. An empty member may say something by where it stands
// ("protocolVersion": "" hides the card's own version), and so may a spelling that canonical JSON does not keep (1.0 and 1). Whatever it is
// could be changed without breaking the signature.
func (c *Card) readsAs(payload []byte) bool {
	signed, err := Parse(payload, c.source)
	return err == nil && reflect.DeepEqual(c.reading(), signed.reading())
}

// reading is all that is read of the card, without the bytes, what is odd about them, and what they say of signatures. That capabilities are
// not there says something on 0.x cards only.
func (c *Card) reading() Card {
	r := *c
	r.Raw, r.Signed, r.Warnings = nil, false, nil
	r.HasCapabilities = c.HasCapabilities || !slices.ContainsFunc(c.Interfaces, Interface.old)
	return r
}

// modern says that the card is one of 1.0, which has a rule for what is signed.
func (c *Card) modern() bool {
	return slices.ContainsFunc(c.Interfaces, func(in Interface) bool { return !in.Legacy && in.Generation() == "1.0" })
}

// jws is one entry of signatures, with what its protected header says. The unprotected header is nobody's word and is not used.
type jws struct {
	protected, signature string // base64url
	algorithm, keyID     string
}

// readJWS reads an entry (1.0, section 8.4.2). An extension that must be understood is not, so crit is refused wherever it stands, and with it
// b64, which would change what is signed.
func readJWS(raw json.RawMessage) (jws, bool) {
	entry, duplicate, ok := readObject(raw)
	if !ok || duplicate {
		return jws{}, false
	}
	j := jws{}
	j.protected, _ = readString(entry["protected"])
	j.signature, _ = readString(entry["signature"])
	text, ok := base64URL(j.protected, maxProtected)
	if _, fine := base64URL(j.signature, maxSignature); !ok || !fine || deeper(text, maxNesting) || !json.Valid(text) {
		return jws{}, false
	}
	protected, duplicate, ok := readObject(text)
	if !ok || duplicate {
		return jws{}, false
	}
	unprotected, _, _ := readObject(entry["header"])
	for _, header := range []object{protected, unprotected} {
		for _, name := range []string{"crit", "b64"} {
			if _, there := header[name]; there {
				return jws{}, false
			}
		}
	}
	j.algorithm, _ = readString(protected["alg"])
	j.keyID, _ = readString(protected["kid"])
	return j, j.algorithm != "" && j.keyID != ""
}

// base64URL decodes the one spelling that there is: no padding, no white space, no bits that are left over.
func base64URL(text string, most int) ([]byte, bool) {
	if text == "" || len(text) > most || strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return raw, err == nil
}

package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Digest tells what signatures are verified with: the keys, and where more of them come from. What is fetched there does not count, as it
// is fetched anew for every card. Empty: with nothing.
func (v Verification) Digest() string {
	pinned := v.pinned().Digest()
	if v.JWKS == nil {
		return pinned
	}
	sum := sha256.Sum256([]byte(pinned + " " + v.JWKS.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Knows tells whether a key that verified, by the id that is shown of it, may still verify: it is among the keys, or a JWK set is fetched
// that may hold it.
func (v Verification) Knows(keyID string) bool { return v.JWKS != nil || v.pinned().Has(keyID) }

// pinned are the keys of the documents. Whoever made the target has refused a document that cannot be read.
func (v Verification) pinned() card.Keys {
	var keys card.Keys
	for _, document := range v.Keys {
		more, err := card.ParseKeys(document)
		if err == nil {
			keys = keys.Join(more)
		}
	}
	return keys
}

// verify says what the signatures of a card come to. A JWK set that cannot be had is no evidence: then only the other keys can tell.
func (s *session) verify(ctx context.Context, c *card.Card) trust.Signature {
	v := s.job.Target.Verification
	keys, fetched := v.pinned(), true
	if v.JWKS != nil && c.Signed {
		more, ok := s.fetchKeys(ctx)
		keys, fetched = keys.Join(more), ok
	}
	found := c.Verify(keys)
	if !fetched && found.Reason == trust.ReasonSignatureKeyUnknown {
		found.Reason = trust.ReasonSignatureKeysUnavailable
	}
	found.KeysDigest = v.Digest()
	return found
}

// addressed says of a signature that stands whether it covers where we talk to, which the card's own bytes have to name: a signed card can
// be copied to any address. in is the interface that was reached. Where none was, each one that may be asked has to be named, and there has
// to be one: the peer may be in use by what earlier rounds found.
func (s *session) addressed(found trust.Signature, in *card.Interface, list []card.Interface) trust.Signature {
	if in != nil {
		list = []card.Interface{*in}
	}
	asked, named := false, true
	for _, in := range list {
		if s.job.Target.allowed(in.URL) {
			asked, named = true, named && s.card.Names(in.URL)
		}
	}
	stands := found.Result == trust.SignatureVerified || found.Result == trust.SignatureVerifiedNonCanonical
	if stands && !found.Partial && !(asked && named) {
		found.Partial, found.Reason = true, trust.ReasonSignatureOtherAddress
	}
	return found
}

// fetchKeys asks for the JWK set. Whoever asks stays unnamed: no credential is for this, wherever it is. ok is false if there is no set.
func (s *session) fetchKeys(ctx context.Context) (keys card.Keys, ok bool) {
	t := &s.job.Target
	if !t.named(t.Verification.JWKS) {
		return card.Keys{}, false
	}
	ctx, cancel := s.unary(ctx)
	defer cancel()
	nobody := s.client.Anonymous()
	defer nobody.Close()
	page, err := nobody.Get(ctx, t.Verification.JWKS, http.Header{"Accept": {"application/jwk-set+json, application/json"}})
	if err != nil || page.Status != http.StatusOK {
		return card.Keys{}, false
	}
	keys, err = card.ParseFetchedKeys(page.Body)
	return keys, err == nil
}

package trust

import "time"

// SignatureResult is what verifying a card's signatures came to.
type SignatureResult string

// The results, best first. The zero value: nothing was verified.
const (
	SignatureVerified             SignatureResult = "Verified"
	SignatureVerifiedNonCanonical SignatureResult = "VerifiedNonCanonical"
	SignatureInvalid              SignatureResult = "Invalid"
	SignatureUnverifiable         SignatureResult = "Unverifiable"
	SignatureAbsent               SignatureResult = "Absent"
)

// Forms of the card that a signature may stand over besides the canonical one.
const (
	AsServed        = "AsServed"
	DefaultsDropped = "DefaultsDropped"
	EmptiesDropped  = "EmptiesDropped"
)

// Reasons of signatures.
const (
	ReasonSignatureVerified            Reason = "SignatureVerified"            // over the canonical form
	ReasonSignatureNonCanonical        Reason = "SignatureNonCanonical"        // over another form that covers every statement
	ReasonSignaturePartial             Reason = "SignaturePartial"             // over a form that leaves statements out
	ReasonSignatureOtherAddress        Reason = "SignatureOtherAddress"        // over a card that does not name the address in use
	ReasonSignatureInvalid             Reason = "SignatureInvalid"             // the key is known and it does not stand
	ReasonSignatureAbsent              Reason = "SignatureAbsent"              // the card has none
	ReasonSignatureMalformed           Reason = "SignatureMalformed"           // none can be read
	ReasonSignatureKeyUnknown          Reason = "SignatureKeyUnknown"          // none is by a known key
	ReasonSignatureAlgorithmNotAllowed Reason = "SignatureAlgorithmNotAllowed" // none of those allowed, or not the key's
	ReasonSignatureKeysUnavailable     Reason = "SignatureKeysUnavailable"     // the JWK set could not be read
	ReasonSignatureExpired             Reason = "SignatureExpired"             // stood once, and was not found again in time
	ReasonSignatureUnchecked           Reason = "SignatureUnchecked"           // no card was read since it was asked for
)

// Signature is what is known of the signatures of a card.
type Signature struct {
	Result SignatureResult
	Reason Reason
	// Variant is the form that a VerifiedNonCanonical one stands over.
	Variant string
	// Partial: statements of the card are not covered, or the address that is talked to is not.
	Partial bool
	// KeyID of the key that verified, fit for status; Algorithm of its signature.
	KeyID, Algorithm string
	// KeysDigest tells what was verified with; other keys are another question.
	KeysDigest string
	// Time is when this was last found. Expiration is when what stood no longer counts; zero for what does not stand.
	Time, Expiration time.Time
}

// stands tells a signature that was found to stand, whatever it covers.
func (s Signature) stands() bool {
	return s.Result == SignatureVerified || s.Result == SignatureVerifiedNonCanonical
}

// lapsed: it stood, and was not found again in time.
func (s Signature) lapsed(now time.Time) bool { return s.stands() && !s.Expiration.After(now) }

// Unmet says why a signature that is required does not suffice at now; empty if it does: it stands, covers every statement of the card and
// the address that is talked to, and was found within the time that trust lasts. A peer whose card was not read yet does not suffice.
func (s Signature) Unmet(now time.Time) Reason {
	switch {
	case s.Result == "":
		return ReasonSignatureUnchecked
	case s.lapsed(now):
		return ReasonSignatureExpired
	case !s.stands() && s.Reason == "":
		return ReasonSignatureUnchecked // not ours
	case !s.stands():
		return s.Reason
	case s.Partial && s.Reason == ReasonSignatureOtherAddress:
		return s.Reason
	case s.Partial:
		return ReasonSignaturePartial
	}
	return ""
}

// claimsStand: the round brings no other claims than those that are known.
func (f *fold) claimsStand() bool {
	return f.round.Claims.Digest == "" || f.round.Claims.Digest == f.next.Claims.Digest
}

// signature takes over what a round found. What was found before stays where only the keys could not be had and the claims are the same: that
// is a fault of the network and no evidence, and time runs on. The times move when status is written anyway (a round that spent tasks), or
// after half of the duration, so that no write is for them alone.
func (f *fold) signature(sameClaims bool) {
	found, old := f.round.Signature, f.next.Signature
	if found.Result == "" {
		return
	}
	found.Time, found.Expiration = time.Time{}, time.Time{}
	if found.Reason == ReasonSignatureKeysUnavailable && sameClaims && old.stands() && old.KeysDigest == found.KeysDigest {
		return
	}
	found.Time = f.at
	if found.stands() {
		found.Expiration = f.at.Add(f.policy.Duration)
	}
	before := old
	before.Time, before.Expiration = found.Time, found.Expiration
	if before == found && f.round.Tasks == 0 && f.at.Sub(old.Time) < f.policy.Duration/2 {
		return
	}
	f.next.Signature = found
}

// Reverify drops a signature that was found with other keys where its key is no longer among them. keysDigest tells the keys as they are now,
// known whether that key is still there. p is left as it is.
func Reverify(p Peer, keysDigest string, known bool) Peer {
	if p.Signature.stands() && p.Signature.KeysDigest != keysDigest && !known {
		p.Signature = Signature{}
	}
	return p
}

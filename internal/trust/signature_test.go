package trust

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func verifiedAt(at time.Time) Signature {
	return Signature{Result: SignatureVerified, Reason: ReasonSignatureVerified, KeyID: "k", Algorithm: "ES256", KeysDigest: "d", Time: at,
		Expiration: at.Add(3 * time.Hour)}
}

func TestSecuritySignatureRequiredDecides(t *testing.T) {
	loose := verifiedAt(epoch)
	loose.Result, loose.Reason, loose.Variant = SignatureVerifiedNonCanonical, ReasonSignatureNonCanonical, EmptiesDropped
	partial := loose
	partial.Partial, partial.Reason = true, ReasonSignaturePartial
	elsewhere := verifiedAt(epoch)
	elsewhere.Partial, elsewhere.Reason = true, ReasonSignatureOtherAddress
	soon := verifiedAt(epoch)
	soon.Expiration = epoch.Add(time.Minute)
	for name, c := range map[string]struct {
		signature Signature
		at        time.Time
		path      Path
		reason    Reason
		until     time.Time
	}{
		"none was looked for yet": {path: PathUnavailable, reason: ReasonSignatureUnchecked},
		"one that stands":         {signature: verifiedAt(epoch), path: PathStreaming, reason: ReasonStreamingTrusted, until: epoch.Add(time.Hour)},
		"one that ends before trust does": {signature: soon, path: PathStreaming, reason: ReasonStreamingTrusted,
			until: epoch.Add(time.Minute)},
		"one over another form of all":   {signature: loose, path: PathStreaming, reason: ReasonStreamingTrusted, until: epoch.Add(time.Hour)},
		"one that leaves statements out": {signature: partial, path: PathUnavailable, reason: ReasonSignaturePartial},
		"one of another address":         {signature: elsewhere, path: PathUnavailable, reason: ReasonSignatureOtherAddress},
		"one that stood too long ago":    {signature: soon, at: epoch.Add(time.Minute), path: PathUnavailable, reason: ReasonSignatureExpired},
		"one that does not stand": {signature: Signature{Result: SignatureInvalid, Reason: ReasonSignatureInvalid}, path: PathUnavailable,
			reason: ReasonSignatureInvalid},
		"none": {signature: Signature{Result: SignatureAbsent, Reason: ReasonSignatureAbsent}, path: PathUnavailable, reason: ReasonSignatureAbsent},
		"one by nobody known": {signature: Signature{Result: SignatureUnverifiable, Reason: ReasonSignatureKeyUnknown}, path: PathUnavailable,
			reason: ReasonSignatureKeyUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			p := trusting(Streaming)
			p.Signature = c.signature
			at := c.at
			if at.IsZero() {
				at = epoch
			}
			got := Decide(p, DecideInput{RequireSignature: true}, at)
			if got.Path != c.path || got.Reason != c.reason || !got.Expiration.Equal(c.until) {
				t.Errorf("%s (%s) until %s, want %s (%s) until %s", got.Path, got.Reason, got.Expiration, c.path, c.reason, c.until)
			}
			if d := Decide(p, DecideInput{}, at); d.Path != PathStreaming || !d.Expiration.Equal(epoch.Add(time.Hour)) {
				t.Errorf("not required, and the decision is %s (%s) until %s", d.Path, d.Reason, d.Expiration)
			}
			observe := Decide(p, DecideInput{RequireSignature: true, Observe: true}, at)
			if (observe.Path == PathUnavailable) != (c.path == PathUnavailable) || observe.Would == nil {
				t.Errorf("in mode Observe: %s, want %s: identity is no behaviour", observe.Path, c.path)
			}
		})
	}
}

func TestSecuritySignatureIsRemembered(t *testing.T) {
	found := verifiedAt(time.Time{})
	found.Expiration = time.Time{}
	invalid := Signature{Result: SignatureInvalid, Reason: ReasonSignatureInvalid, KeysDigest: "d"}
	noKeys := Signature{Result: SignatureUnverifiable, Reason: ReasonSignatureKeysUnavailable, KeysDigest: "d"}
	otherKeys := noKeys
	otherKeys.KeysDigest = "e"
	at := func(s Signature, when time.Time) Signature { s.Time = when; return s }
	for name, c := range map[string]struct {
		before, found Signature
		claims        string
		after         time.Duration
		tasks         int
		want          Signature
	}{
		"found":                                {Signature{}, found, "a", 0, 0, verifiedAt(epoch)},
		"found again by a cheap round":         {verifiedAt(epoch), found, "a", time.Hour, 0, verifiedAt(epoch)},
		"found again, and written anyway":      {verifiedAt(epoch), found, "a", time.Hour, 1, verifiedAt(epoch.Add(time.Hour))},
		"found again after half of its time":   {verifiedAt(epoch), found, "a", 90 * time.Minute, 0, verifiedAt(epoch.Add(90 * time.Minute))},
		"does not stand any more":              {verifiedAt(epoch), invalid, "a", time.Minute, 0, at(invalid, epoch.Add(time.Minute))},
		"no card was read":                     {verifiedAt(epoch), Signature{}, "", time.Hour, 0, verifiedAt(epoch)},
		"the keys cannot be had":               {verifiedAt(epoch), noKeys, "a", time.Hour, 1, verifiedAt(epoch)},
		"the keys cannot be had, other claims": {verifiedAt(epoch), noKeys, "b", time.Hour, 1, at(noKeys, epoch.Add(time.Hour))},
		"other keys cannot be had":             {verifiedAt(epoch), otherKeys, "a", time.Hour, 1, at(otherKeys, epoch.Add(time.Hour))},
		"no card for too long": {verifiedAt(epoch), Signature{}, "", 3 * time.Hour, 0,
			Signature{Result: SignatureUnverifiable, Reason: ReasonSignatureExpired, KeysDigest: "d", Time: epoch}},
	} {
		t.Run(name, func(t *testing.T) {
			p := trusting(Streaming)
			p.Signature = c.before
			now := epoch.Add(c.after)
			round := Round{Number: p.Rounds.Last + 1, Kind: Reachability, Finished: now, Tasks: c.tasks, Signature: c.found, Usable: true,
				Reach: Observation{Outcome: Honored, Reason: ReasonHonored}}
			if c.claims != "" {
				round.Claims = declaringAll(c.claims)
			}
			next, _, folded := Advance(p, "t", round, DefaultPolicy(), now)
			if diff := cmp.Diff(c.want, next.Signature); diff != "" || !folded {
				t.Errorf("folded %v (-want +got):\n%s", folded, diff)
			}
			for _, r := range next.Records {
				if r.State == Demoted {
					t.Errorf("%s is Demoted: a signature demotes nothing", r.Capability)
				}
			}
		})
	}
}

func TestSecuritySignatureLapsesAndIsForgotten(t *testing.T) {
	p := trusting(Streaming)
	p.Signature = verifiedAt(epoch)
	for i := range p.Records { // it lapses by itself, whatever else does
		p.Records[i].Expiration = epoch.Add(day)
	}
	if q, _ := Lapse(p, epoch.Add(3*time.Hour-1)); q.Signature != p.Signature {
		t.Errorf("it lapsed before its time: %+v", q.Signature)
	}
	if q, _ := Lapse(p, epoch.Add(3*time.Hour)); q.Signature.Reason != ReasonSignatureExpired || q.Signature.KeyID != "" {
		t.Errorf("it did not lapse: %+v", q.Signature)
	}
	if q, _ := Retarget(p, "other", epoch); q.Signature != (Signature{}) {
		t.Errorf("another target has %+v", q.Signature)
	}
	for name, c := range map[string]struct {
		digest string
		known  bool
		kept   bool
	}{
		"the same keys":                    {"d", true, true},
		"other keys, its own among them":   {"e", true, true},
		"other keys, its own taken away":   {"e", false, false},
		"the same keys, which have no ids": {"d", false, true},
	} {
		if q := Reverify(p, c.digest, c.known); (q.Signature == p.Signature) != c.kept {
			t.Errorf("%s: kept is %v, want %v", name, q.Signature == p.Signature, c.kept)
		}
	}
}

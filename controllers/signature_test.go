package controllers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestSecuritySignatureCondition(t *testing.T) {
	stands := trust.Signature{Result: trust.SignatureVerified, Reason: trust.ReasonSignatureVerified, Expiration: epoch.Add(time.Hour)}
	loose := stands
	loose.Result, loose.Reason, loose.Variant = trust.SignatureVerifiedNonCanonical, trust.ReasonSignatureNonCanonical, trust.AsServed
	partial := loose
	partial.Partial = true
	elsewhere := stands
	elsewhere.Partial, elsewhere.Reason = true, trust.ReasonSignatureOtherAddress
	old := stands
	old.Expiration = epoch
	found := func(r trust.SignatureResult, why trust.Reason) trust.Signature {
		return trust.Signature{Result: r, Reason: why}
	}
	for name, c := range map[string]struct {
		policy    trustv1alpha1.SignaturePolicy
		signature trust.Signature
		want      metav1.ConditionStatus
		reason    string
	}{
		"no policy":             {"", trust.Signature{}, "Unknown", "SignatureIgnored"},
		"Ignore":                {trustv1alpha1.SignatureIgnore, trust.Signature{}, "Unknown", "SignatureIgnored"},
		"nothing read yet":      {trustv1alpha1.SignatureWarn, trust.Signature{}, "Unknown", "SignatureUnchecked"},
		"verified":              {trustv1alpha1.SignatureWarn, stands, "True", "SignatureVerified"},
		"not canonical":         {trustv1alpha1.SignatureRequire, loose, "True", "SignatureNonCanonical"},
		"partial":               {trustv1alpha1.SignatureRequire, partial, "False", "SignaturePartial"},
		"of another address":    {trustv1alpha1.SignatureWarn, elsewhere, "False", "SignatureOtherAddress"},
		"expired":               {trustv1alpha1.SignatureRequire, old, "Unknown", "SignatureExpired"},
		"invalid":               {trustv1alpha1.SignatureWarn, found(trust.SignatureInvalid, trust.ReasonSignatureInvalid), "False", "SignatureInvalid"},
		"absent":                {trustv1alpha1.SignatureWarn, found(trust.SignatureAbsent, trust.ReasonSignatureAbsent), "False", "SignatureAbsent"},
		"by nobody known":       {trustv1alpha1.SignatureWarn, found(trust.SignatureUnverifiable, trust.ReasonSignatureKeyUnknown), "Unknown", "SignatureKeyUnknown"},
		"no keys to be had":     {trustv1alpha1.SignatureWarn, found(trust.SignatureUnverifiable, trust.ReasonSignatureKeysUnavailable), "Unknown", "SignatureKeysUnavailable"},
		"cannot be read":        {trustv1alpha1.SignatureWarn, found(trust.SignatureUnverifiable, trust.ReasonSignatureMalformed), "Unknown", "SignatureMalformed"},
		"another algorithm":     {trustv1alpha1.SignatureWarn, found(trust.SignatureUnverifiable, trust.ReasonSignatureAlgorithmNotAllowed), "Unknown", "SignatureAlgorithmNotAllowed"},
		"written by a stranger": {trustv1alpha1.SignatureWarn, found("Odd", ""), "Unknown", "SignatureUnchecked"},
	} {
		t.Run(name, func(t *testing.T) {
			f := knownPeer(func(f *conditionFacts) { f.verification, f.known.Signature = c.policy, c.signature })
			got := signatureVerified(f)
			if got.Status != c.want || got.Reason != c.reason || got.Message == "" {
				t.Errorf("%s (%s: %s), want %s (%s)", got.Status, got.Reason, got.Message, c.want, c.reason)
			}
		})
	}
}

// signingKey signs the cards of these stories.
type signingKey struct {
	private *ecdsa.PrivateKey
	kid     string
}

func newSigningKey(t *testing.T, kid string) signingKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{key, kid}
}

func (k signingKey) jwks(t *testing.T) string {
	t.Helper()
	point, err := k.private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","kid":%q,"x":%q,"y":%q}]}`, k.kid, b64(point[1:33]), b64(point[33:]))
}

func (k signingKey) sign(t *testing.T, text string) string {
	t.Helper()
	payload, err := jcs.Transform([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	protected := b64([]byte(fmt.Sprintf(`{"alg":"ES256","kid":%q}`, k.kid)))
	sum := sha256.Sum256([]byte(protected + "." + b64(payload)))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return strings.TrimSuffix(text, "}") + fmt.Sprintf(`,"signatures":[{"protected":%q,"signature":%q}]}`, protected, b64(signature))
}

const signedCard = `{"name":"planner","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],` +
	`"defaultOutputModes":["text/plain"],"skills":[],` +
	`"supportedInterfaces":[{"url":"https://planner.example.com/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

// serving is an honest peer that serves a card, whose signatures are verified as a round does.
func (s *stage) serving(text string) func(context.Context, probe.Job) probe.Report {
	return func(ctx context.Context, job probe.Job) probe.Report {
		r := s.honest(ctx, job)
		if v := job.Target.Verification; v.Wanted {
			c, err := card.Parse([]byte(text), nil)
			if err != nil {
				panic(err)
			}
			var keys card.Keys
			for _, document := range v.Keys {
				more, err := card.ParseKeys(document)
				if err != nil {
					panic(err)
				}
				keys = keys.Join(more)
			}
			r.Round.Signature = c.Verify(keys)
			r.Round.Signature.KeysDigest = v.Digest()
		}
		return r
	}
}

func TestSecuritySignatureThatIsRequired(t *testing.T) {
	s := newStage(t)
	key, other := newSigningKey(t, "card-2026"), newSigningKey(t, "other")
	keys := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keys"}, Data: map[string]string{"jwks.json": key.jwks(t)}}
	if err := s.client.Create(s.Context(), keys); err != nil {
		t.Fatal(err)
	}
	s.play("planner", s.serving(key.sign(t, signedCard)))
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.Card.Verification = trustv1alpha1.CardVerification{Policy: trustv1alpha1.SignatureRequire,
			Keys: []trustv1alpha1.KeyReference{{Kind: trustv1alpha1.ReferenceConfigMap, Name: "keys"}}}
	})
	path := func(want trustv1alpha1.DecisionPath, reason string) {
		t.Helper()
		d := s.get("planner").Status.Decision
		if d == nil || d.Path != want || string(d.Reason) != reason {
			t.Errorf("decision is %+v, want %s (%s)", d, want, reason)
		}
		s.wantState("planner", trust.Streaming, trust.Trusted) // a signature demotes nothing
		s.wantContract(s.get("planner"))
	}

	s.settle("planner")
	path(trustv1alpha1.PathStreaming, "StreamingTrusted")
	s.wantCondition("planner", trustv1alpha1.ConditionSignatureVerified, metav1.ConditionTrue, "SignatureVerified")
	if got := s.get("planner").Status.Card.Signature; got == nil || got.Result != trustv1alpha1.SignatureVerified || got.KeyID != "card-2026" ||
		got.Algorithm != "ES256" || got.ExpirationTime == nil || got.KeysDigest == "" {
		t.Errorf("the signature is shown as %+v", got)
	}

	// No write is for the signature alone.
	s.counted()
	s.asked()
	s.pass("planner", 6*time.Hour)
	behaviour, cheap := 0, 0
	for _, job := range s.asked() {
		if job.Kind == trust.Behavior {
			behaviour++
		} else {
			cheap++
		}
	}
	if n := s.counted(); n != behaviour || cheap < 30 {
		t.Errorf("%d writes in %d behaviour rounds and %d cheap ones, want one for each of the first", n, behaviour, cheap)
	}

	// Tampered with.
	s.told()
	s.play("planner", s.serving(strings.Replace(key.sign(t, signedCard), `"name":"planner"`, `"name":"planer"`, 1)))
	s.pass("planner", 10*time.Minute)
	path(trustv1alpha1.PathUnavailable, "SignatureInvalid")
	s.wantCondition("planner", trustv1alpha1.ConditionSignatureVerified, metav1.ConditionFalse, "SignatureInvalid")
	if told := s.told(); strings.Count(told, "SignatureInvalid") != 1 {
		t.Errorf("events are %q, want one SignatureInvalid", told)
	}

	// Mended.
	s.play("planner", s.serving(key.sign(t, signedCard)))
	s.pass("planner", 10*time.Minute)
	path(trustv1alpha1.PathStreaming, "StreamingTrusted")

	// The key is taken away: it stops counting at once, and the peer is looked at again at once.
	keys.Data["jwks.json"] = other.jwks(t)
	if err := s.client.Update(s.Context(), keys); err != nil {
		t.Fatal(err)
	}
	s.settle("planner")
	path(trustv1alpha1.PathUnavailable, "SignatureKeyUnknown")

	// Nothing is required any more.
	s.edit("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.Card.Verification.Policy = trustv1alpha1.SignatureIgnore })
	s.settle("planner")
	path(trustv1alpha1.PathStreaming, "StreamingTrusted")
	s.wantCondition("planner", trustv1alpha1.ConditionSignatureVerified, metav1.ConditionUnknown, "SignatureIgnored")
	if c := s.get("planner").Status.Card; c.Signature != nil {
		t.Errorf("the signature is still shown: %+v", c.Signature)
	}
}

// A peer whose card was never read is Unavailable where a signature is required, and so is one that fell silent for as long as trust lasts.
func TestSecuritySignatureFailsClosed(t *testing.T) {
	s := newStage(t)
	key := newSigningKey(t, "k")
	keys := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keys"}, Data: map[string]string{"jwks.json": key.jwks(t)}}
	if err := s.client.Create(s.Context(), keys); err != nil {
		t.Fatal(err)
	}
	s.play("planner", s.silent)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.Card.Verification = trustv1alpha1.CardVerification{Policy: trustv1alpha1.SignatureRequire,
			Keys: []trustv1alpha1.KeyReference{{Kind: trustv1alpha1.ReferenceConfigMap, Name: "keys"}}}
	})
	want := func(path trustv1alpha1.DecisionPath, reason string) {
		t.Helper()
		if d := s.get("planner").Status.Decision; d == nil || d.Path != path || string(d.Reason) != reason {
			t.Errorf("decision is %+v, want %s (%s)", d, path, reason)
		}
	}
	s.settle("planner")
	want(trustv1alpha1.PathUnavailable, "SignatureUnchecked")
	s.play("planner", s.serving(key.sign(t, signedCard)))
	s.pass("planner", 10*time.Minute)
	want(trustv1alpha1.PathStreaming, "StreamingTrusted")
	s.play("planner", s.silent)
	s.pass("planner", 4*time.Hour)
	want(trustv1alpha1.PathUnavailable, "SignatureExpired")
}

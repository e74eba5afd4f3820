package controllers

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
)

// maxCABundle is how long a bundle of certificates may be.
const maxCABundle = 256 << 10

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch

// encrypted refuses what spec.tls says of the address where that is asked by http: it would have no effect, and whoever wrote it relies on
// it. caRef may be about other origins.
func (r *resolver) encrypted(_ context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	member, spec := "", &peer.Spec.TLS
	switch {
	case t.URL.Scheme == "https":
		return nil, nil
	case spec.ClientCertificateRef != nil:
		member = "clientCertificateRef"
	case spec.ServerName != "":
		member = "serverName"
	case len(spec.VerifyCertificateSPKI) > 0:
		member = "verifyCertificateSPKI"
	default:
		return nil, nil
	}
	instead := "write https in spec.url"
	if peer.Spec.ServiceRef != nil {
		instead = "set spec.serviceRef.scheme to https"
	}
	return unusable("spec.tls.%s has no effect on an address that is asked by http: %s, or remove it", member, instead), nil
}

// certificates reads whose certificates are taken: the bundle of spec.tls.caRef, the server's name and the pins.
func (r *resolver) certificates(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	spec := &peer.Spec.TLS
	for _, text := range spec.VerifyCertificateSPKI {
		hash, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil || len(hash) != sha256.Size {
			return unusable("spec.tls.verifyCertificateSPKI holds what is no SHA-256 in base64: write 43 characters and ="), nil
		}
		t.SPKI = append(t.SPKI, [sha256.Size]byte(hash))
	}
	t.ServerName = spec.ServerName
	if t.ServerName != "" || len(t.SPKI) > 0 {
		t.Credentials.Origins = []string{originOf(t.URL)} // both are for this origin only
	}
	if spec.CARef == nil {
		return nil, nil
	}
	kind, name, key := spec.CARef.Kind, spec.CARef.Name, or(spec.CARef.Key, "ca.crt")
	bundle, f, err := r.document(ctx, peer.Namespace, kind, name, key, trustv1alpha1.ReasonCABundleNotFound)
	if f != nil || err != nil {
		return f, err
	}
	if len(bundle) > maxCABundle || !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return waiting(trustv1alpha1.ReasonCABundleInvalid, "key %q of %s %q holds no certificate in PEM, or more than %d bytes", key, kind, name, maxCABundle), nil
	}
	t.RootCAs = bundle
	return nil, nil
}

// verification reads the keys that the card may be signed with.
func (r *resolver) verification(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	spec := &peer.Spec.Card.Verification
	if spec.Policy == "" || spec.Policy == trustv1alpha1.SignatureIgnore {
		return nil, nil
	}
	t.Verification.Wanted = true
	for _, ref := range spec.Keys {
		key := or(ref.Key, "jwks.json")
		document, f, err := r.document(ctx, peer.Namespace, ref.Kind, ref.Name, key, trustv1alpha1.ReasonVerificationKeysNotFound)
		if f != nil || err != nil {
			return f, err
		}
		if _, err := card.ParseKeys(document); err != nil {
			return waiting(trustv1alpha1.ReasonVerificationKeysInvalid, "key %q of %s %q cannot be used: %v", key, ref.Kind, ref.Name, err), nil
		}
		t.Verification.Keys = append(t.Verification.Keys, document)
	}
	if spec.JWKSURL == "" {
		return nil, nil
	}
	return r.jwks(spec.JWKSURL, t), nil
}

// jwks is where keys are fetched from: an origin that the spec names anyway.
func (r *resolver) jwks(text string, t *probe.Target) *fault {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || !plainHost(u) || u.User != nil {
		return unusable("spec.card.verification.jwksURL cannot be used: write an absolute https URL without user name or fragment")
	}
	origin := originOf(u)
	allowed := origin == originOf(t.URL) || slices.ContainsFunc(t.AllowedOrigins, func(o string) bool {
		a, err := url.Parse(o)
		return err == nil && originOf(a) == origin
	})
	if !allowed {
		return unusable("spec.card.verification.jwksURL is on another origin than the address: add %s to spec.allowedOrigins", origin)
	}
	if origin != originOf(t.URL) {
		if f := r.refused(u, "spec.card.verification.jwksURL", "put the keys into a ConfigMap and name it in spec.card.verification.keys"); f != nil {
			return f
		}
	}
	t.Verification.JWKS = u
	return nil
}

// document reads a key of a ConfigMap or Secret with what is no secret: certificates, public keys. It needs no label, because nothing of
// it is sent anywhere.
func (r *resolver) document(ctx context.Context, namespace string, kind trustv1alpha1.ReferenceKind, name, key, reason string) ([]byte, *fault, error) {
	var secret corev1.Secret
	var config corev1.ConfigMap
	read := client.Object(&config)
	if kind == trustv1alpha1.ReferenceSecret {
		read = &secret
	}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, read)
	if f := missing(err, string(kind), name, reason); f != nil {
		return nil, f, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("getting %s %q: %w", kind, name, err)
	}
	r.note(read)
	for _, data := range []map[string][]byte{secret.Data, config.BinaryData} {
		if value, ok := data[key]; ok {
			return r.documents.share(value), nil, nil
		}
	}
	if text, ok := config.Data[key]; ok {
		return r.documents.share([]byte(text)), nil, nil
	}
	return nil, waiting(reason, "%s %q has no key %q: add it, or name another in the reference", kind, name, key), nil
}

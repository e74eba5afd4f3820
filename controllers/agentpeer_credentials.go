package controllers

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
)

// maxToken is how long a credential may be; servers refuse longer headers.
const maxToken = 16 << 10

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// credentials reads what spec.auth names and binds it to the one origin that the spec names.
func (r *resolver) credentials(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	auth := peer.Spec.Auth
	if auth == nil {
		return nil, nil
	}
	t.Credentials.Origins = []string{originOf(t.URL)}
	to := recipientOf(peer, t)
	switch namespace, c := peer.Namespace, &t.Credentials; {
	case auth.Type == trustv1alpha1.AuthBearer && auth.Bearer != nil:
		token, f, err := r.line(ctx, namespace, auth.Bearer.SecretRef, to)
		c.Header, c.Value = "Authorization", "Bearer "+token
		return f, err
	case auth.Type == trustv1alpha1.AuthHeader && auth.Header != nil:
		value, f, err := r.line(ctx, namespace, auth.Header.SecretRef, to)
		c.Header, c.Value = auth.Header.Name, value
		return f, err
	case auth.Type == trustv1alpha1.AuthQuery && auth.Query != nil:
		value, f, err := r.line(ctx, namespace, auth.Query.SecretRef, to)
		c.Query, c.Value = auth.Query.Name, value
		return f, err
	case auth.Type == trustv1alpha1.AuthBasic && auth.Basic != nil:
		value, f, err := r.basic(ctx, namespace, auth.Basic.SecretRef.Name, to)
		c.Header, c.Value = "Authorization", "Basic "+value
		return f, err
	case auth.Type == trustv1alpha1.AuthOAuth2 && auth.OAuth2 != nil:
		return r.oauth2(ctx, namespace, auth.OAuth2, t, to)
	case auth.Type == trustv1alpha1.AuthServiceAccount && auth.ServiceAccount != nil:
		token, f, err := r.accountToken(ctx, namespace, auth.ServiceAccount.Name, to)
		c.Header, c.Value = "Authorization", "Bearer "+token
		return f, err
	}
	return unusable("spec.auth names no way to authenticate that this operator knows: set the member that type names, and no other"), nil
}

// line reads a credential of one line: a token, a key.
func (r *resolver) line(ctx context.Context, namespace string, ref trustv1alpha1.SecretKeyReference, to recipient) (string, *fault, error) {
	key := or(ref.Key, "token")
	secret, f, err := r.secret(ctx, namespace, ref.Name, to)
	if f != nil || err != nil {
		return "", f, err
	}
	value, f := oneLine(secret, key)
	return value, f, nil
}

// oneLine is the value of a key without the white space around it, which editors leave there.
func oneLine(secret *corev1.Secret, key string) (string, *fault) {
	raw, f := valueOf(secret, key)
	if f != nil {
		return "", f
	}
	value := strings.TrimSpace(string(raw))
	if value == "" {
		return "", waiting(trustv1alpha1.ReasonSecretKeyNotFound, "key %q of Secret %q is empty: put the credential there", key, secret.Name)
	}
	if len(value) > maxToken || strings.ContainsFunc(value, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
		return "", waiting(trustv1alpha1.ReasonCredentialInvalid,
			"key %q of Secret %q cannot be sent in a header: it must be one line of printable ASCII of at most %d bytes", key, secret.Name, maxToken)
	}
	return value, nil
}

// basic is the user name and password of a Secret as the header has them (RFC 7617).
func (r *resolver) basic(ctx context.Context, namespace, name string, to recipient) (string, *fault, error) {
	secret, f, err := r.secret(ctx, namespace, name, to)
	if f != nil || err != nil {
		return "", f, err
	}
	var parts [2]string
	for i, key := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
		raw, f := valueOf(secret, key)
		if f != nil {
			return "", f, nil
		}
		parts[i] = strings.TrimRight(string(raw), "\r\n")
		if len(raw) > maxToken || !utf8.ValidString(parts[i]) || strings.ContainsFunc(parts[i], unicode.IsControl) {
			return "", waiting(trustv1alpha1.ReasonCredentialInvalid,
				"key %q of Secret %q cannot be sent: it must be one line of UTF-8 of at most %d bytes", key, name, maxToken), nil
		}
	}
	switch {
	case parts[0] == "":
		return "", waiting(trustv1alpha1.ReasonSecretKeyNotFound, "key %q of Secret %q is empty: put the user name there",
			corev1.BasicAuthUsernameKey, name), nil
	case strings.Contains(parts[0], ":"):
		return "", waiting(trustv1alpha1.ReasonCredentialInvalid,
			"key %q of Secret %q holds a colon, which ends a user name in Basic authentication: use a name without one", corev1.BasicAuthUsernameKey, name), nil
	}
	return base64.StdEncoding.EncodeToString([]byte(parts[0] + ":" + parts[1])), nil, nil
}

// oauth2 is a client of a token endpoint. Its secret goes there, and what it gets to the address.
func (r *resolver) oauth2(ctx context.Context, namespace string, auth *trustv1alpha1.OAuth2Auth, t *probe.Target, to recipient) (*fault, error) {
	u, err := url.Parse(auth.TokenURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !plainHost(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return unusable("spec.auth.oauth2.tokenURL cannot be used: write an absolute https URL without user name, query or fragment"), nil
	}
	own := originOf(u) == originOf(t.URL) // whatever opened the address opened this too
	if f := r.refused(u, "spec.auth.oauth2.tokenURL", "use a token endpoint with a public address"); f != nil && !own {
		return f, nil
	}
	key := or(auth.ClientSecretRef.Key, "client-secret")
	to.origins = append([]string{originOf(u)}, to.origins...)
	secret, f, err := r.secret(ctx, namespace, auth.ClientSecretRef.Name, to)
	if f != nil || err != nil {
		return f, err
	}
	value, f := oneLine(secret, key)
	if f != nil {
		return f, nil
	}
	t.Credentials.OAuth2 = &probe.OAuth2{
		TokenURL: u, ClientID: auth.ClientID, ClientSecret: value, Scopes: slices.Clone(auth.Scopes), Audience: auth.Audience,
		InBody: auth.ClientAuthentication == trustv1alpha1.ClientAuthenticationPost,
		Source: string(secret.UID) + "/" + secret.ResourceVersion,
	}
	return nil, nil
}

// clientCertificate reads the certificate that is shown to the origin of the spec.
func (r *resolver) clientCertificate(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	ref := peer.Spec.TLS.ClientCertificateRef
	if ref == nil {
		return nil, nil
	}
	t.Credentials.Origins = []string{originOf(t.URL)}
	secret, f, err := r.secret(ctx, peer.Namespace, ref.Name, recipientOf(peer, t))
	if f != nil || err != nil {
		return f, err
	}
	var pair [2][]byte
	for i, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if pair[i], f = valueOf(secret, key); f != nil {
			return f, nil
		}
	}
	certificate, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil { // which may quote what it found
		return waiting(trustv1alpha1.ReasonCredentialInvalid,
			"keys %q and %q of Secret %q are not a certificate in PEM and the private key of it", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, ref.Name), nil
	}
	switch leaf := certificate.Leaf; {
	case r.now.After(leaf.NotAfter):
		return waiting(trustv1alpha1.ReasonCredentialInvalid, "the client certificate in Secret %q has expired: renew it", ref.Name), nil
	case r.now.Before(leaf.NotBefore):
		return waiting(trustv1alpha1.ReasonCredentialInvalid, "the client certificate in Secret %q is not valid yet", ref.Name), nil
	}
	t.Credentials.Certificate = &certificate
	return nil, nil
}

// recipient is who would get a credential.
type recipient struct {
	// origins it would go to: that of the address and, since whoever can show a certificate for it gets everything, that of spec.tls.serverName.
	origins []string
	// ca, if set, names the object with further authorities whose word is taken for who is there: Kind/name.
	ca string
}

// recipientOf a credential that goes to the address.
func recipientOf(peer *trustv1alpha1.AgentPeer, t *probe.Target) recipient {
	to, spec := recipient{origins: []string{originOf(t.URL)}}, &peer.Spec.TLS
	if spec.ServerName != "" && t.URL.Scheme == "https" {
		verified := &url.URL{Scheme: "https", Host: spec.ServerName + ":" + or(t.URL.Port(), "443")}
		to.origins = append(to.origins, originOf(verified))
	}
	if spec.CARef != nil {
		to.ca = string(spec.CARef.Kind) + "/" + spec.CARef.Name
	}
	return to
}

// secret reads a Secret of which something is to go to a recipient. To create an AgentPeer must not be enough to send any Secret of a
// namespace anywhere, so the Secret says itself that it may be sent, and where to.
func (r *resolver) secret(ctx context.Context, namespace, name string, to recipient) (*corev1.Secret, *fault, error) {
	var secret corev1.Secret
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	if f := missing(err, "Secret", name, trustv1alpha1.ReasonSecretNotFound); f != nil {
		return nil, f, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("getting Secret %q: %w", name, err)
	}
	r.note(&secret)
	if secret.Labels[trustv1alpha1.SendToPeersLabel] != trustv1alpha1.SendToPeersValue {
		return nil, waiting(trustv1alpha1.ReasonSecretNotAllowed, "Secret %q may not be sent to peers: label it %s=%s to allow it",
			name, trustv1alpha1.SendToPeersLabel, trustv1alpha1.SendToPeersValue), nil
	}
	if f := unlisted(&secret, "Secret", to); f != nil {
		return nil, f, nil
	}
	return &secret, nil, nil
}

// valueOf a key that is there.
func valueOf(secret *corev1.Secret, key string) ([]byte, *fault) {
	value, ok := secret.Data[key]
	if !ok {
		return nil, waiting(trustv1alpha1.ReasonSecretKeyNotFound, "Secret %q has no key %q: add it, or name another Secret or key in the reference",
			secret.Name, key)
	}
	return value, nil
}

// unlisted says that the owner of a credential named the origins it may go to, and that one of those it would go to is not among them, or
// that who is there would be known by authorities that the owner did not name.
func unlisted(o client.Object, kind string, to recipient) *fault {
	const name = trustv1alpha1.AllowedOriginsAnnotation
	text, limited := o.GetAnnotations()[name]
	if !limited {
		return nil
	}
	listed, unreadable := listedOrigins(text)
	if unreadable > 0 {
		return waiting(trustv1alpha1.ReasonOriginNotListed, "entry %d of annotation %s of %s %q is no origin, so nothing of it is sent: "+
			"write scheme://host[:port] and nothing after it, such as https://api.example.com", unreadable, name, kind, o.GetName())
	}
	var add []string
	for _, origin := range to.origins {
		if !slices.Contains(listed, origin) && !slices.Contains(add, origin) {
			add = append(add, origin)
		}
	}
	if len(add) == 0 {
		return unlistedCA(o, kind, to.ca)
	}
	return waiting(trustv1alpha1.ReasonOriginNotListed, "annotation %s of %s %q does not list %s, where the spec would send it: add that if it may go there",
		name, kind, o.GetName(), strings.Join(add, " and "))
}

// unlistedCA says that a credential whose owner named origins would go to whoever further authorities vouch for, and that they are not
// the owner's choice.
func unlistedCA(o client.Object, kind, ca string) *fault {
	const name = trustv1alpha1.AllowedCAsAnnotation
	listed := strings.FieldsFunc(o.GetAnnotations()[name], func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	if ca == "" || slices.Contains(listed, ca) {
		return nil
	}
	return waiting(trustv1alpha1.ReasonOriginNotListed, "%s %q may go to the origins of its annotation only, and spec.tls.caRef would let other "+
		"authorities say who they are: add %s to its annotation %s if they may, or remove caRef", kind, o.GetName(), ca, name)
}

// listedOrigins reads a comma-separated list. Of an entry that cannot be read it returns the number, counted from 1.
func listedOrigins(list string) (origins []string, unreadable int) {
	for i, entry := range strings.Split(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		u, err := url.Parse(entry)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(u.Host, "* \t") ||
			!strings.EqualFold(entry, u.Scheme+"://"+u.Host) {
			return nil, i + 1
		}
		origins = append(origins, originOf(u))
	}
	return origins, 0
}

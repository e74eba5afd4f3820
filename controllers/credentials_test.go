package controllers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// canary stands in every value that nobody may see.
const canary = "s3cr3t"

// resolve reads what a spec refers to, on the real API server.
func (s *stage) resolve(change func(*trustv1alpha1.AgentPeerSpec)) (probe.Target, *fault) {
	s.Helper()
	peer := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "planner"},
		Spec: trustv1alpha1.AgentPeerSpec{URL: "https://planner.example.com/"}}
	change(&peer.Spec)
	r := s.resolver()
	t, f, err := r.resolve(s.Context(), peer)
	if err != nil {
		s.Fatal(err)
	}
	if f != nil && strings.Contains(f.message, canary) {
		s.Errorf("the fault shows what the Secret holds: %s", f.message)
	}
	return t, f
}

func (s *stage) resolver() *resolver {
	return &resolver{client: s.client, egress: s.r.Egress, timing: s.r.timing, tokens: s.r.tokens,
		granted: s.r.Config.ServiceAccountTokens, self: s.r.Self, now: s.clock.Now()}
}

// secret makes a Secret that may be sent, or that its changes make of it.
func (s *stage) secret(name string, data map[string]string, with ...func(*corev1.Secret)) *corev1.Secret {
	s.Helper()
	secret := &corev1.Secret{StringData: data, ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{trustv1alpha1.SendToPeersLabel: trustv1alpha1.SendToPeersValue}}}
	for _, w := range with {
		w(secret)
	}
	s.create(secret)
	return secret
}

func forOrigins(list string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Annotations = map[string]string{trustv1alpha1.AllowedOriginsAnnotation: list}
	}
}

func unlabelled(s *corev1.Secret) { s.Labels = nil }

// authOf makes a spec with one kind of credential, all from one Secret.
func authOf(kind trustv1alpha1.AuthType, secret string) func(*trustv1alpha1.AgentPeerSpec) {
	key := trustv1alpha1.SecretKeyReference{Name: secret}
	a := &trustv1alpha1.Auth{Type: kind}
	switch kind {
	case trustv1alpha1.AuthBearer:
		a.Bearer = &trustv1alpha1.BearerAuth{SecretRef: key}
	case trustv1alpha1.AuthHeader:
		a.Header = &trustv1alpha1.HeaderAuth{Name: "X-API-Key", SecretRef: key}
	case trustv1alpha1.AuthQuery:
		a.Query = &trustv1alpha1.QueryAuth{Name: "api_key", SecretRef: key}
	case trustv1alpha1.AuthBasic:
		a.Basic = &trustv1alpha1.BasicAuth{SecretRef: trustv1alpha1.SecretReference{Name: secret}}
	case trustv1alpha1.AuthOAuth2:
		a.OAuth2 = &trustv1alpha1.OAuth2Auth{TokenURL: "https://login.example.com/token", ClientID: "operator",
			ClientSecretRef: trustv1alpha1.ClientSecretReference{Name: secret}, Scopes: []string{"a2a"}, Audience: "agents",
			ClientAuthentication: trustv1alpha1.ClientAuthenticationPost}
	}
	return func(p *trustv1alpha1.AgentPeerSpec) { p.Auth = a }
}

func withCertificate(secret string) func(*trustv1alpha1.AgentPeerSpec) {
	return func(p *trustv1alpha1.AgentPeerSpec) {
		p.TLS.ClientCertificateRef = &trustv1alpha1.SecretReference{Name: secret}
	}
}

// certificate makes a certificate and its key in PEM.
func certificate(t *testing.T, from, to time.Time) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: canary}, NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		corev1.TLSCertKey:       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		corev1.TLSPrivateKeyKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

func TestSecurityCredentialsOfEveryKindAreReadAndBoundToTheOriginOfTheSpec(t *testing.T) {
	s := newStage(t)
	s.secret("line", map[string]string{"token": " " + canary + "\n", "client-secret": canary + "\n"})
	s.secret("basic", map[string]string{"username": "operator\n", "password": canary + ":é \n"})
	s.secret("tls", certificate(t, s.clock.Now().Add(-time.Hour), s.clock.Now().Add(time.Hour)))
	for name, test := range map[string]struct {
		auth   func(*trustv1alpha1.AgentPeerSpec)
		header string
		query  string
		value  string
	}{
		"a bearer token":    {authOf(trustv1alpha1.AuthBearer, "line"), "Authorization", "", "Bearer " + canary},
		"a header":          {authOf(trustv1alpha1.AuthHeader, "line"), "X-API-Key", "", canary},
		"a query parameter": {authOf(trustv1alpha1.AuthQuery, "line"), "", "api_key", canary},
		"a user name and a password": {authOf(trustv1alpha1.AuthBasic, "basic"), "Authorization", "",
			"Basic " + base64.StdEncoding.EncodeToString([]byte("operator:"+canary+":é "))},
	} {
		t.Run(name, func(t *testing.T) {
			target, f := s.resolve(test.auth)
			c := target.Credentials
			if f != nil || c.Header != test.header || c.Query != test.query || c.Value != test.value {
				t.Errorf("got header %q, query %q, value of %d bytes (%+v), want %q, %q and %d", c.Header, c.Query, len(c.Value), f, test.header, test.query, len(test.value))
			}
			if diff := cmp.Diff([]string{"https://planner.example.com"}, c.Origins); diff != "" {
				t.Errorf("where it goes (-want +got):\n%s", diff)
			}
		})
	}

	target, f := s.resolve(authOf(trustv1alpha1.AuthOAuth2, "line"))
	var secret corev1.Secret
	s.read("line", &secret)
	want := &probe.OAuth2{TokenURL: &url.URL{Scheme: "https", Host: "login.example.com", Path: "/token"}, ClientID: "operator", ClientSecret: canary,
		Scopes: []string{"a2a"}, Audience: "agents", InBody: true, Source: string(secret.UID) + "/" + secret.ResourceVersion}
	if diff := cmp.Diff(want, target.Credentials.OAuth2); diff != "" || f != nil {
		t.Errorf("OAuth2: %+v (-want +got):\n%s", f, diff)
	}

	target, f = s.resolve(withCertificate("tls"))
	if f != nil || target.Credentials.Certificate == nil || len(target.Credentials.Origins) != 1 || target.Credentials.Value != "" {
		t.Errorf("client certificate: %+v, %v", f, target.Credentials.Origins)
	}

	hash := sha256.Sum256([]byte("key"))
	target, f = s.resolve(func(p *trustv1alpha1.AgentPeerSpec) {
		p.AllowedOrigins = []trustv1alpha1.Origin{"https://other.example.com"}
		p.TLS.ServerName = "planner.internal.example.com"
		p.TLS.VerifyCertificateSPKI = []trustv1alpha1.SPKIHash{trustv1alpha1.SPKIHash(base64.StdEncoding.EncodeToString(hash[:]))}
	})
	if f != nil || target.ServerName != "planner.internal.example.com" || len(target.SPKI) != 1 || target.SPKI[0] != hash ||
		len(target.Credentials.Origins) != 1 || target.Credentials.Origins[0] != "https://planner.example.com" {
		t.Errorf("server name and pin: %+v, %q, %d pins, for %v", f, target.ServerName, len(target.SPKI), target.Credentials.Origins)
	}
}

func (s *stage) read(name string, secret *corev1.Secret) {
	s.Helper()
	if err := s.client.Get(s.Context(), clientKey(s.namespace, name), secret); err != nil {
		s.Fatal(err)
	}
}

func TestSecurityCredentialsThatCannotBeUsedAreAFaultThatShowsNothingOfThem(t *testing.T) {
	s := newStage(t)
	all := []trustv1alpha1.AuthType{trustv1alpha1.AuthBearer, trustv1alpha1.AuthHeader, trustv1alpha1.AuthQuery, trustv1alpha1.AuthBasic, trustv1alpha1.AuthOAuth2}
	everything := certificate(t, s.clock.Now().Add(-time.Hour), s.clock.Now().Add(time.Hour))
	for _, key := range []string{"token", "client-secret", "username", "password"} {
		everything[key] = canary
	}
	s.secret("unlabelled", everything, unlabelled)
	s.secret("empty", map[string]string{"other": canary})
	s.secret("elsewhere", everything, forOrigins("https://other.example.com"))
	for _, kind := range append(all, "certificate") {
		spec := func(secret string) func(*trustv1alpha1.AgentPeerSpec) {
			if kind == "certificate" {
				return withCertificate(secret)
			}
			return authOf(kind, secret)
		}
		for secret, want := range map[string]string{
			"not-there": trustv1alpha1.ReasonSecretNotFound, "unlabelled": trustv1alpha1.ReasonSecretNotAllowed,
			"empty": trustv1alpha1.ReasonSecretKeyNotFound, "elsewhere": trustv1alpha1.ReasonOriginNotListed,
		} {
			target, f := s.resolve(spec(secret))
			if f == nil || f.reason != want || f.stalled || !strings.Contains(f.message, secret) {
				t.Errorf("%s of Secret %q: %+v, want %s, named and waited for", kind, secret, f, want)
			}
			if target.URL != nil || target.Credentials.Value != "" || target.Credentials.OAuth2 != nil || target.Credentials.Certificate != nil {
				t.Errorf("%s of Secret %q: there is a target all the same", kind, secret)
			}
		}
	}

	other := certificate(t, s.clock.Now(), s.clock.Now().Add(time.Hour))
	for name, test := range map[string]struct {
		data map[string]string
		spec func(secret string) func(*trustv1alpha1.AgentPeerSpec)
		says string
	}{
		"two lines": {map[string]string{"token": canary + "\n" + canary}, func(n string) func(*trustv1alpha1.AgentPeerSpec) {
			return authOf(trustv1alpha1.AuthHeader, n)
		}, "one line of printable ASCII"},
		"no ASCII": {map[string]string{"client-secret": canary + "é"}, func(n string) func(*trustv1alpha1.AgentPeerSpec) {
			return authOf(trustv1alpha1.AuthOAuth2, n)
		}, "one line of printable ASCII"},
		"too long": {map[string]string{"token": strings.Repeat(canary, 3000)}, func(n string) func(*trustv1alpha1.AgentPeerSpec) {
			return authOf(trustv1alpha1.AuthQuery, n)
		}, "at most 16384 bytes"},
		"a colon in the user name": {map[string]string{"username": canary + ":x", "password": canary}, func(n string) func(*trustv1alpha1.AgentPeerSpec) {
			return authOf(trustv1alpha1.AuthBasic, n)
		}, "holds a colon"},
		"a password of two lines": {map[string]string{"username": "u", "password": canary + "\r\nX: y"}, func(n string) func(*trustv1alpha1.AgentPeerSpec) {
			return authOf(trustv1alpha1.AuthBasic, n)
		}, `key "password"`},
		"a certificate that is none": {map[string]string{"tls.crt": "-----BEGIN " + canary + "-----\naGk=\n-----END " + canary + "-----\n", "tls.key": canary},
			withCertificate, "are not a certificate in PEM and the private key of it"},
		"another's private key": {map[string]string{"tls.crt": everything["tls.crt"], "tls.key": other["tls.key"]}, withCertificate, "are not a certificate"},
		"an expired certificate": {certificate(t, s.clock.Now().Add(-2*time.Hour), s.clock.Now().Add(-time.Hour)),
			withCertificate, "has expired: renew it"},
		"a certificate of tomorrow": {certificate(t, s.clock.Now().Add(time.Hour), s.clock.Now().Add(2*time.Hour)), withCertificate, "not valid yet"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := s.secret("s-"+strings.ToLower(rand.Text()[:10]), test.data)
			_, f := s.resolve(test.spec(secret.Name))
			if f == nil || f.reason != trustv1alpha1.ReasonCredentialInvalid || f.stalled || !strings.Contains(f.message, test.says) {
				t.Errorf("got %+v, want %s that says %q and is waited for", f, trustv1alpha1.ReasonCredentialInvalid, test.says)
			}
		})
	}
}

// Whoever pins a certificate and writes http would believe that something is verified.
func TestSecurityCredentialsOfTLSNeedAnAddressByHTTPS(t *testing.T) {
	s := newStage(t)
	s.r.Egress = agent.Loopback()
	s.secret("certificate", certificate(t, s.clock.Now().Add(-time.Hour), s.clock.Now().Add(time.Hour)))
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "planner"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8080}}}})
	byURL := func(p *trustv1alpha1.AgentPeerSpec) { p.URL = "http://127.0.0.1:8080/" }
	byService := func(scheme string) func(*trustv1alpha1.AgentPeerSpec) {
		return func(p *trustv1alpha1.AgentPeerSpec) {
			p.URL, p.ServiceRef = "", &trustv1alpha1.ServiceReference{Name: "planner", Port: intstr.FromInt32(8080), Scheme: scheme}
		}
	}
	for member, with := range map[string]func(*trustv1alpha1.AgentPeerSpec){
		"":                     func(*trustv1alpha1.AgentPeerSpec) {},
		"clientCertificateRef": withCertificate("certificate"),
		"serverName":           func(p *trustv1alpha1.AgentPeerSpec) { p.TLS.ServerName = "planner.internal.example.com" },
		"verifyCertificateSPKI": func(p *trustv1alpha1.AgentPeerSpec) {
			p.TLS.VerifyCertificateSPKI = []trustv1alpha1.SPKIHash{trustv1alpha1.SPKIHash(strings.Repeat("A", 43) + "=")}
		},
	} {
		for name, test := range map[string]struct {
			address func(*trustv1alpha1.AgentPeerSpec)
			says    string // empty: it has an effect
		}{
			"a URL by http":      {byURL, "write https in spec.url, or remove it"},
			"a Service":          {byService(""), "set spec.serviceRef.scheme to https, or remove it"},
			"a Service by https": {byService("https"), ""},
			"a URL by https":     {func(*trustv1alpha1.AgentPeerSpec) {}, ""},
		} {
			_, f := s.resolve(func(p *trustv1alpha1.AgentPeerSpec) { test.address(p); with(p) })
			if member == "" || test.says == "" {
				if f != nil {
					t.Errorf("%s with %q: %+v, want none", name, member, f)
				}
				continue
			}
			if f == nil || f.reason != trustv1alpha1.ReasonInvalidSpec || !f.stalled || !strings.Contains(f.message, "spec.tls."+member+" has no effect") ||
				!strings.Contains(f.message, test.says) {
				t.Errorf("%s with %q: %+v, want %s, stalled, that says %q", name, member, f, trustv1alpha1.ReasonInvalidSpec, test.says)
			}
		}
	}
}

func TestSecurityCredentialsGoOnlyWhereTheirOwnerSays(t *testing.T) {
	s := newStage(t)
	const both = "https://login.example.com, https://planner.example.com"
	for name, test := range map[string]struct {
		list string
		kind trustv1alpha1.AuthType
		url  string
		says string // empty: it may go
	}{
		"the origin itself":              {"https://planner.example.com", trustv1alpha1.AuthBearer, "", ""},
		"in capitals, with its port":     {"HTTPS://Planner.Example.COM:443", trustv1alpha1.AuthBearer, "", ""},
		"one of several":                 {"https://a.example,, https://planner.example.com ,", trustv1alpha1.AuthQuery, "", ""},
		"both of OAuth2":                 {both, trustv1alpha1.AuthOAuth2, "", ""},
		"an address":                     {"https://[2001:4860:0:0::8888]:8443", trustv1alpha1.AuthBearer, "https://[2001:4860:0:0::8888]:8443/a", ""},
		"nothing at all":                 {"", trustv1alpha1.AuthBearer, "", "does not list https://planner.example.com, where"},
		"nothing but blanks":             {" , ", trustv1alpha1.AuthBearer, "", "does not list https://planner.example.com, where"},
		"another host":                   {"https://example.com", trustv1alpha1.AuthHeader, "", "does not list https://planner.example.com"},
		"another port":                   {"https://planner.example.com:8443", trustv1alpha1.AuthBasic, "", "does not list https://planner.example.com"},
		"another scheme":                 {"http://planner.example.com", trustv1alpha1.AuthBearer, "", "does not list https://planner.example.com"},
		"the address, not the token URL": {"https://planner.example.com", trustv1alpha1.AuthOAuth2, "", "does not list https://login.example.com, where"},
		"the token URL, not the address": {"https://login.example.com", trustv1alpha1.AuthOAuth2, "", "does not list https://planner.example.com, where"},
		"neither of them": {"https://x.example", trustv1alpha1.AuthOAuth2, "",
			"does not list https://login.example.com and https://planner.example.com, where"},
		"a path after it":       {"https://planner.example.com/", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
		"a path after another":  {"https://planner.example.com, https://b.example/x", trustv1alpha1.AuthBearer, "", "entry 2 of annotation"},
		"a wildcard":            {"https://*.example.com", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
		"everything":            {"*", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
		"a bare host":           {"planner.example.com", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
		"a user name":           {"https://planner.example.com@evil.example", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
		"a secret in its place": {"https://u:" + canary + "@planner.example.com", trustv1alpha1.AuthBearer, "", "entry 1 of annotation"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := s.secret("s-"+strings.ToLower(rand.Text()[:10]), map[string]string{"token": canary, "client-secret": canary, "username": "u", "password": canary},
				forOrigins(test.list))
			target, f := s.resolve(func(p *trustv1alpha1.AgentPeerSpec) {
				authOf(test.kind, secret.Name)(p)
				if test.url != "" {
					p.URL = test.url
				}
			})
			switch {
			case test.says == "" && (f != nil || len(target.Credentials.Origins) != 1):
				t.Errorf("got %+v, want it to be sent", f)
			case test.says != "" && (f == nil || f.reason != trustv1alpha1.ReasonOriginNotListed || !strings.Contains(f.message, test.says)):
				t.Errorf("got %+v, want %s that says %q", f, trustv1alpha1.ReasonOriginNotListed, test.says)
			case f != nil && (target.Credentials.Value != "" || target.Credentials.OAuth2 != nil):
				t.Error("refused, and there are credentials all the same")
			}
		})
	}
}

// TestSecurityCredentialsGoToTheNameThatTLSVerifies: whoever writes the AgentPeer writes the name that a certificate must be for, and
// whose certificates count.
func TestSecurityCredentialsGoToTheNameThatTLSVerifies(t *testing.T) {
	s := newStage(t)
	const listed, backend = "https://planner.example.com", "https://backend.example.net"
	data := map[string]string{"token": canary, "client-secret": canary, "username": "u", "password": canary}
	pair := certificate(t, s.clock.Now().Add(-time.Hour), s.clock.Now().Add(time.Hour))
	maps := map[string]string{"ca.crt": pair[corev1.TLSCertKey]}
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "planner-ca"}, Data: maps})
	for k, v := range pair {
		data[k] = v
	}
	serverName := func(p *trustv1alpha1.AgentPeerSpec) { p.TLS.ServerName = "Backend.Example.net" }
	ca := func(p *trustv1alpha1.AgentPeerSpec) {
		p.TLS.CARef = &trustv1alpha1.CAReference{Kind: trustv1alpha1.ReferenceConfigMap, Name: "planner-ca"}
	}
	atPort := func(p *trustv1alpha1.AgentPeerSpec) { serverName(p); p.URL = listed + ":8443/" }
	plain := func(*trustv1alpha1.AgentPeerSpec) {}
	for name, test := range map[string]struct {
		origins, cas string // what the owner says; "none": nothing
		spec         func(*trustv1alpha1.AgentPeerSpec)
		says         string // empty: it may go
	}{
		"neither":                           {listed, "none", plain, ""},
		"a name that is not listed":         {listed, "none", serverName, "does not list " + backend + ", where"},
		"a name that is listed":             {listed + "," + backend, "none", serverName, ""},
		"a name without the address":        {backend, "none", serverName, "does not list " + listed + ", where"},
		"a name at another port":            {listed + ":8443," + backend, "none", atPort, "does not list " + backend + ":8443, where"},
		"a name at the port":                {listed + ":8443," + backend + ":8443", "none", atPort, ""},
		"a CA and no word of it":            {listed, "none", ca, "add ConfigMap/planner-ca to its annotation trust.agentpeer.dev/allowed-cas"},
		"a CA and an empty list":            {listed, "", ca, "add ConfigMap/planner-ca"},
		"a CA, and another is listed":       {listed, "ConfigMap/planner", ca, "add ConfigMap/planner-ca"},
		"a CA, and a Secret of it":          {listed, "Secret/planner-ca", ca, "add ConfigMap/planner-ca"},
		"a CA that is listed":               {listed, "Secret/x, ConfigMap/planner-ca", ca, ""},
		"a CA, and everything is listed":    {listed, "*", ca, "add ConfigMap/planner-ca"},
		"a CA and a name, by the label":     {"none", "none", func(p *trustv1alpha1.AgentPeerSpec) { serverName(p); ca(p) }, ""},
		"a CA that is listed, and the name": {listed, "ConfigMap/planner-ca", func(p *trustv1alpha1.AgentPeerSpec) { serverName(p); ca(p) }, "does not list " + backend},
	} {
		t.Run(name, func(t *testing.T) {
			secret := s.secret("s-"+strings.ToLower(rand.Text()[:10]), data, func(o *corev1.Secret) {
				o.Annotations = map[string]string{}
				for annotation, value := range map[string]string{trustv1alpha1.AllowedOriginsAnnotation: test.origins, trustv1alpha1.AllowedCAsAnnotation: test.cas} {
					if value != "none" {
						o.Annotations[annotation] = value
					}
				}
			})
			ways := map[string]func(*trustv1alpha1.AgentPeerSpec){"a certificate": withCertificate(secret.Name)}
			for _, kind := range []trustv1alpha1.AuthType{trustv1alpha1.AuthBearer, trustv1alpha1.AuthHeader, trustv1alpha1.AuthQuery, trustv1alpha1.AuthBasic} {
				ways[string(kind)] = authOf(kind, secret.Name)
			}
			for way, use := range ways {
				target, f := s.resolve(func(p *trustv1alpha1.AgentPeerSpec) { use(p); test.spec(p) })
				switch {
				case test.says == "" && (f != nil || len(target.Credentials.Origins) != 1):
					t.Errorf("%s: got %+v, want it to be sent", way, f)
				case test.says != "" && (f == nil || f.reason != trustv1alpha1.ReasonOriginNotListed || f.stalled || !strings.Contains(f.message, test.says)):
					t.Errorf("%s: got %+v, want %s that says %q", way, f, trustv1alpha1.ReasonOriginNotListed, test.says)
				}
			}
		})
	}
	t.Run("OAuth2", func(t *testing.T) {
		secret := s.secret("client", data, forOrigins("https://login.example.com, "+listed))
		for says, change := range map[string]func(*trustv1alpha1.AgentPeerSpec){"does not list " + backend: serverName, "add ConfigMap/planner-ca": ca} {
			_, f := s.resolve(func(p *trustv1alpha1.AgentPeerSpec) { authOf(trustv1alpha1.AuthOAuth2, secret.Name)(p); change(p) })
			if f == nil || f.reason != trustv1alpha1.ReasonOriginNotListed || !strings.Contains(f.message, says) {
				t.Errorf("got %+v, want %s that says %q", f, trustv1alpha1.ReasonOriginNotListed, says)
			}
		}
	})
}

func TestSecurityEgressOfTokenAndKeyURLsIsThatOfTheAddress(t *testing.T) {
	s := newStage(t)
	s.secret("client", map[string]string{"client-secret": canary})
	token := func(text string) func(*trustv1alpha1.AgentPeerSpec) {
		return func(p *trustv1alpha1.AgentPeerSpec) {
			authOf(trustv1alpha1.AuthOAuth2, "client")(p)
			p.Auth.OAuth2.TokenURL = text
		}
	}
	keys := func(text string, origins ...trustv1alpha1.Origin) func(*trustv1alpha1.AgentPeerSpec) {
		return func(p *trustv1alpha1.AgentPeerSpec) {
			p.AllowedOrigins = origins
			p.Card.Verification = trustv1alpha1.CardVerification{Policy: trustv1alpha1.SignatureWarn, JWKSURL: text}
		}
	}
	for name, test := range map[string]struct {
		spec   func(*trustv1alpha1.AgentPeerSpec)
		reason string // empty: it may be asked
		says   string
	}{
		"a token endpoint":                 {token("https://login.example.com/token"), "", ""},
		"a token endpoint by http":         {token("http://login.example.com/token"), "PlaintextNotAllowed", "spec.auth.oauth2.tokenURL is http"},
		"a token endpoint on loopback":     {token("https://127.0.0.1/token"), "AddressNotAllowed", "spec.auth.oauth2.tokenURL"},
		"a token endpoint in the cloud":    {token("https://169.254.169.254/token"), "AddressNotAllowed", "spec.auth.oauth2.tokenURL"},
		"a token endpoint on a v6 address": {token("https://[fd00:ec2::254]/token"), "AddressNotAllowed", "spec.auth.oauth2.tokenURL"},
		"a token endpoint with a user":     {token("https://u:p@login.example.com/token"), trustv1alpha1.ReasonInvalidSpec, "without user name"},
		"keys of the agent's own":          {keys("https://planner.example.com/jwks"), "", ""},
		"keys of an allowed origin":        {keys("https://keys.example.com/jwks", "https://keys.example.com"), "", ""},
		"keys of another origin":           {keys("https://keys.example.com/jwks"), trustv1alpha1.ReasonInvalidSpec, "add https://keys.example.com to spec.allowedOrigins"},
		"keys of another port":             {keys("https://planner.example.com:8443/jwks"), trustv1alpha1.ReasonInvalidSpec, "add https://planner.example.com:8443"},
		"keys on a private address":        {keys("https://10.0.0.1/jwks", "https://10.0.0.1"), "AddressNotAllowed", "spec.card.verification.jwksURL"},
	} {
		t.Run(name, func(t *testing.T) {
			target, f := s.resolve(test.spec)
			switch {
			case test.reason == "" && (f != nil || target.Credentials.OAuth2 == nil && target.Verification.JWKS == nil):
				t.Errorf("got %+v, want it to be asked", f)
			case test.reason != "" && (f == nil || f.reason != test.reason || !f.stalled || !strings.Contains(f.message, test.says)):
				t.Errorf("got %+v, want %s that says %q and stalls", f, test.reason, test.says)
			}
		})
	}
}

func TestVerificationKeysComeFromAConfigMapOrASecret(t *testing.T) {
	s := newStage(t)
	block, _ := pem.Decode([]byte(certificate(t, s.clock.Now(), s.clock.Now().Add(time.Hour))[corev1.TLSCertKey]))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(cert.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	spec := func(policy trustv1alpha1.SignaturePolicy) func(*trustv1alpha1.AgentPeerSpec) {
		return func(p *trustv1alpha1.AgentPeerSpec) {
			p.Card.Verification = trustv1alpha1.CardVerification{Policy: policy, Keys: []trustv1alpha1.KeyReference{
				{Kind: trustv1alpha1.ReferenceConfigMap, Name: "keys", Key: "jwks.json"}, {Kind: trustv1alpha1.ReferenceSecret, Name: "keys", Key: "key.pem"}}}
		}
	}
	wantFault := func(reason, says string) {
		t.Helper()
		if _, f := s.resolve(spec(trustv1alpha1.SignatureRequire)); f == nil || f.reason != reason || f.stalled || !strings.Contains(f.message, says) {
			t.Errorf("got %+v, want %s that says %q", f, reason, says)
		}
	}
	if target, f := s.resolve(spec(trustv1alpha1.SignatureIgnore)); f != nil || target.Verification.Wanted {
		t.Errorf("policy Ignore reads keys: %+v", f)
	}
	wantFault(trustv1alpha1.ReasonVerificationKeysNotFound, `ConfigMap "keys" does not exist`)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, Data: map[string]string{"jwks.json": canary}}
	s.create(config)
	wantFault(trustv1alpha1.ReasonVerificationKeysInvalid, `key "jwks.json" of ConfigMap "keys"`)
	config.Data["jwks.json"] = public
	s.update(config)
	wantFault(trustv1alpha1.ReasonVerificationKeysNotFound, `Secret "keys" does not exist`)
	s.secret("keys", map[string]string{"key.pem": public}, unlabelled) // nothing of it is sent, so it needs no label
	target, f := s.resolve(spec(trustv1alpha1.SignatureRequire))
	if f != nil || !target.Verification.Wanted || len(target.Verification.Keys) != 2 || string(target.Verification.Keys[1]) != public {
		t.Errorf("got %+v and %d documents, want two", f, len(target.Verification.Keys))
	}
}

// rejecting is a peer that lets in whoever shows one token.
func (s *stage) rejecting(valid string) func(context.Context, probe.Job) probe.Report {
	return func(ctx context.Context, job probe.Job) probe.Report {
		if job.Target.Credentials.Value == "Bearer "+valid {
			return s.honest(ctx, job)
		}
		r := s.silent(ctx, job)
		r.Round.Reach.Reason = trust.ReasonAuthenticationRequired
		return r
	}
}

func TestSecurityCredentialsThatAreRotatedAreTriedSoon(t *testing.T) {
	s := newStage(t)
	secret := s.secret("planner-token", map[string]string{"token": canary + "-old"})
	s.play("planner", s.rejecting(canary+"-new"))
	s.peer("planner", withToken)
	s.pass("planner", 48*time.Hour)
	s.asked()
	s.pass("planner", 12*time.Hour)
	if jobs := s.asked(); len(jobs) > 2 {
		t.Errorf("%d rounds in 12 h with a token that is refused, want them to be rare", len(jobs))
	}
	s.wantState("planner", trust.Streaming, trust.Unverified)

	secret.StringData = map[string]string{"token": canary + "-new"}
	s.update(secret)
	s.pass("planner", 6*time.Minute) // nobody tells: it is seen within a cheap interval

	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.asked()
	secret.StringData = map[string]string{"token": canary + "-newer"}
	s.update(secret)
	s.pass("planner", 6*time.Minute) // the next round has it, and there is no reason for one of its own
	jobs := s.asked()
	if len(jobs) == 0 || len(jobs) > 2 || jobs[0].Target.Credentials.Value != "Bearer "+canary+"-newer" {
		t.Errorf("%d rounds after a rotation while all is well, want the next of its time to carry the new token", len(jobs))
	}
}

// Looking whether the peer is there is not enough: a process that is new does that anyway.
func TestAMendedSpecIsTriedSoon(t *testing.T) {
	for name, restart := range map[string]bool{"while the operator runs": false, "while no operator runs": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.secret("planner-token", map[string]string{"token": canary})
			s.play("planner", s.rejecting(canary))
			s.peer("planner")
			s.pass("planner", 48*time.Hour)
			s.asked()

			s.edit("planner", withToken)
			if restart {
				s.start() // only the generation tells
			}
			s.settle("planner")

			if jobs := s.asked(); len(jobs) == 0 || jobs[0].Kind != trust.Behavior || jobs[0].Target.Credentials.Value != "Bearer "+canary {
				t.Errorf("%d rounds at once, want a behavior round with the token", len(jobs))
			}
			s.pass("planner", 6*time.Minute)
			s.wantState("planner", trust.Streaming, trust.Trusted)
		})
	}
}

// A token that is refused again and again is no reason to ask at every turn.
func TestARotationIsOneReasonForOneRound(t *testing.T) {
	s := newStage(t)
	secret := s.secret("planner-token", map[string]string{"token": canary + "-1"})
	s.play("planner", s.rejecting(canary))
	s.peer("planner", withToken)
	s.pass("planner", 48*time.Hour)
	s.asked()

	secret.StringData = map[string]string{"token": canary + "-2"}
	s.update(secret)
	s.pass("planner", 4*time.Hour)

	if jobs := s.asked(); len(jobs) != 1 {
		t.Errorf("%d rounds in 4 h after a rotation to another bad token, want 1", len(jobs))
	}
}

package controllers

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// fault says why a spec yields no target, in words that tell how to mend it. Only what the user wrote and names of
// objects stand in it, never what a Secret holds.
type fault struct {
	reason  string
	message string
	// stalled: only an edit of the spec can help. Else what is missing may still come.
	stalled bool
	// slow: waiting will rarely help, such as where the operator lacks a right.
	slow bool
}

// maxToken is how long a credential may be; servers refuse longer headers.
const maxToken = 16 << 10

// maxCABundle is how long a bundle of certificates may be.
const maxCABundle = 512 << 10

// resolver turns a spec into a target.
type resolver struct {
	reader client.Reader
	allow  []netip.Prefix
	timing probe.Timing
}

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;list;watch

// resolve reads what the spec refers to. Exactly one of fault and error is set where there is no target: a fault is the
// user's, an error Kubernetes'. A reference never leaves the object's namespace.
func (r resolver) resolve(ctx context.Context, peer *trustv1alpha1.AgentPeer) (probe.Target, *fault, error) {
	t := probe.Target{
		Key:      peer.Namespace + "/" + peer.Name,
		CardPath: peer.Spec.Card.Path,
		Allow:    r.allow,
		Timing:   r.timing,
		Fixtures: fixtures(&peer.Spec.Probes),

		PushReachable: peer.Spec.Probes.Push.Reachable,
	}
	for _, origin := range peer.Spec.AllowedOrigins {
		t.AllowedOrigins = append(t.AllowedOrigins, string(origin))
	}
	steps := []func(context.Context, *trustv1alpha1.AgentPeer, *probe.Target) (*fault, error){r.endpoint, r.credentials, r.certificates}
	for _, step := range steps {
		if f, err := step(ctx, peer, &t); f != nil || err != nil {
			return probe.Target{}, f, err
		}
	}
	t.ID = t.URL.String()
	t.Preference.Binding = peer.Spec.Interface.Binding
	t.Preference.ProtocolVersion = peer.Spec.Interface.ProtocolVersion
	t.Preference.FromEndpoint = peer.Spec.Interface.URLFrom == trustv1alpha1.URLFromEndpoint
	t.Preference.Endpoint = t.URL
	t.Identity = Identity(peer.Spec.TaskIdentity)
	return t, nil, nil
}

func (r resolver) endpoint(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	if ref := peer.Spec.ServiceRef; ref != nil {
		return r.service(ctx, peer.Namespace, ref, t)
	}
	u, err := url.Parse(peer.Spec.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return &fault{reason: trustv1alpha1.ReasonInvalidSpec, stalled: true,
			message: "spec.url cannot be used: write an absolute http or https URL with a host and without a user name"}, nil
	}
	if probe.Refuses(u, r.allow) {
		return &fault{reason: string(trust.ReasonAddressNotAllowed), stalled: true, message: "the address in spec.url is private, loopback " +
			"or reserved: use spec.serviceRef for a Service of this cluster, or ask the operator's administrator to open the range"}, nil
	}
	t.URL = u
	return nil, nil
}

// service names the peer by the Service's DNS name, so that its certificate and its card can name it too. This one
// host and port may have a private address: whoever may write a Service here may reach it anyway.
func (r resolver) service(ctx context.Context, namespace string, ref *trustv1alpha1.ServiceReference, t *probe.Target) (*fault, error) {
	var service corev1.Service
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &service)
	if f := missing(err, "Service", ref.Name, trustv1alpha1.ReasonServiceNotFound); f != nil {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Service %q: %w", ref.Name, err)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return &fault{reason: trustv1alpha1.ReasonInvalidSpec, stalled: true, message: fmt.Sprintf(
			"Service %q is of type ExternalName, which can point anywhere: set spec.url to the address instead", ref.Name)}, nil
	}
	port, ok := servicePort(&service, ref.Port)
	if !ok {
		return &fault{reason: trustv1alpha1.ReasonServicePortNotFound, message: fmt.Sprintf(
			"Service %q has no port %s: add it, or set spec.serviceRef.port to one of %s",
			ref.Name, ref.Port.String(), portList(&service))}, nil
	}
	host := ref.Name + "." + namespace + ".svc:" + strconv.Itoa(int(port))
	path, scheme := ref.Path, ref.Scheme
	if path == "" {
		path = "/"
	}
	if scheme == "" {
		scheme = "http"
	}
	u, err := url.Parse(scheme + "://" + host + path)
	if err != nil {
		return &fault{reason: trustv1alpha1.ReasonInvalidSpec, stalled: true,
			message: "spec.serviceRef.path cannot be used: write an absolute path such as /agents/route"}, nil
	}
	t.URL, t.AllowHosts = u, []string{host}
	return nil, nil
}

func servicePort(service *corev1.Service, want intstr.IntOrString) (int32, bool) {
	for _, p := range service.Spec.Ports {
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		if want.Type == intstr.String && p.Name == want.StrVal || want.Type == intstr.Int && p.Port == want.IntVal {
			return p.Port, true
		}
	}
	return 0, false
}

// portList names the ports of a Service, the first few.
func portList(service *corev1.Service) string {
	var names []string
	for _, p := range service.Spec.Ports[:min(len(service.Spec.Ports), 8)] {
		if p.Name != "" {
			names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.Port))
		} else {
			names = append(names, strconv.Itoa(int(p.Port)))
		}
	}
	if len(names) == 0 {
		return "those it will have: it has none now"
	}
	return strings.Join(names, ", ")
}

// credentials reads the token and binds it to the one origin that the spec names. To create an AgentPeer must not be
// enough to send any Secret of a namespace anywhere, so the Secret says itself that it may be sent.
func (r resolver) credentials(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	auth := peer.Spec.Auth
	if auth == nil {
		return nil, nil
	}
	if auth.Type != trustv1alpha1.AuthBearer || auth.Bearer == nil {
		return &fault{reason: trustv1alpha1.ReasonInvalidSpec, stalled: true,
			message: "spec.auth names no way to authenticate that this operator knows: use type Bearer with auth.bearer.secretRef"}, nil
	}
	ref := auth.Bearer.SecretRef
	key := ref.Key
	if key == "" {
		key = "token"
	}
	value, f, err := r.secretKey(ctx, peer.Namespace, ref.Name, key)
	if f != nil || err != nil {
		return f, err
	}
	token := strings.TrimSpace(string(value))
	if token == "" {
		return &fault{reason: trustv1alpha1.ReasonSecretKeyNotFound, message: fmt.Sprintf(
			"key %q of Secret %q is empty: put the token there", key, ref.Name)}, nil
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
		return &fault{reason: trustv1alpha1.ReasonCredentialInvalid, message: fmt.Sprintf(
			"key %q of Secret %q cannot be sent in a header: it must be one line of printable ASCII of at most %d bytes",
			key, ref.Name, maxToken)}, nil
	}
	t.Credentials.Header, t.Credentials.Value = "Authorization", "Bearer "+token
	t.Credentials.Origins = []string{originOf(t.URL)}
	return nil, nil
}

func (r resolver) secretKey(ctx context.Context, namespace, name, key string) ([]byte, *fault, error) {
	var secret corev1.Secret
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	if f := missing(err, "Secret", name, trustv1alpha1.ReasonSecretNotFound); f != nil {
		return nil, f, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("getting Secret %q: %w", name, err)
	}
	if secret.Labels[trustv1alpha1.SendToPeersLabel] != trustv1alpha1.SendToPeersValue {
		return nil, &fault{reason: trustv1alpha1.ReasonSecretNotAllowed, message: fmt.Sprintf(
			"Secret %q may not be sent to peers: label it %s=%s to allow it",
			name, trustv1alpha1.SendToPeersLabel, trustv1alpha1.SendToPeersValue)}, nil
	}
	value, ok := secret.Data[key]
	if !ok {
		return nil, &fault{reason: trustv1alpha1.ReasonSecretKeyNotFound, message: fmt.Sprintf(
			"Secret %q has no key %q: add it, or name another in the reference", name, key)}, nil
	}
	return value, nil, nil
}

// certificates reads the bundle of spec.tls.caRef. Certificates are no secret, so theirs needs no label: nothing of it
// is sent anywhere.
func (r resolver) certificates(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	ref := peer.Spec.TLS.CARef
	if ref == nil {
		return nil, nil
	}
	key := ref.Key
	if key == "" {
		key = "ca.crt"
	}
	name := client.ObjectKey{Namespace: peer.Namespace, Name: ref.Name}
	var bundle []byte
	var ok bool
	var err error
	if ref.Kind == trustv1alpha1.CAFromSecret {
		var secret corev1.Secret
		err = r.reader.Get(ctx, name, &secret)
		bundle, ok = secret.Data[key]
	} else {
		var config corev1.ConfigMap
		err = r.reader.Get(ctx, name, &config)
		if text, found := config.Data[key]; found {
			bundle, ok = []byte(text), true
		} else {
			bundle, ok = config.BinaryData[key]
		}
	}
	if f := missing(err, string(ref.Kind), ref.Name, trustv1alpha1.ReasonCABundleNotFound); f != nil {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting %s %q: %w", ref.Kind, ref.Name, err)
	}
	if !ok {
		return &fault{reason: trustv1alpha1.ReasonCABundleNotFound, message: fmt.Sprintf(
			"%s %q has no key %q: add it, or name another in spec.tls.caRef.key", ref.Kind, ref.Name, key)}, nil
	}
	if len(bundle) > maxCABundle || !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return &fault{reason: trustv1alpha1.ReasonCABundleInvalid, message: fmt.Sprintf(
			"key %q of %s %q holds no certificate in PEM, or more than %d bytes", key, ref.Kind, ref.Name, maxCABundle)}, nil
	}
	t.RootCAs = slices.Clone(bundle)
	return nil, nil
}

// missing tells a reference that does not exist, or that the operator may not read, from a trouble of the API server.
// Both are a state to show and wait in, not an error to repeat at full speed (cases C101 and C105).
func missing(err error, kind, name, reason string) *fault {
	switch {
	case apierrors.IsNotFound(err):
		return &fault{reason: reason, message: fmt.Sprintf("%s %q does not exist in this namespace: create it", kind, name)}
	case apierrors.IsForbidden(err):
		return &fault{reason: reason, slow: true, message: fmt.Sprintf(
			"the operator may not read %s %q: let its ServiceAccount get it", kind, name)}
	}
	return nil
}

// originOf is scheme, host and port, with the default port left out as browsers do.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + host + ":" + port
}

// Identity is what tells tasks apart, as spec.taskIdentity has it; nil: their ids alone.
func Identity(i *trustv1alpha1.TaskIdentity) probe.Identity {
	switch {
	case i == nil:
	case i.Source == trustv1alpha1.IdentityMetadata:
		return probe.Identity{Metadata: i.Key}
	case i.Source == trustv1alpha1.IdentityHeader:
		return probe.Identity{Header: i.Key}
	}
	return probe.Identity{}
}

// fixtures are the messages of a spec.
func fixtures(p *trustv1alpha1.Probes) probe.Fixtures {
	var f probe.Fixtures
	if p.Message != nil {
		f.Message = fixture(p.Message)
	}
	if l := p.Fixtures.LongRunning; l != nil {
		f.LongRunning = fixture(&l.Message)
	}
	for i := range p.Fixtures.InputModes {
		if f.Modes == nil {
			f.Modes = map[string]*probe.Fixture{}
		}
		m := &p.Fixtures.InputModes[i]
		f.Modes[m.MediaType] = fixture(&m.Message)
	}
	if i := p.Fixtures.InputRequired; i != nil {
		f.InputRequired = fixture(&i.Message)
		f.InputRequired.Reply = fixture(&i.Reply)
	}
	return f
}

func fixture(m *trustv1alpha1.Message) *probe.Fixture {
	f := &probe.Fixture{}
	for _, p := range m.Parts {
		part := probe.Part{Text: p.Text, Raw: p.Raw, MediaType: p.MediaType}
		if p.Data != nil {
			part.Data = p.Data.Raw
		}
		f.Parts = append(f.Parts, part)
	}
	if len(m.Metadata) > 0 {
		f.Metadata = make(map[string]any, len(m.Metadata))
		for k, v := range m.Metadata {
			f.Metadata[k] = string(v)
		}
	}
	return f
}

// serviceName and configMapName are what the indices hold.
func serviceName(peer *trustv1alpha1.AgentPeer) string {
	if peer.Spec.ServiceRef == nil {
		return ""
	}
	return peer.Spec.ServiceRef.Name
}

func configMapName(peer *trustv1alpha1.AgentPeer) string {
	if ref := peer.Spec.TLS.CARef; ref != nil && ref.Kind == trustv1alpha1.CAFromConfigMap {
		return ref.Name
	}
	return ""
}

// patience is how long to wait before looking for a missing reference again: half as long as it has been missing, from
// 2 s up to 30 s, so that whoever is at work on it sees it heal; after 10 min it may be missing for days, and 2 min do.
func patience(f *fault, missingFor time.Duration) time.Duration {
	if f.slow || missingFor >= 10*time.Minute {
		return 2 * time.Minute
	}
	return min(max(missingFor/2, 2*time.Second), 30*time.Second)
}

package controllers

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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

// unusable is the fault of a spec that only an edit can mend.
func unusable(format string, args ...any) *fault {
	return &fault{reason: trustv1alpha1.ReasonInvalidSpec, stalled: true, message: fmt.Sprintf(format, args...)}
}

// waiting is the fault of something beside the spec that may still come.
func waiting(reason, format string, args ...any) *fault {
	return &fault{reason: reason, message: fmt.Sprintf(format, args...)}
}

// resolver turns one spec into a target, once. Secrets and ServiceAccounts are read by name when they are needed, and nothing of them
// is kept but the tokens of ServiceAccounts.
type resolver struct {
	client client.Client
	egress *probe.Egress
	timing probe.Timing
	// tokens of ServiceAccounts, and what the operator's configuration says of them.
	tokens  *accountTokens
	granted ServiceAccountTokens
	// documents that targets share; nil: each has its own.
	documents *documents
	// self is the operator's own ServiceAccount.
	self types.NamespacedName
	now  time.Time
	// read lists the versions of what credentials and keys come from.
	read []string
}

// resolve reads what the spec refers to. Exactly one of fault and error is set where there is no target: a fault is the
// user's, an error Kubernetes'. A reference never leaves the object's namespace.
func (r *resolver) resolve(ctx context.Context, peer *trustv1alpha1.AgentPeer) (probe.Target, *fault, error) {
	t := probe.Target{
		Key:      peer.Namespace + "/" + peer.Name,
		Tenant:   peer.Namespace,
		CardPath: peer.Spec.Card.Path,
		Timing:   r.timing,
		Fixtures: fixtures(&peer.Spec.Probes),

		PushReachable: peer.Spec.Probes.Push.Reachable,
	}
	for _, origin := range peer.Spec.AllowedOrigins {
		t.AllowedOrigins = append(t.AllowedOrigins, string(origin))
	}
	steps := []func(context.Context, *trustv1alpha1.AgentPeer, *probe.Target) (*fault, error){
		r.endpoint, r.verification, r.encrypted, r.credentials, r.clientCertificate, r.certificates}
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

// note remembers that an object was read.
func (r *resolver) note(o client.Object) {
	r.read = append(r.read, string(o.GetUID())+"/"+o.GetResourceVersion())
}

// references is another number whenever the spec or an object that credentials and keys come from is another, and never 0.
func (r *resolver) references(generation int64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, generation, r.read)
	return max(h.Sum64(), 1)
}

func (r *resolver) endpoint(ctx context.Context, peer *trustv1alpha1.AgentPeer, t *probe.Target) (*fault, error) {
	if ref := peer.Spec.ServiceRef; ref != nil {
		return r.service(ctx, peer.Namespace, ref, t)
	}
	u, err := url.Parse(peer.Spec.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !plainHost(u) || u.User != nil {
		return unusable("spec.url cannot be used: write an absolute http or https URL with a host, without %% in it, and without a user name"), nil
	}
	t.URL = u
	return r.refused(u, "spec.url", "use spec.serviceRef for a Service of this cluster"), nil
}

// refused says that the operator does not let anything connect to a URL of the spec, and what to do instead.
func (r *resolver) refused(u *url.URL, field, instead string) *fault {
	switch r.egress.Refuses(u) {
	case probe.RefusedPlaintext:
		return &fault{reason: string(trust.ReasonPlaintextNotAllowed), stalled: true, message: fmt.Sprintf(
			"%s is http: write https, %s, or ask the operator's administrator to allow http for this host", field, instead)}
	case probe.RefusedAddress:
		return &fault{reason: string(trust.ReasonAddressNotAllowed), stalled: true, message: fmt.Sprintf(
			"the address in %s is private, loopback, reserved or denied: %s, or ask the operator's administrator to open it", field, instead)}
	}
	return nil
}

// missing tells a reference that does not exist, or that the operator may not read, from a trouble of the API server.
// Both are a state to show and wait in, not an error to repeat at full speed (cases C101 and C105).
func missing(err error, kind, name, reason string) *fault {
	switch {
	case apierrors.IsNotFound(err):
		return waiting(reason, "%s %q does not exist in this namespace: create it", kind, name)
	case apierrors.IsForbidden(err):
		return &fault{reason: reason, slow: true, message: fmt.Sprintf(
			"the operator may not read %s %q: let its ServiceAccount get it", kind, name)}
	}
	return nil
}

// plainHost tells whether a URL has a host whose text says all of it: a zone of IPv6, which we ignore, ends an address in any other name.
func plainHost(u *url.URL) bool { return u.Hostname() != "" && !strings.Contains(u.Host, "%") }

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

// serviceNames and configMapNames are what the indices hold.
func serviceNames(peer *trustv1alpha1.AgentPeer) []string {
	if peer.Spec.ServiceRef == nil {
		return nil
	}
	return []string{peer.Spec.ServiceRef.Name}
}

func configMapNames(peer *trustv1alpha1.AgentPeer) []string {
	var names []string
	if ref := peer.Spec.TLS.CARef; ref != nil && ref.Kind == trustv1alpha1.ReferenceConfigMap {
		names = append(names, ref.Name)
	}
	for _, ref := range peer.Spec.Card.Verification.Keys {
		if ref.Kind == trustv1alpha1.ReferenceConfigMap {
			names = append(names, ref.Name)
		}
	}
	return names
}

// patience is how long to wait before looking for a missing reference again: half as long as it has been missing, from
// 2 s up to 30 s, so that whoever is at work on it sees it heal; after 10 min it may be missing for days, and 2 min do.
func patience(f *fault, missingFor time.Duration) time.Duration {
	if f.slow || missingFor >= 10*time.Minute {
		return 2 * time.Minute
	}
	return min(max(missingFor/2, 2*time.Second), 30*time.Second)
}

package probe

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// forbidden is a peer at an address that may be asked, and a trap at one that may not: whoever connects to it was misled.
type forbidden struct {
	t      *testing.T
	egress *wire.Egress
	peer   *httptest.Server
	trap   net.Listener
	hits   atomic.Int32
	// card is what the peer serves, unless a redirect is set.
	card     string
	status   int
	location string
	posts    atomic.Int32
	count    int
}

// newForbidden opens 127.0.0.1 and nothing else; the trap is on 127.0.0.2, by http and by https.
func newForbidden(t *testing.T) *forbidden {
	t.Helper()
	trap, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forbidden{t: t, trap: trap}
	f.egress, err = wire.NewEgress(wire.EgressPolicy{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("127.0.0.2/32")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, PlaintextHosts: []string{"127.0.0.1", "127.0.0.2", "169.254.169.254", "10.0.0.1"},
		APIServer: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.1:443")},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := trap.Accept()
			if err != nil {
				return
			}
			f.hits.Add(1)
			_ = conn.Close()
		}
	}()
	f.peer = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.peer.CloseClientConnections()
		f.peer.Close()
		_ = trap.Close()
		<-done
		if n := f.hits.Load(); n != 0 {
			t.Errorf("%d connections came to what nobody may reach", n)
		}
		t.Attr("ssrf_blocked", strconv.Itoa(f.count))
		t.Logf("%d attempts", f.count)
	})
	return f
}

func (f *forbidden) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		f.posts.Add(1)
	}
	if f.status != 0 {
		w.Header().Set("Location", f.location)
		w.WriteHeader(f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, f.card)
}

// cardOf is a card of 1.0 with one interface.
func cardOf(url, binding string) string {
	return fmt.Sprintf(`{"name":"a","description":"b","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
		"skills":[{"id":"s","name":"s","description":"s","tags":["s"]}],"supportedInterfaces":[{"url":%q,"protocolBinding":%q,"protocolVersion":"1.0"}]}`, url, binding)
}

// round runs one round, with credentials for the peer, and checks that nothing was learned but one of the reasons.
func (f *forbidden) round(t *testing.T, job Job, reasons ...trust.Reason) Report {
	t.Helper()
	f.count++
	before := f.posts.Load()
	rep := Run(t.Context(), Env{Egress: f.egress}, job)
	reach := rep.Round.Reach
	if reach.Outcome != trust.Inconclusive || !slices.Contains(reasons, reach.Reason) {
		t.Errorf("reach is %s %s (%s), want Inconclusive and one of %v", reach.Outcome, reach.Reason, reach.Message, reasons)
	}
	for _, o := range rep.Round.Observations {
		if o.Outcome == trust.Diverged {
			t.Errorf("%s diverged: %s", o.Capability, o.Message)
		}
	}
	if f.posts.Load() != before {
		t.Error("the peer was asked a question that was not meant for it")
	}
	return rep
}

func (f *forbidden) job(t *testing.T) Job {
	job := jobFor(t, f.peer.URL, trust.Streaming)
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{f.peer.URL}}
	return job
}

// inside lists addresses that no peer has: metadata, private, the trap in several spellings, the API server.
func (f *forbidden) inside() []string {
	_, port, _ := net.SplitHostPort(f.trap.Addr().String())
	return []string{
		"http://169.254.169.254", "https://169.254.169.254", "https://10.0.0.1:8443", "http://10.0.0.1", "https://[::ffff:169.254.169.254]", "https://[64:ff9b::a9fe:a9fe]",
		"http://127.0.0.2:" + port, "https://127.0.0.2:" + port, "https://[::ffff:127.0.0.2]:" + port, "https://10.96.0.1", "https://[::]:" + port, "https://0.0.0.0:" + port,
	}
}

// A card may name any interface; the origin alone keeps us off, and where the user allowed that origin its address does.
func TestSecuritySSRFNoInterfaceOfACardLeadsInside(t *testing.T) {
	f := newForbidden(t)
	for _, binding := range []string{"JSONRPC", "HTTP+JSON", "GRPC"} {
		for _, to := range f.inside() {
			t.Run(binding+" "+to, func(t *testing.T) {
				f.card = cardOf(to, binding)
				job := f.job(t)
				f.round(t, job, trust.ReasonOriginNotAllowed, trust.ReasonNoUsableInterface)
				job.Target.AllowedOrigins = []string{to}
				f.round(t, job, trust.ReasonAddressNotAllowed, trust.ReasonPlaintextNotAllowed, trust.ReasonNoUsableInterface)
			})
		}
	}
}

func TestSecuritySSRFNoRedirectOfACardLeadsInside(t *testing.T) {
	f := newForbidden(t)
	for _, f.status = range []int{301, 302, 303, 307, 308} {
		for _, f.location = range append(f.inside(), "https://"+f.peer.Listener.Addr().String(), "file:///etc/passwd") {
			t.Run(fmt.Sprint(f.status, " ", f.location), func(t *testing.T) { f.round(t, f.job(t), trust.ReasonEndpointRedirects) })
		}
	}
}

// What the spec itself names is a tenant's choice too.
func TestSecuritySSRFNoURLOfASpecLeadsInside(t *testing.T) {
	f := newForbidden(t)
	for _, to := range f.inside() {
		t.Run(to, func(t *testing.T) {
			f.round(t, jobFor(t, to, trust.Streaming), trust.ReasonAddressNotAllowed, trust.ReasonPlaintextNotAllowed)
		})
	}
}

// A Service may have endpoints that its owner wrote by hand, which is how a name of the cluster comes to mean the API server.
func TestSecuritySSRFNoPinnedServiceLeadsInside(t *testing.T) {
	f := newForbidden(t)
	for _, at := range []string{
		f.trap.Addr().String(), "169.254.169.254:80", "[::ffff:169.254.169.254]:80", "10.96.0.1:443", "10.96.0.1:10250", "[::ffff:10.96.0.1]:443", "[fe80::1]:80", "[fd00:ec2::254]:80",
	} {
		t.Run(at, func(t *testing.T) {
			job := jobFor(t, "http://planner.travel.svc:8080", trust.Streaming)
			job.Target.Pinned = map[string][]netip.AddrPort{"planner.travel.svc:8080": {netip.MustParseAddrPort(at)}}
			f.round(t, job, trust.ReasonAddressNotAllowed)
		})
	}
}

// The token endpoint is the spec's, and dialled behind the same guard.
func TestSecuritySSRFNoTokenURLLeadsInside(t *testing.T) {
	f := newForbidden(t)
	for _, to := range f.inside() {
		t.Run(to, func(t *testing.T) {
			job := f.job(t)
			u := *job.Target.URL
			token, err := u.Parse(to + "/token")
			if err != nil {
				t.Fatal(err)
			}
			job.Target.Credentials = wire.Credentials{OAuth2: &wire.OAuth2{TokenURL: token, ClientID: "me", ClientSecret: "secret", Source: "s"}, Origins: []string{f.peer.URL}}
			f.round(t, job, trust.ReasonAddressNotAllowed, trust.ReasonTokenUnavailable, trust.ReasonPlaintextNotAllowed)
		})
	}
}

// Keys are fetched behind the same guard, from origins that the spec names.
func TestSecuritySSRFNoJWKSURLLeadsInside(t *testing.T) {
	f := newForbidden(t)
	signed := fmt.Sprintf(`{"signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ","signature":%q}],`, strings.Repeat("A", 86))
	for _, to := range f.inside() {
		t.Run(to, func(t *testing.T) {
			f.card = signed + strings.TrimPrefix(cardOf(to, "JSONRPC"), "{")
			job := f.job(t)
			keys, err := job.Target.URL.Parse(to + "/jwks.json")
			if err != nil {
				t.Fatal(err)
			}
			job.Target.Verification = Verification{Wanted: true, JWKS: keys}
			for _, job.Target.AllowedOrigins = range [][]string{nil, {to}} {
				rep := f.round(t, job, trust.ReasonOriginNotAllowed, trust.ReasonAddressNotAllowed, trust.ReasonPlaintextNotAllowed, trust.ReasonNoUsableInterface)
				if got := rep.Round.Signature.Reason; got != trust.ReasonSignatureKeysUnavailable {
					t.Errorf("the signature is %s, want that its keys were not to be had", got)
				}
			}
		})
	}
}

package card

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func parse(t *testing.T, text, from string) *Card {
	t.Helper()
	var source *url.URL
	if from != "" {
		source = mustURL(t, from)
	}
	c, err := Parse([]byte(text), source)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// spell writes interfaces as "binding version url".
func spell(list []Interface) []string {
	var out []string
	for _, in := range list {
		words := []string{in.Binding, in.ProtocolVersion, in.URL.String()}
		if in.Tenant != "" {
			words = append(words, "tenant="+in.Tenant)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func TestUsable(t *testing.T) {
	const (
		remote = "https://peer.test/.well-known/agent-card.json"
		local  = "http://127.0.0.1:9000/.well-known/agent-card.json"
		mixed  = `{"supportedInterfaces":[
			{"url":"https://peer.test/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},
			{"url":"https://peer.test/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},
			{"url":"https://peer.test/v2","protocolBinding":"JSONRPC","protocolVersion":"2.0"},
			{"url":"https://peer.test/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"a/b"},
			{"url":"https://peer.test/old","protocolBinding":"jsonrpc","protocolVersion":"0.3"}]}`
		unversioned = `{"url":"https://peer.test/a2a"}`
	)
	for name, tc := range map[string]struct {
		card, from string
		prefer     Preference
		want       []string
	}{
		"C99: the first binding and version that we speak, with its tenant": {card: mixed, from: remote,
			want: []string{"GRPC 1.0 https://peer.test/grpc", "HTTP+JSON 1.0 https://peer.test/rest", "JSONRPC 1.0 https://peer.test/rpc tenant=a/b",
				"JSONRPC 0.3 https://peer.test/old"}},
		"a preferred version picks its generation": {card: mixed, from: remote, prefer: Preference{ProtocolVersion: "0.3.0"},
			want: []string{"JSONRPC 0.3 https://peer.test/old"}},
		"a patch number of the preference does not count": {card: mixed, from: remote, prefer: Preference{ProtocolVersion: "1.0.1", Binding: "json-rpc"},
			want: []string{"JSONRPC 1.0 https://peer.test/rpc tenant=a/b"}},
		"a preferred binding leaves the others out": {card: mixed, from: remote, prefer: Preference{Binding: "grpc"},
			want: []string{"GRPC 1.0 https://peer.test/grpc"}},
		"a preferred binding by another of its names": {card: mixed, from: remote, prefer: Preference{Binding: "REST"},
			want: []string{"HTTP+JSON 1.0 https://peer.test/rest"}},
		"HTTP+JSON came after 0.1": {card: `{"supportedInterfaces":[{"url":"https://peer.test/rest","protocolBinding":"HTTP+JSON","protocolVersion":"0.1"}]}`,
			from: remote},
		"one address may speak two bindings": {from: remote, card: `{"protocolVersion":"0.3.0","url":"https://peer.test/a","preferredTransport":"HTTP+JSON",
			"additionalInterfaces":[{"url":"https://peer.test/a","transport":"HTTP+JSON"},{"url":"https://peer.test/a","transport":"JSONRPC"}]}`,
			want: []string{"HTTP+JSON 0.3.0 https://peer.test/a", "JSONRPC 0.3.0 https://peer.test/a"}},
		"a preferred binding that we do not speak leaves nothing": {card: mixed, from: remote, prefer: Preference{Binding: "https://bindings.test/ws"}},
		"an interface without a version stays open":               {card: unversioned, from: remote, want: []string{"JSONRPC  https://peer.test/a2a"}},
		"an interface without a version takes the preferred one": {card: unversioned, from: remote, prefer: Preference{ProtocolVersion: "0.1"},
			want: []string{"JSONRPC 0.1 https://peer.test/a2a"}},
		"C46: a wildcard address is never dialled":       {card: `{"url":"http://0.0.0.0:8000/"}`, from: local},
		"C46: nor is its IPv6 form":                      {card: `{"url":"http://[::]:8000/invoke"}`, from: remote},
		"C46: nor one that hides in an IPv4-mapped form": {card: `{"url":"http://[::ffff:0.0.0.0]:8000/invoke"}`, from: remote},
		"C46: localhost on a remote card is us":          {card: `{"url":"http://localhost:8000/"}`, from: remote},
		"C46: and so is anything below it":               {card: `{"url":"http://a.LocalHost.:8000/"}`, from: remote},
		"C46: unless the user names the endpoint": {card: `{"url":"http://0.0.0.0:8000/"}`, from: remote,
			prefer: Preference{FromEndpoint: true, Endpoint: mustURL(t, "http://peer.ns.svc/a2a")},
			want:   []string{"JSONRPC  http://peer.ns.svc/a2a"}},
		"the user may name their own machine": {card: unversioned, from: remote,
			prefer: Preference{FromEndpoint: true, Endpoint: mustURL(t, "http://localhost:9000/a2a")},
			want:   []string{"JSONRPC  http://localhost:9000/a2a"}},
		"loopback is fine on a card from loopback": {card: `{"url":"http://localhost:9000/a"}`, from: local, want: []string{"JSONRPC  http://localhost:9000/a"}},
		"interfaces that differ by their URL only become one": {prefer: Preference{FromEndpoint: true, Endpoint: mustURL(t, "http://peer.test/x")}, from: remote,
			card: `{"protocolVersion":"0.3.0","url":"http://a.test/","additionalInterfaces":[{"url":"http://b.test/","transport":"JSONRPC"}]}`,
			want: []string{"JSONRPC 0.3.0 http://peer.test/x"}},
		"an endpoint of the spec that is missing is nothing to dial": {card: unversioned, from: remote, prefer: Preference{FromEndpoint: true}},
		"C56: a relative URL resolves against the card":              {card: `{"url":"/a2a"}`, from: remote, want: []string{"JSONRPC  https://peer.test/a2a"}},
		"C56: and is nothing to dial where the card has no address":  {card: `{"url":"/a2a"}`},
		"a scheme that is not HTTP is nothing to dial":               {card: `{"url":"file:///etc/passwd"}`, from: remote},
		"a card without interfaces":                                  {card: `{}`, from: remote},
	} {
		t.Run(name, func(t *testing.T) {
			list, why := parse(t, tc.card, tc.from).Usable(tc.prefer)
			if diff := cmp.Diff(tc.want, spell(list)); diff != "" {
				t.Errorf("usable (-want +got):\n%s", diff)
			}
			if want := map[bool]trust.Reason{true: trust.ReasonNoUsableInterface}[len(tc.want) == 0]; why != want {
				t.Errorf("why is %q, want %q", why, want)
			}
		})
	}
}

// A gRPC address says in many ways where to dial, and by its scheme or its card whether there is TLS.
func TestAddressesOfGRPC(t *testing.T) {
	const secure, plain = "https://peer.test/card", "http://peer.test/card"
	for name, tc := range map[string]struct{ url, from, want string }{
		"host and port, card by https":                  {"peer.test:50051", secure, "https://peer.test:50051"},
		"host and port, card by http":                   {"peer.test:50051", plain, "http://peer.test:50051"},
		"host and port, card from nowhere":              {"peer.test:50051", "", "https://peer.test:50051"},
		"port 443 is TLS whatever the card":             {"peer.test:443", plain, "https://peer.test:443"},
		"port 80 never is":                              {"peer.test:80", secure, "http://peer.test:80"},
		"a host alone":                                  {"peer.test", secure, "https://peer.test"},
		"an address of IPv6":                            {"[2001:db8::1]:50051", secure, "https://[2001:db8::1]:50051"},
		"https with a path, which is not dialled":       {"https://peer.test/grpc", plain, "https://peer.test/grpc"},
		"http says that there is no TLS":                {"http://peer.test:50051", secure, "http://peer.test:50051"},
		"grpc says so too":                              {"grpc://peer.test:50051", secure, "http://peer.test:50051"},
		"grpcs says that there is":                      {"GRPCS://peer.test:50051", plain, "https://peer.test:50051"},
		"dns, as gRPC's own names":                      {"dns:///peer.test:50051", secure, "https://peer.test:50051"},
		"dns without slashes":                           {"dns:peer.test:50051", plain, "http://peer.test:50051"},
		"dns with a name server, which is not asked":    {"dns://192.0.2.1/peer.test:50051", secure, "https://peer.test:50051"},
		"a user in it is dropped":                       {"https://me:pw@peer.test:50051", secure, "https://peer.test:50051"},
		"a socket of the machine leads nowhere":         {"unix:///run/agent.sock", secure, ""},
		"nor does a scheme that nobody here resolves":   {"xds:///peer", secure, ""},
		"nor an empty host":                             {":50051", secure, ""},
		"nor a host with odd signs":                     {"pe\"er.test:1", secure, ""},
		"C46: loopback is not the peer of another host": {"localhost:50051", secure, ""},
		"C46: nor is a wildcard address":                {"0.0.0.0:50051", plain, ""},
		"a loopback card may name loopback":             {"127.0.0.1:50051", "http://127.0.0.1:8080/card", "http://127.0.0.1:50051"},
	} {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			c := parse(t, `{"supportedInterfaces":[{"url":`+string(quoted)+`,"protocolBinding":"GRPC","protocolVersion":"1.0"}]}`, tc.from)
			list, _ := c.Usable(Preference{})
			got := ""
			if len(list) > 0 {
				got = list[0].URL.String()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

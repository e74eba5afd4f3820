package main

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestHostsAreReadStrictly(t *testing.T) {
	for list, good := range map[string]bool{
		"": true, "corp.example.com, .example.org,": true, "192.0.2.1": true, "2001:db8::1": true,
		"https://corp.example.com": false, "corp.example.com:80": false, "*.example.com": false, "a.example/b": false, "a@b": false, ".": false, "10.0.0.0/8": false,
	} {
		if _, err := hosts("--deny-hosts", list); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "--deny-hosts") {
			t.Errorf("hosts(%q): %v, want good: %v, and the flag named", list, err, good)
		}
	}
}

func TestAFlagThatCannotBeUsedIsNamedWithTheOthers(t *testing.T) {
	o := flags(t, "-allow-cidrs=10.0.0.0", "-deny-cidrs=x", "-allow-http-hosts=http://a", "-deny-hosts=*", "-connections-per-address=0")
	_, err := newEgress(t.Context(), &rest.Config{}, o, logr.Discard())
	for _, name := range []string{"--allow-cidrs", "--deny-cidrs", "--allow-http-hosts", "--deny-hosts", "--connections-per-address"} {
		if err == nil || !strings.Contains(err.Error(), "reading "+name+":") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestSecurityEgressNeverLeadsToTheAPIServer(t *testing.T) {
	server := apiserver.For(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.7")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")

	found := apiServer(t.Context(), server.Config, logr.Discard())

	own := netip.MustParseAddrPort(hostPort(server.Config.Host))
	for _, want := range []netip.AddrPort{own, netip.MustParseAddrPort("192.0.2.7:443")} {
		if !slices.Contains(found, want) {
			t.Errorf("found %v, want %s among them", found, want)
		}
	}
	told, err := toldAddresses(t.Context(), server.Config)
	if err != nil || len(told) == 0 {
		t.Errorf("the API server tells %v (%v), want its own address", told, err)
	}
	replicas, err := replicaAddresses(t.Context(), server.Config)
	if err != nil || len(replicas) == 0 {
		t.Errorf("behind its Service are %v (%v), want its own address", replicas, err)
	}

	egress, err := newEgress(t.Context(), server.Config, flags(t, "-allow-cidrs=127.0.0.0/8,192.0.2.0/24", "-deny-hosts=evil.example"), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]wire.Refusal{
		"https://" + own.String() + "/api":   wire.RefusedAddress,
		"https://192.0.2.7/api":              wire.RefusedAddress,
		"https://192.0.2.8/":                 "",
		"https://a.evil.example/":            wire.RefusedAddress,
		"http://planner.example.com/":        wire.RefusedPlaintext,
		"https://planner.example.com:6443/a": "",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := egress.Refuses(u); got != want {
			t.Errorf("%s: refused %q, want %q", text, got, want)
		}
	}
}

func TestAHostOfAKubeconfigIsReadAsClientsDo(t *testing.T) {
	for text, want := range map[string]string{
		"https://10.0.0.1:6443": "10.0.0.1:6443", "https://k8s.example.com/prefix": "k8s.example.com:443", "http://localhost": "localhost:80",
		"10.0.0.1:6443": "10.0.0.1:6443", "https://[fd00::1]": "[fd00::1]:443",
	} {
		if got := hostPort(text); got != want {
			t.Errorf("hostPort(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSecurityCredentialsOfTheOperatorAreKnownToBeItsOwn(t *testing.T) {
	token := func(payload string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(`{"sub":"system:serviceaccount:agentpeer-system:operator","aud":["https://kubernetes.example.com"]}`)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	self := types.NamespacedName{Namespace: "agentpeer-system", Name: "operator"}
	for name, test := range map[string]struct {
		config    rest.Config
		self      types.NamespacedName
		audiences []string
	}{
		"a file":           {rest.Config{BearerTokenFile: file}, self, []string{"https://kubernetes.example.com"}},
		"one audience":     {rest.Config{BearerToken: token(`{"sub":"system:serviceaccount:agentpeer-system:operator","aud":"k"}`)}, self, []string{"k"}},
		"a person's token": {rest.Config{BearerToken: token(`{"sub":"me","aud":["k"]}`)}, types.NamespacedName{}, []string{"k"}},
		"no JWT":           {rest.Config{BearerToken: "abc"}, types.NamespacedName{}, nil},
		"no token":         {rest.Config{}, types.NamespacedName{}, nil},
	} {
		gotSelf, gotAudiences := ownToken(&test.config)
		if gotSelf != test.self || !slices.Equal(gotAudiences, test.audiences) {
			t.Errorf("%s: %v and %v, want %v and %v", name, gotSelf, gotAudiences, test.self, test.audiences)
		}
	}
}

package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

func networkPolicy(t *testing.T) networkingv1.NetworkPolicy {
	t.Helper()
	var policy networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict([]byte(read(t, "config/network-policy/operator.yaml")), &policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

// closed are the ranges that the policy keeps the operator from.
func closed(t *testing.T) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, rule := range networkPolicy(t).Spec.Egress {
		for _, to := range rule.To {
			for _, except := range to.IPBlock.Except {
				out = append(out, netip.MustParsePrefix(except))
			}
		}
	}
	return out
}

// TestSecurityNetworkPolicyClosesWhatTheGuardNeverOpens reads the guard's own list, so that neither is changed alone.
func TestSecurityNetworkPolicyClosesWhatTheGuardNeverOpens(t *testing.T) {
	never := append(metadata(t), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"))
	shut := closed(t)
	for _, p := range never {
		if !slices.ContainsFunc(shut, func(c netip.Prefix) bool { return c.Bits() <= p.Bits() && c.Contains(p.Addr()) }) {
			t.Errorf("config/network-policy lets the operator reach %s, which the guard never dials: add it to except", p)
		}
	}
	all, err := wire.NewEgress(wire.EgressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range shut {
		u := &url.URL{Scheme: "https", Host: netip.AddrPortFrom(p.Addr(), 443).String()}
		if all.Refuses(u) == "" {
			t.Errorf("config/network-policy closes %s, and the guard dials it where ranges are opened: the two should agree", p)
		}
	}
}

// metadata reads the variable of that name in internal/wire.
func metadata(t *testing.T) []netip.Prefix {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apiserver.Root(), "internal", "wire", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []netip.Prefix
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != "metadata" {
				return true
			}
			ast.Inspect(spec, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if unquoted, err := strconv.Unquote(text.Value); err == nil {
						if p, err := netip.ParsePrefix(unquoted); err == nil {
							out = append(out, p)
						}
					}
				}
				return true
			})
			return false
		})
	}
	if len(out) < 5 {
		t.Fatalf("found %d metadata addresses in internal/wire, want its whole list", len(out))
	}
	return out
}

func TestSecurityNetworkPolicyLetsInFourPorts(t *testing.T) {
	policy := networkPolicy(t)
	if !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		t.Errorf("the policy is about %v, want both ways", policy.Spec.PolicyTypes)
	}
	var ports []int32
	for _, rule := range policy.Spec.Ingress {
		if len(rule.Ports) == 0 {
			t.Error("a rule lets in every port")
		}
		for _, p := range rule.Ports {
			ports = append(ports, p.Port.IntVal)
		}
	}
	slices.Sort(ports)
	if want := []int32{8081, 8083, 8084, 8443}; !slices.Equal(ports, want) {
		t.Errorf("the policy lets in %v, want %v", ports, want)
	}
}

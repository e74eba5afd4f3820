package card

import (
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestClaims(t *testing.T) {
	const unversioned = `{"url":"https://peer.test/"}`
	for name, tc := range map[string]struct {
		card           string
		interfaceIndex int
		declared       string
		legacy, noCaps bool
	}{
		"a 1.0 client of a union card does not read the members of 0.x": {card: readGolden(t, "union"), declared: "Streaming"},
		"a 0.3 client of the same card does": {card: readGolden(t, "union"), interfaceIndex: 1,
			declared: "Streaming ExtendedAgentCard StateTransitionHistory", legacy: true},
		"an entry of 0.3 among supportedInterfaces is of 0.3":   {card: readGolden(t, "union-with-old-entry"), interfaceIndex: 1, declared: "Streaming", legacy: true},
		"the founding incident":                                 {card: readGolden(t, "v01"), declared: "Streaming StateTransitionHistory", legacy: true},
		"C57: a 0.x card without capabilities":                  {card: unversioned, legacy: true, noCaps: true},
		"a 1.0 card without capabilities":                       {card: `{"url":"https://peer.test/","protocolVersion":"1.0"}`},
		"C59: capabilities of a wrong type are as good as none": {card: `{"url":"https://peer.test/","capabilities":["streaming"]}`, legacy: true, noCaps: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, tc.card, wellKnown)
			got := c.Claims(c.Interfaces[tc.interfaceIndex])
			if declared := strings.Join(declaredList(got.Declared), " "); declared != tc.declared {
				t.Errorf("declared %q, want %q", declared, tc.declared)
			}
			if got.Legacy != tc.legacy || got.NoCapabilities != tc.noCaps || got.Digest != c.Digest {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestClaimsAreTheCallersOwn(t *testing.T) {
	c := parse(t, readGolden(t, "v01"), wellKnown)
	c.Claims(c.Interfaces[0]).Declared[trust.Streaming] = trust.NotDeclared
	if c.Claims(c.Interfaces[0]).Declared[trust.Streaming] != trust.Declared || c.Declared[trust.Streaming] != trust.Declared {
		t.Error("a change of one answer shows in the next")
	}
}

func TestAuthDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		card string
		want bool
	}{
		"nothing said":                       {card: `{}`},
		"schemes of 0.1":                     {card: `{"authentication":{"schemes":["Basic"]}}`, want: true},
		"no schemes of 0.1":                  {card: `{"authentication":{"schemes":[]}}`},
		"a scheme and no requirement":        {card: `{"securitySchemes":{"b":{"type":"http","scheme":"bearer"}}}`, want: true},
		"a requirement of 0.x":               {card: `{"security":[{"b":[]}]}`, want: true},
		"an empty alternative":               {card: `{"security":[{"b":[]},{}]}`},
		"a requirement of 1.0":               {card: `{"securityRequirements":[{"schemes":{"b":{"list":[]}}}]}`, want: true},
		"bare scopes":                        {card: `{"securityRequirements":[{"schemes":{"b":["r"]}}]}`, want: true},
		"no schemes member":                  {card: `{"securityRequirements":[{"b":[]}]}`, want: true},
		"one requirement and no list":        {card: `{"securityRequirements":{"schemes":{"b":{}}}}`, want: true},
		"a scheme that cannot be read":       {card: `{"securitySchemes":{"b":5}}`},
		"schemes that are a list":            {card: `{"securitySchemes":[{"type":"http"}]}`},
		"requirements that cannot be read":   {card: `{"security":[5,"x",null]}`},
		"an empty list of requirements":      {card: `{"security":[]}`},
		"mutual TLS, said by presence alone": {card: `{"securitySchemes":{"m":{"mtlsSecurityScheme":{}}}}`, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, tc.card, "").AuthDeclared; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

package card

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
)

const (
	wellKnown = "https://peer.test/.well-known/agent-card.json"
	oldName   = "https://peer.test/.well-known/agent.json"
)

// goldens are cards as they are found in the wild, one of each generation and one of each case. Each is told by describe.
var goldens = []struct {
	file, from, sentence string
	want                 string
}{
	{"v01", oldName, "0.1 has no version, authentication.schemes and kinds of parts as modes", `
		JSONRPC - https://peer.test/ (old) usable
		declared Streaming StateTransitionHistory
		input text/plain output text/plain
		skill plan text/plain,application/json
		asks for authentication
		warnings LegacyCardPath`},
	{"v02", oldName, "0.2.1 brought security schemes and the flag of the extended card", `
		JSONRPC - https://peer.test/a2a/ (old) usable
		declared Streaming ExtendedAgentCard
		input text/plain output text/plain
		skill s
		asks for authentication
		warnings LegacyCardPath`},
	{"v025", wellKnown, "0.2.5 says its version", `
		JSONRPC 0.2.5 https://peer.test/a2a (old) usable
		declared PushNotifications
		input text/plain output text/plain
		warnings`},
	{"v03", wellKnown, "0.3 lists interfaces by url and transport; a missing transport is JSONRPC, an empty alternative needs no login", `
		JSONRPC 0.3.0 https://peer.test/a2a/v1 (old) usable
		HTTP+JSON 0.3.0 https://peer.test/a2a/v1 (old) usable
		GRPC 0.3.0 https://peer.test/a2a/grpc (old) usable
		JSONRPC 0.3.0 https://peer.test/a2a/v2 (old) usable
		declared Streaming PushNotifications StateTransitionHistory
		input text/plain output text/plain
		skill s text/plain,image/png
		warnings`},
	{"v03-without-transport", wellKnown, "cards without preferredTransport are JSONRPC", `
		JSONRPC 0.3.0 https://peer.test/ (old) usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings`},
	{"v10", wellKnown, "1.0 lists everything in supportedInterfaces", `
		JSONRPC 1.0 https://peer.test/rpc usable
		HTTP+JSON 1.0 https://peer.test/rest usable
		GRPC 1.0 https://peer.test:443 usable
		declared Streaming PushNotifications ExtendedAgentCard
		input text/plain output text/plain
		skill s
		asks for authentication
		warnings`},
	{"v10-case-members", wellKnown, "security as one SDK serves it does not lose the card", `
		JSONRPC 1.0 https://peer.test/rpc usable
		HTTP+JSON 1.0 https://peer.test/rest usable
		GRPC 1.0 https://peer.test:443 usable
		declared Streaming PushNotifications ExtendedAgentCard
		input text/plain output text/plain
		skill s
		asks for authentication
		warnings`},
	{"v10-history-flag", wellKnown, "stateTransitionHistory is gone from 1.0", `
		JSONRPC 1.0 https://peer.test/rpc usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings HistoryFlagRemoved`},
	{"v10-without-version", wellKnown, "an interface whose version cannot be read is left to the prober", `
		JSONRPC - https://peer.test/rpc usable
		JSONRPC - https://peer.test/rpc2 usable
		JSONRPC 1.0 https://peer.test/rpc3 usable
		JSONRPC 1.0.1 https://peer.test/rpc4 usable
		declared
		input text/plain output text/plain
		skill s
		warnings VersionMissing`},
	{"union", wellKnown, "a union card has both generations at one url", `
		JSONRPC 1.0 https://peer.test/ usable
		JSONRPC 0.3.0 https://peer.test/ (old) usable
		declared Streaming ExtendedAgentCard StateTransitionHistory
		input text/plain output text/plain
		skill s
		warnings MixedGenerations`},
	{"union-with-old-entry", wellKnown, "what supportedInterfaces says already is not said twice", `
		JSONRPC 1.0 https://peer.test/rpc usable
		JSONRPC 0.3 https://peer.test/old usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings MixedGenerations`},
	{"c31-null-streaming", wellKnown, "C31: null, absent and false are one thing", `
		JSONRPC 0.3.0 https://peer.test/a2a (old) usable
		declared
		input text/plain output text/plain
		skill s
		warnings`},
	{"c37-version-beside-url", wellKnown, "C37: the version decides, not the members around it", `
		JSONRPC 1.0 https://peer.test/a2a (old) usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings`},
	{"c46-wildcard", "http://peer.ns.svc:8000/.well-known/agent-card.json", "C46: a wildcard address is our own", `
		JSONRPC 0.3.0 http://0.0.0.0:8000/ (old)
		JSONRPC 0.3.0 http://[::]:8080/invoke (old)
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings EndpointUnroutable`},
	{"c47-scheme-downgrade", wellKnown, "C47: https for the card, http for the endpoint", `
		JSONRPC 1.0 http://peer.test/a2a usable
		JSONRPC 0.3.0 http://peer.test/a2a (old) usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings InsecureEndpoint MixedGenerations SchemeDowngrade`},
	{"c54-endpoint-is-card", "https://peer.test/a2a/agents/tick/v1/card", "C54: the endpoint is the card", `
		JSONRPC 0.3.0 https://peer.test/a2a/agents/tick/v1/card (old) usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings EndpointIsCard`},
	{"c56-relative", "https://peer.test/.well-known/tick/agent-card.json", "C56: a relative url resolves against the card's own", `
		JSONRPC 0.3.0 https://peer.test/.well-known/tick/agent-card.json (old) usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings EndpointIsCard RelativeEndpoint`},
	{"c57-snake-case", oldName, "C57: no capabilities member, and others in snake case", `
		JSONRPC - https://peer.test/ (old) usable
		declared
		no capabilities member
		skill s
		warnings CapabilitiesMissing LegacyCardPath SnakeCaseMembers`},
	{"c59-wrong-types", wellKnown, "C59: wrong types everywhere cost what they are about and nothing else", `
		JSONRPC 1.0 https://peer.test/rpc usable
		declared ExtendedAgentCard
		input text/plain,text/html
		skill 12
		skill s
		skill sha256:a202ee6e402b
		asks for authentication
		warnings CapabilityWrongType InterfaceMalformed ModesMalformed SecurityMalformed SkillsMalformed`},
	{"c63-signed", wellKnown, "C63: a signed card", `
		JSONRPC 1.0 https://peer.test/rpc usable
		HTTP+JSON 1.0 https://peer.test/rest usable
		GRPC 1.0 https://peer.test:443 usable
		declared Streaming PushNotifications ExtendedAgentCard
		input text/plain output text/plain
		skill s
		asks for authentication
		signed
		warnings`},
	{"c92-json-only", wellKnown, "C92: an agent that takes JSON and no text", `
		JSONRPC 0.3.0 https://peer.test/a2a (old) usable
		declared
		input application/json output application/json
		skill s
		warnings`},
	{"c99-tenant", wellKnown, "C99: tenants are kept apart, foreign bindings are kept and not used", `
		GRPC 1.0 https://peer.test:9443 usable
		https://bindings.test/websocket 1.0 https://peer.test/x
		JSONRPC 1.0 https://peer.test/rpc tenant acme usable
		JSONRPC 1.0 https://peer.test/rpc tenant globex usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings EndpointOriginDiffers`},
	{"c108-c109-other-origin", wellKnown, "C83, C108, C109: another host, and plain http", `
		JSONRPC 1.0 http://internal.svc:8080/a2a/tick/a2a/tock/ usable
		declared Streaming
		input text/plain output text/plain
		skill s
		warnings EndpointOriginDiffers InsecureEndpoint SchemeDowngrade`},
	{"duplicates-and-bom", wellKnown, "the last of two members counts, a capability that is said to be and not to be is not declared, and a byte order mark is no fault", `
		JSONRPC 0.3.0 https://peer.test/last (old) usable
		declared
		warnings ByteOrderMark DuplicateMembers`},
	{"estimates", wellKnown, "an estimate is a number of seconds or ISO 8601, below a day", `
		JSONRPC 0.3.0 https://peer.test/a2a (old) usable
		declared
		skill seconds 1m30s
		skill text 1.5s
		skill iso 2m30s
		skill metadata 1h0m0s
		skill a-day
		skill negative
		skill prose
		skill list
		warnings`},
}

func TestGoldenCards(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.file, func(t *testing.T) {
			t.Log(g.sentence)
			c := parse(t, readGolden(t, g.file), g.from)
			want := strings.ReplaceAll(strings.TrimSpace(g.want), "\t", "")
			if diff := cmp.Diff(want, describe(c)); diff != "" {
				t.Errorf("card (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryGoldenCardIsTold(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, g := range goldens {
		told[g.file] = true
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); !told[name] {
			t.Errorf("%s stands in no row of goldens", f)
		}
	}
}

func readGolden(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// describe tells a card in lines; what is empty is left out.
func describe(c *Card) string {
	var lines []string
	line := func(words ...string) { lines = append(lines, strings.Join(words, " ")) }
	usable, _ := c.Usable(Preference{})
	for _, in := range c.Interfaces {
		line(describeInterface(in, usable))
	}
	line(append([]string{"declared"}, declaredList(c.Declared)...)...)
	if !c.HasCapabilities {
		line("no capabilities member")
	}
	var modes []string
	if len(c.DefaultInputModes) > 0 {
		modes = append(modes, "input", strings.Join(c.DefaultInputModes, ","))
	}
	if len(c.DefaultOutputModes) > 0 {
		modes = append(modes, "output", strings.Join(c.DefaultOutputModes, ","))
	}
	if len(modes) > 0 {
		line(modes...)
	}
	for _, s := range c.Skills {
		words := []string{"skill", s.ID}
		if len(s.InputModes) > 0 {
			words = append(words, strings.Join(s.InputModes, ","))
		}
		if s.EstimatedDuration > 0 {
			words = append(words, s.EstimatedDuration.String())
		}
		line(words...)
	}
	if c.AuthDeclared {
		line("asks for authentication")
	}
	if c.Signed {
		line("signed")
	}
	words := []string{"warnings"}
	for _, w := range c.Warnings {
		words = append(words, string(w))
	}
	line(words...)
	return strings.Join(lines, "\n")
}

func describeInterface(in Interface, usable []Interface) string {
	text := fmt.Sprintf("%s %s %s", in.Binding, in.ProtocolVersion, in.URL)
	if in.ProtocolVersion == "" {
		text = fmt.Sprintf("%s - %s", in.Binding, in.URL)
	}
	if in.Tenant != "" {
		text += " tenant " + in.Tenant
	}
	if in.Legacy {
		text += " (old)"
	}
	for _, u := range usable {
		if u == in {
			return text + " usable"
		}
	}
	return text
}

// declaredList names what is declared, in a fixed order, and panics where one of the four is missing.
func declaredList(m map[trust.Capability]trust.Declaration) []string {
	var list []string
	for _, c := range []trust.Capability{trust.Streaming, trust.PushNotifications, trust.ExtendedAgentCard, trust.StateTransitionHistory} {
		switch m[c] {
		case trust.Declared:
			list = append(list, string(c))
		case trust.NotDeclared:
		default:
			panic("no declaration of " + string(c))
		}
	}
	return list
}

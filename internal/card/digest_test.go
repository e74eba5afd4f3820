package card

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// digestOf takes the digest of a card that is told as Go values.
func digestOf(t testing.TB, card map[string]any) string {
	t.Helper()
	text, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Digest
}

// claimed is a card with every kind of claim in it.
func claimed() map[string]any {
	var card map[string]any
	text := `{
		"protocolVersion": "0.3.0", "url": "https://peer.test/old", "preferredTransport": "JSONRPC",
		"additionalInterfaces": [{"url": "https://peer.test/rest", "transport": "HTTP+JSON"}],
		"supportedInterfaces": [
			{"url": "https://peer.test/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "a"},
			{"url": "https://peer.test/rpc2", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
		"capabilities": {"streaming": true, "pushNotifications": false, "stateTransitionHistory": false, "extendedAgentCard": false},
		"securitySchemes": {
			"key": {"type": "apiKey", "in": "header", "name": "X-Key"},
			"login": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.test/t", "scopes": {"r": "x", "w": "x"}}}},
			"web": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
		"security": [{"key": []}, {"login": ["r", "w"], "web": []}],
		"defaultInputModes": ["text/plain", "application/json"], "defaultOutputModes": ["text/plain", "image/png"],
		"skills": [{"id": "a", "inputModes": ["text/plain", "image/png"]}, {"id": "b", "outputModes": ["text/plain", "text/html"]}]
	}`
	if err := json.Unmarshal([]byte(text), &card); err != nil {
		panic(err)
	}
	return card
}

func TestEveryClaimChangesTheDigest(t *testing.T) {
	item := func(v any, i int) map[string]any { return v.([]any)[i].(map[string]any) }
	member := func(v any, names ...string) map[string]any {
		m := v.(map[string]any)
		for _, n := range names {
			m = m[n].(map[string]any)
		}
		return m
	}
	changes := map[string]func(c map[string]any){
		"nothing":                     func(map[string]any) {},
		"the url":                     func(c map[string]any) { c["url"] = "https://peer.test/new" },
		"the protocol version":        func(c map[string]any) { c["protocolVersion"] = "0.2.6" },
		"the preferred transport":     func(c map[string]any) { c["preferredTransport"] = "GRPC" },
		"an additional interface":     func(c map[string]any) { item(c["additionalInterfaces"], 0)["transport"] = "JSONRPC" },
		"no additional interface":     func(c map[string]any) { delete(c, "additionalInterfaces") },
		"a supported interface's url": func(c map[string]any) { item(c["supportedInterfaces"], 0)["url"] = "https://peer.test/x" },
		"its binding":                 func(c map[string]any) { item(c["supportedInterfaces"], 0)["protocolBinding"] = "GRPC" },
		"its version":                 func(c map[string]any) { item(c["supportedInterfaces"], 0)["protocolVersion"] = "0.3" },
		"its tenant":                  func(c map[string]any) { item(c["supportedInterfaces"], 0)["tenant"] = "b" },
		"streaming":                   func(c map[string]any) { member(c, "capabilities")["streaming"] = false },
		"push notifications":          func(c map[string]any) { member(c, "capabilities")["pushNotifications"] = true },
		"state transition history":    func(c map[string]any) { member(c, "capabilities")["stateTransitionHistory"] = true },
		"the extended card":           func(c map[string]any) { member(c, "capabilities")["extendedAgentCard"] = true },
		"the place of a key":          func(c map[string]any) { member(c, "securitySchemes", "key")["in"] = "query" },
		"the name of a key":           func(c map[string]any) { member(c, "securitySchemes", "key")["name"] = "X-Other" },
		"the type of a scheme":        func(c map[string]any) { member(c, "securitySchemes", "key")["type"] = "http" },
		"a scheme more":               func(c map[string]any) { member(c, "securitySchemes")["mtls"] = map[string]any{"type": "mutualTLS"} },
		"a token url": func(c map[string]any) {
			member(c, "securitySchemes", "login", "flows", "clientCredentials")["tokenUrl"] = "https://evil.test"
		},
		"a scope": func(c map[string]any) {
			delete(member(c, "securitySchemes", "login", "flows", "clientCredentials", "scopes"), "w")
		},
		"an HTTP scheme": func(c map[string]any) {
			member(c, "securitySchemes", "web", "httpAuthSecurityScheme")["scheme"] = "Basic"
		},
		"a required scope":             func(c map[string]any) { item(c["security"], 1)["login"] = []any{"r"} },
		"an alternative without login": func(c map[string]any) { c["security"] = append(c["security"].([]any), map[string]any{}) },
		"founding authentication":      func(c map[string]any) { c["authentication"] = map[string]any{"schemes": []any{"Bearer"}} },
		"an input mode":                func(c map[string]any) { c["defaultInputModes"] = []any{"text/plain"} },
		"an output mode":               func(c map[string]any) { c["defaultOutputModes"] = []any{"text/plain"} },
		"input and output changed": func(c map[string]any) {
			c["defaultInputModes"], c["defaultOutputModes"] = c["defaultOutputModes"], c["defaultInputModes"]
		},
		"a skill's id":          func(c map[string]any) { item(c["skills"], 0)["id"] = "c" },
		"a skill's input mode":  func(c map[string]any) { item(c["skills"], 0)["inputModes"] = []any{"text/plain"} },
		"a skill's output mode": func(c map[string]any) { item(c["skills"], 1)["outputModes"] = []any{"text/plain"} },
		"no skill":              func(c map[string]any) { delete(c, "skills") },
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		card := claimed()
		changes[name](card)
		d := digestOf(t, card)
		if other, there := seen[d]; there {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
	}
}

func TestClaimsBeyondWhatIsKeptChangeTheDigest(t *testing.T) {
	many := func(last string) map[string]any {
		var skills []any
		for range 2 * MaxSkills {
			skills = append(skills, map[string]any{"id": strings.Repeat("s", len(skills)+1)})
		}
		return map[string]any{"skills": append(skills, map[string]any{"id": last})}
	}
	if digestOf(t, many("x")) == digestOf(t, many("y")) {
		t.Error("a skill beyond the bound is not in the digest")
	}
}

// The same claims in another form have one digest.
func TestFormsOfOneClaim(t *testing.T) {
	for name, pair := range map[string][2]string{
		"security as ProtoJSON and as one SDK serves it": {readGolden(t, "v10"), readGolden(t, "v10-case-members")},
		"signed and not":                             {readGolden(t, "v10"), readGolden(t, "c63-signed")},
		"false, null and absent":                     {`{"capabilities":{"streaming":false,"pushNotifications":null}}`, `{"capabilities":{}}`},
		"no capabilities member has the same effect": {`{"capabilities":{}}`, `{}`},
		"spelling of a binding":                      {`{"url":"http://a.test/","preferredTransport":"JSONRPC"}`, `{"url":"http://a.test/","preferredTransport":"json-rpc"}`},
		"a default that is written out":              {`{"url":"http://a.test/","preferredTransport":"JSONRPC"}`, `{"url":"http://a.test/"}`},
		"an interface said twice":                    {`{"url":"http://a.test/"}`, `{"url":"http://a.test/","additionalInterfaces":[{"url":"http://a.test/","transport":"JSONRPC"}]}`},
		"parameters of a media type":                 {`{"defaultInputModes":["text/plain;charset=utf-8"]}`, `{"defaultInputModes":["TEXT/plain"]}`},
		"bare scopes and a list of them":             {`{"securityRequirements":[{"schemes":{"b":{"list":["r"]}}}]}`, `{"security":[{"b":["r"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := parse(t, pair[0], "").Digest, parse(t, pair[1], "").Digest; a != b {
				t.Errorf("digests differ: %s, %s", a, b)
			}
		})
	}
}

// TestWhatIsNoClaimLeavesTheDigestAlone shuffles lists and members, and adds prose, signatures and unknown members at random.
func TestWhatIsNoClaimLeavesTheDigestAlone(t *testing.T) {
	want := digestOf(t, claimed())
	rapid.Check(t, func(r *rapid.T) {
		text := &strings.Builder{}
		card := claimed()
		card["signatures"] = []any{map[string]any{"signature": rapid.String().Draw(r, "signature")}}
		writeShuffled(r, text, card)
		c, err := Parse([]byte(text.String()), nil)
		if err != nil {
			r.Fatalf("%v in %s", err, text)
		}
		if c.Digest != want {
			r.Fatalf("digest changed with %s", text)
		}
	})
}

var prose = []string{"description", "documentationUrl", "iconUrl", "x-vendor", "examples", "provider"}

// writeShuffled writes v as JSON with members and items in any order, and prose added to every object that may hold some.
func writeShuffled(r *rapid.T, w *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		if !named(v) {
			v[rapid.SampledFrom(prose).Draw(r, "member")] = rapid.String().Draw(r, "prose")
		}
		w.WriteString("{")
		for i, k := range rapid.Permutation(slices.Sorted(maps.Keys(v))).Draw(r, "members") {
			if i > 0 {
				w.WriteString(" , ")
			}
			key, _ := json.Marshal(k)
			w.Write(key)
			w.WriteString(":\n")
			writeShuffled(r, w, v[k])
		}
		w.WriteString("}")
	case []any:
		w.WriteString("[")
		for n, i := range rapid.Permutation(indexes(v)).Draw(r, "items") {
			if n > 0 {
				w.WriteString(",")
			}
			writeShuffled(r, w, v[i])
		}
		w.WriteString("]")
	default:
		text, _ := json.Marshal(v)
		w.Write(text)
	}
}

// named says that the members of an object are names that a card gives: one more would be a claim more.
func named(m map[string]any) bool {
	for _, k := range []string{"key", "login", "clientCredentials", "r"} {
		if _, there := m[k]; there {
			return true
		}
	}
	return false
}

func indexes(list []any) []int {
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	return all
}

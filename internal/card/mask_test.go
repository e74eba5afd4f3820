package card

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
)

const (
	tenCard = `{"name":"planner","supportedInterfaces":[{"url":"https://a.example.com/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},` +
		`{"url":"https://a.example.com/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],` +
		`"capabilities":{"streaming":true,"pushNotifications":true,"extendedAgentCard":true,"extensions":[{"uri":"urn:x","params":{"n":1.50}}]},` +
		`"defaultInputModes":["text/plain","image/PNG; q=1"],"skills":[{"id":"route","inputModes":["image/png","text/plain"]}],"x-own":1e2}`
	oldCard = `{"protocolVersion":"0.3.0","name":"planner","url":"https://a.example.com/rpc","preferredTransport":"JSONRPC",` +
		`"additionalInterfaces":[{"url":"https://a.example.com/rpc","transport":"JSONRPC"},{"url":"https://a.example.com/rest","transport":"HTTP+JSON"}],` +
		`"capabilities":{"streaming":true,"pushNotifications":true,"stateTransitionHistory":true},"supportsAuthenticatedExtendedCard":true}`
)

func dead(ends ...string) func(Interface) bool {
	return func(in Interface) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(in.URL.String(), end) })
	}
}

func TestMaskLeavesWhatIsTrustedAndNothingElse(t *testing.T) {
	everything := map[trust.Capability]bool{trust.Streaming: true, trust.PushNotifications: true, trust.ExtendedAgentCard: true, trust.StateTransitionHistory: true}
	for name, tc := range map[string]struct {
		card, from string
		verdict    Verdict
		want       string // what stands in the card in place of the first of each pair; the card itself if empty
		hidden     []trust.Capability
		err        error
	}{
		"all is trusted: the bytes stay, odd numbers included": {card: tenCard, verdict: Verdict{Trusted: everything}, want: tenCard},
		"nothing is trusted: 1.0": {card: tenCard, hidden: []trust.Capability{trust.ExtendedAgentCard, trust.PushNotifications, trust.Streaming},
			want: replace(tenCard, `"streaming":true,"pushNotifications":true,"extendedAgentCard":true`, `"streaming":false,"pushNotifications":false,"extendedAgentCard":false`)},
		"nothing is trusted: 0.3": {card: oldCard, hidden: []trust.Capability{trust.ExtendedAgentCard, trust.PushNotifications, trust.StateTransitionHistory, trust.Streaming},
			want: replace(oldCard, `"streaming":true,"pushNotifications":true,"stateTransitionHistory":true},"supportsAuthenticatedExtendedCard":true`,
				`"streaming":false,"pushNotifications":false,"stateTransitionHistory":false},"supportsAuthenticatedExtendedCard":false`)},
		"streaming alone is not": {card: tenCard, verdict: Verdict{Trusted: map[trust.Capability]bool{trust.PushNotifications: true, trust.ExtendedAgentCard: true}},
			hidden: []trust.Capability{trust.ExtendedAgentCard, trust.Streaming},
			want:   replace(tenCard, `"streaming":true`, `"streaming":false`, `"extendedAgentCard":true`, `"extendedAgentCard":false`)},
		"what is not declared stays so, however much it is trusted": {card: `{"url":"https://a.example.com","capabilities":{"streaming":false}}`,
			verdict: Verdict{Trusted: everything}, want: `{"url":"https://a.example.com","capabilities":{"streaming":false}}`},
		"a text that says true is true to some": {card: `{"url":"https://a.example.com","capabilities":{"streaming":"true","pushNotifications":1}}`,
			verdict: Verdict{Trusted: everything}, want: `{"url":"https://a.example.com","capabilities":{"streaming":false,"pushNotifications":false}}`},
		"other spellings are read by some": {
			card: `{"url":"https://a.example.com","URL":"https://b.example.com","Capabilities":{"streaming":true},"capabilities":{"Streaming":true,"push_notifications":true,"\u0073treaming":true,"streaming":false}}`,
			want: `{"url":"https://a.example.com","capabilities":{"streaming":false}}`},
		"of two of a name the last was judged": {card: `{"url":"https://b.example.com","url":"https://a.example.com","name":1,"name":2}`, want: `{"url":"https://a.example.com","name":1,"name":2}`},
		"the dead interface goes":              {card: tenCard, verdict: Verdict{Trusted: everything, Dead: dead("/rpc")}, want: replace(tenCard, `{"url":"https://a.example.com/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},`, ``)},
		"the main interface of 0.x is dead, and another takes its place": {card: oldCard, verdict: Verdict{Trusted: everything, Dead: dead("/rpc")},
			want: replace(oldCard, `"url":"https://a.example.com/rpc","preferredTransport":"JSONRPC"`, `"url":"https://a.example.com/rest","preferredTransport":"HTTP+JSON"`,
				`{"url":"https://a.example.com/rpc","transport":"JSONRPC"},`, ``)},
		"another interface of 0.x is dead": {card: oldCard, verdict: Verdict{Trusted: everything, Dead: dead("/rest")},
			want: replace(oldCard, `,{"url":"https://a.example.com/rest","transport":"HTTP+JSON"}`, ``)},
		"all of them are dead": {card: oldCard, verdict: Verdict{Dead: dead("/rest", "/rpc")}, err: ErrNoInterface},
		"there never was one":  {card: `{"name":"planner"}`, err: ErrNoInterface},
		"refused modes go": {card: tenCard, verdict: Verdict{Trusted: everything, RefusedInputModes: []string{"image/png"}},
			want: replace(tenCard, `["text/plain","image/PNG; q=1"]`, `["text/plain"]`, `["image/png","text/plain"]`, `["text/plain"]`)},
		"a relative address leads where the card was found": {card: `{"url":"rpc?a=b","capabilities":{}}`, from: "https://a.example.com/x/card.json",
			want: `{"url":"https://a.example.com/x/rpc?a=b","capabilities":{}}`},
		"an address is written as it was judged": {card: `{"url":"https://me:you@a.example.com/rpc#end"}`, want: `{"url":"https://a.example.com/rpc"}`},
		"an interface that nobody could read goes": {card: `{"supportedInterfaces":[{"url":"ftp://a.example.com","protocolBinding":"JSONRPC"},7,{"url":"https://a.example.com","protocolBinding":"JSONRPC","URL":"https://b.example.com"}]}`,
			want: `{"supportedInterfaces":[{"url":"https://a.example.com","protocolBinding":"JSONRPC"}]}`},
		"all interfaces are where the spec says": {card: oldCard, verdict: Verdict{Trusted: everything, At: &url.URL{Scheme: "http", Host: "planner.travel.svc:8080", Path: "/a"}},
			want: replace(oldCard, `https://a.example.com/rpc`, `http://planner.travel.svc:8080/a`, `https://a.example.com/rest`, `http://planner.travel.svc:8080/a`)},
		"gRPC keeps host and port":         {card: `{"supportedInterfaces":[{"url":"a.example.com:443","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`, want: `{"supportedInterfaces":[{"url":"a.example.com:443","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`},
		"signatures go":                    {card: `{"url":"https://a.example.com","signatures":[{"signature":"x"}]}`, want: `{"url":"https://a.example.com"}`},
		"observed only: the card as it is": {card: "\ufeff" + `{"url":"https://a.example.com", "capabilities":{"streaming":true},"signatures":[{"signature":"x"}]}`, verdict: Verdict{AsDeclared: true}, want: `{"url":"https://a.example.com", "capabilities":{"streaming":true},"signatures":[{"signature":"x"}]}`},
		"observed only, with an address that leads nowhere from here": {card: `{"url":"/rpc","capabilities":{"streaming":true},"signatures":[{"signature":"x"}]}`, from: "https://a.example.com/card",
			verdict: Verdict{AsDeclared: true}, want: `{"url":"https://a.example.com/rpc","capabilities":{"streaming":true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := url.Parse(tc.from)
			if err != nil {
				t.Fatal(err)
			}
			if tc.from == "" {
				from = nil
			}
			c, err := Parse([]byte(tc.card), from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Mask(tc.verdict)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if d := cmp.Diff(tc.want, string(got.Body)); d != "" {
				t.Errorf("body (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.hidden, got.Hidden); d != "" {
				t.Errorf("hidden (-want +got):\n%s", d)
			}
		})
	}
}

func replace(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

func TestMaskSaysWhatItLeftOut(t *testing.T) {
	c, err := Parse([]byte(`{"signatures":[{}],`+oldCard[1:]), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Mask(Verdict{Dead: dead("/rest")})
	if err != nil || !m.SignaturesDropped || m.Dropped != 1 {
		t.Errorf("%+v, %v: want the signatures and one interface dropped", m, err)
	}
	if m, err = c.Mask(Verdict{AsDeclared: true}); err != nil || m.SignaturesDropped || len(m.Hidden) > 0 {
		t.Errorf("%+v, %v: want nothing dropped or hidden where nothing is masked", m, err)
	}
}

// FuzzMask: whatever the card, what is served parses, says nothing that is not trusted or was not declared, however an SDK reads it, and
// leads to no dead interface.
func FuzzMask(f *testing.F) {
	for _, g := range goldens {
		f.Add([]byte(readGolden(f, g.file)), g.from, byte(0))
		f.Add([]byte(readGolden(f, g.file)), g.from, byte(7))
	}
	f.Add([]byte(oldCard), "", byte(1|16))
	f.Add([]byte(`{"url":"https://a","capabilitieſ":{"streaming":true},"CAPABILITIES":{"ſtreaming":true}}`), "", byte(0))
	f.Fuzz(func(t *testing.T, raw []byte, from string, bits byte) {
		source, err := url.Parse(from)
		if err != nil {
			source = nil
		}
		c, err := Parse(raw, source)
		if err != nil {
			return
		}
		v := Verdict{Trusted: map[trust.Capability]bool{trust.Streaming: bits&1 > 0, trust.PushNotifications: bits&2 > 0, trust.ExtendedAgentCard: bits&4 > 0},
			RefusedInputModes: []string{"text/plain"}}
		if bits&16 > 0 && len(c.Interfaces) > 0 {
			gone := c.Interfaces[0].URL.String()
			v.Dead = func(in Interface) bool { return in.URL.String() == gone }
		}
		m, err := c.Mask(v)
		if err != nil {
			if !errors.Is(err, ErrNoInterface) {
				t.Fatal(err)
			}
			return
		}
		again, err := Parse(m.Body, nil)
		if err != nil || len(again.Interfaces) == 0 {
			t.Fatalf("served %q: %v", m.Body, err)
		}
		for name, d := range again.Declared {
			if d == trust.Declared && (!v.Trusted[name] || c.flags.claims(Interface{Legacy: true})[name] != trust.Declared && c.flags.claims(Interface{ProtocolVersion: "1.0"})[name] != trust.Declared) {
				t.Fatalf("%s is declared: %q of %q", name, m.Body, raw)
			}
		}
		if again.Signed || slices.Contains(again.DefaultInputModes, "text/plain") {
			t.Fatalf("signatures or a refused mode: %q", m.Body)
		}
		for _, in := range again.Interfaces {
			if v.Dead != nil && v.Dead(in) {
				t.Fatalf("dead: %s in %q", in.URL, m.Body)
			}
		}
		// As Go reads it, and as JavaScript and protobuf do.
		var loose struct {
			Capabilities struct{ Streaming, PushNotifications, ExtendedAgentCard, StateTransitionHistory any }
		}
		var exact struct{ Capabilities map[string]any }
		if json.Unmarshal(m.Body, &loose) == nil {
			promised(t, m.Body, loose.Capabilities.Streaming, v.Trusted[trust.Streaming] && c.flags.streaming)
			promised(t, m.Body, loose.Capabilities.PushNotifications, v.Trusted[trust.PushNotifications] && c.flags.push)
			promised(t, m.Body, loose.Capabilities.ExtendedAgentCard, v.Trusted[trust.ExtendedAgentCard] && c.flags.extendedNew)
			promised(t, m.Body, loose.Capabilities.StateTransitionHistory, false)
		}
		if json.Unmarshal(m.Body, &exact) == nil {
			promised(t, m.Body, exact.Capabilities["push_notifications"], false)
			promised(t, m.Body, exact.Capabilities["streaming"], v.Trusted[trust.Streaming] && c.flags.streaming)
		}
		second, err := again.Mask(v)
		if err != nil || string(second.Body) != string(m.Body) {
			t.Fatalf("masked again: %q, then %q (%v)", m.Body, second.Body, err)
		}
	})
}

// TestSecurityCardExtendedCardsBringNoStreamingBack: an SDK that fetches the extended card, as that of JavaScript does, takes it in place of ours, and
// nobody has masked it.
func TestSecurityCardExtendedCardsBringNoStreamingBack(t *testing.T) {
	const silent = `{"url":"https://a.example.com/","capabilities":{"streaming":false},"supportsAuthenticatedExtendedCard":true}`
	for name, tt := range map[string]struct {
		card    string
		trusted []trust.Capability
		want    bool
	}{
		"streaming is not trusted":                   {card: tenCard, trusted: []trust.Capability{trust.ExtendedAgentCard, trust.PushNotifications}},
		"push is declared and not trusted":           {card: tenCard, trusted: []trust.Capability{trust.ExtendedAgentCard, trust.Streaming}},
		"all of them are trusted":                    {card: tenCard, trusted: []trust.Capability{trust.ExtendedAgentCard, trust.Streaming, trust.PushNotifications}, want: true},
		"streaming is declared by the other at most": {card: silent, trusted: []trust.Capability{trust.ExtendedAgentCard}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(tt.card), nil)
			if err != nil {
				t.Fatal(err)
			}
			v := Verdict{Trusted: map[trust.Capability]bool{}}
			for _, one := range tt.trusted {
				v.Trusted[one] = true
			}
			m, err := c.Mask(v)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(m.Body, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := again.Declared[trust.ExtendedAgentCard] == trust.Declared; got != tt.want || slices.Contains(m.Hidden, trust.ExtendedAgentCard) == tt.want {
				t.Errorf("an extended card is declared: %t, hidden %v; want %t", got, m.Hidden, tt.want)
			}
		})
	}
}

func promised(t *testing.T, body []byte, value any, may bool) {
	t.Helper()
	if value != nil && value != false && !may {
		t.Fatalf("promises %v: %q", value, body)
	}
}

package card

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestOnlyWhatIsNoJSONObjectIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                   "",
		"a byte order mark":         "\xef\xbb\xbf",
		"HTML":                      "<!doctype html><title>secret-word</title>",
		"an array":                  `[{"url":"https://secret-word.test"}]`,
		"a string":                  `"secret-word"`,
		"null":                      `null`,
		"cut off":                   `{"url":"https://secret-word.test"`,
		"two objects":               `{}{"secret-word":1}`,
		"an unquoted member":        `{secret-word:1}`,
		"nested beyond all reason":  `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"UTF-16":                    "\xff\xfe{\x00}\x00",
		"two marks before the card": "\xef\xbb\xbf\xef\xbb\xbf{}",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(text), nil)
			if err == nil || c != nil {
				t.Fatalf("got %v, %v, want an error", c, err)
			}
			if strings.Contains(err.Error(), "secret-word") {
				t.Errorf("the error quotes the peer: %v", err)
			}
		})
	}
}

func TestAnEmptyObjectIsACard(t *testing.T) {
	c := parse(t, "{}", "")
	if want := "declared\nno capabilities member\nwarnings CapabilitiesMissing"; describe(c) != want {
		t.Errorf("got %s, want %s", describe(c), want)
	}
}

func TestOddMembersCostOnlyThemselves(t *testing.T) {
	const good = `{"protocolVersion":"0.3.0","url":"https://peer.test/a2a","capabilities":{"streaming":true},` +
		`"defaultInputModes":["text/plain"],"skills":[{"id":"s"}],%s}`
	for _, odd := range []string{`null`, `true`, `7`, `-1e400`, `"x"`, `[]`, `{}`, `[[[]]]`, `{"a":{"b":[null]}}`, `[null]`, `["x"]`, `[{}]`} {
		for _, name := range []string{
			"preferredTransport", "additionalInterfaces", "supportedInterfaces", "securitySchemes", "security", "securityRequirements",
			"authentication", "defaultOutputModes", "signatures", "supportsAuthenticatedExtendedCard", "name", "description", "provider",
		} {
			c := parse(t, fmt.Sprintf(good, fmt.Sprintf("%q:%s", name, odd)), wellKnown)
			if c.Declared[trust.Streaming] != trust.Declared || len(c.Skills) != 1 || len(c.DefaultInputModes) != 1 {
				t.Errorf("%s: %s lost something: %s", name, odd, describe(c))
			}
			if len(c.Interfaces) == 0 {
				t.Errorf("%s: %s lost the interface", name, odd)
			}
		}
	}
}

func TestALargeCardIsBounded(t *testing.T) {
	var skills, interfaces, modes []string
	for i := range 1000 {
		skills = append(skills, fmt.Sprintf(`{"id":"s%d"}`, i))
		interfaces = append(interfaces, fmt.Sprintf(`{"url":"https://peer.test/%d","protocolBinding":"JSONRPC","protocolVersion":"1.0"}`, i))
		modes = append(modes, fmt.Sprintf(`"text/x%d"`, i))
	}
	c := parse(t, fmt.Sprintf(`{"skills":[%s],"supportedInterfaces":[%s],"defaultInputModes":[%s]}`,
		strings.Join(skills, ","), strings.Join(interfaces, ","), strings.Join(modes, ",")), wellKnown)
	if len(c.Skills) != MaxSkills || len(c.Interfaces) != MaxInterfaces || len(c.DefaultInputModes) != MaxModes {
		t.Errorf("kept %d skills, %d interfaces, %d modes", len(c.Skills), len(c.Interfaces), len(c.DefaultInputModes))
	}
	if want := "[CapabilitiesMissing InterfacesTruncated SkillsTruncated]"; fmt.Sprint(c.Warnings) != want {
		t.Errorf("warnings %v, want %s", c.Warnings, want)
	}
}

func TestCaseC61ALargeCardWithInlineExtensionsIsRead(t *testing.T) {
	extension := fmt.Sprintf(`{"uri":"https://ext.test","params":{"text":%q}}`, strings.Repeat("x", 5000))
	c := parse(t, `{"url":"https://peer.test/","protocolVersion":"0.3.0","capabilities":{"streaming":true,"extensions":[`+
		strings.Repeat(extension+",", 9)+extension+`]}}`, wellKnown)
	if c.Declared[trust.Streaming] != trust.Declared {
		t.Error("the card was not read")
	}
}

func TestCaseC62NoProseOfThePeerIsKept(t *testing.T) {
	c := parse(t, `{"name":"secret-word","description":"secret-word","url":"https://peer.test/","preferredTransport":"secret word!",
		"protocolVersion":"secret-word","defaultInputModes":["secret-word"],"capabilities":{"secret-word":true},
		"provider":{"organization":"secret-word"},"securitySchemes":{"secret-word":{"type":"secret-word"}},
		"skills":[{"id":"the secret-word","name":"secret-word","description":"You are secret-word","tags":["secret-word"]}]}`, wellKnown)
	c.Raw = nil
	if text := fmt.Sprintf("%+v", *c); strings.Contains(text, "secret") {
		t.Errorf("the card keeps prose: %s", text)
	}
}

func TestInterfaces(t *testing.T) {
	for name, tc := range map[string]struct{ card, want string }{
		"an entry without a version takes the card's": {
			card: `{"protocolVersion":"1.0","supportedInterfaces":[{"url":"https://a.test/","protocolBinding":"JSONRPC"}]}`,
			want: "JSONRPC 1.0 https://a.test/"},
		"0.x members without a version add nothing to an entry of the same url and binding": {
			card: `{"url":"https://a.test/","supportedInterfaces":[{"url":"https://a.test/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			want: "JSONRPC 1.0 https://a.test/"},
		"but add one at another url": {
			card: `{"url":"https://b.test/","supportedInterfaces":[{"url":"https://a.test/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			want: "JSONRPC 1.0 https://a.test/, JSONRPC  https://b.test/"},
		"an entry without a binding leads nowhere": {
			card: `{"supportedInterfaces":[{"url":"https://a.test/","protocolVersion":"1.0"}]}`},
		"a scheme that no binding uses leads nowhere": {card: `{"url":"ftp://a.test/"}`},
		"a tenant beyond measure leads nowhere": {
			card: `{"supportedInterfaces":[{"url":"https://a.test/","protocolBinding":"JSONRPC","tenant":"` + strings.Repeat("x", maxTenant+1) + `"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(spell(parse(t, tc.card, "").Interfaces), ", "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestASkillNamedTwiceIsKeptOnce(t *testing.T) {
	c := parse(t, `{"skills":[{"id":"a","inputModes":["text/plain"]},{"id":"b"},{"id":"a"}]}`, "")
	if len(c.Skills) != 2 || c.Skills[0].ID != "a" || len(c.Skills[0].InputModes) != 1 {
		t.Errorf("skills %+v, want the first a, and b", c.Skills)
	}
}

func TestAURLCarriesNoLogin(t *testing.T) {
	c := parse(t, `{"url":"https://user:password@peer.test/a2a#part"}`, wellKnown)
	if got := c.Interfaces[0].URL.String(); got != "https://peer.test/a2a" {
		t.Errorf("url %s, want https://peer.test/a2a", got)
	}
}

func TestURLsThatLeadNowhere(t *testing.T) {
	for _, text := range []string{
		"", " ", "mailto:a@peer.test", "javascript:alert(1)", "peer.test:8080/a2a", "ftp://peer.test/", "unix:///run/peer.sock",
		"http://", "http://[::1", "http://peer.test:port/", "http://pe\x00er.test/", "http://<b>/", `http://"x"/`, "http://a b/",
		"https://peer.test/" + strings.Repeat("x", maxURL), "https://" + strings.Repeat("x", 300) + ".test/",
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		c := parse(t, fmt.Sprintf(`{"url":%s}`, quoted), "")
		if usable, _ := c.Usable(Preference{}); len(usable) > 0 {
			t.Errorf("%.60q is usable as %v", text, usable[0].URL)
		}
	}
}

func TestCaseC56ACardURLWithoutAHostDoesNotPanic(t *testing.T) {
	for _, source := range []string{"/card.json", "file:///card.json", "mailto:x", ""} {
		c, err := Parse([]byte(`{"url":"../a2a"}`), mustURL(t, source))
		if err != nil {
			t.Fatal(err)
		}
		if usable, _ := c.Usable(Preference{}); len(usable) > 0 {
			t.Errorf("relative to %q, %v is usable", source, usable[0].URL)
		}
	}
}

func TestParseLeavesItsArgumentsAlone(t *testing.T) {
	raw, source := []byte(readGolden(t, "c56-relative")), mustURL(t, "https://user@peer.test/card#x")
	c, err := Parse(raw, source)
	if err != nil {
		t.Fatal(err)
	}
	c.Interfaces[0].URL.Host = "changed"
	if string(raw) != readGolden(t, "c56-relative") || source.String() != "https://user@peer.test/card#x" {
		t.Error("an argument was changed")
	}
}

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"route-optimizer":            "route-optimizer",
		"a.b_c:d/e@f+g-1":            "a.b_c:d/e@f+g-1",
		strings.Repeat("x", MaxSafe): strings.Repeat("x", MaxSafe),
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
	for _, bad := range []string{"a b", "a\nb", "ü", "<b>", "a\x00", strings.Repeat("x", MaxSafe+1)} {
		if got := Safe(bad); !strings.HasPrefix(got, "sha256:") || Safe(got) != got || Safe(bad) != got {
			t.Errorf("Safe(%q) = %q", bad, got)
		}
	}
	if Safe("a b") == Safe("a  b") {
		t.Error("two names have one hash")
	}
}

func TestGeneration(t *testing.T) {
	for version, want := range map[string]string{
		"": "", "1": "1.0", "1.0": "1.0", "1.0.1": "1.0", "1.7": "1.0", "v1.0": "1.0", " 1.0 ": "1.0", "1.0-rc1": "1.0",
		"0.3": "0.3", "0.3.0": "0.3", "0.30": "0.30", "0.2.5": "0.2", "0.1": "0.1", "0": "0.0",
		"2.0": "2.0", "10.0": "10.0", "latest": "", "1.": "", "1..0": "", "-1": "", "1.0 beta": "",
	} {
		if got := (Interface{ProtocolVersion: version}).Generation(); got != want {
			t.Errorf("generation of %q is %q, want %q", version, got, want)
		}
	}
}

func TestACardIsNotNestedWithoutEnd(t *testing.T) {
	for depth, fine := range map[int]bool{500: true, 600: false, 20_000: false} {
		_, err := Parse([]byte(`{"skills":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+`}`), nil)
		if (err == nil) != fine {
			t.Errorf("%d deep: %v", depth, err)
		}
	}
}

// What a card says and unsays promises nothing; what it says twice alike is said.
func TestACapabilityThatIsSaidAndUnsaidIsNotDeclared(t *testing.T) {
	for text, want := range map[string]trust.Declaration{
		`{"capabilities":{"streaming":true}}`:                                        trust.Declared,
		`{"capabilities":{"streaming":true,"streaming":true}}`:                       trust.Declared,
		`{"capabilities":{"streaming":false,"streaming":true}}`:                      trust.NotDeclared,
		`{"capabilities":{"streaming":true,"streaming":false}}`:                      trust.NotDeclared,
		`{"capabilities":{"streaming":true,"streaming":null,"streaming":true}}`:      trust.NotDeclared,
		`{"capabilities":{},"capabilities":{"streaming":true}}`:                      trust.NotDeclared,
		`{"capabilities":{"streaming":true},"capabilities":{"streaming":true}}`:      trust.Declared,
		`{"capabilities":{"streaming":true,"extensions":[],"extensions":[{"a":1}]}}`: trust.Declared,
	} {
		c, err := Parse([]byte(text), nil)
		if err != nil || c.Declared[trust.Streaming] != want {
			t.Errorf("%s: %v, %v, want %s", text, c.Declared, err, want)
		}
	}
}

// A megabyte of entries once took minutes: the 0.x interfaces were compared with all others, one by one.
func TestManyEntriesAreReadQuickly(t *testing.T) {
	many := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, text := range map[string]string{
		"interfaces of both families": `{"supportedInterfaces":[` + many(`{"url":"http://a.test/%d","protocolBinding":"JSONRPC"}`, 10_000) +
			`],"additionalInterfaces":[` + many(`{"url":"http://b.test/%d"}`, 15_000) + `]}`,
		"skills":        `{"skills":[` + many(`{"id":"%d"}`, 15_000) + `]}`,
		"empty skills":  `{"skills":[` + strings.Repeat(`{},`, 15_000) + `{}]}`,
		"modes":         `{"defaultInputModes":[` + many(`"a/%d"`, 25_000) + `]}`,
		"schemes":       `{"securitySchemes":{` + many(`"%d":{"type":"http"}`, 10_000) + `}}`,
		"requirements":  `{"security":[` + many(`{"%d":[]}`, 20_000) + `]}`,
		"members":       `{` + many(`"%d":1`, 25_000) + `}`,
		"nested arrays": `{"skills":[` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `]}`,
	} {
		began := time.Now()
		parse(t, text, wellKnown)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(text), took)
		}
	}
}

// What lies beyond the entries that are read costs nothing: a card of a megabyte has room for a third of a million of them.
func TestSecurityHostileListsAreReadAsFarAsTheyCount(t *testing.T) {
	raw := []byte(`{"name":"x","supportedInterfaces":[` + strings.Repeat("{},", 300_000) + `{}],"skills":[` + strings.Repeat("1,", 20_000) + `1]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Parse(raw, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 16 {
		t.Errorf("a card of a megabyte made %d MiB", made)
	}
	if list, ok := readArray([]byte(`[1, null, "x"]`)); !ok || len(list) != 3 || string(list[1]) != "null" {
		t.Errorf("read %q (%v)", list, ok)
	}
	for _, odd := range []string{`{}`, `null`, `"x"`, ``, `1`} {
		if _, ok := readArray([]byte(odd)); ok {
			t.Errorf("%q was read as an array", odd)
		}
	}
}

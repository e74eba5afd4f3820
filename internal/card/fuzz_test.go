package card

import (
	"net/url"
	"testing"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// FuzzParse: no bytes make Parse panic, forget its bounds, or take another digest the second time.
func FuzzParse(f *testing.F) {
	for _, g := range goldens {
		f.Add([]byte(readGolden(f, g.file)), g.from)
	}
	f.Add([]byte(`{"url":"//x","securitySchemes":{"a":{"scheme":{"$case":"mtlsSecurityScheme"}}}}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, from string) {
		source, err := url.Parse(from)
		if err != nil {
			source = nil
		}
		c, err := Parse(raw, source)
		if err != nil {
			return
		}
		if len(c.Interfaces) > MaxInterfaces || len(c.Skills) > MaxSkills || len(c.DefaultInputModes) > MaxModes {
			t.Fatalf("%d interfaces, %d skills, %d modes", len(c.Interfaces), len(c.Skills), len(c.DefaultInputModes))
		}
		again, err := Parse(raw, source)
		if err != nil || again.Digest != c.Digest {
			t.Fatalf("digest %s, then %s", c.Digest, again.Digest)
		}
		for _, s := range c.Skills {
			if Safe(s.ID) != s.ID || s.EstimatedDuration < 0 || s.EstimatedDuration >= lifecycle.MaxEstimate {
				t.Fatalf("skill %+v", s)
			}
		}
		usable, why := c.Usable(Preference{})
		if (len(usable) == 0) != (why == trust.ReasonNoUsableInterface) {
			t.Fatalf("%d usable, reason %q", len(usable), why)
		}
		for _, in := range usable {
			if in.URL.Host == "" || in.URL.User != nil || wildcard(in.URL.Hostname()) {
				t.Fatalf("usable: %v", in.URL)
			}
		}
		for _, in := range c.Interfaces {
			if in.URL == nil || Safe(in.Binding) != in.Binding || in.Binding == "" || len(in.Tenant) > maxTenant {
				t.Fatalf("interface %+v", in)
			}
			if len(c.Claims(in).Declared) != 4 {
				t.Fatal("a declaration is missing")
			}
		}
	})
}

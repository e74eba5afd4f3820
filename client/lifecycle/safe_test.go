package lifecycle

import (
	"regexp"
	"strings"
	"testing"
)

func TestSafeIDLetsNoTextOfAPeerThrough(t *testing.T) {
	long := strings.Repeat("a", MaxSafeID)
	for name, c := range map[string]struct {
		id   string
		kept bool
	}{
		"a UUID":               {"0b1f6b6e-7d9c-4a51-9f4e-0d7c3c1f0a11", true},
		"a URN":                {"urn:task:1_a.b", true},
		"the longest":          {long, true},
		"longer":               {long + "a", false},
		"a space":              {"order 1", false},
		"a path":               {"../../etc/passwd", false},
		"markup":               {"<b>", false},
		"an escape":            {"a\x1b[31m", false},
		"a line break":         {"a\nb", false},
		"another script":       {"заказ", false},
		"bytes that are not U": {"\xff\xfe", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := SafeID(c.id)
			if (got == c.id) != c.kept {
				t.Errorf("SafeID(%q) = %q, want it kept: %t", c.id, got, c.kept)
			}
			if !regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`).MatchString(got) || got != SafeID(c.id) {
				t.Errorf("SafeID(%q) = %q, want a safe id, the same each time", c.id, got)
			}
		})
	}
	if got := SafeID(""); got != "" {
		t.Errorf("of no id it makes %q", got)
	}
}

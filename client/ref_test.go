package client

import (
	"strings"
	"testing"
)

func TestAtKnowsOneURLHoweverItIsWritten(t *testing.T) {
	for name, tc := range map[string]struct{ a, b string }{
		"case of scheme and host":          {"HTTPS://Planner.Example.COM/a2a", "https://planner.example.com/a2a"},
		"the default port of https":        {"https://planner.example.com:443/a2a", "https://planner.example.com/a2a"},
		"the default port of http":         {"http://planner.example.com:80", "http://planner.example.com"},
		"the default port of an IPv6 host": {"http://[fd00::1]:80/", "http://[fd00::1]"},
		"a port that is not named":         {"http://planner.example.com:/x", "http://planner.example.com/x"},
		"a trailing slash":                 {"https://planner.example.com/a2a/", "https://planner.example.com/a2a"},
		"a slash and nothing":              {"https://planner.example.com/", "https://planner.example.com"},
		"a fragment":                       {"https://planner.example.com/a2a#top", "https://planner.example.com/a2a"},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := At(tc.a), At(tc.b); a != b {
				t.Errorf("%v is not %v", a, b)
			}
		})
	}
}

func TestAtTellsURLsApart(t *testing.T) {
	seen := map[Ref]string{}
	for _, u := range []string{"https://a.example.com", "http://a.example.com", "https://a.example.com:80", "https://a.example.com/x", "https://a.example.com/X",
		"https://a.example.com/x//", "https://a.example.com/x?t=1", "https://a.example.com/x%2Fy", "https://a.example.com/x/y", "https://b.example.com"} {
		if other, there := seen[At(u)]; there {
			t.Errorf("%s counts as %s", u, other)
		}
		seen[At(u)] = u
	}
}

// A URL comes from a card or a user: whatever it is, it must not panic, and not match by accident.
func TestAMalformedURLNamesNobody(t *testing.T) {
	known := At("https://planner.example.com")
	for _, text := range []string{"", "planner.example.com", "ftp://planner.example.com", "https://", "https:///x", "https://user@planner.example.com",
		"https://%zz", "://", "\x00", "https:planner.example.com", "grpc://planner.example.com", "!https://planner.example.com",
		"https://planner.example.com/" + strings.Repeat("x", 5000)} {
		r := At(text)
		if r == known || r == (Ref{}) || !strings.Contains(r.String(), "no absolute http or https URL") {
			t.Errorf("At(%.40q) is %.80q", text, r)
		}
		if len(r.url) > maxEndpoint+1 {
			t.Errorf("At(%.40q) keeps %d bytes", text, len(r.url))
		}
	}
}

func TestARefReadsAsWhatItNames(t *testing.T) {
	for want, r := range map[string]Ref{
		"travel/planner": Named("travel", "planner"), "https://planner.example.com": At("https://Planner.example.com/"), "nobody": {}} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
}

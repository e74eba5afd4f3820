package card

import (
	"strings"
	"testing"
)

// Parameters make another type of a media type, so that a card which names none but those does not declare the bare one.
func TestAModeIsKnownAsTheCardWritesIt(t *testing.T) {
	long := "text/csv;" + strings.Repeat("x", maxSpelling)
	for name, tc := range map[string]struct {
		card, mode string
		want       Spelling
	}{
		"bare":                       {`["text/plain"]`, "text/plain", Spelling{"text/plain", false}},
		"in capitals":                {`["Application/JSON"]`, "application/json", Spelling{"Application/JSON", false}},
		"with parameters":            {`[" text/plain; charset=UTF-8 "]`, "text/plain", Spelling{"text/plain; charset=UTF-8", true}},
		"an empty parameter is none": {`["text/plain; "]`, "text/plain", Spelling{"text/plain", false}},
		"both, and bare wins":        {`["a/b;c=d","a/b"]`, "a/b", Spelling{"a/b", false}},
		"bare wins when it is first": {`["a/b","a/b;c=d"]`, "a/b", Spelling{"a/b", false}},
		"two sets of parameters":     {`["a/b;c=d","a/b;c=e"]`, "a/b", Spelling{"a/b;c=d", true}},
		"a kind of parts":            {`["data"]`, "application/json", Spelling{"application/json", false}},
		"too long to be sent":        {`["` + long + `"]`, "text/csv", Spelling{"", true}},
		"not declared":               {`["a/b"]`, "text/plain", Spelling{"text/plain", false}},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, `{"defaultInputModes":`+tc.card+`}`, wellKnown)
			if got := c.InputMode(tc.mode); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

package lifecycle

import (
	"strings"
	"testing"
)

func TestANameStaysWithItsTask(t *testing.T) {
	var i Identities
	for n, step := range []struct{ id, correlation, want string }{
		{"a", "", "a"},                       // nothing told
		{"a", "one", "a"},                    // the first id of a correlation names its task
		{"b", "one", "a"},                    // another id of it
		{"b", "", "a"},                       // which is known from then on
		{"c", "two", "c"},                    // another task
		{"a", "two", "c"},                    // under the first one's id
		{"a", "three", clash + "a of three"}, // a third with an id that is taken
		{"a", "", "a"},
		{"", "one", ""},
		{"d", strings.Repeat("x", MaxCorrelation+1), "d"}, // too long counts as absent
	} {
		if got := i.Name(step.id, step.correlation); got != step.want {
			t.Errorf("step %d: %q with correlation %q is named %q, want %q", n, step.id, step.correlation, got, step.want)
		}
	}
	if got := i.ID(clash + "a of three"); got != "a" {
		t.Errorf("asked for as %q, want the id that the peer told", got)
	}
	if !Clashes(clash+"a of three") || Clashes("a") {
		t.Error("a name that is no id is not told from one that is")
	}
}

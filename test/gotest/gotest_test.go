package gotest

import (
	"slices"
	"strings"
	"testing"
)

func TestTestsAreCountedByTheirLeaves(t *testing.T) {
	const pkg = `"Package":"github.com/agentpeer/agentpeer/internal/x"`
	said := `{"Action":"run",` + pkg + `,"Test":"TestTable"}
{"Action":"attr",` + pkg + `,"Test":"TestTable","Key":"leaks","Value":"0"}
{"Action":"pass",` + pkg + `,"Test":"TestTable/one"}
no JSON
{"Action":"output",` + pkg + `,"Test":"TestTable/two","Output":"it was otherwise\n"}
{"Action":"fail",` + pkg + `,"Test":"TestTable/two"}
{"Action":"fail",` + pkg + `,"Test":"TestTable"}
{"Action":"pass",` + pkg + `,"Test":"TestOther/one"}
{"Action":"fail",` + pkg + `,"Test":"TestOther"}
{"Action":"skip",` + pkg + `,"Test":"TestThird"}
{"Action":"fail",` + pkg + `}
{"Action":"pass","Package":"github.com/agentpeer/agentpeer/internal/y"}
{"Action":"fail","Package":"github.com/agentpeer/agentpeer/internal/broken"}
`
	var ended []string
	r := Results{Ended: func(test, how string) { ended = append(ended, test+" "+how) }}
	if err := r.Read(strings.NewReader(said)); err != nil {
		t.Fatal(err)
	}
	passed, skipped, failed := r.Leaves()
	for what, c := range map[string]struct{ got, want []string }{
		"passed":  {passed, []string{"internal/x.TestOther/one", "internal/x.TestTable/one"}},
		"skipped": {skipped, []string{"internal/x.TestThird"}},
		"failed":  {failed, []string{"internal/broken.", "internal/x.TestOther", "internal/x.TestTable/two"}},
		"ended":   {ended, []string{"internal/x.TestTable fail", "internal/x.TestOther fail", "internal/x.TestThird skip"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", what, c.got, c.want)
		}
	}
	if want := []Attr{{"internal/x.TestTable", "leaks", "0"}}; !slices.Equal(r.Attrs, want) {
		t.Errorf("attributes %v, want %v", r.Attrs, want)
	}
	if text := r.Explain("internal/x.TestTable/two"); !strings.Contains(text, "it was otherwise") {
		t.Errorf("the failure is not explained: %s", text)
	}
}

func TestNothingSeenCountsAsNothing(t *testing.T) {
	var r Results
	if passed, skipped, failed := r.Leaves(); len(passed)+len(skipped)+len(failed) != 0 {
		t.Errorf("%v %v %v", passed, skipped, failed)
	}
}

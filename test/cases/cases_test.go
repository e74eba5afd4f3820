package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/test/gotest"
)

func TestCasesAreCountedByTheirIDs(t *testing.T) {
	said := `{"Action":"pass","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCases/1.0_C03"}
{"Action":"output","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCases/C04","Output":"it was otherwise\n"}
{"Action":"fail","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCases/C04"}
{"Action":"fail","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCases"}
{"Action":"pass","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCaseC94ADoor"}
{"Action":"skip","Package":"github.com/agentpeer/agentpeer/internal/x","Test":"TestCaseS08Replicas"}
{"Action":"fail","Package":"github.com/agentpeer/agentpeer/internal/broken"}
`
	var tests gotest.Results
	if err := tests.Read(strings.NewReader(said)); err != nil {
		t.Fatal(err)
	}
	var r report
	tell(&tests, &r)
	if r.passed != 2 || r.failed != 2 || !strings.Contains(r.rows[0].words, "2 case ids") || !strings.Contains(r.rows[0].words, "1 tests skipped") {
		t.Errorf("%d passed, %d failed: %+v", r.passed, r.failed, r.rows)
	}
	if notes := strings.Join(r.notes, "\n"); !strings.Contains(notes, "it was otherwise") || !strings.Contains(notes, "internal/broken") {
		t.Errorf("the failures are not explained: %s", notes)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-layer", "none"}, {"-fault", "rain"}, {"more"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	o, err := parse([]string{"-layer", "fleets"}, &bytes.Buffer{})
	if err != nil || o.seed == 0 || o.layer != "fleets" {
		t.Errorf("%+v %v", o, err)
	}
}

// The last line is what scripts read.
func TestTheLastLineCounts(t *testing.T) {
	var out bytes.Buffer
	r := report{out: &out}
	r.add(row{what: "one", passed: 3, failed: 1})
	r.goal(true, "two", "")
	r.goal(false, "three", "")
	r.objects = append(r.objects, map[string]int{"rounds": 1})
	r.note("it was so")
	r.print()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; last != "4 passed, 2 failed" {
		t.Errorf("last line: %q", last)
	}
	if !strings.Contains(out.String(), `{"rounds":1}`) || !strings.HasPrefix(out.String(), "it was so") {
		t.Errorf("%s", out.String())
	}
}

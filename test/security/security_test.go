package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/test/gotest"
)

// said is what go test says of tests, each "how name", and of attributes, each "name key=value".
func said(t *testing.T, lines ...string) *gotest.Results {
	t.Helper()
	var text strings.Builder
	for _, l := range lines {
		first, second, _ := strings.Cut(l, " ")
		e := map[string]string{"Action": first, "Package": "github.com/agentpeer/agentpeer/internal/x", "Test": second}
		if key, value, ok := strings.Cut(second, "="); ok {
			e["Action"], e["Test"], e["Key"], e["Value"] = "attr", first, key, value
		}
		if err := json.NewEncoder(&text).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	var r gotest.Results
	if err := r.Read(strings.NewReader(text.String())); err != nil {
		t.Fatal(err)
	}
	return &r
}

// whole is a run in which every family and every number is there.
func whole(more ...string) []string {
	lines := []string{"TestSecuritySSRF ssrf_blocked=61", "TestSecurityLeaks leaks=0", "TestSecurityHostile peak_mb_per_hostile_peer=1.5"}
	for _, f := range families {
		lines = append(lines, "pass "+prefix+f)
	}
	return append(lines, more...)
}

func TestWhatFailsARun(t *testing.T) {
	strict := rules{whole: true, assets: true}
	for name, c := range map[string]struct {
		lines []string
		rules rules
		want  []string
	}{
		"nothing":                         {whole(), strict, nil},
		"a test that fails":               {whole("fail TestSecurityRolesOfTenants"), strict, []string{"internal/x.TestSecurityRolesOfTenants"}},
		"a leak":                          {whole("TestSecurityLeaks leaks=2"), strict, []string{"leaks: 2"}},
		"a test that is skipped":          {whole("skip TestSecurityRolesOfTenants"), strict, []string{"internal/x.TestSecurityRolesOfTenants"}},
		"skipped for want of assets":      {whole("skip TestSecurityRolesOfTenants"), rules{whole: true}, nil},
		"no number":                       {whole("TestSecuritySSRF ssrf_blocked=many"), strict, []string{"internal/x.TestSecuritySSRF"}},
		"a package that does not build":   {whole("fail "), strict, []string{"internal/x."}},
		"no attempt":                      {append(whole()[1:], "TestSecuritySSRF ssrf_blocked=0"), strict, []string{"ssrf_blocked: 0"}},
		"a number that nobody told":       {whole()[1:], strict, []string{"ssrf_blocked was not told"}},
		"a family of which none passed":   {whole()[:len(whole())-1], strict, []string{"no test of TestSecurityBuild passed"}},
		"a part of the tests is no whole": {[]string{"pass TestSecuritySSRF"}, rules{assets: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := judge(said(t, c.lines...), c.rules)
			if diff := cmp.Diff(append([]string{}, c.want...), r.Failed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Numbers of several tests are summed, the peak is the largest, and the last line is what scripts read.
func TestTheReportCounts(t *testing.T) {
	r := judge(said(t, whole("TestSecuritySSRF ssrf_blocked=9", "TestSecurityHostileCards peak_mb_per_hostile_peer=12.5", "x other=1",
		"fail TestSecurityHostileCards", "pass TestSecurityElse")...), rules{whole: true})
	var out bytes.Buffer
	failed, err := r.print(&out)
	if err != nil || failed != 1 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if want := fmt.Sprintf("%d passed, 1 failed", len(families)+1); lines[len(lines)-1] != want {
		t.Errorf("last line %q, want %q", lines[len(lines)-1], want)
	}
	var got report
	if err := json.Unmarshal([]byte(lines[len(lines)-2]), &got); err != nil {
		t.Fatal(err)
	}
	if got.SSRFBlocked != 70 || got.Leaks != 0 || got.PeakMB != 12.5 || len(got.Failed) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	if _, err := parse([]string{"more"}, &bytes.Buffer{}); err == nil {
		t.Error("an argument is taken")
	}
	if o, err := parse([]string{"-only", "SSRF"}, &bytes.Buffer{}); err != nil || pattern(o.only) != ".*(SSRF)" {
		t.Errorf("%+v %v", o, err)
	}
}

// What is measured runs alone, and what handles a peer's bytes with the race detector; no package is lost.
func TestPackagesAreGrouped(t *testing.T) {
	got := groups([]string{"m/cmd", "m/internal/wire", "m/test/hostile", "m/internal/serve"})
	want := []group{
		{flags: []string{"-race"}, packages: []string{"m/internal/wire", "m/internal/serve"}, words: " with the race detector"},
		{packages: []string{"m/cmd"}},
		{packages: []string{"m/test/hostile"}, words: ", with nothing beside"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(group{})); diff != "" {
		t.Error(diff)
	}
}

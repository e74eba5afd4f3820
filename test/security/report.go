package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/agentpeer/agentpeer/test/gotest"
)

// families of tests, by what follows the prefix in their names. Each has to have a test that passed, so that none is lost with a file, a build
// tag or a new name.
var families = []string{
	"SSRF", "Egress", "Network", // where we connect to
	"Hostile", "Webhook", "Tenants", // what others can make us do
	"Credentials", "Tokens", "Leaks", // what we keep to ourselves
	"Signature",                                   // whom we believe
	"Roles", "Admission", "Namespaced", "Metrics", // who may do what
	"Pod", "Image", "Build", // what is shipped
}

// rules of a run.
type rules struct {
	// whole: every family was asked for, and every number.
	whole bool
	// assets: all that a test may need is there, so none is to be skipped.
	assets bool
}

// report is what the tests came to. Its JSON is the object that is printed.
type report struct {
	SSRFBlocked int     `json:"ssrf_blocked"`
	Leaks       int     `json:"leaks"`
	PeakMB      float64 `json:"peak_mb_per_hostile_peer"`
	Seconds     float64 `json:"seconds"`
	Passed      int     `json:"passed"`
	// Failed and Skipped are names; what failed without being a test is a sentence.
	Failed  []string `json:"failed"`
	Skipped []string `json:"skipped"`

	rows  []row
	notes []string
}

// row is one family.
type row struct {
	family                  string
	passed, failed, skipped int
}

// judge counts.
func judge(t *gotest.Results, rules rules) *report {
	r := &report{Failed: []string{}, Skipped: []string{}}
	said := r.numbers(t.Attrs)
	passed, skipped, failed := t.Leaves()
	r.Passed = len(passed)
	for _, name := range failed {
		r.fail(name, t.Explain(name))
	}
	for _, name := range skipped {
		r.Skipped = append(r.Skipped, name)
		if rules.assets {
			r.fail(name, "skipped, and KUBEBUILDER_ASSETS is set, so nothing may be: "+t.Explain(name))
		}
	}
	for _, f := range append(slices.Clone(families), "") {
		x := row{family: f, passed: count(passed, f), failed: count(failed, f), skipped: count(skipped, f)}
		if f == "" && x.passed+x.failed+x.skipped == 0 {
			continue
		}
		r.rows = append(r.rows, x)
		if f != "" && x.passed == 0 && rules.whole {
			r.fail(fmt.Sprintf("no test of %s%s passed", prefix, f), "each family needs a test")
		}
	}
	for _, key := range []string{"ssrf_blocked", "leaks", "peak_mb_per_hostile_peer"} {
		if rules.whole && !said[key] {
			r.fail(key+" was not told", "a test has to set it by T.Attr")
		}
	}
	switch {
	case r.Leaks > 0:
		r.fail(fmt.Sprintf("leaks: %d", r.Leaks), "canaries were found where they must not be")
	case said["ssrf_blocked"] && r.SSRFBlocked == 0:
		r.fail("ssrf_blocked: 0", "no attempt was refused, so none was made")
	}
	return r
}

// numbers takes in the attributes and says which there were.
func (r *report) numbers(attrs []gotest.Attr) map[string]bool {
	said := map[string]bool{}
	for _, a := range attrs {
		n, err := strconv.ParseFloat(a.Value, 64)
		switch a.Key {
		case "ssrf_blocked":
			r.SSRFBlocked += int(n)
		case "leaks":
			r.Leaks += int(n)
		case "peak_mb_per_hostile_peer":
			r.PeakMB = max(r.PeakMB, n)
		default:
			continue
		}
		if said[a.Key] = true; err != nil || n < 0 {
			r.fail(a.Test, fmt.Sprintf("%s: %s is %q, want a number", a.Test, a.Key, a.Value))
		}
	}
	return said
}

func (r *report) fail(what, why string) {
	r.Failed = append(r.Failed, what)
	r.notes = append(r.notes, "FAILED "+what+"\n    "+why)
}

// count counts the tests of a family; those of none for the empty name.
func count(names []string, family string) (n int) {
	for _, name := range names {
		if familyOf(name) == family {
			n++
		}
	}
	return n
}

func familyOf(name string) string {
	_, rest, _ := strings.Cut(name, "."+prefix)
	for _, f := range families {
		if strings.HasPrefix(rest, f) {
			return f
		}
	}
	return ""
}

// print prints and says how many things failed.
func (r *report) print(out io.Writer) (failed int, err error) {
	for _, n := range r.notes {
		fmt.Fprintln(out, n)
	}
	if len(r.notes) > 0 {
		fmt.Fprintln(out)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAMILY\tPASSED\tFAILED\tSKIPPED\t")
	for _, x := range r.rows {
		name := x.family
		if name == "" {
			name = "others"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t\n", name, x.passed, x.failed, x.skipped)
	}
	if err := t.Flush(); err != nil {
		return 0, err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "\n%s\n%d passed, %d failed\n", line, r.Passed, len(r.Failed))
	return len(r.Failed), nil
}

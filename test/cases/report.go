package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// report gathers what the layers came to.
type report struct {
	out, progress io.Writer
	begun         time.Time
	rows          []row
	objects       []any
	notes         []string
	passed        int
	failed        int
}

// row of the table.
type row struct {
	what   string
	passed int
	failed int
	words  string
}

// say tells how far things are.
func (r *report) say(format string, args ...any) {
	fmt.Fprintf(r.progress, "%6s  %s\n", time.Since(r.begun).Round(time.Second), fmt.Sprintf(format, args...))
}

// add adds a row and its numbers.
func (r *report) add(x row) {
	r.rows = append(r.rows, x)
	r.passed += x.passed
	r.failed += x.failed
}

// goal is a thing that holds for a whole fleet.
func (r *report) goal(met bool, what, words string) {
	x := row{what: what, words: words}
	if met {
		x.passed = 1
	} else {
		x.failed = 1
	}
	r.add(x)
}

// note explains a failure.
func (r *report) note(text string) { r.notes = append(r.notes, text) }

// print prints the explanations, the table, the objects, and the line that counts.
func (r *report) print() {
	for _, n := range r.notes {
		fmt.Fprintln(r.out, n)
	}
	if len(r.notes) > 0 {
		fmt.Fprintln(r.out)
	}
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tPASSED\tFAILED\t")
	for _, x := range r.rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", x.what, x.passed, x.failed, x.words)
	}
	_ = t.Flush()
	fmt.Fprintln(r.out)
	for _, o := range r.objects {
		line, err := json.Marshal(o)
		if err != nil {
			line = fmt.Appendf(nil, "{%q: %q}", "error", err)
		}
		fmt.Fprintf(r.out, "%s\n", line)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
}

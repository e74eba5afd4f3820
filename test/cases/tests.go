package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/agentpeer/agentpeer/test/gotest"
)

// packages that hold cases.
var packages = []string{"./client/...", "./internal/...", "./controllers/...", "./test/deploy/..."}

// caseID is how names of tests tell which case they are about.
var caseID = regexp.MustCompile(`(?:[^A-Za-z0-9]|Case)([CS]\d{2,3})`)

// runCases runs the tests that are cases and counts them.
func runCases(ctx context.Context, o options, r *report) error {
	r.say("cases: building and running the tests")
	pattern := "Case"
	if o.only != "" {
		pattern = o.only
	}
	args, list := []string{"-count=1", "-run", pattern}, packages
	if o.quick {
		args, list = append(args, "-short"), []string{"./client/...", "./internal/trust/...", "./internal/card/..."}
	}
	var t gotest.Results
	if err := t.Run(ctx, r.progress, append(args, list...)...); err != nil {
		return err
	}
	tell(&t, r)
	return nil
}

// tell counts the tests, and the cases that those are about which passed.
func tell(t *gotest.Results, r *report) {
	passed, skipped, failed := t.Leaves()
	ids := map[string]bool{}
	for _, name := range passed {
		for _, m := range caseID.FindAllStringSubmatch(name, -1) {
			ids[m[1]] = true
		}
	}
	for _, name := range failed {
		r.note("FAILED " + t.Explain(name))
	}
	x := row{what: "cases", passed: len(passed), failed: len(failed)}
	x.words = fmt.Sprintf("%d case ids among the names, %d tests skipped", len(ids), len(skipped))
	r.add(x)
	r.objects = append(r.objects, map[string]any{"layer": "cases", "passed": x.passed, "failed": x.failed, "skipped": len(skipped), "case_ids": len(ids)})
}

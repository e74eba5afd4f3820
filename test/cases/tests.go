package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// packages that hold cases.
var packages = []string{"./client/...", "./internal/...", "./controllers/...", "./test/deploy/..."}

// caseID is how names of tests tell which case they are about.
var caseID = regexp.MustCompile(`(?:[^A-Za-z0-9]|Case)([CS]\d{2,3})`)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// runCases runs the tests that are cases and counts them.
func runCases(ctx context.Context, o options, r *report) error {
	r.say("cases: building and running the tests")
	args := []string{"test", "-count=1", "-json", "-run", "Case"}
	list := packages
	if o.quick {
		args, list = append(args, "-short"), []string{"./client/...", "./internal/trust/...", "./internal/card/..."}
	}
	if o.only != "" {
		args[4] = o.only
	}
	c := exec.CommandContext(ctx, "go", append(args, list...)...)
	c.Stderr = r.progress
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	t := newTests()
	readErr := t.read(out)
	waitErr := c.Wait()
	if readErr != nil {
		return fmt.Errorf("reading what go test says: %w", readErr)
	}
	if waitErr != nil && !t.anyFailed() {
		return fmt.Errorf("running go test: %w", waitErr)
	}
	t.tell(r)
	return nil
}

// tests is what go test said of each test.
type tests struct {
	state  map[string]string
	output map[string][]string
	parent map[string]bool
}

func newTests() *tests {
	return &tests{state: map[string]string{}, output: map[string][]string{}, parent: map[string]bool{}}
}

func (t *tests) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			t.see(e)
		}
	}
	return lines.Err()
}

// see takes one line in. What fails without a test (a package that does not build) counts under the package's name.
func (t *tests) see(e event) {
	name := strings.TrimPrefix(e.Package, "github.com/agentpeer/agentpeer/") + "." + e.Test
	switch e.Action {
	case "output":
		if list := t.output[name]; len(list) < 40 {
			t.output[name] = append(list, e.Output)
		}
	case "pass", "skip", "fail":
		if e.Test == "" && e.Action != "fail" {
			return
		}
		t.state[name] = e.Action
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			t.parent[strings.TrimSuffix(name, e.Test[i:])] = true
		}
	}
}

func (t *tests) anyFailed() bool {
	for _, s := range t.state {
		if s == "fail" {
			return true
		}
	}
	return false
}

// tell counts the tests that have no others below them; a package that failed counts only if none of its tests did.
func (t *tests) tell(r *report) {
	ids := map[string]bool{}
	x := row{what: "cases"}
	skipped := 0
	var failed []string
	for name, state := range t.state {
		switch {
		case t.parent[name] && !(state == "fail" && t.childless(name)):
		case strings.HasSuffix(name, ".") && !t.childless(name):
		case state == "pass":
			x.passed++
		case state == "skip":
			skipped++
		default:
			x.failed++
			failed = append(failed, name)
		}
		if state == "pass" {
			for _, m := range caseID.FindAllStringSubmatch(name, -1) {
				ids[m[1]] = true
			}
		}
	}
	slices.Sort(failed)
	for _, name := range failed {
		r.note("FAILED " + name + "\n    " + strings.TrimSpace(strings.ReplaceAll(strings.Join(t.output[name], ""), "\n", "\n    ")))
	}
	x.words = fmt.Sprintf("%d case ids among the names, %d tests skipped", len(ids), skipped)
	r.add(x)
	r.objects = append(r.objects, map[string]any{"layer": "cases", "passed": x.passed, "failed": x.failed, "skipped": skipped, "case_ids": len(ids)})
}

// childless says that no test below this one failed.
func (t *tests) childless(name string) bool {
	sep := "/"
	if strings.HasSuffix(name, ".") {
		sep = ""
	}
	for other, state := range t.state {
		if state == "fail" && other != name && strings.HasPrefix(other, name+sep) {
			return false
		}
	}
	return true
}

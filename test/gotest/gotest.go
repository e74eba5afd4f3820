package gotest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// module is cut off the names of packages.
const module = "github.com/agentpeer/agentpeer/"

// maxLines of output that are kept of one test.
const maxLines = 40

// Attr is something that a test said by T.Attr.
type Attr struct{ Test, Key, Value string }

// Results are what go test said of each test. The zero value has seen nothing.
type Results struct {
	// Attrs in the order in which they were set.
	Attrs []Attr
	// Ended, if set, is told of each test at the top as it ends, and how: "pass", "skip" or "fail".
	Ended func(test, how string)

	state  map[string]string
	output map[string][]string
	parent map[string]bool
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, Key, Value string
}

// Run runs "go test -json" with these arguments and takes in what it says. Tests that fail are no error; an error means that go test could not
// be run or understood.
func (r *Results) Run(ctx context.Context, progress io.Writer, args ...string) error {
	c := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = progress
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	before := r.failures()
	readErr := r.Read(out)
	waitErr := c.Wait()
	if readErr != nil {
		return fmt.Errorf("reading what go test says: %w", readErr)
	}
	if waitErr != nil && r.failures() == before {
		return fmt.Errorf("running go test: %w", waitErr)
	}
	return nil
}

// Read takes in the lines of go test -json. Lines that are none of those are passed over.
func (r *Results) Read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			r.see(e)
		}
	}
	return lines.Err()
}

func (r *Results) see(e event) {
	if r.state == nil {
		r.state, r.output, r.parent = map[string]string{}, map[string][]string{}, map[string]bool{}
	}
	name := strings.TrimPrefix(e.Package, module) + "." + e.Test
	switch e.Action {
	case "attr":
		r.Attrs = append(r.Attrs, Attr{Test: name, Key: e.Key, Value: e.Value})
	case "output":
		if list := r.output[name]; len(list) < maxLines {
			r.output[name] = append(list, e.Output)
		}
	case "pass", "skip", "fail":
		if e.Test == "" && e.Action != "fail" {
			return
		}
		r.state[name] = e.Action
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			r.parent[strings.TrimSuffix(name, e.Test[i:])] = true
		} else if e.Test != "" && r.Ended != nil {
			r.Ended(name, e.Action)
		}
	}
}

func (r *Results) failures() (n int) {
	for _, s := range r.state {
		if s == "fail" {
			n++
		}
	}
	return n
}

// Leaves are the names of the tests that count, sorted: package without the module, a dot, the test.
func (r *Results) Leaves() (passed, skipped, failed []string) {
	for name, state := range r.state {
		switch {
		case r.parent[name] && !(state == "fail" && r.childless(name)):
		case strings.HasSuffix(name, ".") && !r.childless(name):
		case state == "pass":
			passed = append(passed, name)
		case state == "skip":
			skipped = append(skipped, name)
		default:
			failed = append(failed, name)
		}
	}
	for _, list := range [][]string{passed, skipped, failed} {
		slices.Sort(list)
	}
	return passed, skipped, failed
}

// childless says that no test below this one failed.
func (r *Results) childless(name string) bool {
	sep := "/"
	if strings.HasSuffix(name, ".") {
		sep = ""
	}
	for other, state := range r.state {
		if state == "fail" && other != name && strings.HasPrefix(other, name+sep) {
			return false
		}
	}
	return true
}

// Explain is what a test printed, its first lines, indented under its name.
func (r *Results) Explain(name string) string {
	return name + "\n    " + strings.TrimSpace(strings.ReplaceAll(strings.Join(r.output[name], ""), "\n", "\n    "))
}

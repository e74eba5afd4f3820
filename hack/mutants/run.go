package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runner runs tests of the module in the folder root.
type runner struct {
	out     io.Writer
	verbose bool
	timeout time.Duration
}

// outcome of a run of tests.
type outcome struct {
	passed bool
	// failed is the first test that failed, or how the run failed otherwise.
	failed string
	output string
}

// errBuild: what was to be tested does not compile, so nothing was tested.
var errBuild = errors.New("it does not compile, so it tests nothing")

var (
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	buildFailed = regexp.MustCompile(`\[(build|setup) failed\]`)
	timedOut    = regexp.MustCompile(`panic: test timed out`)
	noTests     = regexp.MustCompile(`no tests to run`)
	ranTests    = regexp.MustCompile(`(?m)^ok\s+\S+\s+[\d.]+s\s*$`)
)

// test runs a suite. With an overlay, the files that it names stand in the place of those of the tree.
func (r runner) test(ctx context.Context, s suite, overlay string) (outcome, error) {
	args := []string{"test", "-count=1", "-failfast", "-timeout", r.timeout.String(), "-run", s.run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, strings.Fields(s.pkg)...)...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	o := outcome{passed: err == nil, output: out.String()}
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err == nil {
		if noTests.MatchString(o.output) && !ranTests.MatchString(o.output) {
			return o, fmt.Errorf("running %q of %s: there is no such test", s.run, s.pkg)
		}
		return o, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return o, fmt.Errorf("running go test: %w", err)
	}
	switch {
	case buildFailed.MatchString(o.output):
		return o, fmt.Errorf("%w:\n%s", errBuild, o.output)
	case failedTest.MatchString(o.output):
		// The innermost name says most, and stands last of those of the first test that failed.
		o.failed = deepest(failedTest.FindAllStringSubmatch(o.output, -1))
	case timedOut.MatchString(o.output):
		o.failed = fmt.Sprintf("%s of %s, which did not end", s.run, s.pkg)
	default:
		return o, fmt.Errorf("no test failed, and yet go test did:\n%s", o.output)
	}
	return o, nil
}

// deepest is the first test that failed, by the name of the subtest if it has one.
func deepest(found [][]string) string {
	name := found[0][1]
	for _, f := range found[1:] {
		if strings.HasPrefix(f[1], name+"/") {
			return f[1]
		}
	}
	return name
}

// runnable leaves out mutants whose tests need an API server where there is none.
func (r runner) runnable(list []mutant) []mutant {
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return list
	}
	return slices.DeleteFunc(list, func(m mutant) bool {
		needs := slices.ContainsFunc(m.tests, func(s suite) bool { return s.server })
		if needs {
			fmt.Fprintf(r.out, "%-28s left out: its tests need an API server, and KUBEBUILDER_ASSETS is not set\n", m.name)
		}
		return needs
	})
}

// baseline runs, on the tree as it is, the layer's tests of every package that is named for its cases, and the tests of make security that
// are named. A test that fails anyway catches nothing.
func (r runner) baseline(ctx context.Context, list []mutant) error {
	var suites []suite
	for _, m := range list {
		for _, s := range m.tests {
			if !s.security() {
				s.run = layerTests
			}
			suites = append(suites, s)
		}
	}
	slices.SortFunc(suites, func(a, b suite) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.run, b.run)) })
	for _, s := range slices.Compact(suites) {
		o, err := r.test(ctx, s, "")
		if err != nil {
			return err
		}
		if !o.passed {
			return fmt.Errorf("%s fails without any mutation:\n%s", o.failed, o.output)
		}
	}
	return nil
}

// try runs the tests of a mutant, then the layer, and says which test caught it; empty if none did.
func (r runner) try(ctx context.Context, m mutant) (by string, err error) {
	if r.verbose {
		fmt.Fprintf(r.out, "%s: %s\n", m.name, m.removes)
	}
	overlay, done, err := m.overlay()
	if err != nil {
		return "", err
	}
	defer done()
	for _, s := range append(slices.Clone(m.tests), layer...) {
		if s.server && os.Getenv("KUBEBUILDER_ASSETS") == "" {
			continue
		}
		o, err := r.test(ctx, s, overlay)
		if err != nil {
			return "", err
		}
		if !o.passed {
			caught, err := r.again(ctx, s, o, overlay)
			if err != nil || caught {
				return o.failed, err
			}
			continue
		}
		if r.verbose {
			fmt.Fprintf(r.out, "  not noticed by %s of %s\n", s.run, s.pkg)
		}
	}
	return "", nil
}

// again runs a test that failed once more: what fails by chance on a busy machine has caught nothing.
func (r runner) again(ctx context.Context, s suite, first outcome, overlay string) (bool, error) {
	top, _, _ := strings.Cut(first.failed, "/")
	if strings.Contains(top, " ") { // it did not end, and would not the next time
		return true, nil
	}
	o, err := r.test(ctx, suite{pkg: s.pkg, run: "^" + top + "$"}, overlay)
	if err == nil && o.passed {
		fmt.Fprintf(r.out, "  %s failed once and passed then: that is chance, and catches nothing\n", first.failed)
	}
	return !o.passed, err
}

// overlay writes the mutated file and the description that go test wants of it, into a folder that done removes.
func (m mutant) overlay() (path string, done func(), err error) {
	mutated, err := m.mutate(root)
	if err != nil {
		return "", nil, err
	}
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", nil, fmt.Errorf("finding %q: %w", m.file, err)
	}
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the mutant: %w", err)
	}
	done = func() { _ = os.RemoveAll(folder) }
	copied := filepath.Join(folder, filepath.Base(m.file))
	description, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err == nil {
		err = os.WriteFile(copied, mutated, 0o600)
	}
	path = filepath.Join(folder, "overlay.json")
	if err == nil {
		err = os.WriteFile(path, description, 0o600)
	}
	if err != nil {
		done()
		return "", nil, fmt.Errorf("writing the mutant: %w", err)
	}
	return path, done, nil
}

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+\\*?)`")
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
)

// TestEveryControlHasATestThatExists: a row of security.md names its test, and the test is there.
func TestEveryControlHasATestThatExists(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Threat, control, test")
	table, _, closed := strings.Cut(table, "\n## ")
	if !found || !closed {
		t.Fatal("security.md has no table of threats")
	}
	tests := testNames(t)
	rows := 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| threat") || strings.HasPrefix(row, "| **") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSpace(row), " | ")
		last := cells[len(cells)-1]
		if !strings.Contains(last, "`") {
			t.Errorf("%q names no test", cells[0])
		}
		for _, match := range testName.FindAllStringSubmatch(last, -1) {
			name, family := strings.CutSuffix(match[1], "*")
			if !slices.ContainsFunc(tests, func(have string) bool { return have == name || family && strings.HasPrefix(have, name) }) {
				t.Errorf("security.md names %s, and there is no such test", match[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("found %d threats, want the whole table", rows)
	}
}

func testNames(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", "bin", ".git"}, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range testFunc.FindAllStringSubmatch(string(source), -1) {
			names = append(names, match[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

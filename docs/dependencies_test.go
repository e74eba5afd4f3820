package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	required = regexp.MustCompile(`(?m)^\t(\S+) v\S+`)
	line     = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// TestEveryDependencyIsJustified: a module that our code imports has a line in dependencies.md, and a line has an import.
func TestEveryDependencyIsJustified(t *testing.T) {
	page, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	inPrograms, inTests, found := strings.Cut(string(page), "\n## In tests only")
	if !found {
		t.Fatal("dependencies.md has no part about tests")
	}
	programs, tests := imported(t)
	justified := func(part string) []string {
		var out []string
		for _, match := range line.FindAllStringSubmatch(part, -1) {
			out = append(out, match[1])
		}
		return out
	}
	compare(t, "programs", justified(inPrograms), programs)
	compare(t, "tests", justified(inTests), slices.DeleteFunc(tests, func(m string) bool { return slices.Contains(programs, m) }))
}

func compare(t *testing.T, part string, lines, modules []string) {
	t.Helper()
	for _, m := range modules {
		if !slices.Contains(lines, m) {
			t.Errorf("dependencies.md does not say why %s import %s", part, m)
		}
	}
	for _, m := range lines {
		if !slices.Contains(modules, m) {
			t.Errorf("dependencies.md explains %s among what %s import, and they do not", m, part)
		}
	}
}

// imported finds the modules of go.mod that the module's code imports: that of the programs, and that of tests, tools and the demo.
func imported(t *testing.T) (programs, others []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, match := range required.FindAllStringSubmatch(string(text), -1) {
		modules = append(modules, match[1])
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && nested == nil || slices.Contains([]string{"bin", "node_modules", ".git"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		into := &others
		top, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
		if !strings.HasSuffix(path, "_test.go") && slices.Contains([]string{"api", "client", "cmd", "controllers", "internal"}, top) {
			into = &programs
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if m := moduleOf(modules, name); m != "" && !slices.Contains(*into, m) {
				*into = append(*into, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return programs, others
}

// moduleOf is the longest module that a package can be of.
func moduleOf(modules []string, name string) string {
	longest := ""
	for _, m := range modules {
		if (name == m || strings.HasPrefix(name, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}

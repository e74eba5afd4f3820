package docs_test

import (
	"fmt"
	"go/ast"
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
	caseID   = regexp.MustCompile(`[CS][0-9]{2,3}`)
	caseName = regexp.MustCompile(`^([CS][0-9]{2,3})( |$)`)
	caseRow  = regexp.MustCompile("(?m)^\\| `([CS][0-9]{2,3})` \\|(.*)$")
	caseTest = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)`")
)

// How many cases there are: those that were reported, and those of our own.
const reported, synthetic = 74, 9

// Every case in docs/cases.md has the tests that it names, and every test that names a case stands there.
func TestEveryCaseIsToldAndTested(t *testing.T) {
	raw, err := os.ReadFile("cases.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, row := range caseRow.FindAllStringSubmatch(string(raw), -1) {
		id := row[1]
		if told[id] != nil {
			t.Errorf("docs/cases.md tells %s twice", id)
		}
		cells := strings.Split(row[2], "|")
		if len(cells) < 4 || strings.TrimSpace(cells[0]) == "" || strings.TrimSpace(cells[1]) == "" {
			t.Errorf("docs/cases.md: the row of %s lacks what happens, or the verdict", id)
			continue
		}
		if strings.HasPrefix(id, "C") && !strings.Contains(cells[3], "https://") {
			t.Errorf("docs/cases.md: the row of %s does not say where it was reported", id)
		}
		for _, test := range caseTest.FindAllStringSubmatch(cells[2], -1) {
			told[id] = append(told[id], test[1]+"."+test[2])
		}
	}
	tested := caseTests(t)
	for id, tests := range tested {
		for _, test := range tests {
			if !slices.Contains(told[id], test) {
				t.Errorf("docs/cases.md does not say that %s is a test of %s", test, id)
			}
		}
	}
	count := map[byte]int{}
	for id, tests := range told {
		count[id[0]]++
		if len(tests) == 0 {
			t.Errorf("docs/cases.md names no test of %s", id)
		}
		for _, test := range tests {
			if !slices.Contains(tested[id], test) {
				t.Errorf("docs/cases.md says that %s is a test of %s, and it is none", test, id)
			}
		}
	}
	if count['C'] != reported || count['S'] != synthetic {
		t.Errorf("docs/cases.md tells %d and %d cases, want %d and %d", count['C'], count['S'], reported, synthetic)
	}
}

// caseTests finds the tests that name a case: in their own name, or in the first word of a text inside, which names a subtest.
func caseTests(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", "bin", ".git"}, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return fmt.Errorf("reading %q: %w", path, err)
		}
		pkg := strings.TrimPrefix(filepath.Dir(path), root+"/")
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || !strings.Contains(f.Name.Name, "Case") {
				continue
			}
			for _, id := range casesIn(f) {
				if test := pkg + "." + f.Name.Name; !slices.Contains(found[id], test) {
					found[id] = append(found[id], test)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func casesIn(f *ast.FuncDecl) []string {
	ids := caseID.FindAllString(f.Name.Name, -1)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(text.Value)
		if m := caseName.FindStringSubmatch(value); err == nil && m != nil {
			ids = append(ids, m[1])
		}
		return true
	})
	return ids
}

package probe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ruleName is what rules look like, several separated by commas.
var ruleName = regexp.MustCompile(`^(0\.\d §[\d.]+|1\.0 §[\d.]+|wire [\d.]+|design [\d.]+( \([a-z]\))?|cases rule \d+|C\d+)$`)

// explained reads the names that docs/rules.md explains.
var explained = sync.OnceValues(func() (map[string]bool, error) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(text, -1) {
		names[string(m[1])] = true
	}
	return names, nil
})

// unexplained lists the names in a rule that docs/rules.md does not explain.
func unexplained(t *testing.T, rule string) []string {
	t.Helper()
	names, err := explained()
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for name := range strings.SplitSeq(rule, ", ") {
		if !names[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// Whoever reads a rule in a status finds it in docs/rules.md, and nothing there is of the past.
func TestEveryRuleIsExplained(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			if !ruleName.MatchString(strings.Split(text, ", ")[0]) {
				return true
			}
			for _, missing := range unexplained(t, text) {
				t.Errorf("docs/rules.md does not explain %q", missing)
			}
			for name := range strings.SplitSeq(text, ", ") {
				used[name] = true
			}
			return true
		})
	}
	names, _ := explained()
	for name := range names {
		if !used[name] {
			t.Errorf("docs/rules.md explains %q, which nothing uses", name)
		}
	}
}

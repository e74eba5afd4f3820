// Package agentpeer_test holds what is true of the whole module.
package agentpeer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agentpeer/agentpeer"

// kubernetes is where all of Kubernetes' packages live.
var kubernetes = []string{"k8s.io", "sigs.k8s.io"}

// An importRow says what the package at path, and those below it that have no row of their own, may know.
type importRow struct {
	path string
	// ours are the packages of this module that it may import, beside those below itself; "*" is any.
	ours []string
	// directly are packages that it must not import itself.
	directly []string
	// ever are packages that it must not reach on any path.
	ever []string
	// standardOnly: nothing outside the standard library and this module.
	standardOnly bool
}

// importTable is the direct and indirect truth; .golangci.yml repeats the direct half, for editors. Rows for longer
// paths come first.
var importTable = []importRow{
	{path: "api/v1alpha1/applyconfiguration", ours: []string{"api/v1alpha1"}},
	{path: "api/v1alpha1", ever: []string{"k8s.io/api", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		directly: []string{"net/http"}},
	{path: "client/lifecycle", ever: []string{"net/http"}, standardOnly: true},
	{path: "client", ours: []string{"api/v1alpha1", "client/lifecycle"}},
	{path: "internal/trust", ours: []string{"client/lifecycle"}, ever: append([]string{"net/http"}, kubernetes...)},
	{path: "internal/card", ours: []string{"client/lifecycle", "internal/trust"}, ever: append([]string{"net/http"}, kubernetes...)},
	{path: "internal/wire", ever: kubernetes},
	{path: "internal/probe", ever: kubernetes,
		ours: []string{"client/lifecycle", "internal/trust", "internal/card", "internal/wire"}},
	{path: "internal/serve", ours: []string{"api/v1alpha1", "client", "internal/card", "internal/trust"}},
	{path: "controllers", directly: []string{"net/http"},
		ours: []string{"api/v1alpha1", "client", "internal/trust", "internal/card", "internal/probe"}},
	{path: "cmd", ours: []string{"*"}},
	{path: "test/simulate", ours: []string{"client/lifecycle", "internal/trust"}, ever: append([]string{"net/http"}, kubernetes...)},
	{path: "test", ours: []string{"*"}},
	{path: "hack", ours: []string{"*"}},
	{path: "docs", ours: []string{"*"}},
	{path: "examples", ours: []string{"api/v1alpha1", "client", "client/lifecycle"}},
}

// shelves are names that say where something lies, not what it is for.
var shelves = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "shared"}

// A listed package is one of "go list -deps".
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func TestPackagesImportOnlyWhatTheirRowAllows(t *testing.T) {
	packages := listPackages(t)
	for path, p := range packages {
		name, ok := strings.CutPrefix(path, module+"/")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(importTable, func(r importRow) bool { return within(name, r.path) })
			if at < 0 {
				t.Fatal("no row in the import table: a new package is for a new kind of difficulty; say there what it may know")
			}
			checkDirect(t, p, name, importTable[at])
			checkIndirect(t, p, packages, importTable[at])
		})
	}
}

func checkDirect(t *testing.T, p listed, name string, row importRow) {
	t.Helper()
	for _, imported := range p.Imports {
		ours, isOurs := strings.CutPrefix(imported, module+"/")
		allowed := slices.Contains(row.ours, "*") || within(ours, row.path) ||
			slices.ContainsFunc(row.ours, func(o string) bool { return within(ours, o) })
		if isOurs && !allowed {
			t.Errorf("imports %s, which its row does not allow", imported)
		}
		if anyWithin(imported, row.directly) {
			t.Errorf("imports %s, which its row forbids", imported)
		}
	}
	if last := name[strings.LastIndex(name, "/")+1:]; slices.Contains(shelves, last) {
		t.Errorf("is called %q: put a function where its reader would look for it", last)
	}
}

func checkIndirect(t *testing.T, p listed, packages map[string]listed, row importRow) {
	t.Helper()
	for _, reached := range p.Deps {
		if anyWithin(reached, row.ever) {
			t.Errorf("reaches %s, which its row forbids", reached)
		}
		if row.standardOnly && !packages[reached].Standard && !within(reached, module) {
			t.Errorf("reaches %s, which is not in the standard library", reached)
		}
	}
}

// listPackages lists this module's packages and all they reach, tests left out: those may import what they like.
func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	lookAtSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, &stderr)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		packages[p.ImportPath] = p
	}
}

// lookAtSources makes go test see which files this test rests on. It does not watch what "go list" reads, and would
// show an old result from its cache after a change.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "bin" || entry.Name() == ".git"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") || path == "go.mod":
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// within says whether path is root or below it.
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func anyWithin(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return within(path, root) })
}

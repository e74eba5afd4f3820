package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// root is the folder of the module; the program is run there, as make does.
const root = "."

// mutant is one guard and what stands in its place.
type mutant struct {
	// name of the guard, in a word or two.
	name string
	// file that it stands in, from the root of the module.
	file string
	// removes says what is lost with it.
	removes string
	// old is the text of the guard, which stands in the file exactly once; new is what stands there instead.
	old, new string
	// tests that should miss it, the cheapest first. They are part of the layer, or of make security.
	tests []suite
}

// suite is what one run of go test runs.
type suite struct {
	pkg, run string
	// server: it needs an API server.
	server bool
}

// security tells a suite of tests of make security.
func (s suite) security() bool { return strings.HasPrefix(s.run, securityTests) }

// layerTests is what the names of the tests of the first layer of `make cases` have in them.
const layerTests = "Case"

// securityTests is what the names of the tests of `make security` begin with. Guards against attackers are theirs to miss: a mutant names
// those that should, and only these are run.
const securityTests = "TestSecurity"

// layer is what `make cases` runs of tests: the first layer, and of the third the one that counts. What it runs may catch a mutant that the
// tests named for it let pass.
var layer = []suite{
	{pkg: "./client/... ./internal/...", run: layerTests},
	{pkg: "./test/simulate", run: "TestNobodyIsAccused"},
	{pkg: "./controllers/...", run: layerTests, server: true},
}

// mutate reads the file and puts the new text in the place of the old one.
func (m mutant) mutate(root string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.name, err)
	}
	if n := strings.Count(string(raw), m.old); n != 1 {
		return nil, fmt.Errorf("mutant %q: its text stands %d times in %s, want once: the guard has moved, move the mutant too:\n%s", m.name, n, m.file, m.old)
	}
	if m.old == m.new {
		return nil, fmt.Errorf("mutant %q changes nothing", m.name)
	}
	return []byte(strings.Replace(string(raw), m.old, m.new, 1)), nil
}

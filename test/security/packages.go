package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// prefix of the names of the tests that are meant.
const prefix = "TestSecurity"

// find lists the packages of the module that have such a test. Running all of them would build and set up many that have none.
func find(ctx context.Context) ([]string, error) {
	c := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var found []string
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("listing packages: %w", err)
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			if bytes.Contains(text, []byte("\nfunc "+prefix)) {
				found = append(found, p.ImportPath)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no package has a test whose name begins with %s", prefix)
	}
	return found, nil
}

// group is what one run of go test takes.
type group struct {
	flags, packages []string
	words           string
}

// groups: where bytes of peers are handled, with the race detector; where memory and time are measured, with nothing beside; and the rest.
func groups(packages []string) []group {
	raced, rest, alone := group{flags: []string{"-race"}, words: " with the race detector"}, group{}, group{words: ", with nothing beside"}
	for _, p := range packages {
		switch {
		case strings.HasSuffix(p, "/internal/wire"), strings.HasSuffix(p, "/internal/probe"), strings.HasSuffix(p, "/internal/serve"):
			raced.packages = append(raced.packages, p)
		case strings.HasSuffix(p, "/test/hostile"):
			alone.packages = append(alone.packages, p)
		default:
			rest.packages = append(rest.packages, p)
		}
	}
	return slices.DeleteFunc([]group{raced, rest, alone}, func(g group) bool { return len(g.packages) == 0 })
}

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reason finds constants called Reason... or Warn..., and those of the type Reason or Warning.
var reason = regexp.MustCompile(`(?m)^\s*(?:(?:Reason|Warn)\w*\s+(?:[\w.]+\s+)?|\w+\s+(?:Reason|Warning)\s+)= "(\w+)"`)

// Somebody who reads a reason in a status, an event or an alert looks it up there.
func TestEveryReasonIsExplained(t *testing.T) {
	explained, err := os.ReadFile("reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"internal/trust/*.go", "internal/card/*.go", "api/v1alpha1/*.go", "client/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("looking for %s: %d files, error %v", pattern, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range reason.FindAllSubmatch(source, -1) {
				if !strings.Contains(string(explained), "`"+string(match[1])+"`") {
					t.Errorf("reasons.md does not explain `%s` of %s", match[1], strings.TrimPrefix(file, root+"/"))
				}
			}
		}
	}
}

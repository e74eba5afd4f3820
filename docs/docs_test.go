// Package docs_test holds the documentation to what is there: links lead somewhere and commands exist.
package docs_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = ".."

// pages reads every Markdown file of the repository, by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", "bin", ".git"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("found no page")
	}
	return found
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	code    = regexp.MustCompile("(?s)```.*?```")
)

func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if err := follow(all, page, match[1]); err != nil {
				t.Errorf("%s links to %q: %v", page, match[1], err)
			}
		}
	}
}

// follow looks at links inside the repository; others need a network.
func follow(all map[string]string, page, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() {
		return err
	}
	at := page
	if u.Path != "" {
		at = filepath.Join(filepath.Dir(page), u.Path)
		if _, err := os.Stat(filepath.Join(root, at)); err != nil {
			return err
		}
	}
	if u.Fragment != "" && filepath.Ext(at) == ".md" && !slices.Contains(anchors(all[at]), u.Fragment) {
		return fmt.Errorf("%s has no heading of that name", at)
	}
	return nil
}

// anchors are the names that GitHub gives to headings.
func anchors(text string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(strings.ReplaceAll(match[1], " ", "-"))
		names = append(names, regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, ""))
	}
	return names
}

var (
	makeCall = regexp.MustCompile("(?m)(?:^    |`|\\$ |^)make ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)")
	target   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):.* ## `)
)

func TestMakeTargetsInTheDocsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, match := range target.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, match[1])
	}
	for page, text := range pages(t) {
		for _, match := range makeCall.FindAllStringSubmatch(text, -1) {
			for _, name := range strings.Fields(match[1]) {
				if !slices.Contains(targets, name) {
					t.Errorf("%s says %q, and there is no target %q", page, match[0], name)
				}
			}
		}
	}
}

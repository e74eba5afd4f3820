package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// TestTheReferenceDescribesEveryField keeps docs/spec whole.
func TestTheReferenceDescribesEveryField(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.resource, func(t *testing.T) { described(t, k, strings.TrimSuffix(k.resource, "s")+".md") })
	}
}

func described(t *testing.T, k kind, page string) {
	text, err := os.ReadFile(filepath.Join(apiserver.Root(), "docs", "spec", page))
	if err != nil {
		t.Fatal(err)
	}
	schema := crd(t, k).Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, top := range []string{"spec", "status"} {
		for path := range explanations(schema.Properties[top], top) {
			name := path[strings.LastIndex(path, ".")+1:]
			if name == "*" || strings.HasPrefix(path, "status.conditions.") {
				continue
			}
			written := []string{"`" + name + "`", "." + name + "`", "." + name + ".", "### " + path + "\n"}
			if !slices.ContainsFunc(written, func(w string) bool { return strings.Contains(string(text), w) }) {
				t.Errorf("docs/spec/%s does not describe %s", page, path)
			}
		}
	}
}

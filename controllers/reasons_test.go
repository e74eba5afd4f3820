package controllers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// TestEveryReasonOfTheEngineIsAConstantOfTheAPI holds what users may program against to what the operator can write. The
// engine cannot import the API, so nothing but this test keeps them equal.
func TestEveryReasonOfTheEngineIsAConstantOfTheAPI(t *testing.T) {
	promised := constants(t, "api/v1alpha1", func(name, _ string) bool {
		return strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "Warning")
	})
	for _, of := range []struct{ folder, kind string }{{"internal/trust", "Reason"}, {"internal/card", "Warning"}} {
		known := constants(t, of.folder, func(_, kind string) bool { return kind == of.kind })
		if len(known) == 0 {
			t.Errorf("found no %s in %s", of.kind, of.folder)
		}
		for value, name := range known {
			if promised[value] == "" {
				t.Errorf("api/v1alpha1 has no constant for %q (%s in %s)", value, name, of.folder)
			}
		}
	}
}

// constants lists the string constants of a package that match, name by value.
func constants(t *testing.T, folder string, match func(name, kind string) bool) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apiserver.Root(), folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			kind, _ := spec.Type.(*ast.Ident)
			name := ""
			if kind != nil {
				name = kind.Name
			}
			if isLiteral && literal.Kind == token.STRING && match(spec.Names[0].Name, name) {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					found[value] = spec.Names[0].Name
				}
			}
			return true
		})
	}
	return found
}

// TestTheListOfReasonsSaysWhatIsWaitedFor holds docs/reasons.md to what resolve makes of a reference that is not as it should
// be: all that is not Stalled is waited for.
func TestTheListOfReasonsSaysWhatIsWaitedFor(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(apiserver.Root(), "docs", "reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{
		trustv1alpha1.ReasonSecretNotFound, trustv1alpha1.ReasonSecretKeyNotFound, trustv1alpha1.ReasonSecretNotAllowed,
		trustv1alpha1.ReasonCredentialInvalid, trustv1alpha1.ReasonServiceNotFound, trustv1alpha1.ReasonServicePortNotFound,
		trustv1alpha1.ReasonCABundleNotFound, trustv1alpha1.ReasonCABundleInvalid, trustv1alpha1.ReasonOriginNotListed,
		trustv1alpha1.ReasonServiceAccountNotFound, trustv1alpha1.ReasonServiceAccountNotAllowed, trustv1alpha1.ReasonServiceAccountTokensDisabled,
		trustv1alpha1.ReasonVerificationKeysNotFound, trustv1alpha1.ReasonVerificationKeysInvalid,
	} {
		row := regexp.MustCompile("(?m)^\\| .*`" + reason + "`.*$").FindString(string(page))
		if !strings.Contains(row, "| Ready, Reconciling |") {
			t.Errorf("docs/reasons.md says %q of %s, want it to be of Ready and Reconciling", row, reason)
		}
	}
}

package trust

import (
	"os"
	"strings"
	"testing"
)

// The verdict table, that of reports and the state diagram stand in doc.go and in docs/trust.md, the same in both.
func TestTheTablesAndTheDiagramAreTheSameInBothPlaces(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	var inDoc []string
	var block []string
	for line := range strings.Lines(string(doc)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			block = append(block, text)
			continue
		}
		if len(block) > 0 {
			inDoc, block = append(inDoc, strings.Join(block, "")), nil
		}
	}
	if len(inDoc) != 3 {
		t.Fatalf("doc.go has %d drawings, want the two tables and the diagram", len(inDoc))
	}
	for _, drawing := range inDoc {
		if !strings.Contains(string(page), "```text\n"+drawing+"```\n") {
			t.Errorf("docs/trust.md does not have this drawing of doc.go:\n%s", drawing)
		}
	}
}

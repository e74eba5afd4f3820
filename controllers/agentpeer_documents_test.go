package controllers

import (
	"bytes"
	"testing"
)

// A fleet that trusts one authority holds its bundle once, however many rounds wait.
func TestSecurityTenantsDocumentsAreHeldOnce(t *testing.T) {
	var d documents
	bundle := bytes.Repeat([]byte("c"), 200<<10)
	first, second := d.share(bytes.Clone(bundle)), d.share(bytes.Clone(bundle))
	if !bytes.Equal(first, bundle) || &first[0] != &second[0] {
		t.Error("the same bundle is held twice, or is another")
	}
	if other := d.share([]byte("other")); string(other) != "other" || &other[0] == &first[0] {
		t.Errorf("another document came back as %q", other)
	}
	for n := range 2 * maxDocuments / len(bundle) {
		bundle[0], bundle[1] = byte(n), byte(n>>8)
		d.share(bundle)
		if d.size > maxDocuments {
			t.Fatalf("%d bytes are kept, more than %d", d.size, maxDocuments)
		}
	}
	if first[0] != 'c' {
		t.Error("a document that is held was changed")
	}
	var none *documents
	if got := none.share(bundle); !bytes.Equal(got, bundle) || &got[0] == &bundle[0] {
		t.Error("without a store a document is not a copy")
	}
}

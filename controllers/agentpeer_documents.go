package controllers

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// documents shares bundles of certificates and sets of keys between the targets that hold them: where a whole fleet trusts one authority, a
// thousand rounds that wait must not hold its bundle a thousand times. Nobody changes what share returns. The zero value is ready; nil shares
// nothing.
type documents struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte][]byte
	size   int
}

// maxDocuments is how many bytes are kept for sharing. Beyond that all are forgotten, which costs copies and nothing else.
const maxDocuments = 16 << 20

// share returns a document of the same content, a copy at first.
func (d *documents) share(document []byte) []byte {
	if d == nil {
		return slices.Clone(document)
	}
	key := sha256.Sum256(document)
	d.mu.Lock()
	defer d.mu.Unlock()
	if same, ok := d.byHash[key]; ok {
		return same
	}
	if d.byHash == nil || d.size+len(document) > maxDocuments {
		d.byHash, d.size = map[[sha256.Size]byte][]byte{}, 0
	}
	d.byHash[key] = slices.Clone(document)
	d.size += len(document)
	return d.byHash[key]
}

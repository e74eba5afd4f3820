package wire

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestSecurityCredentialsAreBlottedInBase64WhereverTheyBegin(t *testing.T) {
	const word = "a-credential-of-ours"
	var b blotter
	b.hide(word)
	for before := range 6 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + word + " and more"))
		core := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before%3) + word))[4:24]
		if got := b.blot(text); strings.Contains(got, core) || !strings.Contains(got, blotted) {
			t.Errorf("after %d bytes: %q shows the credential", before, got)
		}
	}
	if got := b.blot(hex.EncodeToString([]byte("x" + word))); !strings.Contains(got, blotted) {
		t.Errorf("hexadecimal: %q shows the credential", got)
	}
}

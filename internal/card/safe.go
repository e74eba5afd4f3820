package card

import (
	"crypto/sha256"
	"encoding/hex"
)

// MaxSafe is the length of the longest string that Safe lets through.
const MaxSafe = 128

// Safe makes a name that a peer chose (skill id, task id, binding) fit for status and logs: s itself if it has 1 to
// MaxSafe characters of [A-Za-z0-9._:/@+-], else "sha256:" and twelve hex digits of its hash, so that equal names stay
// equal. Empty stays empty. (design 4.10)
func Safe(s string) string {
	if s == "" || isSafe(s) {
		return s
	}
	return hashed(s)
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

func isSafe(s string) bool {
	if len(s) > MaxSafe {
		return false
	}
	for i := range len(s) {
		if !safeByte(s[i]) {
			return false
		}
	}
	return true
}

func safeByte(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	switch b {
	case '.', '_', ':', '/', '@', '+', '-':
		return true
	}
	return false
}

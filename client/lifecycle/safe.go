package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
)

// MaxSafeID is the length of the longest id that SafeID lets through.
const MaxSafeID = 128

// SafeID makes a task id that a peer chose fit for status, logs and reports: the id itself if it has 1 to MaxSafeID characters of
// [A-Za-z0-9._:-], else "sha256:" and sixteen hexadecimal digits of its hash, so that equal ids stay equal. Empty stays empty.
func SafeID(id string) string {
	if safeID(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

func safeID(id string) bool {
	if len(id) > MaxSafeID {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '.', b == '_', b == ':', b == '-':
		default:
			return false
		}
	}
	return true
}

package card

import (
	"encoding/json"
	"strings"
)

// modes reads media types: lower case, without parameters, each once. Cards of 0.1 write the kinds of parts ("text",
// "data").
func (p *parser) modes(raw json.RawMessage) []string {
	words, clean := readStrings(raw)
	seen := map[string]bool{}
	var list []string
	for _, word := range words {
		mode, ok := mediaType(word)
		if !ok {
			clean = false
			continue
		}
		if !seen[mode] {
			seen[mode] = true
			list = append(list, mode)
		}
	}
	if !clean {
		p.warn.add(ModesMalformed)
	}
	return list
}

func mediaType(s string) (string, bool) {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "text":
		return "text/plain", true
	case "data":
		return "application/json", true
	}
	kind, sub, ok := strings.Cut(s, "/")
	return s, ok && token(kind) && token(sub) && len(s) <= MaxSafe
}

// token holds the characters that names of media types are made of in practice, or the star of a range. RFC 6838 allows a
// few more, which status does not.
func token(s string) bool {
	if s == "*" {
		return true
	}
	for i := range len(s) {
		if c := s[i]; c == ':' || c == '/' || c == '@' || !safeByte(c) {
			return false
		}
	}
	return s != ""
}

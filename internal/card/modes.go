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

// Spelling is how a card writes an input mode.
type Spelling struct {
	// Declared is the media type with its capitals and parameters, trimmed; empty if it is longer than 256 bytes. It is peer text: it goes back
	// to the peer and never into status, events or logs.
	Declared string
	// Parameters: the card names the type with parameters only, such as text/plain; charset=utf-8, and never without.
	Parameters bool
}

const maxSpelling = 256

// InputMode says how the card writes one of DefaultInputModes. A mode written several times is taken without parameters if it can be. Of any
// other mode the answer is the mode itself.
func (c *Card) InputMode(mode string) Spelling {
	if s, ok := c.spellings[mode]; ok {
		return s
	}
	return Spelling{Declared: mode}
}

func spellings(raw json.RawMessage) map[string]Spelling {
	words, _ := readStrings(raw)
	list := map[string]Spelling{}
	for _, word := range words {
		mode, ok := mediaType(word)
		if !ok {
			continue
		}
		s := spelling(word)
		if old, seen := list[mode]; !seen || old.Parameters && !s.Parameters {
			list[mode] = s
		}
	}
	return list
}

func spelling(word string) Spelling {
	kind, parameters, _ := strings.Cut(word, ";")
	s := Spelling{Declared: strings.TrimSpace(word), Parameters: strings.TrimSpace(parameters) != ""}
	if !s.Parameters {
		s.Declared = strings.TrimSpace(kind)
	}
	switch {
	case len(s.Declared) > maxSpelling:
		s.Declared = ""
	case !strings.Contains(kind, "/"): // a kind of parts (0.1), which is no media type to send
		s.Declared, _ = mediaType(word)
	}
	return s
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

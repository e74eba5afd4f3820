package wire

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A peer's JSON is walked in place instead of decoded into Go values: only what the envelope needs is looked at, an
// array of a million empty arrays costs nothing but its bytes, names are compared to the letter, and a member of the
// wrong type loses that member alone. The walk needs valid JSON, which json.Valid checks once for the whole text, and no
// recursion.

// value is a piece of valid JSON without space around it; nil stands for an absent one.
type value []byte

// parse checks a whole text and returns it as a value. A byte order mark before it is skipped.
func parse(text []byte) (value, bool) {
	text = bytes.TrimSpace(trimBOM(text))
	if !json.Valid(text) {
		return nil, false
	}
	return value(text), true
}

// deeper tells whether a text nests objects and arrays deeper than limit, whether it is valid JSON or not.
func deeper(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return false
}

var bom = []byte{0xef, 0xbb, 0xbf}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, bom) }

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }
func (v value) isNumber() bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// present: there, and not null.
func (v value) present() bool { return len(v) > 0 && v[0] != 'n' }

// members calls f for every member of an object, in order.
func (v value) members(f func(name []byte, member value)) {
	if !v.isObject() {
		return
	}
	for i := skipSpace(v, 1); i < len(v) && v[i] == '"'; i = next(v, i) {
		end := skipValue(v, i)
		name := value(v[i:end]).name()
		i = skipSpace(v, skipSpace(v, end)+1) // past the colon
		end = skipValue(v, i)
		f(name, value(v[i:end]))
		i = end
	}
}

// get is the named member of an object, the last of several; nil if there is none.
func (v value) get(name string) (found value) {
	v.members(func(n []byte, m value) {
		if string(n) == name {
			found = m
		}
	})
	return found
}

// elements calls f for every element of an array, in order.
func (v value) elements(f func(value)) {
	if !v.isArray() {
		return
	}
	for i := skipSpace(v, 1); i < len(v) && v[i] != ']'; i = next(v, i) {
		end := skipValue(v, i)
		f(value(v[i:end]))
		i = end
	}
}

// count of an array's elements; 0 for anything else.
func (v value) count() (n int) {
	v.elements(func(value) { n++ })
	return n
}

// text of a string, empty for anything else.
func (v value) text() string {
	if !v.isString() {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(string(inner), "\ufffd")
	}
	var s string
	_ = json.Unmarshal(v, &s)
	return s
}

// name of a member, without a copy unless it is escaped.
func (v value) name() []byte {
	if bytes.IndexByte(v, '\\') >= 0 {
		return []byte(v.text())
	}
	return v[1 : len(v)-1]
}

// word is the text of a string or the digits of a number, empty for anything else.
func (v value) word() string {
	if v.isNumber() {
		return string(v)
	}
	return v.text()
}

// maxID is how long an id may be, in bytes. Whoever follows a task keeps many of them, and an answer has room for megabytes: a longer one
// counts as absent.
const maxID = 4 << 10

// maxState is how much of a state is kept. The states that there are have at most 40 bytes.
const maxState = 256

// ident is a word that is an id.
func (v value) ident() string {
	if len(v) > 2*maxID {
		return ""
	}
	s := v.word()
	if len(s) > maxID {
		return ""
	}
	return s
}

func skipSpace(v value, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r') {
		i++
	}
	return i
}

// next steps from the end of an element over space and a comma.
func next(v value, i int) int {
	i = skipSpace(v, i)
	if i < len(v) && v[i] == ',' {
		return skipSpace(v, i+1)
	}
	return i
}

// skipValue is the index behind the value that starts at i. It counts brackets instead of calling itself, so that depth
// costs nothing.
func skipValue(v value, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			i = skipString(v, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			i = skipScalar(v, i)
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

func skipString(v value, i int) int {
	for i++; i < len(v) && v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(v))
}

func skipScalar(v value, i int) int {
	for ; i < len(v); i++ {
		switch v[i] {
		case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

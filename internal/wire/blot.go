package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// blotted stands for a credential in what is shown of an exchange.
const blotted = "[credential]"

// maxHidden bounds how many values are remembered: the configured ones and the last tokens of a round.
const maxHidden = 16

// blotter knows the credentials of a client and takes them out of what is shown: a peer may send them back, in whatever form the place
// asks for. The zero value knows none. Safe for concurrent use.
type blotter struct {
	lock   sync.Mutex
	hidden []string
	forms  *strings.Replacer
}

// hide adds a value, whose parts are hidden too: the token of "Bearer TOKEN", and user name and password of "Basic BASE64".
func (b *blotter) hide(value string) {
	if value == "" {
		return
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	if slices.Contains(b.hidden, value) {
		return
	}
	if b.hidden = append(b.hidden, value); len(b.hidden) > maxHidden {
		b.hidden = slices.Delete(b.hidden, maxHidden/2, maxHidden/2+1) // the first are the configured ones, the last the newest
	}
	var pairs []string
	for _, form := range allForms(b.hidden) {
		pairs = append(pairs, form, blotted)
	}
	b.forms = strings.NewReplacer(pairs...)
}

// blot takes every form of every value out of a text, in one pass.
func (b *blotter) blot(text string) string {
	b.lock.Lock()
	forms := b.forms
	b.lock.Unlock()
	if forms == nil {
		return text
	}
	return forms.Replace(text)
}

// shown is err, or an error of the blotted text alone if the text holds a credential: errors of the standard library quote what a peer sent.
func (b *blotter) shown(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := b.blot(text); clean != text {
		return errors.New(clean) // what it came from must not be reached
	}
	return err
}

// allForms are the spellings of the values, the longest first, so that no part of a longer one is left.
func allForms(values []string) []string {
	var list []string
	for _, v := range values {
		for _, part := range partsOf(v) {
			list = append(list, formsOf(part)...)
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// partsOf a value: itself, what follows its scheme, and what that is in base64, whole and after the colon.
func partsOf(value string) []string {
	list := []string{value}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return list
	}
	list = append(list, token)
	if raw, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(raw), ":")
		list = append(list, string(raw), password)
	}
	return list
}

// formsOf are the ways in which URLs, JSON, gRPC and base64 spell a value.
func formsOf(v string) []string {
	list := []string{v, url.QueryEscape(v), url.PathEscape(v), percent(v)}
	for _, escaped := range list[1:] {
		list = append(list, lowerHex(escaped))
	}
	if text, err := json.Marshal(v); err == nil {
		html := string(text[1 : len(text)-1])
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
		list = append(list, html, plain, strings.ReplaceAll(plain, "/", `\/`))
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		list = append(list, strings.TrimRight(e.EncodeToString([]byte(v)), "="))
		// Within a longer text what is encoded may begin at any of three places. What a few letters come to would be found everywhere.
		for before := range 3 {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
			if form := text[(before*8+5)/6 : (before+len(v))*8/6]; len(form) >= 8 {
				list = append(list, form)
			}
		}
	}
	if len(v) >= 4 {
		list = append(list, hex.EncodeToString([]byte(v)))
	}
	return list
}

// percent escapes what encodeURIComponent does, and spaces as %20.
func percent(v string) string { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20") }

// lowerHex is an escaped text with the digits of its escapes in lower case.
func lowerHex(v string) string {
	b := []byte(v)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(v[i+1:i+3]))
		}
	}
	return string(b)
}

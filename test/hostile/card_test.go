package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// zipped compresses n bytes of zeros after a beginning, times over.
func zipped(n, times int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, `{"name":"`)
	zeros := bytes.Repeat([]byte("a"), 1<<20)
	for range n >> 20 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	for range times - 1 {
		inner := bytes.Clone(b.Bytes())
		b.Reset()
		z := gzip.NewWriter(&b)
		_, _ = z.Write(inner)
		_ = z.Close()
	}
	return b.Bytes()
}

// many is the same element again and again, so that it makes up so many bytes.
func many(element string, size int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", size/(len(element)+1)), ",")
}

// deep is an array in an array, so many times.
func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// almost is just below what a card may weigh.
const almost = 1<<20 - 2048

// odd is a text with all that no text should have: what ends a line, what steers a terminal or turns the direction, halves of pairs.
const odd = canary + `\r\nX-Evil: 1\u0000\u001b[31m\u202e\ud800 \udfff\u2028`

// Cards without an end, without a bottom, with a million of everything.
func TestSecurityHostileCards(t *testing.T) {
	endless := func(what string) func(*stand) {
		return func(s *stand) {
			s.onCard(func(w http.ResponseWriter, _ *http.Request) { s.forever(w, []byte(what)) })
		}
	}
	members := func(text string) func(*stand) { return func(s *stand) { s.card(text) } }
	served := func(body []byte, header ...string) func(*stand) {
		return func(s *stand) {
			s.onCard(func(w http.ResponseWriter, _ *http.Request) {
				s.met.Add(1)
				for i := 0; i+1 < len(header); i += 2 {
					w.Header().Set(header[i], header[i+1])
				}
				_, _ = w.Write(body)
			})
		}
	}
	each(t, []peer{
		{name: "a card without an end", stand: endless(strings.Repeat("{", 4096))},
		{name: "a string without an end", stand: endless(strings.Repeat("a", 4096))},
		{name: "white space without an end", stand: endless(strings.Repeat(" ", 4096))},
		{name: "a card byte by byte", stand: func(s *stand) {
			s.onCard(func(w http.ResponseWriter, _ *http.Request) {
				s.drip(w, []byte(`{"name":"x","skills":[]}`), time.Second)
			})
		}},
		{name: "a million skills", stand: members(`"x":[` + many("{}", almost/2) + `],"skills":[` + many(`{"id":"a"}`, almost/2) + `]`)},
		{name: "a million interfaces", stand: members(`"additionalInterfaces":[` + many(`{"url":"http://a","transport":"JSONRPC"}`, almost) + `]`)},
		{name: "a million empty interfaces", stand: members(`"additionalInterfaces":[` + many(`{}`, almost) + `]`)},
		{name: "a million interfaces on one host", stand: func(s *stand) {
			s.onCard(func(w http.ResponseWriter, r *http.Request) {
				s.met.Add(1)
				_, _ = fmt.Fprintf(w, `{"name":"n","capabilities":{"streaming":true},"supportedInterfaces":[%s]}`,
					many(`{"url":"http://`+r.Host+`/none","protocolBinding":"JSONRPC","protocolVersion":"1.0"}`, almost))
			})
		}},
		{name: "a million schemes", stand: func(s *stand) {
			var b strings.Builder
			for i := 0; b.Len() < almost; i++ {
				fmt.Fprintf(&b, `"s%d":{"httpAuthSecurityScheme":{"scheme":"bearer"}},`, i)
			}
			s.card(`"securitySchemes":{` + strings.TrimSuffix(b.String(), ",") + `}`)
		}},
		{name: "a million signatures", stand: members(`"signatures":[` + many(`{"protected":"eyJhbGciOiJFUzI1NiJ9","signature":"AA"}`, almost) + `]`)},
		{name: "a million modes", stand: members(`"defaultInputModes":[` + many(`"a/b"`, almost) + `]`)},
		{name: "a million extensions", stand: members(`"capabilities":{"streaming":true,"extensions":[` + many(`{"uri":"a"}`, almost) + `]}`)},
		{name: "100,000 levels", stand: members(`"x":` + deep(100_000))},
		{name: "9,000 levels", stand: members(`"x":` + deep(9_000) + `,"skills":[{"id":"a","examples":` + deep(500) + `}]`)},
		{name: "every member twice", stand: members(`"name":"other","capabilities":{"streaming":false,"streaming":true},"capabilities":{"streaming":null},` +
			`"supportedInterfaces":[{"url":"http://elsewhere.invalid","url":"http://another.invalid","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`)},
		{name: "numbers of a megabyte", stand: members(`"version":` + strings.Repeat("9", almost/2) + `,"x":1e` + strings.Repeat("9", 1000) +
			`,"skills":[{"id":-` + strings.Repeat("9", 4096) + `,"estimatedDuration":1e999}]`)},
		{name: "giant words", stand: members(`"skills":[{"id":"` + strings.Repeat(canary, almost/4/len(canary)) + `"}],"defaultOutputModes":["` +
			strings.Repeat(canary, almost/4/len(canary)) + `"],"provider":{"organization":"` + strings.Repeat(canary, almost/4/len(canary)) + `"}`)},
		{name: "words that are none", stand: members(`"name":"` + odd + "\xff\xfe\xc0\xaf" + `","skills":[{"id":"` + odd + "\xff" +
			`","name":"` + odd + `"}],"defaultInputModes":["` + odd + `","text/plain"],"provider":{"url":"` + odd + `"}`)},
		{name: "addresses that are none", stand: members(`"additionalInterfaces":[{"url":"http://` + canary + `\r\n@[::1%25lo]:99999/","transport":"JSONRPC"},` +
			`{"url":"javascript:` + canary + `","transport":"GRPC"},{"url":"http://` + strings.Repeat("a.", 500) + `","transport":"HTTP+JSON"},` +
			`{"url":"//` + canary + `","transport":"JSONRPC"},{"url":"http://0x7f.1/","transport":"JSONRPC"}]`)},
		{name: "a gzip bomb", stand: served(zipped(256<<20, 1), "Content-Encoding", "gzip")},
		{name: "a gzip bomb that does not say so", stand: served(zipped(256<<20, 1))},
		{name: "a gzip bomb in a gzip bomb", stand: served(zipped(256<<20, 3), "Content-Encoding", "gzip, gzip, gzip")},
		{name: "gzip streams without an end", stand: func(s *stand) {
			member := zipped(0, 1)
			s.onCard(func(w http.ResponseWriter, _ *http.Request) { s.forever(w, bytes.Repeat(member, 100)) })
		}},
		{name: "empty gzip blocks without an end", stand: func(s *stand) {
			head := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
			empty := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1000) // stored blocks of no bytes: input that never yields output
			s.onCard(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(head)
				s.forever(w, empty)
			})
		}},
		{name: "other compressions", stand: served([]byte(`{}`), "Content-Encoding", strings.Repeat("br, ", 500)+"zstd")},
	})
}

package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// told is what a decoder made of a body.
type told struct {
	Data         []string
	Comments     int
	Unterminated bool
	IsError      bool
	Err          error
}

func decode(r io.Reader, limit int) (got told) {
	d := newSSE(r, limit, func([]byte) { got.Comments++ })
	for {
		f, err := d.next()
		if err != nil {
			got.Err = err
			return got
		}
		got.Data = append(got.Data, string(f.data))
		got.Unterminated = !f.terminated
		got.IsError = f.isError
	}
}

func TestSSEFollowsTheGrammar(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want told
	}{
		"an empty body has no event": {body: "", want: told{}},
		"lines end in LF":            {body: "data: a\n\ndata: b\n\n", want: told{Data: []string{"a", "b"}}},
		"lines end in CRLF":          {body: "data: a\r\n\r\ndata: b\r\n\r\n", want: told{Data: []string{"a", "b"}}},
		"lines end in CR":            {body: "data: a\r\rdata: b\r\r", want: told{Data: []string{"a", "b"}}},
		"CRLF is one line end":       {body: "data: a\r\ndata: b\r\n\r\n", want: told{Data: []string{"a\nb"}}},
		"line ends may be mixed":     {body: "data: a\r\n\rdata: b\n\r\n", want: told{Data: []string{"a", "b"}}},
		"a byte order mark may come first": {
			body: "\ufeffdata: a\n\n", want: told{Data: []string{"a"}},
		},
		"a byte order mark later on belongs to a field nobody knows": {
			body: "data: a\n\n\ufeffdata: b\n\n", want: told{Data: []string{"a"}},
		},
		"a comment is no event (C20)": {
			body: ": keep-alive\n\n:\n\ndata: a\n\n", want: told{Data: []string{"a"}, Comments: 2},
		},
		"a comment may stand inside an event": {
			body: "data: a\n: hm\ndata: b\n\n", want: told{Data: []string{"a\nb"}, Comments: 1},
		},
		"data lines are joined by LF (C22)": {body: "data: {\ndata:  \"a\":1\ndata: }\n\n", want: told{Data: []string{"{\n \"a\":1\n}"}}},
		"the space after the colon may be missing, and only one is taken": {
			body: "data:a\n\ndata:  b\n\n", want: told{Data: []string{"a", " b"}},
		},
		"the other fields say nothing to us": {
			body: "event: message\nid: 1\nretry: 3000\ndata: a\nfoo: bar\nbaz\n\n", want: told{Data: []string{"a"}},
		},
		"fields without data make no event":             {body: "event: ping\nid: 7\n\ndata: a\n\n", want: told{Data: []string{"a"}}},
		"an event without data is a keep-alive":         {body: "data:\n\ndata\n\ndata: a\n\n", want: told{Data: []string{"a"}, Comments: 2}},
		"an event may call itself an error":             {body: "event: error\ndata: a\n\n", want: told{Data: []string{"a"}, IsError: true}},
		"an event's name does not outlive it":           {body: "event: error\n\ndata: a\n\n", want: told{Data: []string{"a"}}},
		"a name alone that begins like data is another": {body: "database: a\n\ndata: b\n\n", want: told{Data: []string{"b"}}},
		"many blank lines are one":                      {body: "\n\n\ndata: a\n\n\n\n", want: told{Data: []string{"a"}}},
		"a whole last event without its blank line is delivered (C24)": {
			body: "data: a\n\ndata: {\"a\":1}\n", want: told{Data: []string{"a", `{"a":1}`}, Unterminated: true},
		},
		"and so it is without its line end": {
			body: "data: {\"a\":1}", want: told{Data: []string{`{"a":1}`}, Unterminated: true},
		},
		"half an event at the end is dropped":      {body: "data: {\"a\":1}\n\ndata: {\"a\":", want: told{Data: []string{`{"a":1}`}}},
		"half a comment at the end is a comment":   {body: "data: a\n\n: bye", want: told{Data: []string{"a"}, Comments: 1}},
		"a body of comments alone has no event":    {body: ": a\n: b\n", want: told{Comments: 2}},
		"an event may be as large as the limit":    {body: "data: " + strings.Repeat("x", 58) + "\n\n", want: told{Data: []string{strings.Repeat("x", 58)}}},
		"a line over the limit ends it":            {body: "data: " + strings.Repeat("x", 59) + "\n\n", want: told{Err: errTooLarge}},
		"an endless line ends at the limit":        {body: strings.Repeat("x", 1000), want: told{Err: errTooLarge}},
		"many short lines over the limit end it":   {body: strings.Repeat("data: xxxxxxxx\n", 9) + "\n", want: told{Err: errTooLarge}},
		"an event over the limit is not delivered": {body: "data: \"" + strings.Repeat("x", 100), want: told{Err: errTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want.Err == nil {
				tc.want.Err = io.EOF
			}
			for how, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tc.body),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.body)),
			} {
				got := decode(r, 64)
				if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

// TestSSEWaitsForNothingItDoesNotNeed: a peer that ends lines in CR and then thinks for a minute has sent its event all the same.
func TestSSEWaitsForNothingItDoesNotNeed(t *testing.T) {
	for name, body := range map[string]string{"LF": "data: a\n\n", "CR": "data: a\r\r", "CRLF": "data: a\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			blocked := errors.New("the decoder wanted more")
			r := io.MultiReader(strings.NewReader(body), iotest.ErrReader(blocked))
			f, err := newSSE(r, 64, nil).next()
			if err != nil || string(f.data) != "a" {
				t.Errorf("next() = %q, %v, want the event", f.data, err)
			}
		})
	}
}

func TestSSEIsKnownByItsFirstBytes(t *testing.T) {
	for body, want := range map[string]bool{
		"data: {}": true, "data:{}": true, ": hi\n": true, "event: x": true, "id: 1": true, "retry: 1": true,
		"\ufeffdata: x": true, "\r\n\ndata: x": true,
		"{}": false, "<html>": false, "": false, "dat": false, "database": false, "data is here": false, "\xef\xbb": false,
	} {
		if got := looksLikeSSE([]byte(body)); got != want {
			t.Errorf("looksLikeSSE(%q) = %v, want %v", body, got, want)
		}
		if got := leadsWithSSE(newSSE(iotest.OneByteReader(strings.NewReader(body)), 64, nil).r); got != want {
			t.Errorf("leadsWithSSE(%q) = %v, want %v", body, got, want)
		}
	}
}

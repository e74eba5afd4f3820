package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// tracer prints exchanges, one whole at a time.
type tracer struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
	seen  *witness
}

func newTracer(w io.Writer, seen *witness) *tracer {
	return &tracer{w: w, start: seen.start, seen: seen}
}

// print shows an exchange: > we sent, < the peer sent. Whatever the peer sent is made harmless first.
func (t *tracer) print(x wire.Exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n#%d for %s\n", t.seen.see(x), orDash(x.Question))
	fmt.Fprintf(&b, "> %s %s  (+%s)\n", x.Method, shownLine(x.URL), x.Started.Sub(t.start).Round(time.Millisecond))
	headers(&b, "> ", x.Request)
	lines(&b, "> ", x.Body)
	switch {
	case x.Status != 0:
		fmt.Fprintf(&b, "< %d %s\n", x.Status, http.StatusText(x.Status))
		headers(&b, "< ", x.Response)
		lines(&b, "< ", x.Answer)
		for _, f := range x.Frames {
			lines(&b, fmt.Sprintf("< %8s  ", "+"+f.At.Round(time.Millisecond).String()), f.Data)
		}
		if x.End != "" {
			fmt.Fprintf(&b, "< stream ended: %s\n", x.End)
		}
	}
	if x.Err != nil {
		fmt.Fprintf(&b, "! %s\n", shownLine(x.Err.Error()))
	}
	fmt.Fprintf(&b, "= took %s\n", x.Took.Round(time.Millisecond))
	_, _ = io.WriteString(t.w, b.String())
}

func headers(b *strings.Builder, prefix string, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			fmt.Fprintf(b, "%s%s: %s\n", prefix, shownLine(name), shownLine(v))
		}
	}
}

// maxLine is how much of one line is shown on a terminal; JSON has more.
const maxLine = 4 << 10

func lines(b *strings.Builder, prefix string, raw []byte) {
	if len(raw) == 0 {
		return
	}
	for line := range strings.Lines(string(raw)) {
		fmt.Fprintf(b, "%s%s\n", prefix, shownLine(strings.TrimRight(line, "\r\n")))
	}
}

// shownLine makes a line harmless and cuts what is too long for a terminal.
func shownLine(s string) string {
	if more := len(s) - maxLine; more > 0 {
		return fmt.Sprintf("%s (%d more bytes)", harmless(s[:maxLine]), more)
	}
	return harmless(s)
}

// harmless spells out every rune that could steer a terminal or turn text around: control characters, escapes, bidirectional marks,
// invalid bytes.
func harmless(s string) string {
	if !strings.ContainsFunc(s, harmful) && strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == unicode.ReplacementChar && s[i] != '\xef':
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case harmful(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func harmful(r rune) bool { return !unicode.IsPrint(r) }

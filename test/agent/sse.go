package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// sse writes Server-Sent Events, in the form that StreamConfig asks for.
type sse struct {
	w http.ResponseWriter
	c StreamConfig
	// frame is what an event holds, by the binding that sends it.
	frame  func(result any, e *rpcError) any
	opened bool
	count  int
	lump   bytes.Buffer
}

// open sends the headers.
func (s *sse) open() {
	if s.opened {
		return
	}
	s.opened = true
	h := s.w.Header()
	switch {
	case s.c.MediaType == "none":
		h["Content-Type"] = nil
	case s.c.MediaType != "":
		h.Set("Content-Type", s.c.MediaType)
	case s.c.NDJSON:
		h.Set("Content-Type", "application/x-ndjson")
	default:
		h.Set("Content-Type", "text/event-stream")
	}
	h.Set("Cache-Control", "no-cache")
	if s.c.Cut == "close" {
		h.Set("Transfer-Encoding", "identity")
	}
	s.w.WriteHeader(http.StatusOK)
	if s.c.BOM {
		_ = s.write([]byte("\ufeff"))
	}
	_ = http.NewResponseController(s.w).Flush()
}

func (s *sse) event(result any, e *rpcError, last bool) error {
	body, err := json.Marshal(s.frame(result, e))
	if err != nil {
		return err
	}
	return s.raw(body, last)
}

func (s *sse) garble() error { return s.raw([]byte(`{"jsonrpc":"2.0","result":`), false) }

// cut ends the stream the way the quirk says; what open did is one part of it.
func (s *sse) cut() {
	s.open()
	if s.c.Cut == "reset" {
		panic(http.ErrAbortHandler)
	}
}

func (s *sse) raw(body []byte, last bool) error {
	s.open()
	s.count++
	if s.c.NDJSON {
		return s.flush(append(body, '\n'))
	}
	var b strings.Builder
	if s.c.Fields {
		b.WriteString("event: message\nid: " + strconv.Itoa(s.count) + "\nretry: 3000\n")
	}
	if s.c.Pretty {
		var p bytes.Buffer
		if json.Indent(&p, body, "", " ") == nil {
			body = p.Bytes()
		}
	}
	for line := range bytes.Lines(body) {
		b.WriteString("data: ")
		b.Write(bytes.TrimSuffix(line, []byte("\n")))
		b.WriteByte('\n')
	}
	if !last || !s.c.Unterminated {
		b.WriteByte('\n')
	}
	return s.flush([]byte(s.lines(b.String())))
}

func (s *sse) comment() error {
	if s.c.NDJSON {
		return nil
	}
	return s.flush([]byte(s.lines(": keep-alive\n\n")))
}

func (s *sse) lines(text string) string {
	if s.c.LineEnd == "" {
		return text
	}
	return strings.ReplaceAll(text, "\n", s.c.LineEnd)
}

func (s *sse) write(b []byte) error {
	if s.c.Buffered {
		s.lump.Write(b)
		return nil
	}
	_, err := s.w.Write(b)
	return err
}

func (s *sse) flush(b []byte) error {
	if err := s.write(b); err != nil {
		return err
	}
	if s.c.Buffered {
		return nil
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *sse) deliver() {
	if s.lump.Len() > 0 {
		_, _ = s.w.Write(s.lump.Bytes())
		s.lump.Reset()
		_ = http.NewResponseController(s.w).Flush()
	}
}

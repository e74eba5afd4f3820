package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// sse decodes an event stream by the grammar of the HTML standard (server-sent events): lines end in LF, CRLF or CR, a
// byte order mark may come first, lines that start with a colon are comments, the data lines of one event are joined by
// LF, a blank line ends it, fields we do not know are skipped. It takes no byte more than it needs before it hands out
// an event, a lone CR included.
type sse struct {
	r *bufio.Reader
	// max bytes of a line and of an event's data.
	max int
	// comment, if set, is told of every comment line and of every event that holds no data (a keep-alive all the same).
	comment func(line []byte)
	// bytes is told what is held of lines and events; nil: nobody.
	bytes *holding

	line    []byte
	data    []byte
	hasData bool
	isError bool // the event field says "error"
	started bool
	afterCR bool
}

// frame is one event: its data, whether its blank line came, and whether it calls itself an error.
type frame struct {
	data       []byte
	terminated bool
	isError    bool
}

// next reads one event. The data is valid until the next call. At the end of the body the error is that of the reader,
// io.EOF or another; an event begun by then comes first, unterminated, if its data is whole JSON: the standard drops
// it, some clients deliver it, and the state in it did arrive (C24).
func (d *sse) next() (frame, error) {
	d.reset()
	for {
		line, err := d.readLine()
		if err != nil {
			d.field(line)
			f := frame{data: d.event(), isError: d.isError}
			if d.hasData && !errors.Is(err, errTooLarge) && !errors.Is(err, errBusy) && json.Valid(f.data) {
				d.data, d.hasData = nil, false
				return f, nil
			}
			return frame{}, err
		}
		if len(line) > 0 {
			if d.field(line); len(d.data) > d.max {
				return frame{}, errTooLarge
			}
			if err := d.count(); err != nil {
				return frame{}, err
			}
			continue
		}
		if data := d.event(); len(data) > 0 {
			return frame{data: data, terminated: true, isError: d.isError}, nil
		}
		if d.hasData {
			d.note(nil)
		}
		d.reset()
	}
}

func (d *sse) reset() {
	if cap(d.data) > freeBytes { // what one large event needed is not for the next ones to keep
		d.data = nil
	}
	d.data, d.hasData, d.isError = d.data[:0], false, false
	_ = d.count() // not more than before
}

// count says what is held to whoever bounds it.
func (d *sse) count() error { return d.bytes.keep(cap(d.line) + cap(d.data)) }

// event is the data so far without the LF that the last data line added.
func (d *sse) event() []byte { return bytes.TrimSuffix(d.data, []byte("\n")) }

func (d *sse) note(line []byte) {
	if d.comment != nil {
		d.comment(line)
	}
}

// field processes one line that is not blank.
func (d *sse) field(line []byte) {
	if len(line) == 0 {
		return
	}
	if line[0] == ':' {
		d.note(line)
		return
	}
	name, val, _ := bytes.Cut(line, []byte(":"))
	val = bytes.TrimPrefix(val, []byte(" "))
	switch string(name) { // id and retry say nothing to a reader who does not come back
	case "data":
		d.data = append(append(d.data, val...), '\n')
		d.hasData = true
	case "event":
		d.isError = string(val) == "error"
	}
}

// readLine reads to the end of a line, which is not part of it. The line is valid until the next call; with an error it
// is what came before it.
func (d *sse) readLine() ([]byte, error) {
	if cap(d.line) > freeBytes {
		d.line = nil
	}
	d.line = d.line[:0]
	for {
		b, err := d.r.ReadByte()
		if err != nil {
			return d.stripBOM(d.line), err
		}
		if d.afterCR {
			if d.afterCR = false; b == '\n' {
				continue
			}
		}
		if b == '\n' || b == '\r' {
			d.afterCR = b == '\r'
			return d.stripBOM(d.line), nil
		}
		d.line = append(d.line, b)
		if rest := d.buffered(d.max + 1 - len(d.line)); len(rest) > 0 {
			d.line = append(d.line, rest...)
			_, _ = d.r.Discard(len(rest))
		}
		if len(d.line) > d.max {
			return nil, errTooLarge
		}
		if err := d.count(); err != nil {
			return nil, err
		}
	}
}

// buffered is what is there already of the line, at most n bytes, so that a line costs a copy and not a call for every
// byte.
func (d *sse) buffered(n int) []byte {
	b, _ := d.r.Peek(min(d.r.Buffered(), n))
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return b[:i]
	}
	return b
}

// stripBOM removes a byte order mark from the very first line.
func (d *sse) stripBOM(line []byte) []byte {
	if d.started {
		return line
	}
	d.started = true
	return trimBOM(line)
}

// openings are what a line of an event stream may begin with.
var openings = []string{":", "data:", "event:", "id:", "retry:"}

// looksLikeSSE tells a body by its first bytes, for peers that name the wrong media type.
func looksLikeSSE(head []byte) bool {
	head = bytes.TrimLeft(trimBOM(head), "\r\n")
	for _, o := range openings {
		if bytes.HasPrefix(head, []byte(o)) {
			return true
		}
	}
	return false
}

// leadsWithSSE does the same for a body that is still coming. It waits for no byte more than it needs to tell.
func leadsWithSSE(in *bufio.Reader) bool {
	for n := 1; n <= 16; n++ {
		head, err := in.Peek(n)
		if looksLikeSSE(head) {
			return true
		}
		if err != nil || !mayBecomeSSE(head) {
			return false
		}
	}
	return false
}

func mayBecomeSSE(head []byte) bool {
	if bytes.HasPrefix(bom, head) {
		return true
	}
	head = bytes.TrimLeft(trimBOM(head), "\r\n")
	for _, o := range openings {
		if bytes.HasPrefix([]byte(o), head) {
			return true
		}
	}
	return false
}

// newSSE decodes r.
func newSSE(r io.Reader, maxEvent int, comment func([]byte)) *sse {
	br, ok := r.(*bufio.Reader)
	if !ok {
		br = bufio.NewReader(r)
	}
	return &sse{r: br, max: maxEvent, comment: comment}
}

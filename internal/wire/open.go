package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// stream asks and opens the answer, whose events are read as they come.
func (c *client) stream(ctx context.Context, a ask, x expect) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.do(ctx, a)
	if err != nil {
		cancel()
		return nil, err
	}
	x.stream = true
	opened := false
	defer func() { // a fault of ours is no reason to keep it open either
		if !opened {
			_ = r.Body.Close()
			cancel()
		}
	}()
	s, err := c.open(ctx, cancel, r, x)
	if err != nil {
		return nil, err
	}
	opened = true
	return s, nil
}

// open turns a reply into a stream, whatever its body turns out to be.
func (c *client) open(ctx context.Context, cancel context.CancelFunc, r *reply, x expect) (*Stream, error) {
	s := &Stream{Status: r.StatusCode, MediaType: mediaType(r.Response), Date: dateOf(r.Response)}
	s.Sent, s.HeaderAt = r.sent, r.headerAt
	s.impl = &stream{events: make(chan Event, eventBuffer), cancel: cancel, finished: make(chan struct{})}
	s.impl.meter = newMeter(r, c.limits.StreamBytes)
	in := bufio.NewReader(newInflated(s.impl.meter))
	read := &reader{stream: s.impl, ctx: ctx, reply: r, in: in, limits: c.limits, expect: x}
	if r.StatusCode >= 300 || s.MediaType != "text/event-stream" {
		whole, err := c.sniff(s, read)
		if err != nil {
			r.record.done("", err)
			return nil, err
		}
		if whole != nil {
			x.stream = false
			if s.Unary, err = c.answer(r, whole, s.impl.meter.at(), x); err != nil {
				return nil, err
			}
			s.impl.finish(r, cancel)
			return s, nil
		}
	}
	go read.run()
	return s, nil
}

// finish ends a stream that has no events because its answer was unary.
func (s *stream) finish(r *reply, cancel context.CancelFunc) {
	s.end, s.endAt = s.meter.end(context.Background(), io.EOF), s.meter.at()
	_ = r.Body.Close()
	cancel()
	close(s.events)
	close(s.finished)
}

// ndjsonTypes are the names that one-envelope-per-line goes by.
var ndjsonTypes = map[string]bool{
	"application/x-ndjson": true, "application/ndjson": true, "application/jsonl": true, "application/x-jsonlines": true,
}

// sniff looks at a body that does not call itself SSE, or comes with a status that says no. It returns the whole body
// if there is one answer in it, nil if it is a stream: SSE under a wrong name, or one envelope per line.
func (c *client) sniff(s *Stream, r *reader) ([]byte, error) {
	if s.Status >= 300 {
		return c.rest(r, nil)
	}
	if ndjsonTypes[s.MediaType] {
		s.NDJSON, r.ndjson, r.firstAt = true, true, s.HeaderAt
		return nil, nil
	}
	if leadsWithSSE(r.in) {
		s.SniffedSSE = true
		return nil, nil
	}
	line, err := firstLine(r.in, int(c.limits.BodyBytes), r.reply.bytes)
	if err != nil && !atEnd(err) {
		return nil, failure(r.ctx, s.Status, err)
	}
	if err == nil && isObjectLine(line) && more(r.in) {
		s.NDJSON, r.ndjson = true, true
		r.first, r.firstAt = line, r.meter.at()
		return nil, nil
	}
	return c.rest(r, line)
}

// rest is the whole body, given its beginning.
func (c *client) rest(r *reader, head []byte) ([]byte, error) {
	tail, err := r.reply.bytes.readAll(io.LimitReader(r.in, c.limits.BodyBytes+1-int64(len(head))), 0, cap(head))
	if err == nil && int64(len(head)+len(tail)) > c.limits.BodyBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, failure(r.ctx, r.reply.StatusCode, err)
	}
	return append(append([]byte{}, head...), tail...), nil
}

// firstLine reads to the end of the first line that is not blank, its end included.
func firstLine(in *bufio.Reader, limit int, h *holding) ([]byte, error) {
	for {
		line, err := readLine(in, limit, h)
		if err != nil || len(bytes.TrimSpace(trimBOM(line))) > 0 {
			return line, err
		}
	}
}

func isObjectLine(line []byte) bool {
	line = bytes.TrimSpace(trimBOM(line))
	return len(line) > 0 && line[0] == '{' && json.Valid(line)
}

// more tells whether another object follows; it waits for the next byte that is not space.
func more(in *bufio.Reader) bool {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return false
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			_ = in.UnreadByte()
			return b == '{'
		}
	}
}

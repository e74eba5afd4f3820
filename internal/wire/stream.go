package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Stream is an open answer to a streaming call. Read Events until it closes, then ask End. It must be closed, or its
// context ended, unless it was read to its end.
type Stream struct {
	// Status and MediaType of the answer; Date of its header.
	Status    int
	MediaType string
	Date      time.Time
	// Sent is when the request was sent, by our clock: the zero of every At.
	Sent time.Time
	// HeaderAt is when the headers arrived, since the request was sent.
	HeaderAt time.Duration
	// Unary is set when the answer is not SSE by media type nor by content: the whole body, read as a unary answer.
	// There are no events then.
	Unary *Answer
	// SniffedSSE: the media type is wrong, the body is SSE all the same (C19 for one-JSON-per-line bodies: see NDJSON).
	SniffedSSE bool
	// NDJSON: one envelope per line, without SSE's framing. The events are delivered all the same.
	NDJSON bool
	impl   *stream
}

// eventBuffer is how many events wait for a slow reader before we stop reading from the peer.
const eventBuffer = 64

type stream struct {
	events   chan Event
	cancel   context.CancelFunc
	finished chan struct{}
	meter    *meter
	comments atomic.Int64
	end      End
	endAt    time.Duration
}

// Events yields events as they arrive; it is closed when the body ends. Bounded; nothing is lost while nobody reads,
// until the context ends.
func (s *Stream) Events() <-chan Event { return s.impl.events }

// End says how the body ended; valid once Events is closed (before that it waits). EndAt is when, since the request was
// sent.
func (s *Stream) End() End {
	<-s.impl.finished
	return s.impl.end
}

// EndAt is when the body ended, since the request was sent; valid as End is.
func (s *Stream) EndAt() time.Duration {
	<-s.impl.finished
	return s.impl.endAt
}

// Activity is when the last byte of any kind came, comments included; before the first byte it is HeaderAt.
func (s *Stream) Activity() time.Duration { return s.impl.meter.at() }

// Comments is how many comment lines came, and events without data, which serve the same end (C20).
func (s *Stream) Comments() int { return int(s.impl.comments.Load()) }

// Close ends it from our side and waits until nothing of it is left. It may be called more than once.
func (s *Stream) Close() {
	s.impl.cancel()
	<-s.impl.finished
}

// reader is what the goroutine of a stream works with.
type reader struct {
	*stream
	ctx    context.Context
	reply  *reply
	in     *bufio.Reader
	limits Limits
	expect expect
	count  int
	// ndjson selects one envelope per line; first is the line that told us so, read at firstAt.
	ndjson  bool
	first   []byte
	firstAt time.Duration
	// follow, if set, reads what is neither SSE nor lines.
	follow func() error
}

// run reads to the end of the body. It is the only writer of what End and EndAt say. What a peer sends is read here with nobody above, so
// that a fault of ours would end the process: it ends the stream instead, and makes evidence of nothing.
func (r *reader) run() {
	defer close(r.finished)
	defer close(r.events)
	defer r.cancel()
	defer func() { _ = r.reply.Body.Close() }()
	defer func() {
		if recover() != nil {
			r.end, r.endAt = EndMalformed, time.Since(r.reply.sent)
		}
	}()
	r.reply.bytes.hurry()
	var err error
	switch {
	case r.follow != nil:
		err = r.follow()
	case r.ndjson:
		err = r.lines()
	default:
		err = r.frames()
	}
	r.end, r.endAt = r.meter.end(r.ctx, err), time.Since(r.reply.sent)
	if r.end == EndOrderly || r.end == EndCloseDelimited {
		err = nil
	}
	r.reply.record.done(r.end, err)
}

func (r *reader) frames() error {
	d := newSSE(r.in, r.limits.EventBytes, func(line []byte) {
		r.comments.Add(1)
		r.reply.record.frame(r.meter.at(), line)
	})
	d.bytes = r.reply.bytes
	for {
		f, err := d.next()
		if err != nil {
			return err
		}
		if err := r.deliver(f, r.meter.at()); err != nil {
			return err
		}
	}
}

func (r *reader) lines() error {
	at := r.firstAt
	line := r.first
	for {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := r.deliver(frame{data: line, terminated: true}, at); err != nil {
				return err
			}
		}
		var err error
		if line, err = readLine(r.in, r.limits.EventBytes, r.reply.bytes); err != nil && len(line) == 0 {
			return err
		}
		at = r.meter.at()
	}
}

// deliver reads a frame and hands its event over, or says why there are no more.
func (r *reader) deliver(f frame, at time.Duration) error {
	r.reply.record.frame(at, f.data)
	if deeper(f.data, r.limits.JSONDepth) {
		return errDeep
	}
	e := f.read(r.expect)
	if e.Has(ProblemDoubled) {
		return errDoubled
	}
	e.At = at
	return r.hand(e)
}

// hand hands one event over, or says why there are no more.
func (r *reader) hand(e Event) error {
	r.reply.heed(e)
	r.reply.identify(&e, r.expect.identity)
	if r.count++; r.count > r.limits.Events {
		return errTooLarge
	}
	r.reply.bytes.queue(len(r.events), e)
	select { // an event that is here is delivered even if the context has just ended
	case r.events <- e:
		return nil
	default:
	}
	select {
	case r.events <- e:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// read turns a frame into an event.
func (f frame) read(x expect) Event {
	e := readEvent(f.data, x)
	if f.isError && e.Kind == KindOther {
		e.Kind, e.Err = KindError, &RPCError{}
		if x.rest && !e.Has(ProblemDoubled) {
			e.Problems = nil // its errors have many forms, and this event says that it is one
		}
		if root, ok := parse(f.data); ok {
			e.Err = x.readError(root)
		}
	}
	if !f.terminated {
		e.note(ProblemUnterminated)
	}
	return e
}

// readLine reads a line of at most limit bytes, without its end. At the end of the body it returns what is left, and
// the error again when called once more.
func readLine(in *bufio.Reader, limit int, h *holding) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > limit {
			return nil, errTooLarge
		}
		if busy := h.keep(cap(line)); busy != nil {
			return nil, busy
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

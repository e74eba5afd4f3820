package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// readGRPC reads the one answer of a unary call.
func (c *client) readGRPC(ctx context.Context, cancel context.CancelCauseFunc, r *reply, m grpcMethod, x expect) (*Answer, error) {
	meter := newMeter(r, c.limits.BodyBytes)
	defer meter.urge(c.limits.ofAnswer(), cancel)()
	message, err := whole(newGRPCFrames(r, meter, c.limits.BodyBytes))
	a, err := c.understandGRPC(ctx, r, m, x, message, err)
	r.record.trailer(r.Trailer)
	r.record.done("", err)
	if err != nil {
		return nil, err
	}
	a.At = meter.at()
	r.identify(&a.Event, x.identity)
	a.Status, a.MediaType, a.Date, a.Sent = r.StatusCode, mediaType(r.Response), dateOf(r.Response), r.sent
	return a, nil
}

// whole reads a call to its end and returns its first message, nil if there is none. More than one is none of ours.
func whole(f *grpcFrames) (first []byte, err error) {
	for n := 0; ; n++ {
		b, err := f.next()
		switch {
		case atEnd(err):
			return first, nil
		case err != nil:
			return nil, err
		case n > 0:
			return nil, errFraming
		}
		if first = b; first == nil {
			first = []byte{}
		}
	}
}

// understandGRPC decides what the end of a unary call means.
func (c *client) understandGRPC(ctx context.Context, r *reply, m grpcMethod, x expect, message []byte, err error) (*Answer, error) {
	if err != nil {
		return nil, grpcFailure(ctx, err)
	}
	s, ok := r.grpcStatus()
	switch {
	case !ok:
		return nil, grpcFailure(ctx, errNoStatus)
	case s.code != 0:
		fault := s.rpcError(m.purpose)
		if fault == nil {
			return nil, s.failure()
		}
		return &Answer{Event: Event{Kind: KindError, Err: fault, History: -1}, RetryAfter: s.retry}, nil
	case message == nil:
		return nil, &Error{Class: ClassMalformed, Err: errFraming}
	}
	e, text := readMessage(message, m, x)
	r.record.body(text)
	if e.Has(ProblemMalformed) {
		return nil, &Error{Class: ClassMalformed, Err: errNoProto}
	}
	return &Answer{Event: e}, nil
}

// grpcFailure wraps what went wrong while reading a call. No HTTP status is named: it says nothing here.
func grpcFailure(ctx context.Context, err error) *Error {
	if errors.Is(err, errFraming) {
		return &Error{Class: ClassMalformed, Err: err}
	}
	return failure(ctx, 0, err)
}

// openGRPC turns a reply into a stream. A call that failed before its first message either failed below the protocol, and
// then there is no stream, or is a stream whose only event is the error: servers differ in when they send the headers, so
// a refusal before the stream and one in it are the same.
func (c *client) openGRPC(ctx context.Context, cancel context.CancelFunc, r *reply, m grpcMethod, x expect) (*Stream, error) {
	if s, ok := r.grpcStatus(); ok && s.code != 0 && s.rpcError(m.purpose) == nil {
		fail := s.failure()
		r.record.done("", fail)
		return nil, fail
	}
	s := &Stream{Status: r.StatusCode, MediaType: mediaType(r.Response), Date: dateOf(r.Response)}
	s.Sent, s.HeaderAt = r.sent, r.headerAt
	s.impl = &stream{events: make(chan Event, eventBuffer), cancel: cancel, finished: make(chan struct{})}
	s.impl.meter = newMeter(r, c.limits.StreamBytes)
	frames := newGRPCFrames(r, s.impl.meter, int64(c.limits.EventBytes))
	read := &reader{stream: s.impl, ctx: ctx, reply: r, in: bufio.NewReader(nil), limits: c.limits, expect: x}
	read.follow = func() error { return read.messages(frames, m) }
	go read.run()
	return s, nil
}

// messages delivers the messages of a call and the error that it ends with. io.EOF is an end in order, a status included;
// errors that say the way to the peer broke are not.
func (r *reader) messages(f *grpcFrames, m grpcMethod) error {
	for {
		b, err := f.next()
		if atEnd(err) {
			return r.conclude(m)
		}
		if err != nil {
			return err
		}
		e, text := readMessage(b, m, r.expect)
		if e.Has(ProblemTooDeep) {
			return errDeep
		}
		e.At = r.meter.at()
		r.reply.record.frame(e.At, text)
		if err := r.hand(e); err != nil {
			return err
		}
	}
}

// conclude reads the status. What proxies say when a connection broke behind them (UNAVAILABLE and its like) is no word of
// the peer, so the stream counts as cut, unless it is about credentials.
func (r *reader) conclude(m grpcMethod) error {
	r.reply.record.trailer(r.reply.Trailer)
	s, ok := r.reply.grpcStatus()
	switch {
	case !ok:
		return errNoStatus
	case s.code == 0:
		return io.EOF
	}
	fault := s.rpcError(m.purpose)
	if fault == nil {
		if fault = s.barred(); fault == nil {
			return s.failure()
		}
	}
	if err := r.hand(Event{Kind: KindError, Err: fault, History: -1, At: r.meter.at()}); err != nil {
		return err
	}
	return io.EOF
}

package wire

import (
	"bytes"
	"context"
	"time"
)

// unary asks and reads the whole answer as one.
func (c *client) unary(ctx context.Context, a ask, x expect) (*Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := c.do(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := c.readAll(ctx, cancel, r, c.limits.BodyBytes, c.limits.ofAnswer())
	at := time.Since(r.sent)
	if err != nil {
		r.record.done("", err)
		return nil, err
	}
	return c.answer(r, body, at, x)
}

// answer turns a whole body into an Answer, or says that it is none.
func (c *client) answer(r *reply, body []byte, at time.Duration, x expect) (*Answer, error) {
	r.record.body(body)
	e, err := c.understand(r, body, x)
	r.record.done("", err)
	if err != nil {
		return nil, err
	}
	e.At = at
	r.heed(e)
	r.identify(&e, x.identity)
	return &Answer{
		Event: e, Status: r.StatusCode, MediaType: mediaType(r.Response), Date: dateOf(r.Response), Sent: r.sent,
		RetryAfter: retryAfter(r.Response, time.Now()),
	}, nil
}

// heed an error of the protocol that says what 401 says, under whatever status.
func (r *reply) heed(e Event) {
	if e.Err != nil && e.Err.Code == codeUnauthenticated {
		r.unauthenticated()
	}
}

// understand decides what a whole body is. Where the status is not one of success, only what is clearly this protocol's
// counts.
func (c *client) understand(r *reply, body []byte, x expect) (Event, error) {
	f := &Error{Status: r.StatusCode, RetryAfter: retryAfter(r.Response, time.Now())}
	framed := looksLikeSSE(body)
	if framed {
		body = c.bestFrame(body, x)
	}
	success := r.StatusCode >= 200 && r.StatusCode < 300
	if deeper(body, c.limits.JSONDepth) {
		f.Class, f.Err = ClassMalformed, errDeep
		return Event{}, f
	}
	switch {
	case !success && x.rest:
		e, ok := readRefusal(body, r.StatusCode, x)
		if ok && !value(bytes.TrimSpace(trimBOM(body))).doubled() {
			return e, nil
		}
		if f.Class = ClassStatus; routeMissing(r.StatusCode) {
			f.Class = ClassRoute
		}
		return Event{}, f
	case success && x.wants == wantsAnything && len(bytes.TrimSpace(body)) == 0:
		return Event{Kind: KindOther, History: -1}, nil
	case !success && !isProtocol(body):
		f.Class = ClassStatus
		return Event{}, f
	case !success || isJSON(body):
		e := readEvent(body, x)
		if e.Has(ProblemMalformed) || e.Has(ProblemDoubled) {
			f.Class = ClassMalformed
			return Event{}, f
		}
		if framed {
			e.note(ProblemShape)
		}
		return e, nil
	case mediaTypeIsOurs(mediaType(r.Response)):
		f.Class = ClassMalformed
	default:
		f.Class = ClassMediaType
	}
	return Event{}, f
}

func isJSON(body []byte) bool {
	_, ok := parse(body)
	return ok
}

// mediaTypeIsOurs: JSON, SSE, or no media type at all. text/plain is ours because all a2a-go 0.3 servers send it (wire
// reference 12.6).
func mediaTypeIsOurs(t string) bool {
	switch t {
	case "", "application/json", "application/a2a+json", "text/event-stream", "text/plain":
		return true
	}
	return false
}

// bestFrame picks, of an SSE body where one answer was asked for, the last frame that holds an answer: the others led
// up to it.
func (c *client) bestFrame(body []byte, x expect) (best []byte) {
	d := newSSE(bytes.NewReader(body), c.limits.EventBytes, nil)
	for {
		f, err := d.next()
		if err != nil {
			return best
		}
		switch e := readEvent(f.data, x); e.Kind {
		case KindTask, KindMessage, KindError:
			best = bytes.Clone(f.data)
		case KindStatus, KindArtifact, KindOther:
			if best == nil {
				best = bytes.Clone(f.data)
			}
		}
	}
}

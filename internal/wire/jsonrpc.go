package wire

import (
	"context"
	"fmt"
	"net/http"
)

// JSONRPC is the JSON-RPC binding of one interface, in the dialect of its generation.
type JSONRPC struct {
	Client   *Client
	Endpoint Endpoint
}

// Send is SendMessage, message/send or tasks/send. err is an *Error: nothing of the protocol came back. A JSON-RPC
// error, whatever the HTTP status, is an Answer of kind KindError.
func (j *JSONRPC) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	e := j.endpoint()
	return j.unary(ctx, question{method: e.dialect().send, params: e.sendParams(m, cfg)})
}

// SendStream is SendStreamingMessage, message/stream or tasks/sendSubscribe. It returns when the headers are there, or,
// where the media type is not that of SSE, when enough of the body has come to tell what it is. Some servers send no
// header before the first event, so bound the wait by the context or in another goroutine. The context covers the whole
// stream.
func (j *JSONRPC) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	e := j.endpoint()
	return j.stream(ctx, question{method: e.dialect().stream, params: e.sendParams(m, cfg)})
}

// GetTask asks for a task. Both the bare Task and the wrapped one are read, whatever the generation.
func (j *JSONRPC) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	e := j.endpoint()
	q := question{method: e.dialect().get, params: e.taskParams(id, historyLength), bare: true, repeatable: true}
	return j.unary(ctx, q)
}

// CancelTask asks to cancel a task. It is never sent twice: the second answer would hide the first.
func (j *JSONRPC) CancelTask(ctx context.Context, id string) (*Answer, error) {
	e := j.endpoint()
	return j.unary(ctx, question{method: e.dialect().cancel, params: e.taskParams(id, nil), bare: true})
}

// Resubscribe is SubscribeToTask or tasks/resubscribe.
func (j *JSONRPC) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	e := j.endpoint()
	return j.stream(ctx, question{method: e.dialect().resubscribe, params: e.taskParams(id, nil)})
}

// Ping asks the send method with empty params, which no server can carry out: -32601 says that it does not know this
// generation's methods (wire reference 1).
func (j *JSONRPC) Ping(ctx context.Context) (*Answer, error) {
	e := j.endpoint()
	p := object{}
	if e.Generation == V10 {
		p = e.withTenant(p)
	}
	return j.unary(ctx, question{method: e.dialect().send, params: p, repeatable: true})
}

// question is one call and what to make of its answer.
type question struct {
	method string
	params object
	// bare: the result is a task without a wrapper in every generation.
	bare bool
	// repeatable: asked twice it does no harm.
	repeatable bool
}

// endpoint is the one we ask; a generation that nobody named is taken for the newest, in every respect.
func (j *JSONRPC) endpoint() Endpoint {
	e := j.Endpoint
	if _, ok := dialects[e.Generation]; !ok {
		e.Generation = V10
	}
	return e
}

// post sends a call. accept is the media type asked for.
func (j *JSONRPC) post(ctx context.Context, q question, accept string) (expect, *reply, error) {
	e := j.endpoint()
	c, err := newCall(q.method, q.params)
	if err != nil {
		return expect{}, nil, &Error{Class: ClassMalformed, Err: fmt.Errorf("writing the request: %w", err)}
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
	if v := e.version(); v != "" {
		h.Set("A2A-Version", v)
	}
	a := ask{method: http.MethodPost, url: e.URL, header: h, body: c.body, repeatable: q.repeatable}
	r, err := j.Client.impl.do(ctx, a)
	return expect{generation: e.Generation, id: c.id, bare: q.bare}, r, err
}

func (j *JSONRPC) unary(ctx context.Context, q question) (*Answer, error) {
	x, r, err := j.post(ctx, q, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	return j.Client.impl.readUnary(ctx, r, x)
}

func (j *JSONRPC) stream(ctx context.Context, q question) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	x, r, err := j.post(ctx, q, "text/event-stream")
	if err != nil {
		cancel()
		return nil, err
	}
	x.stream = true
	s, err := j.Client.impl.open(ctx, cancel, r, x)
	if err != nil {
		_ = r.Body.Close()
		cancel()
		return nil, err
	}
	return s, nil
}

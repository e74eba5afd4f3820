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

// Send is SendMessage, message/send or tasks/send. err is an *Error: nothing of the protocol came back. A JSON-RPC error, whatever
// the HTTP status, is an Answer of kind KindError.
func (j *JSONRPC) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	return j.unary(ctx, j.Endpoint.dialect().send, j.Endpoint.sendParams(m, cfg), false)
}

// SendStream is SendStreamingMessage, message/stream or tasks/sendSubscribe. It returns when the headers are there, or, where the
// media type is not that of SSE, when enough of the body has come to tell what it is. Some servers send no header before the first
// event, so bound the wait by the context or in another goroutine. The context covers the whole stream.
func (j *JSONRPC) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	return j.stream(ctx, j.Endpoint.dialect().stream, j.Endpoint.sendParams(m, cfg))
}

// GetTask asks for a task. Both the bare Task and the wrapped one are read, whatever the generation.
func (j *JSONRPC) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	return j.unary(ctx, j.Endpoint.dialect().get, j.Endpoint.taskParams(id, historyLength), true)
}

// CancelTask asks to cancel a task.
func (j *JSONRPC) CancelTask(ctx context.Context, id string) (*Answer, error) {
	return j.unary(ctx, j.Endpoint.dialect().cancel, j.Endpoint.taskParams(id, nil), true)
}

// Resubscribe is SubscribeToTask or tasks/resubscribe.
func (j *JSONRPC) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	return j.stream(ctx, j.Endpoint.dialect().resubscribe, j.Endpoint.taskParams(id, nil))
}

// Ping asks the send method with empty params, which no server can carry out: -32601 says that it does not know this
// generation's methods (wire reference 1).
func (j *JSONRPC) Ping(ctx context.Context) (*Answer, error) {
	p := object{}
	if j.Endpoint.Generation == V10 {
		p = j.Endpoint.withTenant(p)
	}
	return j.unary(ctx, j.Endpoint.dialect().send, p, false)
}

// post sends a call. accept is the media type asked for.
func (j *JSONRPC) post(ctx context.Context, method string, params object, accept string) (call, *reply, error) {
	c, err := newCall(method, params)
	if err != nil {
		return c, nil, &Error{Class: ClassMalformed, Err: fmt.Errorf("writing the request: %w", err)}
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
	if v := j.Endpoint.version(); v != "" {
		h.Set("A2A-Version", v)
	}
	r, err := j.Client.impl.do(ctx, ask{method: http.MethodPost, url: j.Endpoint.URL, header: h, body: c.body})
	return c, r, err
}

func (j *JSONRPC) unary(ctx context.Context, method string, params object, bare bool) (*Answer, error) {
	c, r, err := j.post(ctx, method, params, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	x := expect{generation: j.Endpoint.Generation, id: c.id, bare: bare}
	return j.Client.impl.readUnary(ctx, r, x)
}

func (j *JSONRPC) stream(ctx context.Context, method string, params object) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	c, r, err := j.post(ctx, method, params, "text/event-stream")
	if err != nil {
		cancel()
		return nil, err
	}
	x := expect{generation: j.Endpoint.Generation, id: c.id, stream: true}
	s, err := j.Client.impl.open(ctx, cancel, r, x)
	if err != nil {
		_ = r.Body.Close()
		cancel()
		return nil, err
	}
	return s, nil
}

package wire

import (
	"context"
	"fmt"
	"net/http"
)

// jsonRPC is the JSON-RPC binding of one interface, in the dialect of its generation.
type jsonRPC struct {
	client *Client
	at     Endpoint
}

func (j *jsonRPC) Endpoint() Endpoint { return j.at }

func (j *jsonRPC) Fresh() Peer { return &jsonRPC{client: j.client.Fresh(), at: j.at} }

func (j *jsonRPC) Close() { j.client.Close() }

func (j *jsonRPC) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	e := j.endpoint()
	return j.unary(ctx, question{method: e.dialect().send, params: e.sendParams(m, cfg)})
}

func (j *jsonRPC) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	e := j.endpoint()
	return j.stream(ctx, question{method: e.dialect().stream, params: e.sendParams(m, cfg)})
}

func (j *jsonRPC) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	e := j.endpoint()
	q := question{method: e.dialect().get, params: e.taskParams(id, historyLength), bare: true, repeatable: true}
	return j.unary(ctx, q)
}

func (j *jsonRPC) CancelTask(ctx context.Context, id string) (*Answer, error) {
	e := j.endpoint()
	return j.unary(ctx, question{method: e.dialect().cancel, params: e.taskParams(id, nil), bare: true})
}

func (j *jsonRPC) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	e := j.endpoint()
	return j.stream(ctx, question{method: e.dialect().resubscribe, params: e.taskParams(id, nil)})
}

func (j *jsonRPC) Ping(ctx context.Context) (*Answer, error) {
	e := j.endpoint()
	p := object{}
	if e.Generation == V10 {
		p = e.withTenant(p)
	}
	return j.unary(ctx, question{method: e.dialect().send, params: p, repeatable: true})
}

func (j *jsonRPC) SetPushConfig(ctx context.Context, taskID string, p PushConfig) (*Answer, error) {
	e := j.endpoint()
	return j.unary(ctx, question{method: e.dialect().pushSet, params: e.pushSetParams(taskID, p), wants: wantsConfig})
}

func (j *jsonRPC) DeletePushConfig(ctx context.Context, taskID, configID string) (*Answer, error) {
	e := j.endpoint()
	m := e.dialect().pushDelete
	if m == "" {
		return nil, ErrNoSuchMethod
	}
	return j.unary(ctx, question{method: m, params: e.pushNamed(taskID, configID), wants: wantsAnything})
}

func (j *jsonRPC) ExtendedCard(ctx context.Context) (*Answer, error) {
	e := j.endpoint()
	m := e.dialect().extendedCard
	if m == "" {
		return nil, ErrNoSuchMethod
	}
	p := object{}
	if e.Generation == V10 {
		p = e.withTenant(p)
	}
	return j.unary(ctx, question{method: m, params: p, wants: wantsCard, repeatable: true})
}

// question is one call and what to make of its answer.
type question struct {
	method string
	params object
	// bare: the result is a task without a wrapper in every generation.
	bare bool
	// wants says what the result is, where it is no event.
	wants wanted
	// repeatable: asked twice it does no harm.
	repeatable bool
}

// endpoint is the one we ask; a generation that nobody named is taken for the newest, in every respect.
func (j *jsonRPC) endpoint() Endpoint {
	e := j.at
	if _, ok := dialects[e.Generation]; !ok {
		e.Generation = V10
	}
	return e
}

// post sends a call. accept is the media type asked for.
func (j *jsonRPC) post(ctx context.Context, q question, accept string) (expect, *reply, error) {
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
	r, err := j.client.impl.do(ctx, a)
	return expect{generation: e.Generation, id: c.id, bare: q.bare, wants: q.wants}, r, err
}

func (j *jsonRPC) unary(ctx context.Context, q question) (*Answer, error) {
	x, r, err := j.post(ctx, q, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	return j.client.impl.readUnary(ctx, r, x)
}

func (j *jsonRPC) stream(ctx context.Context, q question) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	x, r, err := j.post(ctx, q, "text/event-stream")
	if err != nil {
		cancel()
		return nil, err
	}
	x.stream = true
	s, err := j.client.impl.open(ctx, cancel, r, x)
	if err != nil {
		_ = r.Body.Close()
		cancel()
		return nil, err
	}
	return s, nil
}

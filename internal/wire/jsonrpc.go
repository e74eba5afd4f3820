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

// endpoint is the one we ask.
func (j *jsonRPC) endpoint() Endpoint { return j.at.known() }

// ask is the request of a call, and what its answer should look like. accept is the media type asked for.
func (j *jsonRPC) ask(q question, accept string) (ask, expect, error) {
	e := j.endpoint()
	c, err := newCall(q.method, q.params)
	if err != nil {
		return ask{}, expect{}, &Error{Class: ClassMalformed, Err: fmt.Errorf("writing the request: %w", err)}
	}
	a := ask{method: http.MethodPost, url: e.URL, header: e.header(accept), body: c.body, repeatable: q.repeatable}
	a.header.Set("Content-Type", "application/json")
	return a, expect{generation: e.Generation, id: c.id, bare: q.bare, wants: q.wants, identity: e.Identity}, nil
}

func (j *jsonRPC) unary(ctx context.Context, q question) (*Answer, error) {
	a, x, err := j.ask(q, "application/json")
	if err != nil {
		return nil, err
	}
	return j.client.impl.unary(ctx, a, x)
}

func (j *jsonRPC) stream(ctx context.Context, q question) (*Stream, error) {
	a, x, err := j.ask(q, "text/event-stream")
	if err != nil {
		return nil, err
	}
	return j.client.impl.stream(ctx, a, x)
}

package wire

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// grpcBinding is the gRPC binding of one interface: lf.a2a.v1 for 1.0, a2a.v1 for 0.3 and 0.2, by the messages and method names
// that the SDKs generate. The calls themselves are HTTP/2 requests of our own client, so that guard, credentials, limits,
// trace and the ways in which things end are those of the other bindings (docs/decisions/wire-grpc.md).
type grpcBinding struct {
	client *Client
	at     Endpoint
}

func (g *grpcBinding) Endpoint() Endpoint { return g.at }

func (g *grpcBinding) Fresh() Peer { return &grpcBinding{client: g.client.Fresh(), at: g.at} }

func (g *grpcBinding) Close() { g.client.Close() }

func (g *grpcBinding) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.send, d.sendRequest(g.endpoint(), m, cfg))
}

func (g *grpcBinding) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	d := g.dialect()
	return g.stream(ctx, d.stream, d.sendRequest(g.endpoint(), m, cfg))
}

func (g *grpcBinding) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.get, d.getRequest(g.endpoint(), id, historyLength))
}

func (g *grpcBinding) CancelTask(ctx context.Context, id string) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.cancel, d.cancelRequest(g.endpoint(), id))
}

func (g *grpcBinding) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	d := g.dialect()
	return g.stream(ctx, d.resubscribe, d.resubscribeRequest(g.endpoint(), id))
}

func (g *grpcBinding) Ping(ctx context.Context) (*Answer, error) {
	d := g.dialect()
	m := d.send
	m.repeatable = true
	return g.unary(ctx, m, d.emptyRequest(g.endpoint()))
}

func (g *grpcBinding) SetPushConfig(ctx context.Context, taskID string, p PushConfig) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.pushSet, d.pushSetRequest(g.endpoint(), taskID, p))
}

func (g *grpcBinding) DeletePushConfig(ctx context.Context, taskID, configID string) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.pushDelete, d.pushDeleteRequest(g.endpoint(), taskID, configID))
}

func (g *grpcBinding) ExtendedCard(ctx context.Context) (*Answer, error) {
	d := g.dialect()
	return g.unary(ctx, d.extendedCard, d.cardRequest(g.endpoint()))
}

func (g *grpcBinding) endpoint() Endpoint { return g.at.known() }

// dialect of the endpoint's generation; one without methods for 0.1, which has no gRPC.
func (g *grpcBinding) dialect() *grpcDialect {
	switch g.endpoint().Generation {
	case V10:
		return &grpc10
	case V01:
		return &grpcNone
	}
	return &grpc03
}

// grpcRequest is a message of the generation and how it failed to become one, which only a Part or Metadata that is no JSON
// can bring about.
type grpcRequest struct {
	proto.Message
	err error
}

// ask makes the HTTP request of a call.
func (g *grpcBinding) ask(m grpcMethod, q grpcRequest) (ask, error) {
	if m.path == "" {
		return ask{}, ErrNoSuchMethod
	}
	if q.err != nil {
		return ask{}, &Error{Class: ClassMalformed, Err: fmt.Errorf("writing the request: %w", q.err)}
	}
	return newGRPCAsk(g.endpoint(), m, q.Message)
}

func (g *grpcBinding) unary(ctx context.Context, m grpcMethod, q grpcRequest) (*Answer, error) {
	a, err := g.ask(m, q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := g.client.impl.call(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	return g.client.impl.readGRPC(ctx, cancel, r, m, m.expect(g.endpoint()))
}

func (g *grpcBinding) stream(ctx context.Context, m grpcMethod, q grpcRequest) (*Stream, error) {
	a, err := g.ask(m, q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r, err := g.client.impl.call(ctx, a)
	if err != nil {
		cancel()
		return nil, err
	}
	x := m.expect(g.endpoint())
	x.stream = true
	s, err := g.client.impl.openGRPC(ctx, cancel, r, m, x)
	if err != nil {
		_ = r.Body.Close()
		cancel()
		return nil, err
	}
	return s, nil
}

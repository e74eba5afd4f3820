package wire

import (
	"context"
	"errors"
	"fmt"
)

// Binding is how exchanges are carried. The names are those of the cards.
type Binding string

// The bindings.
const (
	BindingJSONRPC  Binding = "JSONRPC"
	BindingHTTPJSON Binding = "HTTP+JSON"
	BindingGRPC     Binding = "GRPC"
)

// ErrNoSuchMethod says that a generation and binding have no such method, so nothing was asked.
var ErrNoSuchMethod = errors.New("asking the peer: its generation and binding have no such method")

// Peer is one interface of a peer, in the dialect of its generation and carried by its binding. Every binding answers
// in the same terms, so that who asks need not know which one it is:
//
//   - err is an *Error where nothing of the protocol came back.
//   - An error of the protocol is an Answer or Event of kind KindError, with the JSON-RPC code of the same meaning
//     (wire reference 5) whatever carried it. Where the binding leaves the meaning open, the code is the one that
//     accuses least.
//   - A stream's end is told as far as the binding knows it.
//
// Safe for concurrent use.
type Peer interface {
	// Endpoint is the one that is asked; a generation that nobody named is taken for the newest.
	Endpoint() Endpoint
	// Send is SendMessage, message/send or tasks/send.
	Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error)
	// SendStream is SendStreamingMessage, message/stream or tasks/sendSubscribe. It returns when the headers are there,
	// or, where the media type is not that of a stream, when enough of the body has come to tell what it is. Some
	// servers send no header before the first event, so bound the wait by the context or in another goroutine. The
	// context covers the whole stream.
	SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error)
	// GetTask asks for a task; historyLength nil leaves the choice to the peer. Both the bare Task and the wrapped one
	// are read, whatever the generation.
	GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error)
	// CancelTask asks to cancel a task. It is never sent twice: the second answer would hide the first.
	CancelTask(ctx context.Context, id string) (*Answer, error)
	// Resubscribe is SubscribeToTask or tasks/resubscribe.
	Resubscribe(ctx context.Context, id string) (*Stream, error)
	// Ping asks the send method for nothing, which no server can carry out: code -32601 says that it does not know this
	// generation's methods (wire reference 1).
	Ping(ctx context.Context) (*Answer, error)
	// SetPushConfig registers a webhook for a task: CreateTaskPushNotificationConfig, tasks/pushNotificationConfig/set
	// or tasks/pushNotification/set. Answer.Kind is KindConfig where the peer accepted, and ConfigID what it named it.
	SetPushConfig(ctx context.Context, taskID string, p PushConfig) (*Answer, error)
	// DeletePushConfig takes a webhook back. ErrNoSuchMethod in 0.1.
	DeletePushConfig(ctx context.Context, taskID, configID string) (*Answer, error)
	// ExtendedCard is GetExtendedAgentCard or agent/getAuthenticatedExtendedCard. Answer.Kind is KindCard where a JSON
	// object came back, and Card its bytes. ErrNoSuchMethod in 0.1 and, by JSON-RPC, in 0.2, which has a GET for it.
	ExtendedCard(ctx context.Context) (*Answer, error)
	// Fresh is the same interface on connections of its own. Close it when done.
	Fresh() Peer
	// Close drops idle connections at once, and a moment later those of streams that are still open.
	Close()
}

// PushConfig is a webhook that a peer should call as a task moves on.
type PushConfig struct {
	// ID of the config, made by the peer if empty.
	ID string
	// URL to call.
	URL string
	// Token that the peer should send back, in a header whose name no generation fixed (wire reference 7.4).
	Token string
	// Scheme and Credentials that the peer should send as Authorization, such as Bearer; empty: none.
	Scheme, Credentials string
}

// Open speaks to an interface by one of the bindings. It opens no connection yet, and fails on a binding that is none of
// ours. Peers of one client share its connections; closing one drops the idle ones of all.
func Open(c *Client, b Binding, e Endpoint) (Peer, error) {
	switch b {
	case BindingJSONRPC, "":
		return &jsonRPC{client: c, at: e}, nil
	case BindingHTTPJSON:
		return &rest{client: c, at: e}, nil
	case BindingGRPC:
		return &grpcBinding{client: c, at: e}, nil
	}
	return nil, fmt.Errorf("opening an interface: binding %q is not spoken here", b)
}

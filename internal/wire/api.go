package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Generation of the protocol that an interface speaks.
type Generation string

// The generations on the wire. V02 covers 0.2.x, which speaks 0.3's JSON-RPC.
const (
	V01 Generation = "0.1"
	V02 Generation = "0.2"
	V03 Generation = "0.3"
	V10 Generation = "1.0"
)

// Limits bound everything that a peer can send. Zero fields take DefaultLimits.
type Limits struct {
	CardBytes   int64 // 1 MiB, after inflation
	BodyBytes   int64 // unary answer, 4 MiB
	EventBytes  int   // one SSE event, 1 MiB
	StreamBytes int64 // one stream in all, 16 MiB
	Events      int   // events of one stream, 10,000
	HeaderBytes int64 // 64 KiB
}

// Credentials are sent to the origins named here and to nobody else.
type Credentials struct {
	// Header and Value of the one header, such as Authorization and "Bearer ...". Empty Header: none.
	Header string
	Value  string
	// Origins (scheme://host:port) that may receive it.
	Origins []string
}

// Options of a Client.
type Options struct {
	// Allow lists address ranges that may be dialled although they are private or loopback. Link-local and cloud
	// metadata addresses stay refused unless a range names them exactly.
	Allow []netip.Prefix
	// AllowHosts are host:port pairs that may be dialled whatever their address (a serviceRef, or what the user of the CLI typed).
	AllowHosts  []string
	Credentials Credentials
	UserAgent   string
	Limits      Limits
	// RootCAs in PEM, added to the system's; nil: system only.
	RootCAs []byte
	// Trace, if set, is told of every exchange. It may be called from several goroutines.
	Trace func(Exchange)
}

// Client talks to one peer. Safe for concurrent use; Close when the round is over.
type Client struct{ impl *client }

type client struct{}

// NewClient makes a client with its own connection pool. It opens nothing yet.
func NewClient(o Options) (*Client, error) { panic("not built") }

// Fresh returns a client of the same options with a pool of its own, so that the next request uses a new connection.
func (c *Client) Fresh() *Client { panic("not built") }

// Close drops idle connections.
func (c *Client) Close() { panic("not built") }

// Page is the answer to a Get.
type Page struct {
	Status       int
	MediaType    string
	Body         []byte
	ETag         string
	NotModified  bool
	FinalURL     *url.URL
	Redirected   bool
	Date         time.Time
	CacheControl string
}

// Get fetches a card: body capped at Limits.CardBytes, gzip honoured (declared or not), BOM left in place. Redirects: at most 3, same
// host only, never https to http; credentials only to their origins. A redirect that may not be followed is an *Error of class Redirect.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*Page, error) {
	panic("not built")
}

// Endpoint is one interface of a peer.
type Endpoint struct {
	URL        *url.URL
	Generation Generation
	// Version is sent as A2A-Version for 1.x ("1.0"); nothing is sent for 0.x.
	Version string
	Tenant  string
}

// Part of a message. Exactly one of Text, Data, Raw is set.
type Part struct {
	Text      string
	Data      json.RawMessage
	Raw       []byte
	MediaType string
}

// Message that we send.
type Message struct {
	MessageID string // made by Send if empty
	TaskID    string // of the task to continue; in 0.1 the client-made id of a new task too
	ContextID string // 0.1: sessionId
	Parts     []Part
	Metadata  map[string]any
}

// SendConfig is the configuration of a send or stream.
type SendConfig struct {
	// ReturnImmediately: 1.0 returnImmediately, 0.2/0.3 blocking:false. Nil leaves it out (0.2/0.3: blocking is always sent, true).
	ReturnImmediately *bool
	AcceptedOutput    []string
	HistoryLength     *int
}

// Kind of an event.
type Kind string

// The kinds. KindError is a JSON-RPC error; KindOther is an envelope whose result is none of ours.
const (
	KindTask     Kind = "task"
	KindMessage  Kind = "message"
	KindStatus   Kind = "status"
	KindArtifact Kind = "artifact"
	KindError    Kind = "error"
	KindOther    Kind = "other"
)

// Problem is an oddity of one event. Problems never stop a stream.
type Problem string

// The problems that are told apart.
const (
	ProblemIDMismatch    Problem = "ResponseIDMismatch"     // JSON-RPC id differs from the request's, in value or type
	ProblemShape         Problem = "ResultShapeMismatch"    // another generation's shape (C40)
	ProblemNumericEnum   Problem = "NumericEnum"            // state as a number
	ProblemStateSpelling Problem = "StateSpelling"          // another generation's spelling
	ProblemTwoMembers    Problem = "TwoMembers"             // a union with more than one member
	ProblemUnterminated  Problem = "UnterminatedFinalEvent" // C24
	ProblemMalformed     Problem = "MalformedEvent"         // not JSON, or not an object
	ProblemEmptyParts    Problem = "EmptyParts"
)

// Event is one event of a stream, or the one answer of a unary call.
type Event struct {
	// At is the time since the request was sent, on the monotonic clock, when the event's last byte was read.
	At        time.Duration
	Kind      Kind
	TaskID    string
	ContextID string
	MessageID string
	// RawState as the peer spelled it; numbers as decimal text; empty if absent.
	RawState string
	// Timestamp of the status, zero if absent or unreadable.
	Timestamp time.Time
	Final     *bool
	// Parts counts content parts (message, artifact, or all artifacts of a task). History counts a task's messages, -1 if absent.
	Parts, History int
	// Shape is the generation whose shape the result has.
	Shape    Generation
	Problems []Problem
	Err      *RPCError
	Size     int
}

// RPCError is a JSON-RPC error. The peer's text is not kept.
type RPCError struct {
	Code int
	// Reason of a 1.0 ErrorInfo if it fits [A-Z_]{1,64}, else empty.
	Reason string
}

// Answer to a unary call: Event of kind task, message, error or other.
type Answer struct {
	Event
	Status    int
	MediaType string
	Date      time.Time
}

// End says how a stream's body ended.
type End string

// The ends that are told apart (C01 against C02; rule 5 of the cases).
const (
	EndOrderly        End = "end"       // last chunk, END_STREAM, or Content-Length reached
	EndCloseDelimited End = "close"     // HTTP/1.0 style: the end cannot be told from a cut
	EndReset          End = "reset"     // unexpected EOF, RST, HTTP/2 stream error
	EndOurs           End = "ours"      // our context ended it
	EndTooLarge       End = "too-large" // a limit was reached
)

// Stream is an open answer to a streaming call. Read Events until it closes, then ask End.
type Stream struct {
	// Status and MediaType of the answer; Date of its header.
	Status    int
	MediaType string
	Date      time.Time
	// HeaderAt is when the headers arrived, since the request was sent.
	HeaderAt time.Duration
	// Unary is set when the answer is not SSE by media type nor by content: the whole body, read as a unary answer.
	Unary *Answer
	// SniffedSSE: the media type is wrong, the body is SSE all the same (C19 for one-JSON-per-line bodies: see NDJSON).
	SniffedSSE bool
	NDJSON     bool
	impl       *stream
}

type stream struct{}

// Events yields events as they arrive; it is closed when the body ends. Bounded; nothing is lost while nobody reads.
func (s *Stream) Events() <-chan Event { panic("not built") }

// End says how the body ended; valid once Events is closed. EndAt is when, since the request was sent.
func (s *Stream) End() End             { panic("not built") }
func (s *Stream) EndAt() time.Duration { panic("not built") }

// Activity is when the last byte of any kind came, comments included; Comments how many comment lines.
func (s *Stream) Activity() time.Duration { panic("not built") }
func (s *Stream) Comments() int           { panic("not built") }

// Close ends it from our side.
func (s *Stream) Close() { panic("not built") }

// JSONRPC is the JSON-RPC binding of one interface, in the dialect of its generation.
type JSONRPC struct {
	Client   *Client
	Endpoint Endpoint
}

// Send is SendMessage, message/send or tasks/send. err is an *Error: nothing of the protocol came back. A JSON-RPC error, whatever
// the HTTP status, is an Answer of kind KindError.
func (j *JSONRPC) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	panic("not built")
}

// SendStream is SendStreamingMessage, message/stream or tasks/sendSubscribe. It returns when the headers are there.
func (j *JSONRPC) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	panic("not built")
}

// GetTask asks for a task. Both the bare Task and the wrapped one are read, whatever the generation.
func (j *JSONRPC) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	panic("not built")
}

// CancelTask asks to cancel a task.
func (j *JSONRPC) CancelTask(ctx context.Context, id string) (*Answer, error) { panic("not built") }

// Resubscribe is SubscribeToTask or tasks/resubscribe.
func (j *JSONRPC) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	panic("not built")
}

// Ping asks the send method with empty params, which no server can carry out: -32601 says that it does not know this
// generation's methods (wire reference 1).
func (j *JSONRPC) Ping(ctx context.Context) (*Answer, error) { panic("not built") }

// Class of a failure below the protocol.
type Class string

// The classes.
const (
	ClassBlocked   Class = "Blocked" // the guard refused the address
	ClassDNS       Class = "DNS"
	ClassConnect   Class = "Connect" // refused, unreachable, no route
	ClassTLS       Class = "TLS"
	ClassTimeout   Class = "Timeout" // ours: dial, header or total
	ClassReset     Class = "Reset"   // EOF or RST before an answer
	ClassRedirect  Class = "Redirect"
	ClassStatus    Class = "Status"    // an HTTP status without a protocol body
	ClassMediaType Class = "MediaType" // HTML and the like
	ClassTooLarge  Class = "TooLarge"
	ClassMalformed Class = "Malformed" // neither JSON nor anything we know
	ClassOrigin    Class = "Origin"    // the origin may not be asked
	ClassCanceled  Class = "Canceled"  // our caller gave up
)

// Error is a failure below the protocol. Its text holds no byte that the peer chose.
type Error struct {
	Class  Class
	Status int
	// RetryAfter of a 429 or 503, bounded to a day.
	RetryAfter time.Duration
	// Location is set for Redirect if it parses; for the caller's eyes only, never for status.
	Location *url.URL
	Err      error
}

func (e *Error) Error() string { panic("not built") }
func (e *Error) Unwrap() error { return e.Err }

// Exchange is one request and its answer, for `agentpeer check -v`. Bodies are capped and not sanitised: print them only
// through a sanitiser.
type Exchange struct {
	Started  time.Time
	Method   string
	URL      string
	Request  http.Header // credentials removed
	Body     []byte
	Status   int
	Response http.Header
	Answer   []byte
	Frames   []Frame
	End      End
	Took     time.Duration
	Err      error
}

// Frame is one SSE event or comment as it came.
type Frame struct {
	At   time.Duration
	Data []byte
}

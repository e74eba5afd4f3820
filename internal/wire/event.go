package wire

import (
	"slices"
	"strings"
	"time"
)

// Kind of an event.
type Kind string

// The kinds. KindError is a JSON-RPC error; KindOther is an envelope whose result is none of ours, or no envelope at
// all.
const (
	KindTask     Kind = "task"
	KindMessage  Kind = "message"
	KindStatus   Kind = "status"
	KindArtifact Kind = "artifact"
	KindError    Kind = "error"
	KindOther    Kind = "other"
	KindConfig   Kind = "config" // a push notification config
	KindCard     Kind = "card"   // an extended card
)

// Problem is an oddity of one event. Problems never stop a stream, and none of them is a verdict.
type Problem string

// The problems that are told apart.
const (
	ProblemIDMismatch    Problem = "ResponseIDMismatch"     // JSON-RPC id differs from the request's, in value or type
	ProblemNoVersion     Problem = "JSONRPCVersionMissing"  // jsonrpc is absent or not "2.0"
	ProblemShape         Problem = "ResultShapeMismatch"    // another generation's shape, or the wrong wrapping (C40)
	ProblemNumericEnum   Problem = "NumericEnum"            // state as a number
	ProblemStateSpelling Problem = "StateSpelling"          // another generation's spelling, or "cancelled"
	ProblemTwoMembers    Problem = "TwoMembers"             // a union with more than one member, or result and error
	ProblemUnterminated  Problem = "UnterminatedFinalEvent" // C24
	ProblemMalformed     Problem = "MalformedEvent"         // not JSON, or not an envelope
	ProblemDoubled       Problem = "DoubledMember"          // a member that decides is named twice, and says two things
	ProblemTooDeep       Problem = "TooDeep"                // nested deeper than many a reader follows
	ProblemEmptyParts    Problem = "EmptyParts"             // a message without parts (C08)
)

// Event is one event of a stream, or the one answer of a unary call.
type Event struct {
	// At is the time since the request was sent, on the monotonic clock, when the event's last byte was read.
	At     time.Duration
	Kind   Kind
	TaskID string
	// Correlation tells which task this is about where Endpoint.Identity says so; empty if the peer gave none. At most 256 bytes of the
	// peer's text: to compare, and to print nowhere.
	Correlation string
	ContextID   string // 0.1: sessionId
	MessageID   string
	// RawState as the peer spelled it; numbers as decimal text; empty if absent.
	RawState string
	// Timestamp of the status, zero if absent, unreadable or without a time zone.
	Timestamp time.Time
	// Final of a 0.x status update; nil if absent or not a boolean.
	Final *bool
	// Parts counts content parts: of a message, of an artifact, of a status update's message, or of all artifacts and
	// the status message of a task. History counts a task's messages, -1 if absent.
	Parts, History int
	// ArtifactBytes is the length of the parts of all artifacts of a task as JSON. It grows with text that is
	// appended to a part, where Parts does not.
	ArtifactBytes int
	// Shape is the generation whose shape the result has. 0.2 and 0.3 share one, which is named as the endpoint names
	// it.
	Shape    Generation
	Problems []Problem
	// Err is set for KindError.
	Err *RPCError
	// ConfigID of a KindConfig, empty if the peer gave none; Card of a KindCard, as it came.
	ConfigID string
	Card     []byte
	// Size of the event in bytes, after inflation.
	Size int
}

// Has tells whether the event carries a problem.
func (e *Event) Has(p Problem) bool {
	for _, q := range e.Problems {
		if q == p {
			return true
		}
	}
	return false
}

func (e *Event) note(p Problem) {
	if !e.Has(p) {
		e.Problems = append(e.Problems, p)
	}
}

// RPCError is a JSON-RPC error. The peer's text is not kept.
type RPCError struct {
	// Code as sent; 0 if it is absent or no number. Codes mean different things in 0.1 (wire reference 5).
	Code int
	// Reason of a 1.0 ErrorInfo if it fits [A-Z_]{1,64}, else empty.
	Reason string
	// OfAddress says that the text speaks of an address, a host or a URL, as a peer does that refuses one (1.0 section 13.2, C80).
	OfAddress bool
}

// addressWords are in the texts of those who refuse an address. "webhook" and "callback" are not: who has none says so with them.
var addressWords = words("url", "urls", "uri", "address", "addresses", "host", "hosts", "hostname", "localhost", "private", "loopback", "ssrf",
	"allowlist", "whitelist", "blocked", "https", "reserved", "dns", "resolve", "resolved", "ip")

// speaksOfAddress looks for them in an error's text, which is not kept.
func speaksOfAddress(text string) bool {
	text = strings.ToLower(text[:min(len(text), 1024)])
	notInWord := func(c rune) bool { return c < 'a' || c > 'z' }
	return slices.ContainsFunc(strings.FieldsFunc(text, notInWord), func(w string) bool { return addressWords[w] })
}

// Answer to a unary call: Event of kind task, message, error or other.
type Answer struct {
	Event
	Status    int
	MediaType string
	// Date of the answer's header, zero if absent.
	Date time.Time
	// Sent is when the request was sent, by our clock: the zero of every At.
	Sent time.Time
	// RetryAfter that the peer asked for with a 429 or 503, bounded to a day.
	RetryAfter time.Duration
}

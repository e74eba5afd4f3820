package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Class of a failure below the protocol.
type Class string

// The classes.
const (
	ClassBlocked   Class = "Blocked" // the guard refused the address
	ClassDNS       Class = "DNS"
	ClassConnect   Class = "Connect" // refused, unreachable, no route
	ClassTLS       Class = "TLS"
	ClassTimeout   Class = "Timeout" // ours: dial, header or total
	ClassReset     Class = "Reset"   // EOF or RST before an answer, or in the midst of one
	ClassRedirect  Class = "Redirect"
	ClassStatus    Class = "Status"    // an HTTP status without a protocol body
	ClassRoute     Class = "Route"     // nothing of this generation and binding is there: HTTP+JSON's path, or gRPC's service, is not known
	ClassMediaType Class = "MediaType" // HTML and the like, with a status of success
	ClassTooLarge  Class = "TooLarge"
	ClassMalformed Class = "Malformed" // neither JSON nor anything we know
	ClassNoHTTP    Class = "NoHTTP"    // what answers there does not speak HTTP
	ClassOrigin    Class = "Origin"    // the URL may not be asked: no host, or neither http nor https
	ClassPlaintext Class = "Plaintext" // http, where the operator wants https
	ClassBusy      Class = "Busy"      // as many connections to that address, or bytes of answers, as may be are in flight already
	ClassToken     Class = "Token"     // no access token to be had; with Status 401 or 403 the token endpoint refused the credentials
	ClassCanceled  Class = "Canceled"  // our caller gave up
)

// doing says in words what failed; Error prints these and nothing of the peer's.
var doing = map[Class]string{
	ClassBlocked:   "dialling the peer: its address may not be dialled",
	ClassDNS:       "resolving the peer's name",
	ClassConnect:   "connecting to the peer",
	ClassTLS:       "securing the connection",
	ClassTimeout:   "waiting for the peer: time is up",
	ClassReset:     "reading the answer: connection lost",
	ClassRedirect:  "asking the peer: it redirects to where we do not follow",
	ClassStatus:    "asking the peer: no protocol answer",
	ClassRoute:     "asking the peer: the binding's paths are not known there",
	ClassMediaType: "reading the answer: media type is none of the protocol's",
	ClassTooLarge:  "reading the answer: too large",
	ClassMalformed: "reading the answer: not understood",
	ClassNoHTTP:    "reading the answer: no HTTP",
	ClassOrigin:    "asking the peer: not an http or https URL with a host",
	ClassPlaintext: "asking the peer: http is not allowed for this host",
	ClassBusy:      "asking the peer: as many connections to its address, or bytes of answers, as may be are in flight",
	ClassToken:     "getting an access token",
	ClassCanceled:  "waiting for the peer: given up",
}

// Error is a failure below the protocol. Its text holds no byte that the peer chose; that of Err may, so print Error
// and use Err for errors.Is and errors.As only.
type Error struct {
	Class Class
	// Status of the HTTP answer, 0 if there was none.
	Status int
	// RetryAfter of a 429 or 503, bounded to a day.
	RetryAfter time.Duration
	// Location is set for Redirect if it parses; for the caller's eyes only, never for status.
	Location *url.URL
	Err      error
}

func (e *Error) Error() string {
	var token *tokenError
	if e.Class == ClassToken && errors.As(e.Err, &token) {
		return doing[e.Class] + ": " + token.Error()
	}
	if errors.Is(e.Err, errNotPinned) {
		return doing[e.Class] + ": no certificate has a pinned key"
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s (status %d)", doing[e.Class], e.Status)
	}
	return doing[e.Class]
}

func (e *Error) Unwrap() error { return e.Err }

// errStalled says that a body did not go on.
var errStalled = errors.New("the answer does not go on")

// An answer that cannot be judged, for readers of it differ: many parsers stop at some depth, and of a member that is named twice some
// take the first and some the last.
var (
	errDeep    = errors.New("nested too deep")
	errDoubled = errors.New("a member that decides is named twice")
)

// errTooLarge says that one of our limits was reached.
var errTooLarge = errors.New("limit reached")

// classify names what went wrong while asking or reading. The context is asked first: when it is over, what the network
// says is its echo. net/http has no typed errors for some of these, so a few are told by the words of the standard
// library.
func classify(ctx context.Context, err error) Class {
	var (
		blocked   *blockedError
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
		op        *net.OpError
		timeout   interface{ Timeout() bool }
	)
	text := err.Error()
	switch {
	case errors.Is(err, errBusy): // of another address of the same name than any that the guard refused
		return ClassBusy
	case errors.As(err, &blocked):
		return ClassBlocked
	case errors.Is(context.Cause(ctx), errStalled):
		return ClassTimeout
	case errors.Is(err, errTooLarge), strings.Contains(text, "response headers exceeded"),
		strings.Contains(text, "response header list larger"):
		return ClassTooLarge
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ClassTimeout
	case ctx.Err() != nil:
		return ClassCanceled
	case errors.As(err, &dns):
		return ClassDNS
	case strings.Contains(text, "looked like an HTTP/1.1 header"), strings.Contains(text, "tls: no application protocol"):
		return ClassNoHTTP // not HTTP/2, that is, where nothing else will do
	case errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert), errors.As(err, &authority),
		strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		return ClassTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return ClassTimeout
	case errors.As(err, &op) && op.Op == "dial":
		return ClassConnect
	case strings.Contains(text, "malformed HTTP"):
		return ClassNoHTTP
	case corrupt(err):
		return ClassMalformed
	}
	return ClassReset
}

// failure wraps what went wrong while asking or reading.
func failure(ctx context.Context, status int, err error) *Error {
	e := &Error{Class: classify(ctx, err), Status: status, Err: err}
	if e.Class == ClassBusy {
		e.Status = 0 // whatever it is: this is about us
	}
	return e
}

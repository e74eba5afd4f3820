package probe

import (
	"context"
	"errors"
	"net/url"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// JSON-RPC codes that rules name. Codes mean something only together with the generation (wire reference 5).
const (
	codeParse            = -32700
	codeInvalidRequest   = -32600
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codeServer           = -32000
	codeTaskNotFound     = -32001
	codeNotCancelable    = -32002
	codeNoPush           = -32003
	codeUnsupported      = -32004
	codeContentType      = -32005
	codeNoStreaming01    = -32006 // 0.1 prose; InvalidAgentResponse from 0.2 on
	codeAuth01           = -32007
	codeNoExtendedCard   = -32007 // 0.3 and 1.0
	codePermission01     = -32008
	codeVersion          = -32009 // 0.1 prose: invalid task state
	codeRateLimit01      = -32010
	codeUnavailable01    = -32011
	codeUnauthenticated  = -31401 // a2a-go
	codePermissionDenied = -31403 // a2a-go
)

// failReason says what a failure below the protocol means. Transport is never evidence against a peer: every one of these is
// Inconclusive (rule 1 of the cases, C94).
func failReason(e *wire.Error) trust.Reason {
	switch e.Class {
	case wire.ClassPlaintext:
		return trust.ReasonPlaintextNotAllowed
	case wire.ClassBusy:
		return trust.ReasonTooManyConnections
	case wire.ClassToken:
		if e.Status == 401 || e.Status == 403 {
			return trust.ReasonCredentialsRejected
		}
		return trust.ReasonTokenUnavailable
	case wire.ClassBlocked:
		return trust.ReasonAddressNotAllowed
	case wire.ClassOrigin:
		return trust.ReasonOriginNotAllowed
	case wire.ClassDNS, wire.ClassConnect, wire.ClassTLS, wire.ClassReset, wire.ClassTimeout, wire.ClassNoHTTP:
		return trust.ReasonUnreachable
	case wire.ClassRedirect:
		return trust.ReasonEndpointRedirects
	case wire.ClassRoute:
		return trust.ReasonEndpointNotFound
	case wire.ClassStatus:
		return statusReason(e.Status)
	case wire.ClassMediaType:
		if e.Status >= 300 {
			return statusReason(e.Status)
		}
		return trust.ReasonEndpointNotFound
	case wire.ClassCanceled:
		return trust.ReasonProbeDeadlineExceeded
	case wire.ClassTooLarge, wire.ClassMalformed:
		if e.Status >= 300 {
			return statusReason(e.Status)
		}
		return trust.ReasonUnexpectedAnswer
	}
	return trust.ReasonInternal
}

// rejected names what a refusal of access means where credentials went along: these were refused. It is the reader's first question, whether
// to configure some or to mend those that are there. The binding is empty for what is no interface, such as the card.
func (t *Target) rejected(r trust.Reason, u *url.URL, b wire.Binding) trust.Reason {
	if (r == trust.ReasonAuthenticationRequired || r == trust.ReasonPermissionDenied) && t.Credentials.GoTo(u, b) {
		return trust.ReasonCredentialsRejected
	}
	return r
}

// statusReason says what an HTTP status without a protocol body means.
func statusReason(status int) trust.Reason {
	switch status {
	case 401, 407:
		return trust.ReasonAuthenticationRequired
	case 402, 403:
		return trust.ReasonPermissionDenied
	case 404, 405, 410:
		return trust.ReasonEndpointNotFound
	case 408:
		return trust.ReasonProbeDeadlineExceeded
	case 429:
		return trust.ReasonRateLimited
	}
	switch status / 100 {
	case 3:
		return trust.ReasonEndpointRedirects
	case 5:
		return trust.ReasonServerError
	}
	return trust.ReasonUnexpectedAnswer
}

// turnedAway says that an answer came with a status that means us and not the capability, whatever body it carries: no credentials, no
// permission, too many requests; or with a status of failure and an error that only looks like the protocol's, as gateways write it
// ({"error":{"code":404}}): JSON-RPC and A2A have negative codes only. It returns nil for every other.
func turnedAway(a *wire.Answer) error {
	away := &wire.Error{Class: wire.ClassStatus, Status: a.Status, RetryAfter: a.RetryAfter}
	switch a.Status {
	case 401, 402, 403, 407, 429:
		return away
	}
	if a.Status >= 400 && a.Err != nil && a.Err.Code >= 0 {
		return away
	}
	return nil
}

// wireError finds the *wire.Error in err, or makes one of an error of our own making.
func wireError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &wire.Error{Class: wire.ClassTimeout, Err: err}
	case errors.Is(err, context.Canceled):
		return &wire.Error{Class: wire.ClassCanceled, Err: err}
	}
	return &wire.Error{Err: err}
}

// refusal says whether a JSON-RPC error in answer to a streaming call is the peer's own word that it does not stream.
// -32601 counts only once the sibling dialect was tried (C25).
func refusal(g wire.Generation, code int) bool {
	return code == codeUnsupported || code == codeMethodNotFound || (g == wire.V01 && code == codeNoStreaming01)
}

// codeReason says what a JSON-RPC error in answer to a new message means where it is not a refusal: something about our probe, or about
// the agent behind, never about the capability (C25, C43, C44, C85).
func codeReason(g wire.Generation, code, status int) trust.Reason {
	if g == wire.V01 {
		switch code {
		case codeAuth01:
			return trust.ReasonAuthenticationRequired
		case codePermission01:
			return trust.ReasonPermissionDenied
		case codeRateLimit01:
			return trust.ReasonRateLimited
		case codeVersion, codeUnavailable01:
			return trust.ReasonAgentFailing
		}
	}
	switch code {
	case codeUnauthenticated:
		return trust.ReasonAuthenticationRequired
	case codePermissionDenied:
		return trust.ReasonPermissionDenied
	case codeVersion:
		return trust.ReasonVersionNegotiationFailed
	case codeInvalidRequest:
		if status == 400 {
			return trust.ReasonVersionNegotiationFailed
		}
		return trust.ReasonProbeRejected
	case codeInternal, codeServer, -32006:
		return trust.ReasonAgentFailing
	case codeParse, codeInvalidParams, codeContentType:
		return trust.ReasonProbeRejected
	case codeUnsupported, codeMethodNotFound:
		return trust.ReasonProbeRejected
	}
	if code <= -32000 && code >= -32099 {
		return trust.ReasonProbeRejected
	}
	return trust.ReasonAgentFailing
}

// reachedHandler says whether a send may have reached the peer's handler, and so is to be counted: everything but what the network, HTTP or
// the protocol layer turned away.
func reachedHandler(fail *wire.Error, code int) bool {
	if fail != nil {
		switch fail.Class {
		case wire.ClassTimeout, wire.ClassReset, wire.ClassTooLarge, wire.ClassMalformed, wire.ClassCanceled:
			return fail.Status < 300
		case wire.ClassStatus:
			return fail.Status >= 500
		}
		return false
	}
	switch code {
	case codeMethodNotFound, codeParse, codeInvalidRequest, codeUnsupported, codeVersion, codeUnauthenticated, codePermissionDenied:
		return false
	}
	return true
}

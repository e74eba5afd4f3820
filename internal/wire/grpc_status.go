package wire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// grpcStatus is how a call ended, in the peer's word.
type grpcStatus struct {
	code codes.Code
	// reason of an ErrorInfo that is A2A's, or of nobody's domain; empty if there is none that fits.
	reason string
	// retry is what a RetryInfo asks for, bounded to a day.
	retry time.Duration
	// ofAddress: see RPCError.
	ofAddress bool
}

// status of a call whose body was read to its end: of the trailers, or of the headers where there was nothing else.
func (r *reply) grpcStatus() (s grpcStatus, ok bool) {
	h := r.Trailer
	if h.Get("Grpc-Status") == "" {
		h = r.Header
	}
	text := h.Get("Grpc-Status")
	if text == "" {
		return s, false
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		n = uint64(codes.Unknown)
	}
	s.code = codes.Code(n)
	if s.code == codes.Unauthenticated {
		r.unauthenticated()
	}
	message, _ := url.PathUnescape(h.Get("Grpc-Message"))
	s.ofAddress = speaksOfAddress(message)
	s.readDetails(h)
	return s, true
}

// a2aDomain is the domain of A2A's ErrorInfo.
const a2aDomain = "a2a-protocol.org"

// readDetails reads what the peer says besides the code; what cannot be read is as if it were not there.
func (s *grpcStatus) readDetails(h http.Header) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "="))
	var all status.Status
	if err != nil || proto.Unmarshal(raw, &all) != nil {
		return
	}
	for _, d := range all.GetDetails() {
		var (
			info  errdetails.ErrorInfo
			retry errdetails.RetryInfo
		)
		switch {
		case d.MessageIs(&info) && d.UnmarshalTo(&info) == nil:
			ours := info.GetDomain() == "" || info.GetDomain() == a2aDomain
			if s.reason == "" && ours && fitsReason(info.GetReason()) {
				s.reason = info.GetReason()
			}
		case d.MessageIs(&retry) && d.UnmarshalTo(&retry) == nil:
			s.retry = min(max(0, retry.GetRetryDelay().AsDuration()), maxRetryAfter)
		}
	}
}

// rpcError is the error of the protocol that a status stands for, or nil. A code that may mean several things is taken for
// what accuses least: only 0.3 and the peers of 1.0 that give no ErrorInfo come to that.
func (s grpcStatus) rpcError(p grpcPurpose) *RPCError {
	code, ok := s.rpcCode(p)
	if !ok {
		return nil // whatever the reason, it is about us or about the way
	}
	if told, ok := reasons[s.reason]; ok {
		code = told
	}
	return &RPCError{Code: code, Reason: s.reason, OfAddress: s.ofAddress}
}

func (s grpcStatus) rpcCode(p grpcPurpose) (code int, ok bool) {
	switch s.code {
	case codes.NotFound:
		if p == forCard {
			return -32007, true // a2a-go 0.3 says so
		}
		return -32001, true
	case codes.Unimplemented:
		// A method that is not there, or, in 0.3 and 1.0.0, an operation that is not supported. Where the second accuses less, it is that.
		if p == forCancel || p == forPush {
			return -32004, true
		}
		return -32601, true
	case codes.InvalidArgument, codes.OutOfRange, codes.AlreadyExists:
		return -32602, true
	case codes.FailedPrecondition:
		if p == forCancel {
			return -32002, true
		}
		return codeUnclear, true
	case codes.OK, codes.Canceled, codes.DeadlineExceeded, codes.PermissionDenied, codes.ResourceExhausted, codes.Unavailable,
		codes.Unauthenticated:
		return 0, false
	}
	return -32603, true
}

// failure is what a status says about access, load or the way to the peer, in the terms of HTTP.
func (s grpcStatus) failure() *Error {
	e := &Error{Class: ClassStatus, RetryAfter: s.retry}
	switch s.code {
	case codes.Unauthenticated:
		e.Status = http.StatusUnauthorized
	case codes.PermissionDenied:
		e.Status = http.StatusForbidden
	case codes.ResourceExhausted:
		e.Status = http.StatusTooManyRequests
	case codes.Unavailable:
		e.Status = http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		e.Status = http.StatusGatewayTimeout
	default: // Canceled, and nobody here did
		e.Class, e.RetryAfter = ClassReset, 0
	}
	return e
}

// barred is a refusal of access that comes after the headers, as the codes that a2a-go made for it; nil for other statuses.
func (s grpcStatus) barred() *RPCError {
	if s.code == codes.Unauthenticated {
		return &RPCError{Code: codeUnauthenticated}
	}
	if s.code == codes.PermissionDenied {
		return &RPCError{Code: -31403}
	}
	return nil
}

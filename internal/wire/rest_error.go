package wire

import (
	"net/http"
	"strings"
	"unicode"
)

// codeContentType is ContentTypeNotSupported.
const codeContentType = -32005

// codeUnauthenticated is a2a-go's, for a caller who has to log in.
const codeUnauthenticated = -31401

// codeUnclear is what an answer of the protocol gets whose meaning its binding leaves open: JSON-RPC's first code for errors of a server's
// own, on which no rule rests.
const codeUnclear = -32000

// reasons are the words of errors, of ErrorInfo and those that SDKs add, and the JSON-RPC code of the same meaning (wire reference 5).
var reasons = map[string]int{
	"TASK_NOT_FOUND":                             -32001,
	"TASK_NOT_CANCELABLE":                        -32002,
	"TASK_NOT_CANCELLABLE":                       -32002,
	"PUSH_NOTIFICATION_NOT_SUPPORTED":            -32003,
	"UNSUPPORTED_OPERATION":                      -32004,
	"CONTENT_TYPE_NOT_SUPPORTED":                 codeContentType,
	"INVALID_AGENT_RESPONSE":                     -32006,
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED":         -32007,
	"AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED": -32007,
	"EXTENSION_SUPPORT_REQUIRED":                 -32008,
	"VERSION_NOT_SUPPORTED":                      -32009,
	"PARSE_ERROR":                                -32700,
	"INVALID_REQUEST":                            -32600,
	"METHOD_NOT_FOUND":                           -32601,
	"INVALID_PARAMS":                             -32602,
	"INTERNAL_ERROR":                             -32603,
	"UNAUTHENTICATED":                            codeUnauthenticated,
	"UNAUTHORIZED":                               -31403,
}

// readRefusal reads a body that came with a status that says no. ok is false where nothing in it is the protocol's word: the status alone
// means a gateway, a framework or a missing path as much as the agent. The reason decides, then a code of JSON-RPC, and the status last and
// only where it accuses nobody.
func readRefusal(body []byte, status int, x expect) (e Event, ok bool) {
	e = Event{Kind: KindError, History: -1, Size: len(body)}
	root, valid := parse(body)
	if !valid || !root.isObject() || root.get("jsonrpc").present() { // an answer of JSON-RPC is none of this binding's
		return e, false
	}
	if e.Err = readFault(root); e.Err.Code != 0 {
		return e, true
	}
	words := speaksOf(root)
	switch {
	case status == http.StatusConflict && x.onCancel && words:
		e.Err.Code = -32002 // 1.0.0 and 0.3 have 409 for nothing else
	case status == http.StatusNotFound && x.onTask && words,
		status == http.StatusConflict && words,
		status == http.StatusBadRequest, status == http.StatusUnsupportedMediaType, status == http.StatusUnprocessableEntity:
		e.Err.Code = codeUnclear
	default:
		return e, false
	}
	return e, true
}

// routeMissing: without a word of the protocol these say that no such path, or no such method on it, is known there.
func routeMissing(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}

// readFault reads an error of this binding: google.rpc.Status in an error member (1.0), problem details (1.0.0), or code and message (0.3).
// Code is 0 where the body does not say what it means.
func readFault(root value) *RPCError {
	fault := root.get("error")
	if !fault.isObject() {
		fault = root
	}
	e := &RPCError{OfAddress: speaksOfAddress(fault.get("message").text()) || speaksOfAddress(fault.get("detail").text())}
	take := func(word string) {
		if code, ok := reasons[word]; ok && e.Code == 0 {
			e.Code, e.Reason = code, word
		}
	}
	fault.get("details").elements(func(d value) {
		if domain := d.get("domain").text(); domain == "" || domain == a2aDomain {
			take(d.get("reason").text()) // others have reasons of the same name
		}
	})
	data := fault.get("data")
	data.elements(func(d value) { take(d.get("reason").text()) })
	take(data.get("reason").text())
	take(fault.get("reason").text())
	take(spelled(fault.get("code").text()))
	take(spelled(lastSegment(fault.get("type").text())))
	if code, ok := rpcCodeOf(fault); ok && e.Code == 0 {
		e.Code = code
	}
	return e
}

// rpcCodeOf is a code that JSON-RPC or an A2A SDK could have sent; others are HTTP statuses, or words of some gateway.
func rpcCodeOf(fault value) (int, bool) {
	code, ok := codeOf(fault)
	return code, ok && code <= -31000 && code >= -32768
}

// isFault: a body, or a frame of a stream, is an error and no event. A result that has an error among its members is a result.
func isFault(root value) bool {
	for _, name := range []string{"task", "message", "statusUpdate", "artifactUpdate", "status", "result"} {
		if root.get(name).isObject() {
			return false
		}
	}
	if root.get("error").isObject() {
		return true
	}
	_, ok := rpcCodeOf(root)
	return ok
}

// speaksOf tells whether an error says anything but its status over again, as the answers of frameworks do to a path that they do not know
// ({"detail":"Not Found"}, {"message":"Not Found","error":"Not Found"}).
func speaksOf(root value) bool {
	fault := root.get("error")
	switch {
	case fault.isString():
		return false
	case !fault.isObject():
		fault = root
	}
	for _, name := range []string{"message", "title"} {
		text := strings.TrimSpace(fault.get(name).text())
		if text != "" && !isStatusText(text) && !strings.HasPrefix(text, "Cannot ") {
			return true
		}
	}
	return false
}

func isStatusText(text string) bool {
	for _, status := range []int{http.StatusNotFound, http.StatusConflict} {
		if strings.EqualFold(strings.TrimSuffix(text, "."), http.StatusText(status)) {
			return true
		}
	}
	return false
}

func lastSegment(s string) string { return s[strings.LastIndexAny(s, "/#:")+1:] }

// spelled writes a name as ErrorInfo would: task-not-found and TaskNotFoundError are TASK_NOT_FOUND.
func spelled(name string) string {
	if len(name) > 64 {
		return ""
	}
	var b strings.Builder
	for i, c := range strings.TrimSuffix(name, "Error") {
		switch {
		case c == '-' || c == ' ':
			b.WriteByte('_')
			continue
		case unicode.IsUpper(c) && i > 0 && unicode.IsLower(rune(name[i-1])):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return b.String()
}

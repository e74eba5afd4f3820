package wire

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// expect says what an answer should look like.
type expect struct {
	generation Generation
	// id of the request, as JSON.
	id value
	// bare: the result is a task without a wrapper in every generation (GetTask, CancelTask).
	bare bool
	// stream: the answer is one event of a stream.
	stream bool
	// wants says what the result is, where it is no event.
	wants wanted
	// rest: the binding is HTTP+JSON. There is no envelope: results stand alone, and errors have a form of their own. onTask: the path
	// names a task, and onCancel: to cancel it.
	rest, onTask, onCancel bool
	// proto: the peer speaks ProtoJSON or Protobuf, which 0.3 does over HTTP+JSON and gRPC: the names of the enums and the
	// members of the unions are like those of 1.0.
	proto bool
	// identity says what tells tasks apart besides their ids.
	identity Identity
}

// unions: results name what they are by a member and states by the enum's name.
func (x expect) unions() bool { return x.generation == V10 || x.proto }

// unionShape is the generation that a union, or an enum's name, is of.
func (x expect) unionShape() Generation {
	if x.proto {
		return x.generation
	}
	return V10
}

// wanted is what a result is expected to be.
type wanted int

const (
	wantsEvent    wanted = iota // a task, a message or an update
	wantsConfig                 // a push notification config
	wantsCard                   // a whole card
	wantsAnything               // an empty answer, say
)

// readEvent reads one answer as leniently as it can and notes what was odd about it. It never fails: what
// cannot be read is KindOther and ProblemMalformed.
func readEvent(text []byte, x expect) Event {
	e := Event{Kind: KindOther, History: -1, Size: len(text)}
	root, ok := parse(text)
	if !ok || !root.isObject() {
		e.note(ProblemMalformed)
		return e
	}
	if root.doubled() {
		e.note(ProblemDoubled)
	}
	if x.rest {
		e.readAlone(root, x)
		return e
	}
	env := readEnvelope(root)
	if env.version.text() != "2.0" {
		e.note(ProblemNoVersion)
	}
	switch {
	case env.failed():
		e.Kind, e.Err = KindError, readError(env.fault)
		if env.result.present() {
			e.note(ProblemTwoMembers)
		}
		// A peer that could not read the id answers null (JSON-RPC 2.0 section 5).
		if env.id.present() && !bytes.Equal(env.id, x.id) {
			e.note(ProblemIDMismatch)
		}
	case env.result != nil:
		if env.fault.present() {
			e.note(ProblemTwoMembers)
		}
		if !bytes.Equal(env.id, x.id) {
			e.note(ProblemIDMismatch)
		}
		e.readWanted(env.result, x)
	default: // no envelope: the result stands alone, or it is nothing of ours
		e.readWanted(root, x)
		if e.Kind == KindOther {
			e.note(ProblemMalformed)
		}
		e.note(ProblemShape)
	}
	return e
}

// readAlone reads a result, or an error, that no envelope wraps. An envelope all the same is opened, and one around an error is nothing of
// this binding's.
func (e *Event) readAlone(root value, x expect) {
	env := readEnvelope(root)
	switch {
	case env.version.present() && env.result.present():
		e.readWanted(env.result, x)
		e.note(ProblemShape)
	case env.version.present():
		e.note(ProblemMalformed)
	case isFault(root):
		e.Kind, e.Err = KindError, readFault(root)
		if e.Err.Code == 0 {
			e.Err.Code = codeUnclear
		}
	default:
		if e.readWanted(root, x); e.Kind == KindOther && x.wants != wantsAnything {
			e.note(ProblemMalformed)
		}
	}
}

// envelope is the outer object of JSON-RPC.
type envelope struct{ version, id, result, fault value }

func readEnvelope(root value) (env envelope) {
	root.members(func(name []byte, m value) {
		switch string(name) {
		case "jsonrpc":
			env.version = m
		case "id":
			env.id = m
		case "result":
			env.result = m
		case "error":
			env.fault = m
		}
	})
	return env
}

// failed: there is an error, and it is not outweighed by a result because it holds no code. An error that is a mere
// text counts only where the rest of the envelope is there: gateways speak so in JSON of their own.
func (env envelope) failed() bool {
	if !env.fault.isObject() && (!env.fault.present() || !env.version.present()) {
		return false
	}
	_, coded := codeOf(env.fault)
	return coded || !env.result.present()
}

// isProtocol tells an answer of this protocol from any other JSON, where the HTTP status makes one doubt: gateways have
// error objects of their own, with codes that look like HTTP statuses.
func isProtocol(text []byte) bool {
	root, ok := parse(text)
	if !ok || !root.isObject() {
		return false
	}
	env := readEnvelope(root)
	code, _ := codeOf(env.fault)
	return env.fault.isObject() && (env.version.text() == "2.0" || code < 0) || env.version.present() && env.result != nil
}

// codeOf reads an error's code, which may be a number in quotes or have a fraction of zero.
func codeOf(fault value) (int, bool) {
	f, err := strconv.ParseFloat(fault.get("code").word(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// readError reads an error as the binding writes it.
func (x expect) readError(fault value) *RPCError {
	if !x.rest {
		return readError(fault)
	}
	e := readFault(fault)
	if e.Code == 0 {
		e.Code = codeUnclear
	}
	return e
}

// readError keeps the code and, of whatever shape data has, a reason that fits.
func readError(fault value) *RPCError {
	e := &RPCError{}
	e.Code, _ = codeOf(fault)
	e.OfAddress = speaksOfAddress(fault.get("message").text())
	take := func(v value) {
		if r := v.get("reason").text(); e.Reason == "" && fitsReason(r) {
			e.Reason = r
		}
	}
	data := fault.get("data")
	take(data)
	data.elements(take)
	return e
}

func fitsReason(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// readTime reads RFC 3339. A time without a zone is no time: it may be the peer's local one.
func readTime(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

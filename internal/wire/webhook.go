package wire

import "net/http"

// ReadWebhook reads the body of a webhook as leniently as it can: 1.0's StreamResponse, the bare Task of 0.2 and 0.3, the object of
// 0.1, or a status or artifact update, whatever was negotiated, since real servers of one generation post the bodies of another (wire
// reference 3). A body of another shape than the generation's has ProblemShape. It never fails: what cannot be read is KindOther and
// ProblemMalformed. The correlation of the task is read as by says, from the body's metadata or from the request's header.
func ReadWebhook(body []byte, g Generation, header http.Header, by Identity) Event {
	e := readWebhook(body, g, by)
	if values := header.Values(by.Header); by.Header != "" && len(values) == 1 {
		e.Correlation = bounded(values[0])
	}
	return e
}

func readWebhook(body []byte, g Generation, by Identity) Event {
	if _, ok := dialects[g]; !ok {
		g = V10
	}
	e := Event{Kind: KindOther, History: -1, Size: len(body)}
	if deeper(body, DefaultLimits().JSONDepth) { // a validator keeps account of every level, and a peer can call often
		e.note(ProblemMalformed)
		return e
	}
	root, ok := parse(body)
	if !ok || !root.isObject() {
		e.note(ProblemMalformed)
		return e
	}
	inner := root
	if env := readEnvelope(root); env.version.present() && env.result.isObject() {
		inner = env.result // an answer of JSON-RPC, as a stream would have it
		e.note(ProblemShape)
	}
	e.readResult(inner, expect{generation: g, identity: by})
	if e.Kind == KindOther {
		e.readSpare(inner, g)
	}
	return e
}

// readSpare reads what 0.1 leaves to the server, which SHOULD tell taskId and status: the status may be the mere word.
func (e *Event) readSpare(body value, g Generation) {
	id, word := body.get("taskId").ident(), body.get("status").word()
	if id == "" || word == "" {
		e.note(ProblemMalformed)
		return
	}
	e.Kind, e.Shape, e.TaskID, e.RawState = KindStatus, V01, id, word
	if g == V01 {
		e.Problems = nil
	}
}

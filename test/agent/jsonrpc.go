package agent

import (
	"encoding/json"
	"net/http"
	"strings"
)

// request is a JSON-RPC request.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// response is a JSON-RPC response.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (a *Agent) serveJSONRPC(c *Config, w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	_, err := copyBounded(&b, r.Body)
	var q request
	if err == nil {
		err = json.Unmarshal([]byte(b.String()), &q)
	}
	method := q.Method
	if method == "" || len(method) > 64 {
		method = "other"
	}
	a.note(r, method, q.Params)
	if a.spoil(c, w, r, "post") {
		return
	}
	x := &call{a: a, c: c, ctx: r.Context(), params: q.Params, version: r.Header.Get("A2A-Version"),
		out: renderer{gen: c.Generation, rpc: c.RPC}, by: jsonRPC{w: w, c: c.RPC, id: q.ID}}
	switch {
	case err != nil:
		x.fail(-32700, "parse error")
		return
	case q.JSONRPC != "2.0" || q.Method == "":
		x.fail(-32600, "invalid request")
		return
	}
	for _, g := range append([]Generation{c.Generation}, c.Also...) {
		if x.op = g.operation(q.Method); x.op != opUnknown {
			x.speaks(g)
			break
		}
	}
	x.dispatch()
}

// jsonRPC writes answers in JSON-RPC's envelope.
type jsonRPC struct {
	w  http.ResponseWriter
	c  RPCConfig
	id json.RawMessage
}

func (j jsonRPC) answer(result any, e *rpcError) {
	status := http.StatusOK
	if e != nil && j.c.ErrorStatus != 0 {
		status = j.c.ErrorStatus
	}
	writeJSON(j.w, j.c.mediaType("application/json"), status, j.envelope(result, e))
}

func (j jsonRPC) header(name, value string) { j.w.Header().Set(name, value) }

func (j jsonRPC) stream(c StreamConfig) sink { return &sse{w: j.w, c: c, frame: j.envelope} }

// envelope wraps a result or an error for the request's id, or as the quirk of the id wants it.
func (j jsonRPC) envelope(result any, e *rpcError) any {
	id := j.id
	switch j.c.ID {
	case "string":
		id, _ = json.Marshal(strings.Trim(string(id), `"`))
	case "number":
		id = json.RawMessage("1")
	case "wrong":
		id = json.RawMessage(`"somebody-else"`)
	case "null":
		id = json.RawMessage("null")
	case "missing":
		id = nil
	default:
		if id == nil {
			id = json.RawMessage("null")
		}
	}
	return response{JSONRPC: "2.0", ID: id, Result: result, Error: e}
}

// mediaType of a unary answer, given the right one.
func (c RPCConfig) mediaType(right string) string {
	if c.PlainText {
		return "text/plain; charset=utf-8"
	}
	return right
}

// writeJSON writes a unary answer of any binding over HTTP.
func writeJSON(w http.ResponseWriter, kind string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "encoding the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// call is what a request asks for, as far as the proxy can tell.
type call struct {
	// body of the request; nil for gRPC.
	body []byte
	// method is JSON-RPC's, or the last part of the path.
	method string
	// id of the JSON-RPC request, raw; empty for other bindings.
	id string
	// task that GetTask asks for (JSON-RPC).
	task   string
	header http.Header
	path   string
	rest   bool
	grpc   bool
	card   bool
	// v1 is JSON-RPC of 1.0.
	v1 bool
}

func readCall(r *http.Request, body []byte) call {
	c := call{body: body, header: r.Header, path: r.URL.Path}
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case body == nil:
		c.grpc, c.method = true, last
		return c
	case r.Method == http.MethodGet && strings.Contains(last, "agent") && strings.HasSuffix(last, ".json"):
		c.card = true
		return c
	}
	var q struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ID string `json:"id"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &q) != nil || q.Method == "" {
		c.rest, c.method = true, last
		return c
	}
	c.method, c.id, c.task = q.Method, string(q.ID), q.Params.ID
	c.v1 = !strings.Contains(q.Method, "/")
	return c
}

// begins says that the call may begin work: a send or a stream.
func (c *call) begins() bool { return c.send() || c.stream() }

func (c *call) send() bool {
	switch c.method {
	case "SendMessage", "message/send", "tasks/send", "message:send":
		return true
	}
	return false
}

func (c *call) stream() bool {
	switch c.method {
	case "SendStreamingMessage", "message/stream", "tasks/sendSubscribe", "message:stream":
		return true
	}
	return false
}

// get says that the call is GetTask of JSON-RPC.
func (c *call) get() bool { return c.method == "GetTask" && !c.grpc || c.method == "tasks/get" }

// streams says that the answer is a stream.
func (c *call) streams(r *http.Response) bool {
	if c.grpc {
		return c.stream() || c.method == "SubscribeToTask" || c.method == "TaskSubscription"
	}
	return strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
}

// throw answers as a server does whose executor throws: with an internal error, or, where empty is set, with a stream that ends without
// an event.
func (c *call) throw(w http.ResponseWriter, empty bool) {
	h := w.Header()
	switch {
	case c.grpc:
		h.Set("Content-Type", "application/grpc")
		h.Set("Grpc-Status", "13")
		h.Set("Grpc-Message", "the executor failed")
	case c.stream() && empty:
		h.Set("Content-Type", "text/event-stream")
	case c.rest:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"code":500,"status":"INTERNAL","message":"the executor failed"}}`)
	default:
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the executor failed"}}`, c.id)
	}
}

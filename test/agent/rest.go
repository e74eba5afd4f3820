package agent

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// restPath is where the HTTP+JSON interface stands below the agent's base URL: 1.0's paths below it, those of 0.3 and 0.2 below its /v1.
const restPath = "/rest"

// RESTConfig bends the HTTP+JSON binding.
type RESTConfig struct {
	// Errors is their form: "" is the generation's; "problem" problem details, as 1.0.0 has them; "status" google.rpc.Status without a
	// reason; "message" a mere text, as one SDK of 0.3 sends it; "bare" no body of JSON at all.
	Errors string `json:"errors,omitempty"`
	// OldStatus answers with the statuses of 1.0.0 and of 0.3: 409 and 415 where 1.0.1 has 400.
	OldStatus bool `json:"oldStatus,omitempty"`
	// Created answers sends with 201 and cancels with 202, as a2a-js 0.3 does.
	Created bool `json:"created,omitempty"`
	// Subscribe is the one method that re-attaching is known by: "GET" or "POST"; "": both.
	Subscribe string `json:"subscribe,omitempty"`
	// NoTenantPath knows no tenant in paths, only in bodies and queries.
	NoTenantPath bool `json:"noTenantPath,omitempty"`
	// OwnMediaType takes bodies of application/a2a+json and answers 415 to others.
	OwnMediaType bool `json:"ownMediaType,omitempty"`
	// NoTaskPaths serves messages and nothing below /tasks (C85).
	NoTaskPaths bool `json:"noTaskPaths,omitempty"`
	// At moves the paths of every generation below another prefix ("/v1"; "/" for none), as misconfigured mounts do.
	At string `json:"at,omitempty"`
}

// restNames are what JSON-RPC calls the operations that paths stand for.
type restNames struct{ send, stream, get, list, cancel, subscribe, pushSet, pushGet, pushList, pushDelete, card string }

var (
	restNames10 = restNames{"SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask",
		"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs",
		"DeleteTaskPushNotificationConfig", "GetExtendedAgentCard"}
	restNames03 = restNames{"message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
		"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"}
)

// restRoute is what a path asks for.
type restRoute struct {
	method     string // by its name in JSON-RPC; empty: the path is not known
	generation Generation
	tenant     string
	task       string
	config     string
	takesBody  bool
	// wrongHTTPMethod: the path is known, but not by this HTTP method.
	wrongHTTPMethod bool
}

func (a *Agent) serveREST(c *Config, w http.ResponseWriter, r *http.Request, path string) {
	var b strings.Builder
	_, readErr := copyBounded(&b, r.Body)
	q := c.restRoute(r.Method, path)
	if q.method == "" {
		a.note(r, "other", nil)
		if !a.spoil(c, w, r, "other") {
			refusePath(w, q)
		}
		return
	}
	params, err := q.params(b.String(), r.URL.Query())
	a.note(r, q.method, params)
	if a.spoil(c, w, r, "post") {
		return
	}
	by := rest{w: w, c: c, method: q.method, generation: q.generation}
	x := &call{a: a, c: c, ctx: r.Context(), params: params, version: r.Header.Get("A2A-Version"),
		out: renderer{gen: c.Generation, rpc: c.RPC, proto: true}, by: by}
	x.op = q.generation.operation(q.method)
	x.speaks(q.generation)
	switch {
	case c.REST.OwnMediaType && q.takesBody && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/a2a+json"):
		x.fail(-32005, "bodies are application/a2a+json here")
	case readErr != nil || err != nil:
		x.fail(-32700, "parse error")
	default:
		x.dispatch()
	}
}

func refusePath(w http.ResponseWriter, q restRoute) {
	if q.wrongHTTPMethod {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// restRoute finds out what is asked for. A generation that is not spoken has no paths.
func (c *Config) restRoute(method, path string) restRoute {
	q := restRoute{}
	for _, g := range append([]Generation{c.Generation}, c.Also...) {
		at := ""
		if g != V10 {
			at = "/v1"
		}
		if c.REST.At != "" {
			at = strings.TrimSuffix(c.REST.At, "/")
		}
		below, ok := strings.CutPrefix(path, at)
		if !ok || g == V01 || c.RPC.Unknown {
			continue
		}
		q.generation = g
		if t := c.Card.Tenant; t != "" && !c.REST.NoTenantPath && g == V10 {
			if without, ok := strings.CutPrefix(below, "/"+t); ok {
				below, q.tenant = without, t
			}
		}
		if q.find(c, method, below); q.method != "" || q.wrongHTTPMethod {
			break
		}
	}
	return q
}

// find reads a path below the tenant's and the generation's part of it.
func (q *restRoute) find(c *Config, method, path string) {
	names := restNames10
	card := "extendedAgentCard"
	if q.generation != V10 {
		names, card = restNames03, "card"
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	is := func(want, name string) {
		if q.wrongHTTPMethod = method != want; !q.wrongHTTPMethod {
			q.method, q.takesBody = name, want == http.MethodPost
		}
	}
	switch {
	case len(segments) == 1 && segments[0] == "message:send":
		is(http.MethodPost, names.send)
	case len(segments) == 1 && segments[0] == "message:stream":
		is(http.MethodPost, names.stream)
	case len(segments) == 1 && segments[0] == card:
		is(http.MethodGet, names.card)
	case segments[0] != "tasks" || c.REST.NoTaskPaths:
	case len(segments) == 1:
		is(http.MethodGet, names.list)
	case len(segments) == 2:
		q.findTask(c, method, segments[1], names, is)
	case segments[2] == "pushNotificationConfigs":
		q.task = unescaped(segments[1])
		q.findConfig(method, segments[3:], names, is)
	}
}

func (q *restRoute) findTask(c *Config, method, segment string, names restNames, is func(want, name string)) {
	id, verb, _ := strings.Cut(segment, ":")
	q.task = unescaped(id)
	switch verb {
	case "":
		is(http.MethodGet, names.get)
	case "cancel":
		is(http.MethodPost, names.cancel)
	case "subscribe":
		want := c.REST.Subscribe
		if want == "" && (method == http.MethodGet || method == http.MethodPost) {
			want = method
		}
		is(want, names.subscribe)
		q.takesBody = false
	}
}

func (q *restRoute) findConfig(method string, rest []string, names restNames, is func(want, name string)) {
	switch {
	case len(rest) == 0 && method == http.MethodGet:
		is(http.MethodGet, names.pushList)
	case len(rest) == 0:
		is(http.MethodPost, names.pushSet)
	case len(rest) == 1 && method == http.MethodGet:
		q.config = unescaped(rest[0])
		is(http.MethodGet, names.pushGet)
	case len(rest) == 1:
		q.config = unescaped(rest[0])
		is(http.MethodDelete, names.pushDelete)
	}
}

func unescaped(segment string) string {
	if s, err := url.PathUnescape(segment); err == nil {
		return s
	}
	return segment
}

// params are those that JSON-RPC would have, but for the messages of 0.x, which are the proto's.
func (q restRoute) params(body string, query url.Values) (json.RawMessage, error) {
	p := map[string]any{}
	if strings.TrimSpace(body) != "" && q.takesBody {
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			return nil, err
		}
	}
	put := func(name, value string) {
		if value != "" {
			p[name] = value
		}
	}
	put("tenant", query.Get("tenant"))
	put("tenant", q.tenant)
	if n, err := strconv.Atoi(query.Get("historyLength")); err == nil {
		p["historyLength"] = n
	}
	switch {
	case q.method == restNames03.pushSet:
		config, _ := p["config"].(map[string]any)
		p = map[string]any{"pushNotificationConfig": config["pushNotificationConfig"], "taskId": q.task}
	case q.generation == V10 && (q.config != "" || q.method == restNames10.pushSet || q.method == restNames10.pushList):
		put("taskId", q.task)
		put("id", q.config)
	default:
		put("id", q.task)
		put("pushNotificationConfigId", q.config)
	}
	return json.Marshal(p)
}

// rest writes answers without an envelope, and errors as HTTP has them.
type rest struct {
	w          http.ResponseWriter
	c          *Config
	method     string
	generation Generation
}

func (b rest) answer(result any, e *rpcError) {
	kind := "application/json"
	if b.generation == V10 {
		kind = "application/a2a+json"
	}
	kind = b.c.RPC.mediaType(kind)
	switch {
	case e != nil:
		b.fail(kind, e)
	case result == nil:
		b.w.WriteHeader(http.StatusNoContent)
	default:
		writeJSON(b.w, kind, b.success(), result)
	}
}

func (b rest) success() int {
	switch {
	case !b.c.REST.Created:
	case b.method == restNames03.send:
		return http.StatusCreated
	case b.method == restNames03.cancel:
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (b rest) header(name, value string) { b.w.Header().Set(name, value) }

func (b rest) stream(c StreamConfig) sink {
	return &sse{w: b.w, c: c, frame: func(result any, e *rpcError) any {
		if e != nil {
			return b.errorBody(e)
		}
		return result
	}}
}

func (b rest) fail(kind string, e *rpcError) {
	status := b.status(e.Code)
	switch b.c.REST.Errors {
	case "bare":
		http.Error(b.w, http.StatusText(status), status)
		return
	case "problem":
		kind = "application/problem+json"
	}
	writeJSON(b.w, kind, status, b.errorBody(e))
}

// restStatuses of JSON-RPC's codes in 1.0.1, and those that 1.0.0 and 0.3 have in their place; every other code is a 400.
var restStatuses = map[int][2]int{
	-32001: {404, 404}, -32002: {400, 409}, -32005: {400, 415}, -32006: {500, 502}, -32603: {500, 500}, -32000: {500, 500},
	-32601: {501, 501}, -31401: {401, 401}, -31403: {403, 403},
}

func (b rest) status(code int) int {
	if b.c.RPC.ErrorStatus != 0 {
		return b.c.RPC.ErrorStatus
	}
	both, ok := restStatuses[code]
	switch {
	case !ok:
		return http.StatusBadRequest
	case b.c.REST.OldStatus || b.generation != V10:
		return both[1]
	}
	return both[0]
}

// errorBody is an error in the generation's form, or in the one that the quirk wants.
func (b rest) errorBody(e *rpcError) any {
	status := b.status(e.Code)
	switch b.c.REST.Errors {
	case "message":
		return map[string]any{"message": e.Message}
	case "problem":
		return map[string]any{
			"type":  "https://a2a-protocol.org/errors/" + strings.ReplaceAll(strings.ToLower(errorReasons[e.Code]), "_", "-"),
			"title": e.Message, "status": status,
		}
	}
	if b.generation != V10 {
		return map[string]any{"code": e.Code, "message": e.Message}
	}
	inner := map[string]any{"code": status, "status": rpcStatuses[status], "message": e.Message}
	switch {
	case b.c.REST.Errors == "status":
	case e.Data != nil:
		inner["details"] = e.Data
	case restReasons[e.Code] != "":
		inner["details"] = errorInfo(restReasons[e.Code])
	}
	return map[string]any{"error": inner}
}

// restReasons are those of JSON-RPC's own codes, which a REST server has to put into words.
var restReasons = map[int]string{
	-32700: "PARSE_ERROR", -32600: "INVALID_REQUEST", -32601: "METHOD_NOT_FOUND", -32602: "INVALID_PARAMS", -32603: "INTERNAL_ERROR",
}

// rpcStatuses are the names that google.rpc.Status has for what lies behind an HTTP status.
var rpcStatuses = map[int]string{
	400: "FAILED_PRECONDITION", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	415: "INVALID_ARGUMENT", 500: "INTERNAL", 501: "UNIMPLEMENTED", 502: "INTERNAL",
}

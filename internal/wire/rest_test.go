package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// restOf is an HTTP+JSON client of a test server.
func restOf(t testing.TB, url string, e Endpoint, o Options) Peer {
	t.Helper()
	e.URL = mustURL(t, url)
	p, err := Open(newTestClient(t, o), BindingHTTPJSON, e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// restAsked writes a request down in one line: method, path and query, what headers of ours say, and the body.
func restAsked(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	line := []string{r.Method, r.URL.RequestURI()}
	for _, h := range []string{"A2A-Version", "Accept", "Content-Type"} {
		if v := r.Header.Get(h); v != "" {
			line = append(line, v)
		}
	}
	return strings.TrimSpace(strings.Join(line, " ") + " " + string(b))
}

const restTask = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}`

// Every question has its path, its method and its body in each generation. The interface's own path and query are kept.
func TestPathsAndBodiesOfHTTPJSON(t *testing.T) {
	var got []string
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, restAsked(r))
		write(w, restTask)
	})
	n := 2
	hook := PushConfig{ID: "p1", URL: "https://us.test/hook", Token: "tok", Scheme: "Bearer", Credentials: "c"}
	m := Message{MessageID: "m1", TaskID: "t1", Parts: []Part{{Text: "ping"}}}
	const unary, stream = "application/a2a+json, application/json", "text/event-stream"
	want10 := func(at, tenant, query string) []string {
		body := strings.ReplaceAll(`{"message":{"messageId":"m1","parts":[{"text":"ping"}],"role":"ROLE_USER","taskId":"t1"}TENANT}`, "TENANT", tenant)
		empty := strings.ReplaceAll("{"+tenant+"}", "{,", "{")
		return []string{
			"POST " + at + "/message:send" + query + " 1.0 " + unary + " application/json " + body,
			"POST " + at + "/message:stream" + query + " 1.0 " + stream + " application/json " + body,
			"GET " + at + "/tasks/t1" + query + " 1.0 " + unary,
			"GET " + at + "/tasks/a%2Fb%20c%3F" + strings.Replace("?"+strings.TrimPrefix(query+"&historyLength=2", "?"), "?&", "?", 1) + " 1.0 " + unary,
			"POST " + at + "/tasks/t1:cancel" + query + " 1.0 " + unary + " application/json " + empty,
			"POST " + at + "/tasks/t1:subscribe" + query + " 1.0 " + stream + " application/json " + empty,
			"POST " + at + "/tasks/t1/pushNotificationConfigs" + query + " 1.0 " + unary +
				` application/json {"authentication":{"credentials":"c","scheme":"Bearer"},"id":"p1","taskId":"t1"` + tenant +
				`,"token":"tok","url":"https://us.test/hook"}`,
			"DELETE " + at + "/tasks/t1/pushNotificationConfigs/p1" + query + " 1.0 " + unary,
			"GET " + at + "/extendedAgentCard" + query + " 1.0 " + unary,
			"POST " + at + "/message:send" + query + " 1.0 " + unary + " application/json " + empty,
		}
	}
	const body03 = `{"configuration":{"acceptedOutputModes":["text/plain","application/json"],"blocking":true},` +
		`"message":{"content":[{"text":"ping"}],"messageId":"m1","role":"ROLE_USER","taskId":"t1"}}`
	want03 := []string{
		"POST /v1/message:send " + unary + " application/json " + body03,
		"POST /v1/message:stream " + stream + " application/json " + body03,
		"GET /v1/tasks/t1 " + unary,
		"GET /v1/tasks/a%2Fb%20c%3F?historyLength=2 " + unary,
		"POST /v1/tasks/t1:cancel " + unary + " application/json {}",
		"POST /v1/tasks/t1:subscribe " + stream + " application/json {}",
		"POST /v1/tasks/t1/pushNotificationConfigs " + unary + ` application/json {"config":{"pushNotificationConfig":` +
			`{"authentication":{"credentials":"c","schemes":["Bearer"]},"id":"p1","token":"tok","url":"https://us.test/hook"}},` +
			`"configId":"p1","parent":"tasks/t1"}`,
		"DELETE /v1/tasks/t1/pushNotificationConfigs/p1 " + unary,
		"GET /v1/card " + unary,
		"POST /v1/message:send " + unary + " application/json {}",
	}
	for name, tc := range map[string]struct {
		at   string
		e    Endpoint
		want []string
	}{
		"1.0": {"/", Endpoint{Generation: V10}, want10("", "", "")},
		"1.0 below a path, with a query of its own": {"/agents/one/?key=1", Endpoint{Generation: V10}, want10("/agents/one", "", "?key=1")},
		"1.0 with a tenant":                         {"/a", Endpoint{Generation: V10, Tenant: "acme"}, want10("/a/acme", `,"tenant":"acme"`, "")},
		"1.0 with a tenant of several segments":     {"/a", Endpoint{Generation: V10, Tenant: "x/y z"}, want10("/a/x/y%20z", `,"tenant":"x/y z"`, "")},
		"1.0 with a tenant that would lead out":     {"/a", Endpoint{Generation: V10, Tenant: "../b"}, want10("/a", `,"tenant":"../b"`, "")},
		"a generation that nobody named":            {"", Endpoint{}, want10("", "", "")},
		"0.3":                                       {"/", Endpoint{Generation: V03, Tenant: "acme"}, want03},
		"0.2 speaks as 0.3 does, from 0.2.5 on":     {"", Endpoint{Generation: V02}, want03},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			ctx := within(t, 5*time.Second)
			p := restOf(t, srv.URL+tc.at, tc.e, Options{})
			_, e1 := p.Send(ctx, m, SendConfig{})
			_, e2 := p.SendStream(ctx, m, SendConfig{})
			_, e3 := p.GetTask(ctx, "t1", nil)
			_, e4 := p.GetTask(ctx, "a/b c?", &n)
			_, e5 := p.CancelTask(ctx, "t1")
			_, e6 := p.Resubscribe(ctx, "t1")
			_, e7 := p.SetPushConfig(ctx, "t1", hook)
			_, e8 := p.DeletePushConfig(ctx, "t1", "p1")
			_, e9 := p.ExtendedCard(ctx)
			_, e10 := p.Ping(ctx)
			if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The parts and the configuration of 0.3 are those of its proto.
func TestMessagesOf03InProtoJSON(t *testing.T) {
	now, n := true, 3
	m := Message{MessageID: "m1", ContextID: "c1", Metadata: map[string]any{"k": "v"},
		Parts: []Part{{Text: "a"}, {Data: json.RawMessage(`{"x":1}`)}, {Raw: []byte("hi"), MediaType: "image/png"}}}
	cfg := SendConfig{ReturnImmediately: &now, HistoryLength: &n, AcceptedOutput: []string{"text/html"},
		Push: &PushConfig{URL: "https://us.test/", Scheme: "Bearer"}}
	want := `{"configuration":{"acceptedOutputModes":["text/html"],"blocking":false,"historyLength":3,` +
		`"pushNotification":{"authentication":{"schemes":["Bearer"]},"url":"https://us.test/"}},` +
		`"message":{"content":[{"text":"a"},{"data":{"data":{"x":1}}},{"file":{"fileWithBytes":"aGk=","mimeType":"image/png"}}],` +
		`"contextId":"c1","messageId":"m1","metadata":{"k":"v"},"role":"ROLE_USER"}}`
	if diff := cmp.Diff(want, asJSON(t, Endpoint{Generation: V03}.restSend(m, cfg))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// 0.1 has no such binding, and no path holds an id that would lead elsewhere: nothing is sent.
func TestWhatHTTPJSONCannotAsk(t *testing.T) {
	srv := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	ctx := within(t, 5*time.Second)
	old := restOf(t, srv.URL, Endpoint{Generation: V01}, Options{})
	if _, err := old.GetTask(ctx, "t1", nil); !errors.Is(err, ErrNoSuchMethod) {
		t.Errorf("0.1: %v", err)
	}
	p := restOf(t, srv.URL, Endpoint{Generation: V10}, Options{})
	for _, id := range []string{"", ".", ".."} {
		_, err := p.GetTask(ctx, id, nil)
		wantClass(t, err, ClassOrigin)
		_, err = p.DeletePushConfig(ctx, "t1", id)
		wantClass(t, err, ClassOrigin)
		_, err = p.Resubscribe(ctx, id)
		wantClass(t, err, ClassOrigin)
	}
}

// Errors get the JSON-RPC code of the same meaning, the reason first, a code of JSON-RPC second, the status last and only where it accuses
// nobody. What is not the protocol's word stays an *Error.
func TestErrorsOfHTTPJSON(t *testing.T) {
	google := func(status int, word, reason string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"status":%q,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.Help"},`+
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"a2a-protocol.org"}]}}`, status, word, reason)
	}
	const get, send, cancel = "get", "send", "cancel"
	type want struct {
		code   int
		reason string
		class  Class
	}
	for name, tc := range map[string]struct {
		what   string
		status int
		body   string
		want   want
	}{
		"1.0: TASK_NOT_FOUND":                           {get, 404, google(404, "NOT_FOUND", "TASK_NOT_FOUND"), want{-32001, "TASK_NOT_FOUND", ""}},
		"a reason counts on any path and status":        {send, 418, google(418, "X", "TASK_NOT_FOUND"), want{-32001, "TASK_NOT_FOUND", ""}},
		"1.0.1: not cancelable is a 400":                {cancel, 400, google(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"), want{-32002, "TASK_NOT_CANCELABLE", ""}},
		"1.0.0: and a 409":                              {cancel, 409, google(409, "ABORTED", "TASK_NOT_CANCELABLE"), want{-32002, "TASK_NOT_CANCELABLE", ""}},
		"an explicit refusal":                           {send, 400, google(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"), want{-32004, "UNSUPPORTED_OPERATION", ""}},
		"an explicit refusal with 501":                  {send, 501, google(501, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"), want{-32004, "UNSUPPORTED_OPERATION", ""}},
		"push refused":                                  {send, 400, google(400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"), want{-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", ""}},
		"no extended card":                              {get, 400, google(400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"), want{-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""}},
		"version refused":                               {get, 400, google(400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"), want{-32009, "VERSION_NOT_SUPPORTED", ""}},
		"internal error":                                {send, 500, google(500, "INTERNAL", "INTERNAL_ERROR"), want{-32603, "INTERNAL_ERROR", ""}},
		"401 in the SDK's words":                        {get, 401, google(401, "UNAUTHENTICATED", "UNAUTHENTICATED"), want{-31401, "UNAUTHENTICATED", ""}},
		"1.0.0: problem details":                        {get, 404, `{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task not found","status":404}`, want{-32001, "TASK_NOT_FOUND", ""}},
		"0.3: a code":                                   {get, 404, `{"code":-32001,"message":"Task not found"}`, want{-32001, "", ""}},
		"0.3: a refusal":                                {send, 400, `{"code":-32004,"message":"no"}`, want{-32004, "", ""}},
		"0.3: a code in a 500":                          {send, 500, `{"code":-32603,"message":"no"}`, want{-32603, "", ""}},
		"a code inside an error member":                 {get, 404, `{"error":{"code":-32001,"message":"no"}}`, want{-32001, "", ""}},
		"a code in words":                               {get, 404, `{"error":{"code":"TaskNotFoundError","message":"no"}}`, want{-32001, "TASK_NOT_FOUND", ""}},
		"the reason wins over the code":                 {get, 400, `{"code":-32603,"data":[{"reason":"TASK_NOT_FOUND"}]}`, want{-32001, "TASK_NOT_FOUND", ""}},
		"a reason of a gateway's own is none":           {get, 404, google(404, "NOT_FOUND", "SERVICE_DISABLED"), want{codeUnclear, "", ""}},
		"404 about a task without a reason is unclear":  {get, 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"Task t1 not found"}}`, want{codeUnclear, "", ""}},
		"so is a mere text":                             {get, 404, `{"message":"Task not found"}`, want{codeUnclear, "", ""}},
		"409 to a cancel needs no reason":               {cancel, 409, `{"message":"Task cannot be canceled"}`, want{-32002, "", ""}},
		"409 elsewhere is unclear":                      {send, 409, `{"message":"Busy with another"}`, want{codeUnclear, "", ""}},
		"400 with JSON is unclear":                      {send, 400, `{"detail":"bad"}`, want{codeUnclear, "", ""}},
		"422 of a framework is unclear":                 {send, 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, want{codeUnclear, "", ""}},
		"404 about messages is a missing path":          {send, 404, `{"message":"Task not found"}`, want{class: ClassRoute}},
		"404 in a framework's words":                    {get, 404, `{"detail":"Not Found"}`, want{class: ClassRoute}},
		"404 in another's":                              {get, 404, `{"statusCode":404,"message":"Cannot GET /tasks/t1","error":"Not Found"}`, want{class: ClassRoute}},
		"404 in a third's":                              {get, 404, `{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.5","title":"Not Found","status":404}`, want{class: ClassRoute}},
		"404 in a gateway's":                            {get, 404, `{"message":"Not Found"}`, want{class: ClassRoute}},
		"404 as a page":                                 {get, 404, `<!doctype html>`, want{class: ClassRoute}},
		"404 without a body":                            {get, 404, ``, want{class: ClassRoute}},
		"405":                                           {send, 405, `{"detail":"Method Not Allowed"}`, want{class: ClassRoute}},
		"501 without a reason":                          {send, 501, `{"message":"not here"}`, want{class: ClassRoute}},
		"401 in a gateway's words":                      {get, 401, `{"message":"Unauthorized"}`, want{class: ClassStatus}},
		"403":                                           {get, 403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, want{class: ClassStatus}},
		"429":                                           {send, 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`, want{class: ClassStatus}},
		"500 without a reason":                          {send, 500, `{"error":{"code":500,"status":"INTERNAL","message":"m"}}`, want{class: ClassStatus}},
		"503 of a gateway with a code of its own":       {send, 503, `{"code":-1,"message":"no healthy upstream"}`, want{class: ClassStatus}},
		"an answer of JSON-RPC is none of this binding": {send, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"m"}}`, want{class: ClassStatus}},
		"an array":                                      {send, 400, `[{"code":-32004}]`, want{class: ClassStatus}},
		"half a body":                                   {send, 400, `{"code":-32004`, want{class: ClassStatus}},
		"a byte order mark before an error":             {get, 404, "\ufeff" + `{"code":-32001}`, want{-32001, "", ""}},
		"200 with an error":                             {send, 200, `{"error":{"code":400,"details":[{"reason":"UNSUPPORTED_OPERATION"}]}}`, want{-32004, "UNSUPPORTED_OPERATION", ""}},
		"a reason of somebody else's domain":            {send, 400, `{"error":{"code":400,"details":[{"reason":"UNSUPPORTED_OPERATION","domain":"cloud.test"}]}}`, want{codeUnclear, "", ""}},
		"200 with an error that says nothing":           {send, 200, `{"error":{"message":"no"}}`, want{codeUnclear, "", ""}},
		"200 with nothing of ours":                      {send, 200, `{"ok":true}`, want{class: ClassMalformed}},
		"200 with an error of JSON-RPC":                 {send, 200, `{"jsonrpc":"2.0","error":{"code":-32601}}`, want{class: ClassMalformed}},
		"200 with a page":                               {send, 200, `<html>`, want{class: ClassMalformed}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.status)
				write(w, tc.body)
			})
			p := restOf(t, srv.URL, Endpoint{Generation: V10}, Options{})
			ask := map[string]func(context.Context) (*Answer, error){
				send:   func(ctx context.Context) (*Answer, error) { return p.Send(ctx, ping, SendConfig{}) },
				get:    func(ctx context.Context) (*Answer, error) { return p.GetTask(ctx, "t1", nil) },
				cancel: func(ctx context.Context) (*Answer, error) { return p.CancelTask(ctx, "t1") },
			}[tc.what]
			a, err := ask(within(t, 5*time.Second))
			if tc.want.class != "" {
				if e := wantClass(t, err, tc.want.class); tc.status != 200 && e.Status != tc.status {
					t.Errorf("status %d", e.Status)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if a.Kind != KindError || a.Err == nil || a.Err.Code != tc.want.code || a.Err.Reason != tc.want.reason || a.Status != tc.status {
				t.Errorf("%s %+v, status %d", a.Kind, a.Err, a.Status)
			}
		})
	}
}

// Results are read in whatever shape, and what is not the generation's is noted.
func TestResultsOfHTTPJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		g    Generation
		body string
		want string
	}{
		"1.0":                                    {V10, `{"task":` + restTask + `}`, "task t1 TASK_STATE_WORKING 1.0 []"},
		"1.0, a message":                         {V10, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"pong"}]}}`, "message   1.0 []"},
		"0.3 has unions and names like 1.0":      {V03, `{"task":` + restTask + `}`, "task t1 TASK_STATE_WORKING 0.3 []"},
		"0.3, with its proto's L":                {V03, `{"task":{"id":"t1","status":{"state":"TASK_STATE_CANCELLED"}}}`, "task t1 TASK_STATE_CANCELLED 0.3 []"},
		"0.3, a message has content":             {V03, `{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"pong"}]}}`, "message   0.3 []"},
		"0.3, by the names of the proto":         {V03, `{"status_update":{"task_id":"t1","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}}`, "status t1 TASK_STATE_WORKING 0.3 []"},
		"0.3, in the shape of its JSON-RPC":      {V03, task, "task t1 completed 0.3 [StateSpelling]"},
		"1.0, and the old shape comes":           {V10, task, "task t1 completed 0.3 [ResultShapeMismatch StateSpelling]"},
		"1.0, and a bare task comes":             {V10, restTask, "task t1 TASK_STATE_WORKING 1.0 [ResultShapeMismatch]"},
		"an envelope all the same":               {V10, `{"jsonrpc":"2.0","id":"x","result":{"task":` + restTask + `}}`, "task t1 TASK_STATE_WORKING 1.0 [ResultShapeMismatch]"},
		"a number for a state":                   {V10, `{"task":{"id":"t1","status":{"state":2}}}`, "task t1 2 1.0 [NumericEnum]"},
		"a task with an error among its members": {V10, `{"task":` + restTask + `,"error":{"code":-32603}}`, "task t1 TASK_STATE_WORKING 1.0 []"},
		"two members":                            {V10, `{"task":` + restTask + `,"message":{"role":"ROLE_AGENT"}}`, "task t1 TASK_STATE_WORKING 1.0 [TwoMembers]"},
		"a frame where an answer was asked for":  {V10, "data: {\"task\":" + restTask + "}\n\n", "task t1 TASK_STATE_WORKING 1.0 [ResultShapeMismatch]"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				write(w, tc.body)
			})
			a, err := restOf(t, srv.URL, Endpoint{Generation: tc.g}, Options{}).Send(within(t, 5*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s %s %s %s %v", a.Kind, a.TaskID, a.RawState, a.Shape, a.Problems); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Streams are read by the code that reads those of JSON-RPC: frames hold the event itself, and an error may end them in several forms.
func TestStreamsOfHTTPJSON(t *testing.T) {
	const begun = `{"task":` + restTask + `}`
	const over = `{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`
	for name, tc := range map[string]struct {
		g         Generation
		mediaType string
		body      string
		want      string
	}{
		"1.0": {V10, "text/event-stream", "data: " + begun + "\n\ndata: " + over + "\n\n", "task status"},
		"a byte order mark, comments, CRLF and an id": {V10, "text/event-stream",
			"\ufeff: hi\r\nid: 1\r\ndata: " + begun + "\r\n\r\ndata: " + over + "\r\n\r\n", "task status"},
		"one event a line":       {V10, "application/x-ndjson", begun + "\n" + over + "\n", "task status"},
		"SSE under a wrong name": {V10, "application/json", "data: " + begun + "\n\n", "task"},
		"1.0: an error as a frame": {V10, "text/event-stream",
			"data: " + begun + "\n\n" + `data: {"error":{"code":500,"details":[{"reason":"INTERNAL_ERROR"}]}}` + "\n\n", "task error-32603"},
		"0.3: an error event": {V03, "text/event-stream", "data: " + begun + "\n\nevent: error\n" + `data: {"code":-32603,"message":"m"}` + "\n\n",
			"task error-32603"},
		"an error event of a mere text": {V03, "text/event-stream", "event: error\ndata: {\"message\":\"m\"}\n\n", "error-32000"},
		"a frame that is no JSON":       {V10, "text/event-stream", "data: {\n\ndata: " + over + "\n\n", "other+MalformedEvent status"},
		"an envelope in a frame":        {V10, "text/event-stream", `data: {"jsonrpc":"2.0","id":1,"result":` + over + "}\n\n", "status+ResultShapeMismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.mediaType)
				write(w, tc.body)
			})
			s, err := restOf(t, srv.URL, Endpoint{Generation: tc.g}, Options{}).SendStream(within(t, 5*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range all(t, s) {
				word := string(e.Kind)
				if e.Err != nil {
					word += fmt.Sprint(e.Err.Code)
				}
				for _, p := range e.Problems {
					word += "+" + string(p)
				}
				got = append(got, word)
			}
			if strings.Join(got, " ") != tc.want || s.End() != EndOrderly {
				t.Errorf("%v %s, want %s", got, s.End(), tc.want)
			}
		})
	}
}

// A status update of 0.3 that says nothing about its end says that it is none: ProtoJSON leaves false out.
func TestFinalIsFalseWhereProtoJSONLeavesItOut(t *testing.T) {
	for body, want := range map[string]bool{
		`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_WORKING"}}}`:                false,
		`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"},"final":true}}`: true,
	} {
		e := readEvent([]byte(body), expect{generation: V03, rest: true, proto: true, stream: true})
		if e.Final == nil || *e.Final != want {
			t.Errorf("%s: final %v, want %t", body, e.Final, want)
		}
	}
	if e := readEvent([]byte(`{"statusUpdate":{"taskId":"t1","status":{"state":2}}}`), expect{generation: V10, rest: true, proto: true}); e.Final != nil {
		t.Error("1.0 has no final")
	}
}

// rules is a server that remembers what it was asked.
type rules struct {
	mu    sync.Mutex
	asked []string
}

func (l *rules) serve(t testing.TB, answer func(r *http.Request) (int, string)) string {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.asked = append(l.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")))
		l.mu.Unlock()
		status, body := answer(r)
		w.WriteHeader(status)
		write(w, body)
	})
	return srv.URL
}

// A question is put in another way where the first is not known there, and only then.
func TestAskingHTTPJSONInAnotherWay(t *testing.T) {
	const notFound = `{"error":{"code":404,"status":"NOT_FOUND","details":[{"reason":"TASK_NOT_FOUND"}]}}`
	subscribe := func(ctx context.Context, p Peer) (*Answer, error) {
		s, err := p.Resubscribe(ctx, "t1")
		if err != nil {
			return nil, err
		}
		s.Close()
		return s.Unary, nil
	}
	send := func(ctx context.Context, p Peer) (*Answer, error) { return p.Send(ctx, ping, SendConfig{}) }
	cancel := func(ctx context.Context, p Peer) (*Answer, error) { return p.CancelTask(ctx, "t1") }
	for name, tc := range map[string]struct {
		tenant string
		ask    func(context.Context, Peer) (*Answer, error)
		answer func(*http.Request) (int, string)
		want   []string
		err    Class
	}{
		"subscribe by GET where POST is not known": {"", subscribe, func(r *http.Request) (int, string) {
			if r.Method == "POST" {
				return 405, `{"detail":"Method Not Allowed"}`
			}
			return 200, `{"task":` + restTask + `}`
		}, []string{"POST /tasks/t1:subscribe application/json", "GET /tasks/t1:subscribe"}, ""},
		"an answer to POST is the answer": {"", subscribe, func(*http.Request) (int, string) { return 404, notFound },
			[]string{"POST /tasks/t1:subscribe application/json"}, ""},
		"neither is known": {"", subscribe, func(*http.Request) (int, string) { return 404, "" },
			[]string{"POST /tasks/t1:subscribe application/json", "GET /tasks/t1:subscribe"}, ClassRoute},
		"no tenant in paths": {"acme", cancel, func(r *http.Request) (int, string) {
			if strings.HasPrefix(r.URL.Path, "/acme/") {
				return 404, "404 page not found"
			}
			return 200, restTask
		}, []string{"POST /acme/tasks/t1:cancel application/json", "POST /tasks/t1:cancel?tenant=acme application/json"}, ""},
		"a task that is not there is not looked for without the tenant": {"acme", cancel, func(*http.Request) (int, string) { return 404, notFound },
			[]string{"POST /acme/tasks/t1:cancel application/json"}, ""},
		"bodies by 1.0.1's name": {"", send, func(r *http.Request) (int, string) {
			if r.Header.Get("Content-Type") != "application/a2a+json" {
				return 415, ""
			}
			return 200, `{"task":` + restTask + `}`
		}, []string{"POST /message:send application/json", "POST /message:send application/a2a+json"}, ""},
		"content that is refused by any name": {"", send, func(*http.Request) (int, string) {
			return 400, `{"error":{"code":400,"details":[{"reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}`
		}, []string{"POST /message:send application/json", "POST /message:send application/a2a+json"}, ""},
		"a failing server is asked once": {"acme", send, func(*http.Request) (int, string) { return 503, "" },
			[]string{"POST /acme/message:send application/json"}, ClassStatus},
		"a missing path is asked once": {"", send, func(*http.Request) (int, string) { return 404, "" },
			[]string{"POST /message:send application/json"}, ClassRoute},
	} {
		t.Run(name, func(t *testing.T) {
			var l rules
			p := restOf(t, l.serve(t, tc.answer), Endpoint{Generation: V10, Tenant: tc.tenant}, Options{})
			_, err := tc.ask(within(t, 5*time.Second), p)
			if tc.err != "" {
				wantClass(t, err, tc.err)
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, l.asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An empty answer is all that a deletion needs, and the config's id is found in either generation's form.
func TestPushConfigsOfHTTPJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		g    Generation
		body string
		id   string
	}{
		"1.0":                          {V10, `{"id":"p1","taskId":"t1","url":"u"}`, "p1"},
		"0.3":                          {V03, `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"id":"p1","url":"u"}}`, "p1"},
		"0.3, named by its path alone": {V03, `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"url":"u"}}`, "p1"},
		"no id":                        {V10, `{"url":"u"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				write(w, tc.body)
			})
			ctx := within(t, 5*time.Second)
			p := restOf(t, srv.URL, Endpoint{Generation: tc.g}, Options{})
			a, err := p.SetPushConfig(ctx, "t1", PushConfig{URL: "u"})
			if err != nil {
				t.Fatal(err)
			}
			if a.Kind != KindConfig || a.ConfigID != tc.id {
				t.Errorf("%s %q", a.Kind, a.ConfigID)
			}
			if a, err = p.DeletePushConfig(ctx, "t1", "p1"); err != nil || a.Kind != KindOther || a.Err != nil {
				t.Errorf("delete: %v %v", a, err)
			}
		})
	}
}

// Limits, redirects, credentials and the trace are those of every exchange.
func TestHTTPJSONIsCarriedLikeEverythingElse(t *testing.T) {
	ctx := within(t, 10*time.Second)
	t.Run("a body without end", func(t *testing.T) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, `{"task":"`+strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		})
		p := restOf(t, srv.URL, Endpoint{Generation: V10}, Options{Limits: Limits{BodyBytes: 64 << 10}})
		_, err := p.Send(ctx, ping, SendConfig{})
		wantClass(t, err, ClassTooLarge)
	})
	t.Run("a redirect, whether or not it keeps the method", func(t *testing.T) {
		for _, status := range []int{http.StatusPermanentRedirect, http.StatusFound} {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new"+r.URL.Path, status) })
			_, err := restOf(t, srv.URL, Endpoint{Generation: V10}, Options{}).CancelTask(ctx, "t1")
			wantClass(t, err, ClassRedirect)
		}
	})
	t.Run("the trace and the credential", func(t *testing.T) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, "data: {\"task\":"+restTask+"}\n\n")
		})
		var mu sync.Mutex
		var got []string
		p := restOf(t, srv.URL, Endpoint{Generation: V10}, Options{
			Credentials: Credentials{Header: "Authorization", Value: "Bearer s3cret", Origins: []string{srv.URL}},
			Trace: func(x Exchange) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf("%s %s %d %d frames %s %v", x.Method, strings.TrimPrefix(x.URL, srv.URL), x.Status, len(x.Frames), x.End,
					x.Request.Get("Authorization")))
			},
		})
		s, err := p.SendStream(ctx, ping, SendConfig{})
		if err != nil {
			t.Fatal(err)
		}
		all(t, s)
		s.End()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"POST /message:stream 200 1 frames end "}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(text string, g Generation, how string) Event {
	return readEvent([]byte(text), expect{generation: g, id: value(`"p1"`), bare: how == "get", stream: how == "stream"})
}

func result(r string) string { return `{"jsonrpc":"2.0","id":"p1","result":` + r + `}` }

func TestEnvelopeReadsEveryShape(t *testing.T) {
	yes, no := true, false
	at := time.Date(2026, 8, 12, 10, 0, 2, 0, time.UTC)
	for name, tc := range map[string]struct {
		text string
		g    Generation
		how  string
		want Event
	}{
		"1.0 wrapped task": {
			result(`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-08-12T10:00:02Z"}}}`), V10, "send",
			Event{Kind: KindTask, TaskID: "t1", ContextID: "c1", RawState: "TASK_STATE_SUBMITTED", Timestamp: at, History: -1, Shape: V10},
		},
		"1.0 wrapped message": {
			result(`{"message":{"messageId":"r1","contextId":"c1","role":"ROLE_AGENT","parts":[{"text":"pong"}]}}`), V10, "send",
			Event{Kind: KindMessage, MessageID: "r1", ContextID: "c1", Parts: 1, History: -1, Shape: V10},
		},
		"1.0 status update with a field of 0.3 (C76)": {
			result(`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"hm"}]}},"final":false,"x-vendor":1}}`),
			V10, "stream",
			Event{Kind: KindStatus, TaskID: "t1", RawState: "TASK_STATE_WORKING", Final: &no, Parts: 1, History: -1, Shape: V10},
		},
		"1.0 artifact update": {
			result(`{"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":"a","parts":[{"text":"x"},{"text":"y"}]},"append":true}}`), V10, "stream",
			Event{Kind: KindArtifact, TaskID: "t1", Parts: 2, History: -1, Shape: V10},
		},
		"1.0 with a kind beside its member: the member wins": {
			result(`{"kind":"status-update","statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_WORKING"},"kind":"task"}}`), V10, "stream",
			Event{Kind: KindStatus, TaskID: "t1", RawState: "TASK_STATE_WORKING", History: -1, Shape: V10},
		},
		"1.0 GetTask with a kind": {
			result(`{"kind":"task","id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}`), V10, "get",
			Event{Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_COMPLETED", History: -1, Shape: V10},
		},
		"1.0 GetTask is bare": {
			result(`{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"},"history":[{},{}],"artifacts":[{"parts":[{}]},{"parts":[{},{}]}]}`), V10, "get",
			Event{Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_COMPLETED", Parts: 3, ArtifactBytes: 11, History: 2, Shape: V10},
		},
		"1.0 GetTask wrapped is read and noted": {
			result(`{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`), V10, "get",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_COMPLETED", History: -1, Shape: V10,
				Problems: []Problem{ProblemShape},
			},
		},
		"1.0 SendMessage with a bare task is read and noted (C40)": {
			result(`{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}`), V10, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_COMPLETED", History: -1, Shape: V10,
				Problems: []Problem{ProblemShape},
			},
		},
		"1.0 interface that speaks 0.3 (C37)": {
			result(`{"kind":"task","id":"t1","status":{"state":"completed"}}`), V10, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "completed", History: -1, Shape: V03,
				Problems: []Problem{ProblemShape, ProblemStateSpelling},
			},
		},
		"1.0 bare message is read and noted": {
			result(`{"messageId":"r1","role":"ROLE_AGENT","parts":[{"text":"x"}]}`), V10, "send",
			Event{Kind: KindMessage, MessageID: "r1", Parts: 1, History: -1, Shape: V10, Problems: []Problem{ProblemShape}},
		},
		"1.0 message without parts (C08)": {
			result(`{"message":{"messageId":"r1","role":"ROLE_AGENT","parts":[]}}`), V10, "stream",
			Event{Kind: KindMessage, MessageID: "r1", History: -1, Shape: V10, Problems: []Problem{ProblemEmptyParts}},
		},
		"1.0 numeric state": {
			result(`{"task":{"id":"t1","status":{"state":3}}}`), V10, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "3", History: -1, Shape: V10, Problems: []Problem{ProblemNumericEnum}},
		},
		"1.0 state in British spelling": {
			result(`{"task":{"id":"t1","status":{"state":"TASK_STATE_CANCELLED"}}}`), V10, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_CANCELLED", History: -1, Shape: V10,
				Problems: []Problem{ProblemStateSpelling},
			},
		},
		"1.0 union with two members prefers the task": {
			result(`{"message":{"role":"ROLE_AGENT","parts":[{}]},"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`), V10, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_WORKING", History: -1, Shape: V10,
				Problems: []Problem{ProblemTwoMembers},
			},
		},
		"0.3 task": {
			result(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"},"history":[]}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", ContextID: "c1", RawState: "working", Shape: V03},
		},
		"0.2 has the shape of 0.3": {
			result(`{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}`), V02, "stream",
			Event{Kind: KindStatus, TaskID: "t1", ContextID: "c1", RawState: "completed", Final: &yes, History: -1, Shape: V02},
		},
		"0.3 message": {
			result(`{"kind":"message","messageId":"r1","taskId":"t1","role":"agent","parts":[{"kind":"text","text":"x"}]}`), V03, "send",
			Event{Kind: KindMessage, TaskID: "t1", MessageID: "r1", Parts: 1, History: -1, Shape: V03},
		},
		"1.0 interface that speaks 0.1": {
			result(`{"id":"t1","status":{"state":"working"}}`), V10, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V01,
				Problems: []Problem{ProblemShape, ProblemStateSpelling},
			},
		},
		"0.3 task that does not name its kind": {
			result(`{"id":"t1","status":{"state":"working"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03, Problems: []Problem{ProblemShape}},
		},
		"0.3 status update that does not name its kind": {
			result(`{"taskId":"t1","status":{"state":"working"},"final":false}`), V03, "stream",
			Event{Kind: KindStatus, TaskID: "t1", RawState: "working", Final: &no, History: -1, Shape: V03, Problems: []Problem{ProblemShape}},
		},
		"0.3 interface that speaks 1.0": {
			result(`{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`), V03, "send",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_WORKING", History: -1, Shape: V10,
				Problems: []Problem{ProblemShape, ProblemStateSpelling},
			},
		},
		"0.1 task": {
			result(`{"id":"t1","sessionId":"s1","status":{"state":"completed"},"artifacts":[{"parts":[{"type":"text","text":"x"}]}]}`), V01, "send",
			Event{Kind: KindTask, TaskID: "t1", ContextID: "s1", RawState: "completed", Parts: 1, ArtifactBytes: 28, History: -1, Shape: V01},
		},
		"0.1 status frame": {
			result(`{"id":"t1","status":{"state":"working"},"final":false}`), V01, "stream",
			Event{Kind: KindStatus, TaskID: "t1", RawState: "working", Final: &no, History: -1, Shape: V01},
		},
		"0.1 status frame without final": {
			result(`{"id":"t1","status":{"state":"working"}}`), V01, "stream",
			Event{Kind: KindStatus, TaskID: "t1", RawState: "working", History: -1, Shape: V01},
		},
		"0.1 artifact frame": {
			result(`{"id":"t1","artifact":{"parts":[{"type":"text","text":"x"}]}}`), V01, "stream",
			Event{Kind: KindArtifact, TaskID: "t1", Parts: 1, History: -1, Shape: V01},
		},
		"0.1 interface that speaks 0.3": {
			result(`{"kind":"task","id":"t1","status":{"state":"working"}}`), V01, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03, Problems: []Problem{ProblemShape}},
		},
		"a state no generation knows": {
			result(`{"kind":"task","id":"t1","status":{"state":"pondering"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "pondering", History: -1, Shape: V03},
		},
		"wrong types lose the member alone": {
			result(`{"kind":"task","id":7,"contextId":[],"status":{"state":{},"timestamp":12},"history":"none","artifacts":{}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "7", History: -1, Shape: V03},
		},
		"a time without a zone is no time": {
			result(`{"kind":"task","id":"t1","status":{"state":"working","timestamp":"2026-08-12T10:00:02.5"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03},
		},
		"a result of nobody's":  {result(`{"tools":[]}`), V03, "send", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemShape}}},
		"a null result":         {result(`null`), V03, "send", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemShape}}},
		"an id of another type": {`{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t1","status":{"state":"working"}}}`, V03, "send", Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03, Problems: []Problem{ProblemIDMismatch}}},
		"no id at all":          {`{"jsonrpc":"2.0","result":{"kind":"task","id":"t1","status":{"state":"working"}}}`, V03, "send", Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03, Problems: []Problem{ProblemIDMismatch}}},
		"no jsonrpc":            {`{"id":"p1","result":{"kind":"task","id":"t1","status":{"state":"working"}}}`, V03, "send", Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03, Problems: []Problem{ProblemNoVersion}}},
		"no envelope at all": {
			`{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, V10, "stream",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "TASK_STATE_WORKING", History: -1, Shape: V10,
				Problems: []Problem{ProblemNoVersion, ProblemShape},
			},
		},
		"a byte order mark before the JSON": {
			"\ufeff" + result(`{"kind":"task","id":"t1","status":{"state":"working"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03},
		},
		"names are escaped": {
			result(`{"\u006bind":"task","id":"t\u0031","status":{"state":"work\u0069ng"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03},
		},
		"names are compared to the letter": {
			result(`{"Kind":"message","kind":"task","id":"t1","ID":"t2","status":{"state":"working","State":"failed"}}`), V03, "send",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03},
		},
		"an error": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":-32001,"message":"secret text"}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32001}, History: -1},
		},
		"an error beside a null result": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":-32001},"result":null}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32001}, History: -1},
		},
		"a result beside a null error": {
			`{"jsonrpc":"2.0","id":"p1","error":null,"result":{"kind":"task","id":"t1","status":{"state":"working"}}}`, V03, "get",
			Event{Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03},
		},
		"an error beside a result": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":-32603},"result":{"kind":"task"}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32603}, History: -1, Problems: []Problem{ProblemTwoMembers}},
		},
		"an error without a code beside a result is outweighed": {
			`{"jsonrpc":"2.0","id":"p1","error":{},"result":{"kind":"task","id":"t1","status":{"state":"working"}}}`, V03, "get",
			Event{
				Kind: KindTask, TaskID: "t1", RawState: "working", History: -1, Shape: V03,
				Problems: []Problem{ProblemTwoMembers},
			},
		},
		"an error whose id was not read": {
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32700}, History: -1},
		},
		"an error for another request": {
			`{"jsonrpc":"2.0","id":"p2","error":{"code":-32001}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32001}, History: -1, Problems: []Problem{ProblemIDMismatch}},
		},
		"an error with the ErrorInfo of 1.0": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":-32001,"data":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`,
			V10, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32001, Reason: "TASK_NOT_FOUND"}, History: -1},
		},
		"an error whose data is an object": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":-32001,"data":{"reason":"<script>","detail":{}}}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32001}, History: -1},
		},
		"an error whose code is a text": {
			`{"jsonrpc":"2.0","id":"p1","error":{"code":"-32004","data":"no"}}`, V03, "get",
			Event{Kind: KindError, Err: &RPCError{Code: -32004}, History: -1},
		},
		"an error that is a text": {
			`{"jsonrpc":"2.0","id":"p1","error":"no"}`, V03, "get", Event{Kind: KindError, Err: &RPCError{}, History: -1},
		},
		"another protocol's error": {`{"error":"no"}`, V03, "get", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemNoVersion, ProblemShape, ProblemMalformed}}},
		"not JSON":                 {`data`, V03, "send", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemMalformed}}},
		"not an object":            {`["a"]`, V03, "send", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemMalformed}}},
		"two texts":                {`{} {}`, V03, "send", Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemMalformed}}},
		"too deep": {
			strings.Repeat(`{"result":`, 20_000) + "1" + strings.Repeat("}", 20_000), V03, "send",
			Event{Kind: KindOther, History: -1, Problems: []Problem{ProblemMalformed}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Size = len(tc.text)
			if diff := cmp.Diff(tc.want, read(tc.text, tc.g, tc.how)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyThisProtocolCountsWhereTheStatusSaysNo(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`:  true,
		`{"id":1,"error":{"code":-32601}}`:                  true,
		`{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:              true,
		`{"error":{"code":404,"status":"NOT_FOUND"}}`:       false,
		`{"error":{"message":"bad key","type":"auth"}}`:     false,
		`{"error":"unauthorized"}`:                          false,
		`{"detail":"Not Found"}`:                            false,
		`{"id":"t1","status":{"state":"failed"}}`:           false,
		`<html>`: false,
		``:       false,
		`[{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}]`:    false,
		`{"jsonrpc":"2.0","id":1,"error":"something happened"}`: false,
	} {
		if got := isProtocol([]byte(text)); got != want {
			t.Errorf("isProtocol(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestScanSeesWhatEncodingJSONSees(t *testing.T) {
	text := `{"a" : [1, "x,]}\"" , {"b":[]} , null,true ], "c":{"d":{}} ,"e":-1.5e3,"f":"\\","g":[[],[[]]], "h":""}`
	root, ok := parse([]byte(text))
	if !ok {
		t.Fatal("not parsed")
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	root.members(func(name []byte, m value) { got[string(name)] = json.RawMessage(m) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if n := root.get("a").count(); n != 5 {
		t.Errorf("count = %d, want 5", n)
	}
}

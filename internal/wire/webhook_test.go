package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Every payload shape is read, whatever was negotiated; only what is no A2A at all is told apart (wire reference 3 and 7.4).
func TestWebhookBodiesOfEveryGenerationAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		g     Generation
		body  string
		kind  Kind
		task  string
		state string
		odd   []Problem
	}{
		"1.0, a task": {V10, `{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`, KindTask, "t1", "TASK_STATE_COMPLETED", nil},
		"1.0, a status": {
			V10, `{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, KindStatus, "t1", "TASK_STATE_WORKING", nil,
		},
		"1.0, an artifact": {V10, `{"artifactUpdate":{"taskId":"t1","artifact":{"parts":[{"text":"x"}]}}}`, KindArtifact, "t1", "", nil},
		"1.0, a message":   {V10, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, KindMessage, "", "", nil},
		"1.0 that gets a bare task (C78)": {
			V10, `{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`, KindTask, "t1", "TASK_STATE_COMPLETED", []Problem{ProblemShape},
		},
		"1.0 that gets a task of 0.3 (C78)": {
			V10, `{"kind":"task","id":"t1","status":{"state":"completed"}}`, KindTask, "t1", "completed", []Problem{ProblemShape, ProblemStateSpelling},
		},
		"0.3, a bare task":         {V03, `{"kind":"task","id":"t1","status":{"state":"completed"}}`, KindTask, "t1", "completed", nil},
		"0.3, a status of its own": {V03, `{"kind":"status-update","taskId":"t1","final":true,"status":{"state":"completed"}}`, KindStatus, "t1", "completed", nil},
		"0.3 that gets 1.0's body, as one server's compatibility layer posts": {
			V03, `{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`, KindTask, "t1", "TASK_STATE_COMPLETED",
			[]Problem{ProblemShape, ProblemStateSpelling},
		},
		"0.2, a task without its kind": {V02, `{"id":"t1","contextId":"c","status":{"state":"completed"}}`, KindTask, "t1", "completed", []Problem{ProblemShape}},
		"0.1, a task":                  {V01, `{"id":"t1","sessionId":"s","status":{"state":"completed"}}`, KindTask, "t1", "completed", nil},
		"0.1, what it suggests":        {V01, `{"taskId":"t1","status":{"state":"working"}}`, KindStatus, "t1", "working", nil},
		"0.1, the mere word":           {V01, `{"taskId":"t1","status":"completed"}`, KindStatus, "t1", "completed", nil},
		"0.3 that gets the mere word":  {V03, `{"taskId":"t1","status":"completed"}`, KindStatus, "t1", "completed", []Problem{ProblemShape}},
		"an envelope of JSON-RPC around it": {
			V10, `{"jsonrpc":"2.0","result":{"task":{"id":"t1","status":{"state":"TASK_STATE_FAILED"}}}}`, KindTask, "t1", "TASK_STATE_FAILED",
			[]Problem{ProblemShape},
		},
		"a state as a number":                            {V10, `{"task":{"id":"t1","status":{"state":3}}}`, KindTask, "t1", "3", []Problem{ProblemNumericEnum}},
		"a byte order mark":                              {V10, "\ufeff" + `{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, KindTask, "t1", "TASK_STATE_WORKING", nil},
		"a validation token, as another protocol has it": {V10, `{"validationToken":"x"}`, KindOther, "", "", []Problem{ProblemShape, ProblemMalformed}},
		"half a body":                                    {V10, `{"task":{"id":"t1"`, KindOther, "", "", []Problem{ProblemMalformed}},
		"nothing":                                        {V10, ``, KindOther, "", "", []Problem{ProblemMalformed}},
		"a list":                                         {V03, `[{"id":"t1"}]`, KindOther, "", "", []Problem{ProblemMalformed}},
		"no generation":                                  {"", `{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, KindTask, "t1", "TASK_STATE_WORKING", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := ReadWebhook([]byte(tc.body), tc.g, nil, Identity{})
			if e.Kind != tc.kind || e.TaskID != tc.task || e.RawState != tc.state || !slices.Equal(e.Problems, tc.odd) {
				t.Errorf("got %s of task %q in state %q with %v, want %s %q %q %v",
					e.Kind, e.TaskID, e.RawState, e.Problems, tc.kind, tc.task, tc.state, tc.odd)
			}
		})
	}
}

// FuzzWebhook: whatever anybody posts, an event comes out that holds together.
func FuzzWebhook(f *testing.F) {
	for _, s := range []string{
		`{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`, `{"kind":"task","id":"t1","status":{"state":"completed"}}`,
		`{"taskId":"t1","status":"working"}`, `{"statusUpdate":{"taskId":"t1","status":{"state":3}}}`, `{"jsonrpc":"2.0","result":{"message":{}}}`,
		`{"artifactUpdate":null,"task":[]}`, `[]`, `{`, ``,
	} {
		f.Add([]byte(s), uint8(3))
	}
	generations := []Generation{V01, V02, V03, V10}
	f.Fuzz(func(t *testing.T, body []byte, how uint8) {
		e := ReadWebhook(body, generations[how%4], nil, Identity{})
		switch {
		case e.Kind == "" || e.Kind == KindError || e.Err != nil:
			t.Fatalf("kind %q and error %v", e.Kind, e.Err)
		case (e.Kind == KindOther) != e.Has(ProblemMalformed):
			t.Fatalf("kind %q with %v", e.Kind, e.Problems)
		case e.Kind != KindOther && e.Shape == "":
			t.Fatalf("a %s of no shape", e.Kind)
		case e.History < -1 || e.Parts < 0 || e.Size != len(body):
			t.Fatalf("history %d, parts %d, size %d", e.History, e.Parts, e.Size)
		}
	})
}

// A body as deep as it is long is not walked: validating it costs many times its size, and a peer can call often.
func TestSecurityWebhookBodiesAreNoDeeperThanAnswers(t *testing.T) {
	nested := func(levels int) []byte {
		return []byte(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"x":` +
			strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}}`)
	}
	limit := DefaultLimits().JSONDepth
	if e := ReadWebhook(nested(limit-3), V10, http.Header{}, Identity{}); e.Kind != KindStatus {
		t.Errorf("%d levels are %s", limit, e.Kind)
	}
	if e := ReadWebhook(nested(limit-2), V10, http.Header{}, Identity{}); e.Kind != KindOther || !e.Has(ProblemMalformed) {
		t.Errorf("%d levels are %s", limit+1, e.Kind)
	}
}

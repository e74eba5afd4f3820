package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBodiesHoldWhatTheirGenerationKnows writes the params out in full: one member too many is refused by strict peers (C44), and
// one too few by others.
func TestBodiesHoldWhatTheirGenerationKnows(t *testing.T) {
	now, n := true, 3
	full := Message{
		MessageID: "m1", TaskID: "t1", ContextID: "c1", Metadata: map[string]any{"tenant": "acme"},
		Parts: []Part{
			{Text: "ping", MediaType: "text/plain"}, {Data: json.RawMessage(`{"a":1}`)}, {Raw: []byte("hi"), MediaType: "image/png"},
		},
	}
	least := Message{MessageID: "m1", TaskID: "t1", Parts: []Part{{Text: "ping"}}}
	cfg := SendConfig{ReturnImmediately: &now, AcceptedOutput: []string{"text/html"}, HistoryLength: &n}
	for name, tc := range map[string]struct {
		e    Endpoint
		m    Message
		cfg  SendConfig
		want string
	}{
		"0.1, the least": {
			Endpoint{Generation: V01, Tenant: "x"}, least, SendConfig{},
			`{"id":"t1","message":{"parts":[{"text":"ping","type":"text"}],"role":"user"}}`,
		},
		"0.1, all of it: metadata in both places": {
			Endpoint{Generation: V01}, full, cfg,
			`{"historyLength":3,"id":"t1","message":{"metadata":{"tenant":"acme"},"parts":[{"text":"ping","type":"text"},` +
				`{"data":{"a":1},"type":"data"},{"file":{"bytes":"aGk=","mimeType":"image/png"},"type":"file"}],"role":"user"},` +
				`"metadata":{"tenant":"acme"},"sessionId":"c1"}`,
		},
		"0.2, the least: the configuration is whole (C44)": {
			Endpoint{Generation: V02, Tenant: "x"}, least, SendConfig{},
			`{"configuration":{"acceptedOutputModes":["text/plain","application/json"],"blocking":true},` +
				`"message":{"kind":"message","messageId":"m1","parts":[{"kind":"text","text":"ping"}],"role":"user","taskId":"t1"}}`,
		},
		"0.3, all of it": {
			Endpoint{Generation: V03}, full, cfg,
			`{"configuration":{"acceptedOutputModes":["text/html"],"blocking":false,"historyLength":3},` +
				`"message":{"contextId":"c1","kind":"message","messageId":"m1","metadata":{"tenant":"acme"},` +
				`"parts":[{"kind":"text","text":"ping"},{"data":{"a":1},"kind":"data"},` +
				`{"file":{"bytes":"aGk=","mimeType":"image/png"},"kind":"file"}],"role":"user","taskId":"t1"}}`,
		},
		"1.0, the least: no blocking (C44), no configuration": {
			Endpoint{Generation: V10}, least, SendConfig{},
			`{"message":{"messageId":"m1","parts":[{"text":"ping"}],"role":"ROLE_USER","taskId":"t1"}}`,
		},
		"1.0, all of it: the tenant is echoed (C99)": {
			Endpoint{Generation: V10, Tenant: "blue"}, full, cfg,
			`{"configuration":{"acceptedOutputModes":["text/html"],"historyLength":3,"returnImmediately":true},` +
				`"message":{"contextId":"c1","messageId":"m1","metadata":{"tenant":"acme"},` +
				`"parts":[{"mediaType":"text/plain","text":"ping"},{"data":{"a":1}},{"mediaType":"image/png","raw":"aGk="}],` +
				`"role":"ROLE_USER","taskId":"t1"},"tenant":"blue"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, asJSON(t, tc.e.sendParams(tc.m, tc.cfg))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTaskParamsEchoTheTenantIn10Only(t *testing.T) {
	n := 0
	for g, want := range map[Generation]string{
		V01: `{"historyLength":0,"id":"t1"}`, V03: `{"historyLength":0,"id":"t1"}`,
		V10: `{"historyLength":0,"id":"t1","tenant":"blue"}`,
	} {
		if diff := cmp.Diff(want, asJSON(t, Endpoint{Generation: g, Tenant: "blue"}.taskParams("t1", &n))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g, diff)
		}
	}
}

func TestIDsAreMadeWhereNoneIsGiven(t *testing.T) {
	a := Endpoint{Generation: V01}.sendParams(Message{}, SendConfig{})
	b := Endpoint{Generation: V01}.sendParams(Message{}, SendConfig{})
	if a["id"] == "" || a["id"] == b["id"] {
		t.Errorf("task ids %q and %q, want two of our own", a["id"], b["id"])
	}
	m, n := message10(Message{}), message03(Message{})
	if m["messageId"] == "" || m["messageId"] == n["messageId"] {
		t.Errorf("message ids %q and %q, want two of our own", m["messageId"], n["messageId"])
	}
}

func TestVersionIsMajorAndMinorOf1xOnly(t *testing.T) {
	for _, tc := range []struct {
		e    Endpoint
		want string
	}{
		{Endpoint{Generation: V10}, "1.0"},
		{Endpoint{Generation: V10, Version: "1.0"}, "1.0"},
		{Endpoint{Generation: V10, Version: "1.0.1"}, "1.0"},
		{Endpoint{Generation: V10, Version: "1.1"}, "1.1"},
		{Endpoint{Generation: V10, Version: "1"}, "1.0"},
		{Endpoint{Generation: V10, Version: "2.0"}, "1.0"},
		{Endpoint{Generation: V10, Version: "1.x\r\n"}, "1.0"},
		{Endpoint{Generation: V03, Version: "0.3"}, ""},
		{Endpoint{Generation: V01, Version: "1.0"}, ""},
	} {
		if got := tc.e.version(); got != tc.want {
			t.Errorf("version(%q of %s) = %q, want %q", tc.e.Version, tc.e.Generation, got, tc.want)
		}
	}
}

func TestEveryCallHasAnIDOfItsOwn(t *testing.T) {
	a, err := newCall("GetTask", object{"id": "t1"})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := newCall("GetTask", object{"id": "t1"})
	if string(a.id) == string(b.id) {
		t.Errorf("both ids are %s", a.id)
	}
	want := `{"jsonrpc":"2.0","id":` + string(a.id) + `,"method":"GetTask","params":{"id":"t1"}}`
	if diff := cmp.Diff(want, string(a.body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

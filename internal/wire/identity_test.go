package wire

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestACorrelationIsReadWhereThePeerPutsIt(t *testing.T) {
	by := Identity{Metadata: "correlationId"}
	for name, tc := range map[string]struct {
		g            Generation
		result, want string
	}{
		"1.0 task":                  {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":"one"}}}`, "one"},
		"1.0 status update":         {V10, `{"statusUpdate":{"taskId":"a","status":{},"metadata":{"correlationId":"one"}}}`, "one"},
		"1.0 message":               {V10, `{"message":{"messageId":"m","parts":[{"text":"x"}],"metadata":{"correlationId":"one"}}}`, "one"},
		"0.3 artifact update":       {V03, `{"kind":"artifact-update","taskId":"a","artifact":{"parts":[]},"metadata":{"correlationId":"one"}}`, "one"},
		"0.1 task":                  {V01, `{"id":"a","status":{"state":"working"},"metadata":{"correlationId":"one"}}`, "one"},
		"the message of a status":   {V03, `{"kind":"task","id":"a","status":{"state":"working","message":{"parts":[],"metadata":{"correlationId":"one"}}}}`, "one"},
		"a number":                  {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":17}}}`, "17"},
		"another key":               {V10, `{"task":{"id":"a","status":{},"metadata":{"traceId":"one"}}}`, ""},
		"no metadata":               {V10, `{"task":{"id":"a","status":{}}}`, ""},
		"metadata that is none":     {V10, `{"task":{"id":"a","status":{},"metadata":"one"}}`, ""},
		"an object":                 {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":{"x":1}}}}`, ""},
		"null":                      {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":null}}}`, ""},
		"nothing but space":         {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":"  "}}}`, ""},
		"as long as may be":         {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":"` + strings.Repeat("x", 256) + `"}}}`, strings.Repeat("x", 256)},
		"longer than anybody needs": {V10, `{"task":{"id":"a","status":{},"metadata":{"correlationId":"` + strings.Repeat("x", 257) + `"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := readEvent([]byte(`{"jsonrpc":"2.0","id":1,"result":`+tc.result+`}`), expect{generation: tc.g, id: value("1"), identity: by})
			if e.Correlation != tc.want {
				t.Errorf("read %q, want %q", e.Correlation, tc.want)
			}
			if e := readEvent([]byte(`{"jsonrpc":"2.0","id":1,"result":`+tc.result+`}`), expect{generation: tc.g, id: value("1")}); e.Correlation != "" {
				t.Errorf("read %q though nobody asked for it", e.Correlation)
			}
		})
	}
}

func TestACorrelationInAHeaderIsThatOfEveryEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"one":       {[]string{"one"}, "one"},
		"none":      {nil, ""},
		"two":       {[]string{"one", "two"}, ""},
		"very long": {[]string{strings.Repeat("x", 300)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["X-Task"] = tc.values
				task := `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"a","status":{"state":"TASK_STATE_WORKING"}}}}`
				if r.Header.Get("Accept") == "text/event-stream" {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", task, task)
					return
				}
				fmt.Fprint(w, task)
			}))
			defer s.Close()
			u, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			c, err := NewClient(Options{AllowHosts: []string{u.Host}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			p, err := Open(c, BindingJSONRPC, Endpoint{URL: u, Generation: V10, Identity: Identity{Header: "x-task"}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.GetTask(t.Context(), "a", nil)
			if err != nil || a.Correlation != tc.want {
				t.Errorf("GetTask: %v, correlation %q, want %q", err, a.Correlation, tc.want)
			}
			stream, err := p.SendStream(t.Context(), Message{Parts: []Part{{Text: "ping"}}}, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			for e := range stream.Events() {
				if e.Correlation != tc.want {
					t.Errorf("event: correlation %q, want %q", e.Correlation, tc.want)
				}
			}
		})
	}
}

func TestAWebhookTellsTheCorrelationToo(t *testing.T) {
	body := []byte(`{"statusUpdate":{"taskId":"b","status":{"state":"TASK_STATE_WORKING"},"metadata":{"key":"one"}}}`)
	if e := ReadWebhook(body, V10, nil, Identity{Metadata: "key"}); e.Correlation != "one" {
		t.Errorf("in the body: %q, want one", e.Correlation)
	}
	h := http.Header{"X-Task": {"two"}}
	if e := ReadWebhook(body, V10, h, Identity{Header: "x-task"}); e.Correlation != "two" {
		t.Errorf("in the header: %q, want two", e.Correlation)
	}
	if e := ReadWebhook(body, V10, nil, Identity{}); e.Correlation != "" {
		t.Errorf("read %q though nobody asked for it", e.Correlation)
	}
}

package wire

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTraceTellsAllButTheCredential: the peer of this test sends the credential back in every place it can.
func TestTraceTellsAllButTheCredential(t *testing.T) {
	const token = "s3cret-token"
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := readAsked(r.Body)
		auth := r.Header.Get("Authorization")
		w.Header().Set("X-Echo", auth)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
			return
		}
		if a.Method == "message/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, ": ", auth, "\n\n", event(a, strings.Replace(working, "t1", strings.TrimPrefix(auth, "Bearer "), 1)))
			return
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s,"echo":%q}`, a.ID, task, auth)
	})
	var mu sync.Mutex
	var got []Exchange
	j := askOf(t, mustURL(t, srv.URL+"/a2a"), V03, Options{
		Credentials: Credentials{Header: "Authorization", Value: "Bearer " + token, Origins: []string{srv.URL}},
		Trace: func(x Exchange) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, x)
		},
	})
	ctx := within(t, 5*time.Second)
	if _, err := j.client.Get(ctx, mustURL(t, srv.URL+"/moved"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Send(ctx, ping, SendConfig{}); err != nil {
		t.Fatal(err)
	}
	s, err := j.SendStream(ctx, ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-s.Events(); e.TaskID != token {
		t.Fatalf("task id %q, want the token: the peer must have had it", e.TaskID)
	}
	all(t, s)
	s.End()
	if _, err := j.client.Get(ctx, mustURL(t, "https://10.255.255.1/"), nil); err == nil {
		t.Fatal("connected")
	}

	mu.Lock()
	defer mu.Unlock()
	for i, x := range got {
		text := fmt.Sprint(x.URL, x.Request, x.Response, string(x.Body), string(x.Answer))
		for _, f := range x.Frames {
			text += string(f.Data)
		}
		if strings.Contains(text, token) {
			t.Errorf("exchange %d tells the credential: %s", i, text)
		}
	}
	if len(got) != 5 {
		t.Fatalf("%d exchanges, want a redirect, what it led to, two answers and a failure", len(got))
	}
	if x := got[0]; x.Status != 307 || x.Method != "GET" || !strings.HasSuffix(x.URL, "/moved") {
		t.Errorf("first exchange %+v, want the redirect", x)
	}
	if x := got[2]; len(x.Body) == 0 || x.Status != 200 || !strings.Contains(string(x.Answer), `"kind":"task"`) || x.Took <= 0 || x.Started.IsZero() {
		t.Errorf("third exchange %+v, want the answer", x)
	}
	if x := got[3]; x.End != EndOrderly || len(x.Frames) != 2 || x.Frames[0].Data[0] != ':' || x.Err != nil {
		t.Errorf("fourth exchange %+v, want the stream", x)
	}
	if x := got[4]; x.Err == nil || x.Status != 0 {
		t.Errorf("last exchange %+v, want the failure", x)
	}
}

func TestTraceIsCapped(t *testing.T) {
	var got Exchange
	r := &record{secret: &secret{}, trace: func(x Exchange) { got = x }}
	big := make([]byte, 200<<10)
	r.body(big)
	for range 2 * traceFrames {
		r.frame(0, []byte("x"))
	}
	r.done("", nil)
	if len(got.Answer) != traceBytes || len(got.Frames) != traceFrames {
		t.Errorf("%d bytes and %d frames, want %d and %d", len(got.Answer), len(got.Frames), traceBytes, traceFrames)
	}
	r.Frames, r.total = nil, 0
	for range 9 {
		r.frame(0, big)
	}
	if r.total != traceTotal {
		t.Errorf("%d bytes of frames, want %d", r.total, traceTotal)
	}
}

package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// faulty is a body at whose end we fail, as we might at any byte of a peer's.
type faulty struct{ io.Reader }

func (f faulty) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		panic("a fault of our own")
	}
	return n, err
}

func (faulty) Close() error { return nil }

// A stream is read in a goroutine that nobody is above: a fault of ours there would end the process and every other peer's round with it.
func TestAFaultInTheReaderOfAStreamEndsTheStreamAlone(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":1,"result":` + task + `}` + "\n"
	update := message(t, &proto10.StreamResponse{Payload: &proto10.StreamResponse_Task{Task: &proto10.Task{
		Id: "t1", Status: &proto10.TaskStatus{State: proto10.TaskState_TASK_STATE_WORKING},
	}}})
	for name, tc := range map[string]struct {
		mediaType, body string
		grpc            bool
	}{
		"server-sent events": {mediaType: "text/event-stream", body: "data: " + line + "\n"},
		"lines of JSON":      {mediaType: "application/x-ndjson", body: line},
		"gRPC":               {mediaType: "application/grpc", body: string(framed(update)), grpc: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(within(t, 5*time.Second))
			r := &reply{sent: time.Now(), Response: &http.Response{
				StatusCode: 200, ProtoMajor: 2, ContentLength: -1, Header: http.Header{"Content-Type": {tc.mediaType}},
				Body: faulty{strings.NewReader(tc.body)},
			}}
			c := newTestClient(t, Options{}).impl
			st, err := (*Stream)(nil), error(nil)
			if tc.grpc {
				st, err = c.openGRPC(ctx, cancel, r, grpc10.stream, grpc10.stream.expect(Endpoint{Generation: V10}))
			} else {
				st, err = c.open(ctx, cancel, r, expect{generation: V03, stream: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			events := all(t, st)
			if len(events) != 1 || st.End() != EndMalformed || st.EndAt() <= 0 {
				t.Errorf("%d events, %s at %s, want the one that was read and that the stream is no evidence", len(events), st.End(), st.EndAt())
			}
			if ctx.Err() == nil {
				t.Error("the request still runs")
			}
		})
	}
}

// What is told of an exchange for -v is told from the same goroutine.
func TestAFaultInTheTraceOfAStreamEndsTheStreamAlone(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, event(readAsked(r.Body), completed))
	})
	st, err := askOf(t, mustURL(t, s.URL), V03, Options{Trace: func(Exchange) { panic("a fault of our own") }}).
		SendStream(within(t, 5*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if events := all(t, st); len(events) != 1 || st.End() != EndMalformed {
		t.Errorf("%d events, %s", len(events), st.End())
	}
}

package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// deepJSON is a value in depth arrays and objects.
func deepJSON(depth int) string {
	return strings.Repeat(`[{"a":`, depth/2) + `"[[[{{{\"[[["` + strings.Repeat(`}]`, depth/2)
}

func TestDepthIsCountedOutsideOfStringsAlone(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 0, `{}`: 1, `[[]]`: 2, `[[],[],[[]]]`: 3, `"[[[["`: 0, `{"[":"{\"[\\"}`: 1, `[[[`: 3, `]]][`: 0, deepJSON(20): 20,
	} {
		if deeper([]byte(text), want) {
			t.Errorf("%s is deeper than %d", text, want)
		}
		if want > 0 && !deeper([]byte(text), want-1) {
			t.Errorf("%s is not deeper than %d", text, want-1)
		}
	}
}

func TestSecurityHostileNestingIsMalformed(t *testing.T) {
	for depth, class := range map[int]Class{500: "", 600: ClassMalformed, 20_000: ClassMalformed} {
		card := `{"name":` + deepJSON(depth) + `}`
		result := `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"},"metadata":` + deepJSON(depth) + `}`
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				write(w, card)
				return
			}
			a := readAsked(r.Body)
			if a.Method == "message/stream" {
				w.Header().Set("Content-Type", "text/event-stream")
				write(w, event(a, working), event(a, result))
				return
			}
			write(w, a.reply(result))
		})
		j := askOf(t, mustURL(t, s.URL), V03, Options{})
		ctx := within(t, 10*time.Second)
		_, err := j.client.Get(ctx, mustURL(t, s.URL), nil)
		_, sendErr := j.Send(ctx, ping, SendConfig{})
		st, streamErr := j.SendStream(ctx, ping, SendConfig{})
		if streamErr != nil {
			t.Fatal(streamErr)
		}
		events := all(t, st)
		if class == "" {
			if err != nil || sendErr != nil || len(events) != 2 || st.End() != EndOrderly {
				t.Errorf("%d deep: %v, %v, %d events, %s", depth, err, sendErr, len(events), st.End())
			}
			continue
		}
		wantClass(t, err, class)
		wantClass(t, sendErr, class)
		if len(events) != 1 || st.End() != EndMalformed {
			t.Errorf("%d deep: %d events, %s, want the first one and that the second is malformed", depth, len(events), st.End())
		}
	}
}

// Of a member that is named twice some readers take the first and some the last.
func TestCaseAnAnswerThatSaysTwoThingsIsMalformed(t *testing.T) {
	for name, tc := range map[string]struct {
		result string
		rest   string // of the envelope
		doubts bool
	}{
		"the state":                        {result: `{"kind":"task","id":"t1","status":{"state":"working","state":"completed"}}`, doubts: true},
		"the state, in another spelling":   {result: `{"kind":"task","id":"t1","status":{"state":"working","st\u0061te":"completed"}}`, doubts: true},
		"the status":                       {result: `{"kind":"task","id":"t1","status":{"state":"working"},"status":{"state":"completed"}}`, doubts: true},
		"the id":                           {result: `{"kind":"task","id":"t1","id":"t2","status":{"state":"completed"}}`, doubts: true},
		"the kind":                         {result: `{"kind":"task","kind":"message","id":"t1","status":{"state":"completed"}}`, doubts: true},
		"the result":                       {result: task, rest: `,"result":{"kind":"message","messageId":"m","role":"agent","parts":[]}`, doubts: true},
		"null for a result":                {result: task, rest: `,"result":null`, doubts: true},
		"the same state again":             {result: `{"kind":"task","id":"t1","status":{"state":"completed","state":"completed"}}`},
		"what nobody judges by":            {result: `{"kind":"task","id":"t1","status":{"state":"completed"},"x-note":1,"x-note":2}`},
		"members of content":               {result: `{"kind":"task","id":"t1","status":{"state":"completed"},"artifacts":[{"parts":[],"id":1,"id":2}]}`},
		"members of metadata":              {result: `{"kind":"task","id":"t1","status":{"state":"completed"},"metadata":{"state":1,"state":2}}`},
		"result and error, which is known": {result: task, rest: `,"error":null`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				a := readAsked(r.Body)
				text := strings.TrimSuffix(a.reply(tc.result), "}") + tc.rest + "}"
				if a.Method == "message/stream" {
					w.Header().Set("Content-Type", "text/event-stream")
					write(w, event(a, working), "data: "+text+"\n\n", event(a, completed))
					return
				}
				write(w, text)
			})
			j := askOf(t, mustURL(t, s.URL), V03, Options{})
			_, err := j.Send(within(t, 5*time.Second), ping, SendConfig{})
			st, streamErr := j.SendStream(within(t, 5*time.Second), ping, SendConfig{})
			if streamErr != nil {
				t.Fatal(streamErr)
			}
			n := len(all(t, st))
			if !tc.doubts {
				if err != nil || n != 3 || st.End() != EndOrderly {
					t.Errorf("%v, %d events, %s", err, n, st.End())
				}
				return
			}
			if wantClass(t, err, ClassMalformed); n != 1 || st.End() != EndMalformed {
				t.Errorf("%d events, %s, want that the stream ends where it says two things", n, st.End())
			}
		})
	}
}

func TestARESTErrorThatSaysTwoThingsIsMalformed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		write(w, `{"error":{"code":400,"status":"X","code":404,"details":[{"reason":"TASK_NOT_FOUND"}]}}`)
	})
	_, err := restOf(t, s.URL, Endpoint{Generation: V10}, Options{}).GetTask(within(t, 5*time.Second), "t1", nil)
	wantClass(t, err, ClassStatus)
}

// overPipe is a JSON-RPC client of a peer that writes an answer by hand over a pipe, so that a fake clock drives both.
func overPipe(t *testing.T, answer func(conn net.Conn)) *jsonRPC {
	t.Helper()
	j := askOf(t, mustURL(t, "http://127.0.0.1:1/a2a"), V03, Options{})
	var peers sync.WaitGroup
	t.Cleanup(peers.Wait)
	j.client.impl.others.http.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		peers.Go(func() {
			defer func() { _ = theirs.Close() }()
			req, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			answer(theirs)
		})
		return ours, nil
	}
	j.client.impl.own = j.client.impl.others
	return j
}

func TestABodyThatHasBegunGoesOnOrIsGivenUp(t *testing.T) {
	const size = 32 << 10
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	drip := func(n int, every time.Duration) func(net.Conn) {
		return func(conn net.Conn) {
			write(conn, head)
			tick := time.NewTicker(every)
			defer tick.Stop()
			for sent := 0; sent < size; sent += n {
				<-tick.C
				if _, err := conn.Write(bytes.Repeat([]byte(" "), min(n, size-sent))); err != nil {
					return
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		answer func(net.Conn)
		rate   int64
		// card and unary are how asking for the body as a card, and as an answer, ends.
		card, unary Class
		// after is when a card is given up, at most, and later when an answer is.
		after, later time.Duration
	}{
		"a byte a second": {answer: drip(1, time.Second), card: ClassTimeout, unary: ClassTimeout, after: 11 * time.Second, later: time.Hour + time.Second},
		"some bytes, and then nothing": {answer: func(c net.Conn) { write(c, head, "{"); untilClosed(c) }, card: ClassTimeout, unary: ClassTimeout,
			after: 11 * time.Second, later: 61 * time.Second},
		"a byte now and then, while the agent thinks": {answer: drip(size/64, 25*time.Second), card: ClassTimeout, unary: ClassMalformed},
		"a kilobyte a second":                         {answer: drip(1<<10, time.Second), card: ClassMalformed, unary: ClassMalformed},
		"silence, and then the whole of it":           {answer: drip(size, time.Minute), card: ClassMalformed, unary: ClassMalformed},
		"a byte a second where that may be": {answer: drip(1, time.Second), rate: -1, card: ClassTimeout, unary: ClassTimeout,
			after: time.Hour + time.Second, later: time.Hour + time.Second},
		"faster than a smaller rate asks for": {answer: drip(100, time.Second), rate: 10, card: ClassMalformed, unary: ClassMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ask := func(class Class, limit time.Duration, f func(context.Context, *jsonRPC) error) {
					j := overPipe(t, tc.answer)
					defer j.Close()
					if tc.rate != 0 {
						j.client.impl.limits.MinRate = tc.rate
					}
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					wantClass(t, f(ctx, j), class)
					if took := time.Since(began); limit > 0 && took > limit {
						t.Errorf("it took %s, want %s at most", took, limit)
					}
				}
				ask(tc.unary, tc.later, func(ctx context.Context, j *jsonRPC) error { _, err := j.Send(ctx, ping, SendConfig{}); return err })
				ask(tc.card, tc.after, func(ctx context.Context, j *jsonRPC) error {
					_, err := j.client.Get(ctx, j.at.URL, nil)
					if err == nil {
						err = &Error{Class: ClassMalformed} // a card of spaces, which is for others to judge
					}
					return err
				})
			})
		})
	}
}

// What comes around a body is bounded as well: headers, their number, the interim answers before them and the trailers behind.
func TestWhatComesAroundABodyIsBounded(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%d: y\r\n", i)
		}
		return b.String()
	}
	const body = "Content-Length: 2\r\n\r\n{}"
	for name, tc := range map[string]struct {
		answer  func(w io.Writer)
		refused bool
	}{
		"a hundred headers":      {func(w io.Writer) { write(w, "HTTP/1.1 200 OK\r\n", many(100), body) }, false},
		"ten thousand headers":   {func(w io.Writer) { write(w, "HTTP/1.1 200 OK\r\n", many(10_000), body) }, true},
		"one endless header":     {func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nX: ", "y") }, true},
		"headers without end":    {func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\n", "X: y\r\n") }, true},
		"an endless status line": {func(w io.Writer) { endless(w, "HTTP/1.1 200 ", "y") }, true},
		"interim answers": {func(w io.Writer) {
			write(w, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "HTTP/1.1 200 OK\r\n", body)
		}, false},
		"interim answers without end": {func(w io.Writer) { endless(w, "", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") }, true},
		"trailers": {func(w io.Writer) {
			write(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n")
		}, false},
		"trailers without end": {func(w io.Writer) {
			endless(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "X: y\r\n")
		}, true},
		"an extension of a chunk without end": {func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;", "y") }, true},
		"chunks of one byte without end":      {func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := serveRaw(t, func(conn *net.TCPConn, _ asked) { tc.answer(conn) })
			_, err := newTestClient(t, Options{}).Get(within(t, 20*time.Second), u, nil)
			if !tc.refused {
				if err != nil {
					t.Error(err, err.(*Error).Err) //nolint:errorlint // always one
				}
				return
			}
			if err == nil {
				t.Fatal("it was taken")
			}
			if e := err.(*Error); e.Class == ClassTimeout { //nolint:errorlint // always one
				t.Errorf("%v, want an end before our time is up", e)
			}
		})
	}
}

// endless writes until the other side has gone.
func endless(w io.Writer, head, again string) {
	write(w, head)
	lot := []byte(strings.Repeat(again, 1<<10))
	for {
		if _, err := w.Write(lot); err != nil {
			return
		}
	}
}

// A body is inflated once, and never beyond its limit. What is packed in another way, or twice, is no JSON.
func TestWhatIsPackedInAnotherWayIsNotInflated(t *testing.T) {
	zeros := strings.Repeat(" ", 8<<20)
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	write(w, zeros)
	_ = w.Close()
	for name, tc := range map[string]struct {
		encoding string
		body     []byte
		class    Class
	}{
		"gzip":                     {"gzip", gzipped(t, zeros), ClassTooLarge},
		"gzip that nobody tells":   {"", gzipped(t, zeros), ClassTooLarge},
		"gzip in gzip":             {"gzip, gzip", gzipped(t, string(gzipped(t, zeros))), ClassMalformed},
		"deflate":                  {"deflate", deflated.Bytes(), ClassMalformed},
		"many gzips after another": {"gzip", bytes.Repeat(gzipped(t, zeros[:1<<20]), 8), ClassTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", tc.encoding)
				_, _ = w.Write(tc.body)
			})
			_, err := askOf(t, mustURL(t, s.URL), V03, Options{}).Send(within(t, 10*time.Second), ping, SendConfig{})
			wantClass(t, err, tc.class)
		})
	}
}

// Of gRPC, whose readers stop at a hundred messages in each other, the same holds.
func TestAGRPCStreamThatIsNestedTooDeepIsMalformed(t *testing.T) {
	first := framed(message(t, &proto10.StreamResponse{Payload: &proto10.StreamResponse_Task{Task: task10(proto10.TaskState_TASK_STATE_WORKING)}}))
	u := serveH2(t, calls(append(first, framed(nested(200))...), "0"))
	s, err := grpcOf(t, u, V10, Options{}).SendStream(within(t, 5*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if events := all(t, s); len(events) != 1 || s.End() != EndMalformed {
		t.Errorf("%d events, %s, want the first one and that the second is malformed", len(events), s.End())
	}
}

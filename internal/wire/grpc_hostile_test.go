package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// serveH2 starts a server of HTTP/2 without TLS that answers whatever f writes.
func serveH2(t testing.TB, f http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ErrorLog = quiet()
	s.Start()
	t.Cleanup(s.Close)
	return mustURL(t, s.URL)
}

// serveBytes answers every connection with f, before anything was read.
func serveBytes(t testing.TB, f func(net.Conn)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer func() { _ = conn.Close() }(); f(conn) })
		}
	})
	return mustURL(t, "http://"+l.Addr().String())
}

func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

func message(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// calls is a peer that answers in gRPC with these bytes and this status; an empty status leaves it out.
func calls(body []byte, status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if bytes.HasPrefix(body, []byte{1}) {
			w.Header().Set("Grpc-Encoding", "gzip")
		}
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
		if status != "" {
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
		}
	}
}

// What answers is not gRPC, or nothing answers: nobody is accused, and what went wrong has a name.
func TestGRPCWhereNoneIsSpoken(t *testing.T) {
	tlsOnly, ca := serveTLS(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "hello", http.StatusTeapot) })
	http1 := httptest.NewUnstartedServer(http.NotFoundHandler())
	http1.Config.ErrorLog = quiet()
	http1.StartTLS()
	t.Cleanup(http1.Close)
	gone := serveBytes(t, func(net.Conn) {})
	refused := mustURL(t, "http://127.0.0.1:1")
	for name, tc := range map[string]struct {
		at     *url.URL
		class  Class
		status int
	}{
		"a server of HTTP/1":                       {mustURL(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { write(w, "{}") }).URL), ClassNoHTTP, 0},
		"a server of HTTP/1 behind TLS":            {mustURL(t, http1.URL), ClassNoHTTP, 0},
		"TLS where the address says there is none": {mustURL(t, strings.Replace(tlsOnly.URL, "https", "http", 1)), ClassReset, 0},
		"no TLS where the address says there is":   {mustURL(t, strings.Replace(gone.String(), "http", "https", 1)), ClassReset, 0},
		"a web server of HTTP/2":                   {mustURL(t, tlsOnly.URL), ClassStatus, 418},
		"a page":                                   {serveH2(t, func(w http.ResponseWriter, _ *http.Request) { write(w, "<html>") }), ClassMediaType, 200},
		"JSON": {serveH2(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			write(w, "{}")
		}), ClassMediaType, 200},
		"a path that is not there": {serveH2(t, http.NotFound), ClassStatus, 404},
		"a gateway without upstream": {serveH2(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		}), ClassStatus, 503},
		"a redirect": {serveH2(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}), ClassRedirect, 307},
		"a connection that is closed at once": {gone, ClassReset, 0},
		"a connection that is reset":          {serveBytes(t, func(c net.Conn) { reset(c.(*net.TCPConn)) }), "", 0},
		"noise":                               {serveBytes(t, func(c net.Conn) { write(c, strings.Repeat("\x00\xff\x17noise", 20_000)); untilClosed(c) }), "", 0},
		"a greeting of another protocol":      {serveBytes(t, func(c net.Conn) { write(c, "220 mail.peer.test ESMTP\r\n"); untilClosed(c) }), "", 0},
		"nobody listens":                      {refused, ClassConnect, 0},
	} {
		t.Run(name, func(t *testing.T) {
			roots := ca
			if tc.at.Host == http1.Listener.Addr().String() {
				roots = pemOf(http1)
			}
			p := grpcOf(t, tc.at, V10, Options{RootCAs: roots})
			ctx := within(t, 10*time.Second)
			_, err := p.GetTask(ctx, "t1", nil)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("err = %v, want an *Error", err)
			}
			lost := tc.class == ClassNoHTTP && e.Class == ClassReset // the reset may come before the answer was read
			if tc.class != "" && !lost && (e.Class != tc.class || e.Status != tc.status) {
				t.Errorf("class %s, status %d (%v), want %s, %d", e.Class, e.Status, e.Err, tc.class, tc.status)
			}
			if _, err := p.SendStream(ctx, ping, SendConfig{}); !errors.As(err, &e) {
				t.Errorf("stream: %v", err)
			}
		})
	}
}

func TestGRPCTimeIsOurs(t *testing.T) {
	for name, u := range map[string]*url.URL{
		"no headers": serveH2(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"no answer": serveH2(t, func(w http.ResponseWriter, r *http.Request) {
			calls(nil, "")(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
		"half a message": serveH2(t, func(w http.ResponseWriter, r *http.Request) {
			calls([]byte{0, 0, 0, 0, 9, 1}, "")(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
		"no HTTP": serveBytes(t, untilClosed),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_, err := grpcOf(t, u, V10, Options{}).GetTask(ctx, "t1", nil)
			wantClass(t, err, ClassTimeout)
		})
	}
}

func TestGRPCGuardsAddresses(t *testing.T) {
	c, err := NewClient(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, at := range []string{"https://127.0.0.1:50051", "https://10.0.0.1:443", "https://169.254.169.254"} {
		p, err := Open(c, BindingGRPC, Endpoint{URL: mustURL(t, at), Generation: V10})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.GetTask(within(t, 5*time.Second), "t1", nil)
		wantClass(t, err, ClassBlocked)
	}
}

func TestGRPCAnswersThatAreNone(t *testing.T) {
	task := message(t, task10(proto10.TaskState_TASK_STATE_WORKING))
	huge := append(framed(nil)[:1], 0xff, 0xff, 0xff, 0xff)
	for name, tc := range map[string]struct {
		body   []byte
		status string
		class  Class
	}{
		"no message and all is well":      {nil, "0", ClassMalformed},
		"two messages":                    {append(framed(task), framed(task)...), "0", ClassMalformed},
		"no status":                       {framed(task), "", ClassReset},
		"a message without its end":       {framed(task)[:7], "0", ClassReset},
		"a head without its end":          {[]byte{0, 0, 0}, "0", ClassReset},
		"a message of 4 GiB is announced": {huge, "0", ClassTooLarge},
		"bytes that are no message":       {framed([]byte{0xff, 0xff}), "0", ClassMalformed},
		"a flag that nobody knows":        {append([]byte{7}, framed(task)[1:]...), "0", ClassMalformed},
		"no gzip where gzip is said":      {append([]byte{1}, framed(task)[1:]...), "0", ClassMalformed},
		"a bomb":                          {bomb(t), "0", ClassTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serveH2(t, calls(tc.body, tc.status)), V10, Options{})
			_, err := p.GetTask(within(t, 20*time.Second), "t1", nil)
			wantClass(t, err, tc.class)
		})
	}
}

// bomb is 64 MiB of zeros in a few kilobytes.
func bomb(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.CopyN(w, zeros{}, 64<<20)
	_ = w.Close()
	return append([]byte{1}, framed(b.Bytes())[1:]...)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestGRPCReadsWhatIsCompressed(t *testing.T) {
	b := gzipped(t, string(message(t, task10(proto10.TaskState_TASK_STATE_WORKING))))
	p := grpcOf(t, serveH2(t, calls(append([]byte{1}, framed(b)[1:]...), "0")), V10, Options{})
	if a, err := p.GetTask(within(t, 10*time.Second), "t1", nil); err != nil || a.TaskID != "t1" {
		t.Errorf("%+v %v", a, err)
	}
}

func TestGRPCStatusesThatCannotBeRead(t *testing.T) {
	for name, h := range map[string]map[string]string{
		"no number":          {"Grpc-Status": "fine"},
		"a number too large": {"Grpc-Status": "99999999999999999999"},
		"details of noise":   {"Grpc-Status": "13", "Grpc-Status-Details-Bin": "!!!"},
		"details of bytes":   {"Grpc-Status": "13", "Grpc-Status-Details-Bin": "/////w"},
		"an odd message":     {"Grpc-Status": "13", "Grpc-Message": "100%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serveH2(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				for k, v := range h {
					w.Header().Set(k, v)
				}
			}), V10, Options{})
			if a, err := p.GetTask(within(t, 10*time.Second), "t1", nil); err != nil || a.Err == nil || a.Err.Code != -32603 {
				t.Errorf("%+v %v", a, err)
			}
		})
	}
}

func TestGRPCStreamsThatBreakOrDoNotEnd(t *testing.T) {
	event := framed(message(t, update10(proto10.TaskState_TASK_STATE_WORKING)))
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	for name, tc := range map[string]struct {
		f      http.HandlerFunc
		limits Limits
		end    End
		events int
	}{
		"reset": {func(w http.ResponseWriter, r *http.Request) {
			calls(event, "")(w, r)
			flush(w)
			panic(http.ErrAbortHandler)
		}, Limits{}, EndReset, 1},
		"no status":  {calls(event, ""), Limits{}, EndReset, 1},
		"cut within": {calls(append(bytes.Clone(event), event[:9]...), "0"), Limits{}, EndReset, 1},
		"no framing": {calls(append(bytes.Clone(event), 9, 9, 9, 9, 9, 9), "0"), Limits{}, EndReset, 1},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			calls(nil, "")(w, r)
			for r.Context().Err() == nil {
				_, _ = w.Write(event)
			}
		}, Limits{}, EndTooLarge, 10_000},
		"endless in bytes": {func(w http.ResponseWriter, r *http.Request) {
			calls(nil, "")(w, r)
			for r.Context().Err() == nil {
				_, _ = w.Write(event)
			}
		}, Limits{StreamBytes: int64(3 * len(event))}, EndTooLarge, -1},
		"one that is too large": {calls(append(bytes.Clone(event), framed(make([]byte, 2<<20))...), "0"), Limits{}, EndTooLarge, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serveH2(t, tc.f), V10, Options{Limits: tc.limits})
			s, err := p.SendStream(within(t, 30*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			n := len(all(t, s))
			if s.End() != tc.end || tc.events >= 0 && n != tc.events || n > 10_000 {
				t.Errorf("end %s after %d events, want %s after %d", s.End(), n, tc.end, tc.events)
			}
		})
	}
}

// A message that nobody can read is an event that says so, and what is odd in one that can be read is noted; nothing panics.
func TestGRPCEventsThatAreOdd(t *testing.T) {
	field := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	status := func(state uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), state)
	}
	taskOf := func(b ...[]byte) []byte { return field(1, bytes.Join(b, nil)) }
	id := field(1, []byte("t1"))
	for name, tc := range map[string]struct {
		message  []byte
		kind     Kind
		state    string
		problems []Problem
	}{
		"nothing set":          {nil, KindOther, "", []Problem{ProblemShape}},
		"noise":                {[]byte{0xff}, KindOther, "", []Problem{ProblemMalformed}},
		"a task of nothing":    {taskOf(), KindTask, "", nil},
		"a task without state": {taskOf(id, field(3, nil)), KindTask, "", nil},
		"a state of later":     {taskOf(id, field(3, status(99))), KindTask, "99", []Problem{ProblemNumericEnum}},
		"a state below zero":   {taskOf(id, field(3, status(1<<64-1))), KindTask, "-1", []Problem{ProblemNumericEnum}},
		"two members":          {append(taskOf(id, field(3, status(3))), field(2, nil)...), KindTask, "TASK_STATE_COMPLETED", []Problem{ProblemTwoMembers}},
		"a message of nothing": {field(2, nil), KindMessage, "", []Problem{ProblemEmptyParts}},
		"text that is no text": {taskOf(field(1, []byte("t\xff1")), field(3, status(3))), KindTask, "TASK_STATE_COMPLETED", nil},
		"fields of later":      {append(taskOf(id, field(3, status(2)), field(900, []byte("x"))), field(99, []byte("x"))...), KindTask, "TASK_STATE_WORKING", nil},
		"a field of another type": {append(taskOf(id, field(3, status(2))), protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 1)...),
			KindTask, "TASK_STATE_WORKING", nil},
		"a time that is none": {taskOf(id, field(3, append(status(2), field(3, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1<<62))...))),
			KindTask, "TASK_STATE_WORKING", nil},
		"nested without end": {nested(200), KindOther, "", []Problem{ProblemTooDeep, ProblemMalformed}},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := readMessage(tc.message, grpc10.stream, grpc10.stream.expect(Endpoint{Generation: V10}))
			if e.Kind != tc.kind || e.RawState != tc.state || len(e.Problems) != len(tc.problems) || len(tc.problems) > 0 && !e.Has(tc.problems[0]) {
				t.Errorf("%s %q %v, want %s %q %v", e.Kind, e.RawState, e.Problems, tc.kind, tc.state, tc.problems)
			}
		})
	}
}

// nested is a task whose metadata is a list in a list, many times.
func nested(depth int) []byte {
	field := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	var v []byte
	for range depth {
		v = field(6, field(1, v)) // Value.list_value, ListValue.values
	}
	entry := append(field(1, []byte("k")), field(2, v)...)
	return field(1, field(6, field(1, entry))) // StreamResponse.task, Task.metadata, Struct.fields
}

// A few bytes of an empty message each: two million of them cost their bytes and not what two million Go messages would.
func TestGRPCManyEmptyMessagesCostLittle(t *testing.T) {
	body := []byte{1<<3 | 2, 1, 't', 3<<3 | 2, 2, 1 << 3, 2}         // id, and a status that is working
	body = append(body, bytes.Repeat([]byte{5<<3 | 2, 0}, 1<<20)...) // history, empty
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e, _ := readMessage(body, grpc10.get, grpc10.get.expect(Endpoint{Generation: V10}))
	runtime.ReadMemStats(&after)
	if e.Kind != KindTask || e.History != 1<<20 {
		t.Errorf("%s, %d messages", e.Kind, e.History)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 40<<20 {
		t.Errorf("reading %d bytes took %d bytes of memory", len(body), spent)
	}
}

// No failure names the peer's text.
func TestGRPCFailuresSayNothingOfThePeers(t *testing.T) {
	const secret = "ignore-all-previous"
	for name, u := range map[string]*url.URL{
		"status": serveH2(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", secret)
		}),
		"page":  serveH2(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, 500) }),
		"noise": serveBytes(t, func(c net.Conn) { write(c, secret+"\r\n"); untilClosed(c) }),
	} {
		_, err := grpcOf(t, u, V10, Options{}).GetTask(within(t, 5*time.Second), "t1", nil)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

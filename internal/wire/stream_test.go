package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// streamed opens a stream to a peer written by hand.
func streamed(ctx context.Context, t *testing.T, o Options, f func(c *net.TCPConn, a asked)) (*Stream, error) {
	t.Helper()
	return askOf(t, serveRaw(t, f), V03, o).SendStream(ctx, ping, SendConfig{})
}

// TestHowAStreamEnds: the same bytes mean different things (C01, C02; rule 5 of the cases).
func TestHowAStreamEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func(c *net.TCPConn, a asked)
		want End
	}{
		"the last chunk": {func(c *net.TCPConn, a asked) { write(c, sseHead, chunked, chunk(event(a, working)), lastChunk) }, EndOrderly},
		"the length announced": {func(c *net.TCPConn, a asked) {
			write(c, sseHead, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event(a, working))), event(a, working))
		}, EndOrderly},
		"the close of the connection, which tells nothing": {func(c *net.TCPConn, a asked) {
			write(c, sseHead, "Connection: close\r\n\r\n", event(a, working))
		}, EndCloseDelimited},
		"the close of HTTP/1.0": {func(c *net.TCPConn, a asked) {
			write(c, strings.Replace(sseHead, "1.1", "1.0", 1), "\r\n", event(a, working))
		}, EndCloseDelimited},
		"a FIN without the last chunk": {func(c *net.TCPConn, a asked) { write(c, sseHead, chunked, chunk(event(a, working))) }, EndReset},
		"a FIN within a chunk":         {func(c *net.TCPConn, a asked) { write(c, sseHead, chunked, chunk(event(a, working)), "ff\r\ndata") }, EndReset},
		"a FIN before the length announced": {func(c *net.TCPConn, a asked) {
			write(c, sseHead, "Content-Length: 9999\r\n\r\n", event(a, working))
		}, EndReset},
		"garbage where a chunk should be": {func(c *net.TCPConn, a asked) { write(c, sseHead, chunked, chunk(event(a, working)), "zz\r\n") }, EndReset},
		"half a gzip body in whole chunks": {func(c *net.TCPConn, a asked) {
			z := string(gzipped(t, event(a, working)+": "+strings.Repeat("x", 99)+"\n"))
			write(c, sseHead, chunked, chunk(z[:len(z)-9]), lastChunk)
		}, EndReset},
		"gzip to its end": {func(c *net.TCPConn, a asked) {
			write(c, sseHead, "Content-Encoding: gzip\r\n", chunked, chunk(string(gzipped(t, event(a, working)))), lastChunk)
		}, EndOrderly},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := streamed(within(t, 5*time.Second), t, Options{}, tc.f)
			if err != nil {
				t.Fatal(err)
			}
			events := all(t, s)
			if len(events) != 1 || events[0].RawState != "working" || len(events[0].Problems) != 0 {
				t.Errorf("events %+v, want one that is working", events)
			}
			if s.End() != tc.want {
				t.Errorf("end %q, want %q", s.End(), tc.want)
			}
			if s.EndAt() < s.HeaderAt || s.HeaderAt <= 0 || s.Sent.IsZero() {
				t.Errorf("headers at %v, end at %v of %v", s.HeaderAt, s.EndAt(), s.Sent)
			}
		})
	}
}

func event(a asked, result string) string { return "data: " + a.reply(result) + "\n\n" }

// TestRSTInMidStream needs the event to be read before the reset, which throws away what the kernel still holds.
func TestRSTInMidStream(t *testing.T) {
	cut := make(chan struct{})
	s, err := streamed(within(t, 5*time.Second), t, Options{}, func(c *net.TCPConn, a asked) {
		write(c, sseHead, chunked, chunk(event(a, working)))
		<-cut
		reset(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-s.Events(); e.RawState != "working" {
		t.Errorf("event %+v, want working", e)
	}
	close(cut)
	all(t, s)
	if s.End() != EndReset {
		t.Errorf("end %q, want %q", s.End(), EndReset)
	}
}

func TestHowAnHTTP2StreamEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		after func()
		want  End
	}{
		"END_STREAM": {func() {}, EndOrderly},
		"RST_STREAM": {func() { panic(http.ErrAbortHandler) }, EndReset},
	} {
		t.Run(name, func(t *testing.T) {
			cut := make(chan struct{})
			srv, ca := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("protocol %s, want HTTP/2", r.Proto)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				write(w, event(readAsked(r.Body), working))
				w.(http.Flusher).Flush()
				<-cut
				tc.after()
			})
			s, err := askOf(t, mustURL(t, srv.URL), V03, Options{RootCAs: ca}).SendStream(within(t, 5*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if e := <-s.Events(); e.RawState != "working" {
				t.Errorf("event %+v, want working", e)
			}
			close(cut)
			all(t, s)
			if s.End() != tc.want {
				t.Errorf("end %q, want %q", s.End(), tc.want)
			}
		})
	}
}

func TestOurOwnEndIsOurs(t *testing.T) {
	open := func(c *net.TCPConn, a asked) {
		write(c, sseHead, chunked, chunk(event(a, working)))
		untilClosed(c)
	}
	t.Run("by Close, while nobody reads", func(t *testing.T) {
		s, err := streamed(within(t, 5*time.Second), t, Options{}, open)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		s.Close()
		if s.End() != EndOurs {
			t.Errorf("end %q, want %q", s.End(), EndOurs)
		}
	})
	t.Run("by the context, its event delivered first", func(t *testing.T) {
		ctx, cancel := context.WithCancel(within(t, 5*time.Second))
		s, err := streamed(ctx, t, Options{}, open)
		if err != nil {
			t.Fatal(err)
		}
		if e := <-s.Events(); e.RawState != "working" {
			t.Errorf("event %+v, want working", e)
		}
		cancel()
		all(t, s)
		if s.End() != EndOurs {
			t.Errorf("end %q, want %q", s.End(), EndOurs)
		}
	})
	t.Run("with a full buffer and nobody who reads", func(t *testing.T) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			a := readAsked(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, event(a, working)); err != nil {
					return
				}
			}
		})
		s, err := askOf(t, mustURL(t, srv.URL), V03, Options{}).SendStream(within(t, 300*time.Millisecond), ping, SendConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if s.End() != EndOurs {
			t.Errorf("end %q, want %q", s.End(), EndOurs)
		}
		if n := len(all(t, s)); n != eventBuffer {
			t.Errorf("%d events wait, want %d", n, eventBuffer)
		}
	})
}

func TestAnEventThatIsHereIsDeliveredThoughWeAreLeaving(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const n = 50
	r := &reader{stream: &stream{events: make(chan Event, n)}, ctx: ctx, reply: &reply{}, limits: DefaultLimits()}
	for range n {
		if err := r.deliver(frame{data: []byte("{}")}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.deliver(frame{data: []byte("{}")}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v with a full buffer, want that we left", err)
	}
}

// TestUnaryAnswerToAStreamingCallOf01IsATask: the same object would be a status update in a stream.
func TestUnaryAnswerToAStreamingCallOf01IsATask(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		write(w, readAsked(r.Body).reply(`{"id":"t1","status":{"state":"completed"}}`))
	})
	s, err := askOf(t, mustURL(t, srv.URL), V01, Options{}).SendStream(within(t, 5*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Unary == nil || s.Unary.Kind != KindTask || len(s.Unary.Problems) != 0 {
		t.Errorf("unary %+v, want a task", s.Unary)
	}
}

func TestAnOrderlyEndStandsThoughWeLeaveAfterIt(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, 5*time.Second))
	s, err := streamed(ctx, t, Options{}, func(c *net.TCPConn, a asked) {
		write(c, sseHead, chunked, chunk(event(a, completed)), lastChunk)
	})
	if err != nil {
		t.Fatal(err)
	}
	all(t, s)
	cancel()
	s.Close()
	if s.End() != EndOrderly {
		t.Errorf("end %q, want %q", s.End(), EndOrderly)
	}
}

func TestLimitsOfAStream(t *testing.T) {
	for name, tc := range map[string]struct {
		limits Limits
		events int
		f      func(c *net.TCPConn, a asked)
	}{
		"an event that is too large": {Limits{EventBytes: 1 << 10}, 1, func(c *net.TCPConn, a asked) {
			write(c, sseHead, "\r\n", event(a, working), "data: ", strings.Repeat("x", 2<<10), "\n\n")
		}},
		"a line that never ends": {Limits{EventBytes: 1 << 10}, 1, func(c *net.TCPConn, a asked) {
			write(c, sseHead, "\r\n", event(a, working))
			for x := strings.Repeat("x", 1<<10); ; {
				if _, err := c.Write([]byte(x)); err != nil {
					return
				}
			}
		}},
		"too many events": {Limits{Events: 3}, 3, func(c *net.TCPConn, a asked) {
			write(c, sseHead, "\r\n", strings.Repeat(event(a, working), 9))
		}},
		"too many bytes, all of them comments": {Limits{StreamBytes: 8 << 10}, 1, func(c *net.TCPConn, a asked) {
			write(c, sseHead, "\r\n", event(a, working), strings.Repeat(": keep-alive\n\n", 999))
		}},
		"a bomb": {Limits{StreamBytes: 8 << 10}, 1, func(c *net.TCPConn, a asked) {
			write(c, sseHead, "\r\n", string(gzipped(t, event(a, working)+strings.Repeat(": keep-alive\n\n", 9999))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := streamed(within(t, 5*time.Second), t, Options{Limits: tc.limits}, tc.f)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(all(t, s)); n != tc.events {
				t.Errorf("%d events, want %d", n, tc.events)
			}
			if s.End() != EndTooLarge {
				t.Errorf("end %q, want %q", s.End(), EndTooLarge)
			}
		})
	}
}

func TestEventsCarryTheTimeTheyCameAndCommentsCount(t *testing.T) {
	second := make(chan struct{})
	s, err := streamed(within(t, 5*time.Second), t, Options{}, func(c *net.TCPConn, a asked) {
		write(c, sseHead, chunked, chunk(": hello\n\n"), chunk(event(a, working)))
		<-second
		write(c, chunk(":\n\n: bye\n\n"+event(a, completed)), lastChunk)
	})
	if err != nil {
		t.Fatal(err)
	}
	first := <-s.Events()
	between := time.Since(s.Sent)
	close(second)
	last := <-s.Events()
	if first.At < s.HeaderAt || first.At > between || last.At < between {
		t.Errorf("headers at %v, first event at %v, asked for more at %v, second event at %v", s.HeaderAt, first.At, between, last.At)
	}
	all(t, s)
	if s.Comments() != 3 {
		t.Errorf("%d comments, want 3", s.Comments())
	}
	if s.Activity() < last.At || s.EndAt() < s.Activity() {
		t.Errorf("last byte at %v, end at %v", s.Activity(), s.EndAt())
	}
}

// shape of a stream's answer, for comparing.
type shape struct {
	States  []string
	Unary   Kind
	Sniffed bool
	NDJSON  bool
	Code    int
	Probs   []Problem
}

func shapeOf(t *testing.T, s *Stream) (got shape) {
	got.Sniffed, got.NDJSON = s.SniffedSSE, s.NDJSON
	for _, e := range all(t, s) {
		got.States = append(got.States, e.RawState)
		got.Probs = append(got.Probs, e.Problems...)
		if e.Err != nil {
			got.Code = e.Err.Code
		}
	}
	if s.Unary != nil {
		got.Unary, got.Probs = s.Unary.Kind, s.Unary.Problems
		if s.Unary.Err != nil {
			got.Code = s.Unary.Err.Code
		}
	}
	return got
}

// TestWhatAStreamingCallMayBeAnsweredWith is about media types and framing (C19, C24, C25, C26; wire reference 7.2).
func TestWhatAStreamingCallMayBeAnsweredWith(t *testing.T) {
	head := func(status int, mediaType string) string {
		return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", status, mediaType)
	}
	refusal := func(a asked) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32004}}`, a.ID) }
	both := func(a asked) string { return event(a, working) + event(a, completed) }
	lines := func(a asked) string { return a.reply(working) + "\n" + a.reply(completed) + "\n" }
	for name, tc := range map[string]struct {
		f    func(c *net.TCPConn, a asked)
		want shape
	}{
		"an event stream": {func(c *net.TCPConn, a asked) { write(c, head(200, "text/event-stream; charset=utf-8"), both(a)) }, shape{States: []string{"working", "completed"}}},
		"nothing, in an event stream (C03)": {
			func(c *net.TCPConn, _ asked) { write(c, head(200, "text/event-stream")) }, shape{},
		},
		"an event stream under another name": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "text/plain"), both(a)) },
			shape{States: []string{"working", "completed"}, Sniffed: true},
		},
		"an event stream under JSON's name, with CR": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "application/json"), strings.ReplaceAll(both(a), "\n", "\r"))
			},
			shape{States: []string{"working", "completed"}, Sniffed: true},
		},
		"an event stream without a name, that begins with a comment": {
			func(c *net.TCPConn, a asked) { write(c, head(200, ""), ": hi\n\n", both(a)) },
			shape{States: []string{"working", "completed"}, Sniffed: true},
		},
		"one envelope per line (C19)": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "application/x-ndjson"), lines(a)) },
			shape{States: []string{"working", "completed"}, NDJSON: true},
		},
		"one envelope per line under JSON's name": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "application/json"), lines(a)) },
			shape{States: []string{"working", "completed"}, NDJSON: true},
		},
		"one envelope per line, the last without its end": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "application/x-ndjson"), strings.TrimSuffix(lines(a), "\n"))
			},
			shape{States: []string{"working", "completed"}, NDJSON: true},
		},
		"a refusal in JSON (C25)": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "application/json"), refusal(a)) },
			shape{Unary: KindError, Code: -32004},
		},
		"a refusal in JSON with a line end, and gzip": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "application/json"), string(gzipped(t, refusal(a)+"\n\n")))
			},
			shape{Unary: KindError, Code: -32004},
		},
		"a refusal in the stream (C26)": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "text/event-stream"), "data: ", refusal(a), "\n\n") },
			shape{States: []string{""}, Code: -32004},
		},
		"a refusal in an event that is called error": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "text/event-stream"), "event: error\ndata: ", refusal(a), "\n\n")
			},
			shape{States: []string{""}, Code: -32004},
		},
		"a refusal without an envelope in an event that is called error": {
			func(c *net.TCPConn, _ asked) {
				write(c, head(200, "text/event-stream"), "event: error\ndata: {\"code\":-32603}\n\n")
			},
			shape{States: []string{""}, Code: -32603, Probs: []Problem{ProblemNoVersion, ProblemShape, ProblemMalformed}},
		},
		"a refusal with a status of its own": {
			func(c *net.TCPConn, a asked) { write(c, head(400, "application/json"), refusal(a)) },
			shape{Unary: KindError, Code: -32004},
		},
		"a refusal with a status of its own, in SSE": {
			func(c *net.TCPConn, a asked) { write(c, head(500, "text/event-stream"), "data: ", refusal(a), "\n\n") },
			shape{Unary: KindError, Code: -32004, Probs: []Problem{ProblemShape}},
		},
		"a task in JSON": {
			func(c *net.TCPConn, a asked) { write(c, head(200, "application/json"), a.reply(task)) }, shape{Unary: KindTask},
		},
		"a task in JSON, over many lines": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "application/json"), strings.ReplaceAll(a.reply(task), ",", ",\n  "))
			},
			shape{Unary: KindTask},
		},
		"a last event without its blank line (C24)": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "text/event-stream"), event(a, working), strings.TrimSpace(event(a, completed)))
			},
			shape{States: []string{"working", "completed"}, Probs: []Problem{ProblemUnterminated}},
		},
		"an event that is not JSON": {
			func(c *net.TCPConn, a asked) {
				write(c, head(200, "text/event-stream"), event(a, working), "data: [DONE]\n\n")
			},
			shape{States: []string{"working", ""}, Probs: []Problem{ProblemMalformed}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := streamed(within(t, 5*time.Second), t, Options{}, tc.f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, shapeOf(t, s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnswersThatAreNone are *Errors for a stream and for a unary call alike.
func TestAnswersThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		status          int
		mediaType, body string
		want            Class
	}{
		"a page (C94)":                         {200, "text/html", "<html>", ClassMediaType},
		"a page that is not there":             {404, "text/html", "<html>", ClassStatus},
		"a method that is not allowed (C54)":   {405, "text/plain", "Method Not Allowed", ClassStatus},
		"a gateway's own JSON":                 {502, "application/json", `{"error":{"code":502}}`, ClassStatus},
		"a gateway's own JSON, as success":     {200, "application/json", `{"detail":"x"}`, ClassMalformed},
		"nothing":                              {200, "application/json", "", ClassMalformed},
		"nothing at all":                       {200, "", "", ClassMalformed},
		"accepted, and no more":                {202, "", "", ClassMalformed},
		"no content":                           {204, "", "", ClassMalformed},
		"a text":                               {200, "text/plain", "hello", ClassMalformed},
		"half a JSON":                          {200, "application/json", `{"jsonrpc":"2.0","id":`, ClassMalformed},
		"credentials wanted":                   {401, "application/json", `{"error":"unauthorized"}`, ClassStatus},
		"an empty stream with a status of no":  {503, "text/event-stream", "", ClassStatus},
		"TLS wanted (C100)":                    {400, "text/plain", "Client sent an HTTP request to an HTTPS server.\n", ClassStatus},
		"a not modified that nobody asked for": {304, "", "", ClassStatus},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tc.mediaType}
				w.WriteHeader(tc.status)
				write(w, tc.body)
			})
			j := askOf(t, mustURL(t, srv.URL), V03, Options{})
			_, err := j.SendStream(within(t, 5*time.Second), ping, SendConfig{})
			if e := wantClass(t, err, tc.want); e.Status != tc.status {
				t.Errorf("status %d, want %d", e.Status, tc.status)
			}
			_, err = j.Send(within(t, 5*time.Second), ping, SendConfig{})
			if e := wantClass(t, err, tc.want); e.Status != tc.status {
				t.Errorf("status %d, want %d", e.Status, tc.status)
			}
		})
	}
}

// TestNDJSONEventsComeWhenTheyAreSent: the second line is written only after the first was delivered.
func TestNDJSONEventsComeWhenTheyAreSent(t *testing.T) {
	more := make(chan struct{})
	s, err := streamed(within(t, 5*time.Second), t, Options{}, func(c *net.TCPConn, a asked) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n", a.reply(working), "\n")
		<-more
		write(c, a.reply(completed), "\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-s.Events(); e.RawState != "working" {
		t.Errorf("event %+v, want working", e)
	}
	close(more)
	if e := <-s.Events(); e.RawState != "completed" {
		t.Errorf("event %+v, want completed", e)
	}
}

// TestHeadersWithoutAnEventOpenTheStream, and a peer that sends no header before its first event (a2a-js) is waited for as long as
// the context says.
func TestHeadersWithoutAnEventOpenTheStream(t *testing.T) {
	s, err := streamed(within(t, 5*time.Second), t, Options{}, func(c *net.TCPConn, _ asked) {
		write(c, sseHead, chunked)
		untilClosed(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err = streamed(within(t, 100*time.Millisecond), t, Options{}, func(c *net.TCPConn, _ asked) { untilClosed(c) })
	wantClass(t, err, ClassTimeout)
}

// TestTasksAskedForAreBareIn10, and nothing else is.
func TestTasksAskedForAreBareIn10(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, readAsked(r.Body).reply(`{"id":"t1","status":{"state":"TASK_STATE_CANCELED"}}`))
	})
	j, ctx := askOf(t, mustURL(t, srv.URL), V10, Options{}), within(t, 5*time.Second)
	get, e1 := j.GetTask(ctx, "t1", nil)
	cancel, e2 := j.CancelTask(ctx, "t1")
	send, e3 := j.Send(ctx, ping, SendConfig{})
	if err := errors.Join(e1, e2, e3); err != nil {
		t.Fatal(err)
	}
	if len(get.Problems) != 0 || len(cancel.Problems) != 0 || !send.Has(ProblemShape) {
		t.Errorf("get %v, cancel %v, send %v: want the shape noted for send alone", get.Problems, cancel.Problems, send.Problems)
	}
}

func TestUnaryCallAnsweredByAStreamIsRead(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := readAsked(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, event(a, working), event(a, task), event(a, completed))
	})
	a, err := askOf(t, mustURL(t, srv.URL), V03, Options{}).Send(within(t, 5*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Kind != KindTask || !a.Has(ProblemShape) {
		t.Errorf("answer %+v, want the task, noted", a)
	}
}

func TestAnswersTellStatusAndRetryAfter(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000}}`, readAsked(r.Body).ID)
	})
	a, err := askOf(t, mustURL(t, srv.URL), V03, Options{}).GetTask(within(t, 5*time.Second), "t1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 429 || a.RetryAfter != 7*time.Second || a.Kind != KindError || a.MediaType != "application/json" || a.At <= 0 {
		t.Errorf("answer %+v", a)
	}
}

// TestEveryMethodIsAskedInItsGeneration also checks the headers: A2A-Version is for 1.x alone.
func TestEveryMethodIsAskedInItsGeneration(t *testing.T) {
	var got []string
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := readAsked(r.Body)
		got = append(got, strings.TrimSpace(a.Method+" "+r.Header.Get("A2A-Version")+" "+r.Header.Get("Accept")))
		write(w, a.reply(task))
	})
	for g, want := range map[Generation][]string{
		"":  {"SendMessage 1.0 application/json", "SendStreamingMessage 1.0 text/event-stream", "GetTask 1.0 application/json", "CancelTask 1.0 application/json", "SubscribeToTask 1.0 text/event-stream", "SendMessage 1.0 application/json"},
		V01: {"tasks/send application/json", "tasks/sendSubscribe text/event-stream", "tasks/get application/json", "tasks/cancel application/json", "tasks/resubscribe text/event-stream", "tasks/send application/json"},
		V03: {"message/send application/json", "message/stream text/event-stream", "tasks/get application/json", "tasks/cancel application/json", "tasks/resubscribe text/event-stream", "message/send application/json"},
		V10: {"SendMessage 1.0 application/json", "SendStreamingMessage 1.0 text/event-stream", "GetTask 1.0 application/json", "CancelTask 1.0 application/json", "SubscribeToTask 1.0 text/event-stream", "SendMessage 1.0 application/json"},
	} {
		got = nil
		ctx := within(t, 5*time.Second)
		j := askOf(t, mustURL(t, srv.URL), g, Options{})
		_, e1 := j.Send(ctx, ping, SendConfig{})
		_, e2 := j.SendStream(ctx, ping, SendConfig{})
		_, e3 := j.GetTask(ctx, "t1", nil)
		_, e4 := j.CancelTask(ctx, "t1")
		_, e5 := j.Resubscribe(ctx, "t1")
		_, e6 := j.Ping(ctx)
		if err := errors.Join(e1, e2, e3, e4, e5, e6); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "  ", " ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g, diff)
		}
	}
}

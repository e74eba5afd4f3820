package agent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

const honestStream = "200 text/event-stream: task submitted, working, artifact, completed, end"

// act is what a test does to an agent; it tells in one line what it saw.
type act func(*testing.T, *agent.Agent, *peer) string

// streamed streams a message and tells all of it.
func streamed(text string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message(text, ""))
		return fmt.Sprintf("%d %s: %s", s.status, s.mediaType, s.rest(t))
	}
}

// streamedThenGot streams a message and asks GetTask after the stream's last event.
func streamedThenGot(t *testing.T, _ *agent.Agent, p *peer) string {
	s := p.stream("stream", p.message("ping", ""))
	f, _ := s.next(t)
	rest := s.rest(t)
	return fmt.Sprintf("%s, %s; then %s", f.word(), rest, state(p.call("get", obj{"id": f.id()})))
}

// openAfter reads a stream up to an event and says whether it stays open and silent, and what GetTask says meanwhile.
func openAfter(word string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		f := s.until(t, word)
		silent := s.silentFor(150 * time.Millisecond)
		return fmt.Sprintf("silent %t, GetTask %s", silent, state(p.call("get", obj{"id": f.id()})))
	}
}

// sent sends a message and tells the state.
func sent(text string) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string {
		e := p.call("send", p.message(text, ""))
		if (frame{envelope: e}).word() == "message" {
			return "message"
		}
		return state(e)
	}
}

// got sends ping and asks GetTask so many times.
func got(times int) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		var list []string
		for range times {
			e := p.call("get", obj{"id": id})
			word := state(e)
			if e["error"] == nil && str(task(e), "id") != id {
				word += " of another id"
			}
			if dig(e, "result", "task") != nil {
				word += " wrapped"
			}
			list = append(list, word)
		}
		return strings.Join(list, ", ")
	}
}

// clockOff tells how far the times of the task are off, in whole seconds.
func clockOff(t *testing.T, _ *agent.Agent, p *peer) string {
	at, err := time.Parse(time.RFC3339Nano, str(task(p.call("send", p.message("ping", ""))), "status", "timestamp"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(at).Round(time.Second).String()
}

// canceled cancels a long stream and tells the answer, what the stream does after it (at most so many events), and GetTask.
func canceled(events int) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("count", ""))
		id := s.until(t, "artifact").id()
		answer := state(p.call("cancel", obj{"id": id}))
		var words []string
		for len(words) < events {
			f, ok := s.next(t)
			if !ok {
				words = append(words, "end")
				break
			}
			if w := f.word(); len(words) == 0 || words[len(words)-1] != w || events > 3 {
				words = append(words, w)
			} else {
				break
			}
		}
		return fmt.Sprintf("%s; %s; %s", answer, strings.Join(words, ", "), state(p.call("get", obj{"id": id})))
	}
}

// refusedCancel tells the answer to a cancel and what the task is then.
func refusedCancel(_ *testing.T, _ *agent.Agent, p *peer) string {
	id := str(task(p.call("send", p.atOnce(p.message("book", "")))), "id")
	answer := state(p.call("cancel", obj{"id": id}))
	return answer
}

// followedUp answers a question and tells whose id the answer has, and what the old task is then.
func followedUp(metadata ...string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("book a trip", ""))), "id")
		waits := "input-required"
		if state(p.call("get", obj{"id": id})) != "input-required" {
			waits = "working"
		}
		eventually(t, waits, func() string { return state(p.call("get", obj{"id": id})) })
		reply := p.message("to Oslo", id)
		if len(metadata) > 0 {
			reply["metadata"] = obj{metadata[0]: "acme"}
		}
		e := p.call("send", reply)
		whose := "same id"
		switch {
		case e["error"] != nil:
			whose = code(e)
		case (frame{envelope: e}).word() == "message":
			whose = "message"
		case str(task(e), "id") != id:
			whose = "new id"
		}
		return whose + "; old " + state(p.call("get", obj{"id": id}))
	}
}

// fetched tells status, length class and some member of the card.
func fetched(path, member string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		card, status := fetch(t, p.url+path)
		v := str(card, strings.Split(member, ".")...)
		return fmt.Sprint(status, " ", strings.ReplaceAll(v, p.url, "URL"))
	}
}

const newPath, oldPath = "/.well-known/agent-card.json", "/.well-known/agent.json"

func card(member string) act { return fetched(newPath, member) }

// body tells the beginning and the length of what GET answers.
func body(path string, begins string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := noRedirects.Get(p.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		return fmt.Sprintf("begins %t, %d kB", strings.HasPrefix(string(b), begins), len(b)>>10)
	}
}

// status of the card and of a POST, and where they lead.
func statuses(t *testing.T, _ *agent.Agent, p *peer) string {
	r, err := noRedirects.Get(p.url + newPath)
	if err != nil {
		return "card: closed"
	}
	_ = r.Body.Close()
	line := fmt.Sprint("card ", r.StatusCode, strings.ReplaceAll(r.Header.Get("Location"), p.url, " "))
	q, err := p.post(t.Context(), "send", p.message("ping", ""))
	if err != nil {
		t.Fatal(err)
	}
	_ = q.Body.Close()
	return line + fmt.Sprint(", post ", q.StatusCode, strings.ReplaceAll(q.Header.Get("Location"), p.url, " "))
}

// unanswered says whether GET and POST get nothing within 200 ms.
func unanswered(t *testing.T, _ *agent.Agent, p *peer) string {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	g, _ := http.NewRequestWithContext(ctx, "GET", p.url+newPath, nil)
	r, err := http.DefaultClient.Do(g)
	line := fmt.Sprint("card ", err == nil)
	if err == nil {
		_ = r.Body.Close()
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r, err = p.post(ctx, "send", p.message("ping", ""))
	if err == nil {
		_ = r.Body.Close()
	}
	return line + fmt.Sprint(", post ", err == nil)
}

// endless says whether more than 20 MiB came in 5 s at most.
func endless(open func(*testing.T, *peer) io.ReadCloser) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		b := open(t, p)
		defer b.Close()
		n, _ := io.Copy(io.Discard, io.LimitReader(b, 20<<20))
		return fmt.Sprint(n>>20, " MiB and more")
	}
}

func getBody(t *testing.T, p *peer) io.ReadCloser {
	r, err := http.Get(p.url + newPath)
	if err != nil {
		t.Fatal(err)
	}
	return r.Body
}

func postBody(what string) func(*testing.T, *peer) io.ReadCloser {
	return func(t *testing.T, p *peer) io.ReadCloser {
		r, err := p.post(t.Context(), what, p.message("ping", ""))
		if err != nil {
			t.Fatal(err)
		}
		return r.Body
	}
}

// envelope tells a member of the answer to a send.
func envelope(path ...string) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string {
		return str(p.call("send", p.message("ping", "")), path...)
	}
}

// hungUp leaves a stream after working and tells what becomes of the task.
func hungUp(want string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("count", ""))
		f := s.until(t, "working")
		s.close()
		eventually(t, want, func() string { return state(p.call("get", obj{"id": f.id()})) })
		return want
	}
}

// several repeats an act and tells all of it.
func several(n int, a act) act {
	return func(t *testing.T, ag *agent.Agent, p *peer) string {
		var list []string
		for range n {
			list = append(list, a(t, ag, p))
		}
		return strings.Join(list, " | ")
	}
}

// rawStream tells whether the bytes of a stream contain a string.
func rawStream(has string) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		b := postBody("stream")(t, p)
		defer b.Close()
		all, _ := io.ReadAll(b)
		return fmt.Sprint(strings.Contains(string(all), has), " ", strings.HasSuffix(strings.ReplaceAll(string(all), "\r", "\n"), "\n\n"))
	}
}

// named counts the ids that a task is called by: in the answer to a send, in three answers about it and in a stream; whether GetTask calls
// the stream's task something else; and whether metadata tells the agent's own.
func named(t *testing.T, _ *agent.Agent, p *peer) string {
	sent := task(p.call("send", p.message("ping", "")))
	id := str(sent, "id")
	asked, streamed := map[string]bool{}, map[string]bool{}
	for range 3 {
		asked[str(p.call("get", obj{"id": id}), "result", "id")] = true
	}
	var last string
	for f := range p.stream("stream", p.message("ping", "")).frames {
		r, _ := f.envelope["result"].(obj)
		for _, inner := range []string{str(r, "task", "id"), str(r, "statusUpdate", "taskId"), str(r, "artifactUpdate", "taskId")} {
			if inner != "" {
				streamed[inner], last = true, inner
			}
		}
	}
	stranger := str(p.call("get", obj{"id": last}), "result", "id") != last
	return fmt.Sprintf("send 1, get %d, stream %d, stranger %v, own id %v", len(asked), len(streamed), stranger,
		str(sent, "metadata", agent.CorrelationKey) != "")
}

// both does two acts.
func both(a, b act) act {
	return func(t *testing.T, ag *agent.Agent, p *peer) string { return a(t, ag, p) + " / " + b(t, ag, p) }
}

// method calls anything and tells the state.
func method(name string, params obj) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string { return state(p.call(name, params)) }
}

// lump tells whether all events of a stream came within 30 ms of each other though the task took longer.
func lump(t *testing.T, _ *agent.Agent, p *peer) string {
	s := p.stream("stream", p.message("ping", ""))
	begun := time.Now()
	_, _ = s.next(t)
	first := time.Since(begun)
	rest := s.rest(t)
	return fmt.Sprintf("%t %t %s", first > 600*time.Millisecond, time.Since(begun)-first < 500*time.Millisecond, rest)
}

func slow(c *agent.Config) { c.Stream.Work = agent.Duration(900 * time.Millisecond) }

func quick(c *agent.Config) {
	for _, d := range []*agent.Duration{&c.Script.Think, &c.Stream.FirstEvent} {
		if *d > agent.Duration(300*time.Millisecond) {
			*d = agent.Duration(300 * time.Millisecond)
		}
	}
}

// quirkCase is what is done to an agent with a quirk and what is seen. more changes the agent besides.
type quirkCase struct {
	quirk string
	gen   agent.Generation // default 1.0
	act   act
	want  string
	more  func(*agent.Config)
}

// quirkCases has at least one case for every quirk.
var quirkCases = []quirkCase{
	{quirk: "empty-stream", act: both(streamed("ping"), sent("ping")), want: "200 text/event-stream: end / completed"},
	{quirk: "empty-and-failing", act: both(streamed("ping"), sent("ping")), want: "200 text/event-stream: end / -32603"},
	{quirk: "withheld-end", act: streamedThenGot, want: "task submitted, working, artifact, end; then completed"},
	{quirk: "withheld-end-open", act: openAfter("artifact"), want: "silent true, GetTask completed"},
	{quirk: "withheld-question", act: openAfter("working"), want: "silent true, GetTask input-required"},
	{quirk: "many-messages", act: streamed("ping"), want: "200 text/event-stream: message, message, message, message, end"},
	{quirk: "refuses-stream", act: both(streamed("ping"), sent("ping")), want: "200 application/json: error -32004, end / completed"},
	{quirk: "refuses-stream-sse", act: streamed("ping"), want: "200 text/event-stream: error -32004, end"},
	{quirk: "stream-unknown", act: streamed("ping"), want: "200 application/json: error -32601, end"},
	{quirk: "stream-bad-params", act: streamed("ping"), want: "200 application/json: error -32602, end"},
	{quirk: "stream-fails", act: streamed("ping"), want: "200 application/json: error -32603, end"},
	{quirk: "stream-fails-sse", act: streamed("ping"), want: "200 text/event-stream: error -32603, end"},
	{quirk: "unary-stream", act: streamed("ping"), want: "200 application/json: task completed, end"},
	{quirk: "ndjson", act: streamed("ping"), want: "200 application/x-ndjson: task submitted, working, artifact, completed, end"},
	{quirk: "wrong-media-type", act: streamed("ping"), want: "200 text/plain: task submitted, working, artifact, completed, end"},
	{quirk: "no-media-type", act: streamed("ping"), want: "200 : task submitted, working, artifact, completed, end"},
	{quirk: "foreign-task", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		a, _ := s.next(t)
		b, _ := s.next(t)
		return fmt.Sprint(a.id() == b.id())
	}, want: "false"},
	{quirk: "every-third-stream", act: several(3, streamed("ping")), want: honestStream + " | " + honestStream + " | 200 text/event-stream: end"},
	{quirk: "leaves-terminal", act: streamed("ping"), want: strings.Replace(honestStream, "end", "working, end", 1)},
	{quirk: "artifact-after-end", act: streamed("ping"), want: strings.Replace(honestStream, "end", "artifact, end", 1)},
	{quirk: "second-end", act: streamed("ping"), want: strings.Replace(honestStream, "end", "failed, end", 1)},
	{quirk: "stuck", act: openAfter("working"), want: "silent true, GetTask working"},
	{quirk: "hang-up-fails", act: hungUp("failed"), want: "failed"},
	{quirk: "hang-up-sticks", act: func(t *testing.T, a *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		id := s.until(t, "working").id()
		s.close()
		eventually(t, "0", func() string { return fmt.Sprint(a.Counts().Streams) })
		p.stream("stream", p.message("ping", "")).rest(t) // as long as the first would have taken
		return state(p.call("get", obj{"id": id}))
	}, want: "working", more: slow},
	{quirk: "endless-stream", act: endless(postBody("stream")), want: "20 MiB and more"},
	{quirk: "giant-event", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		f := p.stream("stream", p.message("ping", "")).until(t, "artifact")
		return fmt.Sprint(len(f.raw)>>20, " MiB")
	}, want: "2 MiB"},
	{quirk: "malformed-event", act: streamed("ping"), want: "200 text/event-stream: task submitted, garbage, working, artifact, completed, end"},
	{quirk: "error-after-two", act: streamed("ping"), want: "200 text/event-stream: task submitted, working, error -32603, end"},

	{quirk: "cut-idle", gen: agent.V03, act: streamedThenGot, want: "task submitted, working, end; then working"},
	{quirk: "cut-idle", gen: agent.V03, act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		id := s.until(t, "working").id()
		s.rest(t)
		return p.stream("resubscribe", obj{"id": id}).rest(t)
	}, want: "task working, artifact, completed, end", more: func(c *agent.Config) { c.Script.Think = agent.Duration(600 * time.Millisecond) }},
	{quirk: "reset", act: streamed("ping"), want: "200 text/event-stream: task submitted, working, reset"},
	{quirk: "cut-delimited", act: streamed("ping"), want: "200 text/event-stream: task submitted, working, end"},
	{quirk: "cut-before-end", act: streamedThenGot, want: "task submitted, working, artifact, end; then working"},
	{quirk: "backs-up", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		f, _ := s.next(t)
		word := f.word() + "; then " + state(p.call("get", obj{"id": f.id()}))
		return word + ": " + s.rest(t)
	}, want: "task submitted; then completed: working, artifact, completed, end"},
	{quirk: "backs-up-for-long", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		f, _ := s.next(t)
		return f.word() + "; then " + state(p.call("get", obj{"id": f.id()}))
	}, want: "task submitted; then completed"},
	{quirk: "held-back", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("ping", ""))
		f, _ := s.next(t)
		word := f.word() + "; then " + state(p.call("get", obj{"id": f.id()}))
		return word + ": " + s.rest(t)
	}, want: "task submitted; then completed: working, artifact, completed, end"},

	{quirk: "close-delimited", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := p.post(t.Context(), "stream", p.message("ping", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return fmt.Sprint(r.TransferEncoding, r.ContentLength, r.Close)
	}, want: "[] -1 true"},
	{quirk: "hold-terminal", act: openAfter("completed"), want: "silent true, GetTask completed"},
	{quirk: "hold-interrupted", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("book", ""))
		id := s.until(t, "input-required").id()
		silent := s.silentFor(100 * time.Millisecond)
		p.call("send", p.message("to Oslo", id))
		return fmt.Sprint(silent, " ", s.rest(t))
	}, want: "true working, artifact, completed, end"},
	{quirk: "keep-alive", act: rawStream(": keep-alive"), want: "true true", more: slow},
	{quirk: "ugly-sse", act: both(streamed("ping"), rawStream("retry: 3000\ndata: {\ndata:  \"jsonrpc\"")), want: honestStream + " / true true"},
	{quirk: "crlf", act: both(streamed("ping"), rawStream("\r\n\r\n")), want: honestStream + " / true true"},
	{quirk: "cr", act: both(streamed("ping"), rawStream("\r\r")), want: honestStream + " / true true"},
	{quirk: "stream-bom", act: both(streamed("ping"), rawStream("\ufeffdata:")), want: honestStream + " / true true"},
	{quirk: "unterminated", act: both(streamed("ping"), rawStream("data:")), want: honestStream + " / true false"},
	{quirk: "buffered", act: lump, want: "true true working, artifact, completed, end", more: slow},
	{quirk: "slow-first-event", act: both(func(t *testing.T, _ *agent.Agent, p *peer) string {
		return fmt.Sprint(p.stream("stream", p.message("ping", "")).silentFor(150 * time.Millisecond))
	}, streamed("ping")), want: "true / " + honestStream, more: quick},
	{quirk: "late-headers", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		begun := time.Now()
		s := p.stream("stream", p.message("ping", ""))
		return fmt.Sprint(time.Since(begun) > 250*time.Millisecond, " ", s.rest(t))
	}, want: "true task submitted, working, artifact, completed, end", more: quick},
	{quirk: "slow-thinker", act: both(openAfter("working"), streamed("ping")), want: "silent true, GetTask working / " + honestStream, more: quick},
	{quirk: "status-first", act: streamed("ping"), want: "200 text/event-stream: working, artifact, task completed, end"},
	{quirk: "one-task", act: streamed("ping"), want: "200 text/event-stream: task completed, end"},
	{quirk: "burst", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		begun := time.Now()
		rest := p.stream("stream", p.message("ping", "")).rest(t)
		return fmt.Sprint(time.Since(begun) < 700*time.Millisecond, " ", rest)
	}, want: "true task submitted, working, artifact, completed, end"},
	{quirk: "no-content", act: both(streamed("ping"), envelope("result", "task", "artifacts", "0", "parts", "0", "text")), want: "200 text/event-stream: task submitted, working, completed, end / pong"},
	{quirk: "completed-twice", gen: agent.V01, act: streamed("ping"), want: "200 text/event-stream: submitted, working, completed, artifact, completed, end"},
	{quirk: "repeats-end", act: streamed("ping"), want: strings.Replace(honestStream, "end", "completed, end", 1)},
	{quirk: "last-snapshot", act: streamed("ping"), want: strings.Replace(honestStream, "end", "task completed, end", 1)},
	{quirk: "undeclared-streams", act: both(card("capabilities.streaming"), streamed("ping")), want: "200 false / " + honestStream},
	{quirk: "never-final", gen: agent.V03, act: rawStream(`"final":true`), want: "false true"},

	{quirk: "messages", act: both(streamed("ping"), sent("ping")), want: "200 text/event-stream: message, end / message"},
	{quirk: "skips", act: both(streamed("ping"), sent("ping")), want: "200 text/event-stream: task completed, end / completed"},
	{quirk: "no-submitted", act: streamed("ping"), want: "200 text/event-stream: task working, artifact, completed, end"},
	{quirk: "no-working", act: streamed("ping"), want: "200 text/event-stream: task submitted, artifact, completed, end"},
	{quirk: "always-asks", act: streamed("ping"), want: "200 text/event-stream: task submitted, working, artifact, input-required, end"},
	{quirk: "rejects", act: streamed("ping"), want: "200 text/event-stream: task submitted, working, rejected, end"},
	{quirk: "fails", act: sent("ping"), want: "failed"},
	{quirk: "wants-auth", act: sent("ping"), want: "auth-required"},
	{quirk: "never-asks", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("book", ""))
		s.until(t, "working")
		return fmt.Sprint(s.silentFor(100 * time.Millisecond))
	}, want: "true"},
	{quirk: "needs-data", gen: agent.V03, act: both(sent("ping"), method("message/send", obj{"message": obj{"kind": "message", "messageId": "d", "role": "user",
		"parts": []any{obj{"kind": "data", "data": obj{"task": "ping"}}}}})), want: "-32602 / completed"},
	{quirk: "fails-often", act: several(3, sent("ping")), want: "completed | completed | -32603"},
	{quirk: "fails-always", act: both(sent("ping"), streamed("ping")), want: "-32603 / 200 text/event-stream: end"},
	{quirk: "flaky", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
		failed := 0
		for range 100 {
			if state(p.call("send", p.message("ping", ""))) == "-32603" {
				failed++
			}
		}
		return fmt.Sprint(failed > 15 && failed < 45)
	}, want: "true"},
	{quirk: "fails-in-state", act: several(3, sent("ping")), want: "completed | completed | failed"},

	{quirk: "send-at-once", act: sent("ping"), want: "submitted"},
	{quirk: "bare-result", act: envelope("result", "status", "state"), want: "TASK_STATE_COMPLETED"},
	{quirk: "send-fails", act: both(sent("ping"), streamed("ping")), want: "-32603 / " + honestStream},
	{quirk: "send-hangs", act: unanswered, want: "card true, post false"},

	{quirk: "get-not-found", act: got(2), want: "-32001, -32001"},
	{quirk: "replicas", act: got(4), want: "completed, -32001, completed, -32001"},
	{quirk: "stale-store", act: both(got(1), streamedThenGot), want: "working / task submitted, working, artifact, completed, end; then working"},
	{quirk: "lagging-store", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		first := state(p.call("get", obj{"id": id}))
		eventually(t, "completed", func() string { return state(p.call("get", obj{"id": id})) })
		return first
	}, want: "submitted"},
	{quirk: "get-unknown", act: both(got(1), both(refusedCancel, method("SubscribeToTask", obj{"id": "x"}))), want: "-32601 / -32601 / -32601"},
	{quirk: "get-other-id", act: got(1), want: "completed of another id"},
	{quirk: "get-wrapped", act: got(1), want: "completed wrapped"},
	{quirk: "purges", act: got(1), want: "-32001"},
	{quirk: "no-timestamps", act: envelope("result", "task", "status", "timestamp"), want: ""},
	{quirk: "slow-clock", act: clockOff, want: "-1s"},
	{quirk: "zone-clock", act: clockOff, want: "-7h0m0s"},
	{quirk: "stopped-clock", act: envelope("result", "task", "status", "timestamp"), want: "2020-01-01T00:00:00.000Z"},
	{quirk: "slow-get", act: func(t *testing.T, a *agent.Agent, p *peer) string {
		begun := time.Now()
		return got(1)(t, a, p) + fmt.Sprint(" ", time.Since(begun) >= 400*time.Millisecond)
	}, want: "completed true"},
	{quirk: "live-stamps", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		get := func() string { return str(task(p.call("get", obj{"id": id})), "status", "timestamp") }
		first := get()
		eventually(t, "true", func() string { return fmt.Sprint(first < get()) })
		return "live"
	}, want: "live"},
	{quirk: "relapses", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		first := state(p.call("get", obj{"id": id}))
		eventually(t, "working", func() string { return state(p.call("get", obj{"id": id})) })
		return first
	}, want: "completed"},

	{quirk: "zombie-cancel", act: canceled(4), want: "canceled; artifact, artifact, artifact, artifact; canceled"},
	{quirk: "zombie-working", act: canceled(4), want: "canceled; artifact, artifact, artifact, artifact; working"},
	{quirk: "cancel-not-now", act: refusedCancel, want: "-32002"},
	{quirk: "cancel-unknown", act: refusedCancel, want: "-32601"},
	{quirk: "cancel-unsupported", act: refusedCancel, want: "-32004"},
	{quirk: "cancel-fails", act: refusedCancel, want: "-32603"},
	{quirk: "cancel-not-found", act: refusedCancel, want: "-32001"},
	{quirk: "cancel-later", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("count", ""))
		id := s.until(t, "artifact").id()
		answer := state(p.call("cancel", obj{"id": id}))
		s.until(t, "canceled")
		return answer + ", " + state(p.call("get", obj{"id": id}))
	}, want: "working, canceled"},
	{quirk: "cancel-never", act: canceled(4), want: "working; artifact, artifact, artifact, artifact; working"},
	{quirk: "cancel-slow", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := p.stream("stream", p.message("count", "")).until(t, "artifact").id()
		asked := time.Now()
		answer := state(p.call("cancel", obj{"id": id}))
		return fmt.Sprint(answer, " ", time.Since(asked) > 900*time.Millisecond)
	}, want: "canceled true"},
	{quirk: "late-canceled-frame", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("count", ""))
		id := s.until(t, "artifact").id()
		p.call("cancel", obj{"id": id})
		told := time.Now()
		s.until(t, "canceled")
		return fmt.Sprint(time.Since(told) > 100*time.Millisecond)
	}, want: "true"},
	{quirk: "no-canceled-frame", act: canceled(1), want: "canceled; end; canceled", more: func(c *agent.Config) { c.Script.Tick = agent.Duration(time.Second / 4) }},
	{quirk: "completes-after-all", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		s := p.stream("stream", p.message("count", ""))
		id := s.until(t, "artifact").id()
		answer := state(p.call("cancel", obj{"id": id}))
		then := state(p.call("get", obj{"id": id}))
		s.until(t, "canceled")
		return answer + ", " + then + ", " + s.rest(t) + ", " + state(p.call("get", obj{"id": id}))
	}, want: "canceled, canceled, artifact, completed, end, completed"},
	{quirk: "cancel-forgotten", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := p.stream("stream", p.message("count", "")).until(t, "artifact").id()
		answer := state(p.call("cancel", obj{"id": id}))
		eventually(t, "working", func() string { return state(p.call("get", obj{"id": id})) })
		return answer
	}, want: "canceled"},
	{quirk: "revives-terminal", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		return state(p.call("send", p.atOnce(p.message("more", id))))
	}, want: "working"},
	{quirk: "follow-up-new-id", act: followedUp(), want: "new id; old input-required"},
	{quirk: "follow-up-rewritten", act: followedUp(), want: "new id; old completed"},
	{quirk: "ids-per-task", act: named, want: "send 1, get 1, stream 1, stranger false, own id false"},
	{quirk: "ids-per-answer", act: named, want: "send 1, get 3, stream 1, stranger true, own id false"},
	{quirk: "ids-per-event", act: named, want: "send 1, get 3, stream 4, stranger true, own id false"},
	{quirk: "ids-in-streams", act: named, want: "send 1, get 1, stream 1, stranger true, own id false"},
	{quirk: "correlates", act: named, want: "send 1, get 1, stream 1, stranger false, own id true"},
	{quirk: "correlates-by-header", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := p.post(t.Context(), "send", p.message("ping", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return fmt.Sprint(len(r.Header.Get(agent.CorrelationHeader)))
	}, want: "36"},
	{quirk: "params-first", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
		return code(p.call("send", obj{})) + " " + code(p.call("get", obj{"id": "x"}))
	}, want: "-32602 -32001"},
	{quirk: "follow-up-refused", act: followedUp(), want: "-32602; old input-required"},
	{quirk: "follow-up-not-found", act: followedUp(), want: "-32001; old input-required"},
	{quirk: "follow-up-early", act: both(followedUp(), func(t *testing.T, _ *agent.Agent, p *peer) string {
		id := p.stream("stream", p.message("count", "")).until(t, "artifact").id()
		return state(p.call("send", p.message("faster", id)))
	}), want: "same id; old completed / -32004"},
	{quirk: "follow-up-message", act: followedUp(), want: "message; old completed"},
	{quirk: "follow-up-context", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
		first := p.call("send", p.message("book", ""))
		second := p.call("send", p.message("to Oslo", str(task(first), "id")))
		return fmt.Sprint(str(task(first), "contextId") == str(task(second), "contextId"))
	}, want: "false"},
	{quirk: "follow-up-unpromised", gen: agent.V03, act: followedUp(), want: "new id; old working"},
	{quirk: "founding-third", gen: agent.V01, act: followedUp(), want: "new id; old working"},
	{quirk: "founding-third", gen: agent.V01, act: followedUp("tenant"), want: "same id; old working"},

	{quirk: "legacy-path", act: both(fetched(newPath, "x"), fetched(oldPath, "name")), want: "404  / 200 scripted agent"},
	{quirk: "prefixed", act: func(t *testing.T, a *agent.Agent, p *peer) string {
		root, status := fetch(t, strings.TrimSuffix(p.url, "/agents/one")+newPath)
		return fmt.Sprint(status, root, " / ", card("supportedInterfaces.0.url")(t, a, p), " / ", streamed("ping")(t, a, p))
	}, want: "404 map[] / 200 URL/a2a / " + honestStream},
	{quirk: "new-path", gen: agent.V02, act: both(fetched(newPath, "name"), fetched(oldPath, "x")), want: "200 scripted agent / 404 "},
	{quirk: "both-paths", act: both(fetched(newPath, "name"), fetched(oldPath, "name")), want: "200 scripted agent / 200 scripted agent"},
	{quirk: "card-elsewhere", act: both(fetched(newPath, "x"), fetched("/v1/card", "name")), want: "404  / 200 scripted agent"},
	{quirk: "card-wrong-url", act: card("supportedInterfaces.0.url"), want: "200 /a2a/tick/a2a/tock/"},
	{quirk: "card-relative", act: card("supportedInterfaces.0.url"), want: "200 /a2a"},
	{quirk: "card-wildcard", act: card("supportedInterfaces.0.url"), want: "200 http://0.0.0.0:8000/"},
	{quirk: "card-other-origin", act: card("supportedInterfaces.0.url"), want: "200 http://other.example.invalid/a2a"},
	{quirk: "card-metadata", act: card("supportedInterfaces.0.url"), want: "200 http://169.254.169.254/latest/meta-data/"},
	{quirk: "card-is-endpoint", act: card("supportedInterfaces.0.url"), want: "200 " + newPath},
	{quirk: "streaming-false", act: both(card("capabilities.streaming"), streamed("ping")), want: "200 false / 200 application/json: error -32004, end"},
	{quirk: "streaming-null", act: card("capabilities"), want: "200 map[streaming:<nil>]"},
	{quirk: "streaming-yes", act: card("capabilities.streaming"), want: "200 yes"},
	{quirk: "no-capabilities", act: card("capabilities"), want: "200 "},
	{quirk: "history", gen: agent.V03, act: card("capabilities.stateTransitionHistory"), want: "200 true"},
	{quirk: "declares-push", act: both(card("capabilities.pushNotifications"), method("CreateTaskPushNotificationConfig", obj{})), want: "200 true / -32003"},
	{quirk: "declares-extended", act: both(card("capabilities.extendedAgentCard"), method("GetExtendedAgentCard", obj{})), want: "200 true / -32007"},
	{quirk: "tenant", act: both(card("supportedInterfaces.0.tenant"), both(sent("ping"), func(_ *testing.T, _ *agent.Agent, p *peer) string {
		m := p.message("ping", "")
		m["tenant"] = "acme"
		return state(p.call("send", m))
	})), want: "200 acme / -32602 / completed"},
	{quirk: "union-card", act: both(card("supportedInterfaces.0.url"), card("url")), want: "200 URL/a2a / 200 URL/a2a"},
	{quirk: "card-10-wire-03", act: both(card("supportedInterfaces.0.protocolVersion"), both(sent("ping"), method("message/send", obj{}))), want: "200 1.0 / -32601 / -32602"},
	{quirk: "card-03-wire-01", act: both(card("protocolVersion"), both(method("message/send", obj{}), method("tasks/send", obj{}))), want: "200 0.3.0 / -32601 / -32602"},
	{quirk: "card-03-wire-10", act: both(card("protocolVersion"), sent("ping")), want: "200 0.3.0 / completed"},
	{quirk: "grpc-only", act: card("supportedInterfaces.0.protocolBinding"), want: "200 GRPC"},
	{quirk: "grpc-first", act: card("supportedInterfaces.0.protocolBinding"), want: "200 GRPC"},
	{quirk: "grpc-too", act: card("supportedInterfaces.0.protocolBinding"), want: "200 JSONRPC"},
	{quirk: "foreign-binding", act: card("supportedInterfaces.0.protocolBinding"), want: "200 https://bindings.example/ws"},
	{quirk: "odd-interfaces", act: card("supportedInterfaces"), want: "200 [<nil> x map[protocolBinding:JSONRPC]]"},
	{quirk: "estimated-duration", act: card("skills.0.estimatedDuration"), want: "200 PT2S"},
	{quirk: "giant-card", act: body(newPath, "{"), want: "begins true, 2048 kB"},
	{quirk: "large-card", act: body(newPath, "{"), want: "begins true, 46 kB"},
	{quirk: "malformed-card", act: body(newPath, "{"), want: "begins true, 0 kB"},
	{quirk: "malformed-card", act: card("name"), want: "200 "},
	{quirk: "html-card", act: body(newPath, "<!doctype html>"), want: "begins true, 0 kB"},
	{quirk: "card-bom", act: body(newPath, "\ufeff{"), want: "begins true, 0 kB"},
	{quirk: "card-gzip", act: body(newPath, "\x1f\x8b"), want: "begins true, 0 kB"},
	{quirk: "rolling-deploy", act: several(3, card("capabilities.streaming")), want: "200 true | 200 false | 200 true"},
	{quirk: "no-etag", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := http.Get(p.url + newPath)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.Header.Get("ETag")
	}, want: ""},

	{quirk: "mcp", act: both(sent("ping"), method("message/send", obj{})), want: "-32601 / -32601"},
	{quirk: "id-string", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := http.Post(p.url+"/a2a", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b[:24])
	}, want: `{"jsonrpc":"2.0","id":"7`},
	{quirk: "id-number", act: envelope("id"), want: "1"},
	{quirk: "id-wrong", act: envelope("id"), want: "somebody-else"},
	{quirk: "id-null", act: envelope("id"), want: ""},
	{quirk: "id-missing", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
		_, there := p.call("send", p.message("ping", ""))["id"]
		return fmt.Sprint(there)
	}, want: "false"},
	{quirk: "checks-version", act: sent("ping"), want: "-32009"},
	{quirk: "errors-are-400", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := p.post(t.Context(), "get", obj{"id": "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.Status
	}, want: "400 Bad Request"},
	{quirk: "errors-are-500", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := p.post(t.Context(), "get", obj{"id": "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.Status
	}, want: "500 Internal Server Error"},
	{quirk: "plain-text", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, err := p.post(t.Context(), "send", p.message("ping", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.Header.Get("Content-Type")
	}, want: "text/plain; charset=utf-8"},
	{quirk: "masked-errors", act: method("GetTask", obj{"id": "x"}), want: "-32603"},
	{quirk: "numeric-states", act: envelope("result", "task", "status", "state"), want: "3"},
	{quirk: "lower-states", act: envelope("result", "task", "status", "state"), want: "completed"},
	{quirk: "cancelled", act: canceled(1), want: "cancelled; cancelled; cancelled", more: func(c *agent.Config) { c.Script.Tick = agent.Duration(time.Second / 4) }},
	{quirk: "vendor-members", act: rawStream(`"final":true,"x-vendor"`), want: "true true"},
	{quirk: "kinds", act: rawStream(`"kind":"status-update","statusUpdate"`), want: "true true"},
	{quirk: "no-resubscribe", act: method("SubscribeToTask", obj{"id": "x"}), want: "-32601"},
	{quirk: "speaks-10-and-03", act: both(sent("ping"), method("message/send", obj{})), want: "completed / -32602"},

	{quirk: "rest", act: both(interfaces, resting("POST", "/message:send", nil)), want: "HTTP+JSON / 400 INVALID_PARAMS"},
	{quirk: "rest-too", act: interfaces, want: "JSONRPC HTTP+JSON"},
	{quirk: "rest-first", act: interfaces, want: "HTTP+JSON JSONRPC"},
	{quirk: "rest-problem-details", more: onREST, act: resting("GET", "/tasks/x", nil), want: "404 task-not-found"},
	{quirk: "rest-no-reason", more: onREST, act: resting("GET", "/tasks/x", nil), want: "404 not-found"},
	{quirk: "rest-message-errors", more: onREST, act: resting("GET", "/tasks/x", nil), want: "404 task not found"},
	{quirk: "rest-bare-errors", more: onREST, act: resting("GET", "/tasks/x", nil), want: "404 no JSON"},
	{quirk: "rest-old-status", more: onREST, act: restEnded, want: "409 TASK_NOT_CANCELABLE"},
	{quirk: "rest-created", gen: agent.V03, more: onREST, act: resting("POST", "/v1/message:send", hello[agent.V03]), want: "201 completed"},
	{quirk: "rest-subscribe-get", more: onREST, act: both(resting("POST", "/tasks/x:subscribe", nil), resting("GET", "/tasks/x:subscribe", nil)),
		want: "405 no JSON / 404 TASK_NOT_FOUND"},
	{quirk: "rest-subscribe-post", more: onREST, act: both(resting("POST", "/tasks/x:subscribe", nil), resting("GET", "/tasks/x:subscribe", nil)),
		want: "404 TASK_NOT_FOUND / 405 no JSON"},
	{quirk: "rest-no-tenant-path", more: func(c *agent.Config) { onREST(c); c.Card.Tenant = "acme" },
		act: both(resting("GET", "/acme/tasks/x", nil), resting("GET", "/tasks/x?tenant=acme", nil)), want: "404 no JSON / 404 TASK_NOT_FOUND"},
	{quirk: "rest-own-media-type", more: onREST, act: resting("POST", "/message:send", hello[agent.V10]), want: "400 CONTENT_TYPE_NOT_SUPPORTED"},
	{quirk: "rest-no-task-paths", more: onREST, act: both(resting("POST", "/message:send", hello[agent.V10]), resting("GET", "/tasks/x", nil)),
		want: "200 completed / 404 no JSON"},
	{quirk: "rest-other-mount", more: onREST, act: both(resting("GET", "/tasks/x", nil), resting("GET", "/v1/tasks/x", nil)),
		want: "404 no JSON / 404 TASK_NOT_FOUND"},

	{quirk: "status-401", act: statuses, want: "card 401, post 401"},
	{quirk: "status-403", act: statuses, want: "card 403, post 403"},
	{quirk: "status-404", act: statuses, want: "card 404, post 404"},
	{quirk: "status-429", act: statuses, want: "card 429, post 429"},
	{quirk: "status-500", act: statuses, want: "card 500, post 500"},
	{quirk: "status-503", act: statuses, want: "card 503, post 503"},
	{quirk: "posts-401", act: statuses, want: "card 200, post 401"},
	{quirk: "posts-403", act: statuses, want: "card 200, post 403"},
	{quirk: "posts-404", act: statuses, want: "card 200, post 404"},
	{quirk: "posts-405", act: statuses, want: "card 200, post 405"},
	{quirk: "posts-429", act: statuses, want: "card 200, post 429"},
	{quirk: "posts-500", act: statuses, want: "card 200, post 500"},
	{quirk: "posts-503", act: statuses, want: "card 200, post 503"},
	{quirk: "posts-html", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		b := postBody("send")(t, p)
		defer b.Close()
		all, _ := io.ReadAll(b)
		return string(all[:15])
	}, want: "<!doctype html>"},
	{quirk: "posts-301", act: statuses, want: "card 200, post 301 /moved/a2a"},
	{quirk: "posts-302", act: statuses, want: "card 200, post 302 /moved/a2a"},
	{quirk: "posts-307", act: statuses, want: "card 200, post 307 /moved/a2a"},
	{quirk: "card-301", act: both(statuses, fetched("/moved"+newPath, "name")), want: "card 301 /moved" + newPath + ", post 200 / 200 scripted agent"},
	{quirk: "card-302-away", act: statuses, want: "card 302http://169.254.169.254/, post 200"},
	{quirk: "card-404", act: statuses, want: "card 404, post 200"},
	{quirk: "needs-token", act: statuses, want: "card 401, post 401"},
	{quirk: "posts-token", act: both(statuses, func(t *testing.T, _ *agent.Agent, p *peer) string {
		r, _ := http.NewRequest("POST", p.url+"/a2a", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer secret")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.Status
	}), want: "card 200, post 401 / 200 OK"},
	{quirk: "hangs", act: unanswered, want: "card false, post false"},
	{quirk: "posts-hang", act: unanswered, want: "card true, post false"},
	{quirk: "drops", act: statuses, want: "card: closed"},
	{quirk: "drops-often", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		var list []string
		for range 6 {
			r, _ := http.NewRequest("POST", p.url+"/a2a", io.NopCloser(strings.NewReader("{}"))) // not repeatable: no silent retry
			answer, err := http.DefaultClient.Do(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			list = append(list, fmt.Sprint(err == nil))
		}
		return strings.Join(list, " ")
	}, want: "true true false true true false"},
	{quirk: "endless-card", act: endless(getBody), want: "20 MiB and more"},
	{quirk: "endless-body", act: endless(postBody("send")), want: "20 MiB and more"},
	{quirk: "giant-body", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		b := postBody("send")(t, p)
		defer b.Close()
		n, _ := io.Copy(io.Discard, b)
		return fmt.Sprint(n>>20, " MiB")
	}, want: "8 MiB"},
	{quirk: "drips", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
		begun := time.Now()
		answer := code(p.call("get", obj{"id": "x"}))
		return fmt.Sprint(answer, " ", time.Since(begun) > 300*time.Millisecond)
	}, want: "-32001 true"},
}

func TestQuirkDoesWhatItSays(t *testing.T) {
	for _, c := range quirkCases {
		t.Run(c.quirk, func(t *testing.T) {
			t.Parallel()
			options := []agent.Option{agent.Is(c.quirk)}
			if c.gen != "" {
				options = append([]agent.Option{agent.Speaks(c.gen)}, options...)
			}
			if c.quirk == "burst" {
				options = append([]agent.Option{agent.With(slow)}, options...)
			}
			if c.more != nil {
				options = append(options, agent.With(c.more))
			}
			a, p := start(t, options...)
			if c.gen != "" {
				p.gen = c.gen
			}
			if got := c.act(t, a, p); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", agent.Quirks()[c.quirk], got, c.want)
			}
		})
	}
}

func TestEveryQuirkIsTested(t *testing.T) {
	for _, name := range agent.QuirkNames() {
		if !slices.ContainsFunc(quirkCases, func(c quirkCase) bool { return c.quirk == name }) && !pushCase(name) {
			t.Errorf("no case for quirk %q", name)
		}
	}
}

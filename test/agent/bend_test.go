package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

// pickedUp begins a long task on a stream, picks it up, cancels it and tells what both streams showed.
func pickedUp(t *testing.T, _ *agent.Agent, p *peer) string {
	first := p.stream("stream", p.message("count", ""))
	id := first.until(t, "artifact").id()
	second := p.stream("resubscribe", obj{"id": id})
	f, ok := second.next(t)
	if !ok || second.mediaType != "text/event-stream" {
		return fmt.Sprint(second.status, " ", second.mediaType)
	}
	var words []string
	for len(words) < 3 && ok {
		word := f.word()
		if f.id() != id {
			word += " of another task"
		}
		words = append(words, word)
		if second.silentFor(200 * time.Millisecond) {
			break
		}
		f, ok = second.next(t)
	}
	if !ok {
		words = append(words, "end")
	}
	ended := false
	for late := time.After(200 * time.Millisecond); !ended; {
		select {
		case _, more := <-first.frames:
			ended = !more
			continue
		case <-late:
		}
		break
	}
	return fmt.Sprintf("%s; first ended %t; cancel %s", strings.Join(words, ", "), ended, state(p.call("cancel", obj{"id": id})))
}

// unpicked tells the code that picking a task up is refused with, several times.
func unpicked(times int) act {
	return func(t *testing.T, _ *agent.Agent, p *peer) string {
		first := p.stream("stream", p.message("count", ""))
		id := first.until(t, "working").id()
		var codes []string
		for range times {
			r, err := p.post(t.Context(), "resubscribe", obj{"id": id})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
				codes = append(codes, "stream")
				_ = r.Body.Close()
				continue
			}
			b, _ := io.ReadAll(r.Body)
			_ = r.Body.Close()
			_, after, _ := strings.Cut(string(b), `"code":`)
			code, _, _ := strings.Cut(after, ",")
			codes = append(codes, code)
		}
		p.call("cancel", obj{"id": id})
		return strings.Join(codes, " ")
	}
}

// extended asks for the extended card and tells the code, or its skills and whether it streams.
func extended(_ *testing.T, _ *agent.Agent, p *peer) string {
	e := p.call("GetExtendedAgentCard", obj{})
	if c := code(e); c != "" {
		return c
	}
	return fmt.Sprint(len(fmt.Sprint(dig(e, "result", "skills"))) > 0, " ", dig(e, "result", "capabilities", "streaming"))
}

// inModes sends a part of text, of JSON and of PNG and tells what becomes of each.
func inModes(times int) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string {
		var out []string
		for range times {
			for _, part := range []obj{{"text": "ping"}, {"data": obj{"text": "ping"}}, {"raw": "AAAA", "mediaType": "image/png"}} {
				m := p.message("", "")
				m["message"].(obj)["parts"] = []obj{part}
				e := p.call("send", m)
				if c := code(e); c != "" {
					out = append(out, c)
					continue
				}
				out = append(out, state(e))
			}
		}
		return strings.Join(out, " ")
	}
}

// repliedIn brings a task to its question and replies with a part.
func repliedIn(part obj) act {
	return func(_ *testing.T, _ *agent.Agent, p *peer) string {
		first := p.call("send", p.message("book a trip", ""))
		m := p.message("", str(task(first), "id"))
		m["message"].(obj)["parts"] = []obj{part}
		e := p.call("send", m)
		if c := code(e); c != "" {
			return state(first) + " " + c
		}
		return state(first) + " " + state(e)
	}
}

// history tells how many messages GetTask gives of a booked trip, asked for one.
func history(_ *testing.T, _ *agent.Agent, p *peer) string {
	id := str(task(p.call("send", p.message("book a trip", ""))), "id")
	p.call("send", p.message("to Oslo", id))
	list, _ := dig(task(p.call("get", obj{"id": id, "historyLength": 1})), "history").([]any)
	return fmt.Sprint(len(list))
}

func init() {
	quirkCases = append(quirkCases,
		quirkCase{quirk: "resubscribe-refused", act: unpicked(2), want: "-32004 -32004"},
		quirkCase{quirk: "resubscribe-fails", act: unpicked(1), want: "-32603"},
		quirkCase{quirk: "resubscribe-replicas", act: unpicked(3), want: "stream -32004 stream"},
		quirkCase{quirk: "resubscribe-lost", act: unpicked(1), want: "-32001"},
		quirkCase{quirk: "resubscribe-ends", act: pickedUp, want: "task working, end; first ended false; cancel canceled"},
		quirkCase{quirk: "resubscribe-silent", act: pickedUp, want: "task working; first ended false; cancel canceled"},
		quirkCase{quirk: "resubscribe-foreign", act: pickedUp,
			want: "task working, artifact of another task, artifact of another task; first ended false; cancel canceled"},
		quirkCase{quirk: "resubscribe-status", act: pickedUp, want: "artifact, artifact, artifact; first ended false; cancel canceled"},
		quirkCase{quirk: "resubscribe-steals", act: pickedUp, want: "task working, artifact, artifact; first ended true; cancel canceled"},
		quirkCase{quirk: "resubscribe-buffered", act: func(t *testing.T, _ *agent.Agent, p *peer) string {
			first := p.stream("stream", p.message("count", ""))
			id := first.until(t, "working").id()
			second := p.stream("resubscribe", obj{"id": id})
			silent := second.silentFor(200 * time.Millisecond)
			p.call("cancel", obj{"id": id})
			second.until(t, "canceled")
			return fmt.Sprint(silent)
		}, want: "true"},

		quirkCase{quirk: "extended", act: extended, want: "true true"},
		quirkCase{quirk: "extended-refused", act: extended, want: "-32004"},
		quirkCase{quirk: "extended-fails", act: extended, want: "-32603"},
		quirkCase{quirk: "extended-withdraws", act: extended, want: "true false"},
		quirkCase{quirk: "extended-odd", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
			return fmt.Sprint(dig(p.call("GetExtendedAgentCard", obj{}), "result"))
		}, want: "[no card]"},
		quirkCase{quirk: "extended-unsaid", act: both(method("NoSuchMethod", obj{}), extended), want: "-32601 / true true"},

		quirkCase{quirk: "many-modes", act: inModes(1), want: "completed completed completed"},
		quirkCase{quirk: "mode-refused", act: inModes(1), want: "completed completed -32005"},
		quirkCase{quirk: "mode-refused-400", act: inModes(1), want: "completed completed -32602"},
		quirkCase{quirk: "mode-fails", act: inModes(1), want: "completed completed failed"},
		quirkCase{quirk: "mode-replicas", act: inModes(2), want: "completed completed completed completed completed -32005"},
		quirkCase{quirk: "checks-modes", act: inModes(1), want: "completed -32005 -32005"},
		quirkCase{quirk: "strict-modes", act: inModes(1), want: "completed -32005 -32005"},
		quirkCase{quirk: "modes-with-parameters", act: inModes(1), want: "completed -32005 -32005"},
		quirkCase{quirk: "reply-refused", act: repliedIn(obj{"data": obj{"text": "to Oslo"}}), want: "input-required -32005"},
		quirkCase{quirk: "reply-is-text", act: repliedIn(obj{"text": "to Oslo"}), want: "input-required -32005"},

		quirkCase{quirk: "all-history", act: history, want: "3"},
		quirkCase{quirk: "no-history", act: history, want: "0"},
		quirkCase{quirk: "send-waits", act: func(_ *testing.T, _ *agent.Agent, p *peer) string {
			return state(p.call("send", p.atOnce(p.message("ping", ""))))
		}, want: "completed"},
	)
}

func TestTheExtendedCardOf02IsBesideTheEndpoint(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.Speaks(agent.V02), agent.Is("extended"))
	r, err := http.Get(a.Start(t) + "/agent/authenticatedExtendedCard")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK || !strings.Contains(string(b), `"secret"`) {
		t.Errorf("%d %s", r.StatusCode, b)
	}
}

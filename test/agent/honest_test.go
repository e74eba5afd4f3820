package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

func perGeneration(t *testing.T, f func(*testing.T, *agent.Agent, *peer)) {
	for _, g := range everyGeneration {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			a, p := startGen(t, g)
			f(t, a, p)
		})
	}
}

func TestCardTellsTheGenerationAtItsOwnPath(t *testing.T) {
	want := map[agent.Generation]struct{ path, endpoint, version string }{
		agent.V10: {"/.well-known/agent-card.json", "supportedInterfaces.0.url", "supportedInterfaces.0.protocolVersion=1.0"},
		agent.V03: {"/.well-known/agent-card.json", "url", "protocolVersion=0.3.0"},
		agent.V02: {"/.well-known/agent.json", "url", "protocolVersion=0.2.5"},
		agent.V01: {"/.well-known/agent.json", "url", "protocolVersion="},
	}
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		w := want[p.gen]
		card, status := fetch(t, p.url+w.path)
		if status != 200 {
			t.Fatalf("card: status %d", status)
		}
		if got := str(card, strings.Split(w.endpoint, ".")...); got != p.url+"/a2a" {
			t.Errorf("%s is %q, want %q", w.endpoint, got, p.url+"/a2a")
		}
		member, version, _ := strings.Cut(w.version, "=")
		if got := str(card, strings.Split(member, ".")...); got != version {
			t.Errorf("%s is %q, want %q", member, got, version)
		}
		if str(card, "capabilities", "streaming") != "true" {
			t.Errorf("streaming is not declared: %v", card)
		}
		other := "/.well-known/agent.json"
		if w.path == other {
			other = "/.well-known/agent-card.json"
		}
		if _, status := fetch(t, p.url+other); status != 404 {
			t.Errorf("%s: status %d, want 404", other, status)
		}
	})
}

func fetch(t *testing.T, url string) (obj, int) {
	t.Helper()
	r, err := noRedirects.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var card obj
	_ = json.NewDecoder(r.Body).Decode(&card)
	return card, r.StatusCode
}

func TestPingStreamsFromSubmittedToCompleted(t *testing.T) {
	first := map[agent.Generation]string{agent.V10: "task submitted", agent.V03: "task submitted", agent.V02: "task submitted", agent.V01: "submitted"}
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		s := p.stream("stream", p.message("ping", ""))
		if s.status != 200 || s.mediaType != "text/event-stream" {
			t.Fatalf("status %d, media type %q", s.status, s.mediaType)
		}
		var frames []frame
		var words []string
		for f := range s.frames {
			frames, words = append(frames, f), append(words, f.word())
		}
		want := first[p.gen] + ", working, artifact, completed"
		if got := strings.Join(words, ", "); got != want || s.end != nil {
			t.Fatalf("got %q (%v), want %q", got, s.end, want)
		}
		id := frames[0].id()
		for i, f := range frames {
			checkFrame(t, p.gen, f, id, i == len(frames)-1)
		}
		got := p.call("get", obj{"id": id})
		if state(got) != "completed" || str(got, "result", "id") != id {
			t.Errorf("GetTask: %v", got)
		}
		if text := str(got, "result", "artifacts", "0", "parts", "0", "text"); text != "pong" {
			t.Errorf("artifact says %q", text)
		}
		if _, err := time.Parse(time.RFC3339, str(got, "result", "status", "timestamp")); err != nil {
			t.Errorf("timestamp: %v", err)
		}
	})
}

// checkFrame holds a frame against the wire reference of its generation.
func checkFrame(t *testing.T, g agent.Generation, f frame, id string, last bool) {
	t.Helper()
	if f.id() != id || str(f.envelope, "jsonrpc") != "2.0" || str(f.envelope, "id") != "q1" {
		t.Errorf("frame %s: ids do not fit", f.raw)
	}
	r, _ := f.envelope["result"].(obj)
	switch g {
	case agent.V10:
		if len(r) != 1 || strings.Contains(f.raw, `"kind"`) || strings.Contains(f.raw, `"final"`) {
			t.Errorf("frame %s: not one member of 1.0", f.raw)
		}
		if strings.Contains(f.raw, `"state":"`) && !strings.Contains(f.raw, `"state":"TASK_STATE_`) {
			t.Errorf("frame %s: state is not an enum of 1.0", f.raw)
		}
	case agent.V01:
		if r["kind"] != nil || r["taskId"] != nil || r["id"] != id {
			t.Errorf("frame %s: not of 0.1", f.raw)
		}
	default:
		if r["kind"] == nil || (r["kind"] != "task" && str(r, "contextId") == "") {
			t.Errorf("frame %s: not of 0.3", f.raw)
		}
	}
	if final, there := r["final"]; there && g != agent.V10 && final != last {
		t.Errorf("frame %s: final is %v", f.raw, final)
	}
}

func TestSendWaitsUnlessToldNotTo(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		waited := p.call("send", p.message("ping", ""))
		if got := state(waited); got != "completed" {
			t.Errorf("a send that waits: %s", got)
		}
		if wrapped := dig(waited, "result", "task") != nil; wrapped != (p.gen == agent.V10) {
			t.Errorf("wrapped %t in %s", wrapped, p.gen)
		}
		if p.gen == agent.V01 {
			return // 0.1 has no such wish
		}
		if got := state(p.call("send", p.atOnce(p.message("count", "")))); got != "submitted" && got != "working" {
			t.Errorf("a send that does not wait: %s", got)
		}
	})
}

func TestFollowUpContinuesTheTaskThatAsked(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		asked := p.call("send", p.message("book a trip", ""))
		id := str(task(asked), "id")
		if state(asked) != "input-required" {
			t.Fatalf("first answer: %v", asked)
		}
		answered := p.call("send", p.message("to Oslo", id))
		if state(answered) != "completed" || str(task(answered), "id") != id {
			t.Fatalf("answer to the follow-up: %v", answered)
		}
	})
}

func TestNothingIsAskedOfACallerWhoSaysItAll(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		if got := state(p.call("send", p.message("book a trip to Oslo", ""))); got != "completed" {
			t.Errorf("got %s", got)
		}
	})
}

func TestFollowUpByStreamShowsTheTaskGoOn(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		first := p.stream("stream", p.message("book a trip", ""))
		id := first.until(t, "input-required").id()
		if got := first.rest(t); got != "end" {
			t.Errorf("after input-required: %s", got)
		}
		second := p.stream("stream", p.message("to Oslo", id))
		want := "task working, artifact, completed, end"
		if p.gen == agent.V01 {
			want = "working, artifact, completed, end"
		}
		if got := second.rest(t); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCancelEndsALongTaskAndItsStream(t *testing.T) {
	perGeneration(t, func(t *testing.T, a *agent.Agent, p *peer) {
		s := p.stream("stream", p.message("count to 1000 slowly", ""))
		id := s.until(t, "artifact").id()
		if got := p.call("cancel", obj{"id": id}); state(got) != "canceled" || str(got, "result", "id") != id {
			t.Fatalf("cancel: %v", got)
		}
		if got := s.rest(t); !strings.HasSuffix(got, "canceled, end") {
			t.Errorf("stream after cancel: %s", got)
		}
		if got := state(p.call("get", obj{"id": id})); got != "canceled" {
			t.Errorf("GetTask: %s", got)
		}
		if got := state(p.call("cancel", obj{"id": id})); got != "-32002" {
			t.Errorf("second cancel: %s", got)
		}
		if c := a.Counts(); c.Open != 0 || c.Tasks != 1 {
			t.Errorf("counts: %+v", c)
		}
	})
}

func TestErrorsAreThoseOfTheGeneration(t *testing.T) {
	terminal := map[agent.Generation]string{agent.V10: "-32004", agent.V03: "-32602", agent.V02: "-32602", agent.V01: "-32009"}
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		for _, what := range []string{"get", "cancel", "resubscribe"} {
			if got := code(p.call(what, obj{"id": "no-such-task"})); got != "-32001" {
				t.Errorf("%s of an unknown task: %s", what, got)
			}
			if got := code(p.call(what, obj{})); got != "-32602" {
				t.Errorf("%s without id: %s", what, got)
			}
		}
		for _, what := range []string{"send", "stream"} {
			if got := code(p.call(what, obj{})); got != "-32602" {
				t.Errorf("%s without params: %s", what, got)
			}
		}
		if got := code(p.call("no/such/method", obj{})); got != "-32601" {
			t.Errorf("unknown method: %s", got)
		}
		id := str(task(p.call("send", p.message("ping", ""))), "id")
		if got := code(p.call("send", p.message("more", id))); got != terminal[p.gen] {
			t.Errorf("message to a terminal task: %s, want %s", got, terminal[p.gen])
		}
		if p.gen == agent.V01 {
			return // client-made ids: an unknown one begins a task
		}
		if got := code(p.call("send", p.message("more", "no-such-task"))); got != "-32001" {
			t.Errorf("message to an unknown task: %s", got)
		}
	})
}

func TestGenerationsDoNotKnowEachOthersMethods(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		for _, g := range everyGeneration {
			other := methods[g]["send"]
			if other == methods[p.gen]["send"] {
				continue
			}
			if got := code(p.call(other, obj{})); got != "-32601" {
				t.Errorf("%s: %s", other, got)
			}
		}
	})
}

func TestTwoStreamsOfATaskGetTheSameEvents(t *testing.T) {
	perGeneration(t, func(t *testing.T, _ *agent.Agent, p *peer) {
		first := p.stream("stream", p.message("count", ""))
		id := first.until(t, "artifact").id()
		second := p.stream("resubscribe", obj{"id": id})
		snapshot, _ := second.next(t)
		if snapshot.id() != id || !strings.HasSuffix(snapshot.word(), "working") {
			t.Fatalf("resubscribe began with %s", snapshot.raw)
		}
		both := func() (a, b frame) {
			a, b = first.until(t, "artifact"), second.until(t, "artifact")
			for a.raw != b.raw { // the first may be behind by what the snapshot held
				a = first.until(t, "artifact")
			}
			return a, b
		}
		both()
		if a, b := both(); a.raw != b.raw {
			t.Errorf("%s and %s", a.raw, b.raw)
		}
		p.call("cancel", obj{"id": id})
		if a, b := first.rest(t), second.rest(t); !strings.HasSuffix(a, "canceled, end") || !strings.HasSuffix(b, "canceled, end") {
			t.Errorf("%s and %s", a, b)
		}
	})
}

func TestClientThatHangsUpDoesNotHurtTheTask(t *testing.T) {
	perGeneration(t, func(t *testing.T, a *agent.Agent, p *peer) {
		s := p.stream("stream", p.message("ping", ""))
		f, _ := s.next(t)
		s.close()
		eventually(t, "completed", func() string { return state(p.call("get", obj{"id": f.id()})) })
		eventually(t, "0", func() string { return fmt.Sprint(a.Counts().Streams) })
	})
}

func TestAnswersAreRightUnderConcurrency(t *testing.T) {
	a, p := start(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := p.stream("stream", p.message("ping", "")).rest(t); got != "task submitted, working, artifact, completed, end" {
				t.Errorf("stream: %s", got)
			}
			if got := state(p.call("send", p.message("ping", ""))); got != "completed" {
				t.Errorf("send: %s", got)
			}
		})
	}
	wg.Wait()
	if c := a.Counts(); c.Tasks != 40 || c.Open != 0 || c.Requests["SendMessage"] != 20 {
		t.Errorf("counts: %+v", c)
	}
}

func TestListTasksTellsTheNewestFirst(t *testing.T) {
	_, p := start(t)
	p.call("send", p.message("ping", ""))
	id := str(task(p.call("send", p.message("book", ""))), "id")
	got := p.call("ListTasks", obj{})
	if str(got, "result", "tasks", "0", "id") != id || str(got, "result", "totalSize") != "2" {
		t.Errorf("all: %v", got)
	}
	got = p.call("ListTasks", obj{"status": "TASK_STATE_COMPLETED"})
	if str(got, "result", "totalSize") != "1" {
		t.Errorf("completed: %v", got)
	}
}

func TestCardIsNotSentAgainWhileItsETagHolds(t *testing.T) {
	_, p := start(t)
	url := p.url + "/.well-known/agent-card.json"
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	again, _ := http.NewRequest("GET", url, nil)
	again.Header.Set("If-None-Match", r.Header.Get("ETag"))
	r, err = http.DefaultClient.Do(again)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", r.StatusCode)
	}
}

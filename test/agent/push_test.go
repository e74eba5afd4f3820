package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

// pushCases say what becomes of a webhook that comes with a message, of one that is given to a long task by the method, and what the first
// is called with last.
var pushCases = []struct {
	quirk string
	gen   agent.Generation
	want  string
}{
	{"push", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token credentials"},
	{"push", agent.V03, "send ok, set ok, 4 calls, the last task completed token credentials"},
	{"push", agent.V02, "send ok, set ok, 4 calls, the last task completed token credentials"},
	{"push", agent.V01, "send ok, set ok, 4 calls, the last taskId completed token credentials"},
	{"push-undeclared", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token credentials"},
	{"push-silent", agent.V10, "send ok, set ok, 0 calls"},
	{"push-unsupported", agent.V10, "send ok, set -32004, 0 calls"},
	{"push-unknown", agent.V10, "send ok, set -32601, 0 calls"},
	{"push-refused-everywhere", agent.V10, "send -32003, set -32003, 0 calls"},
	{"push-fails", agent.V10, "send ok, set -32603, 0 calls"},
	{"push-not-found", agent.V10, "send ok, set -32001, 0 calls"},
	{"push-private", agent.V10, "send ok, set -32602, 0 calls"},
	{"push-private-unsupported", agent.V10, "send -32602, set -32004, 0 calls"},
	{"push-inline-only", agent.V10, "send ok, set -32601, 4 calls, the last statusUpdate completed token credentials"},
	{"push-method-only", agent.V10, "send ok, set ok, 0 calls"},
	{"push-streamed-only", agent.V10, "send ok, set ok, 0 calls"},
	{"push-token-only", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token"},
	{"push-no-secrets", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed"},
	{"push-wrong-secrets", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed other-token other-credentials"},
	{"push-wrong-auth", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token other-credentials"},
	{"push-new-header", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed new-token credentials"},
	{"push-bearer-token", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token-as-credentials"},
	{"push-bare-task", agent.V10, "send ok, set ok, 4 calls, the last task completed token credentials"},
	{"push-new-body", agent.V03, "send ok, set ok, 4 calls, the last statusUpdate completed token credentials"},
	{"push-text", agent.V10, "send ok, set ok, 4 calls, the last unread token credentials"},
	{"push-giant", agent.V10, "send ok, set ok, 4 calls, the last 131086 bytes token credentials"},
	{"push-twice", agent.V10, "send ok, set ok, 8 calls, the last statusUpdate completed token credentials"},
	{"push-reversed", agent.V10, "send ok, set ok, 4 calls, the last task submitted token credentials"},
	{"push-late", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token credentials"},
	{"push-long-only", agent.V10, "send ok, set ok, 0 calls"},
	{"push-takes-time", agent.V10, "send ok, set ok, 0 calls"},
	{"push-early", agent.V10, "send ok after the last call, set ok, 4 calls, the last statusUpdate completed token credentials"},
	{"push-end-only", agent.V10, "send ok, set ok, 1 calls, the last statusUpdate completed token credentials"},
	{"push-begin-only", agent.V10, "send ok, set ok, 3 calls, the last artifactUpdate token credentials"},
	{"push-other-task", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate of another task completed token credentials"},
	{"push-no-id", agent.V10, "send ok, set ok, 4 calls, the last statusUpdate completed token credentials"},
}

// hookCall is one call of the test's own receiver.
type hookCall struct {
	header http.Header
	body   []byte
}

func TestPushQuirksDoWhatTheySay(t *testing.T) {
	for _, c := range pushCases {
		t.Run(c.quirk+" "+string(c.gen), func(t *testing.T) {
			t.Parallel()
			calls := make(chan hookCall, 64)
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path != "/other" {
					calls <- hookCall{r.Header, body}
				}
			}))
			t.Cleanup(s.Close)
			_, p := startGen(t, c.gen, agent.Is(c.quirk))
			if got := tellPush(t, p, s.URL, calls, c.quirk == "push-early"); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", agent.Quirks()[c.quirk], got, c.want)
			}
		})
	}
}

// tellPush tells what came of webhooks. Whether they came before the answer is chance where it is not held back for them, early.
func tellPush(t *testing.T, p *peer, url string, calls chan hookCall, early bool) string {
	t.Helper()
	params := p.atOnce(p.message("ping", ""))
	p.bring(params, p.hook(url))
	sent := p.call("send", params)
	words := []string{"send " + outcome(sent)}
	if early && len(calls) == 4 && sent["error"] == nil {
		words[0] += " after the last call"
	}
	other := task(sent)
	if p.gen != agent.V01 { // whose sends wait for the end
		other = task(p.call("send", p.atOnce(p.message("count", ""))))
	}
	words = append(words, "set "+outcome(p.set(str(other, "id"), p.hook(url+"/other"))))

	var got []hookCall
	for waiting := true; waiting; {
		select {
		case c := <-calls:
			got = append(got, c)
		case <-time.After(time.Second):
			waiting = false
		}
		if len(got) > 16 {
			waiting = false
		}
	}
	list := strings.Join(words, ", ") + fmt.Sprintf(", %d calls", len(got))
	if len(got) > 0 {
		list += ", the last " + tellCall(got[len(got)-1], str(task(sent), "id"))
	}
	return list
}

// bring puts a webhook into the params of a send.
func (p *peer) bring(params, hook obj) {
	configuration, _ := params["configuration"].(obj)
	switch p.gen {
	case agent.V10:
		configuration["taskPushNotificationConfig"] = hook
	case agent.V01:
		params["pushNotification"] = hook
	default:
		configuration["pushNotificationConfig"] = hook
	}
}

func (p *peer) hook(url string) obj {
	if p.gen == agent.V10 {
		return obj{"url": url, "token": "tok", "authentication": obj{"scheme": "Bearer", "credentials": "cred"}}
	}
	return obj{"url": url, "token": "tok", "authentication": obj{"schemes": []string{"Bearer"}, "credentials": "cred"}}
}

// set gives a task a webhook by the method.
func (p *peer) set(id string, hook obj) obj {
	switch p.gen {
	case agent.V10:
		hook["taskId"] = id
		return p.call("CreateTaskPushNotificationConfig", hook)
	case agent.V01:
		return p.call("tasks/pushNotification/set", obj{"id": id, "pushNotificationConfig": hook})
	}
	return p.call("tasks/pushNotificationConfig/set", obj{"taskId": id, "pushNotificationConfig": hook})
}

func outcome(e obj) string {
	if code := dig(e, "error", "code"); code != nil {
		return fmt.Sprint(code)
	}
	return "ok"
}

func tellCall(c hookCall, id string) string {
	var words []string
	var body obj
	switch {
	case len(c.body) > 64<<10:
		words = append(words, fmt.Sprintf("%d bytes", len(c.body)))
	case json.Unmarshal(c.body, &body) != nil:
		words = append(words, "unread")
	default:
		words = append(words, tellBody(body, id)...)
	}
	for name, values := range map[string][2]string{
		"X-A2A-Notification-Token": {"token", "other-token"}, "A2A-Notification-Token": {"new-token", "other-token"},
	} {
		if v := c.header.Get(name); v == "tok" {
			words = append(words, values[0])
		} else if v != "" {
			words = append(words, values[1])
		}
	}
	switch c.header.Get("Authorization") {
	case "":
	case "Bearer cred":
		words = append(words, "credentials")
	case "Bearer tok":
		words = append(words, "token-as-credentials")
	default:
		words = append(words, "other-credentials")
	}
	return strings.Join(words, " ")
}

func tellBody(body obj, id string) []string {
	kind, inner := "", body
	for _, name := range []string{"task", "statusUpdate", "artifactUpdate"} {
		if m, ok := body[name].(obj); ok {
			kind, inner = name, m
		}
	}
	about := str(inner, "taskId")
	switch {
	case kind != "":
	case about != "":
		kind = "taskId"
	default:
		kind = "task"
	}
	if about == "" {
		about = str(inner, "id")
	}
	words := []string{kind}
	if about != id {
		words = append(words, "of another task")
	}
	if s, ok := dig(inner, "status", "state").(string); ok {
		words = append(words, strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")))
	}
	return words
}

// A webhook can be asked for, listed and taken back; one taken back is not called any more.
func TestWebhooksCanBeTakenBack(t *testing.T) {
	_, p := start(t, agent.Is("push"))
	long := str(task(p.call("send", p.atOnce(p.message("count", "")))), "id")
	made := p.set(long, p.hook("http://127.0.0.1:1/"))
	id, _ := dig(made, "result", "id").(string)
	if id == "" {
		t.Fatalf("a webhook without id: %v", made)
	}
	named := obj{"taskId": long, "id": id}
	if e := p.call("GetTaskPushNotificationConfig", named); dig(e, "result", "url") != "http://127.0.0.1:1/" {
		t.Errorf("get: %v", e)
	}
	if list, _ := dig(p.call("ListTaskPushNotificationConfigs", obj{"taskId": long}), "result", "configs").([]any); len(list) != 1 {
		t.Errorf("list: %v", list)
	}
	if e := p.call("DeleteTaskPushNotificationConfig", named); e["error"] != nil {
		t.Errorf("delete: %v", e)
	}
	if e := p.call("GetTaskPushNotificationConfig", named); dig(e, "error", "code") == nil {
		t.Errorf("get after delete: %v", e)
	}
}

func pushCase(quirk string) bool {
	for _, c := range pushCases {
		if c.quirk == quirk {
			return true
		}
	}
	return false
}

package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// An event that says two things may be the one that would have ended the stream well: whoever takes the first of two members and whoever takes
// the last do not see the same stream, so nobody can say that it was a bad one.
func TestAStreamThatSaysTwoThingsAccusesNobody(t *testing.T) {
	t.Parallel()
	for story, doubled := range map[string]string{
		"the last state says that it goes on": `"state":"completed","state":"working"`,
		"the last state says that it ended":   `"state":"working","state":"completed"`,
		"one state, nested without end":       `"state":"completed","message":{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			url := gated(t, with(agent.V03), func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
				if !strings.Contains(string(body), `"message/stream"`) {
					return false
				}
				var call struct {
					ID json.RawMessage `json:"id"`
				}
				_ = json.Unmarshal(body, &call)
				w.Header().Set("Content-Type", "text/event-stream")
				for _, status := range []string{`"state":"working"`, doubled} {
					_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"kind\":\"status-update\",\"taskId\":\"t1\",\"contextId\":\"c1\",\"status\":{%s},\"final\":false}}\n\n", call.ID, status)
				}
				return true
			})
			rep := runJob(t, jobFor(t, url, trust.Streaming))
			check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonUnexpectedAnswer})
		})
	}
}

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// rollout is an agent behind a balancer that leads to an older replica at first: some methods are refused there, the first times that they
// are called.
type rollout struct {
	t       *testing.T
	to      *agent.Agent
	methods []string
	code    int
	mu      sync.Mutex
	left    int
}

func (r *rollout) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &call) // GET has none
	r.mu.Lock()
	old := r.left > 0 && slices.Contains(r.methods, call.Method)
	if old {
		r.left--
	}
	r.mu.Unlock()
	if !old {
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.to.Handler().ServeHTTP(w, q)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"not here"}}`, call.ID, r.code)
}

// While an older version is still served to some connections, two of them may meet it and the third does not. That is no refusal.
func TestAMethodThatAnOlderReplicaLacksIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		about   trust.Capability
		methods []string
		quirks  []string
		// calls that meet the older replica: two of what is asked, and what asks whether anything else is known there.
		calls  int
		reason trust.Reason
	}{
		"cancel":        {trust.Cancellation, []string{"CancelTask"}, nil, 2, trust.ReasonReplicaInconsistency},
		"webhooks":      {trust.PushNotifications, []string{"CreateTaskPushNotificationConfig"}, []string{"push-method-only"}, 2, trust.ReasonReplicaInconsistency},
		"extended card": {trust.ExtendedAgentCard, []string{"GetExtendedAgentCard"}, []string{"extended"}, 2, trust.ReasonReplicaInconsistency},
		"picking up":    {trust.Resubscription, []string{"SubscribeToTask"}, nil, 2, trust.ReasonReplicaInconsistency},
		"a media type":  {trust.InputModes, []string{"SendMessage"}, []string{"streaming-false"}, 2, trust.ReasonReplicaInconsistency},
		"a reply":       {trust.Continuation, []string{"SendMessage"}, nil, 2, trust.ReasonHonored},
		"everything":    {trust.Streaming, []string{"GetTask", "SendMessage", "message/send", "tasks/send"}, nil, 5, trust.ReasonReplicaInconsistency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Is(tc.quirks...), agent.With(func(c *agent.Config) { c.Script.Think = agent.Duration(200 * time.Millisecond) }))
			old := &rollout{t: t, to: a, methods: tc.methods, left: tc.calls, code: codeMethodNotFound}
			switch tc.about {
			case trust.InputModes:
				old.code = codeContentType
			case trust.Continuation:
				old.code = codeUnsupported
			}
			server := httptest.NewServer(old)
			t.Cleanup(server.Close)
			job := jobFor(t, server.URL, tc.about)
			loggedIn(&job)
			if tc.about == trust.InputModes { // a part without the name of its type is asked again by that name, which is another question
				job.Target.Fixtures.Message = &Fixture{Parts: []wire.Part{{Text: "ping", MediaType: "text/plain"}}}
			}
			var rep Report
			if tc.about == trust.PushNotifications {
				job = pushJob(t, server.URL)
				rep = runPush(t, job, receiver(t))
			} else {
				rep = runJob(t, job)
			}
			want := expectation{outcome: trust.Inconclusive, reason: tc.reason}
			if tc.reason == trust.ReasonHonored {
				want.outcome = trust.Honored // what was taken later was done
			}
			check(t, rep, tc.about, want)
			if old.left != 0 {
				t.Errorf("%d calls less than meant met the older replica", old.left)
			}
		})
	}
}

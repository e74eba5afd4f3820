package probe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A gateway failed while it was found out what a card without a version speaks. 0.2 was taken for it, and the peer accused of not
// speaking what its card had never declared (seed 1425189794 of the fleets).
func TestAGenerationThatIsGuessedWhileAGatewayFailsAccusesNobody(t *testing.T) {
	for name, failing := range map[string]int32{"on the first question": 1, "on two questions": 2} {
		t.Run(name, func(t *testing.T) {
			a := with(agent.V01)
			t.Cleanup(a.Close)
			var posts atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && posts.Add(1) <= failing {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.Copy(w, strings.NewReader(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"upstream"}}`))
					return
				}
				a.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(s.Close)
			rep := runJob(t, jobFor(t, s.URL, trust.Streaming))
			if !rep.Round.Usable {
				t.Error("the peer counts as unusable")
			}
			for _, o := range rep.Round.Observations {
				if o.Outcome == trust.Diverged {
					t.Errorf("%s is %s: %s", o.Capability, o.Reason, o.Message)
				}
				if failing == 1 && o.Outcome != trust.Honored {
					t.Errorf("%s is %s %s though 0.1 was known for sure: %s", o.Capability, o.Outcome, o.Reason, o.Message)
				}
			}
		})
	}
}

package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// TestSecurityTenantsWhatWeHadNoRoomForAccusesNobody: the event that we stopped reading at may be the one that ends the stream well, and the
// answer that we stopped reading may be a good one.
func TestSecurityTenantsWhatWeHadNoRoomForAccusesNobody(t *testing.T) {
	t.Parallel()
	egress, err := wire.NewEgress(wire.EgressPolicy{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, PlaintextHosts: []string{"127.0.0.1"}, BytesInFlight: 256 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	url := gated(t, with(agent.V03), func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		if !strings.Contains(string(body), `"message/stream"`) {
			return false
		}
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(body, &call)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, metadata := range []string{"", strings.Repeat("x", 500<<10)} {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"kind\":\"status-update\",\"taskId\":\"t1\",\"contextId\":\"c1\","+
				"\"status\":{\"state\":\"working\"},\"final\":false,\"metadata\":{\"x\":%q}}}\n\n", call.ID, metadata)
		}
		return true
	})
	job := jobFor(t, url, trust.Streaming)
	job.Target.Tenant = "test"
	rep := Run(context.Background(), Env{Egress: egress, UserAgent: "probe-test"}, job)
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonTooManyConnections})
	// Alone in the process it has room for the same.
	job.Target.Tenant = ""
	egress, _ = wire.NewEgress(wire.EgressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, PlaintextHosts: []string{"127.0.0.1"}})
	rep = Run(context.Background(), Env{Egress: egress, UserAgent: "probe-test"}, job)
	if o, _ := find(rep, trust.Streaming); o.Reason == trust.ReasonTooManyConnections {
		t.Errorf("%s though there is room", o.Reason)
	}
}

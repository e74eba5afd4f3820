package probe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// formsOfHTTP are quirks that bend what gRPC has no form for.
var formsOfHTTP = []string{"wrong-media-type", "ndjson", "unary-stream", "get-wrapped"}

// unsaid are quirks of 0.3 that its gRPC has no words for: UNIMPLEMENTED is a method that is not there and an operation that is not
// supported.
var unsaid = []string{"cancel-unknown", "get-unknown"}

// theBindings are the quirks that make a card list one binding, the first of them what the others are compared with.
var theBindings = []string{"", "rest", "grpc-only"}

// One prober asks over every binding, so the same peer gets the same verdicts for the same reasons, whatever carries the exchange.
func TestSamePeerGetsTheSameVerdictsOverEveryBinding(t *testing.T) {
	peers := []string{
		"", // honest
		"empty-stream", "empty-and-failing", "withheld-end", "withheld-end-open", "many-messages", "refuses-stream", "refuses-stream-sse",
		"stream-unknown", "stream-bad-params", "stream-fails", "stream-fails-sse", "unary-stream", "ndjson", "wrong-media-type",
		"foreign-task", "leaves-terminal", "artifact-after-end", "second-end", "stuck", "malformed-event", "error-after-two",
		"cut-idle", "reset", "cut-delimited", "close-delimited", "hold-terminal", "hold-interrupted", "ugly-sse", "crlf", "stream-bom",
		"unterminated", "buffered", "status-first", "one-task", "no-content", "repeats-end", "last-snapshot",
		"messages", "skips", "no-submitted", "rejects", "fails", "wants-auth", "never-asks", "fails-always",
		"send-at-once", "send-fails", "get-not-found", "get-unknown", "get-other-id", "get-wrapped", "purges", "relapses",
		"zombie-cancel", "zombie-working", "cancel-not-now", "cancel-unknown", "cancel-unsupported", "cancel-fails", "cancel-not-found",
		"cancel-later", "cancel-never", "completes-after-all", "revives-terminal", "follow-up-new-id", "follow-up-rewritten",
		"follow-up-refused", "follow-up-not-found", "follow-up-message", "follow-up-context",
	}
	older := []string{"", "withheld-end", "refuses-stream", "stream-unknown", "foreign-task", "second-end", "messages", "get-not-found",
		"get-unknown", "zombie-cancel", "cancel-unknown", "follow-up-new-id", "follow-up-message", "empty-stream", "withheld-end-open",
		"leaves-terminal", "artifact-after-end", "stuck", "reset", "cut-idle", "buffered", "stream-fails", "send-fails", "get-other-id",
		"zombie-working", "cancel-not-now", "cancel-not-found", "cancel-unsupported", "follow-up-refused", "follow-up-not-found",
		"skips", "never-asks", "fails-always"}
	for g, peers := range map[agent.Generation][]string{agent.V10: peers, agent.V03: older} {
		for _, peer := range peers {
			t.Run(fmt.Sprintf("%s %s", g, peer), func(t *testing.T) {
				t.Parallel()
				for _, binding := range theBindings[1:] {
					if binding == "grpc-only" && (slices.Contains(formsOfHTTP, peer) || g == agent.V03 && slices.Contains(unsaid, peer)) {
						continue
					}
					if diff := differ(t, g, peer, binding); diff != "" {
						t.Errorf("by %q (-as by JSON-RPC +got):\n%s", binding, diff)
					}
				}
			})
		}
	}
}

// differ compares a peer's verdicts over a binding with those over JSON-RPC. On a busy machine one round may see less of a peer than the
// next, so a difference is one if it is there three times running.
func differ(t *testing.T, g agent.Generation, peer, binding string) (diff string) {
	t.Helper()
	for range 3 {
		if diff = cmp.Diff(verdictsOver(t, g, peer, theBindings[0]), verdictsOver(t, g, peer, binding)); diff == "" {
			break
		}
	}
	return diff
}

// verdictsOver is what one round makes of a peer.
func verdictsOver(t *testing.T, g agent.Generation, peer, binding string) map[trust.Capability]string {
	t.Helper()
	a := agent.New(agent.Speaks(g), agent.Is(strings.Fields(peer+" "+binding)...))
	job := jobFor(t, a.Start(t), everyPeerHas...)
	job.Control = true
	verdicts := map[trust.Capability]string{}
	for _, o := range runJob(t, job).Round.Observations {
		if slices.Contains(everyPeerHas, o.Capability) {
			verdicts[o.Capability] = inWords(peer, o)
		}
	}
	return verdicts
}

// inWords is an observation of a peer in one line. Whether a task of a peer that breaks its streams off was seen to its end is chance, and so is
// whether one was looked at before its peer forgot it. "cut-delimited" ends in good order over HTTP/1 and can only be reset over gRPC.
func inWords(peer string, o trust.Observation) string {
	switch {
	case o.Capability == trust.Lifecycle && o.Reason == trust.ReasonNotExercised,
		o.Capability == trust.Lifecycle && o.Reason == trust.ReasonStreamInterrupted && peer == "cut-delimited",
		o.Capability == trust.TaskRetrieval && o.Reason == trust.ReasonNotExercised && peer == "purges":
		return "Honored Honored "
	}
	return fmt.Sprintf("%s %s %s", o.Outcome, o.Reason, o.Basis)
}

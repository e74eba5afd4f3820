package probe

import (
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// What the agent does decides what Streaming is told; each row is one lie, one trouble or one oddity.
func TestStreaming(t *testing.T) {
	t.Parallel()
	const (
		honored, diverged, inconclusive = trust.Honored, trust.Diverged, trust.Inconclusive
	)
	for _, tc := range []struct {
		quirks  string
		gens    string // default "1.0 0.3 0.1"
		outcome trust.Outcome
		reason  trust.Reason
		warn    trust.Reason
	}{
		{quirks: "", gens: "1.0 0.3 0.2 0.1", outcome: honored},
		{quirks: "empty-stream", outcome: diverged, reason: trust.ReasonStreamEmpty},
		{quirks: "empty-and-failing", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "withheld-end", outcome: diverged, reason: trust.ReasonStreamClosedWithoutTerminalState},
		{quirks: "withheld-end-open", outcome: diverged, reason: trust.ReasonStreamStateDivergesFromTask},
		{quirks: "withheld-end-open keep-alive", outcome: diverged, reason: trust.ReasonStreamStateDivergesFromTask},
		{quirks: "refuses-stream", outcome: diverged, reason: trust.ReasonStreamingRefused},
		{quirks: "refuses-stream-sse", outcome: diverged, reason: trust.ReasonStreamingRefused},
		{quirks: "stream-unknown", outcome: diverged, reason: trust.ReasonStreamingRefused},
		{quirks: "stream-bad-params", outcome: inconclusive, reason: trust.ReasonProbeRejected},
		{quirks: "stream-fails", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "stream-fails-sse", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "unary-stream", outcome: diverged, reason: trust.ReasonUnaryAnswerToStream},
		{quirks: "ndjson", outcome: diverged, reason: trust.ReasonWrongStreamMediaType},
		{quirks: "wrong-media-type", outcome: diverged, reason: trust.ReasonWrongStreamMediaType},
		{quirks: "foreign-task", outcome: diverged, reason: trust.ReasonForeignTaskInStream},
		{quirks: "many-messages", gens: "1.0", outcome: diverged, reason: trust.ReasonStreamShapeViolation},
		{quirks: "many-messages", gens: "0.3", outcome: honored, warn: trust.ReasonStreamShapeViolation},
		{quirks: "stuck", outcome: inconclusive, reason: trust.ReasonStuck},
		{quirks: "cut-idle", outcome: inconclusive, reason: trust.ReasonStreamInterrupted},
		{quirks: "reset", outcome: inconclusive, reason: trust.ReasonStreamInterrupted},
		{quirks: "cut-delimited", outcome: inconclusive, reason: trust.ReasonStreamInterrupted},
		{quirks: "error-after-two", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "get-unknown", outcome: honored, warn: trust.ReasonTaskOpsUnavailable},
		{quirks: "stale-store", outcome: honored, warn: trust.WarnTaskStoreStale},
		{quirks: "mcp", outcome: diverged, reason: trust.ReasonMethodNotFound},
	} {
		gens := tc.gens
		if gens == "" {
			gens = "1.0 0.3 0.1"
		}
		for _, g := range strings.Fields(gens) {
			t.Run(g+" "+tc.quirks, func(t *testing.T) {
				t.Parallel()
				a := with(agent.Generation(g), strings.Fields(tc.quirks)...)
				rep := runJob(t, jobFor(t, a.Start(t), trust.Streaming))
				want := expectation{outcome: tc.outcome, reason: tc.reason}
				if tc.warn != "" {
					want.warns = []trust.Reason{tc.warn}
				}
				check(t, rep, trust.Streaming, want)
			})
		}
	}
}

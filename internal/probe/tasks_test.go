package probe

import (
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Each row is what the agent does, what is asked about, and what is to come of it.
func TestTasks(t *testing.T) {
	t.Parallel()
	const (
		honored, diverged, inconclusive = trust.Honored, trust.Diverged, trust.Inconclusive
		cancel, follow, get, life       = trust.Cancellation, trust.Continuation, trust.TaskRetrieval, trust.Lifecycle
		again                           = trust.Resubscription
	)
	for _, tc := range []struct {
		quirks  string
		gens    string // default "1.0 0.3 0.1"
		about   trust.Capability
		outcome trust.Outcome
		reason  trust.Reason
		warn    trust.Reason
	}{
		{quirks: "", gens: "1.0 0.3 0.2 0.1", about: cancel, outcome: honored},
		{quirks: "zombie-cancel", about: cancel, outcome: diverged, reason: trust.ReasonEventsAfterCancel},
		{quirks: "zombie-working", about: cancel, outcome: diverged, reason: trust.ReasonEventsAfterCancel},
		{quirks: "cancel-not-now", about: cancel, outcome: inconclusive, reason: trust.ReasonTaskNotCancelable},
		{quirks: "cancel-unknown", about: cancel, outcome: diverged, reason: trust.ReasonCancelRefused},
		{quirks: "cancel-unsupported", about: cancel, outcome: inconclusive, reason: trust.ReasonCancelUnsupported},
		{quirks: "cancel-fails", about: cancel, outcome: inconclusive, reason: trust.ReasonCancelUnsupported},
		{quirks: "cancel-not-found", about: cancel, outcome: inconclusive, reason: trust.ReasonReplicaInconsistency},
		{quirks: "get-unknown", about: cancel, outcome: inconclusive, reason: trust.ReasonTaskOpsUnavailable},
		{quirks: "cancel-later", about: cancel, outcome: honored},
		{quirks: "cancel-never", about: cancel, outcome: inconclusive, reason: trust.ReasonCancelNotHonoured},
		{quirks: "cancel-slow", about: cancel, outcome: honored},
		{quirks: "late-canceled-frame", about: cancel, outcome: honored},
		{quirks: "no-canceled-frame", about: cancel, outcome: honored, warn: trust.WarnCanceledFrameMissing},
		{quirks: "completes-after-all", about: cancel, outcome: inconclusive, reason: trust.ReasonCancelNotHonoured},
		{quirks: "streaming-false", gens: "1.0 0.3", about: cancel, outcome: honored},
		{quirks: "messages", gens: "1.0 0.3", about: cancel, outcome: inconclusive, reason: trust.ReasonMessageOnly},

		{quirks: "completes-after-all", about: life, outcome: diverged, reason: trust.ReasonTerminalStateNotFinal},
		{quirks: "streaming-false completes-after-all", gens: "1.0 0.3", about: life, outcome: diverged, reason: trust.ReasonTerminalStateNotFinal},
		{quirks: "", gens: "1.0 0.3 0.2 0.1", about: again, outcome: honored},
		{quirks: "no-resubscribe", gens: "1.0", about: again, outcome: diverged, reason: trust.ReasonResubscriptionRefused},
		{quirks: "no-resubscribe", gens: "0.3 0.2 0.1", about: again, outcome: inconclusive, reason: trust.ReasonResubscriptionMissing},
		{quirks: "resubscribe-refused", gens: "1.0", about: again, outcome: diverged, reason: trust.ReasonResubscriptionRefused},
		{quirks: "resubscribe-refused", gens: "0.3", about: again, outcome: inconclusive, reason: trust.ReasonResubscriptionMissing},
		{quirks: "resubscribe-replicas", gens: "1.0", about: again, outcome: honored},
		{quirks: "resubscribe-fails", about: again, outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "resubscribe-lost", about: again, outcome: inconclusive, reason: trust.ReasonReplicaInconsistency},
		{quirks: "resubscribe-ends", gens: "1.0", about: again, outcome: diverged, reason: trust.ReasonResubscribedStreamEnded},
		{quirks: "resubscribe-ends", gens: "0.3 0.1", about: again, outcome: inconclusive, reason: trust.ReasonResubscriptionMissing},
		{quirks: "resubscribe-silent", gens: "1.0", about: again, outcome: diverged, reason: trust.ReasonResubscribedStreamSilent},
		{quirks: "resubscribe-silent", gens: "0.3", about: again, outcome: inconclusive, reason: trust.ReasonResubscriptionMissing},
		{quirks: "resubscribe-foreign", gens: "1.0 0.3", about: again, outcome: diverged, reason: trust.ReasonForeignTaskInStream},
		{quirks: "resubscribe-status", gens: "1.0", about: again, outcome: honored, warn: trust.WarnFirstEventNotTask},
		{quirks: "resubscribe-buffered", about: again, outcome: honored},
		{quirks: "resubscribe-steals", about: again, outcome: honored},
		{quirks: "resubscribe-steals", about: cancel, outcome: honored},
		{quirks: "get-unknown", about: again, outcome: inconclusive},
		{quirks: "streaming-false", gens: "1.0 0.3", about: again, outcome: inconclusive, reason: trust.ReasonNotDeclared},
		{quirks: "undeclared-streams", gens: "1.0 0.3", about: again, outcome: inconclusive, reason: trust.ReasonNotDeclared, warn: trust.WarnUndeclaredButWorks},
		{quirks: "messages", gens: "1.0 0.3", about: again, outcome: inconclusive, reason: trust.ReasonMessageOnly},
		{quirks: "cancel-not-now", about: again, outcome: honored},
		{quirks: "zombie-cancel", about: again, outcome: honored},
		{quirks: "held-back", about: again, outcome: honored},
		{quirks: "cut-idle", about: again, outcome: honored},

		{quirks: "", gens: "1.0 0.3 0.2 0.1", about: life, outcome: honored},
		{quirks: "leaves-terminal", about: life, outcome: diverged, reason: trust.ReasonTerminalStateNotFinal},
		{quirks: "second-end", about: life, outcome: diverged, reason: trust.ReasonTerminalStateNotFinal},
		{quirks: "artifact-after-end", about: life, outcome: diverged, reason: trust.ReasonEventsAfterTerminal},
		{quirks: "completed-twice", gens: "0.3 0.1", about: life, outcome: honored, warn: trust.ReasonEventsAfterTerminal},
		{quirks: "zombie-cancel", about: life, outcome: honored},

		{quirks: "", gens: "1.0 0.3 0.2 0.1", about: get, outcome: honored},
		{quirks: "stuck get-not-found", about: get, outcome: diverged, reason: trust.ReasonTaskNotRetrievable},
		{quirks: "stuck replicas", about: get, outcome: inconclusive, reason: trust.ReasonReplicaInconsistency},
		{quirks: "get-unknown", about: get, outcome: inconclusive, reason: trust.ReasonTaskOpsUnavailable},
		{quirks: "stuck get-other-id", about: get, outcome: diverged, reason: trust.ReasonTaskIDMismatch},
		{quirks: "streaming-false", gens: "1.0 0.3", about: get, outcome: honored},

		{quirks: "", gens: "1.0 0.3 0.2 0.1", about: follow, outcome: honored},
		{quirks: "hold-interrupted", about: follow, outcome: honored},
		{quirks: "follow-up-new-id", about: follow, outcome: diverged, reason: trust.ReasonTaskIDChangedOnContinuation},
		{quirks: "follow-up-rewritten", about: follow, outcome: inconclusive, reason: trust.ReasonTaskIdentityUnstable},
		{quirks: "follow-up-refused", about: follow, outcome: diverged, reason: trust.ReasonContinuationRefused},
		{quirks: "follow-up-early", about: follow, outcome: honored},
		{quirks: "follow-up-not-found", about: follow, outcome: inconclusive, reason: trust.ReasonReplicaInconsistency},
		{quirks: "follow-up-message", gens: "1.0 0.3", about: follow, outcome: honored, warn: trust.WarnContinuedWithMessage},
		{quirks: "follow-up-context", gens: "1.0 0.3", about: follow, outcome: honored, warn: trust.WarnContextChanged},
		{quirks: "never-asks", about: follow, outcome: inconclusive, reason: trust.ReasonInputRequiredNotReached},
		{quirks: "follow-up-unpromised", gens: "1.0 0.3", about: follow, outcome: inconclusive, reason: trust.ReasonInputRequiredNotReached},
		{quirks: "founding-third history", gens: "0.3 0.1", about: follow, outcome: diverged, reason: trust.ReasonTaskIDChangedOnContinuation},
		{quirks: "messages", gens: "1.0 0.3", about: follow, outcome: inconclusive, reason: trust.ReasonMessageOnly},
		{quirks: "streaming-false", gens: "1.0 0.3", about: follow, outcome: honored},
		{quirks: "streaming-false follow-up-new-id", gens: "1.0 0.3 0.1", about: follow, outcome: diverged, reason: trust.ReasonTaskIDChangedOnContinuation},
	} {
		gens := tc.gens
		if gens == "" {
			gens = "1.0 0.3 0.1"
		}
		for _, g := range strings.Fields(gens) {
			t.Run(string(tc.about)+" "+g+" "+tc.quirks, func(t *testing.T) {
				t.Parallel()
				a := with(agent.Generation(g), strings.Fields(tc.quirks)...)
				ask := []trust.Capability{tc.about}
				if tc.about == life || tc.about == again && len(g)%2 == 1 {
					ask = append(ask, cancel)
				}
				if strings.Contains(tc.quirks, "resubscribe") && tc.about == cancel {
					ask = append(ask, again)
				}
				job := jobFor(t, a.Start(t), ask...)
				if tc.about == again {
					job.Target.Timing.Task *= 3
				}
				if strings.Contains(tc.quirks, "completes-after-all") {
					job.Target.Timing.Settle *= 5
					job.Target.Timing.Task *= 2
				}
				rep := runJob(t, job)
				want := expectation{outcome: tc.outcome, reason: tc.reason}
				if tc.warn != "" {
					want.warns = []trust.Reason{tc.warn}
				}
				check(t, rep, tc.about, want)
			})
		}
	}
}

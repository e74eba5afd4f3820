package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// The cases about webhooks. PushNotifications is asked alone; where it is not said that the peer can reach us, a name has it.
func TestCasesOfPushNotifications(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for _, tc := range []struct {
		name    string
		gen     agent.Generation
		quirks  string
		rounds  int // default 3
		maybe   bool
		state   trust.State
		reason  trust.Reason
		warning trust.Reason
	}{
		{name: "C33 every config is -32003", gen: agent.V03, quirks: "push-unsupported", rounds: 1, state: trust.Demoted, reason: trust.ReasonPushConfigRefused},
		{name: "C33 every config is -32601", gen: agent.V10, quirks: "push-unknown", rounds: 1, state: trust.Demoted, reason: trust.ReasonPushConfigRefused},
		{name: "C33 every config is -32603", gen: agent.V03, quirks: "push-fails", state: trust.Unverified, reason: trust.ReasonAgentFailing},
		{name: "C77 a token and no credentials, in 0.3", gen: agent.V03, quirks: "push-token-only", state: trust.Trusted, warning: trust.WarnPushAuthMissing},
		{name: "C77 a token and no credentials, in 1.0", gen: agent.V10, quirks: "push-token-only", state: trust.Demoted, reason: trust.ReasonPushUnauthenticated},
		{name: "C78 a bare Task, in 1.0", gen: agent.V10, quirks: "push-bare-task", state: trust.Trusted, warning: trust.WarnPushPayloadShape},
		{name: "C78 a bare Task, in 0.3", gen: agent.V03, quirks: "push-bare-task", state: trust.Trusted},
		{name: "C80 private addresses are refused", gen: agent.V10, quirks: "push-private", state: trust.Unverified, reason: trust.ReasonWebhookRefused},
		{name: "C80 private addresses are dropped in silence", gen: agent.V10, quirks: "push-silent", maybe: true, state: trust.Unverified, reason: trust.ReasonWebhookUnreachable},
		{name: "C81 webhooks for streamed tasks only", gen: agent.V02, quirks: "push-streamed-only", state: trust.Trusted, warning: trust.WarnPushOnlyWhenStreaming},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			job := pushJob(t, thinking(500*time.Millisecond, tc.gen, strings.Fields(tc.quirks)...).Start(t))
			job.Target.PushReachable = !tc.maybe
			var p trust.Peer
			policy, now := trust.DefaultPolicy(), time.Now()
			rounds := tc.rounds
			if rounds == 0 {
				rounds = 3
			}
			for range rounds {
				job.Round, job.Doubt = p.Rounds.Last+1, job.Ask
				rep := runPush(t, job, r)
				rep.Round.Finished = now
				p, _, _ = trust.Advance(p, job.Target.ID, rep.Round, policy, now)
				now = now.Add(policy.ConfirmInterval)
			}
			rec := expectState(t, p, trust.PushNotifications, tc.state, tc.reason)
			if tc.state == trust.Trusted && !warnedOf(rec, tc.warning) {
				t.Errorf("warned of %v, want %q and nothing else", rec.Warnings, tc.warning)
			}
		})
	}
}

// The silence of a peer that nobody says can reach us is no lie, and that of one that can is.
func TestCaseGuardSilentWebhooksAccuseOnlyWhereThePeerCanReachUs(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	job := pushJob(t, with(agent.V10, "push-silent").Start(t))
	check(t, runPush(t, job, r), trust.PushNotifications, expectation{outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered})
	check(t, runPush(t, job, closedDoor{r}), trust.PushNotifications, expectation{outcome: trust.Inconclusive, reason: trust.ReasonPushReceiverUnreachable})
	job.Target.PushReachable = false
	check(t, runPush(t, job, r), trust.PushNotifications, expectation{outcome: trust.Inconclusive, reason: trust.ReasonWebhookUnreachable})
}

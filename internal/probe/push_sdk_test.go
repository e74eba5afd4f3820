package probe

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// Real servers call their webhooks, each in its own way: a bare Task or an event, with the token, the credentials or both. One release
// accepts webhooks and has nothing that would call them: it is caught as it is, and where nobody says that it can reach us it has an excuse
// (C33, wire reference 7.4).
func TestServersOnThirdPartySDKsCallTheirWebhooks(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the SDK servers: run make test")
	}
	r := receiver(t)
	for _, peer := range sdk.Peers() {
		want := map[bool]expectation{
			true: {outcome: trust.Honored}, false: {outcome: trust.Honored},
		}
		switch peer.Name {
		case "a2a-js-0.3.13":
			w := expectation{outcome: trust.Honored, warns: []trust.Reason{trust.WarnPushAuthMissing}}
			want = map[bool]expectation{true: w, false: w}
		case "a2a-js-0.2.5":
			want = map[bool]expectation{
				true:  {outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered},
				false: {outcome: trust.Inconclusive, reason: trust.ReasonWebhookUnreachable},
			}
		}
		for reachable, want := range want {
			t.Run(fmt.Sprintf("%s, reachable %v", peer.Name, reachable), func(t *testing.T) {
				t.Parallel()
				base, stop, err := sdk.Start(t.Context(), peer.Name)
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				job := jobFor(t, base, trust.PushNotifications)
				job.Target.Timing = DefaultTiming()
				job.Target.Timing.Late, job.Target.Timing.Task = 2*time.Second, 20*time.Second
				job.Target.PushReachable = reachable
				rep := runPush(t, job, r)
				o := check(t, rep, trust.PushNotifications, want)
				t.Logf("%d tasks: %s %s %v\n  %s\n  %q", rep.Round.Tasks, o.Outcome, o.Reason, o.Warnings, o.Message, o.Observed)
				if len(want.warns) == 0 && len(o.Warnings) > 0 {
					t.Errorf("warnings %v, want none", o.Warnings)
				}
				if len(rep.Orphans) > 0 {
					t.Errorf("tasks are left behind: %v", rep.Orphans)
				}
			})
		}
	}
}

package probe

import (
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// flooded is a receiver that has to turn somebody away all the time.
type flooded struct {
	Receiver
	n int64
}

func (f *flooded) TurnedAway() int64 {
	f.n++
	return f.n
}

// Who floods our receiver must not make another peer look silent: it may have been that peer who was turned away. Who was called about, or
// refuses, is judged all the same.
func TestSecurityWebhookFloodsExcuseSilence(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for quirk, want := range map[string]expectation{
		"push-silent":      {outcome: trust.Inconclusive, reason: trust.ReasonPushReceiverUnreachable},
		"push":             {outcome: trust.Honored},
		"push-unsupported": {outcome: trust.Diverged, reason: trust.ReasonPushConfigRefused},
	} {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			job := pushJob(t, with(agent.V10, quirk).Start(t))
			check(t, runPush(t, job, &flooded{Receiver: r}), trust.PushNotifications, want)
		})
	}
}

package probe

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// receiver is a real one on loopback.
func receiver(t *testing.T) *serve.Receiver {
	t.Helper()
	r, err := serve.NewReceiver(serve.ReceiverOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// pushJob asks for push notifications alone. What is waited for only where nobody calls leaves a slow machine room.
func pushJob(t *testing.T, base string) Job {
	t.Helper()
	job := jobFor(t, base, trust.PushNotifications)
	job.Target.PushReachable = true
	job.Target.Timing.Late = 700 * time.Millisecond
	job.Target.Timing.Task = 5 * time.Second
	return job
}

// thinking works long enough for a webhook to be accepted meanwhile, as the work of agents that think is, on a machine that is busy with other
// tests as well.
func thinking(think time.Duration, g agent.Generation, quirks ...string) *agent.Agent {
	return agent.New(agent.Speaks(g), agent.Is(quirks...), agent.With(func(c *agent.Config) { c.Script.Think = agent.Duration(think) }))
}

func runPush(t *testing.T, job Job, r Receiver) Report {
	t.Helper()
	began := time.Now()
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), UserAgent: "probe-test", Receiver: r}, job)
	if took := time.Since(began); took > Bound(job) {
		t.Errorf("the round took %s, more than its bound %s", took, Bound(job))
	}
	return rep
}

// pushCases: what each agent does with webhooks, and what is made of it, where the user says that it can reach us.
var pushCases = []struct {
	gen     agent.Generation
	quirks  []string
	outcome trust.Outcome
	reason  trust.Reason
	warns   []trust.Reason
	// explicit refusals are confirmed in their round.
	explicit bool
}{
	{agent.V10, []string{"push"}, trust.Honored, "", nil, false},
	{agent.V03, []string{"push"}, trust.Honored, "", nil, false},
	{agent.V02, []string{"push"}, trust.Honored, "", nil, false},
	{agent.V01, []string{"push"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push", "streaming-false"}, trust.Honored, "", nil, false},

	// Legal oddities.
	{agent.V10, []string{"push-twice"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-reversed"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-early"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-late"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-end-only"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-new-header"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-no-id"}, trust.Honored, "", nil, false},
	{agent.V03, []string{"push-new-body"}, trust.Honored, "", nil, false},
	{agent.V03, []string{"push-bearer-token"}, trust.Honored, "", []trust.Reason{trust.WarnPushAuthMissing}, false},
	{agent.V10, []string{"push-method-only"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push-inline-only"}, trust.Honored, "", []trust.Reason{trust.ReasonPushConfigRefused}, false},
	{agent.V10, []string{"push", "rejects"}, trust.Honored, "", nil, false},
	{agent.V10, []string{"push", "messages"}, trust.Inconclusive, trust.ReasonMessageOnly, nil, false},

	// C77, C78, C81.
	{agent.V03, []string{"push-token-only"}, trust.Honored, "", []trust.Reason{trust.WarnPushAuthMissing}, false},
	{agent.V10, []string{"push-token-only"}, trust.Diverged, trust.ReasonPushUnauthenticated, nil, false},
	{agent.V10, []string{"push-no-secrets"}, trust.Diverged, trust.ReasonPushUnauthenticated, nil, false},
	{agent.V03, []string{"push-no-secrets"}, trust.Honored, "", []trust.Reason{trust.ReasonPushUnauthenticated}, false},
	{agent.V10, []string{"push-wrong-auth"}, trust.Inconclusive, trust.ReasonUnexpectedAnswer, nil, false},
	{agent.V10, []string{"push-bare-task"}, trust.Honored, "", []trust.Reason{trust.WarnPushPayloadShape}, false},
	{agent.V03, []string{"push-bare-task"}, trust.Honored, "", nil, false},
	{agent.V02, []string{"push-streamed-only"}, trust.Honored, "", []trust.Reason{trust.WarnPushOnlyWhenStreaming}, false},

	// C33.
	{agent.V03, []string{"push-unsupported"}, trust.Diverged, trust.ReasonPushConfigRefused, nil, true},
	{agent.V10, []string{"push-unknown"}, trust.Diverged, trust.ReasonPushConfigRefused, nil, true},
	{agent.V10, []string{"push-refused-everywhere"}, trust.Diverged, trust.ReasonPushConfigRefused, nil, true},
	{agent.V01, []string{"declares-push"}, trust.Diverged, trust.ReasonPushConfigRefused, nil, true},
	{agent.V03, []string{"push-fails"}, trust.Inconclusive, trust.ReasonAgentFailing, nil, false},
	{agent.V10, []string{"push-unknown", "get-unknown"}, trust.Inconclusive, trust.ReasonTaskOpsUnavailable, nil, false},
	{agent.V10, []string{"push-not-found"}, trust.Inconclusive, trust.ReasonReplicaInconsistency, nil, false},
	{agent.V10, []string{"push-silent"}, trust.Diverged, trust.ReasonPushNotDelivered, nil, false},
	{agent.V03, []string{"push-silent"}, trust.Diverged, trust.ReasonPushNotDelivered, nil, false},
	{agent.V01, []string{"push-silent"}, trust.Diverged, trust.ReasonPushNotDelivered, nil, false},

	// C80.
	{agent.V10, []string{"push-private"}, trust.Inconclusive, trust.ReasonWebhookRefused, nil, false},
	{agent.V10, []string{"push-private-unsupported"}, trust.Inconclusive, trust.ReasonWebhookRefused, nil, false},

	// What comes and tells nothing.
	{agent.V10, []string{"push-begin-only"}, trust.Inconclusive, trust.ReasonPushEndMissing, nil, false},
	{agent.V10, []string{"push-text"}, trust.Inconclusive, trust.ReasonUnexpectedAnswer, nil, false},
	{agent.V10, []string{"push-giant"}, trust.Inconclusive, trust.ReasonUnexpectedAnswer, nil, false},
	{agent.V10, []string{"push-other-task"}, trust.Inconclusive, trust.ReasonTaskIdentityUnstable, nil, false},
	{agent.V10, []string{"push-wrong-secrets"}, trust.Inconclusive, trust.ReasonUnexpectedAnswer, []trust.Reason{trust.WarnPushSecretMismatch}, false},
}

func TestPushNotificationsAreJudgedByWhatArrives(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for _, c := range pushCases {
		name := string(c.gen)
		for _, q := range c.quirks {
			name += " " + q
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A silent one has to work for Timing.Grace after, which 0.1 can be seen at by a stream alone.
			think := 500 * time.Millisecond
			if c.gen == agent.V01 {
				think = time.Second
			}
			a := thinking(think, c.gen, c.quirks...)
			rep := runPush(t, pushJob(t, a.Start(t)), r)
			o := check(t, rep, trust.PushNotifications, expectation{c.outcome, c.reason, c.warns})
			if t.Failed() || testing.Verbose() {
				t.Logf("%s %s %v\n  %s\n  %q", o.Outcome, o.Reason, o.Warnings, o.Message, o.Observed)
			}
			if len(c.warns) == 0 && len(o.Warnings) > 0 {
				t.Errorf("warnings %v, want none", o.Warnings)
			}
			if o.Explicit != c.explicit || o.Confirmed != c.explicit {
				t.Errorf("explicit %v, confirmed %v", o.Explicit, o.Confirmed)
			}
			if (o.DeliveredTo == ReceiverID(r)) != (o.Outcome == trust.Honored) {
				t.Errorf("delivered to %q", o.DeliveredTo)
			}
			if open := a.Counts().Open; open > len(rep.Orphans) {
				t.Errorf("%d tasks are left behind, %d reported", open, len(rep.Orphans))
			}
			dear := slices.ContainsFunc(c.quirks, func(q string) bool { return q == "push-streamed-only" || q == "push-method-only" || q == "push-late" })
			if c.outcome == trust.Honored && !dear && rep.Round.Tasks != 1 {
				t.Errorf("it cost %d tasks, want 1", rep.Round.Tasks)
			}
		})
	}
}

// Silence is a fault only where nothing excuses it (wire reference 7.4, C80).
func TestSilenceIsExcusedWhereThePeerMayNotReachUs(t *testing.T) {
	t.Parallel()
	good := receiver(t)
	for name, c := range map[string]struct {
		receiver  Receiver
		reachable bool
		before    string
		reason    trust.Reason
		diverged  bool
	}{
		"nobody says that it can reach us":             {good, false, "", trust.ReasonWebhookUnreachable, false},
		"it called another receiver before":            {good, false, "another", trust.ReasonWebhookUnreachable, false},
		"it called this one before":                    {good, false, ReceiverID(good), trust.ReasonPushNotDelivered, true},
		"the user says that it can":                    {good, true, "", trust.ReasonPushNotDelivered, true},
		"our own door is closed":                       {closedDoor{good}, true, "", trust.ReasonPushReceiverUnreachable, false},
		"our own door is closed, and it called before": {closedDoor{good}, true, ReceiverID(closedDoor{good}), trust.ReasonPushReceiverUnreachable, false},
		"we have no receiver":                          {nil, true, "", trust.ReasonPushReceiverMissing, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := pushJob(t, with(agent.V10, "push-silent").Start(t))
			job.Target.PushReachable, job.DeliveredTo = c.reachable, c.before
			want := expectation{outcome: trust.Inconclusive, reason: c.reason}
			if c.diverged {
				want.outcome = trust.Diverged
			}
			check(t, runPush(t, job, c.receiver), trust.PushNotifications, want)
		})
	}
}

// closedDoor gives webhooks away under a URL that leads nowhere.
type closedDoor struct{ Receiver }

func (closedDoor) Base() *url.URL { return &url.URL{Scheme: "http", Host: "127.0.0.1:1"} }

func (d closedDoor) Open(hear func(http.Header, []byte, bool)) (*url.URL, func(), error) {
	u, done, err := d.Receiver.Open(hear)
	if u != nil {
		u.Host = d.Base().Host
	}
	return u, done, err
}

// Whatever takes Authorization out before our own door accuses no peer.
func TestHeadersTakenOutBeforeOurDoorAccuseNobody(t *testing.T) {
	t.Parallel()
	job := pushJob(t, with(agent.V10, "push").Start(t))
	check(t, runPush(t, job, stripped{receiver(t)}), trust.PushNotifications,
		expectation{outcome: trust.Inconclusive, reason: trust.ReasonPushReceiverUnreachable})
}

// stripped loses Authorization on the way, as a proxy with a login of its own does.
type stripped struct{ Receiver }

func (s stripped) Open(hear func(http.Header, []byte, bool)) (*url.URL, func(), error) {
	return s.Receiver.Open(func(h http.Header, body []byte, whole bool) {
		h = h.Clone()
		h.Del("Authorization")
		hear(h, body, whole)
	})
}

// What no card declares is neither a fault nor trust, and costs one task at most.
func TestUndeclaredPushIsInformation(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for quirk, want := range map[string]expectation{
		"push-undeclared": {trust.Honored, "", []trust.Reason{trust.WarnUndeclaredButWorks}},
		"no-etag":         {trust.Inconclusive, trust.ReasonNotDeclared, nil},
	} {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			rep := runPush(t, pushJob(t, with(agent.V10, quirk).Start(t)), r)
			check(t, rep, trust.PushNotifications, want)
			if rep.Round.Tasks != 1 {
				t.Errorf("it cost %d tasks", rep.Round.Tasks)
			}
		})
	}
}

// An agent that calls about every word that it writes calls about the end as well.
func TestTheEndIsHeardAfterManyCalls(t *testing.T) {
	t.Parallel()
	h := &webhook{generation: wire.V10, ids: &identities{}}
	say := func(state string) {
		h.hear(http.Header{}, []byte(`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_`+state+`"}}}`), true)
	}
	for range 3 * maxDeliveries {
		say("WORKING")
	}
	say("COMPLETED")
	all := h.deliveries(time.Now())
	if len(all) != maxDeliveries || all[len(all)-1].State != lifecycle.Completed {
		t.Errorf("%d deliveries are kept, the last of them %s", len(all), all[len(all)-1].State)
	}
}

// A gateway between the agent and us may put a login of its own where the credentials were, and some agents send no token beside them. Whoever
// called is not silent, and neither is one that calls about no task.
func TestWhoCalledInAnotherWayIsNotSilent(t *testing.T) {
	t.Parallel()
	task := &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: "t", State: lifecycle.Working}},
		Looks: []look{{Asked: 2 * ms, At: 3 * ms, ID: "t", State: lifecycle.Working}, {Asked: 9 * ms, At: 10 * ms, ID: "t", State: lifecycle.Completed}}}
	reached := selfCall{Made: true, Reached: true, Whole: true}
	for name, tc := range map[string]struct {
		came    []delivery
		outcome trust.Outcome
	}{
		"nobody called":      {nil, trust.Diverged},
		"with another login": {[]delivery{{Kind: wire.KindTask, TaskID: "t", State: lifecycle.Completed, Token: secretAbsent, Auth: secretWrong}}, trust.Inconclusive},
		"about no task":      {[]delivery{{Kind: wire.KindMessage, Token: secretRight, Auth: secretRight}}, trust.Inconclusive},
	} {
		p := &pushed{Generation: wire.V10, Before: reached, During: reached, After: reached, Reachable: true,
			Trials: []*trial{{Tape: task, Sets: []setLook{{look: look{At: 1 * ms}}}, Deliveries: tc.came}}}
		if o := judgePush(p); o.Outcome != tc.outcome {
			t.Errorf("%s: %s %s %s", name, o.Outcome, o.Reason, o.Message)
		}
	}
}

// Without a long task, one that is over before its webhook is accepted excuses those who know the method alone.
func TestTasksThatEndTooSoonExcuseSilence(t *testing.T) {
	t.Parallel()
	job := pushJob(t, with(agent.V10, "push-silent", "skips").Start(t))
	job.Target.Fixtures.LongRunning = nil
	check(t, runPush(t, job, receiver(t)), trust.PushNotifications,
		expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskEndedFirst})
}

// Some agents call about tasks of some length only, and with some a webhook takes effect a moment after it was accepted. Neither is accused
// because of a task that was over soon; a task that works on for Timing.Grace tells them from agents that never call.
func TestSilenceAboutBriefTasksAccusesNobody(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	const none, brief, endless = -1, 5, 100
	inconclusive := func(r trust.Reason) expectation { return expectation{outcome: trust.Inconclusive, reason: r} }
	for story, tc := range map[string]struct {
		quirk string
		// chunks of the long task, 100 ms each.
		chunks int
		// opaque: it shows no work meanwhile, and never ends.
		opaque bool
		want   expectation
	}{
		"about long tasks only, without a fixture":        {"push-long-only", none, false, inconclusive(trust.ReasonTaskEndedFirst)},
		"about long tasks only, the fixture is brief":     {"push-long-only", brief, false, inconclusive(trust.ReasonTaskEndedFirst)},
		"about long tasks only":                           {"push-long-only", 25, false, expectation{outcome: trust.Honored}},
		"takes a moment, without a fixture":               {"push-takes-time", none, false, inconclusive(trust.ReasonTaskEndedFirst)},
		"takes a moment, the fixture is brief":            {"push-takes-time", brief, false, inconclusive(trust.ReasonTaskEndedFirst)},
		"takes a moment":                                  {"push-takes-time", 25, false, expectation{outcome: trust.Honored}},
		"never, the fixture is brief":                     {"push-silent", brief, false, inconclusive(trust.ReasonTaskEndedFirst)},
		"never, the fixture ends by itself":               {"push-silent", 25, false, expectation{outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered}},
		"never, the fixture works until it is canceled":   {"push-silent", endless, false, expectation{outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered}},
		"never, the fixture shows no work until canceled": {"push-silent", endless, true, inconclusive(trust.ReasonNotExercised)},
	} {
		for _, g := range []agent.Generation{agent.V10, agent.V03} {
			t.Run(string(g)+" "+story, func(t *testing.T) {
				t.Parallel()
				a := agent.New(agent.Speaks(g), agent.Is(tc.quirk), agent.With(func(c *agent.Config) {
					c.Script.Think, c.Script.Tick, c.Script.Chunks = 200*agent.Duration(ms), 100*agent.Duration(ms), tc.chunks
					if tc.opaque {
						c.Script.Rules = []agent.Rule{{Prefix: "count", Do: "stuck"}}
					}
				}))
				job := pushJob(t, a.Start(t))
				job.Target.Timing.Grace, job.Target.Timing.Task = 1500*ms, 12*time.Second
				if tc.chunks == none {
					job.Target.Fixtures.LongRunning = nil
				}
				o := check(t, runPush(t, job, r), trust.PushNotifications, tc.want)
				t.Logf("%s %s\n  %s\n  %q", o.Outcome, o.Reason, o.Message, o.Observed)
				if hint := strings.Contains(o.Message, "fixtures.longRunning"); hint != (o.Outcome == trust.Inconclusive) {
					t.Errorf("it names the hint: %v, in %q", hint, o.Message)
				}
			})
		}
	}
}

// A gateway that renames tasks is between the agent and us, and not between the agent and its webhooks: the calls name the agent's own ids.
// That accuses nobody, and a correlation tells whose calls they are (design 4.14).
func TestWebhooksAroundAGatewayThatRenamesTasks(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for _, quirk := range gateways {
		for _, g := range []agent.Generation{agent.V10, agent.V03} {
			t.Run(string(g)+" "+quirk, func(t *testing.T) {
				t.Parallel()
				job := pushJob(t, with(g, "push", quirk).Start(t))
				want := expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskIdentityUnstable}
				if quirk == "ids-in-streams" { // the ordinary task is begun by a send
					want = expectation{outcome: trust.Honored}
				}
				o := check(t, runPush(t, job, r), trust.PushNotifications, want)
				t.Logf("%s %s %q", o.Reason, o.Message, o.Observed)

				for _, correlates := range []string{"correlates", "correlates-by-header"} {
					job = pushJob(t, with(g, "push", correlates, quirk).Start(t))
					identified(&job, correlates)
					o = check(t, runPush(t, job, r), trust.PushNotifications, expectation{outcome: trust.Honored})
					t.Logf("%s %s %q", o.Reason, o.Message, o.Observed)
				}
			})
		}
	}
}

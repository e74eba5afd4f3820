package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/test/agent"
)

// The founding incident as an orchestrator sees it: three workers with one card, the third answers a follow-up with another task and leaves
// the first working for ever.
func TestTheFoundingIncidentEndsWithAllWorkDone(t *testing.T) {
	t.Parallel()
	p := &peers{decision: quick(v1alpha1.PathStreaming)}
	tasks := client.Tasks{Peers: p, Ledger: newLedger(t)}
	all := say("book a trip to Oslo").Message
	o := client.TaskOptions{Promise: true, OnInput: reply("to Oslo"), AllInputs: all}
	for name, quirks := range map[string][]string{"first": {"history"}, "second": {"history"}} {
		a := agent.New(agent.Speaks(agent.V03), agent.Is(quirks...))
		task, err := tasks.OpenStreamingTask(t.Context(), dial(t, a.Start(t), agent.V03, nil), client.Named("test", name), say("book a trip"), o)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := tasks.AwaitTerminalState(t.Context(), task); err != nil || r.State != lifecycle.Completed {
			t.Fatalf("the %s worker ended with %+v, %v", name, r, err)
		}
	}
	honest := tasks.Stats()
	if honest.ExtraGetTasks > honest.Tasks {
		t.Errorf("%d extra GetTasks for %d tasks, want one each at most", honest.ExtraGetTasks, honest.Tasks)
	}
	t.Logf("cost of honest work: %+v", honest)

	third := agent.New(agent.Speaks(agent.V03), agent.Is("founding-third", "history", "no-submitted"))
	c, ref := dial(t, third.Start(t), agent.V03, nil), client.Named("test", "third")
	task, err := tasks.OpenStreamingTask(t.Context(), c, ref, say("book a trip"), o)
	if err != nil {
		t.Fatal(err)
	}
	err = tasks.FollowUp(t.Context(), task, say("to Oslo").Message)
	var d *client.AgentCardDivergenceError
	if !errors.As(err, &d) || d.Basis != lifecycle.Card {
		t.Fatalf("the follow-up is answered with %v, want a divergence from the card", err)
	}
	r, err := tasks.AwaitTerminalState(t.Context(), task)
	if !errors.As(err, &d) || r.Entry.State != lifecycle.EntryDivergence || !r.MayReissue {
		t.Fatalf("the task ended with %+v, %v", r, err)
	}
	// Now all is said at once.
	p.decision.MultiTurn = v1alpha1.MultiTurnAllInputsUpfront
	if task, err = tasks.OpenStreamingTask(t.Context(), c, ref, say("book a trip"), o); err != nil {
		t.Fatal(err)
	}
	if r, err = tasks.AwaitTerminalState(t.Context(), task); err != nil || r.State != lifecycle.Completed {
		t.Errorf("with all inputs up front it ended with %+v, %v", r, err)
	}
	if demoted, _ := p.said(); demoted != "Continuation TaskIdChangedOnContinuation Card" {
		t.Errorf("demoted %q", demoted)
	}
	if open, diverged := third.Counts().Open, len(tasks.Ledger.Diverged()); open != 0 || diverged != 1 || len(tasks.Ledger.Open()) != 0 {
		t.Errorf("%d tasks still run, %d divergences, open %v", open, diverged, tasks.Ledger.Open())
	}
	t.Logf("cost of it all: %+v", tasks.Stats())
}

// hooks serves a webhook.
func hooks(t *testing.T) *client.Webhook {
	t.Helper()
	var hook *client.Webhook
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, client.MaxDelivery+1))
		if err == nil {
			err = hook.Deliver(body)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(s.Close)
	hook = client.NewWebhook(a2a.PushConfig{URL: s.URL + "/only-this-task", Token: "secret"})
	return hook
}

func TestATaskIsFollowedByPushWhereThatIsTrusted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gen              agent.Generation
		quirks           []string
		wait             time.Duration
		gets             int64
		demoted, honored string
	}{
		"an honest agent":          {agent.V10, []string{"push"}, 5 * time.Second, 1, "", "PushNotifications"},
		"one of 0.3":               {agent.V03, []string{"push"}, 5 * time.Second, 1, "", "PushNotifications"},
		"one that calls twice":     {agent.V10, []string{"push-twice"}, 5 * time.Second, 1, "", "PushNotifications"},
		"one that tells backwards": {agent.V10, []string{"push-reversed"}, 5 * time.Second, 1, "", "PushNotifications"},
		"one that never calls":     {agent.V10, []string{"push-silent"}, 400 * time.Millisecond, 1, "PushNotifications PushNotDelivered Behaviour", ""},
		"one that refuses webhooks": {agent.V10, []string{"push-refused-everywhere"}, 400 * time.Millisecond, 2,
			"PushNotifications PushConfigRefused Card", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Speaks(tc.gen), agent.Is(tc.quirks...))
			p := &peers{decision: quick(v1alpha1.PathSingleShot)}
			p.decision.Updates, p.decision.Wait, p.decision.Hard = v1alpha1.UpdatesPush, tc.wait, 20*time.Second
			tasks := client.Tasks{Peers: p, Ledger: newLedger(t)}
			task, err := tasks.OpenStreamingTask(t.Context(), dial(t, a.Start(t), tc.gen, nil), client.Named("test", "peer"), say("ping"),
				client.TaskOptions{Webhook: hooks(t)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := tasks.AwaitTerminalState(t.Context(), task)
			if err != nil || r.State != lifecycle.Completed || len(r.Task.Artifacts) == 0 {
				t.Errorf("ended with %+v, %v", r, err)
			}
			demoted, honored := p.said()
			// Where the last call did not carry what came of the task, it is fetched.
			honored = strings.TrimPrefix(strings.TrimSuffix(honored, " TaskRetrieval"), "TaskRetrieval")
			if gets := tasks.Stats().GetTasks; gets > tc.gets || demoted != tc.demoted || honored != tc.honored {
				t.Errorf("%d GetTasks, demoted %q, honored %q, want %d, %q, %q", gets, demoted, honored, tc.gets, tc.demoted, tc.honored)
			}
		})
	}
}

func TestWhatIsNoNotificationIsSaidToBeNone(t *testing.T) {
	t.Parallel()
	hook := client.NewWebhook(a2a.PushConfig{})
	for payload, want := range map[string]error{
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`: nil,
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}`:                 nil,
		`{"id":"t","status":{"state":"working","timestamp":"yesterday"}}`:                         nil,
		`{"kind":"message","parts":[]}`:                                                           nil,
		`{"id":"t"}`:                                                                              client.ErrDeliveryUnreadable,
		`pong`:                                                                                    client.ErrDeliveryUnreadable,
		``:                                                                                        client.ErrDeliveryUnreadable,
		strings.Repeat(" ", client.MaxDelivery+1):                                                 client.ErrDeliveryTooLarge,
	} {
		if err := hook.Deliver([]byte(payload)); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("delivering %.40q: %v, want %v", payload, err, want)
		}
	}
	var full error
	for range 1000 {
		full = hook.Deliver([]byte(`{"id":"t","status":{"state":"working"}}`))
	}
	if !errors.Is(full, client.ErrDeliveriesWaiting) {
		t.Errorf("a thousand deliveries that nobody looks at: %v", full)
	}
}

// Behind a gateway that rewrites ids a correlation key tells tasks apart.
func TestTasksAreToldApartByACorrelationKey(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quirk     string
		identity  v1alpha1.TaskIdentity
		transport http.RoundTripper
	}{
		"in metadata": {"correlates", v1alpha1.TaskIdentity{Source: v1alpha1.IdentityMetadata, Key: agent.CorrelationKey}, nil},
		"in a header": {"correlates-by-header", v1alpha1.TaskIdentity{Source: v1alpha1.IdentityHeader, Key: "X-Correlation-Id"},
			client.CorrelateBy("X-Correlation-Id", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Is("ids-per-answer", tc.quirk))
			p := &peers{decision: quick(v1alpha1.PathSingleShot)}
			tasks := client.Tasks{Peers: p, Ledger: newLedger(t)}
			task, err := tasks.OpenStreamingTask(t.Context(), dial(t, a.Start(t), agent.V10, tc.transport), client.Named("test", "peer"),
				say("book a trip"), client.TaskOptions{OnInput: reply("to Oslo"), Identity: &tc.identity})
			if err != nil {
				t.Fatal(err)
			}
			r, err := tasks.AwaitTerminalState(t.Context(), task)
			demoted, honored := p.said()
			if err != nil || r.State != lifecycle.Completed || demoted != "" || honored != "Continuation TaskRetrieval" {
				t.Errorf("ended with %+v, %v; demoted %q, honored %q", r, err, demoted, honored)
			}
		})
	}
}

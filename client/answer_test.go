package client

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// An agent may take its time to answer a message about its task, and begin another task by it. Meanwhile the next message was sent, on a
// stream of its own: the one before was read by nobody, and its task ran on unseen.
func TestCaseLawATaskThatAnEarlierMessageBeginsLateIsPutAway(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"while the task is followed": time.Minute,
		"long after its end":         10 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(24 * time.Hour) // the bubble's: whatever is left comes to its bound
				var canceled atomic.Bool
				s := &script{}
				s.stream = func(ctx context.Context, yield func(a2a.Event, error) bool) {
					switch s.count("stream") {
					case 1: // asks
						yield(in(a2a.TaskStateInputRequired), nil)
					case 2: // is late
						if sleep(ctx, after) {
							yield(&a2a.Task{ID: "t2", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil)
						}
					case 3:
						if yield(in(a2a.TaskStateWorking), nil) && sleep(ctx, 2*time.Minute) {
							yield(in(a2a.TaskStateCompleted), nil)
						}
						return
					}
					<-ctx.Done()
				}
				s.get = func() (*a2a.Task, error) {
					if canceled.Load() {
						return in(a2a.TaskStateCanceled), nil
					}
					return in(a2a.TaskStateInputRequired), nil
				}
				s.cancel = func() (*a2a.Task, error) {
					canceled.Store(true)
					return in(a2a.TaskStateCanceled), nil
				}
				tasks := Tasks{Peers: fixed{Decision{Path: v1alpha1.PathStreaming, Wait: 3 * time.Minute, Hard: 20 * time.Minute}}}
				task, err := tasks.OpenStreamingTask(t.Context(), s, Named("a", "peer"), request(), TaskOptions{OnEvent: func(ev a2a.Event) {
					if ev.TaskInfo().TaskID == "t2" {
						t.Error("OnEvent was shown an event of another task")
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				impatient, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				if err := tasks.FollowUp(impatient, task, request().Message); err == nil {
					t.Fatal("a message that nothing answered was answered")
				}
				if err := tasks.FollowUp(t.Context(), task, request().Message); err != nil {
					t.Fatal(err)
				}
				if result, err := tasks.AwaitTerminalState(t.Context(), task); err != nil || result.State != lifecycle.Completed {
					t.Fatalf("ended as %+v, %v", result, err)
				}
				if began := time.Now(); tasks.Drain(t.Context()) != nil || time.Since(began) > 12*time.Second {
					t.Errorf("draining took %v", time.Since(began))
				}
				time.Sleep(20 * time.Minute)
				ledger, _ := tasks.ledger(t.Context())
				for _, e := range ledger.Entries() {
					if e.TaskID == "t2" {
						if e.State != lifecycle.EntryCanceled || e.Orphaned || e.After != task.Entry().ID {
							t.Errorf("the other task is %+v, want it canceled", e)
						}
						return
					}
				}
				t.Errorf("the other task is in no entry: %+v; calls %v", ledger.Entries(), s.calls)
			})
		})
	}
}

package client

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

func request() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("ping"))}
}

// script is a peer of which a test writes what it needs.
type script struct {
	send   func(*a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	stream func(context.Context, func(a2a.Event, error) bool)
	get    func() (*a2a.Task, error)
	cancel func() (*a2a.Task, error)

	mu    sync.Mutex
	calls []string
}

func (s *script) note(c string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
}

func (s *script) count(c string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.calls {
		if x == c {
			n++
		}
	}
	return n
}

func (s *script) SendMessage(_ context.Context, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	s.note("send")
	return s.send(r)
}

func (s *script) SendStreamingMessage(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	s.note("stream")
	return func(yield func(a2a.Event, error) bool) { s.stream(ctx, yield) }
}

func (s *script) SubscribeToTask(ctx context.Context, _ *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	s.note("subscribe")
	return func(yield func(a2a.Event, error) bool) { s.stream(ctx, yield) }
}

func (s *script) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	s.note("get")
	return s.get()
}

func (s *script) CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
	s.note("cancel")
	return s.cancel()
}

func in(state a2a.TaskState) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: state}}
}

func always(state a2a.TaskState) func() (*a2a.Task, error) {
	return func() (*a2a.Task, error) { return in(state), nil }
}

// restart leaves an open entry in a directory, as a process that is killed does, and opens the ledger again.
func restart(t *testing.T, s *script, change func(*Entry)) (*Tasks, Entry) {
	t.Helper()
	dir := t.TempDir()
	first := Tasks{Ledger: openLedger(t, fileStoreIn(t, dir))}
	s.send = func(*a2a.SendMessageRequest) (a2a.SendMessageResult, error) { return in(a2a.TaskStateWorking), nil }
	if _, err := first.OpenStreamingTask(t.Context(), s, Named("a", "peer"), request(), TaskOptions{}); err != nil {
		t.Fatal(err)
	}
	e := first.Ledger.Open()[0]
	if change != nil {
		first.Ledger.update(t.Context(), e.ID, change)
	}
	return &Tasks{Ledger: openLedger(t, fileStoreIn(t, dir))}, e
}

func TestATaskIsTakenUpAfterARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		path  v1alpha1.DecisionPath
		calls string
	}{
		"by polling":                   {v1alpha1.PathSingleShot, "get"},
		"by its stream, where trusted": {v1alpha1.PathStreaming, "subscribe"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{get: always(a2a.TaskStateCompleted), stream: func(_ context.Context, yield func(a2a.Event, error) bool) {
				yield(in(a2a.TaskStateCompleted), nil)
			}}
			tasks, e := restart(t, s, nil)
			tasks.Peers = fixed{Decision{Path: tc.path}}
			task, err := tasks.Resume(t.Context(), s, Named("a", "peer"), e.ID, TaskOptions{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := tasks.AwaitTerminalState(t.Context(), task)
			if err != nil || result.State != lifecycle.Completed || result.Entry.State != lifecycle.EntryCompleted || s.count(tc.calls) != 1 {
				t.Errorf("ended with %+v, %v after %v", result, err, s.calls)
			}
			again, err := tasks.AwaitTerminalState(t.Context(), task)
			if again != result || err != nil {
				t.Errorf("asked again: %+v, %v", again, err)
			}
			if _, err := tasks.Resume(t.Context(), s, Named("a", "peer"), e.ID, TaskOptions{}); err == nil {
				t.Error("a closed entry was taken up")
			}
		})
	}
}

func TestAnOrphanIsCancelledAfterARestart(t *testing.T) {
	s := &script{cancel: always(a2a.TaskStateCanceled), get: always(a2a.TaskStateCanceled)}
	tasks, e := restart(t, s, func(e *Entry) { e.Orphaned = true })
	task, err := tasks.Resume(t.Context(), s, Named("a", "peer"), e.ID, TaskOptions{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := tasks.Cancel(t.Context(), task)
	if err != nil || result.Entry.State != lifecycle.EntryCanceled || len(tasks.Ledger.Orphaned()) != 0 || !result.MayReissue {
		t.Errorf("ended with %+v, %v; orphans %v", result, err, tasks.Ledger.Orphaned())
	}
}

func TestWhatCannotBeTakenUpSaysWhy(t *testing.T) {
	s := &script{}
	tasks, e := restart(t, s, func(e *Entry) { e.TaskID = "" })
	if _, err := tasks.Resume(t.Context(), s, Named("a", "other"), e.ID, TaskOptions{}); err == nil {
		t.Error("a task was taken up with another peer")
	}
	if _, err := tasks.Resume(t.Context(), s, Named("a", "peer"), e.ID, TaskOptions{}); !errors.Is(err, ErrUncertain) {
		t.Errorf("a task without a name: %v, want ErrUncertain", err)
	}
	if err := tasks.Ledger.Forget(t.Context(), e.ID); err != nil {
		t.Errorf("an entry that nobody follows cannot be forgotten: %v", err)
	}
	if _, err := tasks.Resume(t.Context(), s, Named("a", "peer"), e.ID, TaskOptions{}); err == nil {
		t.Error("an entry that is not there was taken up")
	}
}

func TestAnUnavailablePeerIsSentNothing(t *testing.T) {
	s := &script{}
	tasks := Tasks{Peers: fixed{Decision{Path: v1alpha1.PathUnavailable, Reason: v1alpha1.ReasonNoUsableInterface}}}
	_, err := tasks.OpenStreamingTask(t.Context(), s, Named("a", "peer"), request(), TaskOptions{})
	if !errors.Is(err, ErrPeerUnavailable) || len(s.calls) != 0 {
		t.Errorf("error %v, calls %v", err, s.calls)
	}
}

// Unverified streams are tried on something small first, if the caller asks.
func TestAProbeCommitsToStreamingOrDoesNot(t *testing.T) {
	for name, tc := range map[string]struct {
		reason v1alpha1.Reason
		stream []a2a.TaskState
		want   string
	}{
		"a stream that keeps its promise": {ReasonNotProbed, []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}, "streams"},
		"one that ends too early":         {ReasonNotProbed, []a2a.TaskState{a2a.TaskStateWorking}, "sends"},
		"one that is empty":               {ReasonNotProbed, nil, "sends"},
		"a peer that is known to lie":     {v1alpha1.ReasonStreamingDemoted, []a2a.TaskState{a2a.TaskStateCompleted}, "sends at once"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{get: always(a2a.TaskStateCompleted)}
				s.stream = func(_ context.Context, yield func(a2a.Event, error) bool) {
					for _, state := range tc.stream {
						if !yield(in(state), nil) {
							return
						}
					}
				}
				s.send = func(*a2a.SendMessageRequest) (a2a.SendMessageResult, error) { return in(a2a.TaskStateCompleted), nil }
				tasks := Tasks{Peers: fixed{Decision{Path: v1alpha1.PathSingleShot, Reason: tc.reason}}}
				task, err := tasks.OpenStreamingTask(t.Context(), s, Named("a", "peer"), request(), TaskOptions{ProbeFirst: request().Message})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tasks.AwaitTerminalState(t.Context(), task); err != nil {
					t.Error(err)
				}
				got := "sends"
				switch s.count("stream") {
				case 2:
					got = "streams"
				case 0:
					got = "sends at once"
				}
				if got != tc.want {
					t.Errorf("%s, want %s: %v", got, tc.want, s.calls)
				}
				if err := tasks.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

package client_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
)

// crossing is an A2A client whose stream shows one event, and the rest once an answer has told how the task ended.
type crossing struct {
	client.A2AClient // what is not called here

	late      []a2a.TaskState
	cancelErr error
	end       a2a.TaskState

	once sync.Once
	told chan struct{}
}

func (c *crossing) SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return c.task(a2a.TaskStateSubmitted), nil
}

func (c *crossing) SendStreamingMessage(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(c.task(a2a.TaskStateSubmitted), nil) {
			return
		}
		select {
		case <-c.told:
		case <-ctx.Done():
			return
		}
		for _, s := range c.late {
			if !yield(&a2a.TaskStatusUpdateEvent{TaskID: "one", ContextID: "context", Status: a2a.TaskStatus{State: s}}, nil) {
				return
			}
		}
	}
}

func (c *crossing) CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if c.cancelErr != nil {
		return nil, c.cancelErr
	}
	c.once.Do(func() { close(c.told) })
	return c.task(c.end), nil
}

func (c *crossing) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	c.once.Do(func() { close(c.told) })
	return c.task(c.end), nil
}

func (c *crossing) task(s a2a.TaskState) *a2a.Task {
	return &a2a.Task{ID: "one", ContextID: "context", Status: a2a.TaskStatus{State: s}}
}

// A stream and an answer are two connections: the answer may overtake events that the agent sent before it.
func TestAnEventThatAnAnswerOvertookAccusesNobody(t *testing.T) {
	t.Parallel()
	const (
		working   = a2a.TaskStateWorking
		asks      = a2a.TaskStateInputRequired
		completed = a2a.TaskStateCompleted
		canceled  = a2a.TaskStateCanceled
		notFinal  = "Lifecycle TerminalStateNotFinal Protocol"
	)
	for name, tc := range map[string]struct {
		end       a2a.TaskState
		cancelErr error
		late      []a2a.TaskState
		demoted   string
	}{
		"work before a cancel":                  {end: canceled, late: []a2a.TaskState{working, canceled}},
		"a question before a cancel":            {end: canceled, late: []a2a.TaskState{working, asks, canceled}},
		"work before an end that beat a cancel": {end: completed, cancelErr: a2a.ErrTaskNotCancelable, late: []a2a.TaskState{working, completed}},
		"another end than the cancel's":         {end: canceled, late: []a2a.TaskState{working, completed}, demoted: notFinal},
		"another end than GetTask's":            {end: completed, cancelErr: a2a.ErrTaskNotCancelable, late: []a2a.TaskState{a2a.TaskStateFailed}, demoted: notFinal},
		"work after the stream's own end":       {end: completed, cancelErr: a2a.ErrTaskNotCancelable, late: []a2a.TaskState{completed, working}, demoted: notFinal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &peers{decision: quick(v1alpha1.PathStreaming)}
			tasks := client.Tasks{Peers: p, Ledger: newLedger(t)}
			c := &crossing{end: tc.end, cancelErr: tc.cancelErr, late: tc.late, told: make(chan struct{})}
			task, err := tasks.OpenStreamingTask(t.Context(), c, client.Named("test", "peer"), say("ping"), client.TaskOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tasks.Cancel(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			if err := tasks.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if demoted, _ := p.said(); demoted != tc.demoted {
				t.Errorf("demoted %q, want %q; seen %v", demoted, tc.demoted, task.Entry().History())
			}
		})
	}
}

// The first event names the task, so a panic about it must not come before it is booked.
func TestACallbackThatPanicsAboutTheFirstEventLosesNoTask(t *testing.T) {
	t.Parallel()
	for _, path := range []v1alpha1.DecisionPath{v1alpha1.PathStreaming, v1alpha1.PathSingleShot} {
		t.Run(string(path), func(t *testing.T) {
			t.Parallel()
			tasks := client.Tasks{Peers: &peers{decision: quick(path)}, Ledger: newLedger(t)}
			c := &crossing{end: a2a.TaskStateCanceled, told: make(chan struct{})}
			const fault = "a fault of the caller's"
			began := time.Now()
			func() {
				defer func() {
					if p := recover(); p != fault {
						t.Errorf("panic %v, want that of the callback", p)
					}
				}()
				_, err := tasks.OpenStreamingTask(t.Context(), c, client.Named("test", "peer"), say("ping"), client.TaskOptions{
					OnEvent: func(a2a.Event) { panic(fault) },
				})
				t.Errorf("no panic, error %v", err)
			}()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			for _, e := range tasks.Ledger.Entries() {
				if e.TaskID != "one" || e.State != "canceled" || e.Orphaned {
					t.Errorf("task %q is %s, orphaned %v, want it canceled", e.TaskID, e.State, e.Orphaned)
				}
			}
			if err := tasks.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

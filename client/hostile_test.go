package client_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
)

// hoarder is an agent that streams so many events of one task, and has a task to show.
type hoarder struct {
	events int
	event  func(n int) a2a.Event
	task   *a2a.Task
	sent   int
}

func (h *hoarder) SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return h.task, nil
}

func (h *hoarder) SendStreamingMessage(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(&a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil) {
			return
		}
		for n := 0; n < h.events && ctx.Err() == nil; n++ {
			h.sent = n + 1
			if !yield(h.event(n), nil) {
				return
			}
		}
		yield(&a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, nil)
	}
}

func (h *hoarder) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return h.task, nil
}

func (h *hoarder) CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}, nil
}

func (h *hoarder) SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// TestSecurityHostileTasksKeepToTheirMemory: whatever a peer hides its bytes in counts to TaskOptions.MaxBytes, not what is shown alone.
func TestSecurityHostileTasksKeepToTheirMemory(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	artifact := func(a *a2a.Artifact) func(int) a2a.Event {
		return func(n int) a2a.Event {
			mine := *a
			if mine.ID == "" {
				mine.ID = a2a.ArtifactID(strings.Repeat("i", n) + long)
			}
			return &a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Append: true, Artifact: &mine}
		}
	}
	history := func(m *a2a.Message) *a2a.Task {
		task := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
		for range 64 {
			task.History = append(task.History, m)
		}
		return task
	}
	for name, h := range map[string]*hoarder{
		"ids of artifacts":                 {event: artifact(&a2a.Artifact{})},
		"names of files":                   {event: artifact(&a2a.Artifact{ID: "a", Parts: a2a.ContentParts{{Content: a2a.Text(""), Filename: long}}})},
		"media types":                      {event: artifact(&a2a.Artifact{ID: "a", Parts: a2a.ContentParts{{Content: a2a.Text(""), MediaType: long}}})},
		"extensions of the first artifact": {task: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Artifacts: []*a2a.Artifact{{ID: "a", Extensions: many(long)}}}},
		"ids of messages":                  {task: history(&a2a.Message{ID: long})},
		"context of messages":              {task: history(&a2a.Message{ContextID: long})},
		"tasks that messages refer to":     {task: history(&a2a.Message{ReferenceTasks: []a2a.TaskID{a2a.TaskID(long)}})},
		"extensions of messages":           {task: history(&a2a.Message{Extensions: []string{long}})},
		"what a state comes with":          {task: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: &a2a.Message{Extensions: many(long)}}}},
		"roles of messages":                {task: history(&a2a.Message{Role: a2a.MessageRole(long)})},
	} {
		t.Run(name, func(t *testing.T) {
			path := v1alpha1.PathSingleShot
			if h.event != nil {
				path, h.events = v1alpha1.PathStreaming, 64
			}
			tasks := client.Tasks{Peers: &peers{decision: quick(path)}}
			req := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go"))}
			task, err := tasks.OpenStreamingTask(t.Context(), h, client.Named("n", "p"), req, client.TaskOptions{MaxBytes: 1 << 20})
			if err == nil {
				_, err = tasks.AwaitTerminalState(t.Context(), task)
			}
			if !errors.Is(err, client.ErrTooLarge) {
				t.Errorf("%v, want ErrTooLarge: 4 MiB came, and 1 MiB may be kept", err)
			}
		})
	}
}

// TestSecurityHostileDeliveriesWaitWithinBounds: an agent that calls its webhook faster than the task is followed fills no memory.
func TestSecurityHostileDeliveriesWaitWithinBounds(t *testing.T) {
	w := client.NewWebhook(a2a.PushConfig{})
	payload := []byte(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"x":"` + strings.Repeat("x", 1<<20-200) + `"}}}`)
	taken := 0
	for range 200 {
		switch err := w.Deliver(payload); {
		case err == nil:
			taken += len(payload)
		case !errors.Is(err, client.ErrDeliveriesWaiting):
			t.Fatal(err)
		}
	}
	if taken == 0 || taken > 4<<20 {
		t.Errorf("%d bytes wait, want some, and 4 MiB at most", taken)
	}
}

// many of one text: four MiB of it, where it has 64 KiB.
func many(text string) []string {
	list := make([]string, 64)
	for i := range list {
		list[i] = text
	}
	return list
}

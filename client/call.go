package client

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// returned is what came of a call.
type returned[T any] struct {
	result T
	err    error
}

// begin makes a call that nobody needs to wait for. An HTTP client may not return when its context ends: a peer that reads nothing holds it up
// in the middle of HTTP/2. A fault in it is an error of the call, for nobody stands above its goroutine.
func begin[T any](what string, call func() (T, error)) <-chan returned[T] {
	came := make(chan returned[T], 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				came <- returned[T]{err: fmt.Errorf("%s: panic: %v", what, r)}
			}
		}()
		result, err := call()
		came <- returned[T]{result, err}
	}()
	return came
}

// inTime makes a call and waits for it until the context ends, whatever becomes of it after that.
func inTime[T any](ctx context.Context, what string, call func() (T, error)) (T, error) {
	came := begin(what, call)
	select {
	case x := <-came:
		return x.result, x.err
	case <-ctx.Done():
	}
	select {
	case x := <-came:
		return x.result, x.err
	default:
		var none T
		return none, fmt.Errorf("%s: %w", what, ctx.Err())
	}
}

func (t *Task) getTask(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return inTime(ctx, "getting a task", func() (*a2a.Task, error) {
		return t.client.GetTask(ctx, &a2a.GetTaskRequest{Tenant: t.tenant, ID: id})
	})
}

func (t *Task) cancelTask(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return inTime(ctx, "canceling a task", func() (*a2a.Task, error) {
		return t.client.CancelTask(ctx, &a2a.CancelTaskRequest{Tenant: t.tenant, ID: id})
	})
}

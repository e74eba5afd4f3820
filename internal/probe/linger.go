package probe

import (
	"context"
	"errors"
	"time"
)

// linger is how long a call that may have begun a task goes on after the round was called off, to learn the task's id: only a task whose
// id we know can be canceled.
const linger = 2 * time.Second

// calledOff says that somebody ended the round, and not its own time.
func calledOff(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// lingering is ctx with a time of its own, which a call off ends a little later and everything else at once.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, end := context.WithTimeout(context.WithoutCancel(ctx), d)
	stop := context.AfterFunc(ctx, func() {
		if !calledOff(ctx) {
			end()
			return
		}
		// A timer whose context has ended by itself fires into nothing.
		time.AfterFunc(linger, end)
	})
	return longer, func() { stop(); end() }
}

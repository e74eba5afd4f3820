package lifecycle_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// The founding incident: the card promises transitions, the task is at work, and the answer to a follow-up names another task.
func ExampleObservedTask_FollowUpAnswered() {
	task := lifecycle.ObservedTask{ID: "order-1", Promise: true}
	now := time.Now()
	_ = task.RecordAt(lifecycle.Submitted, now)
	_ = task.RecordAt(lifecycle.Working, now.Add(12*time.Millisecond))
	fmt.Println(task.History())

	what, err := task.FollowUpAnswered(lifecycle.Answer{TaskID: "order-2"})
	var d *lifecycle.AgentCardDivergenceError
	if errors.As(err, &d) {
		fmt.Println(what, d.Basis, task.Entry())
	}
	// Output:
	// [submitted@0ms working@12ms]
	// Broken Card divergence
}

// A task at work is polled past the wait deadline, and given up past the hard one. Neither accuses the peer.
func ExampleObservedTask_Due() {
	task := lifecycle.ObservedTask{ID: "t1"}
	begin := time.Now()
	_ = task.RecordAt(lifecycle.Working, begin)

	for _, after := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} {
		advice, err := task.Due(begin.Add(after), lifecycle.Deadlines{})
		fmt.Println(after, advice, err != nil)
	}
	// Output:
	// 10s KeepWaiting false
	// 1m0s PollTask false
	// 10m0s CancelOrReissue true
}

// Whose fault is a new task id? First look at the old task.
func ExampleBlameContinuation() {
	evidence := lifecycle.FollowUpEvidence{
		Old:             lifecycle.CompareOldTask(lifecycle.Working, lifecycle.Working),
		HistoryPromise:  true,
		WorkingObserved: true,
	}
	fmt.Println(lifecycle.BlameContinuation(evidence))

	evidence.Old = lifecycle.OldTaskMovedOn
	fmt.Println(lifecycle.BlameContinuation(evidence))
	// Output:
	// Diverged Card
	// TaskIdentityUnstable
}

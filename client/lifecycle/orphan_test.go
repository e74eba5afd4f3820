package lifecycle

import (
	"testing"
	"time"
)

func TestOrphaned(t *testing.T) {
	type event struct {
		after time.Duration // canceled was known
		state State         // empty: an artifact
	}
	const second = time.Second
	for name, tc := range map[string]struct {
		events []event
		want   bool
	}{
		"silence":                             {},
		"frames that crossed with the cancel": {events: []event{{after: 500 * time.Millisecond}, {after: second, state: Working}}},
		"a lump of late frames from a buffer": {events: []event{{after: 20 * second}, {after: 23 * second}, {after: 25 * second}}},
		"one that crossed and one late frame": {events: []event{{after: 500 * time.Millisecond}, {after: 6 * second}}},
		"one late frame":                      {events: []event{{after: time.Minute}}},
		"a slow buffer that ends in canceled": {events: []event{{after: 2 * second}, {after: 20 * second}, {after: 21 * second, state: Canceled}}},
		"the zombie":                          {events: []event{{after: 2 * second}, {after: 5 * second}, {after: 8 * second}}, want: true},
		"the zombie that says working":        {events: []event{{after: 2 * second, state: Working}, {after: 8 * second, state: Working}}, want: true},
		"canceled in between ends nothing":    {events: []event{{after: 2 * second}, {after: 5 * second, state: Canceled}, {after: 8 * second}}, want: true},
		"it completed instead, and is no orphan but breaks another rule": {
			events: []event{{after: 2 * second, state: Completed}, {after: 20 * second, state: Completed}}},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1"}
			feed(&task, Working, Canceled)
			known := start.Add(time.Second)
			for _, e := range tc.events {
				if e.state != "" {
					task.RecordAt(e.state, known.Add(e.after))
				} else {
					task.WorkAt(known.Add(e.after))
				}
			}
			if got := task.Orphaned(); got != tc.want {
				t.Errorf("orphaned: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWorkBeforeACancelOrphansNothing(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Working)
	task.WorkAt(start.Add(time.Minute))
	task.WorkAt(start.Add(time.Hour))
	if task.Orphaned() {
		t.Error("a task that nobody canceled is an orphan")
	}
}

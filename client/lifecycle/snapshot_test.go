package lifecycle

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// kept writes a task down and reads it again.
func keptTask(t *testing.T, task *ObservedTask) *ObservedTask {
	t.Helper()
	b, err := json.Marshal(task.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("reading %s: %v", b, err)
	}
	again, err := Restore(s)
	if err != nil {
		t.Fatalf("restoring %s: %v", b, err)
	}
	return again
}

func TestARestoredTaskKnowsWhatTheFirstKnew(t *testing.T) {
	task := ObservedTask{ID: "t1", Promise: true}
	feed(&task, Submitted, Working, InputRequired)
	_, err := task.FollowUpAnswered(Answer{TaskID: "t2"})
	again := keptTask(t, &task)
	if !reflect.DeepEqual(again.History(), task.History()) || again.Entry() != EntryDivergence {
		t.Errorf("restored with history %v and entry %s", again.History(), again.Entry())
	}
	var want, got *AgentCardDivergenceError
	if !errors.As(err, &want) || !errors.As(again.Divergence(), &got) || *want != *got {
		t.Errorf("restored with divergence %#v, want %#v", again.Divergence(), err)
	}
}

func TestARestoredViolationIsFoundAsBothTypes(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Working)
	_, err := task.Due(start.Add(time.Hour), Deadlines{})
	task.Diverge(err)
	again := keptTask(t, &task).Divergence()
	var v *AgentCardContractViolation
	var d *AgentCardDivergenceError
	if !errors.As(again, &v) || v.Rule != EndsByHardDeadline || !errors.As(again, &d) || again.Error() != err.Error() {
		t.Errorf("restored as %v, want %v", again, err)
	}
	task = ObservedTask{ID: "t1"}
	task.Diverge(errors.New("somebody else's"))
	if got := keptTask(t, &task).Divergence(); got == nil || got.Error() != "somebody else's" {
		t.Errorf("another error was restored as %v", got)
	}
}

func TestARestoredTaskHasGaps(t *testing.T) {
	task := ObservedTask{ID: "t1", Promise: true, GapFree: true}
	feed(&task, Submitted)
	again := keptTask(t, &task)
	if err := again.RecordAt(InputRequired, start.Add(time.Hour)); err != nil {
		t.Errorf("what was missed during the restart is held against the peer: %v", err)
	}
}

func TestWhatIsNoSnapshotIsRefusedWithAReason(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Submitted, Working, Completed)
	whole, err := json.Marshal(task.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ old, new, want string }{
		"a newer version":                  {`"version":1`, `"version":2`, "version 2"},
		"no version":                       {`"version":1,`, ``, "version 0"},
		"an unknown member":                {`"id":"t1"`, `"id":"t1","mood":"good"`, "mood"},
		"half a file":                      {`"working"`, ``, "invalid"},
		"a state that is none":             {`"state":"working"`, `"state":"thinking"`, "thinking"},
		"an end that history contradicts":  {`"final":"completed"`, `"final":"failed"`, "final"},
		"an end that is none":              {`"final":"completed"`, `"final":"working"`, "final"},
		"an end left out":                  {`"final":"completed"`, `"final":""`, "final"},
		"an order that is none":            {`"at":1000000000`, `"at":9000000000`, "out of order"},
		"work that was seen and is denied": {`"worked":true,`, ``, "worked"},
		"no clock":                         {`"firstSeen":"2026-03-01T12:00:00Z",`, ``, "firstSeen"},
		"no time taken up":                 {`"activeSince":"2026-03-01T12:00:00Z",`, ``, "activeSince"},
		"a divergence without a basis":     {`"id":"t1"`, `"id":"t1","divergence":{}`, "basis"},
		"a divergence by an unknown rule":  {`"id":"t1"`, `"id":"t1","divergence":{"basis":"Card","rule":"Mine"}`, "Mine"},
		"a negative count":                 {`"id":"t1"`, `"id":"t1","dropped":-1`, "dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(string(whole), tc.old, tc.new, 1)
			if text == string(whole) {
				t.Fatalf("%q does not stand in %s", tc.old, whole)
			}
			var s Snapshot
			err := json.Unmarshal([]byte(text), &s)
			if err == nil {
				_, err = Restore(s)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that names %q", err, tc.want)
			}
		})
	}
	if err := new(Snapshot).UnmarshalJSON(append(whole, whole...)); err == nil {
		t.Error("two snapshots were read as one")
	}
}

// FuzzRestore: a task that was kept and restored goes on as the first does; bytes that are no snapshot are an error and nothing else.
func FuzzRestore(f *testing.F) {
	f.Add([]byte{2, 3, 6}, []byte{7}, true, []byte(`{"version":1}`))
	f.Add([]byte{3, 7, 6, 7}, []byte{3, 3}, false, []byte(`{"version":1,"history":[{"state":"working","at":1}]}`))
	f.Fuzz(func(t *testing.T, before, after []byte, promise bool, raw []byte) {
		var s Snapshot
		if json.Unmarshal(raw, &s) == nil {
			if task, err := Restore(s); err == nil {
				for i, x := range steps(after) {
					task.RecordAt(x, start.Add(time.Duration(i)*time.Second))
				}
				task.Due(start, Deadlines{})
				task.DueAt(Deadlines{})
				keptTask(t, task)
			}
		}
		first := &ObservedTask{ID: "t", Promise: promise}
		at := start
		next := func() time.Time { at = at.Add(3 * time.Second); return at }
		for _, x := range steps(before) {
			first.RecordAt(x, next())
			first.WorkAt(at)
		}
		again := keptTask(t, first)
		for _, x := range append([]State{Unknown}, steps(after)...) {
			next()
			errA, errB := first.RecordAt(x, at), again.RecordAt(x, at)
			adviceA, _ := first.Due(at, Deadlines{})
			adviceB, _ := again.Due(at, Deadlines{})
			if (errA == nil) != (errB == nil) || adviceA != adviceB || first.Entry() != again.Entry() || first.State() != again.State() ||
				first.Orphaned() != again.Orphaned() || first.Allows(FollowUp) != again.Allows(FollowUp) ||
				!first.DueAt(Deadlines{}).Equal(again.DueAt(Deadlines{})) {
				t.Fatalf("after %s the restored task goes another way:\n%+v\n%+v", x, first, again)
			}
		}
	})
}

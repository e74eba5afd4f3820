package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// feed records states one second apart, the first at start, and returns the errors.
func feed(t *ObservedTask, states ...State) []error {
	errs := make([]error, len(states))
	for i, s := range states {
		errs[i] = t.RecordAt(s, start.Add(time.Duration(i)*time.Second))
	}
	return errs
}

func timeline(t *ObservedTask) string {
	var words []string
	for _, tr := range t.History() {
		words = append(words, tr.String())
	}
	return strings.Join(words, " ")
}

func TestRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		promise, gaps bool
		states        []State
		timeline      string
		// rules broken by the state of the same place, joined by commas
		broken string
	}{
		"an ordinary life": {states: []State{Submitted, Working, Completed}, timeline: "submitted@0ms working@1000ms completed@2000ms", broken: ",,"},
		"repeats are folded": {states: []State{Working, Working, Working, Completed, Completed},
			timeline: "working@0ms completed@3000ms", broken: ",,,,"},
		"unknown carries no information": {states: []State{Submitted, Unknown, "made-up", "", Working},
			timeline: "submitted@0ms working@4000ms", broken: ",,,,"},
		"a first unknown starts the clock only":      {states: []State{Unknown, Working}, timeline: "working@1000ms", broken: ","},
		"skipping working is legal":                  {promise: true, states: []State{Submitted, Completed}, timeline: "submitted@0ms completed@1000ms", broken: ","},
		"going back to submitted is odd and allowed": {states: []State{Working, Submitted}, timeline: "working@0ms submitted@1000ms", broken: ","},
		"a second question after working is legal": {promise: true, states: []State{Working, InputRequired, Working, InputRequired},
			timeline: "working@0ms input-required@1000ms working@2000ms input-required@3000ms", broken: ",,,"},
		"C71: canceled and then completed": {states: []State{Working, Canceled, Completed},
			timeline: "working@0ms canceled@1000ms completed@2000ms", broken: ",,TerminalIsFinal"},
		"rejected is terminal": {states: []State{Rejected, Working}, timeline: "rejected@0ms working@1000ms", broken: ",TerminalIsFinal"},
		"a terminal state left is told again at every later state": {states: []State{Completed, Working, Working, Completed, Completed},
			timeline: "completed@0ms working@1000ms completed@3000ms", broken: ",TerminalIsFinal,TerminalIsFinal,TerminalIsFinal,"},
		"unknown after the end leaves nothing": {states: []State{Completed, Unknown, Completed}, timeline: "completed@0ms", broken: ",,"},
		"input-required without working breaks the promise": {promise: true, states: []State{Submitted, InputRequired, InputRequired},
			timeline: "submitted@0ms input-required@1000ms", broken: ",WorkingFirst,"},
		"the same without a promise is legal": {states: []State{Submitted, InputRequired}, timeline: "submitted@0ms input-required@1000ms", broken: ","},
		"the same with gaps proves nothing":   {promise: true, gaps: true, states: []State{InputRequired}, timeline: "input-required@0ms", broken: ""},
		"auth-required without working is legal": {promise: true, states: []State{Submitted, AuthRequired, Working},
			timeline: "submitted@0ms auth-required@1000ms working@2000ms", broken: ",,"},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1", Promise: tc.promise, GapFree: !tc.gaps}
			var broken []string
			for _, err := range feed(&task, tc.states...) {
				var v *AgentCardContractViolation
				if errors.As(err, &v) {
					broken = append(broken, string(v.Rule))
				} else {
					broken = append(broken, "")
				}
			}
			if got := timeline(&task); got != tc.timeline {
				t.Errorf("history %q, want %q", got, tc.timeline)
			}
			if got := strings.Join(broken, ","); got != tc.broken {
				t.Errorf("rules broken %q, want %q", got, tc.broken)
			}
		})
	}
}

func TestRecordUsesTheClockFromFirstSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := ObservedTask{ID: "t1", FirstSeen: time.Now()}
		time.Sleep(12 * time.Millisecond) // the bubble's clock
		if err := task.Record(Working); err != nil {
			t.Fatal(err)
		}
		if got := timeline(&task); got != "working@12ms" {
			t.Errorf("history %q, want working@12ms", got)
		}
	})
}

func TestAClockThatGoesBackKeepsHistoryInOrder(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	task.RecordAt(Submitted, start)
	task.RecordAt(Working, start.Add(time.Second))
	task.RecordAt(Completed, start.Add(-time.Hour))
	if got, want := timeline(&task), "submitted@0ms working@1000ms completed@1000ms"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestHistoryIsBoundedAndKeepsTheNewest(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	for range 1000 {
		feed(&task, Working, InputRequired)
	}
	task.RecordAt(Completed, start.Add(time.Hour))
	if n := len(task.History()); n != maxHistory {
		t.Errorf("%d transitions kept, want %d", n, maxHistory)
	}
	if task.Dropped() != 2001-maxHistory {
		t.Errorf("%d transitions dropped, want %d", task.Dropped(), 2001-maxHistory)
	}
	if task.State() != Completed || task.History()[0].State != Working {
		t.Errorf("history runs from %s to %s", task.History()[0].State, task.State())
	}
}

func TestTheFirstTerminalStateStaysTheFinalOne(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Working, Canceled, Completed)
	if s, ok := task.Final(); s != Canceled || !ok {
		t.Errorf("final state %q, want canceled", s)
	}
	if task.State() != Completed {
		t.Errorf("last state %q, want completed", task.State())
	}
}

func TestTheCardIsAHintUntilAStateOtherThanSubmitted(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	for _, step := range []struct {
		state State
		want  bool
	}{{Unknown, false}, {Submitted, false}, {Submitted, false}, {Working, true}, {Submitted, true}} {
		task.RecordAt(step.state, start)
		if task.Validated() != step.want {
			t.Errorf("validated after %s: %v, want %v", step.state, task.Validated(), step.want)
		}
	}
}

func TestAllows(t *testing.T) {
	for name, tc := range map[string]struct {
		promise bool
		states  []State
		want    []Move
	}{
		"nothing seen":                       {want: []Move{Wait, Cancel}},
		"submitted":                          {states: []State{Submitted}, want: []Move{Wait, Cancel}},
		"submitted, with the promise":        {promise: true, states: []State{Submitted}, want: []Move{Wait, Cancel}},
		"working":                            {states: []State{Working}, want: []Move{Wait, Cancel}},
		"working, with the promise":          {promise: true, states: []State{Working}, want: []Move{Wait, FollowUp, Cancel}},
		"input-required":                     {states: []State{Working, InputRequired}, want: []Move{FollowUp, Cancel}},
		"input-required at once":             {states: []State{InputRequired}, want: []Move{FollowUp, Cancel}},
		"auth-required":                      {states: []State{AuthRequired}, want: []Move{Wait, FollowUp, Cancel}},
		"completed":                          {promise: true, states: []State{Working, Completed}},
		"terminal and then working":          {promise: true, states: []State{Failed, Working}},
		"back at submitted after a question": {promise: true, states: []State{InputRequired, Submitted}, want: []Move{Wait, Cancel}},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1", Promise: tc.promise}
			feed(&task, tc.states...)
			var got []Move
			for _, m := range []Move{Wait, FollowUp, Cancel} {
				if task.Allows(m) {
					got = append(got, m)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("allowed %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNothingWithoutAnIDCanBeCanceled(t *testing.T) {
	if new(ObservedTask).Allows(Cancel) {
		t.Error("a task without an id can be canceled")
	}
}

// steps turns fuzz bytes into states, unknown ones among them.
func steps(data []byte) []State {
	all := append([]State{Unknown, "made-up"}, allStates...)
	var list []State
	for _, b := range data {
		list = append(list, all[int(b)%len(all)])
	}
	return list
}

// FuzzRecord holds the laws of Record.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{2, 3, 6}, true, true)
	f.Add([]byte{3, 7, 6, 7}, false, true)
	f.Add([]byte{2, 4, 4, 3}, true, false)
	f.Fuzz(func(t *testing.T, data []byte, promise, gapFree bool) {
		task := ObservedTask{ID: "t", Promise: promise, GapFree: gapFree}
		twice := task
		var final State
		for i, s := range steps(data) {
			at := start.Add(time.Duration(data[i]) * time.Second)
			before := task.State()
			err := task.RecordAt(s, at)

			if final != "" && s.known() && s != final && err == nil {
				t.Fatalf("terminal %s was left for %s without a word", final, s)
			}
			if (!s.known() || s == before && final == "") && err != nil {
				t.Fatalf("%s after %s changes nothing and breaks %v", s, before, err)
			}
			if final == "" && s.Terminal() {
				final = s
			}
			twice.RecordAt(s, at)
			twice.RecordAt(s, at.Add(time.Minute))
		}
		if got, _ := task.Final(); got != final {
			t.Fatalf("final state %q, want %q", got, final)
		}
		if !slices.EqualFunc(task.History(), twice.History(), func(a, b Transition) bool { return a.State == b.State }) {
			t.Fatalf("recording twice changed the history: %v, %v", task.History(), twice.History())
		}
		history := task.History()
		if len(history) > maxHistory {
			t.Fatalf("history of %d", len(history))
		}
		for i := 1; i < len(history); i++ {
			if history[i].At < history[i-1].At || task.Dropped() == 0 && history[i].State == history[i-1].State {
				t.Fatalf("history out of order or not folded: %v", history)
			}
		}
		if task.Allows(FollowUp) && !task.Validated() {
			t.Fatal("a follow-up is allowed on a hint alone")
		}
		task.Due(start.Add(time.Hour), Deadlines{})
		task.Candidates()
	})
}

package lifecycle

import (
	"errors"
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	const second, minute = time.Second, time.Minute
	for name, tc := range map[string]struct {
		promise, long bool
		states        []State // one second apart
		after         time.Duration
		estimated     time.Duration
		want          Advice
		// kind of error: "" none, "divergence" or "violation"
		err string
	}{
		"working a short while":                         {promise: true, states: []State{Working}, after: 29 * second, want: KeepWaiting},
		"working past the wait deadline, promised":      {promise: true, states: []State{Working}, after: 30 * second, want: AbortOrDowngrade, err: "divergence"},
		"working past the wait deadline, not promised":  {states: []State{Working}, after: 30 * second, want: PollTask},
		"working past the hard deadline, promised":      {promise: true, states: []State{Working}, after: 5 * minute, want: CancelOrReissue, err: "violation"},
		"working past the hard deadline, not promised":  {states: []State{Working}, after: 5 * minute, want: CancelOrReissue, err: "violation"},
		"submitted past the hard deadline":              {states: []State{Submitted}, after: 5 * minute, want: CancelOrReissue, err: "violation"},
		"the wait counts from working, not from before": {promise: true, states: []State{Submitted, Submitted, Submitted, Working}, after: 32 * second, want: KeepWaiting},
		"interrupted for an hour":                       {promise: true, states: []State{Working, InputRequired}, after: time.Hour, want: AnswerPeer},
		"waiting for credentials for an hour":           {promise: true, states: []State{AuthRequired}, after: time.Hour, want: AnswerPeer},
		"a task that we asked to be long":               {promise: true, long: true, states: []State{Working}, after: time.Hour, want: PollTask},
		"over":                                          {promise: true, states: []State{Working, Completed}, after: time.Hour, want: NothingDue},
		"over, and left again":                          {promise: true, states: []State{Completed, Working}, after: time.Hour, want: NothingDue},
		"slow start: do not assume, ask":                {promise: true, states: []State{Submitted}, after: 30 * second, want: PollTask},
		"slow start past the skill's estimate":          {promise: true, states: []State{Submitted}, after: 45 * second, estimated: 45 * second, want: AbortOrDowngrade},
		"slow start within the estimate":                {promise: true, states: []State{Submitted}, after: 44 * second, estimated: 45 * second, want: PollTask},
		"an estimate beyond the hard deadline is none":  {promise: true, states: []State{Submitted}, after: 6 * minute, estimated: 6 * minute, want: CancelOrReissue, err: "violation"},
		"an estimate without the promise is none":       {states: []State{Submitted}, after: 45 * second, estimated: 10 * second, want: PollTask},
		"an estimate says nothing of a task at work":    {promise: true, states: []State{Working}, after: 20 * second, estimated: 10 * second, want: KeepWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1", Promise: tc.promise, Long: tc.long}
			feed(&task, tc.states...)
			got, err := task.Due(start.Add(tc.after), Deadlines{Estimated: tc.estimated})
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if kind := kindOf(err); kind != tc.err {
				t.Errorf("error %v is %q, want %q", err, kind, tc.err)
			}
			var d *AgentCardDivergenceError
			if errors.As(err, &d) && d.Basis != Deadline {
				t.Errorf("basis %s, want Deadline", d.Basis)
			}
		})
	}
}

func kindOf(err error) string {
	var v *AgentCardContractViolation
	var d *AgentCardDivergenceError
	switch {
	case errors.As(err, &v):
		return "violation"
	case errors.As(err, &d):
		return "divergence"
	}
	return ""
}

func TestTheHardDeadlineStartsAnewWhenAnInterruptedTaskIsTakenUpAgain(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	task.RecordAt(Working, start)
	task.RecordAt(InputRequired, start.Add(time.Minute))
	task.RecordAt(Working, start.Add(time.Hour)) // somebody thought about the answer
	if got, err := task.Due(start.Add(time.Hour+4*time.Minute), Deadlines{}); got != PollTask || err != nil {
		t.Errorf("got %s, %v, want PollTask", got, err)
	}
	if got, err := task.Due(start.Add(time.Hour+5*time.Minute), Deadlines{}); got != CancelOrReissue || err == nil {
		t.Errorf("got %s, %v, want CancelOrReissue and an error", got, err)
	}
}

func TestATaskNeverSeenIsNotOverdue(t *testing.T) {
	if got, err := new(ObservedTask).Due(start, Deadlines{}); got != KeepWaiting || err != nil {
		t.Errorf("got %s, %v, want KeepWaiting", got, err)
	}
	sent := ObservedTask{FirstSeen: start}
	if got, _ := sent.Due(start.Add(time.Minute), Deadlines{}); got != PollTask {
		t.Errorf("got %s, want PollTask", got)
	}
}

func TestDueGivesUpOnlyIfTheCallerSaysSo(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Working)
	_, err := task.Due(start.Add(time.Hour), Deadlines{})
	if task.Entry() != EntryOpen {
		t.Errorf("entry %s, want open", task.Entry())
	}
	task.Diverge(err)
	if task.Entry() != EntryDivergence || !errors.Is(task.Divergence(), err) {
		t.Errorf("entry %s with %v, want divergence with %v", task.Entry(), task.Divergence(), err)
	}

	over := ObservedTask{ID: "t1"}
	feed(&over, Completed)
	over.Diverge(err)
	if over.Entry() != EntryCompleted {
		t.Errorf("a closed entry became %s", over.Entry())
	}
}

func TestOnMismatch(t *testing.T) {
	late := ObservedTask{ID: "t1", Promise: true}
	feed(&late, Working)
	_, overdue := late.Due(start.Add(time.Minute), Deadlines{})
	_, hard := late.Due(start.Add(time.Hour), Deadlines{})
	_, left := late.FollowUpAnswered(Answer{TaskID: "t2"})

	odd := ObservedTask{ID: "t1", Promise: true, GapFree: true}
	order := feed(&odd, Submitted, InputRequired)[1]
	ended := ObservedTask{ID: "t1"}
	final := feed(&ended, Completed, Working)[1]

	for name, tc := range map[string]struct {
		err                error
		flexible, demanded Remedy // with all inputs at hand, and without
	}{
		"nothing wrong":            {err: nil, flexible: Proceed, demanded: Proceed},
		"late":                     {err: overdue, flexible: Downgrade, demanded: Abort},
		"odd order":                {err: order, flexible: Downgrade, demanded: Abort},
		"past the hard deadline":   {err: hard, flexible: Abort, demanded: Abort},
		"left for another task":    {err: left, flexible: Abort, demanded: Abort},
		"a terminal state left":    {err: final, flexible: Abort, demanded: Abort},
		"an error of another kind": {err: errors.New("no route to host"), flexible: Abort, demanded: Abort},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OnMismatch(tc.err, true); got != tc.flexible {
				t.Errorf("with all inputs: %s, want %s", got, tc.flexible)
			}
			if got := OnMismatch(tc.err, false); got != tc.demanded {
				t.Errorf("without: %s, want %s", got, tc.demanded)
			}
		})
	}
}

func TestMayReissue(t *testing.T) {
	for name, tc := range map[string]struct {
		states     []State
		idempotent bool
		want       bool
	}{
		"canceled":                      {states: []State{Working, Canceled}, want: true},
		"still working":                 {states: []State{Working}},
		"still working, and idempotent": {states: []State{Working}, idempotent: true, want: true},
		"canceled, and at it again":     {states: []State{Working, Canceled, Working}},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1"}
			feed(&task, tc.states...)
			if got := task.MayReissue(tc.idempotent); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	for name, tc := range map[string]struct {
		promise bool
		states  []State
		want    int
		without State
	}{
		"nothing promised, nothing ruled out":         {states: []State{Submitted}, want: 8},
		"promised: no question before work":           {promise: true, states: []State{Submitted}, want: 7, without: InputRequired},
		"promised, and working seen":                  {promise: true, states: []State{Working}, want: 8},
		"after the end there is nothing but the end ": {states: []State{Working, Failed}, want: 1, without: Completed},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1", Promise: tc.promise, GapFree: true}
			feed(&task, tc.states...)
			got := task.Candidates()
			if len(got) != tc.want {
				t.Errorf("candidates %v, want %d", got, tc.want)
			}
			for _, s := range got {
				if s == tc.without {
					t.Errorf("%s is among the candidates", s)
				}
			}
		})
	}
}

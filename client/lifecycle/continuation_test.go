package lifecycle

import (
	"errors"
	"testing"
)

func TestFollowUpAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		promise bool
		states  []State
		answer  Answer
		want    Continuation
		basis   Basis
		entry   Entry
	}{
		"the same id continues": {states: []State{Working, InputRequired}, answer: Answer{TaskID: "t1"}, want: Continued, entry: EntryOpen},
		"no id says nothing":    {states: []State{Working}, want: Continued, entry: EntryOpen},
		"a new id after input-required is a divergence (C68)": {states: []State{Working, InputRequired}, answer: Answer{TaskID: "t2"},
			want: Broken, basis: Protocol, entry: EntryDivergence},
		"a new id after working is one too, promised (the founding incident)": {promise: true, states: []State{Submitted, Working}, answer: Answer{TaskID: "t2"},
			want: Broken, basis: Card, entry: EntryDivergence},
		"or not": {states: []State{Submitted, Working}, answer: Answer{TaskID: "t2"}, want: Broken, basis: Behaviour, entry: EntryDivergence},
		"what was seen once counts for good": {states: []State{InputRequired, Submitted}, answer: Answer{TaskID: "t2"},
			want: Broken, basis: Behaviour, entry: EntryDivergence},
		"before anything but submitted the card is a hint": {promise: true, states: []State{Submitted}, answer: Answer{TaskID: "t2"},
			want: Separate, entry: EntryOpen},
		"after the end a new task is a refinement": {promise: true, states: []State{Working, Completed}, answer: Answer{TaskID: "t2"},
			want: Separate, entry: EntryCompleted},
		"a Message closes the entry as completed":  {promise: true, states: []State{Working}, answer: Answer{Message: true}, want: Closed, entry: EntryCompleted},
		"a Message does not reopen what has ended": {states: []State{Failed}, answer: Answer{Message: true}, want: Closed, entry: EntryFailed},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1", Promise: tc.promise}
			feed(&task, tc.states...)
			got, err := task.FollowUpAnswered(tc.answer)
			if got != tc.want || task.Entry() != tc.entry {
				t.Errorf("got %s with entry %s, want %s with entry %s", got, task.Entry(), tc.want, tc.entry)
			}
			var d *AgentCardDivergenceError
			if errors.As(err, &d) != (tc.basis != "") || d != nil && d.Basis != tc.basis {
				t.Errorf("error %v, want basis %q", err, tc.basis)
			}
			if (task.Divergence() != nil) != (tc.entry == EntryDivergence) {
				t.Errorf("divergence %v with entry %s", task.Divergence(), task.Entry())
			}
		})
	}
}

func TestADivergedEntryStaysDiverged(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	feed(&task, Working)
	task.FollowUpAnswered(Answer{TaskID: "t2"})
	task.RecordAt(Completed, start)
	task.FollowUpAnswered(Answer{Message: true})
	if task.Entry() != EntryDivergence {
		t.Errorf("entry %s, want divergence", task.Entry())
	}
	if task.Allows(Wait) || task.Allows(FollowUp) {
		t.Error("a diverged task is still waited for")
	}
}

func TestBlameContinuation(t *testing.T) {
	for name, tc := range map[string]struct {
		evidence FollowUpEvidence
		want     Blame
		basis    Basis
	}{
		"the old task moved on: ids are being rewritten": {
			evidence: FollowUpEvidence{Old: OldTaskMovedOn, InputRequiredBefore: true, HistoryPromise: true, WorkingObserved: true, ClientMadeIDs: true},
			want:     BlameGateway},
		"(a) GetTask said input-required just before": {
			evidence: FollowUpEvidence{Old: OldTaskStayed, InputRequiredBefore: true}, want: BlamePeer, basis: Protocol},
		"(b) transitions promised, and working observed": {
			evidence: FollowUpEvidence{Old: OldTaskStayed, HistoryPromise: true, WorkingObserved: true}, want: BlamePeer, basis: Card},
		"(b) client-made ids, and working observed": {
			evidence: FollowUpEvidence{Old: OldTaskStayed, ClientMadeIDs: true, WorkingObserved: true}, want: BlamePeer, basis: Protocol},
		"(c) transitions promised and working never observed": {
			evidence: FollowUpEvidence{Old: OldTaskStayed, HistoryPromise: true, ClientMadeIDs: true}, want: BlameNobody},
		"(c) working observed and nothing promised": {
			evidence: FollowUpEvidence{Old: OldTaskStayed, WorkingObserved: true}, want: BlameNobody},
		"GetTask could not tell": {
			evidence: FollowUpEvidence{InputRequiredBefore: true, HistoryPromise: true, WorkingObserved: true}, want: BlameNobody},
		"no evidence at all": {want: BlameNobody},
	} {
		t.Run(name, func(t *testing.T) {
			if got, basis := BlameContinuation(tc.evidence); got != tc.want || basis != tc.basis {
				t.Errorf("got %s (%s), want %s (%s)", got, basis, tc.want, tc.basis)
			}
		})
	}
}

func TestCompareOldTask(t *testing.T) {
	for _, tc := range []struct {
		before, after State
		want          OldTask
	}{
		{InputRequired, InputRequired, OldTaskStayed},
		{Working, Working, OldTaskStayed},
		{InputRequired, Working, OldTaskMovedOn},
		{Working, Completed, OldTaskMovedOn},
		{Working, Unknown, OldTaskUnseen},
		{Working, "", OldTaskUnseen},
	} {
		if got := CompareOldTask(tc.before, tc.after); got != tc.want {
			t.Errorf("%s then %s: %q, want %q", tc.before, tc.after, got, tc.want)
		}
	}
}

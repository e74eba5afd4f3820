package lifecycle

import (
	"testing"
	"time"
)

func TestThePeersOwnTimesSayWhatIsNewer(t *testing.T) {
	const none = -1
	for name, tc := range map[string]struct {
		states []State
		stamps []int // seconds after start; none: no stamp
		want   string
		stale  int
	}{
		"in order":                            {[]State{Working, Completed}, []int{1, 2}, "working@0ms completed@1000ms", 0},
		"a store that lags behind the stream": {[]State{Working, InputRequired, Working}, []int{1, 2, 1}, "working@0ms input-required@1000ms", 1},
		"without stamps arrival decides":      {[]State{Working, InputRequired, Working}, []int{none, none, none}, "working@0ms input-required@1000ms working@2000ms", 0},
		"an answer without a stamp counts":    {[]State{Working, InputRequired, Working}, []int{1, 2, none}, "working@0ms input-required@1000ms working@2000ms", 0},
		"equal stamps count":                  {[]State{Working, InputRequired}, []int{1, 1}, "working@0ms input-required@1000ms", 0},
		"unknown has no time":                 {[]State{Unknown, Working}, []int{9, 1}, "working@1000ms", 0},
	} {
		t.Run(name, func(t *testing.T) {
			task := ObservedTask{ID: "t1"}
			stale := 0
			for i, s := range tc.states {
				var stamp time.Time
				if tc.stamps[i] != none {
					stamp = start.Add(time.Duration(tc.stamps[i]) * time.Second)
				}
				old, err := task.RecordStamped(s, stamp, start.Add(time.Duration(i)*time.Second))
				if err != nil {
					t.Error(err)
				}
				if old {
					stale++
				}
			}
			if got := timeline(&task); got != tc.want || stale != tc.stale {
				t.Errorf("history %q with %d stale, want %q with %d", got, stale, tc.want, tc.stale)
			}
		})
	}
}

// Push is lossy: deliveries overtake one another, and gaps prove nothing.
func TestDeliveriesThatOvertakeOneAnotherAccuseNobody(t *testing.T) {
	task := ObservedTask{ID: "t1", Promise: true, GapFree: true}
	for i, s := range []State{InputRequired, Completed, Working, Submitted, Completed} {
		if _, err := task.RecordDelivered(s, time.Time{}, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if got, want := timeline(&task), "input-required@0ms completed@1000ms"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestADeliveryThatIsNewerThanTheEndLeavesIt(t *testing.T) {
	task := ObservedTask{ID: "t1"}
	task.RecordDelivered(Canceled, start, start)
	if _, err := task.RecordDelivered(Completed, start.Add(time.Second), start.Add(time.Second)); err == nil {
		t.Error("completed after canceled, by the peer's own clock, breaks no rule")
	}
}

func TestDueAtIsWhenMoreThanALookIsDue(t *testing.T) {
	const never = -1
	promised := ObservedTask{Promise: true}
	for name, tc := range map[string]struct {
		task   ObservedTask
		states []State
		d      Deadlines
		want   time.Duration
	}{
		"nothing seen":                {want: never},
		"submitted":                   {states: []State{Submitted}, want: DefaultHard},
		"working":                     {states: []State{Submitted, Working}, want: DefaultHard},
		"working, promised":           {task: promised, states: []State{Submitted, Working}, want: time.Second + DefaultWait},
		"an estimate, promised":       {task: promised, states: []State{Submitted}, d: Deadlines{Estimated: 10 * time.Second}, want: 10 * time.Second},
		"one beyond the hard bound":   {task: promised, states: []State{Submitted}, d: Deadlines{Estimated: time.Hour}, want: DefaultHard},
		"an estimate, not promised":   {states: []State{Submitted}, d: Deadlines{Estimated: 10 * time.Second}, want: DefaultHard},
		"long work":                   {task: ObservedTask{Long: true}, states: []State{Working}, want: never},
		"interrupted waits for us":    {states: []State{InputRequired}, want: never},
		"taken up after an interrupt": {states: []State{InputRequired, Working}, want: time.Second + DefaultHard},
		"over":                        {states: []State{Completed}, want: never},
	} {
		t.Run(name, func(t *testing.T) {
			task := tc.task
			feed(&task, tc.states...)
			got := task.DueAt(tc.d)
			if tc.want == never {
				if !got.IsZero() {
					t.Errorf("due %v after the start, want never", got.Sub(start))
				}
				return
			}
			if !got.Equal(start.Add(tc.want)) {
				t.Errorf("due %v after the start, want %v", got.Sub(start), tc.want)
			}
			for at, want := range map[time.Time]bool{got.Add(-1): false, got: true} {
				advice, _ := task.Due(at, tc.d)
				if pressing := advice == AbortOrDowngrade || advice == CancelOrReissue; pressing != want {
					t.Errorf("Due says %s %v after the start", advice, at.Sub(start))
				}
			}
		})
	}
}

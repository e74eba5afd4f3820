package probe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// The judges are pure: these tables hold their rules against tapes written by hand, with the default timing and no clock.

const ms, s = time.Millisecond, time.Second

var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// stream makes a tape of states at one second's distance, ended in good order 100 ms after the last.
func stream(states ...lifecycle.State) *tape {
	t := &tape{Generation: wire.V03, Began: began, Streamed: true, End: wire.EndOrderly}
	for i, st := range states {
		at := time.Duration(i) * s
		t.Marks = append(t.Marks, mark{At: at, Last: at, Count: 1, Kind: wire.KindStatus, TaskID: "t1", State: st})
		t.Events++
		t.EndAt = at + 100*ms
	}
	// The peer's clock is ours, known to a tenth of a second.
	t.Clock = clock{known: true, low: -50 * ms, high: 50 * ms}
	return t
}

// told adds an answer of GetTask, given at this offset. While the stream is open if before its end.
func (t *tape) told(at time.Duration, st lifecycle.State, stamp time.Duration) *tape {
	l := look{Asked: at - 10*ms, At: at, ID: "t1", Kind: wire.KindTask, State: st, Open: at < t.EndAt}
	if stamp > 0 {
		l.Stamp = began.Add(stamp)
	}
	t.Looks = append(t.Looks, l)
	return t
}

// stamped gives the states of a stream the task's own times, and an early GetTask the time of the first.
func stamped(t *tape) *tape {
	for i := range t.Marks {
		t.Marks[i].Stamp = began.Add(t.Marks[i].At + ms)
	}
	return t.told(20*ms, t.Marks[0].State, ms)
}

// off sets the clock that writes the task's own times off, and not the one that writes Date headers.
func (t *tape) off(by time.Duration) *tape {
	for i := range t.Marks {
		if !t.Marks[i].Stamp.IsZero() {
			t.Marks[i].Stamp = t.Marks[i].Stamp.Add(by)
		}
	}
	for i := range t.Looks {
		if !t.Looks[i].Stamp.IsZero() {
			t.Looks[i].Stamp = t.Looks[i].Stamp.Add(by)
		}
	}
	return t
}

// stood sets every time to one and the same.
func (t *tape) stood() *tape {
	for i := range t.Marks {
		t.Marks[i].Stamp = began.Add(-time.Hour)
	}
	for i := range t.Looks {
		t.Looks[i].Stamp = began.Add(-time.Hour)
	}
	return t
}

func (t *tape) but(change func(*tape)) *tape { change(t); return t }

func TestCaseRulesOneStreamAndItsCrossChecks(t *testing.T) {
	const (
		submitted, working, completed = lifecycle.Submitted, lifecycle.Working, lifecycle.Completed
		asks                          = lifecycle.InputRequired
	)
	for story, tc := range map[string]struct {
		tape   *tape
		sort   sort
		reason trust.Reason
	}{
		"reaches a terminal state":                          {stream(submitted, working, completed), good, trust.ReasonHonored},
		"is one finished task":                              {stream(completed), good, trust.ReasonHonored},
		"ends with a question":                              {stream(working, asks), good, trust.ReasonHonored},
		"asks, works on and completes":                      {stream(working, asks, working, completed), good, trust.ReasonHonored},
		"fails, and says so":                                {stream(working, lifecycle.Failed), good, trust.ReasonHonored},
		"completes, though the store is stale":              {stream(working, completed).told(1200*ms, working, 0).told(4*s, working, 0).told(7*s, working, 0), good, trust.ReasonHonored},
		"withholds an end that GetTask shows at once":       {stream(working).told(120*ms, completed, 0), bad, trust.ReasonStreamClosedWithoutTerminalState},
		"withholds an end by the task's own time":           {stamped(stream(submitted, working)).told(20*ms, submitted, 0).told(5*s, completed, 1050*ms), bad, trust.ReasonStreamClosedWithoutTerminalState},
		"withholds a question":                              {stream(working).told(120*ms, asks, 0), bad, trust.ReasonStreamClosedWithoutTerminalState},
		"is cut and the task ends later by its own time":    {stream(working).told(500*ms, completed, 400*ms), unsure, trust.ReasonStreamInterrupted},
		"is cut and the task goes on":                       {stream(working).told(120*ms, working, 0).told(1200*ms, working, 0), unsure, trust.ReasonStreamInterrupted},
		"is cut and the task ends before the second look":   {stream(working).told(120*ms, working, 0).told(1200*ms, completed, 0), unsure, trust.ReasonStreamInterrupted},
		"is cut and GetTask answers too late to tell":       {stream(working).told(3*s, completed, 0), unsure, trust.ReasonStreamInterrupted},
		"is cut and nobody can say more":                    {stream(working), unsure, trust.ReasonStreamInterrupted},
		"ends by reset though the task is over":             {stream(working).told(120*ms, completed, 0).but(func(t *tape) { t.End = wire.EndReset }), unsure, trust.ReasonStreamInterrupted},
		"is delimited by closing, so the end tells nothing": {stream(working).told(120*ms, completed, 0).but(func(t *tape) { t.End = wire.EndCloseDelimited }), unsure, trust.ReasonStreamInterrupted},
		"outgrows a limit":                                  {stream(working).but(func(t *tape) { t.End = wire.EndTooLarge }), unsure, trust.ReasonUnexpectedAnswer},
		"brings what we do not read, long after the end": {stream(working).but(func(t *tape) { t.EndAt, t.End = 12*s, wire.EndTooLarge }).
			told(1*s, completed, 0).told(11*s, completed, 0), unsure, trust.ReasonUnexpectedAnswer},
		"stays open and hides an end for longer than grace": {stream(working).but(func(t *tape) {
			t.EndAt, t.Left, t.LeftAt, t.End = 12*s, leftWithheld, 12*s, wire.EndOurs
		}).told(1*s, completed, 0).told(11*s, completed, 0), bad, trust.ReasonStreamStateDivergesFromTask},
		"shows an end within the grace": {stream(working).but(func(t *tape) { t.EndAt = 3 * s }).told(1*s, completed, 900*ms).but(func(t *tape) {
			t.Marks = append(t.Marks, mark{At: 2 * s, Last: 2 * s, Count: 1, Kind: wire.KindStatus, TaskID: "t1", State: completed})
		}), good, trust.ReasonHonored},
		"stays open while GetTask changes its mind": {stream(working).but(func(t *tape) {
			t.EndAt, t.Left, t.LeftAt, t.End = 90*s, leftDeadline, 90*s, wire.EndOurs
		}).told(1*s, completed, 0).told(11*s, working, 0), unsure, trust.ReasonProbeDeadlineExceeded},
		"is silent, and so is the task, to the deadline": {stream(working).but(func(t *tape) {
			t.EndAt, t.Left, t.LeftAt, t.End = 90*s, leftDeadline, 90*s, wire.EndOurs
		}).told(31*s, working, 0).told(89*s, working, 0), unsure, trust.ReasonStuck},
		"is read after we hung up (C91)": {stream(working).but(func(t *tape) {
			t.EndAt, t.Left, t.LeftAt, t.End = 1*s, leftDeadline, 1*s, wire.EndOurs
		}).told(2*s, completed, 500*ms), unsure, trust.ReasonProbeDeadlineExceeded},
		"ends with an error after working": {stream(working).but(func(t *tape) {
			t.Marks = append(t.Marks, mark{At: 50 * ms, Last: 50 * ms, Count: 1, Kind: wire.KindError, Code: codeInternal})
		}).told(120*ms, completed, 0), unsure, trust.ReasonAgentFailing},
		"ends with an error while the task asks (C04)": {stream(working).but(func(t *tape) {
			t.Marks = append(t.Marks, mark{At: 50 * ms, Last: 50 * ms, Count: 1, Kind: wire.KindError, Code: codeTaskNotFound})
		}).told(120*ms, asks, 0), bad, trust.ReasonStreamStateDivergesFromTask},
		"ends with an error, by reset, while the task asks": {stream(working).but(func(t *tape) {
			t.Marks = append(t.Marks, mark{At: 50 * ms, Last: 50 * ms, Count: 1, Kind: wire.KindError, Code: codeTaskNotFound})
			t.End = wire.EndReset
		}).told(120*ms, asks, 0), unsure, trust.ReasonAgentFailing},
		"says final at working, and the task goes on": {stream(working).but(func(t *tape) {
			yes := true
			t.Marks[0].Final = &yes
		}).told(120*ms, working, 0), unsure, trust.ReasonStreamInterrupted},
		"is empty":                             {stream().but(func(t *tape) { t.EndAt = 200 * ms }), bad, trust.ReasonStreamEmpty},
		"is empty, closed after an idle limit": {stream().but(func(t *tape) { t.EndAt = 60 * s }), unsure, trust.ReasonStreamInterrupted},
		"is empty and still open":              {stream().but(func(t *tape) { t.Left, t.LeftAt = leftDeadline, 90*s }), unsure, trust.ReasonNoFirstEvent},
		"is empty and broken":                  {stream().but(func(t *tape) { t.End = wire.EndReset }), unsure, trust.ReasonStreamInterrupted},
		"is good under another media type":     {stream(working, completed).but(func(t *tape) { t.WrongType = true }), bad, trust.ReasonWrongStreamMediaType},
		"is cut under another media type":      {stream(working).but(func(t *tape) { t.WrongType = true }), unsure, trust.ReasonStreamInterrupted},
		"brings another task that GetTask disowns": {stream(working, completed).but(func(t *tape) {
			t.Marks[1].TaskID, t.Strange = "t2", &look{Code: codeTaskNotFound}
		}), bad, trust.ReasonForeignTaskInStream},
		"brings another task that GetTask knows": {stream(working, completed).but(func(t *tape) {
			t.Marks[1].TaskID, t.Strange = "t2", &look{ID: "t2", State: completed}
		}), unsure, trust.ReasonTaskIdentityUnstable},
		"brings another task and GetTask cannot be asked": {stream(working, completed).but(func(t *tape) { t.Marks[1].TaskID = "t2" }), unsure, trust.ReasonTaskIdentityUnstable},
	} {
		t.Run(story, func(t *testing.T) {
			got := judgeStream(tc.tape, DefaultTiming())
			if got.sort != tc.sort || got.reason != tc.reason {
				t.Errorf("a stream that %s is %s %s, want %s %s: %s", story, got.sort, got.reason, tc.sort, tc.reason, got.text)
			}
			if got.text == "" || got.rule == "" || got.sort == bad && got.basis == "" {
				t.Errorf("a sight needs its text, rule and, if bad, basis: %+v", got)
			}
		})
	}
}

// A worker's clock that is off, behind a proxy whose Date header is right, must not turn a stream that was cut into one that withholds: a
// task that GetTask shows at work after the end was at work when the stream ended.
func TestCaseRulesAStreamCutShortlyBeforeTheEndByAPeerWhoseClockIsOff(t *testing.T) {
	const submitted, working, completed = lifecycle.Submitted, lifecycle.Working, lifecycle.Completed
	cut := func() *tape { return stamped(stream(submitted, working)) } // ends at 1.1 s; the task completes at 1.4 s
	for story, tc := range map[string]struct {
		tape *tape
		sort sort
	}{
		"seen at work after the end, a second slow":       {cut().told(1120*ms, working, 1001*ms).told(2120*ms, completed, 1400*ms).off(-s), unsure},
		"seen at work after the end, seven hours slow":    {cut().told(1120*ms, working, 1001*ms).told(2120*ms, completed, 1400*ms).off(-7 * time.Hour), unsure},
		"seen at work after the end, a clock that stands": {cut().told(1120*ms, working, 1001*ms).told(2120*ms, completed, 1400*ms).stood(), unsure},
		"seen at work after the end, no times":            {stream(submitted, working).told(1120*ms, working, 0).told(2120*ms, completed, 0), unsure},
		"GetTask is slow, a second slow":                  {cut().told(1650*ms, completed, 1400*ms).off(-s), unsure},
		"GetTask is slow, seven hours slow":               {cut().told(1650*ms, completed, 1400*ms).off(-7 * time.Hour), unsure},
		"GetTask is slow, nine hours fast":                {cut().told(1650*ms, completed, 1400*ms).off(9 * time.Hour), unsure},
		"GetTask is slow, a clock that stands":            {cut().told(1650*ms, completed, 1400*ms).stood(), unsure},
		"GetTask is slow, no times":                       {stream(submitted, working).told(1650*ms, completed, 0), unsure},
		"GetTask is asked before the end and answers after": {cut().but(func(t *tape) {
			t.Looks = append(t.Looks, look{Asked: 900 * ms, At: 1650 * ms, ID: "t1", Kind: wire.KindTask, State: completed})
		}), unsure},
		"events arrive twelve seconds late, the end too": {stream(submitted, working).but(func(t *tape) {
			for i := range t.Marks {
				t.Marks[i].At, t.Marks[i].Last = t.Marks[i].At+12*s, t.Marks[i].Last+12*s
			}
			t.EndAt += 12 * s
		}).told(12050*ms, completed, 0).told(13120*ms, completed, 0), unsure},
		"events arrive twelve seconds late, and we leave before the end can": {stream(submitted, working).but(func(t *tape) {
			for i := range t.Marks {
				t.Marks[i].At, t.Marks[i].Last = t.Marks[i].At+12*s, t.Marks[i].Last+12*s
			}
			t.EndAt, t.Left, t.LeftAt, t.End = 26*s, leftDeadline, 26*s, wire.EndOurs
		}).told(14*s, completed, 0).told(20*s, completed, 0), unsure},
		"a real lie stays one, seven hours slow": {cut().told(1650*ms, completed, 1090*ms).off(-7 * time.Hour), bad},
		"a real lie stays one, nine hours fast":  {cut().told(1650*ms, completed, 1090*ms).off(9 * time.Hour), bad},
		"a real lie stays one, without times":    {stream(submitted, working).told(1150*ms, completed, 0), bad},
	} {
		t.Run(story, func(t *testing.T) {
			if got := judgeStream(tc.tape, DefaultTiming()); got.sort != tc.sort {
				t.Errorf("%s %s, want %s: %s", got.sort, got.reason, tc.sort, got.text)
			}
		})
	}
}

// One code means one thing, whatever place it stands in (C25, C26), and different things in different generations.
func TestCaseRulesErrorBeforeTheFirstEvent(t *testing.T) {
	for _, tc := range []struct {
		code   int
		gen    wire.Generation
		sort   sort
		reason trust.Reason
	}{
		{-32004, wire.V10, refused, trust.ReasonStreamingRefused},
		{-32601, wire.V03, refused, trust.ReasonStreamingRefused},
		{-32006, wire.V01, refused, trust.ReasonStreamingRefused},
		{-32006, wire.V03, unsure, trust.ReasonAgentFailing},
		{-32603, wire.V10, unsure, trust.ReasonAgentFailing},
		{-32000, wire.V03, unsure, trust.ReasonAgentFailing},
		{-32602, wire.V10, unsure, trust.ReasonProbeRejected},
		{-32005, wire.V10, unsure, trust.ReasonProbeRejected},
		{-32054, wire.V03, unsure, trust.ReasonProbeRejected},
		{-32009, wire.V10, unsure, trust.ReasonVersionNegotiationFailed},
		{-32009, wire.V01, unsure, trust.ReasonAgentFailing},
		{-32007, wire.V01, unsure, trust.ReasonAuthenticationRequired},
		{-32008, wire.V01, unsure, trust.ReasonPermissionDenied},
		{-32010, wire.V01, unsure, trust.ReasonRateLimited},
		{-31401, wire.V10, unsure, trust.ReasonAuthenticationRequired},
		{-31403, wire.V10, unsure, trust.ReasonPermissionDenied},
	} {
		for _, streamed := range []bool{true, false} {
			tape := &tape{Generation: tc.gen, Streamed: streamed, End: wire.EndOrderly, Marks: []mark{{Kind: wire.KindError, Code: tc.code, Count: 1}}}
			if got := judgeStream(tape, DefaultTiming()); got.sort != tc.sort || got.reason != tc.reason {
				t.Errorf("%d in %s (streamed: %v) is %s %s, want %s %s", tc.code, tc.gen, streamed, got.sort, got.reason, tc.sort, tc.reason)
			}
		}
	}
}

func TestCaseRulesFrame(t *testing.T) {
	badOne := saw(bad, trust.ReasonStreamEmpty, "C03", "empty").on(lifecycle.Card)
	hidOne := saw(bad, trust.ReasonStreamClosedWithoutTerminalState, "C01", "hidden").on(lifecycle.Protocol)
	hidOne.unexcused = true
	goodOne := saw(good, trust.ReasonHonored, "", "fine")
	unsureOne := saw(unsure, trust.ReasonStreamInterrupted, "", "cut")
	no := saw(refused, trust.ReasonStreamingRefused, "C25", "no").on(lifecycle.Card)
	works := &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: "t1", State: lifecycle.Completed}}}
	fails := &tape{Marks: []mark{{Kind: wire.KindError, Code: codeInternal}}}
	for story, tc := range map[string]struct {
		x         exchange
		outcome   trust.Outcome
		reason    trust.Reason
		pair      *trust.Pair
		confirmed bool
	}{
		"good":                             {exchange{one: goodOne}, trust.Honored, trust.ReasonHonored, nil, false},
		"good beside a control that works": {exchange{one: goodOne, control: works}, trust.Honored, trust.ReasonHonored, &trust.Pair{}, false},
		"good beside a control that fails": {exchange{one: goodOne, control: fails}, trust.Honored, trust.ReasonHonored, &trust.Pair{ControlFailed: true}, false},
		"bad twice, the control works":     {exchange{one: badOne, control: works, second: works, two: badOne}, trust.Diverged, trust.ReasonStreamEmpty, &trust.Pair{StreamFailed: true}, false},
		"bad twice, the control fails":     {exchange{one: badOne, control: fails, second: works, two: badOne}, trust.Inconclusive, trust.ReasonAgentFailing, &trust.Pair{StreamFailed: true, ControlFailed: true}, false},
		"empty twice, the control works at first": {exchange{one: badOne, control: works, second: works, two: badOne, lastControl: fails},
			trust.Inconclusive, trust.ReasonAgentFailing, &trust.Pair{StreamFailed: true}, false},
		"hides its work twice": {exchange{one: hidOne, control: works, second: works, two: hidOne},
			trust.Diverged, trust.ReasonStreamClosedWithoutTerminalState, &trust.Pair{StreamFailed: true, Unexcused: true}, false},
		"hides its work, and then may have failed": {exchange{one: hidOne, control: works, second: works, two: badOne},
			trust.Diverged, trust.ReasonStreamClosedWithoutTerminalState, &trust.Pair{StreamFailed: true}, false},
		"hides its work, watched alone": {exchange{one: hidOne, paired: true}, trust.Inconclusive, trust.ReasonStreamIntermittent,
			&trust.Pair{StreamFailed: true, Unexcused: true, Alone: true}, false},
		"bad, then good":                         {exchange{one: badOne, control: works, second: works, two: goodOne}, trust.Inconclusive, trust.ReasonStreamIntermittent, &trust.Pair{StreamFailed: true}, false},
		"bad, then unsure":                       {exchange{one: badOne, control: works, second: works, two: unsureOne}, trust.Inconclusive, trust.ReasonStreamInterrupted, &trust.Pair{StreamFailed: true}, false},
		"bad, then refused":                      {exchange{one: badOne, control: works, second: works, two: no}, trust.Diverged, trust.ReasonStreamEmpty, &trust.Pair{StreamFailed: true}, false},
		"bad in a comparison, the control works": {exchange{one: badOne, control: works, paired: true}, trust.Inconclusive, trust.ReasonStreamIntermittent, &trust.Pair{StreamFailed: true}, false},
		"bad in a comparison, the control fails": {exchange{one: badOne, control: fails, paired: true}, trust.Inconclusive, trust.ReasonAgentFailing, &trust.Pair{StreamFailed: true, ControlFailed: true}, false},
		"refused twice":                          {exchange{one: no, second: works, two: no}, trust.Diverged, trust.ReasonStreamingRefused, nil, true},
		"refused twice though the control fails": {exchange{one: no, control: fails, second: works, two: no}, trust.Diverged, trust.ReasonStreamingRefused, nil, true},
		"refused once, our time was up":          {exchange{one: no}, trust.Diverged, trust.ReasonStreamingRefused, nil, false},
		"refused, then good":                     {exchange{one: no, second: works, two: goodOne}, trust.Inconclusive, trust.ReasonStreamIntermittent, nil, false},
		"refused, then bad":                      {exchange{one: no, second: works, two: badOne}, trust.Inconclusive, trust.ReasonReplicaInconsistency, nil, false},
		"unsure":                                 {exchange{one: unsureOne, control: works}, trust.Inconclusive, trust.ReasonStreamInterrupted, nil, false},
	} {
		t.Run(story, func(t *testing.T) {
			got := frame(&tc.x)
			if got.Outcome != tc.outcome || got.Reason != tc.reason || got.Confirmed != tc.confirmed {
				t.Errorf("%s: %s %s (confirmed: %v), want %s %s (%v)", story, got.Outcome, got.Reason, got.Confirmed, tc.outcome, tc.reason, tc.confirmed)
			}
			if diff := cmp.Diff(tc.pair, got.Pair, cmpopts.IgnoreFields(trust.Pair{}, "Reason")); diff != "" {
				t.Errorf("%s: the pair (-want +got):\n%s", story, diff)
			}
			if got.Pair != nil && got.Pair.StreamFailed != (got.Pair.Reason == tc.x.one.reason) {
				t.Errorf("%s: the pair has reason %q, the stream showed %q", story, got.Pair.Reason, tc.x.one.reason)
			}
		})
	}
}

// A stream of several Messages was cut after the first, and the peer earned trust by that (seed 3728182536 of the fleets).
func TestCaseRulesAMessageBeforeACutIsNotKnownToBeTheOnlyOne(t *testing.T) {
	said := func(g wire.Generation, end wire.End) *tape {
		return &tape{Generation: g, Began: began, Streamed: true, End: end, Marks: []mark{{Kind: wire.KindMessage, Count: 1, Parts: 1}}, Events: 1}
	}
	for _, tc := range []struct {
		tape *tape
		want sort
	}{{said(wire.V10, wire.EndReset), unsure}, {said(wire.V10, wire.EndOrderly), good}, {said(wire.V03, wire.EndReset), good}} {
		if got := judgeStream(tc.tape, DefaultTiming()); got.sort != tc.want {
			t.Errorf("%s, %s: %v %s, want %v", tc.tape.Generation, tc.tape.End, got.sort, got.reason, tc.want)
		}
	}
}

func TestClockOfThePeer(t *testing.T) {
	at := began
	c := clock{}.see(at, at.Add(100*ms), at.Add(-400*ms).Truncate(time.Second))
	for story, tc := range map[string]struct {
		stamp time.Time
		want  order
	}{
		"long before":                        {at.Add(-3*s + ms), before},
		"long after":                         {at.Add(2*s + ms), after},
		"within what a Date header leaves":   {at.Add(-100 * ms), unordered},
		"none":                               {time.Time{}, unordered},
		"a whole second that may be later":   {at.Add(-1 * s), unordered},
		"a whole second that is well before": {at.Add(-3 * s), before},
	} {
		if got := c.compare(tc.stamp, at); got != tc.want {
			t.Errorf("a stamp that is %s compares as %d, want %d (offset %s to %s)", story, got, tc.want, c.low, c.high)
		}
	}
	exact := clock{known: true}
	if got := exact.compare(at, at.Add(500*ms)); got != unordered {
		t.Errorf("a stamp of a whole second may be up to a second later: %d", got)
	}
	if got := exact.compare(at.Add(ms), at.Add(500*ms)); got != before {
		t.Errorf("a stamp with milliseconds is what it says: %d", got)
	}
	if (clock{}).compare(at, at) != unordered {
		t.Error("a clock never seen orders nothing")
	}
	narrowed := c.see(at.Add(s), at.Add(s+10*ms), at.Add(s-400*ms).Truncate(time.Second))
	if narrowed.high-narrowed.low > c.high-c.low {
		t.Errorf("two readings that agree narrow the bounds: %s to %s", narrowed.low, narrowed.high)
	}
	wild := c.see(at, at, at.Add(time.Hour))
	if wild.high < time.Hour-s || wild.low > c.low {
		t.Errorf("readings that cannot both be true widen the bounds: %s to %s", wild.low, wild.high)
	}
}

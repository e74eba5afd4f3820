package probe

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// joinedAt is a first stream that works from 10 ms on, brings a chunk every 100 ms and is canceled after a second; and a second stream that
// was opened 100 ms after it.
func joinedAt(second *tape) *long {
	first := &tape{Generation: wire.V10, Began: began, Streamed: true, HeaderAt: 1 * ms, End: wire.EndOrderly, EndAt: 1001 * ms}
	add := func(at time.Duration, kind wire.Kind, state lifecycle.State) {
		first.Marks = append(first.Marks, mark{At: at, Last: at, Count: 1, Kind: kind, TaskID: "t", State: state})
		first.Events++
	}
	add(1*ms, wire.KindTask, lifecycle.Submitted)
	add(10*ms, wire.KindStatus, lifecycle.Working)
	for at := 100 * ms; at < 1000*ms; at += 100 * ms {
		add(at, wire.KindArtifact, "")
	}
	add(1000*ms, wire.KindStatus, lifecycle.Canceled)
	second.Generation, second.Began = wire.V10, began.Add(100*ms)
	return &long{first: first, seconds: seconds{again: second}}
}

// snapshot is a stream that shows the task once and then ends, or is left.
func snapshot(state lifecycle.State, end wire.End, at time.Duration) *tape {
	return &tape{Streamed: true, HeaderAt: 1 * ms, Events: 1, End: end, EndAt: at,
		Marks: []mark{{At: 2 * ms, Last: 2 * ms, Count: 1, Kind: wire.KindTask, TaskID: "t", State: state}}}
}

func refusedWith(code int) *tape {
	return &tape{Events: 1, Marks: []mark{{At: 2 * ms, Kind: wire.KindError, Code: code}}}
}

// What one stream alone shows is not enough, and what the network may have done is nobody's fault.
func TestJudgeResubscription(t *testing.T) {
	at := func(s lifecycle.State) look { return look{ID: "t", State: s} }
	working, done := at(lifecycle.Working), at(lifecycle.Completed)
	ended := func() *tape {
		x := snapshot(lifecycle.Working, wire.EndOrderly, 3*ms)
		x.Began = began.Add(200 * ms)
		return x
	}
	quiet := func() *tape {
		x := snapshot(lifecycle.Working, wire.EndOrderly, 2000*ms)
		x.Began = began.Add(-2 * s)
		return x
	}
	left := snapshot(lifecycle.Working, wire.EndOurs, 20000*ms)
	left.Left, left.LeftAt = leftDone, 20000*ms
	then := func(more ...mark) *tape {
		x := snapshot(lifecycle.Working, wire.EndOrderly, 900*ms)
		x.Marks, x.Events = append(x.Marks, more...), 1+len(more)
		return x
	}
	for name, tc := range map[string]struct {
		again, repeat *tape
		after         []look
		change        func(*long)
		outcome       trust.Outcome
		reason        trust.Reason
	}{
		"ended at once, twice":                      {again: ended(), repeat: ended(), after: []look{working, working}, outcome: trust.Diverged, reason: trust.ReasonResubscribedStreamEnded},
		"ended at once, and not tried again":        {again: ended(), after: []look{working}, outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"ended at once, and the next was good":      {again: ended(), repeat: left, after: []look{working, working}, outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"ended at once, and so had the task":        {again: ended(), repeat: ended(), after: []look{working, done}, outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"ended at once, and the first brought none": {again: ended(), repeat: ended(), after: []look{working, working}, change: func(l *long) { l.first.Marks = l.first.Marks[:2] }, outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"ended after a silence":                     {again: quiet(), repeat: quiet(), after: []look{working, working}, outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"broke":                                     {again: snapshot(lifecycle.Working, wire.EndReset, 3*ms), outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"closed by its connection":                  {again: snapshot(lifecycle.Working, wire.EndCloseDelimited, 3*ms), outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"C18 ended at the question":                 {again: snapshot(lifecycle.InputRequired, wire.EndOrderly, 3*ms), outcome: trust.Inconclusive, reason: trust.ReasonNotExercised},
		"ended with the task":                       {again: snapshot(lifecycle.Completed, wire.EndOrderly, 3*ms), outcome: trust.Inconclusive, reason: trust.ReasonTaskEndedFirst},
		"silent to the end":                         {again: left, outcome: trust.Diverged, reason: trust.ReasonResubscribedStreamSilent},
		"silent, and the task went on":              {again: left, change: func(l *long) { l.first.Marks = l.first.Marks[:8] }, outcome: trust.Inconclusive, reason: trust.ReasonNotExercised},
		"silent, and our deadline came":             {again: func() *tape { x := *left; x.Left = leftDeadline; return &x }(), outcome: trust.Inconclusive, reason: trust.ReasonProbeDeadlineExceeded},
		"refused twice":                             {again: refusedWith(codeUnsupported), repeat: refusedWith(codeUnsupported), after: []look{working, working}, outcome: trust.Diverged, reason: trust.ReasonResubscriptionRefused},
		"refused once":                              {again: refusedWith(codeUnsupported), after: []look{working}, outcome: trust.Inconclusive, reason: trust.ReasonProbeDeadlineExceeded},
		"refused for a task that had ended":         {again: refusedWith(codeUnsupported), after: []look{done}, outcome: trust.Inconclusive, reason: trust.ReasonTaskEndedFirst},
		"more of the task came":                     {again: then(mark{At: 9 * ms, Count: 1, Kind: wire.KindArtifact, TaskID: "t"}), outcome: trust.Honored, reason: trust.ReasonHonored},
		"an error came in its place":                {again: then(mark{At: 9 * ms, Count: 1, Kind: wire.KindError, Code: codeInternal}), outcome: trust.Inconclusive, reason: trust.ReasonAgentFailing},
		"nothing of A2A came in its place":          {again: then(mark{At: 9 * ms, Count: 3, Kind: wire.KindOther}), outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted},
		"the end came first": {again: func() *tape {
			x := then(mark{At: 9 * ms, Count: 1, Kind: wire.KindStatus, TaskID: "t", State: lifecycle.Completed})
			x.Marks[0].State = lifecycle.Completed
			return x
		}(), outcome: trust.Inconclusive, reason: trust.ReasonTaskEndedFirst},
		"another task that GetTask knows": {again: func() *tape { x := ended(); x.Marks[0].TaskID, x.Strange = "u", &look{ID: "u"}; return x }(), outcome: trust.Inconclusive, reason: trust.ReasonTaskIdentityUnstable},
	} {
		t.Run(name, func(t *testing.T) {
			again := *tc.again
			l := joinedAt(&again)
			l.repeat, l.after = tc.repeat, tc.after
			if l.repeat != nil && l.repeat.Generation == "" {
				l.repeat.Generation = wire.V10
			}
			if tc.change != nil {
				tc.change(l)
			}
			if o := judgeResubscription(l); o.Outcome != tc.outcome || o.Reason != tc.reason {
				t.Errorf("%s %s, want %s %s\n  %s", o.Outcome, o.Reason, tc.outcome, tc.reason, o.Message)
			}
		})
	}
}

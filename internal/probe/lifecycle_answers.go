package probe

import (
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// second is what answers say of a task after they or the stream have shown its end.
type second struct {
	end answer
	// agreed counts the answers with the same end; contrary those with another state.
	agreed, contrary int
	// since lists the contrary answers that no agreeing one has followed: if there are any, the last look found the task elsewhere.
	since []answer
	// told is the latest time that the end carried by an answer of GetTask or CancelTask; zero if none did.
	told time.Time
	// gone: the task, once found, was not found after its end. Peers may forget (wire reference 12.9).
	gone bool
}

// secondLooks weighs every answer that came after the end; false if no end was shown. A store may lag behind, and many replicas by
// different times: only where the last look still finds the task elsewhere was its end left.
func (t *tape) secondLooks() (second, bool) {
	all := t.answers()
	i := slices.IndexFunc(all, func(a answer) bool { return a.state.Terminal() })
	if i < 0 {
		return second{}, false
	}
	x := second{end: all[i]}
	after := all[i+1:]
	if _, ended := t.Terminal(); ended {
		after = append(slices.Clone(after), t.parted()...)
	}
	for _, a := range after {
		switch {
		case a.stream || a.asked < x.end.at && a.state != x.end.state:
			// The stream was judged by its own order; an answer asked before the end may have been overtaken.
		case a.state == x.end.state:
			x.agreed++
			x.since = nil
			if a.stamp.After(x.told) {
				x.told = a.stamp
			}
		default:
			x.contrary++
			x.since = append(x.since, a)
		}
	}
	if at, ok := t.goneAfter(x.end.at); ok {
		x.gone = true
		x.since = slices.DeleteFunc(x.since, func(a answer) bool { return a.at < at })
	}
	return x, true
}

// parted lists the answers asked for after we had left a stream that had shown its end. Leaving may change a task (C91): they can keep us
// from saying that the end stayed, and accuse nobody.
func (t *tape) parted() []answer {
	var list []answer
	for _, l := range t.Looks {
		if l.State != "" && l.State != lifecycle.Unknown && l.ID == t.TaskID() && !t.Evidence(l) {
			list = append(list, answer{at: l.At, asked: l.Asked, state: l.State, stamp: l.Stamp, parted: true})
		}
	}
	return list
}

// left says that the end was left: the last answer finds the task in another state, and an answer before it did too, asked before we had
// left the stream. Where they carry times, these are newer than the end's, by the clock that wrote it, and one and the same: a store that
// stamps its answers when they are read says nothing of when the state came about. Where they carry none, only another end counts, of two
// that answers told and none the stream.
func (x second) left(t *tape) bool {
	if len(x.since) < 2 {
		return false
	}
	before, last := x.since[:len(x.since)-1], x.since[len(x.since)-1]
	if newer(last.stamp, x.end.stamp) {
		again := slices.ContainsFunc(before, func(a answer) bool { return !a.parted && a.state == last.state && a.stamp.Equal(last.stamp) })
		return again && (newer(last.stamp, x.told) || x.told.IsZero() && t.oneClock())
	}
	again := slices.ContainsFunc(before, func(a answer) bool { return !a.parted && a.state == last.state && unstamped(a, x.end) })
	return again && !last.parted && last.state.Terminal() && !x.end.stream && x.agreed == 0 && unstamped(last, x.end)
}

// open says that one more look is worth its while: the last one found the task elsewhere, and none before it said the same.
func (x second) open(t *tape) bool {
	n := len(x.since)
	return n == 1 || n > 1 && !x.left(t) && x.since[n-1].state != x.since[n-2].state
}

// judgeAnswers looks for a terminal state that was left between two answers.
func judgeAnswers(o trust.Observation, t *tape) trust.Observation {
	x, ended := t.secondLooks()
	if !ended {
		return unlearned(o, trust.ReasonNotExercised, "the task did not end while we watched")
	}
	end := string(x.end.state)
	if x.left(t) {
		found := string(x.since[len(x.since)-1].state)
		return diverged(o, trust.ReasonTerminalStateNotFinal, lifecycle.Protocol, "0.3 §6.1, 1.0 §3.1.1, C71",
			"the task was "+end+" and then, asked again and again, "+found+": a terminal state is final")
	}
	if x.contrary > 0 {
		o.Warnings = append(o.Warnings, trust.WarnTaskStoreStale)
	}
	switch {
	case len(x.since) > 0 && x.agreed > 0:
		return unlearned(o, trust.ReasonReplicaInconsistency, "the task ended as "+end+", and the last look found it "+
			string(x.since[len(x.since)-1].state)+": a stale replica, or an end that did not stay")
	case t.Streamed && t.Left == leftNot && t.End == wire.EndReset && t.terminalIndex() < 0:
		return unlearned(o, trust.ReasonStreamInterrupted, "the task ended as "+end+", and its stream was cut before it showed that: whether it "+
			"leaves the end cannot be told")
	case x.agreed > 0 && len(x.since) == 0, x.gone && len(x.since) == 0:
		return honored(o, "1.0 §3.1.1", "the task ended as "+end+" and stayed so")
	case noTaskOps(t):
		return unlearned(o, trust.ReasonTaskOpsUnavailable, "GetTask is not known there, nobody could look again")
	}
	return unlearned(o, trust.ReasonNotExercised, "the task ended as "+end+", no second look agreed or disagreed")
}

// newer says that the state told now came about after the one told then, by the peer's own clock.
func newer(now, then time.Time) bool { return lifecycle.Newer(now, then) }

func unstamped(a, b answer) bool { return a.stamp.IsZero() || b.stamp.IsZero() }

// goneAfter is when the task was not found after its end, though GetTask had found it before.
func (t *tape) goneAfter(end time.Duration) (at time.Duration, gone bool) {
	found := false
	for _, l := range t.Looks {
		switch {
		case l.ID == t.TaskID() && l.Code == 0 && l.Fail == nil:
			found = true
		case found && l.Code == codeTaskNotFound && l.Asked >= end:
			return l.At, true
		}
	}
	return 0, false
}

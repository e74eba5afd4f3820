package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeResubscription says whether the stream of a task at work could be picked up by a second stream. Only 1.0 ties that to the declaration
// of streaming, so 0.x owes nothing but its own task's events (wire reference 2, 4).
func judgeResubscription(l *long) trust.Observation {
	o := trust.Observation{Capability: trust.Resubscription, Rule: "1.0 §3.1.6", Observed: l.account()}
	if o, done := neverJoined(o, l); done {
		return o
	}
	t := l.again
	if t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "asked to pick the stream up, nothing of the protocol came back: "+failText(t.Fail))
	}
	if code, first, ok := t.Error(); ok && first {
		return refusedJoin(o, l, code)
	}
	if !t.Streamed {
		return unlearned(o, trust.ReasonUnexpectedAnswer, "asked to pick the stream up, one plain answer came back")
	}
	if otherID(t, l.first.TaskID()) != "" {
		return strangeJoin(o, t)
	}
	if t.Generation == wire.V10 && len(t.Marks) > 0 && (t.Marks[0].Kind == wire.KindStatus || t.Marks[0].Kind == wire.KindArtifact) {
		o.Warnings = append(o.Warnings, trust.WarnFirstEventNotTask)
	}
	return judgeJoin(o, l)
}

// neverJoined: there was no task at work whose stream could be picked up.
func neverJoined(o trust.Observation, l *long) (trust.Observation, bool) {
	if l.again != nil {
		return o, false
	}
	t := l.first
	if len(t.Cancels) == 0 {
		if o, done := neverCanceled(o, t); done {
			return o, true
		}
	}
	return unlearned(o, trust.ReasonProbeDeadlineExceeded, "the stream was not picked up before "+t.ours()), true
}

// refusedJoin: an error in answer to the second stream. A task that has ended may be refused (1.0 §3.1.6), so it counts only for one that
// GetTask shows at work just after, twice, on two connections.
func refusedJoin(o trust.Observation, l *long, code int) trust.Observation {
	t := l.again
	text := fmt.Sprintf("asked to pick up the stream of a task at work, refused with error %d", code)
	switch {
	case code == codeTaskNotFound:
		return unlearned(o, trust.ReasonReplicaInconsistency,
			"asked to pick up the stream of the task just shown, TaskNotFound: an in-memory store behind several replicas answers so")
	case code != codeMethodNotFound && code != codeUnsupported:
		return unlearned(o, codeReason(t.Generation, code, t.Status), fmt.Sprintf("asked to pick the stream up, answered with error %d", code))
	case len(l.after) > 0 && l.after[0].Code == codeMethodNotFound:
		return unlearned(o, trust.ReasonTaskOpsUnavailable, text+", and GetTask is not known there: a gateway may serve messages only")
	case t.Generation != wire.V10:
		return unlearned(o, trust.ReasonResubscriptionMissing, text+", which "+string(t.Generation)+" does not tie to a declaration")
	case len(l.after) == 0 || !l.after[0].State.Active():
		return unlearned(o, trust.ReasonTaskEndedFirst, text+", and GetTask did not show it at work just after")
	case l.repeat == nil:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, text+"; there was no time to ask again")
	}
	if again, first, ok := l.repeat.Error(); !ok || !first || again != codeMethodNotFound && again != codeUnsupported {
		return unlearned(o, trust.ReasonReplicaInconsistency, text+"; on a new connection it is otherwise")
	}
	if len(l.after) < 2 || !l.after[1].State.Active() {
		return unlearned(o, trust.ReasonTaskEndedFirst, text+"; asked again, GetTask no longer showed it at work")
	}
	o.Explicit, o.Confirmed = true, true
	return diverged(o, trust.ReasonResubscriptionRefused, lifecycle.Protocol, "1.0 §3.1.6", text+"; again on a new connection, though streaming is declared")
}

// strangeJoin: the second stream brought events of another task. Where GetTask knows that one too, ids are rewritten on the way, or a task
// of the agent's own shows through (design 4.14).
func strangeJoin(o trust.Observation, t *tape) trust.Observation {
	if x := t.Strange; x == nil || x.Fail != nil || x.Code != codeTaskNotFound {
		return unlearned(o, trust.ReasonTaskIdentityUnstable,
			"the stream that was picked up names another task, which GetTask does not disown: something on the way may rewrite ids")
	}
	return diverged(o, trust.ReasonForeignTaskInStream, lifecycle.Protocol, "wire 7.2",
		"the stream that was picked up brought events of another task, which GetTask does not know")
}

// judgeJoin: the second stream was there. What it brought decides.
func judgeJoin(o trust.Observation, l *long) trust.Observation {
	t := l.again
	last, _ := t.Last()
	code, _, failed := t.Error()
	switch {
	case endedBefore(t):
		return unlearned(o, trust.ReasonTaskEndedFirst, "the task was over when its stream was picked up")
	case t.brought() > 1:
		text := fmt.Sprintf("picked the stream up, %d events of the task came", t.brought())
		if m, ok := t.Terminal(); ok {
			text += ", to " + string(m.State)
		}
		return honored(o, "1.0 §3.1.6", text)
	case last.State.Interrupted():
		return unlearned(withRule(o, "C18"), trust.ReasonNotExercised,
			"the task waits as "+string(last.State)+", where a stream may close or stay open: nothing to pick up")
	case failed:
		return unlearned(o, codeReason(t.Generation, code, t.Status), fmt.Sprintf("the stream that was picked up ended with error %d before it brought more than a snapshot", code))
	case endedAtOnce(t):
		return endedJoin(withRule(o, "C18"), l)
	case t.Left == leftNot && t.End != wire.EndOurs:
		return unlearned(o, trust.ReasonStreamInterrupted, "the stream that was picked up was cut before an event came")
	case t.Left != leftDone:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "no event came on the stream that was picked up before "+t.ours())
	}
	return silentJoin(o, l)
}

// endedBefore: the first state that came is the end.
func endedBefore(t *tape) bool {
	m, ok := t.Settled()
	return ok && m.State.Terminal() && slices.IndexFunc(t.Marks, t.Own) == t.terminalIndex()
}

// brought counts the events of the task. An error, a Message and what is none of A2A show nothing of it.
func (t *tape) brought() int {
	n := 0
	for _, m := range t.Marks {
		switch m.Kind {
		case wire.KindTask, wire.KindStatus, wire.KindArtifact:
			if t.Own(m) {
				n += m.Count
			}
		}
	}
	return n
}

func withRule(o trust.Observation, rule string) trust.Observation {
	o.Rule = rule
	return o
}

// endedAtOnce: in good order, with no more than a snapshot of a task at work, and no silence that an idle limit on the way could have ended.
func endedAtOnce(t *tape) bool {
	if t.Fail != nil || !t.Streamed || t.Left != leftNot || t.End != wire.EndOrderly || t.Events > 1 || t.EndAt-t.Quiet() >= noLimit {
		return false
	}
	last, _ := t.Last()
	_, _, failed := t.Error()
	return !failed && !settled(last.State)
}

// endedJoin: the second stream ended at once. One such end may be a cut; what ends on two connections alike, while GetTask shows the task at
// work and the first stream goes on to bring its events, is the server's.
func endedJoin(o trust.Observation, l *long) trust.Observation {
	const text = "the stream that was picked up ended at once, in good order, though the task was at work"
	switch {
	case l.repeat == nil || !endedAtOnce(l.repeat):
		return unlearned(o, trust.ReasonStreamInterrupted, text+"; it may have been cut: a second try was none, or otherwise")
	case len(l.after) < 2 || !l.after[0].State.Active() || !l.after[1].State.Active() || broughtAfter(l.first, l.repeat.when(l.repeat.EndAt)) == 0:
		return unlearned(o, trust.ReasonStreamInterrupted, text+"; GetTask and the first stream did not show that it went on")
	case l.again.Generation != wire.V10:
		return unlearned(o, trust.ReasonResubscriptionMissing, text+", which "+string(l.again.Generation)+" does not rule out")
	}
	return diverged(o, trust.ReasonResubscribedStreamEnded, lifecycle.Protocol, "C18", text+" and the first stream brought more; twice")
}

// silentJoin: the second stream stayed open and brought nothing while the first brought the task to its end; and a buffer on the way had
// its time.
func silentJoin(o trust.Observation, l *long) trust.Observation {
	t := l.again
	_, ended := l.first.Terminal()
	switch {
	case !ended || broughtAfter(l.first, t.when(max(t.HeaderAt, t.Quiet()))) < 2:
		return unlearned(o, trust.ReasonNotExercised, "the task brought no more events that the stream that was picked up could have shown")
	case t.Generation != wire.V10:
		return unlearned(o, trust.ReasonResubscriptionMissing, "the stream that was picked up stayed silent, which "+string(t.Generation)+" does not rule out")
	}
	return diverged(o, trust.ReasonResubscribedStreamSilent, lifecycle.Protocol, "1.0 §3.5.2",
		"the stream that was picked up stayed open and silent while the first stream brought the task to its end")
}

// broughtAfter counts the events of the task that a stream brought after a time, and that cannot have come about before it.
func broughtAfter(t *tape, at time.Time) int {
	n := 0
	for _, m := range t.Marks {
		if t.Own(m) && m.Kind != wire.KindError && t.when(m.Last).After(at.Add(t.Lateness()+jitter)) {
			n++
		}
	}
	return n
}

// undeclaredResubscription says what became of a stream that no card declares, if one was tried beside another question. It is information.
func undeclaredResubscription(o trust.Observation, t *tape) trust.Observation {
	o.Rule = "wire 7.11"
	if t != nil && t.Fail == nil && t.Streamed && t.brought() > 1 && !endedBefore(t) {
		o.Warnings, o.Observed = []trust.Reason{trust.WarnUndeclaredButWorks}, t.account("")
		return unlearned(o, trust.ReasonNotDeclared, "the card does not declare streaming; the stream of a task at work could be picked up all the same")
	}
	return unlearned(o, trust.ReasonNotDeclared, "the card does not declare streaming, so there is no stream to pick up")
}

// account lists what both streams saw: the first plainly, the others by a word before each entry.
func (l *long) account() []string {
	out := brief(l.first.account(""))
	if l.again != nil {
		out = append(out, brief(l.again.account("second:"))...)
	}
	if l.repeat != nil {
		out = append(out, brief(l.repeat.account("third:"))...)
	}
	return shorten(out)
}

package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeCancellation says what came of a cancel (wire reference 7.3). No card declares cancel and its success is promised by nobody; what
// counts against a peer is to say canceled and go on, and not to know the method.
func judgeCancellation(t *tape, tm Timing) trust.Observation {
	o := trust.Observation{Capability: trust.Cancellation, Observed: t.account(""), Rule: "wire 7.3"}
	if o, done := neverCanceled(o, t); done {
		return o
	}
	if last := t.Cancels[len(t.Cancels)-1]; cancelUnknown(t) && last.Code != codeMethodNotFound {
		return unlearned(o, trust.ReasonReplicaInconsistency, "CancelTask was not found, and on a new connection it was otherwise")
	}
	if at, known := canceledAt(t); known {
		late := lateFrames(t, at, tm)
		switch {
		case zombie(t, late, tm):
			return diverged(o, trust.ReasonEventsAfterCancel, lifecycle.Protocol, "1.0 §3.1.5, wire 7.3", fmt.Sprintf(
				"canceled after %s, and %d frames of work from %s to %s", offset(at), len(late), offset(late[0].At), offset(late[len(late)-1].Last)))
		case revived(t):
			return unlearned(o, trust.ReasonCancelNotHonoured, "the task was canceled and did not stay so; Lifecycle is charged with that")
		}
		if x, _ := t.secondLooks(); x.contrary > 0 {
			o.Warnings = append(o.Warnings, trust.WarnTaskStoreStale)
			if len(x.since) > 0 && (t.toldCanceled() || !showsCanceled(t)) {
				return unlearned(o, trust.ReasonCancelNotHonoured, "the peer said canceled, and the last look found the task "+
					string(x.since[len(x.since)-1].state)+": a stale replica, or a cancel that did not last")
			}
		}
		if t.Streamed && t.Left == leftDeadline && t.LeftAt <= at {
			return unlearned(o, trust.ReasonProbeDeadlineExceeded, fmt.Sprintf("canceled after %s, when %s had ended our listening already: "+
				"whether work went on cannot be told", offset(at), t.ours()))
		}
		if t.Left == leftDeadline && t.LeftAt < heard(t, at, tm) && t.Quiet() > at+race(tm) && !showsCanceled(t) {
			return unlearned(o, trust.ReasonProbeDeadlineExceeded, fmt.Sprintf("canceled after %s, and %s before the stream, "+
				"which may run %s late, had brought all that was made before", offset(at), t.ours(), offset(t.Lateness())))
		}
		if t.Streamed && t.Left == leftNot && t.End == wire.EndReset && !showsCanceled(t) {
			return unlearned(o, trust.ReasonStreamInterrupted, fmt.Sprintf("canceled after %s, and the stream was cut before it showed that: "+
				"whether work went on cannot be told", offset(at)))
		}
		if len(late) > 0 {
			o.Warnings = append(o.Warnings, trust.WarnLateFramesAfterCancel)
		}
		if t.Streamed && t.Left == leftNot && !showsCanceled(t) {
			o.Warnings = append(o.Warnings, trust.WarnCanceledFrameMissing)
		}
		return honored(o, "1.0 §3.1.5", fmt.Sprintf("asked to cancel, canceled after %s, and no work came after", offset(at)))
	}
	return judgeUncanceled(o, t)
}

// neverCanceled: there was no task to cancel, or it was over before we could.
func neverCanceled(o trust.Observation, t *tape) (trust.Observation, bool) {
	if t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "began a long task, nothing of the protocol came back: "+failText(t.Fail)), true
	}
	if code, first, ok := t.Error(); ok && first {
		return unlearned(o, codeReason(t.Generation, code, t.Status), fmt.Sprintf("began a long task, answered with error %d", code)), true
	}
	if t.MessageOnly() {
		return unlearned(o, trust.ReasonMessageOnly, "the peer answers with a Message, there is no task to cancel"), true
	}
	if t.TaskID() == "" {
		return unlearned(o, trust.ReasonNotExercised, "no task came about that could be canceled"), true
	}
	if len(t.Cancels) > 0 {
		return o, false
	}
	m, ok := t.Last()
	switch {
	case ok && m.State == lifecycle.Rejected:
		return unlearned(o, trust.ReasonProbeRejected, "the peer rejected the long task"), true
	case ok && settled(m.State):
		return unlearned(o, trust.ReasonTaskEndedFirst, "the task was "+string(m.State)+" before it could be canceled"), true
	case t.Left == leftDeadline:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "the task showed no sign of life before "+t.ours()), true
	}
	return unlearned(o, trust.ReasonStreamInterrupted, "the stream ended before the task could be canceled"), true
}

// judgeUncanceled: a cancel was asked for and canceled never came.
func judgeUncanceled(o trust.Observation, t *tape) trust.Observation {
	c := t.Cancels[0]
	ended := t.lastKnown()
	// A task that was refused to be canceled and ended later, by itself, is a refusal all the same.
	over := ended.Terminal() && (c.Code == 0 || endedBy(t, c.At))
	switch {
	case c.Fail != nil && c.Fail.Class == wire.ClassTimeout:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "asked to cancel, no answer by our deadline")
	case c.Fail != nil:
		return unlearned(o, failReason(c.Fail), "asked to cancel, nothing of the protocol came back: "+failText(c.Fail))
	case over:
		return unlearned(o, trust.ReasonTaskEndedFirst, "the task was "+string(ended)+" before the cancel took effect")
	case c.Code == codeNotCancelable:
		return unlearned(o, trust.ReasonTaskNotCancelable, "asked to cancel, the peer says that this task cannot be; it goes on")
	case c.Code == codeTaskNotFound:
		return unlearned(o, trust.ReasonReplicaInconsistency,
			"asked to cancel the task just shown, TaskNotFound: an in-memory store behind several replicas answers so")
	case c.Code == codeMethodNotFound:
		return judgeUnknownCancel(o, t)
	case c.Code != 0:
		return unlearned(o, trust.ReasonCancelUnsupported, fmt.Sprintf("asked to cancel, answered with error %d", c.Code))
	}
	return unlearned(o, trust.ReasonCancelNotHonoured, "asked to cancel, the peer answered and the task went on")
}

// endedBy: the first answer of GetTask after an offset finds the task at an end, or the stream had shown one by then.
func endedBy(t *tape, at time.Duration) bool {
	if m, ok := t.Terminal(); ok && m.At <= at {
		return true
	}
	i := slices.IndexFunc(t.Looks, func(l look) bool { return l.Asked >= at })
	return i >= 0 && t.Looks[i].State.Terminal()
}

// cancelUnknown: CancelTask is not known there although GetTask has shown the task. Where neither is, a gateway serves messages only (C85), and
// an error for GetTask may be somebody else's on the way.
func cancelUnknown(t *tape) bool {
	if len(t.Cancels) == 0 || t.Cancels[0].Code != codeMethodNotFound {
		return false
	}
	return slices.ContainsFunc(t.Looks, look.showsTask)
}

func judgeUnknownCancel(o trust.Observation, t *tape) trust.Observation {
	if !cancelUnknown(t) {
		return unlearned(o, trust.ReasonTaskOpsUnavailable, "CancelTask is not known there, and GetTask did not show the task either: a gateway may serve messages only")
	}
	o.Explicit = true
	o.Confirmed = t.Cancels[len(t.Cancels)-1].Fresh
	return diverged(o, trust.ReasonCancelRefused, lifecycle.Protocol, "0.3 §11.1.2, 1.0 §3.1",
		"asked to cancel, method not found: every agent owes CancelTask")
}

// zombie: frames of work go on after canceled, over a longer time than any buffer's lump, and do not end in canceled.
func zombie(t *tape, late []mark, tm Timing) bool {
	if len(late) < 2 {
		return false
	}
	first, last := late[0], late[len(late)-1]
	if last.Last-first.At <= tm.Late {
		return false
	}
	if backlog(t, late) {
		return false
	}
	for _, m := range t.Marks {
		if t.Own(m) && m.State == lifecycle.Canceled && m.At >= last.Last {
			return false // a buffer that drained slowly: it ends in canceled
		}
	}
	return true
}

// backlog: the late frames are artifacts, and the task held all that the stream has brought of them when it was first said to be canceled.
// So they were made before, and are still on their way.
func backlog(t *tape, late []mark) bool {
	var first *look
	for _, l := range slices.Concat(t.Cancels, t.Looks) {
		if l.State == lifecycle.Canceled && l.ID == t.TaskID() && (first == nil || l.At < first.At) {
			first = &l
		}
	}
	if first == nil || slices.ContainsFunc(late, func(m mark) bool { return m.Kind != wire.KindArtifact }) {
		return false
	}
	brought := 0
	for _, m := range t.Marks {
		if t.Own(m) && m.Kind == wire.KindArtifact {
			brought += m.Parts
		}
	}
	return brought > 0 && brought <= first.Parts
}

func showsCanceled(t *tape) bool {
	for _, m := range t.Marks {
		if t.Own(m) && m.State == lifecycle.Canceled {
			return true
		}
	}
	return false
}

// toldCanceled: GetTask has shown the task canceled.
func (t *tape) toldCanceled() bool {
	return slices.ContainsFunc(t.Looks, func(l look) bool { return l.State == lifecycle.Canceled && l.ID == t.TaskID() })
}

// lastKnown is the state last told, by stream or by answer.
func (t *tape) lastKnown() lifecycle.State {
	all := t.answers()
	if len(all) == 0 {
		return lifecycle.Unknown
	}
	return all[len(all)-1].state
}

// revived: the task was canceled and is something else by newer answers.
func revived(t *tape) bool { return judgeCanceledLife(t).Outcome == trust.Diverged }

// judgeCanceledLife judges the life of a canceled task: canceled is a terminal state like any other (C71). Frames of work after it are
// Cancellation's to judge.
func judgeCanceledLife(t *tape) trust.Observation {
	o := trust.Observation{Capability: trust.Lifecycle, Observed: t.account("")}
	i := t.terminalIndex()
	if i >= 0 {
		for _, m := range t.Marks[i+1:] {
			stale := m.Kind == wire.KindTask && !newer(m.Stamp, t.Marks[i].Stamp)
			if t.Own(m) && m.State.Terminal() && m.State != t.Marks[i].State && !stale {
				return leftOnStream(o, t, m)
			}
		}
	}
	return judgeAnswers(o, t)
}

package probe

import (
	"fmt"
	"slices"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// talked is what a dialogue showed.
type talked struct {
	first *tape
	// Reached: the task asked for input, by whatever told it. Before is GetTask's answer just before the reply, nil if none was sent.
	reached bool
	working bool
	before  *look
	// Reply is nil if none was sent. After are the answers of GetTask about the old task.
	reply   *tape
	after   []look
	control *tape
	// Refused, Repeated and Gone as of the dialogue.
	refused, repeated     *tape
	gone                  *look
	promised, clientNames bool
}

func (d *dialogue) seen() talked {
	first, known := d.first, d.known
	if first == nil {
		first = known // its stream is open yet
	}
	if known == nil {
		known = first
	}
	reached, working := d.asked(known)
	if d.before != nil {
		reached = reached || d.before.State == lifecycle.InputRequired
		working = working || d.before.State == lifecycle.Working
	}
	return talked{
		first: first, reached: reached, working: working, before: d.before, reply: d.reply, after: d.after,
		control: d.control, refused: d.refused, repeated: d.repeated, gone: d.gone, promised: d.promised, clientNames: d.clientNames,
	}
}

// judgeContinuation says whether a follow-up continued the task it named, and whose fault it is if not (design 5).
func judgeContinuation(k talked) trust.Observation {
	o := trust.Observation{Capability: trust.Continuation, Rule: "design 5"}
	t := k.first
	if t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "sent the first message, nothing of the protocol came back: "+failText(t.Fail))
	}
	if code, first, ok := t.Error(); ok && first {
		return unlearned(o, codeReason(t.Generation, code, t.Status), fmt.Sprintf("sent the first message, answered with error %d", code))
	}
	if t.MessageOnly() {
		return unlearned(o, trust.ReasonMessageOnly, "the peer answers with a Message, there is no task to continue")
	}
	if skippedWorking(k) {
		o.Warnings = append(o.Warnings, trust.WarnInputRequiredWithoutWorking)
	}
	if k.reply == nil {
		return unreplied(o, k)
	}
	o = judgeReply(o, k)
	if k.refused != nil {
		code, _, _ := k.refused.Error()
		o.Message += fmt.Sprintf("; sent before that, it had been refused with error %d", code)
	}
	return o
}

// unreplied: there was no reply, because the task did not ask, or no longer.
func unreplied(o trust.Observation, k talked) trust.Observation {
	t := k.first
	last := t.lastKnown()
	if k.before != nil && k.before.State != "" && k.before.State != lifecycle.Unknown {
		last = k.before.State
	}
	asked := askedOnce(k)
	switch {
	case t.TaskID() == "":
		return unlearned(o, trust.ReasonInputRequiredNotReached, "no task was seen to come of the first message")
	case t.CalledOff:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, t.ours()+" before a reply was sent")
	case last == lifecycle.InputRequired:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "the task asked for input, and no time was left to reply")
	case asked && last.Terminal():
		return unlearned(o, trust.ReasonTaskEndedFirst, "the task asked for input and was "+string(last)+" before a reply was sent")
	case asked:
		return unlearned(o, trust.ReasonNotExercised, "the task asked for input and was "+string(last)+" before a reply was sent")
	case last.Terminal():
		return unlearned(o, trust.ReasonInputRequiredNotReached, "the task was "+string(last)+" without having asked for input")
	case last == lifecycle.Unknown:
		return unlearned(o, trust.ReasonInputRequiredNotReached, "the task did not ask for input in time; no state of it was seen")
	}
	return unlearned(o, trust.ReasonInputRequiredNotReached, "the task did not ask for input in time; it was "+string(last))
}

// askedOnce: the task asked for input at some time before the reply was due.
func askedOnce(k talked) bool {
	return k.reached || slices.ContainsFunc(k.first.answers(), func(a answer) bool { return a.state == lifecycle.InputRequired })
}

// skippedWorking: the order rule of the seeds, warned of only with the promise and a stream from the task's first event (design 5).
func skippedWorking(k talked) bool {
	if !k.promised || !k.first.Streamed {
		return false
	}
	for _, m := range k.first.Marks {
		switch m.State {
		case lifecycle.Working:
			return false
		case lifecycle.InputRequired:
			return true
		}
	}
	return false
}

func judgeReply(o trust.Observation, k talked) trust.Observation {
	r, id := k.reply, k.first.TaskID()
	// Only GetTask's own word counts as the question asked (case a): the stream might be the one that is wrong.
	asks := k.before != nil && k.before.State == lifecycle.InputRequired
	if r.Fail != nil {
		return unlearned(o, failReason(r.Fail), replied(k)+", nothing of the protocol came back: "+failText(r.Fail))
	}
	if code, first, ok := r.Error(); ok && first {
		return refusedReply(o, k, code, asks)
	}
	old := oldTask(k)
	switch {
	case r.MessageOnly() && old == lifecycle.OldTaskMovedOn:
		o.Warnings = append(o.Warnings, trust.WarnContinuedWithMessage)
		return honored(o, "wire 7.6", "the reply was answered with a Message, and the task it named moved on")
	case r.MessageOnly():
		return unlearned(o, trust.ReasonMessageOnly, "the reply was answered with a Message, and the task it named stands still")
	case r.TaskID() == "":
		return unlearned(o, trust.ReasonUnexpectedAnswer, "the answer to the reply is none of A2A")
	case r.TaskID() == id && !k.reached:
		return unlearned(o, trust.ReasonInputRequiredNotReached, unasked(k)+"; a reply to it was taken under the same id")
	case r.TaskID() == id && begunAnew(k):
		return unlearned(o, trust.ReasonReplicaInconsistency, "the reply was taken under the id that the client had made, but as a task that was "+
			"submitted, while GetTask still showed the question: another replica may have begun it anew")
	case r.TaskID() == id:
		if c := r.ContextID(); c != "" && k.first.ContextID() != "" && c != k.first.ContextID() {
			o.Warnings = append(o.Warnings, trust.WarnContextChanged)
		}
		if !asks && k.before != nil && k.before.State.Active() {
			o.Warnings = append(o.Warnings, trust.WarnTaskStoreStale)
		}
		return honored(o, "0.3 §9.4, 1.0 §6.3", "the reply to input-required continued the same task")
	}
	return blame(o, k, old, asks)
}

// begunAnew: where clients make the ids (0.1), a replica that does not know the task makes one of that name. It begins where tasks begin, and
// the old one stands where it stood.
func begunAnew(k talked) bool {
	return k.clientNames && len(k.reply.Marks) > 0 && k.reply.Marks[0].State == lifecycle.Submitted &&
		slices.ContainsFunc(k.after, func(l look) bool { return l.ID == k.first.TaskID() && l.State == lifecycle.InputRequired })
}

// refusedReply: an error in answer to the reply. It counts only while GetTask itself said that the task asks, and only if it is about the
// operation and not about what we said (design 3: a prompt that the agent would not take).
func refusedReply(o trust.Observation, k talked, code int, asks bool) trust.Observation {
	text := fmt.Sprintf("%s, answered with error %d", replied(k), code)
	moved := oldTask(k) == lifecycle.OldTaskMovedOn
	switch {
	case moved && asks && takenUp(k):
		// The reply did its work; only its answer is broken, as on a2a-js 0.2.5, which cannot answer a reply at once.
		o.Warnings = append(o.Warnings, trust.WarnReplyAnsweredWithError)
		return honored(o, "wire 7.6", text+", and the task it named moved on")
	case !asks && k.reached:
		return unseenQuestion(o, k, text)
	case !asks:
		return unlearned(o, trust.ReasonInputRequiredNotReached, fmt.Sprintf("%s; a reply to it was refused with error %d, which is legal", unasked(k), code))
	case code == codeTaskNotFound:
		return unlearned(o, trust.ReasonReplicaInconsistency, text+" though GetTask had just shown the task")
	case !refusedAsSuch(k):
		return unlearned(o, codeReason(k.reply.Generation, code, k.reply.Status), text)
	case moved:
		return noLongerAsks(o, k.after[len(k.after)-1], text)
	case k.gone != nil:
		return noLongerAsks(o, *k.gone, text)
	}
	text += " though GetTask says input-required"
	if k.repeated != nil {
		text += ", and again on new connections after a pause"
	}
	return diverged(o, trust.ReasonContinuationRefused, lifecycle.Protocol, "wire 7.6", text)
}

// refusedAsSuch: the reply was refused for what it is, and not for its words.
func refusedAsSuch(k talked) bool {
	return answeredWith(k.reply, codeUnsupported) || answeredWith(k.reply, codeInvalidParams) && k.control != nil && took(k.control)
}

// unseenQuestion: the peer showed the question and GetTask did not, so a refusal may be right or wrong.
func unseenQuestion(o trust.Observation, k talked, text string) trust.Observation {
	where := "the first answer"
	if k.first.Streamed {
		where = "the stream"
	}
	b := k.before
	text += "; " + where + " had shown input-required, GetTask said " + b.text()
	switch {
	case b.State.Active():
		o.Warnings = append(o.Warnings, trust.WarnTaskStoreStale)
	case b.Code != codeTaskNotFound:
		return unlearned(o, trust.ReasonTaskOpsUnavailable, text)
	}
	return unlearned(o, trust.ReasonReplicaInconsistency, text)
}

// noLongerAsks: a reply was refused, and it could not be asked again whether that stands.
func noLongerAsks(o trust.Observation, l look, text string) trust.Observation {
	switch {
	case l.State.Terminal():
		return unlearned(o, trust.ReasonTaskEndedFirst, text+"; the task was "+string(l.State)+" before that was sure")
	case l.State != "":
		return unlearned(o, trust.ReasonNotExercised, text+"; the task was "+string(l.State)+" before that was sure")
	}
	return unlearned(o, trust.ReasonProbeDeadlineExceeded, text+"; it could not be made sure in time")
}

// replied says in words what the reply was sent to.
func replied(k talked) string {
	if k.reached {
		return "replied to the question"
	}
	return "replied to the task, which did not ask"
}

// unasked says in words that the task was not asking when a reply was due.
func unasked(k talked) string {
	if askedOnce(k) {
		return "the task asked for input and no longer did when the reply was sent"
	}
	return "the task did not ask for input in time"
}

// takenUp: the old task works or has completed since.
func takenUp(k talked) bool {
	last := k.after[len(k.after)-1].State
	return last == lifecycle.Working || last == lifecycle.Completed
}

// took: the peer took the same words as a message of their own, so it was not these that it refused.
func took(t *tape) bool {
	_, _, failed := t.Error()
	return t.Fail == nil && !failed && (t.TaskID() != "" || t.MessageOnly())
}

// oldTask says what became of the task that the reply named.
func oldTask(k talked) lifecycle.OldTask {
	if k.before == nil {
		return lifecycle.OldTaskUnseen
	}
	found := lifecycle.OldTaskUnseen
	for _, l := range k.after {
		if l.Fail != nil || l.Code != 0 || l.ID != k.first.TaskID() {
			continue
		}
		if found = lifecycle.CompareOldTask(k.before.State, l.State); found == lifecycle.OldTaskMovedOn {
			return found
		}
	}
	return found
}

// blame: the reply was answered with another task id. Whose fault that is, the seeds' rule says.
func blame(o trust.Observation, k talked, old lifecycle.OldTask, asks bool) trust.Observation {
	state := "unseen"
	if k.before != nil && k.before.State != "" {
		state = string(k.before.State)
	}
	if k.reached && !asks {
		state = "asking for input, and by GetTask " + state
	}
	text := "a reply to the task, which was " + state + ", was answered with another task id"
	whose, basis := lifecycle.BlameContinuation(lifecycle.FollowUpEvidence{
		Old:                 old,
		InputRequiredBefore: asks,
		HistoryPromise:      k.promised,
		ClientMadeIDs:       k.clientNames,
		WorkingObserved:     k.working,
	})
	switch whose {
	case lifecycle.BlamePeer:
		rule := "design 5 (b)"
		switch {
		case asks:
			rule = "C68, design 5 (a)"
		case k.clientNames:
			text += " though the client had named the task"
		default:
			text += " though the card promises continuity (stateTransitionHistory)"
		}
		return diverged(o, trust.ReasonTaskIDChangedOnContinuation, basis, rule, text+", and the old task stands still")
	case lifecycle.BlameGateway:
		return unlearned(o, trust.ReasonTaskIdentityUnstable, text+", and the old task moved on: something on the way rewrites task ids")
	}
	if renamed(k) {
		return unlearned(o, trust.ReasonTaskIdentityUnstable, text+", and GetTask answers about the old task under another id too")
	}
	return unlearned(o, trust.ReasonNotContinued, text+", and nothing promised otherwise")
}

// renamed: asked for the old task, GetTask answered with another id every time, so ids tell nothing here.
func renamed(k talked) bool {
	answers := 0
	for _, l := range k.after {
		if l.ID == k.first.TaskID() {
			return false
		}
		if l.ID != "" {
			answers++
		}
	}
	return answers > 0
}

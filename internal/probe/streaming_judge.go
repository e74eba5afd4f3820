package probe

import (
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// sort of a sight.
type sort string

const (
	good    sort = "good"    // the stream kept what the card promises
	bad     sort = "bad"     // it contradicts the card or the protocol; framing decides whether that counts
	refused sort = "refused" // the peer says itself that it does not stream
	unsure  sort = "unsure"  // nothing learned
)

// sight is what one stream and its cross-checks show by themselves.
type sight struct {
	sort     sort
	reason   trust.Reason
	basis    lifecycle.Basis
	rule     string
	text     string
	warnings []trust.Reason
	// unexcused: a bad stream that no failing of the agent explains (trust.Pair).
	unexcused bool
}

func saw(s sort, reason trust.Reason, rule, format string, args ...any) sight {
	return sight{sort: s, reason: reason, rule: rule, text: fmt.Sprintf(format, args...)}
}

func (s sight) on(b lifecycle.Basis) sight { s.basis = b; return s }

// judgeStream says what one stream shows. Anything that is not listed here as bad must not become it (wire reference 7.2, 12).
func judgeStream(t *tape, tm Timing) sight {
	s := streamCase(t, tm)
	if s.sort == good && t.Streamed && t.WrongType {
		s = saw(bad, trust.ReasonWrongStreamMediaType, "C19",
			"asked for a stream, its events came under another media type than text/event-stream").on(lifecycle.Protocol)
	}
	s.unexcused = s.sort == bad && s.reason != trust.ReasonStreamEmpty && !failing(t)
	s.warnings = append(s.warnings, streamWarnings(t)...)
	return s
}

// failing: what was last seen of the task is that the agent failed or refused it.
func failing(t *tape) bool {
	state, _ := restState(t)
	return state == lifecycle.Failed || state == lifecycle.Rejected
}

func streamCase(t *tape, tm Timing) sight {
	if t.Fail != nil {
		return failedStream(t)
	}
	if code, first, ok := t.Error(); ok && first {
		return refusedStream(t, code)
	}
	if !t.Streamed {
		return unaryAnswer(t)
	}
	if len(t.Marks) == 0 {
		return emptyStream(t, tm)
	}
	if t.MessageOnly() {
		return messageStream(t)
	}
	if !substance(t) {
		return saw(unsure, trust.ReasonUnexpectedAnswer, "1.0 §3.1.2", "the stream's events are none of A2A")
	}
	if m, ok := t.Foreign(); ok {
		return foreignStream(t, m)
	}
	if t.Ends() {
		return saw(good, trust.ReasonHonored, "1.0 §3.1.2", "%s", properEnd(t))
	}
	return unfinishedStream(t, tm)
}

func failedStream(t *tape) sight {
	if t.Fail.Class == wire.ClassTimeout {
		return saw(unsure, trust.ReasonNoFirstEvent, "design 3", "asked for a stream, no answer came by the deadline")
	}
	return saw(unsure, failReason(t.Fail), "design 4.1", "asked for a stream, nothing of the protocol came back: %s", failText(t.Fail))
}

// refusedStream: an error before any event, wherever it stands: as plain JSON or as the first frame (C25, C26).
func refusedStream(t *tape, code int) sight {
	if refusal(t.Generation, code) {
		return saw(refused, trust.ReasonStreamingRefused, "C25", "asked for a stream, refused with error %d", code).on(lifecycle.Card)
	}
	return saw(unsure, codeReason(t.Generation, code, t.Status), "C25", "asked for a stream, answered with error %d", code)
}

func unaryAnswer(t *tape) sight {
	if len(t.Marks) == 1 && (t.Marks[0].Kind == wire.KindTask || t.Marks[0].Kind == wire.KindMessage) {
		return saw(bad, trust.ReasonUnaryAnswerToStream, "wire 7.2",
			"asked for a stream, one plain %s came back", t.Marks[0].Kind).on(lifecycle.Card)
	}
	return saw(unsure, trust.ReasonUnexpectedAnswer, "wire 7.2", "asked for a stream, the answer is none of A2A")
}

func emptyStream(t *tape, tm Timing) sight {
	switch {
	case t.Left != leftNot || t.End == wire.EndOurs:
		if t.CalledOff {
			return saw(unsure, trust.ReasonProbeDeadlineExceeded, "design 3", "the round was called off before the stream brought an event")
		}
		return saw(unsure, trust.ReasonNoFirstEvent, "design 3", "the stream was open for %s and brought no event", offset(t.LeftAt))
	case t.End == wire.EndTooLarge:
		return saw(unsure, trust.ReasonUnexpectedAnswer, "design 4.10", "the stream outgrew a limit before its first event")
	case t.End != wire.EndOrderly:
		return saw(unsure, trust.ReasonStreamInterrupted, "C90", "the stream broke before its first event")
	case t.EndAt-t.HeaderAt >= tm.Idle:
		// An idle limit on the way closes in good order too.
		return saw(unsure, trust.ReasonStreamInterrupted, "C90", "the stream was closed after %s of silence", offset(t.EndAt-t.HeaderAt))
	}
	return saw(bad, trust.ReasonStreamEmpty, "C03", "the stream ended in good order without an event").on(lifecycle.Card)
}

func messageStream(t *tape) sight {
	messages, others := 0, 0
	for _, m := range t.Marks {
		if m.Kind == wire.KindMessage {
			messages += m.Count
		} else if m.Kind != wire.KindOther && m.Kind != wire.KindError {
			others += m.Count
		}
	}
	if messages == 1 && others == 0 && t.Generation == wire.V10 && t.End == wire.EndReset {
		return saw(unsure, trust.ReasonStreamInterrupted, "1.0 §3.1.2", "one Message answered and the stream was cut: whether it was the only one cannot be told")
	}
	if messages == 1 && others == 0 {
		return saw(good, trust.ReasonHonored, "1.0 §3.1.2", "one Message answered")
	}
	if t.Generation == wire.V10 && messages > 1 {
		return saw(bad, trust.ReasonStreamShapeViolation, "C08",
			"%d Messages in one stream, 1.0 allows exactly one", messages).on(lifecycle.Protocol)
	}
	s := saw(good, trust.ReasonHonored, "C08", "%d Messages answered", messages)
	s.warnings = []trust.Reason{trust.ReasonStreamShapeViolation}
	return s
}

// substance: something of a task came, not only comments, garbage or errors.
func substance(t *tape) bool {
	for _, m := range t.Marks {
		switch m.Kind {
		case wire.KindTask, wire.KindStatus, wire.KindArtifact:
			return true
		}
	}
	return false
}

// foreignStream: events of another task than the first. Where GetTask knows both ids, somebody on the way rewrites them, or a task of the
// agent's own shows through (design 4.14); where it knows the first one only, the events belong to no task that a client could know.
func foreignStream(t *tape, m mark) sight {
	if x := t.Strange; m.Correlated && !clashes(true, m.TaskID) && x != nil && x.Fail == nil && x.ID == m.TaskID {
		return saw(bad, trust.ReasonForeignTaskInStream, "wire 7.2",
			"after %s the stream brought events of another task, by what tells tasks apart", offset(m.At)).on(lifecycle.Protocol)
	}
	if x := t.Strange; clashes(m.Correlated, m.TaskID) || x == nil || x.Fail != nil || x.Code != codeTaskNotFound {
		return saw(unsure, trust.ReasonTaskIdentityUnstable, "design 4.14",
			"task ids change in the stream, and GetTask does not disown the other id: something on the way may rewrite them")
	}
	return saw(bad, trust.ReasonForeignTaskInStream, "wire 7.2",
		"after %s the stream brought events of another task, which GetTask does not know", offset(m.At)).on(lifecycle.Protocol)
}

func properEnd(t *tape) string {
	if m, ok := t.Terminal(); ok {
		return fmt.Sprintf("the stream reached %s after %s", m.State, offset(m.At))
	}
	m, _ := t.Last()
	return fmt.Sprintf("the stream reached %s after %s, a proper end", m.State, offset(m.At))
}

// unfinishedStream: something came, and no proper end. What GetTask says decides, and in which direction (design 4.2).
func unfinishedStream(t *tape, tm Timing) sight {
	last := "an artifact"
	if m, ok := t.Last(); ok {
		last = string(m.State)
	}
	if t.End == wire.EndTooLarge { // what was withheld may be what we did not read
		return saw(unsure, trust.ReasonUnexpectedAnswer, "design 4.10", "the stream outgrew a limit after %s", last)
	}
	if l, ok := withheldWhileOpen(t, tm); ok {
		return saw(bad, trust.ReasonStreamStateDivergesFromTask, "C04",
			"the open stream stayed at %s while GetTask said %s from %s on", last, l.State, offset(l.At)).on(lifecycle.Protocol)
	}
	if code, _, ok := t.Error(); ok {
		if l, ok := hiddenQuestion(t); ok {
			return saw(bad, trust.ReasonStreamStateDivergesFromTask, "C04",
				"the stream ended with error %d after %s; GetTask says %s", code, last, l.State).on(lifecycle.Protocol)
		}
		return saw(unsure, trust.ReasonAgentFailing, "C26", "the stream ended with error %d after %s", code, last)
	}
	switch {
	case t.Left != leftNot || t.End == wire.EndOurs:
		return deadlineStream(t, tm, last)
	case t.End != wire.EndOrderly:
		return saw(unsure, trust.ReasonStreamInterrupted, "cases rule 5", "the stream broke after %s", last)
	}
	switch l, where := direction(t); where {
	case withheld:
		return saw(bad, trust.ReasonStreamClosedWithoutTerminalState, "C01",
			"the stream ended after %s; GetTask says %s", last, l.State).on(lifecycle.Protocol)
	case running:
		return saw(unsure, trust.ReasonStreamInterrupted, "C02", "the stream was closed after %s; GetTask says the task goes on", last)
	case later:
		return saw(unsure, trust.ReasonStreamInterrupted, "design 4.2", "the stream was closed after %s; the task ended only then", last)
	}
	s := saw(unsure, trust.ReasonStreamInterrupted, "design 4.2", "the stream was closed after %s; GetTask cannot tell why", last)
	return s
}

// withheldWhileOpen finds the first GetTask that showed a settled state on which the open stream stayed silent for longer than the grace.
func withheldWhileOpen(t *tape, tm Timing) (look, bool) {
	end := t.EndAt
	if t.Left != leftNot {
		end = t.LeftAt
	}
	var first look
	found := false
	for _, l := range t.Looks {
		if !l.Open || l.Code != 0 || l.Fail != nil {
			continue
		}
		switch {
		case settled(l.State) && l.ID == t.TaskID():
			if !found {
				first, found = l, true
			}
		case found:
			return look{}, false // a later answer disagrees: replicas, or the task went on
		}
	}
	quiet := max(first.At, t.Quiet())
	return first, found && end-quiet >= tm.Grace+t.Lateness()
}

// hiddenQuestion: the task asked, and its stream ended in good order without saying so. An error in its place is no excuse, for whoever asks
// has not failed (C04).
func hiddenQuestion(t *tape) (look, bool) {
	if t.Left != leftNot || t.End != wire.EndOrderly {
		return look{}, false
	}
	l, where := direction(t)
	return l, where == withheld && l.State.Interrupted()
}

func deadlineStream(t *tape, tm Timing, last string) sight {
	for _, l := range t.Looks {
		if l.Open && l.State.Active() && l.At-t.Quiet() >= tm.Idle {
			return saw(unsure, trust.ReasonStuck, "wire 7.2", "stream and GetTask both stayed at %s until our deadline", l.State)
		}
	}
	return saw(unsure, trust.ReasonProbeDeadlineExceeded, "C91", "%s after %s on the stream", t.ours(), last)
}

// streamWarnings lists what is odd about a stream and costs nothing.
func streamWarnings(t *tape) []trust.Reason {
	var w []trust.Reason
	add := func(odd bool, r trust.Reason) {
		if odd {
			w = append(w, r)
		}
	}
	if t.Streamed && len(t.Marks) > 0 {
		first, latest := t.Marks[0], t.Marks[len(t.Marks)-1]
		_, ended := t.Terminal()
		add(t.Generation == wire.V10 && (first.Kind == wire.KindStatus || first.Kind == wire.KindArtifact), trust.WarnFirstEventNotTask)
		add(ended && t.Left == leftSettled, trust.WarnStreamNotClosed)
		add(len(afterTerminal(t)) > 0, trust.ReasonEventsAfterTerminal)
		add(withoutContent(t), trust.WarnWithoutContent)
		add(t.TaskID() != "" && has(t, wire.KindMessage), trust.WarnMessageInTaskStream)
		add(afterFinal(t), trust.WarnEventsAfterFinal)
		if span := latest.Last - first.At; ended && span <= 10*time.Millisecond {
			switch {
			case t.Events > 1 && first.At >= time.Second:
				w = append(w, trust.WarnBufferedStream)
			case t.Events == 1 || first.At >= 100*time.Millisecond:
				w = append(w, trust.WarnSingleBurst)
			}
		}
		_, _, failed := t.Error()
		add(failed && t.Ends(), trust.WarnStreamEndedWithError)
	}
	add(t.Problems[wire.ProblemUnterminated] > 0, trust.WarnUnterminatedFinalEvent)
	add(t.Problems[wire.ProblemShape] > 0 || t.Problems[wire.ProblemTwoMembers] > 0, trust.WarnResultShapeMismatch)
	add(t.Problems[wire.ProblemStateSpelling] > 0 || t.Problems[wire.ProblemNumericEnum] > 0, trust.WarnStateSpelling)
	add(t.Problems[wire.ProblemIDMismatch] > 0, trust.WarnResponseIDMismatch)
	add(t.Problems[wire.ProblemMalformed] > 0, trust.WarnMalformedEvents)
	add(storeStale(t), trust.WarnTaskStoreStale)
	add(noTaskOps(t), trust.ReasonTaskOpsUnavailable)
	return w
}

func has(t *tape, k wire.Kind) bool {
	for _, m := range t.Marks {
		if m.Kind == k {
			return true
		}
	}
	return false
}

// withoutContent: completed, and not one part of content anywhere (C13).
func withoutContent(t *tape) bool {
	end, ok := t.Terminal()
	if !ok || end.State != lifecycle.Completed {
		return false
	}
	for _, m := range t.Marks {
		if m.Parts > 0 {
			return false
		}
	}
	return true
}

// afterFinal: 0.x said that an event is the last one, at an active state, and more came.
func afterFinal(t *tape) bool {
	for i, m := range t.Marks {
		if isFinal(m.Final) && m.State.Active() && i < len(t.Marks)-1 {
			return true
		}
	}
	return false
}

// storeStale: the stream is at a settled state and every GetTask asked from then on, three at least, is still active (C67).
func storeStale(t *tape) bool {
	end, ok := t.Settled()
	if !ok || end.Kind == wire.KindMessage {
		return false
	}
	stale := 0
	for _, l := range t.Looks {
		if l.Asked < end.At || l.Code != 0 || l.Fail != nil {
			continue
		}
		if !l.State.Active() {
			return false
		}
		stale++
	}
	return stale >= 3
}

// noTaskOps: GetTask is not known there (C85).
func noTaskOps(t *tape) bool {
	for _, l := range t.Looks {
		if l.Code == codeMethodNotFound {
			return true
		}
	}
	return false
}

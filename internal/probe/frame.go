package probe

import (
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// streaming turns the exchange into the observation of Streaming.
func (x *exchange) streaming() trust.Observation {
	o := frame(x)
	o.Capability = trust.Streaming
	o.Warnings = append(o.Warnings, x.one.warnings...)
	o.Warnings = append(o.Warnings, controlWarnings(x.control)...)
	if x.resubscribed {
		o.Warnings = append(o.Warnings, trust.WarnResubscribable)
	}
	o.Warnings = unique(o.Warnings)
	o.Observed = x.account()
	return o
}

// frame weighs the first stream against the control and the second stream (design 4.2).
func frame(x *exchange) trust.Observation {
	o := trust.Observation{Rule: x.one.rule}
	c := judgeControl(x.control)
	o.ControlFailed = x.control != nil && !c.works
	switch x.one.sort {
	case good:
		o.Pair = pair(x, false, c)
		return honored(o, x.one.rule, "asked for a stream: "+x.one.text)
	case unsure:
		return unlearned(o, x.one.reason, x.one.text)
	case refused:
		return frameRefused(o, x)
	}
	if x.cutBeforeFirst() {
		return unlearned(o, trust.ReasonStreamInterrupted, x.one.text+", and the single-shot control took longer than that: "+
			"an idle limit on the way may have closed it before its first event")
	}
	o.Pair = pair(x, true, c)
	switch {
	case x.paired && x.control == nil:
		o.Rule = "design 4.2"
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; one of several streams, of which some are good")
	case x.paired && !c.works:
		return unlearned(o, c.reason, x.one.text+"; the single-shot control failed too: "+c.text)
	case x.paired:
		o.Rule = "design 4.2"
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; compared with the single-shot control, which "+c.text)
	case x.second == nil || x.two.sort == unsure:
		reason := trust.ReasonProbeDeadlineExceeded
		if x.second != nil {
			reason = x.two.reason
		}
		return unlearned(o, reason, x.one.text+"; the second stream could not tell")
	case x.two.sort == good:
		o.Rule = "design 4.2"
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; a second stream was good")
	case !c.works:
		return unlearned(o, c.reason, x.one.text+"; the single-shot control failed too: "+c.text)
	}
	if again := judgeControl(x.lastControl); x.lastControl != nil && !again.works {
		o.ControlFailed = true
		return unlearned(o, again.reason, x.one.text+"; the single-shot control worked once and then failed too: "+again.text)
	}
	o.Message = x.one.text
	return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text+"; again on a second stream, while single-shot "+c.text)
}

// noLimit is a silence that no idle limit on the way is as short as.
const noLimit = time.Second

// cutBeforeFirst: streams that were empty were open and silent for a while, and the control, which does the same work, took longer. Idle
// limits end in good order too (C90), and this one may have come before the first event each time.
func (x *exchange) cutBeforeFirst() bool {
	if x.one.reason != trust.ReasonStreamEmpty || x.first == nil || x.control == nil {
		return false
	}
	open := x.first.EndAt - x.first.HeaderAt
	if x.second != nil && x.two.reason == trust.ReasonStreamEmpty {
		open = min(open, x.second.EndAt-x.second.HeaderAt)
	}
	return open >= noLimit && x.control.rested() >= open
}

// rested is when a task begun by a unary call was seen at rest, or its call was answered.
func (t *tape) rested() time.Duration {
	at := t.EndAt
	for _, l := range t.Looks {
		if settled(l.State) {
			return max(at, l.At)
		}
		at = max(at, l.At)
	}
	return at
}

// frameRefused: an explicit refusal needs no control and no third round, only the peer's word twice.
func frameRefused(o trust.Observation, x *exchange) trust.Observation {
	if x.second == nil {
		o.Explicit = true
		return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text)
	}
	switch x.two.sort {
	case refused:
		o.Explicit, o.Confirmed = true, true
		return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text+"; again on a new connection")
	case good:
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; a second stream on a new connection was good")
	case bad:
		return unlearned(o, trust.ReasonReplicaInconsistency, x.one.text+"; on a new connection: "+x.two.text)
	}
	return unlearned(o, x.two.reason, x.one.text+"; on a new connection: "+x.two.text)
}

// pair is what the comparison of streams with controls counts; nil where there was no control to compare with and none was needed.
func pair(x *exchange, streamFailed bool, c controlSight) *trust.Pair {
	if x.control == nil && !(streamFailed && x.paired) {
		return nil
	}
	p := &trust.Pair{StreamFailed: streamFailed, ControlFailed: x.control != nil && !c.works,
		Unexcused: streamFailed && x.unexcused(), Alone: x.control == nil}
	if streamFailed {
		p.Reason = x.one.reason
	}
	return p
}

// unexcused: neither bad stream is one that the failing of the agent explains.
func (x *exchange) unexcused() bool {
	return x.one.unexcused && (x.second == nil || x.two.sort != bad || x.two.unexcused)
}

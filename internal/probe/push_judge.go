package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// refusesPush: the code is the peer's own word that it has no push notifications (wire reference 7.4).
func refusesPush(code int) bool {
	return code == codeNoPush || code == codeUnsupported || code == codeMethodNotFound
}

func (l setLook) refuses() bool {
	return !l.None && l.Fail == nil && refusesPush(l.Code) && !l.OfAddress
}

// refused: the method was refused for a task at work. Only -32004 needs to know that it was: it may be about the state of the task.
func (t *trial) refused() bool {
	return len(t.Sets) > 0 && t.Sets[0].refuses() && (t.Sets[0].Code != codeUnsupported || t.workedAfter(t.Sets[0].At))
}

// workedAfter: the task was seen at work after that time.
func (t *trial) workedAfter(at time.Duration) bool {
	for _, g := range t.Tape.Looks {
		if g.Asked >= at && g.ID == t.Tape.TaskID() && g.State.Active() {
			return true
		}
	}
	late := t.Tape.Lateness()
	return slices.ContainsFunc(t.Tape.Marks, func(m mark) bool {
		return t.Tape.Own(m) && m.At > at+late && (m.State.Active() || m.Kind == wire.KindArtifact)
	})
}

// rested is the state in which the task was seen to rest.
func (t *trial) rested() (lifecycle.State, bool) {
	if m, ok := t.Tape.Settled(); ok && m.State != "" {
		return m.State, true
	}
	for _, l := range slices.Concat(t.Tape.Looks, t.Tape.Cancels) {
		if l.ID == t.Tape.TaskID() && settled(l.State) {
			return l.State, true
		}
	}
	return "", false
}

func (t *trial) over() bool {
	_, over := t.rested()
	return over
}

// inPlace: the peer accepted a webhook by the method while the task was at work, and the task came to rest after. A webhook that only went
// along with a message may have been passed over by a peer that knows the method alone.
func (t *trial) inPlace() bool {
	return t.over() && slices.ContainsFunc(t.Sets, func(l setLook) bool { return l.accepted() && t.workedAfter(l.At) })
}

// due: the peer had to call. Its task stayed at work for grace after a webhook was accepted by the method, and then ended by itself, or brought
// more and came to rest. A task that only our cancel ended may be passed over by an honest peer.
func (t *trial) due(grace time.Duration) bool {
	return t.over() && slices.ContainsFunc(t.Sets, func(l setLook) bool {
		at := l.At + grace
		return l.accepted() && t.workedAfter(at) && (!t.canceled() || t.grewAfter(at))
	})
}

// canceled: we ended the task.
func (t *trial) canceled() bool {
	state, _ := t.rested()
	return state == lifecycle.Canceled && len(t.Tape.Cancels) > 0
}

// grewAfter: two looks after that time found the task at work, and the later one more of its artifacts.
func (t *trial) grewAfter(at time.Duration) bool {
	least := -1
	for _, g := range t.Tape.Looks {
		if g.Asked < at || g.ID != t.Tape.TaskID() || !g.State.Active() {
			continue
		}
		if least >= 0 && g.Bytes > least {
			return true
		}
		if least < 0 || g.Bytes < least {
			least = g.Bytes
		}
	}
	return false
}

// counted are the deliveries that are about the trial's task and carry no other secrets than ours.
func (t *trial) counted() []delivery {
	var out []delivery
	for _, d := range t.Deliveries {
		if id := t.Tape.TaskID(); !d.Unread && !d.forged() && id != "" && d.TaskID == id {
			out = append(out, d)
		}
	}
	return out
}

// heard: a webhook was called with the end of its task.
func (p *pushed) heard() bool {
	return slices.ContainsFunc(p.Trials, func(t *trial) bool {
		return t.Tape != nil && slices.ContainsFunc(t.counted(), func(d delivery) bool { return settled(d.State) })
	})
}

func (p *pushed) inPlace() bool {
	return slices.ContainsFunc(p.Trials, func(t *trial) bool { return t.Tape != nil && t.inPlace() })
}

func (p *pushed) due() bool {
	return slices.ContainsFunc(p.Trials, func(t *trial) bool { return t.Tape != nil && t.due(p.Grace) })
}

func (p *pushed) accepted() bool { return p.anySet(setLook.accepted) }

func (p *pushed) anySet(is func(setLook) bool) bool {
	return slices.ContainsFunc(p.Trials, func(t *trial) bool { return slices.ContainsFunc(t.Sets, is) })
}

// any delivery of the round.
func (p *pushed) any(is func(*trial, delivery) bool) bool {
	return slices.ContainsFunc(p.Trials, func(t *trial) bool {
		return slices.ContainsFunc(t.Deliveries, func(d delivery) bool { return is(t, d) })
	})
}

// judgePush says what came of the webhooks (wire reference 7.4).
func judgePush(p *pushed) trust.Observation {
	o := trust.Observation{Capability: trust.PushNotifications, Rule: "wire 7.4", Observed: p.account()}
	if len(p.Trials) == 0 || p.Trials[0].Tape == nil {
		return unlearned(o, trust.ReasonInternal, "no webhook could be opened")
	}
	if p.any(func(_ *trial, d delivery) bool { return d.forged() }) {
		o.Warnings = append(o.Warnings, trust.WarnPushSecretMismatch)
	}
	for _, t := range p.Trials {
		if t.Tape != nil && len(t.counted()) > 0 {
			return judgeDelivered(o, p, t)
		}
	}
	if t := p.Trials[0].Tape; t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "began a task with a webhook, nothing of the protocol came back: "+failText(t.Fail))
	} else if t.MessageOnly() {
		return unlearned(o, trust.ReasonMessageOnly, "the peer answers with a Message, there is no task to call about")
	}
	for _, t := range slices.Backward(p.Trials) {
		if t.Tape != nil && t.refused() {
			return judgePushRefused(o, p, t)
		}
	}
	return judgeSilence(o, p)
}

// judgeDelivered: the webhook of t, the first of them, was called about its task.
func judgeDelivered(o trust.Observation, p *pushed, t *trial) trust.Observation {
	all := t.counted()
	has := func(is func(delivery) bool) bool { return slices.ContainsFunc(all, is) }
	credentials := has(func(d delivery) bool { return d.Auth == secretRight })
	if p.Generation == wire.V10 && !credentials {
		return judgeCredentials(o, p, all)
	}
	switch {
	case credentials:
	case has(delivery.proven):
		o.Warnings = append(o.Warnings, trust.WarnPushAuthMissing)
	default:
		o.Warnings = append(o.Warnings, trust.ReasonPushUnauthenticated)
	}
	if p.Generation == wire.V10 && has(func(d delivery) bool { return d.Shape }) {
		o.Warnings = append(o.Warnings, trust.WarnPushPayloadShape)
	}
	if t.Streamed && p.Trials[0].inPlace() {
		o.Warnings = append(o.Warnings, trust.WarnPushOnlyWhenStreaming)
	}
	if p.anySet(setLook.refuses) {
		o.Warnings = append(o.Warnings, trust.ReasonPushConfigRefused)
	}
	i := slices.IndexFunc(all, func(d delivery) bool { return settled(d.State) })
	if i < 0 {
		return unlearned(o, trust.ReasonPushEndMissing, fmt.Sprintf("the webhook was called %d times, and not with the end of the task", len(all)))
	}
	return honored(o, "1.0 §4.3.3, wire 7.4", fmt.Sprintf("a webhook was called with %s after %s", all[i].State, offset(all[i].At)))
}

// judgeCredentials: 1.0 makes them a MUST, and none came (C77). Nobody is charged where something before our own door takes them out, nor
// where other credentials came: something on the way may put its own there.
func judgeCredentials(o trust.Observation, p *pushed, all []delivery) trust.Observation {
	switch {
	case slices.ContainsFunc(all, func(d delivery) bool { return d.Auth == secretWrong }):
		return unlearned(o, trust.ReasonUnexpectedAnswer, "the webhook was called with other credentials than its config asks for")
	case !p.Before.good():
		return unlearned(o, trust.ReasonPushReceiverUnreachable,
			"the webhook was called without credentials, and our own calls do not come through whole either")
	}
	return diverged(o, trust.ReasonPushUnauthenticated, lifecycle.Protocol, "1.0 §4.3.3, C77",
		"the webhook was called without the Authorization that its config asks for")
}

// judgePushRefused: an explicit refusal needs no control, only the peer's word twice (C33).
func judgePushRefused(o trust.Observation, p *pushed, t *trial) trust.Observation {
	first := t.Sets[0]
	text := fmt.Sprintf("push notifications are declared; a webhook for a task was refused with error %d", first.Code)
	if first.Code == codeMethodNotFound && !slices.ContainsFunc(t.Tape.Looks, look.showsTask) {
		return unlearned(o, trust.ReasonTaskOpsUnavailable, text+", and GetTask did not show the task: a gateway may serve messages only")
	}
	if p.accepted() {
		return unlearned(o, trust.ReasonReplicaInconsistency, text+", and on another occasion it was accepted")
	}
	o.Explicit = true
	if last := t.Sets[len(t.Sets)-1]; len(t.Sets) > 1 && last.Fresh && last.refuses() && (last.Code != codeUnsupported || t.workedAfter(last.At)) {
		o.Confirmed = true
		text += "; again on a new connection"
	}
	return diverged(o, trust.ReasonPushConfigRefused, lifecycle.Card, "C33", text)
}

// judgeSilence: no webhook was called about its task.
func judgeSilence(o trust.Observation, p *pushed) trust.Observation {
	switch {
	case p.anySet(func(l setLook) bool { return !l.accepted() && (l.OfAddress || l.Code == codeInvalidParams) }):
		return unlearned(byRule(o, "C80"), trust.ReasonWebhookRefused, "the peer refuses the address of the webhook, as agents are told to do with private ones")
	case p.any(func(t *trial, d delivery) bool { return d.proven() && d.TaskID != "" }):
		return unlearned(byRule(o, "design 4.14"), trust.ReasonTaskIdentityUnstable,
			"the webhook was called about another task: something may rewrite task ids")
	case p.any(func(_ *trial, d delivery) bool { return d.Unread && !d.forged() }):
		return unlearned(o, trust.ReasonUnexpectedAnswer, "the webhook was called with a body that is too large or none of A2A")
	case p.any(func(_ *trial, d delivery) bool { return true }):
		// Nobody else knows the path, and something on the way may put secrets of its own there.
		return unlearned(o, trust.ReasonUnexpectedAnswer, "the webhook was called, with other secrets than its own or about no task")
	case !p.accepted():
		return judgeNotAccepted(o, p)
	case !p.inPlace():
		return judgeTooSoon(o, p)
	case !p.open():
		return unlearned(o, trust.ReasonPushReceiverUnreachable, "a webhook was accepted and never called, and not all of our own calls reach it either: "+
			"see whether --callback-url leads here")
	case p.TurnedAway:
		return unlearned(o, trust.ReasonPushReceiverUnreachable, "a webhook was accepted and never called, and our receiver had to turn somebody away "+
			"meanwhile, or that of another replica did: too many called at once (agentpeer_callback_requests_total counts them as refused)")
	case (p.Reachable || p.Called || p.Public) && !p.due():
		return judgeNotDue(o, p)
	case p.Reachable, p.Called, p.Public:
		return diverged(o, trust.ReasonPushNotDelivered, lifecycle.Protocol, "1.0 §4.3.3, wire 7.4",
			"a webhook was accepted, the task worked on and came to its end, and nobody called; "+whyReachable(p))
	}
	return unlearned(byRule(o, "C80"), trust.ReasonWebhookUnreachable, "a webhook was accepted and never called; agents that block private addresses "+
		"are silent about it: probes.push.reachable says that this one can reach us")
}

// open: our door was seen open before, all the while, and after.
func (p *pushed) open() bool { return p.Before.good() && p.During.good() && p.After.good() }

// mayAccuse: nothing that we saw ourselves excuses silence.
func (p *pushed) mayAccuse() bool { return !p.heard() && p.open() && p.inPlace() }

func byRule(o trust.Observation, rule string) trust.Observation {
	o.Rule = rule
	return o
}

func whyReachable(p *pushed) string {
	switch {
	case p.Reachable:
		return "probes.push.reachable says that the peer can reach it"
	case p.Called:
		return "the peer called this receiver before"
	}
	return "the receiver is on the internet"
}

// judgeNotAccepted: no webhook was accepted by the method, and none was refused in so many words either.
func judgeNotAccepted(o trust.Observation, p *pushed) trust.Observation {
	if code, first, ok := p.Trials[0].Tape.Error(); ok && first {
		return unlearned(o, codeReason(p.Generation, code, p.Trials[0].Tape.Status), fmt.Sprintf("began a task with a webhook, answered with error %d", code))
	}
	for _, t := range slices.Backward(p.Trials) {
		if len(t.Sets) == 0 || t.Sets[0].None {
			continue
		}
		switch l := t.Sets[0]; {
		case l.Fail != nil:
			return unlearned(o, failReason(l.Fail), "gave a task a webhook, nothing of the protocol came back: "+failText(l.Fail))
		case l.Code == codeTaskNotFound && t.workedAfter(l.At):
			return unlearned(o, trust.ReasonReplicaInconsistency,
				"gave a task at work a webhook, TaskNotFound: an in-memory store behind several replicas answers so")
		case l.Code == codeTaskNotFound || refusesPush(l.Code):
			return judgeTooSoon(o, p)
		default:
			return unlearned(o, codeReason(p.Generation, l.Code, 0), fmt.Sprintf("gave a task a webhook, answered with error %d", l.Code))
		}
	}
	return judgeTooSoon(o, p)
}

// judgeTooSoon: no task was at work when its webhook was accepted, or none came to rest after.
func judgeTooSoon(o trust.Observation, p *pushed) trust.Observation {
	last := p.Trials[len(p.Trials)-1]
	switch state, over := last.rested(); {
	case !over:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "the task came to no rest before "+last.Tape.ours())
	case state == lifecycle.Rejected:
		return unlearned(o, trust.ReasonProbeRejected, "the peer rejected the task that was to be called about")
	}
	return unlearned(o, trust.ReasonTaskEndedFirst, "the task was over before its webhook was accepted, and nobody called: "+
		"fixtures.longRunning would leave the time")
}

// judgeNotDue: a task was at work when its webhook was accepted, and an honest peer may have had nothing to call about after: some call for
// tasks of some length only, and some need a moment before a webhook takes effect.
func judgeNotDue(o trust.Observation, p *pushed) trust.Observation {
	for _, t := range p.Trials {
		if t.Tape != nil && t.canceled() && slices.ContainsFunc(t.Sets, func(l setLook) bool { return l.accepted() && t.workedAfter(l.At+p.Grace) }) {
			return unlearned(o, trust.ReasonNotExercised, "a webhook was accepted and not called; the long task brought nothing meanwhile and was canceled: "+
				"a fixtures.longRunning that ends by itself, or brings artifacts, would tell more")
		}
	}
	return unlearned(o, trust.ReasonTaskEndedFirst, fmt.Sprintf("a webhook was accepted and not called, and no task was at work for %s after: "+
		"a longer fixtures.longRunning would leave the time", p.Grace))
}

// undeclaredPush: what no card declares is no fault, and that it works is information (wire reference 7.11).
func undeclaredPush(o trust.Observation) trust.Observation {
	if o.Outcome != trust.Honored {
		o.Warnings = nil
		o = inconclusive(o, trust.ReasonNotDeclared, "the card does not declare push notifications")
		o.Rule = "wire 7.11"
		return o
	}
	o.Warnings = []trust.Reason{trust.WarnUndeclaredButWorks}
	return honored(o, "wire 7.11", "the card does not declare push notifications; a webhook was called all the same")
}

// account lists what the trials saw, the first plainly, the others by a word before each entry.
func (p *pushed) account() []string {
	var out []string
	for i, t := range p.Trials {
		if t.Tape == nil {
			continue
		}
		prefix := ""
		switch {
		case i == 0:
		case t.Streamed:
			prefix = "stream:"
		default:
			prefix = "long:"
		}
		list := written(t.entries(), prefix)
		if len(p.Trials) > 1 {
			list = brief(list)
		}
		out = append(out, list...)
	}
	return shorten(out)
}

func (t *trial) entries() []entry {
	all := t.Tape.entries()
	for _, l := range t.Sets {
		if !l.None {
			all = append(all, entry{l.At, "webhook:" + l.answer()})
		}
	}
	for _, d := range t.Deliveries {
		all = append(all, entry{max(d.At, 0), "called:" + d.text(t)})
	}
	return all
}

func (l setLook) answer() string {
	if l.accepted() {
		return "accepted"
	}
	return l.text()
}

func (d delivery) text(t *trial) string {
	s := string(d.Kind)
	switch {
	case d.Unread:
		s = "unread"
	case d.State != "":
		s = string(d.State)
	}
	switch {
	case d.forged():
		s += " (other secrets)"
	case d.TaskID != "" && d.TaskID != t.Tape.TaskID():
		s = "other task:" + s
	}
	return s
}

package probe

import (
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeLifecycle says whether terminal was final for the task of this tape: on its stream, whose order is guaranteed, and in the answers of
// GetTask and CancelTask, where the states' own times say which is newer (design 4.2).
func judgeLifecycle(t *tape) trust.Observation {
	o := trust.Observation{Capability: trust.Lifecycle, Observed: t.account("")}
	if t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "began a task, nothing of the protocol came back: "+failText(t.Fail))
	}
	if t.MessageOnly() {
		return unlearned(o, trust.ReasonMessageOnly, "the peer answers with a Message, there is no task to follow")
	}
	if after := afterTerminal(t); len(after) > 0 {
		if tolerated(t, after) {
			o.Warnings = append(o.Warnings, trust.ReasonEventsAfterTerminal)
		} else {
			return leftOnStream(o, t, after[0])
		}
	}
	return judgeAnswers(o, t)
}

// afterTerminal lists what the stream brought of this task after its first terminal state and a task that has ended cannot bring:
// artifacts, and any other state. The same state again, a Message and an error are let pass, and so is a snapshot of the task that is not
// newer by its own time: it comes from a store, and stores lag.
func afterTerminal(t *tape) []mark {
	i := t.terminalIndex()
	if i < 0 {
		return nil
	}
	var after []mark
	for _, m := range t.Marks[i+1:] {
		if !t.Own(m) {
			continue
		}
		if m.Kind == wire.KindTask && !newer(m.Stamp, t.Marks[i].Stamp) {
			continue
		}
		other := m.State != "" && m.State != lifecycle.Unknown && m.State != t.Marks[i].State
		if m.Kind == wire.KindArtifact || other {
			after = append(after, m)
		}
	}
	return after
}

// tolerated: 0.x said with final:false that more would come, and only artifacts came (C12). The state itself stayed.
func tolerated(t *tape, after []mark) bool {
	end, _ := t.Terminal()
	announced := end.Final != nil && !*end.Final || end.Final == nil && t.Generation == wire.V01
	return t.Generation != wire.V10 && announced && !slices.ContainsFunc(after, func(m mark) bool { return m.Kind != wire.KindArtifact })
}

func leftOnStream(o trust.Observation, t *tape, m mark) trust.Observation {
	end, _ := t.Terminal()
	if m.State != "" {
		return diverged(o, trust.ReasonTerminalStateNotFinal, lifecycle.Protocol, "0.3 §6.1, 1.0 §3.1.1, C71",
			"the stream brought "+string(end.State)+" and "+offset(m.At-end.At)+" later "+string(m.State)+": a terminal state is final")
	}
	return diverged(o, trust.ReasonEventsAfterTerminal, lifecycle.Protocol, "wire 7.2, 0.3 §6.1",
		"the stream brought "+string(end.State)+" and "+offset(m.At-end.At)+" later an artifact: a task that has ended brings nothing more")
}

// answer is one state that was told, by stream or by answer, and when by the task's own clock.
type answer struct {
	at     time.Duration
	asked  time.Duration
	state  lifecycle.State
	stamp  time.Time
	stream bool
	// parted: asked for after we had left the stream.
	parted bool
}

// answers lists the states told, in order of arrival.
func (t *tape) answers() []answer {
	var all []answer
	for _, m := range t.Marks {
		if t.Own(m) && m.State != "" && m.State != lifecycle.Unknown {
			all = append(all, answer{at: m.At, asked: m.At, state: m.State, stamp: m.Stamp, stream: true})
		}
	}
	for _, l := range slices.Concat(t.Looks, t.Cancels) {
		if l.State != "" && l.State != lifecycle.Unknown && l.ID == t.TaskID() && t.Evidence(l) {
			all = append(all, answer{at: l.At, asked: l.Asked, state: l.State, stamp: l.Stamp})
		}
	}
	slices.SortStableFunc(all, func(a, b answer) int { return int(a.at - b.at) })
	return all
}

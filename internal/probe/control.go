package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// probeControl sends the message by a unary call, in a fresh context, and follows the task to where it rests.
func (s *session) probeControl(ctx context.Context, f *Fixture) *tape {
	t := s.sendMessage(ctx, s.rpc, s.message(f), true)
	s.rest(ctx, t)
	return t
}

// rest polls a task that a unary call began until it settles, at most until the task's deadline.
func (s *session) rest(ctx context.Context, t *tape) {
	if t.Fail != nil || t.TaskID() == "" || t.Ends() {
		return
	}
	wait := s.timing.Settle / 6
	for time.Since(t.Began) < s.timing.Task {
		l := s.look(ctx, s.rpc, t)
		if settled(l.State) || l.Code != 0 || l.Fail != nil || !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, s.timing.Settle)
	}
}

// controlSight is what the single-shot control shows.
type controlSight struct {
	works  bool
	reason trust.Reason
	text   string
}

// judgeControl says whether the single-shot path works: a Message, or a task that came to completed or to a question.
func judgeControl(t *tape) controlSight {
	if t == nil {
		return controlSight{}
	}
	if t.Fail != nil {
		return controlSight{reason: failReason(t.Fail), text: failText(t.Fail)}
	}
	if code, _, ok := t.Error(); ok {
		reason := trust.ReasonAgentFailing
		if r := codeReason(t.Generation, code, t.Status); r != trust.ReasonProbeRejected {
			reason = r
		}
		return controlSight{reason: reason, text: fmt.Sprintf("error %d", code)}
	}
	if t.MessageOnly() {
		return controlSight{works: true, text: "answered with a Message"}
	}
	state, ok := restState(t)
	switch {
	case !ok:
		return controlSight{reason: trust.ReasonUnexpectedAnswer, text: "an answer that is none of A2A"}
	case state == lifecycle.Completed || state.Interrupted():
		return controlSight{works: true, text: "reached " + string(state)}
	case state == lifecycle.Rejected:
		return controlSight{reason: trust.ReasonProbeRejected, text: string(state)}
	case state.Terminal():
		return controlSight{reason: trust.ReasonAgentFailing, text: string(state)}
	}
	return controlSight{reason: trust.ReasonProbeDeadlineExceeded, text: "still " + string(state) + " when " + t.ours()}
}

// controlWarnings lists what is odd about the single-shot path and costs nothing (C40, C45).
func controlWarnings(t *tape) []trust.Reason {
	if t == nil || t.Fail != nil || len(t.Marks) == 0 {
		return nil
	}
	var w []trust.Reason
	if t.Generation == wire.V10 && t.Marks[0].State.Active() {
		w = append(w, trust.WarnBlockingSendReturnedActive) // in 0.x a send may return at once
	}
	if t.Problems[wire.ProblemShape] > 0 {
		w = append(w, trust.WarnResultShapeMismatch)
	}
	return w
}

// restState is the last state known of a task begun by a unary call.
func restState(t *tape) (lifecycle.State, bool) {
	all := t.answers()
	if len(all) == 0 {
		return "", false
	}
	return all[len(all)-1].state, true
}

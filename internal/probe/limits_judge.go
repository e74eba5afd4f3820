package probe

import (
	"fmt"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeHistory adds to what is held of GetTask whether it kept a limit (1.0 §3.2.4): more than was asked for, twice, breaks it. That history is
// missing never does, and that none should be given where none was asked for is a SHOULD. 0.x leaves it all open (wire reference 7.7).
func judgeHistory(o trust.Observation, h historySeen) trust.Observation {
	if h.none > 0 {
		o.Warnings = append(o.Warnings, trust.WarnHistoryNotOmitted)
	}
	if h.one > 1 && h.again > 1 {
		return diverged(o, trust.ReasonHistoryLimitExceeded, lifecycle.Protocol, "1.0 §3.2.4",
			fmt.Sprintf("asked GetTask for one message of history, %d came; again on a new connection", h.one))
	}
	return o
}

// waited: the send took longer than a first sign of life may, and then brought the completed task. What came sooner is legal, whatever it
// brought.
func (x immediate) waited() bool {
	t := x.tape
	return t != nil && t.Fail == nil && !t.Streamed && t.EndAt >= x.patience && len(t.Marks) > 0 && t.Marks[0].State == lifecycle.Completed
}

// queued: it may have been the message that waited, before any task was made of it: for a worker, a cold start, or a limit on the way. The other
// message waited as well, or was not heard of.
func (x immediate) queued() bool {
	return x.other == nil || x.other.Fail != nil || x.tape.EndAt-x.other.EndAt < x.patience/2
}

// judgeImmediate adds whether a send that was to return at once waited for the end of its task (wire reference 7.10). 0.x only asks for it.
func judgeImmediate(o trust.Observation, x immediate) trust.Observation {
	t := x.tape
	if !x.waited() {
		return o
	}
	if t.Generation != wire.V10 || x.queued() {
		o.Warnings = append(o.Warnings, trust.WarnImmediateSendWaited)
		return o
	}
	return diverged(o, trust.ReasonReturnImmediatelyIgnored, lifecycle.Protocol, "1.0 §3.2.2",
		fmt.Sprintf("asked to return at once, the send of a long task was answered after %s, with the task completed; an ordinary one after %s", offset(t.EndAt), offset(x.other.EndAt)))
}

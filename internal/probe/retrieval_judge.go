package probe

import (
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeRetrieval says whether GetTask finds the task that the peer has just shown.
func judgeRetrieval(t *tape) trust.Observation {
	o := trust.Observation{Capability: trust.TaskRetrieval, Observed: t.account("")}
	if t.Fail != nil {
		return unlearned(o, failReason(t.Fail), "began a task, nothing of the protocol came back: "+failText(t.Fail))
	}
	if t.MessageOnly() {
		return unlearned(o, trust.ReasonMessageOnly, "the peer answers with a Message, there is no task to ask for")
	}
	n := countLooks(t)
	switch {
	case len(t.Looks) == 0:
		return unlearned(o, trust.ReasonNotExercised, "no task came about that could be asked for")
	case n.found > 0 && n.missing+n.other > 0 && !n.slow:
		return unlearned(o, trust.ReasonReplicaInconsistency, fmt.Sprintf(
			"GetTask found the running task %d times and missed it %d times: an in-memory store behind several replicas does so",
			n.found, n.missing+n.other))
	case n.found > 0 || n.foundLater > 0:
		return honored(o, "1.0 §3.1.3", "GetTask gave the task that was begun")
	case n.other > 0:
		return foreignTask(o, t, n)
	case n.unknown > 0:
		return unlearned(o, trust.ReasonTaskOpsUnavailable, "GetTask is not known there: a gateway may serve messages only")
	case n.missing >= 3 && n.fresh >= 1 && n.missing == n.all:
		return diverged(o, trust.ReasonTaskNotRetrievable, lifecycle.Protocol, "design 3, wire 7.5", fmt.Sprintf(
			"asked %d times, on new connections too, for a task that the open stream shows active: always TaskNotFound", n.missing))
	case n.missing > 0 || n.missingLater > 0:
		return unlearned(o, trust.ReasonNotExercised, "GetTask did not find the task, which may have ended and been purged")
	case n.failed != nil:
		return unlearned(o, failReason(n.failed), "asked for the task, nothing of the protocol came back: "+failText(n.failed))
	}
	return unlearned(o, trust.ReasonAgentFailing, fmt.Sprintf("GetTask answered with error %d", n.code))
}

// tally of the answers of GetTask. Only what was answered while the open stream showed the task active can count against the peer.
type tally struct {
	all, found, missing, other, fresh int // while the task was shown active; what is not found afterwards may have been purged
	foundLater, missingLater          int // afterwards
	// slow: the store missed the task at first only, and found it every time from then on, twice at least.
	slow    bool
	unknown int // -32601
	code    int
	failed  *wire.Error
}

func countLooks(t *tape) tally {
	var n tally
	id := t.TaskID()
	for _, l := range t.Looks {
		active := l.Open && t.Evidence(l) && t.activeAt(l.At)
		if active {
			n.all++
		}
		switch {
		case l.Fail != nil:
			n.failed = l.Fail
		case l.Code == codeMethodNotFound:
			n.unknown++
		case l.Code == codeTaskNotFound && active:
			n.missing++
			n.slow = n.found == 0
			if l.Fresh {
				n.fresh++
			}
		case l.Code == codeTaskNotFound:
			n.missingLater++
		case l.Code != 0:
			n.code = l.Code
		case l.ID == id && l.Open:
			n.found++
		case l.ID == id:
			n.foundLater++
		case l.ID != "":
			n.other++
		}
	}
	n.slow = n.slow && n.found >= 2
	return n
}

// activeAt says that a task that its open stream shows active at that moment was so: its end reached us later, by more than the stream may
// be late.
func (t *tape) activeAt(at time.Duration) bool {
	end := t.EndAt
	if t.Left != leftNot {
		end = t.LeftAt
	}
	if m, ok := t.Settled(); ok && m.At >= at {
		end = m.At
	}
	return at+t.Lateness() <= end
}

// foreignTask: GetTask answers with another id, every time. Where that is one and the same id and its state agrees with the stream's,
// somebody on the way rewrites ids (design 4.14). Where every answer has another id and GetTask knows these too, somebody may do so each
// time anew; one that belongs to no task is the peer's.
func foreignTask(o trust.Observation, t *tape, n tally) trust.Observation {
	if n.other < 2 {
		return unlearned(o, trust.ReasonNotExercised, "GetTask answered once with another id, and was not asked again")
	}
	if x := t.Strange; x != nil && x.Correlated && x.ID != t.TaskID() && sameOther(t, x.ID) {
		return diverged(o, trust.ReasonTaskIDMismatch, lifecycle.Protocol, "wire 7.5",
			fmt.Sprintf("asked %d times for one task, GetTask answered with another, by what tells tasks apart", n.other))
	}
	last, _ := t.Last()
	ids, agree := map[string]bool{}, true
	for _, l := range t.Looks {
		if l.ID != "" {
			ids[l.ID] = true
			agree = agree && (l.Open || l.State == last.State)
		}
	}
	if len(ids) == 1 && agree {
		return unlearned(o, trust.ReasonTaskIdentityUnstable,
			"GetTask answers under another id and follows the task all the same: something on the way rewrites task ids")
	}
	if x := t.Strange; x == nil || x.Code != codeTaskNotFound {
		return unlearned(o, trust.ReasonTaskIdentityUnstable,
			"GetTask answers under other ids and does not disown them: something on the way may rewrite task ids, each answer anew")
	}
	return diverged(o, trust.ReasonTaskIDMismatch, lifecycle.Protocol, "wire 7.5",
		fmt.Sprintf("asked %d times for one task, GetTask answered with another", n.other))
}

// sameOther: every answer of GetTask with another task told the same one.
func sameOther(t *tape, other string) bool {
	for _, l := range t.Looks {
		if l.ID != "" && l.ID != t.TaskID() && (!l.Correlated || l.ID != other || clashes(l.Correlated, l.ID)) {
			return false
		}
	}
	return true
}

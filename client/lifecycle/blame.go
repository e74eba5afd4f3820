package lifecycle

// OldTask is what GetTask says of the old id after a follow-up was answered with a new one.
type OldTask string

// The findings. The zero value means that nobody could tell.
const (
	OldTaskUnseen  OldTask = ""
	OldTaskStayed  OldTask = "Stayed"
	OldTaskMovedOn OldTask = "MovedOn"
)

// CompareOldTask compares the last state known before the follow-up with what GetTask says after it.
func CompareOldTask(before, after State) OldTask {
	switch {
	case !after.known():
		return OldTaskUnseen
	case before == after:
		return OldTaskStayed
	}
	return OldTaskMovedOn
}

// FollowUpEvidence is what a prober knows when a follow-up was answered with a new task id. Fields left out speak for the
// peer.
type FollowUpEvidence struct {
	// Old task after the answer, by GetTask on its id.
	Old OldTask
	// InputRequiredBefore says that GetTask itself said input-required just before the follow-up.
	InputRequiredBefore bool
	// HistoryPromise says that the card declares stateTransitionHistory on the 0.x interface in use.
	HistoryPromise bool
	// ClientMadeIDs says that the interface is of 0.1, where the client names the task.
	ClientMadeIDs bool
	// WorkingObserved says that working was seen of the old task.
	WorkingObserved bool
}

// Blame is whose fault a follow-up is that was answered with a new task id.
type Blame string

// The answers to "whose fault".
const (
	// BlamePeer: the peer diverged; charged to Continuation.
	BlamePeer Blame = "Diverged"
	// BlameGateway: the old task moved on all the same, so ids are being rewritten on the way. Inconclusive; a
	// correlation key would help.
	BlameGateway Blame = "TaskIdentityUnstable"
	// BlameNobody: a new task, and nothing promised otherwise. Inconclusive.
	BlameNobody Blame = "NotContinued"
)

// BlameContinuation decides whose fault it is (the operator's question), and on what basis if it is the peer's:
//
//	old task moved on                                          TaskIdentityUnstable
//	else GetTask said input-required just before               Diverged, Protocol, in every generation (C68)
//	else working observed, and client-made ids                 Diverged, Protocol (0.1: the ids must match)
//	else working observed, and transitions promised (0.x)      Diverged, Card (the founding incident)
//	else, or where GetTask could not tell                      NotContinued
func BlameContinuation(e FollowUpEvidence) (Blame, Basis) {
	switch {
	case e.Old == OldTaskMovedOn:
		return BlameGateway, ""
	case e.Old != OldTaskStayed:
		return BlameNobody, ""
	case e.InputRequiredBefore:
		return BlamePeer, Protocol
	case e.WorkingObserved && e.ClientMadeIDs:
		return BlamePeer, Protocol
	case e.WorkingObserved && e.HistoryPromise:
		return BlamePeer, Card
	}
	return BlameNobody, ""
}

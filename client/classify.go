package client

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Verdict says what an error means for a peer's trust.
type Verdict struct {
	// Report: it may be reported against the peer.
	Report bool
	// Capability is who is charged, if the error says so, and Reason why. Where it does not, because the peer refused an operation and only
	// the caller knows which, both are empty: see For.
	Capability v1alpha1.CapabilityName
	Reason     v1alpha1.Reason
	// Basis is what was contradicted. Only Card and Protocol can cost trust; Deadline and Behaviour bring a probe.
	Basis lifecycle.Basis
	// TaskID as the peer gave it, and the transitions seen of it; empty where the error is about no task.
	TaskID   string
	Observed []string
}

// Classify says what may be reported against a peer. What says nothing of the peer's contract never may: a network fault, a redirect,
// 401, 403, 404, 405, 429, a 5xx without a protocol body, a deadline or cancel of our own, a prompt that the agent would not take, an
// agent that fails, and whatever it does not know. nil is nothing to report.
//
//	*ChargedError                                 as it says
//	*AgentCardContractViolation                   Lifecycle; basis as it says
//	*AgentCardDivergenceError                     Continuation or, of basis Deadline, Lifecycle; never more than Behaviour, since
//	                                              nobody has asked whose fault it is (lifecycle.BlameContinuation)
//	push notifications not supported              PushNotifications, Card
//	extended card not configured                  ExtendedAgentCard, Card
//	content type not supported                    InputModes, Behaviour: only the caller knows whether the card declares it
//	operation not supported, method not found     no capability, Card: see For
func Classify(err error) Verdict {
	var charged *ChargedError
	var broken *lifecycle.AgentCardContractViolation
	var diverged *lifecycle.AgentCardDivergenceError
	switch {
	case err == nil:
		return Verdict{}
	case errors.As(err, &charged):
		return Verdict{
			Report: charged.Basis != "" && charged.Capability != "" && charged.Reason != "", Capability: charged.Capability,
			Reason: charged.Reason, Basis: charged.Basis, TaskID: charged.TaskID, Observed: charged.Observed,
		}
	case errors.As(err, &broken):
		return Verdict{Report: true, Capability: v1alpha1.CapabilityLifecycle, Reason: brokenRule(broken.Rule), Basis: broken.Basis, TaskID: broken.TaskID}
	case errors.As(err, &diverged) && diverged.Basis == lifecycle.Deadline:
		return Verdict{Report: true, Capability: v1alpha1.CapabilityLifecycle, Reason: v1alpha1.ReasonStuck, Basis: lifecycle.Deadline, TaskID: diverged.TaskID}
	case errors.As(err, &diverged):
		return Verdict{
			Report: true, Capability: v1alpha1.CapabilityContinuation, Reason: v1alpha1.ReasonTaskIdChangedOnContinuation,
			Basis: lifecycle.Behaviour, TaskID: diverged.TaskID,
		}
	case errors.Is(err, a2a.ErrPushNotificationNotSupported):
		return Verdict{Report: true, Capability: v1alpha1.CapabilityPushNotifications, Reason: v1alpha1.ReasonPushConfigRefused, Basis: lifecycle.Card}
	case errors.Is(err, a2a.ErrExtendedCardNotConfigured):
		return Verdict{Report: true, Capability: v1alpha1.CapabilityExtendedAgentCard, Reason: v1alpha1.ReasonExtendedCardNotConfigured, Basis: lifecycle.Card}
	case errors.Is(err, a2a.ErrUnsupportedContentType):
		return Verdict{Report: true, Capability: v1alpha1.CapabilityInputModes, Reason: v1alpha1.ReasonDeclaredModeRefused, Basis: lifecycle.Behaviour}
	case refusesOperation(err):
		return Verdict{Report: true, Basis: lifecycle.Card}
	}
	return Verdict{}
}

// For names who is charged where the error does not: capability is what the refused operation was for. Where refusing is legal, or says
// nothing without more evidence, nothing may be reported.
func (v Verdict) For(capability v1alpha1.CapabilityName) Verdict {
	if !v.Report || v.Capability != "" {
		return v
	}
	reason, ok := refusalReasons[capability]
	if !ok {
		return Verdict{}
	}
	v.Capability, v.Reason = capability, reason
	return v
}

// refusalReasons of capabilities whose operation a card declares. The core operations are not among them: an agent may refuse a cancel or
// an early follow-up, and where a gateway serves messages alone no method of tasks is known.
var refusalReasons = map[v1alpha1.CapabilityName]v1alpha1.Reason{
	v1alpha1.CapabilityStreaming:         v1alpha1.ReasonStreamingRefused,
	v1alpha1.CapabilityPushNotifications: v1alpha1.ReasonPushConfigRefused,
	v1alpha1.CapabilityExtendedAgentCard: v1alpha1.ReasonExtendedCardRefused,
}

func refusesOperation(err error) bool {
	return errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrMethodNotFound)
}

func brokenRule(r lifecycle.Rule) v1alpha1.Reason {
	switch r {
	case lifecycle.TerminalIsFinal:
		return v1alpha1.ReasonTerminalStateNotFinal
	case lifecycle.WorkingFirst:
		return v1alpha1.WarningInputRequiredWithoutWorking
	}
	return v1alpha1.ReasonStuck
}

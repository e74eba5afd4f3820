package client

import (
	"errors"
	"fmt"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// The errors of the lifecycle, under the names that callers look for. Use errors.As.
type (
	// AgentCardDivergenceError says that what was observed of a task contradicts what was declared or owed: the agent broke its contract,
	// which is not the same as an agent that failed.
	AgentCardDivergenceError = lifecycle.AgentCardDivergenceError
	// AgentCardContractViolation is one that breaks a named rule of the task's life.
	AgentCardContractViolation = lifecycle.AgentCardContractViolation
)

// Errors of tasks. Each is wrapped in one that says more; use errors.Is.
var (
	// ErrPeerUnavailable: the decision says that the peer is not to be used now. Nothing was sent.
	ErrPeerUnavailable = errors.New("peer is unavailable")
	// ErrNoAnswer: the agent asks for input and TaskOptions.OnInput had nothing to say, or there is none.
	ErrNoAnswer = errors.New("task asks for input and gets none")
	// ErrTooManyTurns: the agent asked more often than TaskOptions.MaxTurns.
	ErrTooManyTurns = errors.New("task asks for input again and again")
	// ErrTooLarge: the agent sent more than TaskOptions.MaxBytes.
	ErrTooLarge = errors.New("task yields more than may be kept")
	// ErrTaskGone: the agent does not know the task that it had shown.
	ErrTaskGone = errors.New("task is not known any more")
	// ErrNotAllowed: what was observed of the task does not allow this move; see lifecycle.ObservedTask.Allows.
	ErrNotAllowed = errors.New("move is not allowed by what was observed")
	// ErrUncertain: whether the message began a task is not known, so it may not be sent again; see TaskOptions.Idempotent.
	ErrUncertain = errors.New("whether a task was begun is not known")
)

// ChargedError is a divergence with the capability that is charged for it. Classify reads it; PeerCapabilityCache.Demote reports it.
// Its text is ours and holds nothing that the peer wrote.
type ChargedError struct {
	// Capability that is charged, Reason one of docs/reasons.md.
	Capability v1alpha1.CapabilityName
	Reason     v1alpha1.Reason
	// Basis is what was contradicted. Empty: nothing speaks against the peer, so it may not be reported.
	Basis lifecycle.Basis
	// TaskID as the peer gave it.
	TaskID string
	// Observed lists the transitions seen with their offsets, such as working@12ms.
	Observed []string
	// Err is the cause; nil if the reason says it all.
	Err error
}

func (e *ChargedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s: %s", e.Capability, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %v", e.Capability, e.Reason, e.Err)
}

// Unwrap gives the cause.
func (e *ChargedError) Unwrap() error { return e.Err }

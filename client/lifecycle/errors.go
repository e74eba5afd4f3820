package lifecycle

import "fmt"

// AgentCardDivergenceError says that what was observed of a task contradicts what was declared or owed. Use errors.As
// with a *AgentCardDivergenceError. The text leaves the task's id out: the peer chose it.
type AgentCardDivergenceError struct {
	// TaskID as the peer gave it.
	TaskID string
	// Declared is what the card or the protocol let us expect.
	Declared string
	// Observed is what came instead.
	Observed string
	// Detail is one sentence for people.
	Detail string
	// Basis is what was contradicted. Deadline and Behaviour accuse nobody.
	Basis Basis
}

func (e *AgentCardDivergenceError) Error() string {
	return fmt.Sprintf("task diverged from its card: declared %q, observed %q (basis %s): %s",
		e.Declared, e.Observed, e.Basis, e.Detail)
}

// Rule names a rule of the lifecycle that a task broke.
type Rule string

// The rules.
const (
	// TerminalIsFinal: a terminal state was left (case C71). Basis Protocol.
	TerminalIsFinal Rule = "TerminalIsFinal"
	// WorkingFirst: input-required without working before it, although transitions were promised and none was missed.
	// Basis Behaviour: no text forbids it, so it warns and never demotes.
	WorkingFirst Rule = "WorkingFirst"
	// EndsByHardDeadline: not terminal past the hard deadline. Basis Deadline.
	EndsByHardDeadline Rule = "EndsByHardDeadline"
)

// AgentCardContractViolation is a divergence that breaks a rule of the task's life. errors.As finds it as itself and as a
// *AgentCardDivergenceError.
type AgentCardContractViolation struct {
	AgentCardDivergenceError
	Rule Rule
}

func (e *AgentCardContractViolation) Error() string {
	return fmt.Sprintf("task broke rule %s: declared %q, observed %q (basis %s): %s",
		e.Rule, e.Declared, e.Observed, e.Basis, e.Detail)
}

// Unwrap gives the divergence in general terms.
func (e *AgentCardContractViolation) Unwrap() error { return &e.AgentCardDivergenceError }

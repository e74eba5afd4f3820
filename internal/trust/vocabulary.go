package trust

import (
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Capability names what is judged.
type Capability string

// Capabilities that a card declares.
const (
	Streaming         Capability = "Streaming"
	PushNotifications Capability = "PushNotifications"
	ExtendedAgentCard Capability = "ExtendedAgentCard"
)

// Core behaviours, which no card declares and every peer owes.
const (
	TaskRetrieval  Capability = "TaskRetrieval"
	Cancellation   Capability = "Cancellation"
	Continuation   Capability = "Continuation"
	Resubscription Capability = "Resubscription"
	InputModes     Capability = "InputModes"
	Lifecycle      Capability = "Lifecycle"
)

// StateTransitionHistory is a key of 0.x cards and never graded: it has no normative observable.
const StateTransitionHistory Capability = "StateTransitionHistory"

// Core tells a core behaviour from a capability that cards declare.
func (c Capability) Core() bool {
	switch c {
	case TaskRetrieval, Cancellation, Continuation, Resubscription, InputModes, Lifecycle:
		return true
	}
	return false
}

// Declaration is what a card says of a capability. It is empty for core behaviours.
type Declaration string

// False, absent, null and a wrong type are all NotDeclared.
const (
	Declared    Declaration = "Declared"
	NotDeclared Declaration = "NotDeclared"
)

// State is what we hold of a capability.
type State string

// The trust states. The zero value is not one of them; a fresh record is Unverified.
const (
	Unverified State = "Unverified"
	Trusted    State = "Trusted"
	Demoted    State = "Demoted"
)

// Outcome is what one probe saw.
type Outcome string

// Inconclusive counts for nothing: it only ages what is known.
const (
	Honored      Outcome = "Honored"
	Diverged     Outcome = "Diverged"
	Inconclusive Outcome = "Inconclusive"
)

// Observation is what one probe measured of one capability. Probes fill it; only this package judges it.
// No field holds text that a peer chose, except task ids, states and media types that passed the safe alphabet.
type Observation struct {
	Capability Capability
	Outcome    Outcome
	// Reason is a constant of this package (reasons.go); never empty.
	Reason Reason
	// Basis of a divergence; empty unless Outcome is Diverged.
	Basis lifecycle.Basis
	// Message is one line for people: what was asked, what came back, what was expected.
	Message string
	// Observed lists the transitions seen with their offsets, such as "working@12ms", "end@310ms".
	Observed []string
	// Warnings are findings that cost no trust.
	Warnings []Reason
	// Explicit marks a contradiction that the peer states itself, such as an UnsupportedOperation answer.
	// It demotes at once if Confirmed.
	Explicit bool
	// Confirmed says that an Explicit refusal was repeated in the same round, at least 5 s later, on a new connection.
	Confirmed bool
	// ControlFailed says that the single-shot control of this round failed.
	ControlFailed bool
	// Pair is set where a stream and a control ran side by side; it feeds the paired comparison.
	Pair *Pair
	// ProbedWith lists the keys of metadata that the probe message carried.
	ProbedWith []string
	// RefusedModes lists the declared input modes that are known to be refused, those of earlier rounds included (InputModes only). They are
	// media types of the safe alphabet, sorted, at most MaxRefusedModes.
	RefusedModes []string
	// DeliveredTo names the receiver that the peer called (PushNotifications only); empty if it called none.
	DeliveredTo string
	// Tasks that this question sent to the peer's handler. What it shares with another is counted where it was begun.
	Tasks int
	// Rule names what decided: a spec section ("1.0 §3.1.2"), a rule of the design or a case id ("C01").
	Rule string
}

// Pair is one side-by-side comparison of the streaming path with the single-shot path.
type Pair struct {
	StreamFailed  bool
	ControlFailed bool
	// Unexcused says that the stream failed although the agent did not: its own task was seen to come to a good end, or what
	// it sent is nothing that a failing agent sends. Never set for a stream that ended empty.
	Unexcused bool
	// Alone says that no control was asked beside the stream.
	Alone bool
	// Reason of what a failed stream showed; empty for a good one.
	Reason Reason
}

// RoundKind is the tier of a round.
type RoundKind string

// Reachability never reaches the model; Behavior runs real tasks.
const (
	Reachability RoundKind = "Reachability"
	Behavior     RoundKind = "Behavior"
)

// Claims is what a card claims, as far as trust needs it.
type Claims struct {
	// Digest of the claims; empty if no card was read.
	Digest string
	// Declared holds Streaming, PushNotifications, ExtendedAgentCard and StateTransitionHistory.
	Declared map[Capability]Declaration
	// Legacy is a 0.x interface; NoCapabilities a 0.x card without a capabilities member, on which core
	// behaviours only warn.
	Legacy         bool
	NoCapabilities bool
}

// Round is what the Runner learned in one round, without Kubernetes and without peer text.
type Round struct {
	// Number counts up from 1; only the number after the last one folded counts.
	Number int64
	Kind   RoundKind
	// Requested charges the tasks to the share of requested rounds (Plan.Requested).
	Requested bool
	// Reported: reports brought it forward. What it does not learn changes no schedule.
	Reported bool
	// Unmarked: the peer could not tell it from its users' traffic by our mark.
	Unmarked bool
	Started  time.Time
	Finished time.Time
	// Claims of the card read in this round; zero if none was.
	Claims Claims
	// Reach is the outcome of the reachability tier: Honored or Inconclusive with its reason.
	Reach Observation
	// Usable is false where no interface of a valid card can be used (reason in Reach).
	Usable bool
	// Asked lists the capabilities that this round meant to ask, Observations what came of it.
	Asked        []Capability
	Observations []Observation
	// Tasks that reached the peer's handler.
	Tasks int
	// Signature of the card read in this round; zero if none was read, or its signatures are not verified. The times in it are not used.
	Signature Signature
}

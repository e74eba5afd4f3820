package probe

import (
	"slices"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// MaxInterfaces bounds how many of a card's interfaces are looked at and reported.
const MaxInterfaces = 8

// InterfaceState is what became of one declared interface. None of them costs trust in a capability (design 3).
type InterfaceState string

// The states of an interface.
const (
	InterfaceUsed        InterfaceState = "Used"        // questions are asked there
	InterfaceReachable   InterfaceState = "Reachable"   // answers in the binding and generation that it names
	InterfaceUnreachable InterfaceState = "Unreachable" // nothing of the protocol came back
	InterfaceMismatch    InterfaceState = "Mismatch"    // answers in another generation or binding, or knows no A2A method
	InterfaceNotAllowed  InterfaceState = "NotAllowed"  // an origin or address that may not be asked
	InterfaceNotSpoken   InterfaceState = "NotSpoken"   // a binding, version or address that is not used here
	InterfaceUnknown     InterfaceState = "Unknown"     // not looked at in this round, or nothing was learned
)

// InterfaceReport is what became of one interface that the card declares.
type InterfaceReport struct {
	Interface card.Interface
	State     InterfaceState
	// Reason says why, where all is not well; empty for Used, Reachable and what was not looked at.
	Reason trust.Reason
	// Spoken is what answers there instead, where that was found out ("0.3", "JSONRPC"); Mismatch only.
	Spoken string
	// Confirmed: Unreachable or Mismatch was seen twice in the round, on a new connection.
	Confirmed bool
}

// judgeInterface says what one look at an interface tells (wire reference 7.1).
func judgeInterface(c contact) (InterfaceState, trust.Reason) {
	r := c.reach.Reason
	switch {
	case c.refusal != nil:
		return InterfaceMismatch, c.refusal.reason
	case c.reach.Outcome == trust.Honored:
		return InterfaceReachable, ""
	}
	switch r {
	case trust.ReasonOriginNotAllowed, trust.ReasonAddressNotAllowed:
		return InterfaceNotAllowed, r
	case trust.ReasonUnreachable, trust.ReasonServerError, trust.ReasonEndpointNotFound, trust.ReasonUnexpectedAnswer:
		return InterfaceUnreachable, r
	}
	// Somebody is there and means us, or our time was up: credentials, limits, redirects.
	return InterfaceUnknown, r
}

// sound says that a state is no finding.
func (s InterfaceState) sound() bool { return s != InterfaceUnreachable && s != InterfaceMismatch }

// together weighs two looks at one interface: a finding counts if both made it.
func together(first, second InterfaceReport) InterfaceReport {
	switch {
	case first.State.sound():
		return first
	case second.State == first.State:
		second.Confirmed = true
		return second
	case second.State == InterfaceReachable:
		return second
	}
	second.State, second.Reason = InterfaceUnknown, trust.ReasonReplicaInconsistency
	return second
}

// interfaceWarnings are what the card is warned of because of its interfaces.
func interfaceWarnings(list []InterfaceReport) []card.Warning {
	var w []card.Warning
	for _, i := range list {
		switch {
		case i.State == InterfaceUnreachable && i.Confirmed:
			w = append(w, card.InterfaceUnreachable)
		case i.State == InterfaceMismatch && i.Confirmed:
			w = append(w, card.InterfaceMismatch)
		}
	}
	slices.Sort(w)
	return slices.Compact(w)
}

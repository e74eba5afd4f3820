package trust

import "time"

// DefaultPolicy holds the defaults of the design.
func DefaultPolicy() Policy { panic("not built") }

// Advance folds one round into what is known of a peer. A round that is not the next one changes nothing
// (folded is false). target is whom the round asked.
func Advance(p Peer, target string, r Round, policy Policy, now time.Time) (next Peer, transitions []Transition, folded bool) {
	panic("not built")
}

// Lapse writes down what the clock alone has changed: trust past its expiration is Unverified.
func Lapse(p Peer, now time.Time) (Peer, []Transition) { panic("not built") }

// Retarget resets everything that was learned of another target. How often we asked stays.
func Retarget(p Peer, target string, now time.Time) (Peer, []Transition) { panic("not built") }

// Schedule says when to look again and at what.
func Schedule(p Peer, in PlanInput, now time.Time) Plan { panic("not built") }

// Decide computes the decision from what is known at now.
func Decide(p Peer, in DecideInput, now time.Time) Decision { panic("not built") }

// Doubt lists, sorted, the capabilities that one more soft contradiction would demote: before it is reported the card
// is fetched afresh (design 4.4).
func Doubt(p Peer, policy Policy, now time.Time) []Capability { panic("not built") }

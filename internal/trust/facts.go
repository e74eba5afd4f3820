package trust

import "time"

// Truth is the status of a fact, spelt as the conditions of Kubernetes spell it.
type Truth string

// The three truths.
const (
	True    Truth = "True"
	False   Truth = "False"
	Unknown Truth = "Unknown"
)

// Fact is one sentence about a peer, for conditions.
type Fact struct {
	Status Truth
	// Capability that decided, the first by name; empty if none did.
	Capability Capability
	Reason     Reason
}

// AllTrusted tells whether every declared or required capability is trusted at now (design 4.11): False if any of them
// is Demoted, True if all have live trust, else Unknown. A capability that cannot be asked for want of a fixture does
// not count, unless it is required.
func AllTrusted(p Peer, required []Capability, now time.Time) Fact {
	panic("not built")
}

// Requirements tells whether every required capability has live trust: False names the first that is Demoted or not
// declared, Unknown the first that is still Unverified. Nothing required is True.
func Requirements(p Peer, required []Capability, now time.Time) Fact {
	panic("not built")
}

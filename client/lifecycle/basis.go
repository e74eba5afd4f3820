package lifecycle

// Basis says what an observation contradicts. Only Card and Protocol can cost trust.
type Basis string

// The four bases of a divergence.
const (
	Card      Basis = "Card"      // a declared capability is not there
	Protocol  Basis = "Protocol"  // a MUST of the generation spoken is broken
	Deadline  Basis = "Deadline"  // our expectation of time was not met
	Behaviour Basis = "Behaviour" // odd, and no text forbids it
)

package lifecycle

// State is a task state in the one spelling that this project uses: the lower-case words of A2A 0.x.
type State string

// The states of all generations. 0.1 has no AuthRequired and no Rejected.
const (
	Submitted     State = "submitted"
	Working       State = "working"
	InputRequired State = "input-required"
	AuthRequired  State = "auth-required"
	Completed     State = "completed"
	Canceled      State = "canceled"
	Failed        State = "failed"
	Rejected      State = "rejected"
	// Unknown carries no information: the 0.x word "unknown", TASK_STATE_UNSPECIFIED, an absent state,
	// or a word that no generation defines.
	Unknown State = "unknown"
)

// Basis says what an observation contradicts. Only Card and Protocol can cost trust.
type Basis string

// The four bases of a divergence.
const (
	Card      Basis = "Card"      // a declared capability is not there
	Protocol  Basis = "Protocol"  // a MUST of the generation spoken is broken
	Deadline  Basis = "Deadline"  // our expectation of time was not met
	Behaviour Basis = "Behaviour" // odd, and no text forbids it
)

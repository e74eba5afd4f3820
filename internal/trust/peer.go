package trust

import "time"

// Policy is how strictly and how often a peer is judged. The caller fills every field; this package has no defaults
// of its own beyond DefaultPolicy.
type Policy struct {
	// Interval between behaviour rounds (1 h); ConfirmInterval after a first contradiction (2 m);
	// ReachabilityInterval between cheap rounds (5 m).
	Interval, ConfirmInterval, ReachabilityInterval time.Duration
	// Duration that trust in an every-round capability lasts (3 h); others last CadenceRounds times as long.
	Duration time.Duration
	// DemoteDiverged contradictions among the last DemoteOfLast conclusive rounds demote (2 of 3).
	DemoteDiverged, DemoteOfLast int
	// RestoreAfter clean rounds lift a demotion (2).
	RestoreAfter int
	// MinDemotion and MaxDemotion bound the time a demotion lasts at least (15 m, 6 h).
	MinDemotion, MaxDemotion time.Duration
	// MaxTasksPerDay that may reach the peer's handler in any 24 h (72).
	MaxTasksPerDay int
	// SkipReachability is reachability mode None: no cheap rounds, and behaviour is not held back by them.
	SkipReachability bool
}

// CadenceRounds is how many behaviour rounds pass between two probes of every capability but Streaming.
const CadenceRounds = 6

// Peer is everything that the operator remembers of one peer between rounds: what status holds, without Kubernetes.
// The zero value is a peer never seen. It is a value: Advance returns a new one and leaves its argument alone.
type Peer struct {
	// Target these verdicts are about; a change resets everything but Rounds' number and budget.
	Target string
	Claims Claims
	// ClaimsSince is when Claims last took the place of others, known or new; zero while the first sight still stands.
	// Two intervals from it nothing is demoted.
	ClaimsSince time.Time
	// Digests seen lately, newest first, bounded.
	Digests []Digest
	// Records, sorted by capability name.
	Records []Record
	Rounds  Rounds
	// Signature of the card; zero if none was verified.
	Signature Signature
}

// Digest is one claim set seen lately and what was trusted under it.
type Digest struct {
	Digest   string
	LastSeen time.Time
	// FirstSeen counts towards CardUnstable; zero for the claim set of the first sight, which was no change.
	FirstSeen time.Time
	// Held is what was held of each capability when the claim set was last current.
	Held []Held
}

// Held is one remembered verdict of another claim set.
type Held struct {
	Capability Capability
	State      State
	Expiration time.Time
}

// Rounds is the account of rounds: numbering, reachability streak and budget.
type Rounds struct {
	// Last round folded.
	Last int64
	// LastTime and LastKind of the last round folded; LastBehavior of the last behaviour round.
	LastTime     time.Time
	LastBehavior time.Time
	// LastCheap is the last round of any kind that showed whether the peer is reachable.
	LastCheap time.Time
	// ReachReason of the last round; ReachFailures in a row; ReachableSince the end of the last failing streak.
	ReachReason    Reason
	ReachFailures  int
	ReachableSince time.Time
	// MessageOnly answers in a row (three skip task probes until the card changes).
	MessageOnly int
	// Usable and UsableReason: whether a usable interface stood on a valid card when last seen.
	Usable       bool
	UsableReason Reason
	// Behaviors counts behaviour rounds folded: every sixth asks the control.
	Behaviors int64
	// ControlFailedAt is the value of Behaviors when a single-shot control last failed; zero if none ever did. Within
	// ten behaviour rounds of it the agent counts as flaky.
	ControlFailedAt int64
	// Tasks spent per hour of the last 24 h, newest first: Tasks[0] in the hour that began at TasksHour, at most 25.
	TasksHour time.Time
	Tasks     []int
	// RequestedTasks is the part of Tasks that requested rounds spent, hour by hour as in Tasks; trailing zeros are cut.
	RequestedTasks []int
}

// Record is what is held of one capability.
type Record struct {
	Capability Capability
	Declared   Declaration
	State      State
	Reason     Reason
	Message    string
	Observed   []string
	Warnings   []Reason
	ProbedWith []string
	Rule       string
	// RefusedModes are the declared input modes that are known to be refused (InputModes only), sorted, at most MaxRefusedModes.
	RefusedModes []string
	// DeliveredTo names the receiver of ours that the peer called last (PushNotifications only): one that called before and falls silent has
	// no excuse (wire reference 7.4). Other claims, or another target, may be elsewhere: they begin anew.
	DeliveredTo string
	// Recent conclusive outcomes, newest first, at most 10.
	Recent []Result
	// LastOutcome and LastReason of the last probe, conclusive or not; zero if never probed.
	LastOutcome Outcome
	LastReason  Reason
	LastTime    time.Time
	// Transition is when State last changed.
	Transition time.Time
	// Expiration of trust; zero unless Trusted.
	Expiration time.Time
	// NextProbe of this capability; zero means as soon as a round runs.
	NextProbe time.Time
	// Demotions so far, shrinking with good conduct; DemotedUntil is the earliest lift.
	Demotions    int
	DemotedUntil time.Time
	// Clean rounds in a row since the demotion.
	Clean int
	// Relapsed says that a contradiction was seen again since the demotion: the demotion was no mistake.
	Relapsed bool
	// GoodSince is since when a capability once demoted has behaved; it pays off Demotions. Zero if Demotions is.
	GoodSince time.Time
	// Pairs of the paired comparison in progress.
	Pairs Pairs
	// Honored is when the round began that last saw the capability work: whoever saw it fail before that knows less. Zero if none did.
	Honored time.Time
	// Source of the state, and Reports that had to do with it.
	Source  Source
	Reports Reports
}

// Result is one remembered conclusive outcome. Reason and Time are kept for Diverged only.
type Result struct {
	Outcome       Outcome
	Reason        Reason
	Time          time.Time
	ControlFailed bool
	// Unexcused contradictions of Streaming are none that the agent's own failing could look like (Pair.Unexcused).
	Unexcused bool
}

// Pairs accumulates the comparison of streams with controls. Zero when none is in progress.
type Pairs struct {
	Since time.Time
	// LastDiscordant is when one path last failed and the other worked; a day later the comparison is dropped.
	LastDiscordant time.Time
	// Score is the evidence against the stream in hundredths of a nat (pairs.go).
	Score         int
	StreamOnly    int // stream failed, control worked
	ControlOnly   int // control failed, stream worked
	Both, Neither int // both failed; both worked
	// Alone: streams are watched without controls, as every bad one showed by its own task that the agent worked.
	Alone bool
}

// Transition is a change of trust state, for events and counters.
type Transition struct {
	Capability Capability
	From, To   State
	Reason     Reason
	// FirstReprobe marks a demotion lifted by the first probes after it with unchanged claims: the proxy for a
	// false demotion.
	FirstReprobe bool
	// Source of the new state.
	Source Source
}

// Plan is when to look again, and at what.
type Plan struct {
	Kind RoundKind
	// At is when the round is due; a time not after now means now. Zero: never (suspended, or nothing to ask).
	At time.Time
	// Ask lists the capabilities of a Behavior round, sorted.
	Ask []Capability
	// Requested says that this round answers PlanInput.Requested; copy it into Round.Requested, which charges it to the
	// share of requested rounds.
	Requested bool
	// Reported says that reports brought this round forward (PlanInput.Reported); copy it into Round.Reported.
	Reported bool
	// Unmarked says that nothing in this round may tell it from a user's traffic: probes and reports disagree about what it asks.
	Unmarked bool
	// SingleShot says that streams are known not to work and are not what this round asks: it follows its tasks without them.
	SingleShot bool
	// Control asks for the single-shot control beside a good stream (first round, every sixth, and pairs).
	Control bool
	// Pairs says that streams are being compared with controls: one stream and one control tell all, a second stream
	// after a bad one would only cost.
	Pairs bool
	// Reason says why the round is held back, if it is ("BudgetExhausted", "AuthenticationRequired", "MessageOnly").
	Reason Reason
}

// PlanInput is what schedules a peer besides its memory.
type PlanInput struct {
	Policy Policy
	// Seed spreads peers over the interval; the same seed gives the same jitter.
	Seed uint64
	// Requested asks for a behaviour round now, out of the reserved third of the budget.
	Requested bool
	// Reported are capabilities that reports doubt (Weigh): the next round of them comes sooner, out of half of what is kept for requests.
	Reported  []Capability
	Suspended bool
	// Fixtures tells which capabilities can be asked at all; the others are NoFixture.
	Fixtures map[Capability]bool
	// Cost of asking each capability, in tasks, at worst; CostControl of the control.
	Cost        map[Capability]int
	CostControl int
}

// Path is how an orchestrator should reach the peer.
type Path string

// Unavailable is rare on purpose: a caller finds a dead peer faster than we do.
const (
	PathStreaming   Path = "Streaming"
	PathSingleShot  Path = "SingleShot"
	PathUnavailable Path = "Unavailable"
)

// The words of a decision.
const (
	Interactive      = "Interactive"
	AllInputsUpfront = "AllInputsUpfront"
	Reliable         = "Reliable"
	BestEffort       = "BestEffort"
	Push             = "Push"
	Poll             = "Poll"
)

// Decision is what an orchestrator does now.
type Decision struct {
	Path       Path
	MultiTurn  string
	Cancel     string
	Updates    string
	Reason     Reason
	Expiration time.Time
	// Would is the decision that Enforce would have made; nil unless mode is Observe.
	Would *Decision
}

// DecideInput is what decides besides the peer's memory.
type DecideInput struct {
	// Observe: states as judged, decision as the card says.
	Observe bool
	// Interval between behaviour rounds: the decision takes the worst of the claim sets seen within two of them. Zero
	// means the default, 1 h.
	Interval time.Duration
	// RequireSignature: without a signature that stands over all of the card the peer is Unavailable, in mode Observe too, as it is said of
	// whom we talk to and not of how it behaves.
	RequireSignature bool
	// Baseless, if set, says why nothing may be decided on what is known: the spec as it stands names another peer, or nobody.
	Baseless Reason
}

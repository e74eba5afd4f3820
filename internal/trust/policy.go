package trust

import "time"

// The numbers that no spec can change.
const (
	// Window is how many conclusive outcomes are remembered of each capability.
	Window = 10
	// MaxDigests is how many claim sets are remembered, the current one included.
	MaxDigests = 4
	// MaxNewDigests in 24 h that a peer may show before its card counts as unstable.
	MaxNewDigests = 3
	// UnreachableAfter failing rounds in a row a peer counts as not reachable (condition Reachable, design 4.11).
	UnreachableAfter = 3
	// MessageOnlyAfter answers in a row that were Messages, task probes are skipped until the card changes (design 4.9).
	MessageOnlyAfter = 3

	// MaxRefusedModes is how many refused input modes are remembered and published.
	MaxRefusedModes = 8

	day = 24 * time.Hour
	// graceIntervals is how many intervals after a claims change or after becoming reachable nothing is demoted.
	graceIntervals = 2
)

// DefaultPolicy holds the defaults of the design.
func DefaultPolicy() Policy {
	return Policy{
		Interval:             time.Hour,
		ConfirmInterval:      2 * time.Minute,
		ReachabilityInterval: 5 * time.Minute,
		Duration:             3 * time.Hour,
		DemoteDiverged:       2,
		DemoteOfLast:         3,
		RestoreAfter:         2,
		MinDemotion:          15 * time.Minute,
		MaxDemotion:          6 * time.Hour,
		MaxTasksPerDay:       72,
	}
}

// Cadence is how often a capability is asked: Streaming every interval, the rest every sixth.
func (p Policy) Cadence(c Capability) time.Duration {
	if c == Streaming {
		return p.Interval
	}
	return CadenceRounds * p.Interval
}

// Trust is how long one honoured probe of a capability is good for: Duration, scaled with its cadence.
func (p Policy) Trust(c Capability) time.Duration {
	if c == Streaming {
		return p.Duration
	}
	return CadenceRounds * p.Duration
}

// demotion is the least time that the n-th demotion lasts: doubled each time, up to the cap.
func (p Policy) demotion(n int) time.Duration {
	d := p.MinDemotion
	for i := 1; i < n && d < p.MaxDemotion; i++ {
		d *= 2
	}
	return min(d, p.MaxDemotion)
}

// within bounds d from below and above; the lower bound yields if they cross.
func within(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }

package probe

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Target is whom to ask and how: a spec with its references resolved, without Kubernetes. Two targets of equal ID are the same peer.
type Target struct {
	// Key names the peer among others (namespace/name).
	Key string
	// ID is whom verdicts are about (the URL, and the serviceRef it came from).
	ID string
	// URL the card is found under and the origin that credentials may go to.
	URL *url.URL
	// CardPath is an explicit path of the card, absolute on the origin; empty: both well-known names below URL.
	CardPath string
	// AllowedOrigins that the card's interfaces may use besides the origin of URL.
	AllowedOrigins []string
	Preference     card.Preference
	Credentials    wire.Credentials
	RootCAs        []byte
	// Allow and AllowHosts open the dialer's guard (see wire.Options).
	Allow      []netip.Prefix
	AllowHosts []string
	Timing     Timing
	Fixtures   Fixtures
}

// Timing bounds a probe. The caller fills every field.
type Timing struct {
	// FirstEvent (20 s), Idle (30 s, starts the cross-check), Grace after a terminal or interrupted state (5 s) and Task in all (90 s).
	FirstEvent, Idle, Grace, Task time.Duration
	// Repeat is the least time before an explicit refusal is asked again on a new connection (5 s).
	Repeat time.Duration
	// Wait (30 s) and Hard (5 m) are the seeds' waitDeadline and hardDeadline.
	Wait, Hard time.Duration
	// Settle is how long after the end Lifecycle and Cancellation look again (3 s); Late is the buffer's lump (5 s).
	Settle, Late time.Duration
}

// DefaultTiming holds the defaults of the design.
func DefaultTiming() Timing { panic("not built") }

// Fixtures are the messages to probe with.
type Fixtures struct {
	// Message of the ordinary probe; the default is one part "ping" in the card's first input mode that we can make.
	Message *Fixture
	// LongRunning makes the agent work long enough to cancel; nil: Cancellation is NoFixture.
	LongRunning *Fixture
	// InputRequired makes the agent ask back; nil: Continuation is NoFixture.
	InputRequired *Fixture
}

// Fixture is one message and, for InputRequired, the reply.
type Fixture struct {
	Parts    []wire.Part
	Metadata map[string]any
	Reply    *Fixture
}

// Job is one round to run.
type Job struct {
	Target     Target
	Generation int64
	Round      int64
	Kind       trust.RoundKind
	// CardAndTask asks GetTask for an id that cannot exist as part of reachability; else the card only. NoReach skips the tier.
	CardAndTask, NoReach bool
	Ask                  []trust.Capability
	// Control asks the single-shot control although the stream is good; Pair in pair mode.
	Control bool
	// KnownDigest is the digest of the claims that current verdicts rest on; ETag of the card last read.
	KnownDigest string
	ETag        string
	// Doubt lists capabilities that one more contradiction would demote: the card is fetched afresh before it is reported.
	Doubt []trust.Capability
}

// Report is what one job found.
type Report struct {
	Key        string
	Target     string
	Generation int64
	Round      trust.Round
	// Card is nil if none was read, or none changed (NotModified).
	Card         *card.Card
	ETag         string
	CardWarnings []card.Warning
	// Interface in use; nil if none is. WireGeneration is what it really speaks.
	Interface      *card.Interface
	WireGeneration wire.Generation
	// Orphans are tasks we began and could neither finish nor cancel.
	Orphans []Orphan
	// RetryAfter that the peer asked for.
	RetryAfter time.Duration
}

// Orphan is a task left behind. ID passed the safe alphabet, or is its hash.
type Orphan struct {
	ID    string
	Since time.Time
}

// Env is what rounds share: the guard's settings of the operator, the user agent, the trace.
type Env struct {
	UserAgent string
	Limits    wire.Limits
	Trace     func(wire.Exchange)
	// Progress, if set, is told in a few words what a round is doing (for people who wait).
	Progress func(string)
}

// Run runs one round to its end: target in, report out. It never panics and always returns within the job's deadlines.
func Run(ctx context.Context, env Env, job Job) Report { panic("not built") }

// Costs tells the worst cost of asking each capability, in tasks that reach the handler, and of the control.
func Costs() (cost map[trust.Capability]int, control int) { panic("not built") }

// Questions lists the capabilities that can be asked, sorted.
func Questions() []trust.Capability { panic("not built") }

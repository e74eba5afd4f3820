package probe

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Job is one round to run.
type Job struct {
	Target     Target
	Generation int64
	Round      int64
	Kind       trust.RoundKind
	// CardAndTask asks GetTask for an id that cannot exist as part of reachability; else the card only. NoReach skips the tier.
	CardAndTask, NoReach bool
	Ask                  []trust.Capability
	// Control asks the single-shot control although the stream is good.
	Control bool
	// Pairs says that streams are being compared with controls (trust.Plan.Pairs): one stream and one control tell all, so a
	// contradiction is not asked for a second stream.
	Pairs bool
	// KnownDigest is the digest of the claims that current verdicts rest on; ETag of the card last read.
	KnownDigest string
	ETag        string
	// Known is what the card last read led to. A reachability round needs it to ask with If-None-Match: where the card has not changed, it
	// is not served again, and Known says whom to ask. Nil: the card is read whole.
	Known *Known
	// Interfaces asks every interface that the card declares whether it answers in the binding and generation that it names.
	Interfaces bool
	// DeliveredTo names the receiver that the peer's webhook calls last reached (trust.Record.DeliveredTo); empty: none so far.
	DeliveredTo string
	// RefusedModes are the input modes that earlier rounds saw refused; they are asked first.
	RefusedModes []string
	// SingleShot follows tasks without streams (trust.Plan.SingleShot): those of this peer are known not to work.
	SingleShot bool
	// Unmarked leaves out our mark and our user agent (trust.Plan.Unmarked): a peer that spares probes treats this round as it treats its users.
	Unmarked bool
	// Doubt lists capabilities that one more contradiction would demote: the card is fetched afresh before it is reported.
	Doubt []trust.Capability
}

// Known is what the last round that read a card made of it.
type Known struct {
	Interface card.Interface
	// Generation that the interface really speaks.
	Generation wire.Generation
	Claims     trust.Claims
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
	// Interfaces says what became of each interface that the card declares, the first MaxInterfaces; nil if no card was read.
	Interfaces []InterfaceReport
	// Orphans are tasks we began and could neither finish nor cancel.
	Orphans []Orphan
	// RetryAfter that the peer asked for.
	RetryAfter time.Duration
}

// Orphan is a task left behind. ID passed the safe alphabet, or is its hash; UnknownTask where the peer never told it.
type Orphan struct {
	ID    string
	Since time.Time
}

// Env is what rounds share: the guard's settings of the operator, the user agent, the trace.
type Env struct {
	// Egress is where the operator lets rounds connect; nil: the strictest.
	Egress *Egress
	// Tokens keeps access tokens between rounds.
	Tokens    *wire.Tokens
	UserAgent string
	Limits    wire.Limits
	Trace     func(wire.Exchange)
	// Progress, if set, is told in a few words what a round is doing (for people who wait).
	Progress func(string)
	// Receiver of webhooks; nil: PushNotifications cannot be asked.
	Receiver Receiver
}

// Receiver takes the webhooks of probes of PushNotifications. Package serve has one.
type Receiver interface {
	// Open makes a webhook that nobody can guess. hear is told of every delivery, from any goroutine, until done is called; whole is false,
	// and body nil, where the body was too large to be read, or did not come. done may be called twice; before the first returns, hear is told
	// of every delivery that has begun.
	Open(hear func(header http.Header, body []byte, whole bool)) (hook *url.URL, done func(), err error)
	// Base is the URL that all webhooks lie below.
	Base() *url.URL
	// TurnedAway is how often somebody was refused so far because too many came at once. It may have been anybody.
	TurnedAway() int64
	// TurnedAwayElsewhere tells whether another replica refused somebody since then, or does not say that it did not.
	TurnedAwayElsewhere(ctx context.Context, since time.Time) bool
}

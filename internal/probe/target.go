package probe

import (
	"crypto/sha256"
	"net/netip"
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Target is whom to ask and how: a spec with its references resolved, without Kubernetes. Two targets of equal ID are the same peer.
type Target struct {
	// Key names the peer among others (namespace/name).
	Key string
	// Tenant is the namespace, whose share of the process's connections and memory the rounds have (see wire.Options); empty: nobody else
	// is there.
	Tenant string
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
	// ServerName and SPKI narrow which certificates are taken (see wire.Options).
	ServerName string
	SPKI       [][sha256.Size]byte
	// AllowHosts and Pinned open the dialer's guard (see wire.Options).
	AllowHosts []string
	Pinned     map[string][]netip.AddrPort
	// Verification of the card's signatures.
	Verification Verification
	// Identity says what tells tasks apart besides their ids.
	Identity wire.Identity
	Timing   Timing
	Fixtures Fixtures
	// PushReachable says that the peer can reach our receiver of webhooks: silence is then the peer's own.
	PushReachable bool
}

// Verification says whether the card's signatures are verified, and with what. The zero value verifies nothing.
type Verification struct {
	// Wanted says that signatures are to be verified.
	Wanted bool
	// Keys are documents with public keys: JWK sets, JWKs or PEM.
	Keys [][]byte
	// JWKS is where a JWK set is fetched from, without credentials; nil: nowhere.
	JWKS *url.URL
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
func DefaultTiming() Timing {
	return Timing{
		FirstEvent: 20 * time.Second,
		Idle:       30 * time.Second,
		Grace:      5 * time.Second,
		Task:       90 * time.Second,
		Repeat:     5 * time.Second,
		Wait:       30 * time.Second,
		Hard:       5 * time.Minute,
		Settle:     3 * time.Second,
		Late:       5 * time.Second,
	}
}

// Fixtures are the messages to probe with.
type Fixtures struct {
	// Message of the ordinary probe; the default is one part "ping" in the card's first input mode that we can make.
	Message *Fixture
	// LongRunning makes the agent work long enough to cancel; nil: Cancellation is NoFixture.
	LongRunning *Fixture
	// Modes are messages in media types that a card may declare, by media type; they win over our own samples.
	Modes map[string]*Fixture
	// InputRequired makes the agent ask back; nil: Continuation is NoFixture.
	InputRequired *Fixture
}

// Fixture is one message and, for InputRequired, the reply.
type Fixture struct {
	Parts    []wire.Part
	Metadata map[string]any
	Reply    *Fixture
}

package card

import (
	"fmt"
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Judged is a peer's card as it is held for others: the one whose claims were judged, whatever the peer serves by now. Nobody changes it; what
// is learned makes another.
type Judged struct {
	// Raw bytes as the peer served them, and Source where.
	Raw    []byte
	Source *url.URL
	// Digest of the claims.
	Digest string
	// Barred tells which of the card's interfaces no caller should be sent to, whatever was seen there.
	Barred []bool
	// At is the address of every interface (urlFrom: Endpoint); nil: that which the card names.
	At *url.URL
	// Doubt says why nothing counts for this card that is trusted: the peer serves, or status is about, another one. Empty: it is as it was
	// judged, as far as is known.
	Doubt trust.Reason
	// Stale says why the peer did not serve it when last asked; empty: it did.
	Stale trust.Reason
}

// Unheld says that there is no judged card to serve.
type Unheld struct {
	Reason trust.Reason
	// RetryAfter is when it is worth asking again.
	RetryAfter time.Duration
}

func (e *Unheld) Error() string { return fmt.Sprintf("no judged card is held: %s", e.Reason) }

// Source is where the card was found; nil if nobody said.
func (c *Card) Source() *url.URL { return c.source }

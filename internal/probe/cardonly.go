package probe

import (
	"context"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// FetchedCard is what came of asking a peer for its card and for nothing else.
type FetchedCard struct {
	// Card is nil if none came: NotModified says that it is the one of the etag, and Reason why there is none.
	Card        *card.Card
	ETag        string
	NotModified bool
	Reason      trust.Reason
	// RetryAfter that the peer asked for.
	RetryAfter time.Duration
	// Unmet says of a card whose signatures the target wants verified why they would not meet a policy that requires one.
	Unmet trust.Reason
}

// FetchCard asks for the card as a round does, through the same guard, and closes every connection. It is bounded by ctx, and by
// Timing.FirstEvent for each of the two names. A fault of ours is a card that did not come.
func FetchCard(ctx context.Context, env Env, target Target, etag string) (f FetchedCard) {
	defer func() {
		if recover() != nil {
			f = FetchedCard{Reason: trust.ReasonPanicked}
		}
	}()
	s, err := open(env, Job{Target: target})
	if err != nil {
		return FetchedCard{Reason: trust.ReasonUnexpectedAnswer}
	}
	defer s.close()
	got := s.fetchCard(ctx, etag)
	f = FetchedCard{Card: got.card, ETag: got.etag, NotModified: got.notModified, Reason: got.reason, RetryAfter: got.retry}
	if s.card = got.card; f.Card != nil && target.Verification.Wanted {
		usable, _ := f.Card.Usable(target.Preference)
		found := s.addressed(s.verify(ctx, f.Card), nil, usable)
		now := time.Now()
		found.Expiration = now.Add(time.Minute) // it stands now, if it does
		f.Unmet = found.Unmet(now)
	}
	return f
}

// Barred tells which of a card's interfaces no caller should be sent to: their origin is none that the spec names, or their address cannot be
// the peer's. It is as long as they are.
func (t *Target) Barred(c *card.Card) []bool {
	barred := make([]bool, len(c.Interfaces))
	for i, in := range c.Interfaces {
		barred[i] = !t.allowed(in.URL) || c.Unroutable(in, t.Preference)
	}
	return barred
}

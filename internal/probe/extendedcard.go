package probe

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// extension is what came of asking for the extended card. It costs no task.
type extension struct {
	declared bool
	// credentialed: the request carried credentials, which the operation needs (1.0 §13.3).
	credentialed bool
	// none: this generation and binding have no such operation.
	none  bool
	first cardLook
	// messagesOnly: GetTask is not known there either.
	messagesOnly bool
	// again is the same on new connections, asked where the first was refused: the last answer, which is another if any was.
	again *cardLook
}

// cardLook is one answer to the question for the extended card.
type cardLook struct {
	at   time.Duration
	fail *wire.Error
	code int
	// moved: another address answered, where redirects led.
	moved bool
	// absent: 0.2 has a GET for it, and what it should be under is not there.
	absent bool
	// card came back: an object with anything of what a card is for. withdraws says that it takes back what the public card declares.
	card, withdraws bool
}

func askExtendedCard(ctx context.Context, s *session, a *asking) trust.Observation {
	s.progress("extended card")
	x := extension{declared: a.r.declared(trust.ExtendedAgentCard), credentialed: s.credentialed()}
	began := time.Now()
	x.first, x.none = s.extendedCard(ctx, s.rpc, began)
	if x.first.code == codeMethodNotFound {
		x.messagesOnly = s.lookFor(ctx, newID(), began).Code == codeMethodNotFound
	}
	if x.declared && x.credentialed && x.first.refused() && pause(ctx, s.timing.Repeat) {
		s.again(func(fresh wire.Peer) bool {
			l, _ := s.extendedCard(ctx, fresh, began)
			x.again = &l
			return l.refused()
		})
	}
	return judgeExtendedCard(x)
}

// extendedCardBound: a question and its repetitions, few of which wait for long, of two addresses at most, and the time between.
func extendedCardBound(t Timing) time.Duration { return 4*t.FirstEvent + t.Repeat }

// credentialed says whether requests to the interface in use carry credentials: there are some, and they may go to its origin.
func (s *session) credentialed() bool {
	return s.job.Target.Credentials.GoTo(s.in.URL, wire.Binding(s.in.Binding))
}

// extendedCard asks once. 0.2 has a GET of its own beside the endpoint; none says that there is nothing to ask.
func (s *session) extendedCard(ctx context.Context, rpc wire.Peer, began time.Time) (l cardLook, none bool) {
	one, cancel := s.unary(ctx)
	defer cancel()
	a, err := rpc.ExtendedCard(one)
	if errors.Is(err, wire.ErrNoSuchMethod) {
		if s.generation() != wire.V02 {
			return cardLook{}, true
		}
		return s.legacyExtendedCard(ctx, began), false
	}
	l.at = time.Since(began)
	if err == nil {
		err = turnedAway(a)
	}
	switch {
	case err != nil:
		l.fail = wireError(err)
	case a.Err != nil:
		if l.code = a.Err.Code; l.code == 0 {
			l.code = codeInternal
		}
	default:
		l.read(s, a.Card)
	}
	return l, false
}

// read takes an extended card in. It is hostile input like any card: parsed by the same parser, bounded by the transport, kept nowhere.
func (l *cardLook) read(s *session, body []byte) {
	c, err := card.Parse(body, s.in.URL)
	if err != nil || len(c.Interfaces) == 0 && len(c.Skills) == 0 && !c.HasCapabilities {
		return // a page of errors is an object too
	}
	l.card = true
	if s.card == nil {
		return
	}
	public, extended := s.card.Claims(s.in), c.Claims(s.in)
	for name, d := range public.Declared {
		l.withdraws = l.withdraws || d == trust.Declared && extended.Declared[name] != trust.Declared && name != trust.ExtendedAgentCard
	}
}

// legacyName is the path of 0.2's extended card.
const legacyName = "agent/authenticatedExtendedCard"

// legacyExtendedCard asks by 0.2's GET: beside the endpoint, as its text says, and below it, where agents that live under a prefix have it.
func (s *session) legacyExtendedCard(ctx context.Context, began time.Time) cardLook {
	beside := *s.in.URL
	beside.Path, beside.RawPath = path.Dir(strings.TrimSuffix(beside.Path, "/")), ""
	var l cardLook
	for _, u := range []*url.URL{below(&beside, legacyName), below(s.in.URL, legacyName)} {
		if l = s.getExtendedCard(ctx, u, began); !l.absent {
			return l
		}
	}
	return l
}

func (s *session) getExtendedCard(ctx context.Context, u *url.URL, began time.Time) (l cardLook) {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	page, err := s.client.Get(ctx, u, http.Header{"Accept": {"application/json"}})
	l.at = time.Since(began)
	switch {
	case err != nil:
		l.fail = wireError(err)
	case page.Status == http.StatusNotFound:
		l.absent, l.moved = true, page.Redirected
	case page.Status != http.StatusOK:
		l.fail = &wire.Error{Class: wire.ClassStatus, Status: page.Status}
	default:
		l.read(s, page.Body)
	}
	return l
}

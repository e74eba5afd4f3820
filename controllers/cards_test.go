package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// shelf is a replica's cards, with peers that are functions.
type shelf struct {
	*testing.T
	cards *Cards
	// serve is what peers do, by their namespace and name.
	serve map[string]func(context.Context) probe.FetchedCard
	asked atomic.Int64
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{T: t, serve: map[string]func(context.Context) probe.FetchedCard{}}
	s.cards = NewCards(CardsOptions{Config: DefaultConfig()})
	s.cards.fetch = func(ctx context.Context, _ probe.Env, target probe.Target, _ string) probe.FetchedCard {
		s.asked.Add(1)
		return s.serve[target.Key](ctx)
	}
	return s
}

// cardOf is a card whose claims depend on what it streams, and so many bytes of it.
func cardOf(t *testing.T, streaming bool, bytes int) *card.Card {
	t.Helper()
	raw := fmt.Sprintf(`{"url":"https://planner.example.com/","capabilities":{"streaming":%t},"description":"%s"}`, streaming, strings.Repeat("x", bytes))
	c, err := card.Parse([]byte(raw), &url.URL{Scheme: "https", Host: "planner.example.com", Path: "/card"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serves(c *card.Card) func(context.Context) probe.FetchedCard {
	return func(context.Context) probe.FetchedCard { return probe.FetchedCard{Card: c} }
}

func gone(context.Context) probe.FetchedCard {
	return probe.FetchedCard{Reason: trust.ReasonUnreachable}
}

func hangs(ctx context.Context) probe.FetchedCard {
	<-ctx.Done()
	return probe.FetchedCard{Reason: trust.ReasonUnreachable}
}

// judged shows an AgentPeer whose status is about a card.
func (s *shelf) judged(namespace, name string, c *card.Card, with ...func(*trustv1alpha1.AgentPeer)) types.NamespacedName {
	p := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Generation: 1},
		Spec: trustv1alpha1.AgentPeerSpec{URL: "https://planner.example.com/"}}
	p.Status.Target = p.Spec.URL
	if c != nil {
		p.Status.Card = &trustv1alpha1.CardStatus{ClaimsDigest: trustv1alpha1.ClaimsDigest(c.Digest)}
	}
	for _, w := range with {
		w(p)
	}
	s.cards.see(p)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// find asks for a card and says how long that took.
func (s *shelf) find(key types.NamespacedName) (*card.Judged, trust.Reason, time.Duration) {
	s.Helper()
	began := time.Now()
	_, j, err := s.cards.Find(s.Context(), key)
	var none *card.Unheld
	switch {
	case errors.As(err, &none):
		if none.RetryAfter < time.Second {
			s.Errorf("Retry-After %s of %s: want a second at least", none.RetryAfter, none.Reason)
		}
		return nil, none.Reason, time.Since(began)
	case err != nil:
		s.Fatal(err)
	}
	return j, "", time.Since(began)
}

func TestAReplicaServesTheJudgedCardOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		old, next := cardOf(t, true, 0), cardOf(t, false, 0)
		s.serve["travel/planner"] = serves(old)

		key := s.judged("travel", "planner", nil)
		if j, why, _ := s.find(key); j != nil || why != reasonCardNotJudged || s.asked.Load() != 0 {
			t.Fatalf("before any verdict: %v, %s, asked %d times", j, why, s.asked.Load())
		}
		s.judged("travel", "planner", old)
		j, _, _ := s.find(key)
		if j == nil || j.Digest != old.Digest || j.Doubt != "" || j.Stale != "" {
			t.Fatalf("judged: %+v", j)
		}
		if again, _, _ := s.find(key); again != j || s.asked.Load() != 1 {
			t.Errorf("asked %d times for two requests, want one", s.asked.Load())
		}

		// The peer serves other claims: the last judged card stays, and nothing of its trust counts.
		s.serve["travel/planner"] = serves(next)
		time.Sleep(cardAge + time.Second)
		s.find(key)
		synctest.Wait()
		if j, _, took := s.find(key); j == nil || j.Digest != old.Digest || j.Doubt != trust.ReasonCardChanged || took > 0 {
			t.Errorf("other claims: %+v after %s", j, took)
		}

		// They are judged: the new card is fetched at once, as somebody asked for the old one.
		s.judged("travel", "planner", next)
		synctest.Wait()
		if j, _, took := s.find(key); j == nil || j.Digest != next.Digest || j.Doubt != "" || took > 0 {
			t.Errorf("judged anew: %+v after %s", j, took)
		}

		// Status is about claims that this replica cannot get.
		s.judged("travel", "planner", cardOf(t, true, 1))
		s.judged("travel", "planner", old)
		if j, _, _ := s.find(key); j == nil || j.Digest != next.Digest || j.Doubt != trust.ReasonCardChanged {
			t.Errorf("claims that are not served: %+v", j)
		}
	})
}

func TestACanaryOfJudgedClaimsCostsNoTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		old, next := cardOf(t, true, 0), cardOf(t, false, 0)
		s.serve["travel/planner"] = serves(old)
		known := func(p *trustv1alpha1.AgentPeer) {
			p.Status.Card.ClaimSets = []trustv1alpha1.ClaimSet{{Digest: trustv1alpha1.ClaimsDigest(next.Digest)}}
		}
		key := s.judged("travel", "planner", old, known)
		s.find(key)
		s.serve["travel/planner"] = serves(next)
		time.Sleep(cardAge + time.Second)
		s.find(key)
		synctest.Wait()
		if j, _, _ := s.find(key); j == nil || j.Digest != old.Digest || j.Doubt != "" || j.Stale != trust.ReasonCardChanged {
			t.Errorf("%+v: the decision weighs both claim sets already", j)
		}
	})
}

func TestAPeerThatIsGoneLeavesTheLastJudgedCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = serves(c)
		key := s.judged("travel", "planner", c)
		s.find(key)
		s.serve["travel/planner"] = hangs
		for range 30 {
			time.Sleep(cardAge)
			if j, _, took := s.find(key); j == nil || j.Doubt != "" || took > 0 {
				t.Fatalf("%+v after %s, want the card at once", j, took)
			}
		}
		synctest.Wait()
		if j, _, _ := s.find(key); j.Stale != trust.ReasonUnreachable {
			t.Errorf("%+v, want it said that the peer is gone", j)
		}
		// Status is about other claims by now: a request waits for them once, and not at every turn for a peer that hangs.
		s.judged("travel", "planner", cardOf(t, false, 0))
		time.Sleep(time.Minute)
		for range 30 {
			time.Sleep(cardAge)
			if j, _, took := s.find(key); j == nil || j.Doubt != trust.ReasonCardChanged || took > 0 {
				t.Fatalf("%+v after %s, want the last judged card at once", j, took)
			}
		}
		// A replica that never saw it has nothing to serve, and asks ever more rarely.
		fresh := newShelf(t)
		fresh.serve["travel/planner"] = gone
		key = fresh.judged("travel", "planner", c)
		for range 600 {
			if j, why, _ := fresh.find(key); j != nil || why != trust.ReasonUnreachable {
				t.Fatalf("%v, %s", j, why)
			}
			time.Sleep(time.Second)
		}
		if n := fresh.asked.Load(); n > 20 {
			t.Errorf("asked %d times in 10 minutes", n)
		}
		// Back again.
		fresh.serve["travel/planner"] = serves(c)
		time.Sleep(longestCardRetry)
		if j, why, _ := fresh.find(key); j == nil {
			t.Errorf("back again: %s", why)
		}
	})
}

func TestAHungPeerHoldsNoRequestLongAndNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = serves(c)
		var hung []types.NamespacedName
		for i := range 2 * cardFetches {
			name := fmt.Sprintf("hung-%d", i)
			s.serve["rogue/"+name] = hangs
			hung = append(hung, s.judged("rogue", name, c))
		}
		for _, key := range hung {
			go func() {
				if j, _, took := s.find(key); j != nil || took > cardPatience {
					t.Errorf("%v after %s", j, took)
				}
			}()
		}
		synctest.Wait()
		if n := s.asked.Load(); n != cardFetches/4 {
			t.Errorf("%d fetches of one namespace at once, want %d", n, cardFetches/4)
		}
		if j, why, took := s.find(s.judged("travel", "planner", c)); j == nil || took > 0 {
			t.Errorf("beside them: %s after %s", why, took)
		}
		time.Sleep(cardTimeout)
		synctest.Wait()
		if len(s.cards.running) != 1 || s.cards.running[""] != 0 {
			t.Errorf("still running: %v", s.cards.running)
		}
	})
}

func TestCardsKeepToTheirMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.cards.limit = 1 << 20
		small, large := cardOf(t, true, 1<<10), cardOf(t, true, 100<<10)
		s.serve["travel/planner"] = serves(small)
		key := s.judged("travel", "planner", small)
		s.find(key)
		for i := range 40 {
			name := fmt.Sprintf("large-%d", i)
			s.serve["rogue/"+name] = serves(large)
			if j, why, _ := s.find(s.judged("rogue", name, large)); j == nil {
				t.Fatal(why)
			}
			if s.cards.held.of["rogue"] > 1<<18 || s.cards.held.size > 1<<20 {
				t.Fatalf("%d bytes of one namespace, %d in all", s.cards.held.of["rogue"], s.cards.held.size)
			}
		}
		before := s.asked.Load()
		if j, _, _ := s.find(key); j == nil || s.asked.Load() != before {
			t.Error("the cards of one namespace pushed out another's")
		}
		for i := range 40 {
			s.cards.lose(&trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: "rogue", Name: fmt.Sprintf("large-%d", i)}})
		}
		if len(s.cards.held.byKey) != 1 || s.cards.held.order.Len() != 1 || len(s.cards.held.of) != 1 || len(s.cards.peers) != 1 {
			t.Errorf("left of what is gone: %v", s.cards.held.byKey)
		}
	})
}

func TestACardOfAnotherAddressIsServedToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = serves(c)
		key := s.judged("travel", "planner", c)
		s.find(key)
		moved := func(p *trustv1alpha1.AgentPeer) { p.Spec.URL, p.Generation = "https://other.example.com/", 2 }
		s.judged("travel", "planner", c, moved)
		if j, why, _ := s.find(key); j != nil || why != "StatusOutdated" {
			t.Errorf("moved: %+v, %s: what was judged is another's", j, why)
		}
		s.judged("travel", "planner", c, moved, func(p *trustv1alpha1.AgentPeer) { p.Status.Target = p.Spec.URL })
		if j, why, _ := s.find(key); j == nil || j.Doubt != "" {
			t.Errorf("judged there: %+v, %s", j, why)
		}
		// The same address under other rules: the interface is on an origin that is not allowed.
		if j, _, _ := s.find(key); len(j.Barred) != 1 || !j.Barred[0] {
			t.Errorf("%+v: the card names planner.example.com, and the spec other.example.com", j)
		}
		s.judged("travel", "planner", c, moved, func(p *trustv1alpha1.AgentPeer) {
			p.Status.Target, p.Generation, p.Spec.AllowedOrigins = p.Spec.URL, 3, []trustv1alpha1.Origin{"https://planner.example.com"}
		})
		synctest.Wait()
		if j, _, _ := s.find(key); j.Barred[0] {
			t.Error("the origin is allowed now")
		}
		// Another object of the name.
		s.serve["travel/planner"] = gone
		s.judged("travel", "planner", c, func(p *trustv1alpha1.AgentPeer) { p.UID = "another" })
		if j, _, _ := s.find(key); j != nil {
			t.Errorf("another AgentPeer of the name: %+v", j)
		}
	})
}

func TestASuspendedOrSleepingPeerIsLetAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = serves(c)
		key := s.judged("travel", "planner", c, func(p *trustv1alpha1.AgentPeer) { p.Spec.Suspend = true })
		if j, why, took := s.find(key); j != nil || why != reasonCardNotJudged || took > 0 || s.asked.Load() > 0 {
			t.Errorf("suspended: %v, %s, asked %d times", j, why, s.asked.Load())
		}
		s.judged("travel", "planner", c, func(p *trustv1alpha1.AgentPeer) { p.Spec.Probes.Reachability.Mode = trustv1alpha1.ReachabilityNone })
		for range 10 {
			s.find(key)
			time.Sleep(2 * cardAge)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("woken %d times, want once, for the card", n)
		}
	})
}

func TestARequiredSignatureMustStandOnTheServedCardToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = func(context.Context) probe.FetchedCard {
			return probe.FetchedCard{Card: c, Unmet: trust.ReasonSignatureInvalid}
		}
		key := s.judged("travel", "planner", c, func(p *trustv1alpha1.AgentPeer) {
			p.Spec.Card.Verification.Policy = trustv1alpha1.SignatureRequire
			p.Spec.Card.Verification.JWKSURL = "https://planner.example.com/keys"
		})
		if j, why, _ := s.find(key); j != nil || why != trust.ReasonSignatureInvalid {
			t.Errorf("%v, %s: the same claims under a signature that does not stand", j, why)
		}
	})
}

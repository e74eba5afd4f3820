package controllers

import (
	"container/list"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// heldCard is what is known of one peer's card. Whoever uses it holds the lock of Cards.
type heldCard struct {
	key types.NamespacedName
	uid types.UID
	// generation of the spec, and target it led to, when the peer was last asked.
	generation int64
	target     string
	// judged is the card whose claims were judged last; nil: none was held so far.
	judged *card.Judged
	// etag of judged, if that is what the peer served last.
	etag string
	// seen is the digest of what the peer served last.
	seen string
	// read is when the peer last served a card or said that it has not changed.
	read time.Time
	// asked is what the failures below are about: claims and generation.
	asked    question
	failures int
	// reason of the last failure, and next when to ask again at the earliest.
	reason trust.Reason
	next   time.Time
	busy   bool
	// begun is when the last fetch began, and lately how many then had begun that one every cardRetry does not account for.
	begun  time.Time
	lately int
	// call is closed when the fetch under way has ended; nil: none is.
	call chan struct{}

	place *list.Element
	cost  int
}

// question is what a card is wanted for.
type question struct {
	digest, target string
	generation     int64
}

func judgedDigest(peer *trustv1alpha1.AgentPeer) string {
	if peer.Status.Card == nil {
		return ""
	}
	return string(peer.Status.Card.ClaimsDigest)
}

// due: the card of the judged claims is not held, or not as the spec has it now.
func (h *heldCard) due(peer *trustv1alpha1.AgentPeer) bool {
	want := judgedDigest(peer)
	return want != "" && (h.judged == nil || h.judged.Digest != want || h.generation != peer.Generation)
}

// stale: it has been a while since the peer served the card.
func (h *heldCard) stale(now time.Time) bool { return h.judged != nil && now.Sub(h.read) > cardAge }

// asks notes what is asked for now. What failed for something else is tried at once.
func (h *heldCard) asks(peer *trustv1alpha1.AgentPeer) {
	if q := (question{judgedDigest(peer), peer.Status.Target, peer.Generation}); q != h.asked {
		h.asked, h.failures, h.next = q, 0, time.Time{}
	}
}

// flurry is how many fetches have begun lately beyond one every cardRetry.
func (h *heldCard) flurry(now time.Time) int {
	return max(0, h.lately-int(min(now.Sub(h.begun)/cardRetry, cardFlurry)))
}

// learn takes over what came of asking.
func (h *heldCard) learn(peer *trustv1alpha1.AgentPeer, generation int64, target *probe.Target, got probe.FetchedCard, now time.Time) {
	if target != nil {
		h.aim(target, generation)
	}
	switch {
	case target == nil || got.Card == nil && !got.NotModified:
		h.fail(got.Reason, got.RetryAfter, now)
		h.change(func(j *card.Judged) { j.Stale = got.Reason })
	case got.NotModified:
		h.succeed(now)
	case peer.Spec.Card.Verification.Policy == trustv1alpha1.SignatureRequire && got.Unmet != "":
		h.fail(got.Unmet, 0, now)
		h.change(func(j *card.Judged) { j.Stale = got.Unmet })
	case got.Card.Digest == judgedDigest(peer) && h.target == peer.Status.Target:
		h.succeed(now)
		h.etag, h.seen = got.ETag, got.Card.Digest
		h.judged = &card.Judged{Raw: got.Card.Raw, Source: got.Card.Source(), Digest: got.Card.Digest, Barred: target.Barred(got.Card)}
		if target.Preference.FromEndpoint {
			h.judged.At = target.URL
		}
	default: // other claims than those that were judged
		h.etag, h.seen = "", got.Card.Digest
		h.fail(trust.ReasonCardChanged, 0, now)
		h.change(func(j *card.Judged) { j.Stale = trust.ReasonCardChanged })
	}
}

// aim takes over whom the spec leads to. A card of somebody else is nobody's business any more, and another spec may bar other interfaces.
func (h *heldCard) aim(target *probe.Target, generation int64) {
	if h.target != target.ID {
		h.judged, h.etag = nil, ""
	}
	if h.judged != nil && h.generation != generation {
		if c, err := card.Parse(h.judged.Raw, h.judged.Source); err == nil {
			h.change(func(j *card.Judged) {
				j.Barred, j.At = target.Barred(c), nil
				if target.Preference.FromEndpoint {
					j.At = target.URL
				}
			})
		}
	}
	h.target, h.generation = target.ID, generation
}

// change makes another of the held card, if that says something else.
func (h *heldCard) change(f func(*card.Judged)) {
	if h.judged == nil {
		return
	}
	next := *h.judged
	f(&next)
	if next.Doubt != h.judged.Doubt || next.Stale != h.judged.Stale || next.At != h.judged.At || !slices.Equal(next.Barred, h.judged.Barred) {
		h.judged = &next
	}
}

func (h *heldCard) succeed(now time.Time) {
	h.read, h.failures, h.reason, h.next = now, 0, "", time.Time{}
	h.change(func(j *card.Judged) { j.Stale = "" })
}

func (h *heldCard) fail(why trust.Reason, after time.Duration, now time.Time) {
	wait := min(cardRetry<<min(h.failures, 8), longestCardRetry)
	h.failures, h.reason, h.next = h.failures+1, why, now.Add(max(wait, min(after, 5*time.Minute)))
}

// serve is what a request gets.
func (h *heldCard) serve(peer *trustv1alpha1.AgentPeer, now time.Time) (*card.Judged, error) {
	want := judgedDigest(peer)
	retry := max(h.next.Sub(now), time.Second)
	switch {
	case h.target != "" && h.target != peer.Status.Target: // the verdict is about somebody else
		return nil, &card.Unheld{Reason: trust.Reason(client.ReasonStatusOutdated), RetryAfter: 2 * time.Second}
	case h.judged != nil:
		doubt := trust.Reason("")
		if h.judged.Digest != want || !known(peer, h.seen) { // the last that was judged, of which nothing counts any more
			doubt = trust.ReasonCardChanged
		}
		h.change(func(j *card.Judged) { j.Doubt = doubt })
		return h.judged, nil
	case want == "":
		return nil, &card.Unheld{Reason: reasonCardNotJudged, RetryAfter: 5 * time.Second}
	case h.busy:
		return nil, &card.Unheld{Reason: reasonCardsBusy, RetryAfter: time.Second}
	case h.reason != "":
		return nil, &card.Unheld{Reason: h.reason, RetryAfter: retry}
	}
	return nil, &card.Unheld{Reason: reasonCardNotJudged, RetryAfter: retry}
}

// known tells claims that were judged, be it lately: who serves others is not who was judged.
func known(peer *trustv1alpha1.AgentPeer, digest string) bool {
	return digest == judgedDigest(peer) || peer.Status.Card != nil && slices.ContainsFunc(peer.Status.Card.ClaimSets, func(s trustv1alpha1.ClaimSet) bool { return string(s.Digest) == digest })
}

// heldCards are those that were asked for, the latest first, as many as memory allows.
type heldCards struct {
	byKey map[types.NamespacedName]*heldCard
	order list.List
	size  int
	of    map[string]int // by namespace
}

func (s *heldCards) find(key types.NamespacedName) *heldCard { return s.byKey[key] }

// take is the one of a peer, made if need be, and now the latest.
func (s *heldCards) take(key types.NamespacedName, uid types.UID) *heldCard {
	one := s.byKey[key]
	if one != nil && one.uid != uid { // another object of the name
		s.drop(key)
		one = nil
	}
	if one == nil {
		if s.byKey == nil {
			s.byKey, s.of = map[types.NamespacedName]*heldCard{}, map[string]int{}
		}
		one = &heldCard{key: key, uid: uid}
		one.place = s.order.PushFront(one)
		s.byKey[key] = one
	}
	s.order.MoveToFront(one.place)
	return one
}

func (s *heldCards) drop(key types.NamespacedName) {
	one := s.byKey[key]
	if one == nil {
		return
	}
	delete(s.byKey, key)
	s.order.Remove(one.place)
	s.charge(one, 0)
}

func (s *heldCards) charge(one *heldCard, cost int) {
	s.size += cost - one.cost
	if s.of[one.key.Namespace] += cost - one.cost; s.of[one.key.Namespace] == 0 {
		delete(s.of, one.key.Namespace)
	}
	one.cost = cost
}

// settle counts what is held of a card that was learned of, and forgets the ones that were not asked for the longest, of the same namespace
// first. It keeps the one itself, which may be as large as one namespace may hold.
func (s *heldCards) settle(one *heldCard, limit int) {
	cost := 0
	if one.judged != nil {
		cost = len(one.judged.Raw) + 1024
	}
	s.charge(one, cost)
	neighbour := func(h *heldCard) bool { return h.key.Namespace == one.key.Namespace }
	for more := true; more && s.of[one.key.Namespace] > limit/4; {
		more = s.forget(one, neighbour)
	}
	for more := true; more && s.size > limit; {
		more = s.forget(one, func(*heldCard) bool { return true })
	}
}

// forget drops the oldest that holds a card and may go.
func (s *heldCards) forget(but *heldCard, may func(*heldCard) bool) bool {
	for at := s.order.Back(); at != nil; at = at.Prev() {
		if one := at.Value.(*heldCard); one != but && one.cost > 0 && may(one) {
			s.drop(one.key)
			return true
		}
	}
	return false
}

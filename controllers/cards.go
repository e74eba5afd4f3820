package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Bounds of what is fetched and held of cards.
const (
	// cardPatience is how long a request waits for a card.
	cardPatience = 4 * time.Second
	// cardTimeout is how long one fetch may take, Secrets and all.
	cardTimeout = 6 * time.Second
	// cardAge is how old a card may be before a request has it read again, without waiting for that.
	cardAge = time.Minute
	// A fetch that failed is repeated no sooner than this, doubled with each failure up to the longest.
	cardRetry, longestCardRetry = 2 * time.Second, time.Minute
	// cardFlurry of a peer may follow each other at once, whatever became of them, and then one every cardRetry: edits of the spec are tried
	// at once, and nobody has a peer asked without end by editing on.
	cardFlurry = 6
	// cardFetches may run at once, and a quarter of them for one namespace: a tenant whose peers hang holds up nobody else's.
	cardFetches = 128
	// cardBytes is how much is held in all; one namespace holds a quarter at most.
	cardBytes = 64 << 20
)

// Reasons why no card is served.
const (
	reasonCardNotJudged trust.Reason = "CardNotJudged"
	reasonCardsBusy     trust.Reason = "CardsBusy"
)

// CardsOptions say what cards are fetched with.
type CardsOptions struct {
	// Informers have the AgentPeers.
	Informers cache.Informers
	// Client reads live what specs refer to (ClientOptions).
	Client client.Client
	// Config is the operator's own.
	Config Config
	// Env of the rounds: egress, tokens, user agent.
	Env probe.Env
	// Self is the operator's own ServiceAccount, of which no token is ever sent.
	Self types.NamespacedName
}

// Cards holds the judged card of each peer that somebody asked for. Every replica has its own, leader or not: the target comes from the
// informer and the Secrets as in a round, and the card through the same guard. A card is held once its claims are those that status was
// judged by, and stays as the last judged one whatever its peer does afterwards. It is a Runnable of the manager.
type Cards struct {
	o         CardsOptions
	tokens    *accountTokens
	documents documents
	// fetch is probe.FetchCard, and limit cardBytes, but in tests.
	fetch func(context.Context, probe.Env, probe.Target, string) probe.FetchedCard
	limit int

	mu    sync.Mutex
	ready bool
	peers map[string]map[string]*trustv1alpha1.AgentPeer
	held  heldCards
	// running fetches, by namespace; "" is all of them.
	running map[string]int
	// alive ends with the process; it is what fetches are bounded by, as no request ends another's.
	alive context.Context
}

// NewCards makes a source of judged cards.
func NewCards(o CardsOptions) *Cards {
	return &Cards{o: o, tokens: newAccountTokens(), fetch: probe.FetchCard, limit: cardBytes,
		peers: map[string]map[string]*trustv1alpha1.AgentPeer{}, running: map[string]int{}, alive: context.Background()}
}

// NeedLeaderElection is false: every replica serves.
func (c *Cards) NeedLeaderElection() bool { return false }

// Start follows the AgentPeers until ctx ends.
func (c *Cards) Start(ctx context.Context) error {
	c.mu.Lock()
	c.alive = ctx
	c.mu.Unlock()
	informer, err := c.o.Informers.GetInformer(ctx, &trustv1alpha1.AgentPeer{})
	if err != nil {
		return err
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.see(o) },
		UpdateFunc: func(_, o any) { c.see(o) },
		DeleteFunc: func(o any) { c.lose(o) },
	})
	if err != nil {
		return err
	}
	if toolscache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		c.mu.Lock()
		c.ready = true
		c.mu.Unlock()
	}
	<-ctx.Done()
	return nil
}

// Ready once every AgentPeer was seen.
func (c *Cards) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// Peers are those of a namespace as they were last seen, in no order. They are shared with the informer.
func (c *Cards) Peers(namespace string) []*trustv1alpha1.AgentPeer {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*trustv1alpha1.AgentPeer, 0, len(c.peers[namespace]))
	for _, p := range c.peers[namespace] {
		list = append(list, p)
	}
	return list
}

// see takes over an AgentPeer. Where others wait for claims that were judged just now, their card is fetched at once.
func (c *Cards) see(o any) {
	peer, ok := o.(*trustv1alpha1.AgentPeer)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peers[peer.Namespace] == nil {
		c.peers[peer.Namespace] = map[string]*trustv1alpha1.AgentPeer{}
	}
	c.peers[peer.Namespace][peer.Name] = peer
	if one := c.held.find(client.ObjectKeyFromObject(peer)); one != nil && one.uid == peer.UID && one.due(peer) {
		c.begin(one, peer, time.Now())
	}
}

func (c *Cards) lose(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	peer, ok := o.(*trustv1alpha1.AgentPeer)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers[peer.Namespace], peer.Name)
	if len(c.peers[peer.Namespace]) == 0 {
		delete(c.peers, peer.Namespace)
	}
	c.held.drop(client.ObjectKeyFromObject(peer))
}

// Find is an AgentPeer and its judged card, which is fetched if need be. It waits for that for a few seconds, and only where there is nothing
// better: a peer that was asked in vain is asked again aside. A nil peer is none that exists. The error is ctx's or a *card.Unheld.
func (c *Cards) Find(ctx context.Context, key types.NamespacedName) (*trustv1alpha1.AgentPeer, *card.Judged, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	peer, now := c.peers[key.Namespace][key.Name], time.Now()
	if peer == nil {
		return nil, nil, nil
	}
	one := c.held.take(key, peer.UID)
	due := one.due(peer)
	if due || one.stale(now) && c.wakes(peer) {
		c.begin(one, peer, now)
	}
	if call := one.call; due && call != nil && (one.judged == nil || one.failures == 0) {
		c.mu.Unlock()
		err := await(ctx, call)
		c.mu.Lock()
		if err != nil {
			return nil, nil, err
		}
		if peer = c.peers[key.Namespace][key.Name]; peer == nil || peer.UID != one.uid {
			return nil, nil, nil
		}
	}
	judged, err := one.serve(peer, now)
	return peer, judged, err
}

// wakes tells whether a peer may be asked although nothing has changed: one that is scaled to zero is let sleep.
func (c *Cards) wakes(peer *trustv1alpha1.AgentPeer) bool {
	settings := effective(&peer.Spec, c.o.Config)
	return settings.Reachability.Mode != trustv1alpha1.ReachabilityNone
}

func await(ctx context.Context, call <-chan struct{}) error {
	patience := time.NewTimer(cardPatience)
	defer patience.Stop()
	select {
	case <-call:
	case <-patience.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// begin fetches a card aside, unless that is under way, too soon, or too much at once. It needs the lock.
func (c *Cards) begin(one *heldCard, peer *trustv1alpha1.AgentPeer, now time.Time) {
	one.asks(peer)
	if one.call != nil || peer.Spec.Suspend || now.Before(one.next) || one.flurry(now) >= cardFlurry {
		return
	}
	one.busy = c.running[""] >= cardFetches || c.running[peer.Namespace] >= cardFetches/4
	if one.busy {
		return
	}
	c.running[""]++
	c.running[peer.Namespace]++
	call := make(chan struct{})
	one.call = call
	one.begun, one.lately = now, one.flurry(now)+1
	ctx, cancel := context.WithTimeout(c.alive, cardTimeout)
	etag := one.etag
	if one.due(peer) {
		etag = "" // what is asked for is another card, or where it leads
	}
	go func() {
		defer cancel()
		target, got := c.ask(ctx, peer, etag)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.running[""]--; c.running[peer.Namespace] <= 1 {
			delete(c.running, peer.Namespace)
		} else {
			c.running[peer.Namespace]--
		}
		one.call = nil
		close(call)
		latest := c.peers[peer.Namespace][peer.Name]
		if c.held.find(one.key) != one || latest == nil || latest.UID != one.uid {
			return // gone meanwhile, or another object of the name
		}
		one.learn(latest, peer.Generation, target, got, time.Now())
		c.held.settle(one, c.limit)
	}()
}

// ask resolves the spec and fetches the card. The target is nil where there is none.
func (c *Cards) ask(ctx context.Context, peer *trustv1alpha1.AgentPeer, etag string) (target *probe.Target, got probe.FetchedCard) {
	defer func() {
		if recover() != nil {
			got = probe.FetchedCard{Reason: trust.ReasonPanicked}
		}
	}()
	settings := effective(&peer.Spec, c.o.Config)
	r := resolver{client: c.o.Client, egress: c.o.Env.Egress, timing: settings.timing(probe.DefaultTiming()), tokens: c.tokens,
		documents: &c.documents, granted: c.o.Config.ServiceAccountTokens, self: c.o.Self, now: time.Now()}
	t, f, err := r.resolve(ctx, peer)
	switch {
	case f != nil:
		return nil, probe.FetchedCard{Reason: trust.Reason(f.reason)}
	case err != nil:
		return nil, probe.FetchedCard{Reason: trust.ReasonUnexpectedAnswer}
	}
	t.Timing.FirstEvent = min(t.Timing.FirstEvent, cardPatience)
	return &t, c.fetch(ctx, c.o.Env, t, etag)
}

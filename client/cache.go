package client

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// DefaultClockSkew is CacheOptions.ClockSkew where none is set.
const DefaultClockSkew = 5 * time.Second

// CacheOptions adjust a PeerCapabilityCache. The zero value is good.
type CacheOptions struct {
	// Namespaces to look at. Empty: all, which needs a ClusterRoleBinding to the ClusterRole agentpeer-orchestrator; with a list a
	// RoleBinding in each of them is enough.
	Namespaces []string
	// ClockSkew is how far the clocks of this machine and of the operator may be apart: trust ends so much sooner than its expirationTime
	// says, and a verdict must be from a round begun so much later than a Demote to lift it. 0: DefaultClockSkew; negative: none.
	ClockSkew time.Duration
	// Clock tells the time. Default time.Now.
	Clock func() time.Time
	// Reporter is told what Demote and Honored say, and writes it into AgentPeerReports. Nil: it stays in this process. Start it yourself.
	Reporter *Reporter
}

// PeerCapabilityCache answers, for each request of an orchestrator, what may be expected of a peer now. Keep one in a process. All its
// methods are safe for any number of goroutines, none of them blocks, and none panics whatever a peer or a status says.
//
// It fails closed: a peer that is not known, a status that is absent, about another target or expired, an operator that died and a
// watch that is broken all lead to SingleShot, AllInputsUpfront, BestEffort and Poll in the end, by the clock alone. A changed decision is
// for the tasks to come: no running one is to be interrupted for it.
type PeerCapabilityCache struct {
	index *index
	skew  time.Duration
	clock func() time.Time
	// observe passes a sighting on; nil: nobody is told.
	observe func(Sighting)
	// One of reader and watch is set.
	reader Reader
	watch  *watcher

	demotions, ignored atomic.Uint64
}

// Stats counts what a cache was told.
type Stats struct {
	// Demotions is how many calls of Demote took effect.
	Demotions uint64
	// Ignored is how many had none, because the error is nobody's fault or names no capability, or because no AgentPeer is known to hold
	// it against.
	Ignored uint64
}

// NewPeerCapabilityCache makes a cache that watches AgentPeers itself, with one list and one watch for all namespaces or one for each
// that the options name. Of an AgentPeer it keeps about a kilobyte. It answers once Start runs and WaitForSync has returned; until then every
// decision is the safe one, with reason CacheNotSynced.
func NewPeerCapabilityCache(config *rest.Config, o CacheOptions) (*PeerCapabilityCache, error) {
	w, err := newWatcher(config, o.Namespaces)
	if err != nil {
		return nil, err
	}
	c := newCache(o)
	c.watch = w
	return c, nil
}

func newCache(o CacheOptions) *PeerCapabilityCache {
	c := &PeerCapabilityCache{index: newIndex(), clock: o.Clock, skew: o.ClockSkew}
	if c.clock == nil {
		c.clock = time.Now
	}
	switch {
	case c.skew == 0:
		c.skew = DefaultClockSkew
	case c.skew < 0:
		c.skew = 0
	}
	if o.Reporter != nil {
		c.observe = o.Reporter.Observe
	}
	return c
}

// Start watches until the context ends, through refusals and outages, so that what an administrator mends heals by itself. It returns
// what kept the cache from being up to date when the context ended, nil if nothing did; an *AccessError where a right is missing. Call it once,
// in a goroutine of its own.
func (c *PeerCapabilityCache) Start(ctx context.Context) error {
	if c.watch == nil {
		<-ctx.Done()
		return nil
	}
	return c.watch.run(ctx, c)
}

// WaitForSync waits until all AgentPeers are known. It returns an *AccessError at once where the API server refuses, and an error that wraps the
// context's when that ends first. It may be called again.
func (c *PeerCapabilityCache) WaitForSync(ctx context.Context) error {
	if c.watch == nil {
		return nil
	}
	return c.watch.wait(ctx)
}

// Err is what keeps the cache from being up to date, nil where nothing does: an *AccessError where a right is missing, else what went wrong
// with the watch. What is known goes on counting until it expires.
func (c *PeerCapabilityCache) Err() error {
	if c.watch == nil {
		return nil
	}
	return c.watch.err()
}

// Decide tells what to do with the peer now. Ask for each request and keep nothing: it takes no lock, allocates nothing, and costs less than 200
// ns. Where several AgentPeers stand for a URL the worst counts in each field.
func (c *PeerCapabilityCache) Decide(peer Ref) Decision {
	_, at, why := c.find(peer)
	if at == nil {
		return unverified(v1alpha1.PathSingleShot, why, nil)
	}
	return at.Decision
}

// IsTrusted tells whether the peer was observed to do what the capability promises, and that still counts: it is Trusted, has not expired,
// and neither the decision nor this process says otherwise. Of a capability that is merely declared nothing was observed, so it is not
// trusted.
func (c *PeerCapabilityCache) IsTrusted(peer Ref, capability v1alpha1.CapabilityName) bool {
	place, ok := place(capability)
	if !ok {
		return false
	}
	now := momentOf(c.clock())
	a, at, _ := c.findAt(peer, now)
	return at != nil && at.Path != v1alpha1.PathUnavailable && a.held[place] <= now && now < a.trusted[place]
}

// RefusedInputModes lists the media types that the peer declares as input modes and was seen to refuse: do not send them. The slice is
// shared: do not change it.
func (c *PeerCapabilityCache) RefusedInputModes(peer Ref) []string {
	a, _, _ := c.find(peer)
	if a == nil {
		return nil
	}
	return a.refused
}

// Demote says that the peer was seen to break what the capability promises, and how. It takes effect in this process at once, for every
// Ref of the peer: IsTrusted is false, and Decide no longer rests on the capability (Streaming: SingleShot with reason DemotedHere;
// Continuation: AllInputsUpfront; Cancellation: BestEffort; PushNotifications: Poll). Where the error charges another capability than is
// named here, both are held and the one it charges is reported; an empty name is the one that it charges.
//
// It holds until the operator saw the capability work in a round that began after it (status.capabilities[].lastHonoredTime, by more than
// CacheOptions.ClockSkew), and for a minute at least. Each further Demote doubles that time up to an hour, each hour without one halves it
// again; all within one such time count as one, as they come from work that was under way together. It ends with the AgentPeer, and when that
// gets another target.
//
// An error that Classify does not hold against a peer, nil included, has no effect but to be counted: a network fault, a refused
// credential, a rate limit and a deadline of one's own are nobody's broken word.
func (c *PeerCapabilityCache) Demote(peer Ref, capability v1alpha1.CapabilityName, err error) {
	verdict := Classify(err).For(capability)
	if capability == "" {
		capability = verdict.Capability
	}
	charged, ok := place(verdict.Capability)
	named, ok2 := place(capability)
	a, _, _ := c.find(peer)
	if !verdict.Report || !ok || !ok2 || a == nil {
		c.ignored.Add(1)
		return
	}
	now := c.clock()
	for _, f := range a.of {
		c.hold(f, now, charged, named)
	}
	c.demotions.Add(1)
	if c.observe != nil {
		c.report(a, Sighting{Capability: verdict.Capability, Reason: verdict.Reason, Basis: verdict.Basis, TaskID: verdict.TaskID,
			Observed: verdict.Observed, Time: now})
	}
}

// hold a broken word against an AgentPeer, if it is still there and about the same target.
func (c *PeerCapabilityCache) hold(f *facts, now time.Time, capabilities ...int) {
	c.index.mu.Lock()
	defer c.index.mu.Unlock()
	a := c.index.peers[f.name]
	if a == nil || a.of[0].uid != f.uid || a.of[0].target != f.target {
		return
	}
	for i, at := range capabilities {
		if i == 0 || at != capabilities[0] {
			c.index.holds.demote(a.of[0], at, momentOf(now))
		}
	}
	c.index.put(answerOf(a.of[0], c.index.holds.ends(a.of[0], c.skew)))
}

// Honored says that the peer was seen to do what the capability promises. It only counts for the Reporter: trust is the operator's to give.
func (c *PeerCapabilityCache) Honored(peer Ref, capability v1alpha1.CapabilityName) {
	if c.observe == nil {
		return
	}
	if _, ok := place(capability); !ok {
		return
	}
	if a, _, _ := c.find(peer); a != nil {
		c.report(a, Sighting{Capability: capability, Honored: true, Time: c.clock()})
	}
}

// report a sighting of each AgentPeer that an answer is about.
func (c *PeerCapabilityCache) report(a *answer, s Sighting) {
	for _, f := range a.of {
		s.Peer, s.UID, s.Target, s.ClaimsDigest = f.name, f.uid, f.target, f.claims
		c.observe(s)
	}
}

// Stats tells what the cache was told.
func (c *PeerCapabilityCache) Stats() Stats {
	return Stats{Demotions: c.demotions.Load(), Ignored: c.ignored.Load()}
}

func (c *PeerCapabilityCache) find(peer Ref) (*answer, *step, v1alpha1.Reason) {
	return c.findAt(peer, momentOf(c.clock()))
}

// findAt is the answer for a Ref and the step that holds; without one, why there is none.
func (c *PeerCapabilityCache) findAt(peer Ref, now moment) (*answer, *step, v1alpha1.Reason) {
	if c.watch != nil && !c.watch.synced.Load() || c.reader != nil && !c.read(peer) {
		return nil, nil, ReasonCacheNotSynced
	}
	a, at := c.index.find(peer, now)
	return a, at, ReasonPeerUnknown
}

package client

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Reader reads AgentPeers from where the program has them already: an informer of its own, or a table in a test. It should answer from
// memory, as it is asked with each question. It may be asked by many goroutines at once.
type Reader interface {
	// Get returns the AgentPeer of this name. None at all is nil without an error, or an error that apierrors.IsNotFound knows; any other
	// error makes the answer the safe one, with reason CacheNotSynced. The object is not changed.
	Get(name types.NamespacedName) (*v1alpha1.AgentPeer, error)
	// List returns all AgentPeers, under the same terms.
	List() ([]*v1alpha1.AgentPeer, error)
}

// NewPeerCapabilityCacheFor makes a cache that asks a Reader with each question, for programs that watch AgentPeers anyway. A question about a
// name costs one Get; it is worked out anew, in a few microseconds, where the resourceVersion is another than last time. A question about a
// URL costs one List and a look at each object, so with thousands of peers take NewPeerCapabilityCache, which keeps an index. Start and WaitForSync have
// nothing to do.
func NewPeerCapabilityCacheFor(r Reader, o CacheOptions) *PeerCapabilityCache {
	c := newCache(o)
	c.reader = r
	return c
}

// read brings the index up to date for a question; false where the Reader could not answer.
func (c *PeerCapabilityCache) read(peer Ref) bool {
	if peer.url != "" {
		return c.readAll()
	}
	name := types.NamespacedName{Namespace: peer.namespace, Name: peer.name}
	found, err := c.reader.Get(name)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return false
	case err != nil || found == nil:
		c.drop(name)
	default:
		c.take(found)
	}
	return true
}

func (c *PeerCapabilityCache) readAll() bool {
	all, err := c.reader.List()
	if err != nil {
		return false
	}
	for _, peer := range all {
		c.take(peer)
	}
	c.keep(all, func(types.NamespacedName) bool { return true })
	return true
}

// take up an AgentPeer, unless it is known as it is.
func (c *PeerCapabilityCache) take(peer *v1alpha1.AgentPeer) {
	c.index.mu.Lock()
	defer c.index.mu.Unlock()
	name := types.NamespacedName{Namespace: peer.Namespace, Name: peer.Name}
	if a := c.index.peers[name]; a != nil && peer.ResourceVersion != "" &&
		a.of[0].version == peer.ResourceVersion && a.of[0].uid == peer.UID {
		return
	}
	f := compile(peer, c.skew)
	c.index.put(answerOf(f, c.index.holds.ends(f, c.skew)))
}

func (c *PeerCapabilityCache) drop(name types.NamespacedName) {
	c.index.mu.Lock()
	defer c.index.mu.Unlock()
	c.index.drop(name)
}

// keep drops every AgentPeer of a scope that is not among those.
func (c *PeerCapabilityCache) keep(those []*v1alpha1.AgentPeer, scope func(types.NamespacedName) bool) {
	there := make(map[types.NamespacedName]bool, len(those))
	for _, peer := range those {
		there[types.NamespacedName{Namespace: peer.Namespace, Name: peer.Name}] = true
	}
	c.index.mu.Lock()
	defer c.index.mu.Unlock()
	for _, name := range slices.Collect(maps.Keys(c.index.peers)) {
		if scope(name) && !there[name] {
			c.index.drop(name)
		}
	}
}

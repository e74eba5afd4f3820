package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// memory holds what is known of each peer beyond its status: cheap rounds that were folded and did not need to be
// written, and which write was our last. Losing it is safe; status is the record.
type memory struct {
	mu    sync.Mutex
	peers map[types.NamespacedName]*remembered
}

// remembered is one peer's part. Reconcile of one key never runs twice at once, so its fields need no lock.
type remembered struct {
	uid types.UID
	// since is when this process first saw the object.
	since time.Time
	// version of the object that our last write made. An older object in the cache has not caught up yet.
	version string
	// rounds is the number that status showed when known was computed from it; another number there means that
	// somebody else changed status, and status wins.
	rounds int64
	known  *trust.Peer
	// asked is the value of the annotation that the round in flight answers, and askedRound the number of a round that was asked for.
	asked      string
	askedRound int64
	// reportedRound is the number of a round that reports brought forward.
	reportedRound int64
	// references stand for the versions of the spec and of what it refers to; renewed says that they changed and no round began since.
	references uint64
	renewed    bool
	card       lastCard
	pause      pause
	// sighted is the round that the fleet fuse was told of last.
	sighted int64
	// shown are the trust states that metrics show.
	shown map[trust.Capability]trust.State
	// missing is what is said of a reference that is missing, and missingSince since when.
	missing      string
	missingSince time.Time
}

// pause is until when a target asked to be left alone (Retry-After).
type pause struct {
	target string
	until  time.Time
}

// lastCard is the card as it was last read, so that the next round can ask whether it changed.
type lastCard struct {
	// generation of the spec that it was read under: another may look elsewhere.
	generation int64
	etag       string
	known      *probe.Known
}

// validFor drops what was read under another spec.
func (c *lastCard) validFor(generation int64) {
	if c.generation != generation {
		*c = lastCard{generation: generation}
	}
}

// learn takes over what a round read. A round that was told "not modified" read nothing new.
func (c *lastCard) learn(report *probe.Report) {
	c.validFor(report.Generation)
	if report.Card == nil {
		return
	}
	c.etag, c.known = report.ETag, nil
	if report.Interface != nil {
		c.known = &probe.Known{Interface: *report.Interface, Generation: report.WireGeneration, Claims: report.Round.Claims}
	}
}

// refer takes note of what a spec refers to now. What was read of the card is read again under other references, such as other keys. Of
// what was before this process it is known only whether the spec is the one that was acted upon.
func (r *remembered) refer(references uint64, acted bool) {
	if r.references == references {
		return
	}
	if r.references != 0 || !acted {
		r.renewed, r.card = true, lastCard{}
	}
	r.references = references
}

func newMemory() *memory { return &memory{peers: map[types.NamespacedName]*remembered{}} }

// of returns what is remembered of an object. Another object of the same name begins anew; replaced says so.
func (m *memory) of(key types.NamespacedName, uid types.UID) (r *remembered, replaced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r = m.peers[key]
	if r != nil && r.uid == uid {
		return r, false
	}
	replaced = r != nil
	next := &remembered{uid: uid}
	if replaced {
		next.shown = r.shown // series are named by namespace and name, so they go on
	}
	m.peers[key] = next
	return next, replaced
}

// forget drops a peer and returns what was remembered, nil if nothing.
func (m *memory) forget(key types.NamespacedName) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.peers[key]
	delete(m.peers, key)
	return r
}

// behind says whether an object read from the cache is older than our last write to it. Computing from it would only
// end in a conflict, and might ask a peer twice.
func (r *remembered) behind(version string) bool {
	if r.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, r.version)
	return err == nil && order < 0
}

// over lays what was folded in memory over what status holds.
func (r *remembered) over(status trust.Peer) trust.Peer {
	if r.known == nil || r.rounds != status.Rounds.Last || r.known.Rounds.Last < status.Rounds.Last {
		return status
	}
	return *r.known
}

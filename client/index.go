package client

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// buckets of the index: with ten thousand peers most hold one or two slots.
const buckets = 1 << 15

// index finds the answer for a Ref. Readers take no lock and allocate nothing, unless several AgentPeers stand for one URL and one of them
// has changed since anybody asked. It is a table of chains, so that a reader looks at few places in memory: bucket, slot, answer.
type index struct {
	seed    maphash.Seed
	buckets [buckets]atomic.Pointer[slot]

	// mu guards what only writers look at, and keeps them apart.
	mu    sync.Mutex
	peers map[types.NamespacedName]*answer
	holds holds
}

func newIndex() *index {
	return &index{seed: maphash.MakeSeed(), peers: map[types.NamespacedName]*answer{}, holds: holds{}}
}

// slot is the place of one Ref.
type slot struct {
	ref    Ref
	next   atomic.Pointer[slot]
	answer atomic.Pointer[answer]

	// mu guards members: what stands for the Ref. One with a name has one.
	mu      sync.Mutex
	members []*answer
}

// find is the answer for a Ref at a moment and the step that holds, nil where nothing stands for it.
func (x *index) find(r Ref, now moment) (*answer, *step) {
	s := x.bucket(r).Load()
	for s != nil && s.ref != r {
		s = s.next.Load()
	}
	if s == nil {
		return nil, nil
	}
	if a := s.answer.Load(); a != nil {
		if at := a.at(now); at != nil {
			return a, at
		}
	}
	return s.work(now)
}

func (x *index) bucket(r Ref) *atomic.Pointer[slot] {
	if r.url != "" {
		return &x.buckets[maphash.String(x.seed, r.url)%buckets]
	}
	return &x.buckets[(maphash.String(x.seed, r.name)^maphash.String(x.seed, r.namespace)*3)%buckets]
}

// work out the answer of several members for a moment, and keep it for the next reader.
func (s *slot) work(now moment) (*answer, *step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) == 0 {
		return nil, nil
	}
	a := worst(s.members, now)
	s.answer.Store(a)
	return a, a.at(now)
}

// set a member; nil takes it out. It tells whether any is left.
func (s *slot) set(name types.NamespacedName, a *answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := slices.BinarySearchFunc(s.members, name, func(a *answer, name types.NamespacedName) int { return compare(a.of[0].name, name) })
	switch {
	case there && a != nil:
		s.members[i] = a
	case there:
		s.members = slices.Delete(s.members, i, i+1)
	case a != nil:
		s.members = slices.Insert(s.members, i, a)
	}
	var only *answer
	if len(s.members) == 1 {
		only = s.members[0]
	}
	s.answer.Store(only)
	return len(s.members) > 0
}

func compare(a, b types.NamespacedName) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// put takes up what is now known of an AgentPeer. The caller holds mu.
func (x *index) put(a *answer) {
	f := a.of[0]
	if before := x.peers[f.name]; before != nil {
		for _, u := range before.of[0].urls {
			if !slices.Contains(f.urls, u) {
				x.set(Ref{url: u}, f.name, nil)
			}
		}
	}
	x.peers[f.name] = a
	x.set(Named(f.name.Namespace, f.name.Name), f.name, a)
	for _, u := range f.urls {
		x.set(Ref{url: u}, f.name, a)
	}
}

// drop forgets an AgentPeer, and what is held against it. The caller holds mu.
func (x *index) drop(name types.NamespacedName) {
	a := x.peers[name]
	if a == nil {
		return
	}
	delete(x.peers, name)
	delete(x.holds, name)
	x.set(Named(name.Namespace, name.Name), name, nil)
	for _, u := range a.of[0].urls {
		x.set(Ref{url: u}, name, nil)
	}
}

// set a member of a Ref; nil takes it out. A reader that stands on a slot that is taken out still finds the rest of the chain behind it.
func (x *index) set(r Ref, name types.NamespacedName, a *answer) {
	at := x.bucket(r)
	for s := at.Load(); s != nil; s = at.Load() {
		if s.ref == r {
			if !s.set(name, a) {
				at.Store(s.next.Load())
			}
			return
		}
		at = &s.next
	}
	if a != nil {
		s := &slot{ref: r, members: []*answer{a}}
		s.answer.Store(a)
		at.Store(s)
	}
}

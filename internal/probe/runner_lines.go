package probe

import (
	"container/heap"
	"container/list"
	"slices"
	"strings"
)

// lines are the rounds that wait for a place, so ordered that no namespace stands behind another's crowd, and no origin and no namespace
// has more rounds in flight than it may. The namespace that was served longest ago is served next. It needs the Runner's lock.
//
// An origin may be shared, such as a gateway. There, a namespace that has half of the places (rounded up) gets no more while another waits, and a
// round that became slow gives its place up for another namespace's and goes on beside it. Beside it go as many as there are places at most, and
// no namespace has more rounds in flight there than there are places.
type lines struct {
	perOrigin    [2]int // places, by lane; twice as many rounds may be in flight
	perNamespace [2]int // rounds in flight: in all, and of them in the lane of the hung
	served       uint64 // rounds ever started, the clock of whose turn it is
	namespaces   map[string]*namespace
	origins      map[string]*origin
	ready        [2]turns
}

// namespace is a namespace with its peers.
type namespace struct {
	name    string
	peers   int // known, or forgotten with a round still in flight
	running [2]int
	queue   [2]list.List // of *runnerPeer
	served  [2]uint64    // when a round of it was started last; 0 for never
	turn    [2]int       // its place among those ready, from 1; 0 for none
}

// origin counts the rounds in flight against one origin, by lane, and holds those that wait for their turn there.
type origin struct {
	running [2][]*runnerPeer             // those that hold a place, the oldest first
	aside   [2]int                       // those that gave theirs up
	of      [2]map[*namespace]int        // both, by namespace; none is 0
	waiting [2]map[*namespace]*list.List // of *runnerPeer; none is empty
	wanted  [2]map[*namespace]int        // rounds that had to wait here and have not begun, those called back included; none is 0
}

func newOrigin() *origin {
	o := &origin{}
	for id := range o.of {
		o.of[id], o.waiting[id], o.wanted[id] = map[*namespace]int{}, map[*namespace]*list.List{}, map[*namespace]int{}
	}
	return o
}

// count adds to the number of a namespace and keeps no 0.
func count(m map[*namespace]int, t *namespace, n int) {
	if m[t] += n; m[t] == 0 {
		delete(m, t)
	}
}

// spot is where a round waits: in its namespace's queue, or at its origin once that had as many as it may.
type spot struct {
	line     *list.List // nil if it does not wait
	element  *list.Element
	atOrigin bool
}

func (s spot) waits() bool { return s.line != nil }

func newLines(perOrigin, perNamespace [2]int) lines {
	return lines{perOrigin: perOrigin, perNamespace: perNamespace, namespaces: map[string]*namespace{}, origins: map[string]*origin{},
		ready: [2]turns{{lane: mainLane}, {lane: hungLane}}}
}

// enter counts a new peer of the namespace before the "/" of its key. Each enter needs one depart.
func (l *lines) enter(key string) *namespace {
	name, _, _ := strings.Cut(key, "/")
	t := l.namespaces[name]
	if t == nil {
		t = &namespace{name: name}
		l.namespaces[name] = t
	}
	t.peers++
	return t
}

func (l *lines) depart(t *namespace) {
	if t.peers--; t.peers == 0 {
		delete(l.namespaces, t.name)
	}
}

// join puts a peer at the end of its namespace's queue.
func (l *lines) join(p *runnerPeer) {
	q := &p.namespace.queue[p.lane]
	p.queued = spot{line: q, element: q.PushBack(p)}
	l.ready[p.lane].add(p.namespace)
}

// quit takes a peer out of wherever it waits. It may have been called from its origin; then others come in its stead.
func (l *lines) quit(p *runnerPeer) {
	called := !p.queued.atOrigin
	l.leave(p)
	if o := l.origins[p.origin]; o != nil {
		o.unwant(p)
		if called {
			l.call(o, p.lane)
		}
	}
	l.tidy(p.origin)
}

func (l *lines) leave(p *runnerPeer) {
	s, t := p.queued, p.namespace
	p.queued = spot{}
	s.line.Remove(s.element)
	switch {
	case s.line.Len() > 0:
	case s.atOrigin:
		delete(l.origins[p.origin].waiting[p.lane], t)
	default:
		l.ready[p.lane].remove(t)
	}
}

// next takes the peer whose turn it is and counts its round as in flight; nil if none may start now.
func (l *lines) next(id laneID) *runnerPeer {
	for {
		t := l.ready[id].first()
		switch {
		case t == nil:
			return nil
		case l.full(t, id):
			l.ready[id].remove(t) // ended adds it again
			continue
		}
		p := t.queue[id].Front().Value.(*runnerPeer)
		l.leave(p)
		o := l.origins[p.origin]
		if o == nil {
			o = newOrigin()
			l.origins[p.origin] = o
		}
		if !l.admits(o, t, id) {
			o.park(p)
			l.yield(o, id)
			continue
		}
		o.unwant(p)
		o.running[id] = append(o.running[id], p)
		count(o.of[id], t, 1)
		t.running[id]++
		l.served++
		t.served[id] = l.served
		l.ready[id].moved(t)
		return p
	}
}

func (l *lines) full(t *namespace, id laneID) bool {
	return t.running[mainLane]+t.running[hungLane] >= l.perNamespace[mainLane] || id == hungLane && t.running[hungLane] >= l.perNamespace[hungLane]
}

// admits tells whether a namespace may begin one more round at an origin.
func (l *lines) admits(o *origin, t *namespace, id laneID) bool {
	most := l.perOrigin[id]
	if len(o.running[id]) >= most || o.of[id][t] >= most {
		return false
	}
	return o.of[id][t] < (most+1)/2 || !l.wantedByOthers(o, t, id)
}

// wantedByOthers tells whether another namespace, one that could begin a round, waits for an origin.
func (l *lines) wantedByOthers(o *origin, t *namespace, id laneID) bool {
	for other := range o.wanted[id] {
		if other != t && !l.full(other, id) && o.of[id][other] < l.perOrigin[id] {
			return true
		}
	}
	return false
}

// yield takes a place at an origin that has none left from a slow round, for the rounds of other namespaces that wait there: of the namespace
// that has most, the oldest.
func (l *lines) yield(o *origin, id laneID) {
	if len(o.running[id]) < l.perOrigin[id] || o.aside[id] >= l.perOrigin[id] {
		return
	}
	var from *runnerPeer
	for _, p := range o.running[id] {
		if p.slow && (from == nil || o.of[id][p.namespace] > o.of[id][from.namespace]) && l.wantedByOthers(o, p.namespace, id) {
			from = p
		}
	}
	if from == nil {
		return
	}
	from.aside = true
	o.aside[id]++
	o.running[id] = slices.DeleteFunc(o.running[id], func(p *runnerPeer) bool { return p == from })
	l.call(o, id)
}

// slowed notes that the round of a peer became slow, and lets another begin in its stead.
func (l *lines) slowed(p *runnerPeer) {
	p.slow = true
	l.yield(l.origins[p.origin], p.lane)
}

// ended frees what the round of a peer held.
func (l *lines) ended(p *runnerPeer) {
	t, o := p.namespace, l.origins[p.origin]
	t.running[p.lane]--
	count(o.of[p.lane], t, -1)
	if p.aside {
		o.aside[p.lane]--
	} else {
		o.running[p.lane] = slices.DeleteFunc(o.running[p.lane], func(other *runnerPeer) bool { return other == p })
	}
	p.slow, p.aside = false, false
	for id := range t.queue {
		if t.queue[id].Len() > 0 {
			l.ready[id].add(t)
		}
	}
	l.call(o, p.lane)
	l.tidy(p.origin)
	if p.gone {
		l.depart(t)
	}
}

// park lets a peer wait at its origin.
func (o *origin) park(p *runnerPeer) {
	at := o.waiting[p.lane][p.namespace]
	if at == nil {
		at = list.New()
		o.waiting[p.lane][p.namespace] = at
	}
	p.queued = spot{line: at, element: at.PushBack(p), atOrigin: true}
	if !p.wants {
		p.wants = true
		count(o.wanted[p.lane], p.namespace, 1)
	}
}

// unwant is for a peer that waits no more.
func (o *origin) unwant(p *runnerPeer) {
	if p.wants {
		p.wants = false
		count(o.wanted[p.lane], p.namespace, -1)
	}
}

// call sends one peer of each namespace that waits at an origin back to the front of its namespace's queue: its turn came once already. Whose
// turn it is among the namespaces is for next to say, which parks the others again. To call one alone would not do: it may be of a namespace
// that is full, and nobody else would come.
func (l *lines) call(o *origin, id laneID) {
	for t, at := range o.waiting[id] {
		p := at.Front().Value.(*runnerPeer)
		l.leave(p)
		p.queued = spot{line: &t.queue[id], element: t.queue[id].PushFront(p)}
		l.ready[id].add(t)
	}
}

func (l *lines) tidy(name string) {
	o := l.origins[name]
	if o != nil && len(o.of[mainLane])+len(o.of[hungLane])+len(o.wanted[mainLane])+len(o.wanted[hungLane]) == 0 {
		delete(l.origins, name)
	}
}

// turns are the namespaces of a lane that have a peer in the queue and are not known to be full; the one served longest ago is the first.
type turns struct {
	lane laneID
	list []*namespace
}

func (q *turns) first() *namespace {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

// add does nothing for one that is there.
func (q *turns) add(t *namespace) {
	if t.turn[q.lane] == 0 {
		heap.Push(q, t)
	}
}

// remove does nothing for one that is not there.
func (q *turns) remove(t *namespace) {
	if i := t.turn[q.lane]; i > 0 {
		heap.Remove(q, i-1)
	}
}

// moved puts a namespace where it belongs after it was served.
func (q *turns) moved(t *namespace) {
	if i := t.turn[q.lane]; i > 0 {
		heap.Fix(q, i-1)
	}
}

// Len is part of heap.Interface.
func (q *turns) Len() int { return len(q.list) }

// Less is part of heap.Interface.
func (q *turns) Less(i, j int) bool { return q.list[i].served[q.lane] < q.list[j].served[q.lane] }

// Swap is part of heap.Interface.
func (q *turns) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.list[i].turn[q.lane], q.list[j].turn[q.lane] = i+1, j+1
}

// Push is part of heap.Interface.
func (q *turns) Push(t any) {
	q.list = append(q.list, t.(*namespace))
	t.(*namespace).turn[q.lane] = len(q.list)
}

// Pop is part of heap.Interface.
func (q *turns) Pop() any {
	last := len(q.list) - 1
	t := q.list[last]
	q.list[last], q.list = nil, q.list[:last]
	t.turn[q.lane] = 0
	return t
}

package probe

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// ledger counts the tasks that a round began and remembers those that may still run. Safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	tasks int
	open  []begun
	// unnamed are messages that may have begun a task whose id we never learned, by when they were sent.
	unnamed []time.Time
	// undead are tasks that were said to be canceled and went on.
	undead []Orphan
}

// begun is a task that may still run.
type begun struct {
	id    string
	since time.Time
	rpc   wire.Peer
}

// count one message that may have reached the peer's handler.
func (l *ledger) count() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks++
}

func (l *ledger) spent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tasks
}

// told notes what is known of a task: it is open from its first sight until a terminal state is seen of it.
func (l *ledger) told(rpc wire.Peer, id string, s lifecycle.State, now time.Time) {
	if id == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(b begun) bool { return b.id == id })
	switch {
	case s.Terminal() && i >= 0:
		l.open = slices.Delete(l.open, i, i+1)
	case !s.Terminal() && i < 0 && len(l.open) < maxOpen:
		l.open = append(l.open, begun{id: id, since: now, rpc: rpc})
	}
}

// closed notes that a task needs no cleaning up.
func (l *ledger) closed(id string) { l.told(nil, id, lifecycle.Canceled, time.Time{}) }

// lost notes that a message may have begun a task whose id we never learned.
func (l *ledger) lost(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unnamed = append(l.unnamed, since)
}

// zombie notes a task that went on after its cancel was accepted: no further cancel will end it (design 5).
func (l *ledger) zombie(id string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undead = append(l.undead, Orphan{ID: lifecycle.SafeID(id), Since: since})
}

// UnknownTask stands for the id of an orphan whose id the peer never told.
const UnknownTask = "unknown"

// maxOpen bounds what we clean up after: a peer may name as many tasks as it likes. It is more than a round begins (Costs).
const maxOpen = 32

// beyond are the tasks that no cancel of ours can reach.
func (l *ledger) beyond() []Orphan {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.undead)
	for _, since := range l.unnamed {
		list = append(list, Orphan{ID: UnknownTask, Since: since})
	}
	return list
}

func (l *ledger) left() []begun {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

// cleanupTimeout bounds the end of a round, ctx ended or not.
const cleanupTimeout = 10 * time.Second

// cleanUp cancels every task that may still run and returns those that it could not. It works on although ctx has ended, but not for
// long: a round that was called off still owes the peer its tidiness.
func (s *session) cleanUp(ctx context.Context) []Orphan {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(cleanupTimeout, s.timing.FirstEvent+s.timing.Settle))
	defer cancel()
	orphans := s.ledger.beyond()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, b := range s.ledger.left() {
		all.Go(func() {
			if s.ended(ctx, b) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			o := Orphan{ID: lifecycle.SafeID(b.id), Since: b.since}
			if !slices.ContainsFunc(orphans, func(x Orphan) bool { return x.ID == o.ID }) {
				orphans = append(orphans, o)
			}
		})
	}
	all.Wait()
	slices.SortFunc(orphans, func(a, b Orphan) int { return a.Since.Compare(b.Since) })
	return orphans
}

// ended cancels a task and says whether it is over, or gone. Nobody is above the goroutine that it runs in: after a fault of ours the task
// counts as left behind.
func (s *session) ended(ctx context.Context, b begun) bool {
	defer func() { _ = recover() }()
	a, err := b.rpc.CancelTask(ctx, s.ids.id(b.id))
	if err == nil && over(a) {
		return true
	}
	for range 3 {
		a, err = b.rpc.GetTask(ctx, s.ids.id(b.id), nil)
		if err == nil && over(a) {
			return true
		}
		if err != nil || !pause(ctx, s.timing.Settle/3) {
			return false
		}
	}
	return false
}

// over: a terminal state, or a task that the peer does not know (any more).
func over(a *wire.Answer) bool {
	if a.Err != nil {
		return a.Err.Code == codeTaskNotFound
	}
	return stateOf(a.RawState).Terminal()
}

package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// How many closed entries a ledger keeps, and how long, unless Retain says otherwise.
const (
	DefaultRetainEntries = 1000
	DefaultRetainAge     = 24 * time.Hour
)

// Ledger is the book of the tasks that an orchestrator began: written before the message goes out, and at each change. What is open in it
// after a restart can be resumed or cancelled (Tasks.Resume). Closed entries are pruned by number and age, open and orphaned ones never.
// It is safe for concurrent use.
type Ledger struct {
	store Store

	mu      sync.Mutex
	records map[string]*record
	closed  int
	entries int
	age     time.Duration
	pruned  time.Time
	failed  error
}

type record struct {
	entry Entry
	// followed says that somebody in this process follows the task.
	followed bool
	// saving is held while the entry is written, so that an older form never overtakes a newer.
	saving sync.Mutex
}

// NewLedger opens a ledger with what the store has. If single entries of it cannot be read, the ledger is returned together with the
// error that names them (*BrokenEntryError): it has all the others and can be used.
func NewLedger(ctx context.Context, s Store) (*Ledger, error) {
	if s == nil {
		return nil, errors.New("opening ledger: no store; use NewMemoryStore or NewFileStore")
	}
	list, err := s.Load(ctx)
	var broken *BrokenEntryError
	if err != nil && !errors.As(err, &broken) {
		return nil, err
	}
	l := &Ledger{store: s, records: map[string]*record{}, entries: DefaultRetainEntries, age: DefaultRetainAge}
	for _, e := range list {
		if badErr := e.check(); badErr != nil {
			err = errors.Join(err, &BrokenEntryError{Name: e.ID, Err: badErr})
			continue
		}
		l.records[e.ID] = &record{entry: e}
		l.count(Entry{}, e)
	}
	l.prune(ctx, time.Now())
	return l, err
}

// Retain sets how many closed entries are kept, and for how long after they closed. Zero and less mean the default.
func (l *Ledger) Retain(entries int, age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.age = entries, age
	if entries <= 0 {
		l.entries = DefaultRetainEntries
	}
	if age <= 0 {
		l.age = DefaultRetainAge
	}
}

// Entries lists every entry, the oldest first.
func (l *Ledger) Entries() []Entry { return l.list(func(Entry) bool { return true }) }

// Open lists the entries that are not closed, orphaned ones and those handed over included.
func (l *Ledger) Open() []Entry { return l.list(func(e Entry) bool { return !e.State.Terminal() }) }

// Diverged lists the entries that ended as a divergence.
func (l *Ledger) Diverged() []Entry {
	return l.list(func(e Entry) bool { return e.State == lifecycle.EntryDivergence })
}

// Orphaned lists the entries whose task may still run while nobody waits for it.
func (l *Ledger) Orphaned() []Entry { return l.list(func(e Entry) bool { return e.Orphaned }) }

func (l *Ledger) list(want func(Entry) bool) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Entry
	for _, r := range l.records {
		if want(r.entry) {
			list = append(list, r.entry)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Opened.Compare(b.Opened), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Entry by its ID.
func (l *Ledger) Entry(id string) (Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.records[id]; r != nil {
		return r.entry, true
	}
	return Entry{}, false
}

// Forget deletes an entry, for orphans that somebody has seen to and tasks that were handed over. One that is followed cannot be forgotten.
func (l *Ledger) Forget(ctx context.Context, id string) error {
	l.mu.Lock()
	r := l.records[id]
	if r != nil && r.followed {
		l.mu.Unlock()
		return fmt.Errorf("forgetting ledger entry %s: its task is being followed; cancel it first", id)
	}
	if r != nil {
		delete(l.records, id)
		l.count(r.entry, Entry{})
	}
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	return l.remove(ctx, r)
}

// Failing is the error of the last write if it failed, nil if it did not. What could not be written is still in memory, and is written
// with the next change of the same entry.
func (l *Ledger) Failing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// writeTimeout bounds one write, whatever became of the caller's context.
const writeTimeout = 5 * time.Second

// begin adds an entry; nothing may be sent unless it was written.
func (l *Ledger) begin(ctx context.Context, e Entry) (Entry, error) {
	e.ID = strings.ToLower(rand.Text())
	e.Opened = time.Now().Round(0).UTC()
	e.Updated = e.Opened
	r := &record{entry: e, followed: true}
	l.mu.Lock()
	l.records[e.ID] = r
	l.count(Entry{}, e)
	l.mu.Unlock()
	if err := l.save(ctx, r); err != nil {
		l.mu.Lock()
		delete(l.records, e.ID)
		l.count(e, Entry{})
		l.mu.Unlock()
		return e, err
	}
	return e, nil
}

// update changes an entry and writes it. An error is remembered (Failing); the change stands.
func (l *Ledger) update(ctx context.Context, id string, change func(*Entry)) {
	l.mu.Lock()
	r := l.records[id]
	if r == nil {
		l.mu.Unlock()
		return
	}
	before := r.entry
	change(&r.entry)
	now := time.Now().Round(0).UTC()
	r.entry.Updated = now
	if r.entry.State.Terminal() && r.entry.Closed.IsZero() {
		r.entry.Closed = now
	}
	if r.entry.Orphaned && r.entry.OrphanedSince.IsZero() {
		r.entry.OrphanedSince = now
	}
	l.count(before, r.entry)
	l.mu.Unlock()
	_ = l.save(ctx, r)
	l.prune(ctx, now)
}

// count keeps the number of closed entries that may be pruned.
func (l *Ledger) count(before, after Entry) {
	for e, n := range map[*Entry]int{&before: -1, &after: 1} {
		if e.ID != "" && e.prunable() {
			l.closed += n
		}
	}
}

func (e *Entry) prunable() bool { return e.State.Terminal() && !e.Orphaned }

func (l *Ledger) save(ctx context.Context, r *record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	r.saving.Lock()
	defer r.saving.Unlock()
	l.mu.Lock()
	e, gone := r.entry, l.records[r.entry.ID] != r
	l.mu.Unlock()
	if gone {
		return nil
	}
	err := l.store.Save(ctx, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	return err
}

func (l *Ledger) remove(ctx context.Context, r *record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	r.saving.Lock()
	defer r.saving.Unlock()
	return l.store.Delete(ctx, r.entry.ID)
}

// pruneEvery is how often age alone prunes.
const pruneEvery = time.Minute

// prune deletes closed entries that are too many or too old.
func (l *Ledger) prune(ctx context.Context, now time.Time) {
	for _, r := range l.surplus(now) {
		if err := l.remove(ctx, r); err != nil {
			l.mu.Lock()
			l.failed = err
			l.mu.Unlock()
		}
	}
}

func (l *Ledger) surplus(now time.Time) []*record {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A tenth more than may be kept is let grow, so that not every task pays for a look at all of them.
	if l.closed <= l.entries+l.entries/10 && now.Sub(l.pruned) < pruneEvery {
		return nil
	}
	l.pruned = now
	var old []*record
	for _, r := range l.records {
		if r.entry.prunable() && !r.followed {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b *record) int { return b.entry.Closed.Compare(a.entry.Closed) })
	keep := min(len(old), l.entries)
	for keep > 0 && now.Sub(old[keep-1].entry.Closed) > l.age {
		keep--
	}
	for _, r := range old[keep:] {
		delete(l.records, r.entry.ID)
		l.count(r.entry, Entry{})
	}
	return old[keep:]
}

// follow claims an entry for one follower.
func (l *Ledger) follow(id string) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.records[id]
	switch {
	case r == nil:
		return Entry{}, fmt.Errorf("ledger has no entry %q", id)
	case r.followed:
		return Entry{}, fmt.Errorf("ledger entry %s is being followed already", id)
	case r.entry.State.Terminal() && !r.entry.Orphaned:
		return Entry{}, fmt.Errorf("ledger entry %s is closed as %s", id, r.entry.State)
	}
	r.followed = true
	return r.entry, nil
}

// leave gives a claim back.
func (l *Ledger) leave(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.records[id]; r != nil {
		r.followed = false
	}
}

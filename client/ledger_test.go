package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

func entryOf(l *Ledger, t *testing.T, peer string) Entry {
	t.Helper()
	e, err := l.begin(t.Context(), Entry{Peer: peer, State: lifecycle.EntryOpen, Task: (&lifecycle.ObservedTask{}).Snapshot()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func openLedger(t *testing.T, s Store) *Ledger {
	t.Helper()
	l, err := NewLedger(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fileStoreIn(t *testing.T, dir string) Store {
	t.Helper()
	s, err := NewFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALedgerFindsItsEntriesAgain(t *testing.T) {
	dir := t.TempDir()
	for name, store := range map[string]func() Store{
		"in memory": func() func() Store { m := NewMemoryStore(); return func() Store { return m } }(),
		"in files":  func() Store { return fileStoreIn(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			first := openLedger(t, store())
			open, diverged, done := entryOf(first, t, "a/open"), entryOf(first, t, "a/diverged"), entryOf(first, t, "a/done")
			task := lifecycle.ObservedTask{ID: "t1", Promise: true}
			_ = task.Record(lifecycle.Working)
			_, err := task.FollowUpAnswered(lifecycle.Answer{TaskID: "t2"})
			first.update(t.Context(), diverged.ID, func(e *Entry) {
				e.TaskID, e.State, e.Task, e.Orphaned = "t1", task.Entry(), task.Snapshot(), true
				e.Divergence = &EntryDivergence{Text: err.Error(), Basis: lifecycle.Card}
			})
			first.update(t.Context(), done.ID, func(e *Entry) { e.State = lifecycle.EntryCompleted })

			second := openLedger(t, store())
			if diff := cmp.Diff(first.Entries(), second.Entries()); diff != "" {
				t.Errorf("entries after a restart (-before +after):\n%s", diff)
			}
			if l := second.Open(); len(l) != 1 || l[0].ID != open.ID {
				t.Errorf("open are %v", l)
			}
			if l := second.Diverged(); len(l) != 1 || l[0].ID != diverged.ID || l[0].OrphanedSince.IsZero() {
				t.Errorf("diverged are %v", l)
			}
			if l := second.Orphaned(); len(l) != 1 || l[0].ID != diverged.ID {
				t.Errorf("orphaned are %v", l)
			}
			if err := second.Forget(t.Context(), diverged.ID); err != nil {
				t.Error(err)
			}
			if l := openLedger(t, store()).Orphaned(); len(l) != 0 {
				t.Errorf("forgotten and found again: %v", l)
			}
		})
	}
}

// A process that is killed leaves the old entry or the new one, and perhaps a file that was being written.
func TestAWriteThatNeverEndedLosesNothing(t *testing.T) {
	dir := t.TempDir()
	e := entryOf(openLedger(t, fileStoreIn(t, dir)), t, "a/peer")
	half := filepath.Join(dir, e.ID+kept+unborn)
	if err := os.WriteFile(half, []byte(`{"version":1,"id":"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := openLedger(t, fileStoreIn(t, dir)).Open(); len(l) != 1 || l[0].Peer != "a/peer" {
		t.Errorf("open are %v", l)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half-written file is still there: %v", err)
	}
}

func TestABrokenFileIsSetAsideAndLosesNothingElse(t *testing.T) {
	for name, spoil := range map[string]struct {
		how   func(text string) string
		want  string
		aside bool
	}{
		"half of it":        {func(s string) string { return s[:len(s)/2] }, "unexpected end", true},
		"nothing":           {func(string) string { return "" }, "unexpected end", true},
		"an unknown member": {func(s string) string { return strings.Replace(s, `"peer"`, `"mood":1,"peer"`, 1) }, "mood", true},
		"an unknown state":  {func(s string) string { return strings.Replace(s, `"open"`, `"lost"`, 1) }, "lost", true},
		"another's file":    {func(s string) string { return strings.Replace(s, `"id":"`, `"id":"x`, 1) }, "is called", true},
		"far too large":     {func(s string) string { return s + strings.Repeat(" ", maxEntry) }, "bytes", true},
		"a newer program's": {func(s string) string { return strings.Replace(s, `"version":1`, `"version":9`, 1) }, "version 9", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := openLedger(t, fileStoreIn(t, dir))
			good, bad := entryOf(first, t, "a/good"), entryOf(first, t, "a/bad")
			path := filepath.Join(dir, bad.ID+kept)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(spoil.how(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			second, err := NewLedger(t.Context(), fileStoreIn(t, dir))
			var broken *BrokenEntryError
			if !errors.As(err, &broken) || broken.Name != path || !strings.Contains(err.Error(), spoil.want) || (broken.SetAside != "") != spoil.aside {
				t.Fatalf("error %v, want one about %s that says %q", err, path, spoil.want)
			}
			if l := second.Open(); len(l) != 1 || l[0].ID != good.ID {
				t.Errorf("what is left is %v", l)
			}
			if _, err := NewLedger(t.Context(), fileStoreIn(t, dir)); (err == nil) != spoil.aside {
				t.Errorf("the second start says %v", err)
			}
			if spoil.aside {
				if _, err := os.Stat(broken.SetAside); err != nil {
					t.Errorf("set aside: %v", err)
				}
			}
		})
	}
}

func TestClosedEntriesArePrunedAndOpenOnesNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := openLedger(t, store)
		l.Retain(20, time.Hour)
		open, orphan := entryOf(l, t, "a/open"), entryOf(l, t, "a/orphan")
		l.update(t.Context(), orphan.ID, func(e *Entry) { e.State, e.Orphaned = lifecycle.EntryCanceled, true })
		closeOne := func(n int) {
			e := entryOf(l, t, fmt.Sprint("a/done-", n))
			l.update(t.Context(), e.ID, func(e *Entry) { e.State = lifecycle.EntryCompleted })
			l.leave(e.ID)
			time.Sleep(time.Second)
		}
		l.leave(open.ID)
		l.leave(orphan.ID)
		for n := range 100 {
			closeOne(n)
		}
		if n := len(l.Entries()); n > 2+22 {
			t.Errorf("%d entries are kept, want 22 at most besides the two", n)
		}
		time.Sleep(2 * time.Hour)
		closeOne(100)
		left, err := store.Load(t.Context())
		if err != nil || len(left) != 3 {
			t.Errorf("the store has %d entries, want the open one, the orphan and the newest: %v", len(left), err)
		}
		for _, id := range []string{open.ID, orphan.ID} {
			if _, ok := l.Entry(id); !ok {
				t.Error("what is open or orphaned was pruned")
			}
		}
	})
}

// broken is a store on a full disk.
type fullDisk struct{ Store }

var errFull = errors.New("no space left on device")

func (fullDisk) Save(context.Context, Entry) error { return errFull }

func TestNothingIsSentThatCannotBeWrittenDown(t *testing.T) {
	l := openLedger(t, fullDisk{NewMemoryStore()})
	tasks := Tasks{Ledger: l}
	w := &whim{dice: []byte{0}, told: map[string]lifecycle.State{}}
	_, err := tasks.OpenStreamingTask(t.Context(), w, Named("a", "b"), request(), TaskOptions{})
	if !errors.Is(err, errFull) || len(w.log) != 0 || len(l.Entries()) != 0 {
		t.Errorf("error %v, sent %v, entries %v", err, w.log, l.Entries())
	}
}

func TestAnEntryThatIsFollowedBelongsToOne(t *testing.T) {
	l := openLedger(t, NewMemoryStore())
	e := entryOf(l, t, "a/peer")
	if _, err := l.follow(e.ID); err == nil {
		t.Error("an entry is followed twice")
	}
	if err := l.Forget(t.Context(), e.ID); err == nil {
		t.Error("an entry that is followed was forgotten")
	}
	l.leave(e.ID)
	if _, err := l.follow(e.ID); err != nil {
		t.Error(err)
	}
	if _, err := l.follow("nobody"); err == nil {
		t.Error("an entry that is not there is followed")
	}
}

func TestAStoreRefusesNamesThatAreNoFiles(t *testing.T) {
	s := fileStoreIn(t, t.TempDir())
	for _, id := range []string{"", ".", "../x", "a/b", ".hidden", strings.Repeat("x", 200)} {
		if err := s.Save(t.Context(), Entry{ID: id}); err == nil {
			t.Errorf("%q was written", id)
		}
		if err := s.Delete(t.Context(), id); err == nil {
			t.Errorf("%q was deleted", id)
		}
	}
	if _, err := NewFileStore(""); err == nil {
		t.Error("a store without a directory was opened")
	}
	if _, err := NewLedger(t.Context(), nil); err == nil {
		t.Error("a ledger without a store was opened")
	}
}

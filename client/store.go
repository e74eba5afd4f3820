package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Store keeps the entries of a Ledger: in memory, in files, or in a database of yours. It is called by many goroutines, with at most one
// Save or Delete of an id at a time.
type Store interface {
	// Load gives every entry that is kept, in any order. An error about single entries comes with all the others: join
	// *BrokenEntryErrors.
	Load(ctx context.Context) ([]Entry, error)
	// Save keeps an entry in place of the one of the same ID. When it returns nil the entry must survive the process.
	Save(ctx context.Context, e Entry) error
	// Delete forgets the entry of this ID; that there is none is no error.
	Delete(ctx context.Context, id string) error
}

// BrokenEntryError names an entry that cannot be read. The rest of what was loaded is whole.
type BrokenEntryError struct {
	// Name of the entry, such as the path of its file.
	Name string
	// SetAside is where it was put so that it is not read again; empty if it was left where it is.
	SetAside string
	Err      error
}

func (e *BrokenEntryError) Error() string {
	if e.SetAside == "" {
		return fmt.Sprintf("reading ledger entry %s: %v; it was left where it is", e.Name, e.Err)
	}
	return fmt.Sprintf("reading ledger entry %s: %v; it was set aside as %s", e.Name, e.Err, e.SetAside)
}

// Unwrap gives the cause.
func (e *BrokenEntryError) Unwrap() error { return e.Err }

// NewMemoryStore keeps entries as long as the process lives.
func NewMemoryStore() Store { return &memoryStore{entries: map[string]Entry{}} }

type memoryStore struct {
	mu      sync.Mutex
	entries map[string]Entry
}

func (m *memoryStore) Load(context.Context) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.entries)), nil
}

func (m *memoryStore) Save(_ context.Context, e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[e.ID] = e
	return nil
}

func (m *memoryStore) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, id)
	return nil
}

// NewFileStore keeps each entry in a file of its own, ID.json, below dir, which is made if it is not there. A file is written beside its
// place, synced and renamed, so that a process killed at any moment leaves the old entry or the new one. A file that cannot be read is
// renamed to ID.json.broken; one of a newer version is left where it is. One process may use a directory at a time.
func NewFileStore(dir string) (Store, error) {
	if dir == "" {
		return nil, errors.New("opening ledger: no directory; name one")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	return fileStore(dir), nil
}

type fileStore string

// Ends of file names.
const (
	kept     = ".json"
	unborn   = ".tmp"
	setAside = ".broken"
)

// maxEntry is how large a file may be, in bytes. An entry with the longest history has some 30 KiB.
const maxEntry = 1 << 20

func (f fileStore) Load(ctx context.Context) ([]Entry, error) {
	files, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	var list []Entry
	var broken []error
	for _, file := range files {
		path := filepath.Join(string(f), file.Name())
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("opening ledger: %w", ctx.Err())
		case strings.HasSuffix(path, unborn):
			_ = os.Remove(path) // the write that made it never ended, and its entry stands beside it
		case strings.HasSuffix(path, kept):
			e, err := readEntry(path)
			if err != nil {
				broken = append(broken, leaveOrSetAside(path, err))
				continue
			}
			list = append(list, e)
		}
	}
	return list, errors.Join(broken...)
}

func leaveOrSetAside(path string, err error) error {
	b := &BrokenEntryError{Name: path, Err: err}
	var newer *newerVersionError
	if errors.As(err, &newer) || errors.Is(err, fs.ErrPermission) {
		return b
	}
	for n := 1; n < 1000; n++ {
		to := path + setAside
		if n > 1 {
			to += "." + strconv.Itoa(n)
		}
		if _, statErr := os.Lstat(to); statErr == nil {
			continue
		}
		if renameErr := os.Rename(path, to); renameErr == nil {
			b.SetAside = to
		}
		return b
	}
	return b
}

func readEntry(path string) (e Entry, err error) {
	file, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(io.LimitReader(file, maxEntry+1))
	if err != nil {
		return e, err
	}
	if len(b) > maxEntry {
		return e, fmt.Errorf("has more than %d bytes", maxEntry)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, err
	}
	if want := strings.TrimSuffix(filepath.Base(path), kept); e.ID != want {
		return e, fmt.Errorf("has id %q, its file is called %q", e.ID, want)
	}
	return e, nil
}

// fileName is what an id may look like to be the name of a file.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (f fileStore) path(id string) (string, error) {
	if !fileName.MatchString(id) {
		return "", fmt.Errorf("ledger entry %q: an id needs 1 to 128 letters, digits, dots, dashes or underscores", id)
	}
	return filepath.Join(string(f), id+kept), nil
}

func (f fileStore) Save(_ context.Context, e Entry) (err error) {
	path, err := f.path(e.ID)
	if err != nil {
		return err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing ledger entry %s: %w", e.ID, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + unborn)
			err = fmt.Errorf("writing ledger entry %s: %w", e.ID, err)
		}
	}()
	if err := writeSynced(path+unborn, append(b, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+unborn, path); err != nil {
		return err
	}
	return f.sync()
}

func writeSynced(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, bytes.NewReader(b))
	return errors.Join(err, file.Sync(), file.Close())
}

// sync makes a rename or removal outlive the machine.
func (f fileStore) sync() error {
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (f fileStore) Delete(_ context.Context, id string) error {
	path, err := f.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting ledger entry %s: %w", id, err)
	}
	return f.sync()
}

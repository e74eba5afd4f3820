package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Entry is one task in a Ledger. The ledger gives out copies.
type Entry struct {
	// ID of the entry, our own; it is never sent to a peer.
	ID string `json:"id"`
	// Peer is the Ref as text, as NAMESPACE/NAME or a URL.
	Peer string `json:"peer"`
	// TaskID and ContextID as the peer gave them. TaskID is empty while the peer has named none, and for good where the answer that
	// would have named it was lost.
	TaskID    string `json:"taskID,omitempty"`
	ContextID string `json:"contextID,omitempty"`
	// Tenant that requests about the task carry.
	Tenant string `json:"tenant,omitempty"`
	// State is open, a terminal state of A2A, or divergence: the agent broke its contract, which is not the same as failed.
	State lifecycle.Entry `json:"state"`
	// Orphaned says that the task may still run and nobody waits for it: its cancel was not confirmed, or was and the task works on. An
	// orphaned entry may be open, canceled or a divergence, and stays until Forget.
	Orphaned      bool      `json:"orphaned,omitempty"`
	OrphanedSince time.Time `json:"orphanedSince,omitzero"`
	// HandedTo is who owns the task now, as TaskOptions.Handover said; empty: this orchestrator.
	HandedTo string `json:"handedTo,omitempty"`
	// Divergence is set where State is divergence, and where the entry ended otherwise but something was charged.
	Divergence *EntryDivergence `json:"divergence,omitempty"`
	// After is the ID of the entry that this one came from: a follow-up that was answered with another task, or a downgrade.
	After string `json:"after,omitempty"`
	// Opened is when the message was about to be sent, Updated the last change, Closed when nothing more was expected.
	Opened  time.Time `json:"opened"`
	Updated time.Time `json:"updated"`
	Closed  time.Time `json:"closed,omitzero"`
	// Task is what was observed.
	Task lifecycle.Snapshot `json:"task"`
}

// EntryDivergence is what the agent is charged with, in our own words.
type EntryDivergence struct {
	Text       string                  `json:"text"`
	Basis      lifecycle.Basis         `json:"basis,omitempty"`
	Reason     v1alpha1.Reason         `json:"reason,omitempty"`
	Capability v1alpha1.CapabilityName `json:"capability,omitempty"`
}

// History lists the states seen, oldest first.
func (e Entry) History() []lifecycle.Transition { return e.Task.History }

// entryVersion is the version of the JSON form of entries.
const entryVersion = 1

// newerVersionError is an entry that a newer program wrote.
type newerVersionError struct{ version int }

func (e *newerVersionError) Error() string {
	return fmt.Sprintf("has version %d, this program reads version %d", e.version, entryVersion)
}

// MarshalJSON writes the entry with its version.
func (e Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	return json.Marshal(struct {
		Version int `json:"version"`
		plain
	}{entryVersion, plain(e)})
}

// UnmarshalJSON reads an entry. Unknown members and another version are errors.
func (e *Entry) UnmarshalJSON(b []byte) error {
	type plain Entry
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	switch {
	case head.Version > entryVersion:
		return &newerVersionError{head.Version}
	case head.Version != entryVersion:
		return fmt.Errorf("has version %d, want %d", head.Version, entryVersion)
	}
	var whole struct {
		Version int `json:"version"`
		plain
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&whole); err != nil {
		return err
	}
	*e = Entry(whole.plain)
	return e.check()
}

func (e *Entry) check() error {
	switch e.State {
	case lifecycle.EntryOpen, lifecycle.EntryCompleted, lifecycle.EntryCanceled, lifecycle.EntryFailed, lifecycle.EntryRejected,
		lifecycle.EntryDivergence:
	default:
		return fmt.Errorf("has state %q, want open, completed, canceled, failed, rejected or divergence", e.State)
	}
	switch {
	case e.ID == "":
		return errors.New("has no id")
	case e.Opened.IsZero():
		return errors.New("has no opened time")
	case e.State.Terminal() == e.Closed.IsZero():
		return fmt.Errorf("has state %s and closed time %v, which contradict each other", e.State, e.Closed)
	}
	_, err := lifecycle.Restore(e.Task)
	return err
}

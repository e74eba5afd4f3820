package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// SnapshotVersion is the version of Snapshot that this package writes and reads.
const SnapshotVersion = 1

// Snapshot is all that an ObservedTask knows, in a form that can be kept: as JSON in a file, or in a database. ObservedTask.Snapshot
// makes one, Restore reads it.
type Snapshot struct {
	Version     int          `json:"version"`
	ID          string       `json:"id,omitempty"`
	FirstSeen   time.Time    `json:"firstSeen,omitzero"`
	ActiveSince time.Time    `json:"activeSince,omitzero"`
	Promise     bool         `json:"promise,omitempty"`
	GapFree     bool         `json:"gapFree,omitempty"`
	Long        bool         `json:"long,omitempty"`
	History     []Transition `json:"history,omitempty"`
	Dropped     int          `json:"dropped,omitempty"`
	// Worked and Interrupted may be true although History dropped the state that says so.
	Worked      bool  `json:"worked,omitempty"`
	Interrupted bool  `json:"interrupted,omitempty"`
	Final       State `json:"final,omitempty"`
	Messaged    bool  `json:"messaged,omitempty"`
	// Divergence closed the entry; nil if nothing did.
	Divergence *SnapshotError `json:"divergence,omitempty"`
	// Canceled is when canceled was first known, CanceledLast when it was last said; WorkFirst and WorkLast are work seen after it.
	Canceled     time.Time `json:"canceled,omitzero"`
	CanceledLast time.Time `json:"canceledLast,omitzero"`
	WorkFirst    time.Time `json:"workFirst,omitzero"`
	WorkLast     time.Time `json:"workLast,omitzero"`
	// Stamp is the newest time that the peer gave a state, see RecordStamped.
	Stamp time.Time `json:"stamp,omitzero"`
}

// SnapshotError is an error of this package, or the text of another.
type SnapshotError struct {
	TaskID   string `json:"taskID,omitempty"`
	Declared string `json:"declared,omitempty"`
	Observed string `json:"observed,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Basis    Basis  `json:"basis,omitempty"`
	// Rule makes it an AgentCardContractViolation.
	Rule Rule `json:"rule,omitempty"`
	// Text is that of an error which is none of this package; the other fields are empty then.
	Text string `json:"text,omitempty"`
}

// Snapshot is a copy of all that is known of the task. Times are rounded to what JSON holds, and lose their monotonic clock.
func (t *ObservedTask) Snapshot() Snapshot {
	return Snapshot{
		Version: SnapshotVersion, ID: t.ID, FirstSeen: wall(t.FirstSeen), ActiveSince: wall(t.activeSince),
		Promise: t.Promise, GapFree: t.GapFree, Long: t.Long,
		History: t.History(), Dropped: t.dropped, Worked: t.worked, Interrupted: t.interrupted, Final: t.final, Messaged: t.messaged,
		Divergence: keepError(t.divergence),
		Canceled:   wall(t.after.canceled), CanceledLast: wall(t.after.canceledLast),
		WorkFirst: wall(t.after.first), WorkLast: wall(t.after.last),
		Stamp: wall(t.stamp),
	}
}

func wall(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.Round(0).UTC()
}

// Restore makes the task of a snapshot, or says what is wrong with it. What was seen before a restart has no gap by itself, but whoever
// was away may have missed events: GapFree is false in what Restore returns.
func Restore(s Snapshot) (*ObservedTask, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &ObservedTask{
		ID: s.ID, FirstSeen: s.FirstSeen, activeSince: s.ActiveSince, Promise: s.Promise, Long: s.Long,
		history: append([]Transition(nil), s.History...), dropped: s.Dropped, worked: s.Worked, interrupted: s.Interrupted,
		final: s.Final, messaged: s.Messaged, divergence: s.Divergence.restore(), stamp: s.Stamp,
		after: aftermath{canceled: s.Canceled, canceledLast: s.CanceledLast, first: s.WorkFirst, last: s.WorkLast},
	}, nil
}

// UnmarshalJSON reads a snapshot and refuses what it does not know, so that nothing of a newer version is lost without a word.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	type plain Snapshot
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("reading a task's snapshot: %w", err)
	}
	if head.Version != SnapshotVersion {
		return fmt.Errorf("reading a task's snapshot: version %d, this program reads version %d", head.Version, SnapshotVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(s)); err != nil {
		return fmt.Errorf("reading a task's snapshot: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading a task's snapshot: more than one JSON value")
	}
	return nil
}

// check holds the laws of an ObservedTask, so that no restored one can do what a recorded one cannot.
func (s *Snapshot) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("restoring a task: "+format, args...)
	}
	switch {
	case s.Version != SnapshotVersion:
		return bad("version %d, want %d", s.Version, SnapshotVersion)
	case len(s.History) > maxHistory:
		return bad("history has %d transitions, want at most %d", len(s.History), maxHistory)
	case s.Dropped < 0:
		return bad("dropped is %d, want 0 or more", s.Dropped)
	case s.Final != "" && !s.Final.Terminal():
		return bad("final is %q, want a terminal state", s.Final)
	case len(s.History) > 0 && s.FirstSeen.IsZero():
		return bad("history without firstSeen")
	}
	final, worked, asked := State(""), false, false
	for i, tr := range s.History {
		switch {
		case !tr.State.known():
			return bad("history[%d] has state %q, want one of the eight states", i, tr.State)
		case tr.At < 0 && i == 0, i > 0 && tr.At < s.History[i-1].At:
			return bad("history[%d] is out of order", i)
		case final == "" && tr.State.Terminal():
			final = tr.State
		}
		worked, asked = worked || tr.State == Working, asked || tr.State == InputRequired
	}
	switch {
	case final != s.Final && s.Dropped == 0, final != "" && s.Final == "":
		return bad("final is %q, history says %q", s.Final, final)
	case worked && !s.Worked, asked && !s.Interrupted:
		return bad("worked and interrupted contradict history")
	case s.ActiveSince.IsZero() && !s.FirstSeen.IsZero() && len(s.History) > 0:
		return bad("history without activeSince")
	}
	return s.Divergence.check()
}

func (e *SnapshotError) check() error {
	if e == nil {
		return nil
	}
	if e.Text != "" {
		return nil
	}
	switch e.Basis {
	case Card, Protocol, Deadline, Behaviour:
	default:
		return fmt.Errorf("restoring a task: divergence has basis %q, want one of Card, Protocol, Deadline, Behaviour", e.Basis)
	}
	switch e.Rule {
	case "", TerminalIsFinal, WorkingFirst, EndsByHardDeadline:
		return nil
	}
	return fmt.Errorf("restoring a task: divergence has rule %q, which is none", e.Rule)
}

func keepError(err error) *SnapshotError {
	if err == nil {
		return nil
	}
	var v *AgentCardContractViolation
	var d *AgentCardDivergenceError
	kept := &SnapshotError{}
	switch {
	case errors.As(err, &v):
		d, kept.Rule = &v.AgentCardDivergenceError, v.Rule
	case errors.As(err, &d):
	default:
		kept.Text = err.Error()
		if kept.Text == "" {
			kept.Text = "an error without a text"
		}
		return kept
	}
	kept.TaskID, kept.Declared, kept.Observed, kept.Detail, kept.Basis = d.TaskID, d.Declared, d.Observed, d.Detail, d.Basis
	return kept
}

func (e *SnapshotError) restore() error {
	if e == nil {
		return nil
	}
	if e.Text != "" {
		return errors.New(e.Text)
	}
	d := AgentCardDivergenceError{TaskID: e.TaskID, Declared: e.Declared, Observed: e.Observed, Detail: e.Detail, Basis: e.Basis}
	if e.Rule != "" {
		return &AgentCardContractViolation{AgentCardDivergenceError: d, Rule: e.Rule}
	}
	return &d
}

package lifecycle

// Entry is the state of a task in an orchestrator's ledger.
type Entry string

// The states of an entry. All but EntryOpen are terminal.
const (
	EntryOpen      Entry = "open"
	EntryCompleted Entry = "completed"
	EntryCanceled  Entry = "canceled"
	EntryFailed    Entry = "failed"
	EntryRejected  Entry = "rejected"
	// EntryDivergence: the agent broke its contract, which is not the same as an agent that failed. Nothing is waited for
	// any more; the peer's task may still run, so cancel it.
	EntryDivergence Entry = "divergence"
)

// Terminal says that the ledger expects nothing more.
func (e Entry) Terminal() bool { return e != EntryOpen }

// Entry is where the ledger stands with this task. What closed it first counts.
func (t *ObservedTask) Entry() Entry {
	switch {
	case t.divergence != nil:
		return EntryDivergence
	case t.messaged:
		return EntryCompleted
	case t.final != "":
		return Entry(t.final)
	}
	return EntryOpen
}

// Diverge closes the entry as a divergence, for callers who give a task up because of an error of Due. An entry that is
// closed already stays as it is.
func (t *ObservedTask) Diverge(err error) {
	if err != nil && !t.Entry().Terminal() {
		t.divergence = err
	}
}

// Divergence is what closed the entry as EntryDivergence; nil otherwise.
func (t *ObservedTask) Divergence() error { return t.divergence }

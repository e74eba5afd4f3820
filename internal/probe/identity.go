package probe

import (
	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Identity is what tells tasks apart besides their ids. The name is here for callers that may not import package wire.
type Identity = wire.Identity

// identities gives tasks one name each, whatever ids answers call them by (design 4.14). Tapes, judges and the ledger compare these names
// and need not know of correlations. Without Target.Identity a task's name is its id. The rule is lifecycle.Identities'.
type identities struct{ names lifecycle.Identities }

// name of the task that is called by an id, with the correlation that came with it (empty: none).
func (i *identities) name(id, correlation string) string { return i.names.Name(id, correlation) }

// id to ask for a task by its name.
func (i *identities) id(name string) string { return i.names.ID(name) }

// event names the task of an event, so that what is compared is the same however it is called. Events of webhooks go through it like those
// of streams, and are then about a task if their TaskID is its tape's; wire.ReadWebhook reads their correlation.
func (i *identities) event(e *wire.Event) {
	if e.Kind != wire.KindError && e.Kind != wire.KindOther {
		e.TaskID = i.name(e.TaskID, e.Correlation)
	}
}

// clashes: the correlation says that it is another task than the id says, so nothing is learned.
func clashes(correlated bool, name string) bool { return correlated && lifecycle.Clashes(name) }

// identityHint says how to have a peer judged whose task ids change on the way.
const identityHint = "; if metadata or a header tell tasks apart, set spec.taskIdentity"

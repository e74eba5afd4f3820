package probe

import (
	"strings"
	"sync"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// Identity is what tells tasks apart besides their ids. The name is here for callers that may not import package wire.
type Identity = wire.Identity

// identities gives tasks one name each, whatever ids answers call them by (design 4.14). Tapes, judges and the ledger compare these names
// and need not know of correlations. Without Target.Identity a task's name is its id. Safe for concurrent use.
//
// A name is an id too, the first that the peer called the task by, so it can be asked for: whoever rewrites ids has to know those he gave.
// Only where two tasks have one id, by what their correlations say, the second has a name that is none; id yields what to ask for.
type identities struct {
	mu sync.Mutex
	// names by correlation, and the correlation that an id was told with last.
	names        map[string]string
	correlations map[string]string
	// ids of names that are none.
	ids map[string]string
}

// maxIdentities bounds what is remembered of one round. Beyond it ids count.
const maxIdentities = 1024

// name of the task that is called by an id, with the correlation that came with it (empty: none).
func (i *identities) name(id, correlation string) string {
	if id == "" {
		return id
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if correlation == "" {
		if c := i.correlations[id]; c != "" {
			return i.names[c]
		}
		return id
	}
	if name, known := i.names[correlation]; known {
		if len(i.correlations) < maxIdentities {
			i.tell(id, correlation)
		}
		return name
	}
	if len(i.names) >= maxIdentities {
		return id
	}
	if i.names == nil {
		i.names, i.correlations, i.ids = map[string]string{}, map[string]string{}, map[string]string{}
	}
	name := id
	if i.taken(id) {
		name = clash + id + " of " + correlation
		i.ids[name] = id
	}
	i.names[correlation] = name
	i.tell(id, correlation)
	return name
}

// tell notes the correlation that an id was told with first.
func (i *identities) tell(id, correlation string) {
	if _, told := i.correlations[id]; !told {
		i.correlations[id] = correlation
	}
}

// id to ask for a task by its name.
func (i *identities) id(name string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.ids[name]; ok {
		return id
	}
	return name
}

func (i *identities) taken(id string) bool {
	c, told := i.correlations[id]
	return told && i.names[c] == id
}

// event names the task of an event, so that what is compared is the same however it is called. Events of webhooks go through it like those
// of streams, and are then about a task if their TaskID is its tape's; wire.ReadWebhook reads their correlation.
func (i *identities) event(e *wire.Event) {
	if e.Kind != wire.KindError && e.Kind != wire.KindOther {
		e.TaskID = i.name(e.TaskID, e.Correlation)
	}
}

// clash begins the name of a task whose id says one thing and whose correlation another.
const clash = "\x00"

// clashes: the correlation says that it is another task than the id says. Either the peer lies or the key was badly chosen, such as one that
// tells answers apart and not tasks, so nothing is learned.
func clashes(correlated bool, name string) bool { return correlated && strings.HasPrefix(name, clash) }

// identityHint says how to have a peer judged whose task ids change on the way.
const identityHint = "; if metadata or a header tell tasks apart, set spec.taskIdentity"

package lifecycle

import (
	"strings"
	"sync"
)

// Identities gives tasks one name each, whatever ids answers call them by: a gateway may rewrite ids, and a correlation key in metadata or
// in a header tells tasks apart then. Two answers are about the same task if their correlations are equal, whatever their ids are; where
// one carries none, ids are compared. The zero value is ready, and without correlations a task's name is its id. Safe for concurrent use.
//
// A name is an id too, the first that the peer called the task by, so it can be asked for: whoever rewrites ids has to know those he gave.
// Only where two tasks have one id, by what their correlations say, the second has a name that is none; ID yields what to ask for.
type Identities struct {
	mu sync.Mutex
	// names by correlation, and the correlation that an id was told with first.
	names        map[string]string
	correlations map[string]string
	// ids of names that are none.
	ids map[string]string
}

// maxIdentities bounds what is remembered. Beyond it ids count.
const maxIdentities = 1024

// MaxCorrelation is how long a correlation may be, in bytes. A longer one counts as absent.
const MaxCorrelation = 256

// Name of the task that is called by an id, with the correlation that came with it (empty: none).
func (i *Identities) Name(id, correlation string) string {
	if id == "" {
		return id
	}
	if len(correlation) > MaxCorrelation {
		correlation = ""
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
func (i *Identities) tell(id, correlation string) {
	if _, told := i.correlations[id]; !told {
		i.correlations[id] = correlation
	}
}

// ID to ask for a task by its name.
func (i *Identities) ID(name string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.ids[name]; ok {
		return id
	}
	return name
}

func (i *Identities) taken(id string) bool {
	c, told := i.correlations[id]
	return told && i.names[c] == id
}

// clash begins the name of a task whose id says one thing and whose correlation another.
const clash = "\x00"

// Clashes says of a name that came with a correlation that this is another task than its id says. Either the peer lies or the key was badly
// chosen, such as one that tells answers apart and not tasks, so nothing is learned.
func Clashes(name string) bool { return strings.HasPrefix(name, clash) }

package wire

import "bytes"

// decisive are the names of the members that an answer is judged by, of all generations and bindings, numbered.
var decisive = numbered("jsonrpc", "id", "result", "error", "code", "kind", "taskId", "task_id", "contextId", "context_id", "sessionId",
	"messageId", "message_id", "role", "metadata", "status", "state", "timestamp", "final", "artifact", "artifacts", "parts", "history",
	"task", "message", "msg", "statusUpdate", "status_update", "artifactUpdate", "artifact_update")

// holders are those of them that hold others.
var holders = words("result", "error", "task", "message", "msg", "statusUpdate", "status_update", "artifactUpdate", "artifact_update", "status")

const maxDecisive = 32

func numbered(names ...string) map[string]int {
	m := make(map[string]int, len(names))
	for i, n := range names {
		m[n] = i
	}
	return m
}

// doubled tells whether an answer names a member that decides twice, with two values, anywhere it is looked for: what it says is then one
// thing to who takes the first and another to who takes the last, and neither reading is evidence. Members that nobody judges by may
// come as often as they like, and so may one that says the same again.
func (v value) doubled() bool { return v.doubledWithin(4) } // envelope, result, member of the union, status

func (v value) doubledWithin(depth int) (found bool) {
	if depth == 0 {
		return false
	}
	var seen [maxDecisive]value
	v.members(func(name []byte, m value) {
		i, ok := decisive[string(name)]
		if !ok || found {
			return
		}
		found = seen[i] != nil && !bytes.Equal(seen[i], m) || holders[string(name)] && m.doubledWithin(depth-1)
		seen[i] = m
	})
	return found
}

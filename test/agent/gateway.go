package agent

import "sync"

// GatewayConfig is a gateway before the agent that gives tasks other ids than the agent does. Whatever it calls a task can be asked for.
type GatewayConfig struct {
	// IDs: "" leaves them alone, "per-task" gives a task one other id for good, "per-answer" one in every answer and stream, "per-event" one
	// in every event too, "in-streams" one in every stream and none elsewhere.
	IDs string `json:"ids,omitempty"`
	// Correlation says where the agent's own id is told besides: "metadata" in metadata.correlationId of tasks and updates, "header" in
	// X-Correlation-Id of the answer.
	Correlation string `json:"correlation,omitempty"`
}

// The names under which tasks are correlated.
const (
	CorrelationKey    = "correlationId"
	CorrelationHeader = "X-Correlation-Id"
)

// rewriter makes the function that names tasks in the answer to one operation; nil leaves their ids alone.
func (a *Agent) rewriter(c *Config, op operation) func(own string) string {
	var mu sync.Mutex
	given := map[string]string{}
	once := func(own string) string {
		mu.Lock()
		defer mu.Unlock()
		if given[own] == "" {
			given[own] = a.aliasOf(own)
		}
		return given[own]
	}
	switch c.Gateway.IDs {
	case "per-task":
		return a.lastingAlias
	case "per-answer":
		return once
	case "per-event":
		return a.aliasOf
	case "in-streams":
		if op == opStream || op == opResubscribe {
			return once
		}
		return func(own string) string { return own }
	}
	return nil
}

// aliasOf is a further id of the task with an id.
func (a *Agent) aliasOf(own string) string {
	if t := a.find(own); t != nil {
		return a.alias(t)
	}
	return own
}

// lastingAlias is the one other id of a task.
func (a *Agent) lastingAlias(own string) string {
	t := a.find(own)
	if t == nil {
		return own
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outside == "" {
		t.outside = a.alias(t)
	}
	return t.outside
}

// correlate tells the agent's own id of a task in a header, where the binding has any and the gateway wants it.
func (x *call) correlate(own string) {
	if h, ok := x.by.(interface{ header(name, value string) }); ok && x.c.Gateway.Correlation == "header" {
		h.header(CorrelationHeader, own)
	}
}

// metadata of what is said about a task.
func (r renderer) metadata(own string) map[string]any {
	if r.correlate != "metadata" {
		return nil
	}
	return map[string]any{CorrelationKey: own}
}

package wire

import (
	"strings"
	"testing"
)

// A peer may answer every question about a task with megabytes of id. Whoever follows tasks keeps ids, and must not keep those.
func TestAnIDOfMegabytesIsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id   string
		kept bool
	}{
		"a UUID":         {"6f1c2a34-0000-4000-8000-000000000000", true},
		"a sealed token": {strings.Repeat("eyJh", 512), true},
		"a megabyte":     {strings.Repeat("x", 1<<20), false},
	} {
		for generation, text := range map[Generation]string{
			V10: `{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"ID","contextId":"ID","status":{"state":"TASK_STATE_WORKING"}}}}`,
			V03: `{"jsonrpc":"2.0","id":"1","result":{"kind":"status-update","taskId":"ID","contextId":"ID","status":{"state":"working"}}}`,
		} {
			e := readEvent([]byte(strings.ReplaceAll(text, "ID", c.id)), expect{generation: generation, id: value(`"1"`)})
			if (e.TaskID == c.id) != c.kept || (e.ContextID == c.id) != c.kept || !c.kept && e.TaskID+e.ContextID != "" {
				t.Errorf("%s in %s: ids of %d and %d bytes", name, generation, len(e.TaskID), len(e.ContextID))
			}
		}
		if e := ReadWebhook([]byte(`{"taskId":"`+c.id+`","status":"working"}`), V01, nil, Identity{}); (e.TaskID == c.id) != c.kept {
			t.Errorf("%s by webhook: an id of %d bytes", name, len(e.TaskID))
		}
	}
}

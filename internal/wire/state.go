package wire

import "strings"

// states0 and states1 are the words of the two spellings: 0.x in lower case with hyphens, 1.0 as ProtoJSON enum names.
var (
	states0 = words("submitted", "working", "input-required", "auth-required", "completed", "canceled", "failed",
		"rejected", "unknown")
	states1 = words("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED",
		"TASK_STATE_AUTH_REQUIRED", "TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED",
		"TASK_STATE_REJECTED", "TASK_STATE_UNSPECIFIED")
	// misspelt are the British spellings, of which 0.3's own gRPC has one; no JSON-RPC generation has them.
	misspelt = words("cancelled", "TASK_STATE_CANCELLED")
)

func words(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, w := range list {
		m[w] = true
	}
	return m
}

// misspells tells whether a known state is spelled as the generation does not spell it over this binding. A word that no
// generation knows is no matter of spelling, nor is the second L of 0.3's own proto.
func (x expect) misspells(state string) bool {
	switch {
	case x.proto && x.generation != V10:
		return states0[state] || state == "cancelled"
	case x.unions():
		return states0[state] || misspelt[state]
	}
	return states1[state] || misspelt[state]
}

// spelledAs10 tells whether a state, known or not, is written in 1.0's manner.
func spelledAs10(state string) bool { return strings.HasPrefix(state, "TASK_STATE_") }

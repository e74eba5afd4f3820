package probe

import (
	"slices"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func honored(o trust.Observation, rule, message string) trust.Observation {
	o.Outcome, o.Reason, o.Rule, o.Message = trust.Honored, trust.ReasonHonored, rule, message
	return o
}

func diverged(o trust.Observation, r trust.Reason, b lifecycle.Basis, rule, message string) trust.Observation {
	o.Outcome, o.Reason, o.Basis, o.Rule, o.Message = trust.Diverged, r, b, rule, message
	return o
}

// unlearned is the proper answer wherever nothing was learned. It costs no trust.
func unlearned(o trust.Observation, r trust.Reason, message string) trust.Observation {
	o.Outcome, o.Reason, o.Message = trust.Inconclusive, r, message
	if o.Rule == "" {
		o.Rule = "design 4.1"
	}
	return o
}

// unique sorts warnings and drops repeats.
func unique(list []trust.Reason) []trust.Reason {
	slices.Sort(list)
	return slices.Compact(list)
}

package main

import (
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// A row once showed the reason of one round beside the message of another, and a check ended with 1 while every row said Honored.
func TestARowSaysWhatItsStateRestsOn(t *testing.T) {
	demoted := trust.Record{Capability: trust.Cancellation, State: trust.Demoted, Reason: trust.ReasonCancelRefused, Message: "method not found"}
	later := trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonTaskEndedFirst, Message: "the task was completed first"}
	if got := capabilityOf(demoted, later, true); got.Reason != string(trust.ReasonCancelRefused) || got.Message != "method not found" {
		t.Errorf("the row says %s: %s", got.Reason, got.Message)
	}
	trusted := trust.Record{Capability: trust.Cancellation, State: trust.Trusted, Reason: trust.ReasonHonored}
	good := trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored, Message: "no work came after"}
	if got := capabilityOf(trusted, good, true); !strings.Contains(got.Message, "earlier round") {
		t.Errorf("the row says %s: %s, and not that another round contradicted it", got.Reason, got.Message)
	}
	if got := capabilityOf(trusted, good, false); got.Message != good.Message {
		t.Errorf("the row says %s", got.Message)
	}
}

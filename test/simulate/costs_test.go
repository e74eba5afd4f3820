package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/probe"
)

// The simulation shows what a budget allows only while it reserves what the prober reserves.
func TestTheSimulationReservesWhatTheProberDoes(t *testing.T) {
	cost, _ := probe.Costs()
	if diff := cmp.Diff(cost, worst); diff != "" {
		t.Errorf("worst costs (-prober +simulation):\n%s", diff)
	}
}

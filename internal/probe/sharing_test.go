package probe

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A round that asks everything costs fewer tasks than its questions asked one by one; its report says which question cost what; and none
// costs more than is reserved for it. docs/decisions/probe-sharing.md has the numbers.
func TestARoundSharesItsTasks(t *testing.T) {
	t.Parallel()
	costs, _ := Costs()
	for _, tc := range []struct {
		gen          agent.Generation
		quirks       []string
		alone, round int
	}{
		{gen: agent.V10, alone: 13, round: 6},
		{gen: agent.V03, alone: 13, round: 6},
		{gen: agent.V10, quirks: []string{"streaming-false"}, alone: 10, round: 4},
		{gen: agent.V10, quirks: []string{"many-modes"}, alone: 15, round: 10},
	} {
		name := string(tc.gen)
		for _, q := range tc.quirks {
			name += " " + q
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(ask ...trust.Capability) Report {
				a := with(tc.gen, tc.quirks...)
				job := jobFor(t, a.Start(t), ask...)
				job.Control = true
				job.Target.Timing.Wait, job.Target.Timing.Task, job.Target.Timing.FirstEvent = 5*time.Second, 10*time.Second, 5*time.Second
				rep := runJob(t, job)
				sum := 0
				for _, o := range rep.Round.Observations {
					sum += o.Tasks
					if o.Outcome == trust.Diverged {
						t.Errorf("%s: %s %s\n  %q", o.Capability, o.Reason, o.Message, o.Observed)
					}
					if o.Tasks > costs[o.Capability] {
						t.Errorf("%s cost %d tasks, %d are reserved for it", o.Capability, o.Tasks, costs[o.Capability])
					}
				}
				if sum != rep.Round.Tasks {
					t.Errorf("the questions cost %d tasks, the round %d", sum, rep.Round.Tasks)
				}
				return rep
			}
			alone := 0
			for _, c := range Questions() {
				n := run(c).Round.Tasks
				t.Logf("%s alone costs %d", c, n)
				alone += n
			}
			rep := run(Questions()...)
			for _, o := range rep.Round.Observations {
				t.Logf("%s costs %d of the round", o.Capability, o.Tasks)
			}
			if alone != tc.alone || rep.Round.Tasks != tc.round {
				t.Errorf("asked one by one %d tasks, in one round %d; want %d and %d", alone, rep.Round.Tasks, tc.alone, tc.round)
			}
		})
	}
}

// StateTransitionHistory has no question: being declared it has a record that says so, and in 1.0 a warning of the card.
func TestStateTransitionHistoryIsAKey(t *testing.T) {
	t.Parallel()
	for _, g := range []agent.Generation{agent.V03, agent.V01} {
		p, _ := verdict(t, jobFor(t, with(g, "history").Start(t), trust.Streaming), 2)
		rec := expectState(t, p, trust.StateTransitionHistory, trust.Unverified, trust.ReasonUnverifiable)
		if rec.Declared != trust.Declared || len(rec.Recent) > 0 {
			t.Errorf("%s: %+v", g, rec)
		}
	}
	p, rep := verdict(t, jobFor(t, with(agent.V10, "history").Start(t), trust.Streaming), 1)
	for _, rec := range p.Records {
		if rec.Capability == trust.StateTransitionHistory {
			t.Errorf("1.0 has no such key: %+v", rec)
		}
	}
	found := false
	for _, w := range rep.CardWarnings {
		found = found || w == card.HistoryFlagRemoved
	}
	if !found {
		t.Errorf("the card's warnings are %v, want %s among them", rep.CardWarnings, card.HistoryFlagRemoved)
	}
}

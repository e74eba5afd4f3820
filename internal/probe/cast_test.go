package probe

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// The cast of the demo, each asked everything once: what is contradicted, and that nothing else is.
func TestCastOfTheDemo(t *testing.T) {
	t.Parallel()
	accused := map[string]map[trust.Capability]trust.Reason{
		"founding-third":    {trust.Continuation: trust.ReasonTaskIDChangedOnContinuation},
		"zombie-cancel":     {trust.Cancellation: trust.ReasonEventsAfterCancel},
		"empty-stream":      {trust.Streaming: trust.ReasonStreamEmpty},
		"withheld-terminal": {trust.Streaming: trust.ReasonStreamClosedWithoutTerminalState},
		"wrong-generation":  {trust.Streaming: trust.ReasonProtocolGenerationMismatch},
	}
	learned := map[string][]trust.Capability{
		"honest": owed(), "founding-honest": owed(), "honest-but-odd": owed(), "ordinary": owed(),
		"founding-third": {trust.Streaming, trust.Cancellation},
		"slow-thinker":   {trust.Cancellation, trust.Continuation},
		"zombie-cancel":  {trust.Streaming, trust.Continuation},
	}
	for _, name := range agent.PresetNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Preset(name))
			job := jobFor(t, a.Start(t), Questions()...)
			job.Target.Timing.Wait = time.Second
			rep := runJob(t, job)
			for _, o := range rep.Round.Observations {
				reason, is := accused[name][o.Capability]
				if (o.Outcome == trust.Diverged) != is || is && o.Reason != reason {
					t.Errorf("%s: %s %s, want it accused: %v %s\n  %s\n  %q", o.Capability, o.Outcome, o.Reason, is, reason, o.Message, o.Observed)
				}
			}
			if name == "wrong-generation" && rep.WireGeneration != wire.V03 {
				t.Errorf("it speaks %s, want 0.3", rep.WireGeneration)
			}
			for _, c := range learned[name] {
				check(t, rep, c, expectation{outcome: trust.Honored})
			}
			for c, reason := range accused[name] {
				check(t, rep, c, expectation{outcome: trust.Diverged, reason: reason})
			}
			if name == "zombie-cancel" {
				if len(rep.Orphans) != 1 {
					t.Errorf("the task that goes on after its cancel is an orphan: %v", rep.Orphans)
				}
			} else if open := a.Counts().Open; open > len(rep.Orphans) {
				t.Errorf("%d tasks are left behind, %d reported", open, len(rep.Orphans))
			}
		})
	}
}

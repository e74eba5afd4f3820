package probe

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// gateways that rewrite ids, by quirk.
var gateways = []string{"ids-per-task", "ids-per-answer", "ids-per-event", "ids-in-streams"}

// A gateway that rewrites task ids leads to no contradiction of anything, in any generation (design 4.14).
func TestAGatewayThatRewritesIDsAccusesNobody(t *testing.T) {
	t.Parallel()
	for _, g := range []agent.Generation{agent.V10, agent.V03, agent.V01} {
		for _, quirk := range gateways {
			for _, more := range []string{"", "history", "streaming-false", "input-at-once"} {
				if testing.Short() && (g != agent.V10 || more != "") {
					continue
				}
				quirks := []string{quirk}
				switch more {
				case "":
				case "input-at-once":
					quirks = append(quirks, "always-asks", "send-at-once")
				default:
					quirks = append(quirks, more)
				}
				t.Run(string(g)+" "+strings.Join(quirks, " "), func(t *testing.T) {
					t.Parallel()
					job := jobFor(t, with(g, quirks...).Start(t), Questions()...)
					job.Control = true
					for _, o := range runJob(t, job).Round.Observations {
						if o.Outcome == trust.Diverged {
							t.Errorf("%s: %s\n  %s\n  %q", o.Capability, o.Reason, o.Message, o.Observed)
						}
						if o.Reason == trust.ReasonTaskIdentityUnstable && !strings.Contains(o.Message, "spec.taskIdentity") {
							t.Errorf("%s: %q gives no hint how to have it judged", o.Capability, o.Message)
						}
					}
				})
			}
		}
	}
}

// identified sets what the agent's tasks are told apart by.
func identified(job *Job, quirk string) {
	job.Target.Identity = wire.Identity{Metadata: agent.CorrelationKey}
	if quirk == "correlates-by-header" {
		job.Target.Identity = wire.Identity{Header: agent.CorrelationHeader}
	}
}

// core are questions that an honest agent answers with its tasks.
var core = []trust.Capability{trust.Streaming, trust.TaskRetrieval, trust.Lifecycle, trust.Cancellation, trust.Continuation}

// With a correlation everything is judged again as if nobody rewrote anything.
func TestBehindAGatewayACorrelationTellsTasksApart(t *testing.T) {
	t.Parallel()
	for _, g := range []agent.Generation{agent.V10, agent.V03} {
		for _, quirk := range gateways {
			for _, correlates := range []string{"correlates", "correlates-by-header"} {
				if testing.Short() && g != agent.V10 {
					continue
				}
				t.Run(string(g)+" "+quirk+" "+correlates, func(t *testing.T) {
					t.Parallel()
					job := jobFor(t, with(g, quirk, correlates).Start(t), core...)
					identified(&job, correlates)
					rep := runJob(t, job)
					for _, c := range core {
						check(t, rep, c, expectation{outcome: trust.Honored})
					}
					if len(rep.Orphans) > 0 {
						t.Errorf("orphans %v, want none", rep.Orphans)
					}
				})
			}
		}
	}
}

// A liar is caught behind a gateway too, once tasks can be told apart.
func TestALiarBehindAGatewayIsCaughtByTheCorrelation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		quirks string
		about  trust.Capability
		reason trust.Reason
	}{
		{"follow-up-new-id", trust.Continuation, trust.ReasonTaskIDChangedOnContinuation},
		{"withheld-end", trust.Streaming, trust.ReasonStreamClosedWithoutTerminalState},
		{"leaves-terminal", trust.Lifecycle, trust.ReasonTerminalStateNotFinal},
	} {
		for _, quirk := range []string{"ids-per-answer", "ids-per-event"} {
			t.Run(tc.quirks+" "+quirk, func(t *testing.T) {
				t.Parallel()
				job := jobFor(t, with(agent.V10, tc.quirks, quirk, "correlates").Start(t), tc.about)
				identified(&job, "correlates")
				check(t, runJob(t, job), tc.about, expectation{outcome: trust.Diverged, reason: tc.reason})
			})
		}
	}
}

// A key that tells answers apart instead of tasks is the user's mistake and nobody's lie; one that no answer carries changes nothing.
func TestAWronglyChosenKeyAccusesNobody(t *testing.T) {
	t.Parallel()
	for _, by := range []wire.Identity{{Header: "Date"}, {Header: "Content-Type"}, {Metadata: "absent"}, {Header: "X-Absent"}} {
		t.Run(by.Metadata+by.Header, func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, with(agent.V10).Start(t), core...)
			job.Target.Identity = by
			rep := runJob(t, job)
			for _, o := range rep.Round.Observations {
				if o.Outcome == trust.Diverged {
					t.Errorf("%s: %s\n  %s\n  %q", o.Capability, o.Reason, o.Message, o.Observed)
				}
			}
			if slices.Contains([]string{"absent", "X-Absent"}, by.Metadata+by.Header) {
				for _, c := range core {
					check(t, rep, c, expectation{outcome: trust.Honored})
				}
			}
		})
	}
}

// Behind a gateway that renames tasks in every answer, the probes that compare ids say so, each of them.
func TestTaskIdentityUnstableIsSaidWhereIDsChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		quirk string
		about []trust.Capability
	}{
		{"ids-per-event", []trust.Capability{trust.Streaming, trust.TaskRetrieval}},
		{"ids-per-answer", []trust.Capability{trust.TaskRetrieval, trust.Continuation}},
		{"ids-in-streams", []trust.Capability{trust.TaskRetrieval}},
	} {
		t.Run(tc.quirk, func(t *testing.T) {
			t.Parallel()
			rep := runJob(t, jobFor(t, with(agent.V10, tc.quirk).Start(t), tc.about...))
			for _, c := range tc.about {
				check(t, rep, c, expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskIdentityUnstable})
			}
		})
	}
}

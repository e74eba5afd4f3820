package probe

import (
	"context"
	"flag"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// TestMain lets many rounds wait at once: nearly all of their time is waiting.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", strconv.Itoa(roundsAtOnce))
	}
	os.Exit(m.Run())
}

// quick is a timing for agents that answer at once. The proportions are those of the defaults.
func quick() Timing {
	return Timing{
		FirstEvent: 2 * time.Second,
		Idle:       400 * time.Millisecond,
		Grace:      150 * time.Millisecond,
		Task:       1500 * time.Millisecond,
		Repeat:     50 * time.Millisecond,
		Wait:       400 * time.Millisecond,
		Hard:       3 * time.Second,
		Settle:     150 * time.Millisecond,
		Late:       250 * time.Millisecond,
	}
}

// jobFor is a behaviour round with these questions against a peer on loopback.
func jobFor(t *testing.T, base string, ask ...trust.Capability) Job {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return Job{
		Kind: trust.Behavior, CardAndTask: true, Ask: ask, Round: 7,
		Target: Target{
			Key: "test/peer", ID: base, URL: u, Timing: quick(),
			Fixtures: Fixtures{
				LongRunning:   &Fixture{Parts: []wire.Part{{Text: "count slowly"}}},
				InputRequired: &Fixture{Parts: []wire.Part{{Text: "book a trip"}}, Reply: &Fixture{Parts: []wire.Part{{Text: "to Oslo"}}}},
			},
		},
	}
}

// runJob runs a round and checks what holds for every round: it ends in time, and answers all that was asked.
func runJob(t *testing.T, job Job) Report {
	t.Helper()
	began := time.Now()
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), UserAgent: "probe-test"}, job)
	if took := time.Since(began); took > Bound(job) {
		t.Errorf("the round took %s, more than its bound %s", took, Bound(job))
	}
	for _, c := range job.Ask {
		if rep.Round.Reach.Outcome != trust.Honored {
			break
		}
		if _, ok := find(rep, c); !ok {
			t.Errorf("no observation of %s", c)
		}
	}
	return rep
}

func find(rep Report, c trust.Capability) (trust.Observation, bool) {
	for _, o := range rep.Round.Observations {
		if o.Capability == c {
			return o, true
		}
	}
	return trust.Observation{}, false
}

// expectation of one capability.
type expectation struct {
	outcome trust.Outcome
	reason  trust.Reason
	warns   []trust.Reason
}

// check compares one capability's observation with what is expected of it.
func check(t *testing.T, rep Report, c trust.Capability, want expectation) trust.Observation {
	t.Helper()
	o, ok := find(rep, c)
	if !ok { // not asked: the reason is that of Reach
		o = rep.Round.Reach
	}
	if o.Outcome != want.outcome || (want.reason != "" && o.Reason != want.reason) {
		t.Errorf("%s: %s %s, want %s %s\n  %s\n  observed %q\n  reach %s %s", c, o.Outcome, o.Reason, want.outcome, want.reason,
			o.Message, o.Observed, rep.Round.Reach.Reason, rep.Round.Reach.Message)
	}
	for _, w := range want.warns {
		if !slices.Contains(o.Warnings, w) {
			t.Errorf("%s: warnings %v, want %s among them", c, o.Warnings, w)
		}
	}
	if o.Reason == "" || o.Message == "" || o.Rule == "" {
		t.Errorf("%s: an observation needs reason, message and rule: %+v", c, o)
	}
	for _, missing := range unexplained(t, o.Rule) {
		t.Errorf("%s: docs/rules.md does not explain %q", c, missing)
	}
	return o
}

// owed are the questions that every peer answers well that declares streaming and nothing else.
func owed() []trust.Capability {
	return slices.DeleteFunc(Questions(), func(c trust.Capability) bool { return c == trust.ExtendedAgentCard || c == trust.PushNotifications })
}

// with is an agent with quirks.
func with(g agent.Generation, quirks ...string) *agent.Agent {
	return agent.New(agent.Speaks(g), agent.Is(quirks...))
}

package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

func TestQuestionThatPanicsIsInconclusiveAndTakesNoOtherWithIt(t *testing.T) {
	a := with(agent.V10)
	job := jobFor(t, a.Start(t), trust.Streaming, trust.Cancellation, trust.Continuation)
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), Progress: func(words string) {
		if words == "cancellation" {
			panic("a fault of our own")
		}
	}}, job)
	check(t, rep, trust.Cancellation, expectation{outcome: trust.Inconclusive, reason: trust.ReasonPanicked})
	check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
	check(t, rep, trust.Continuation, expectation{outcome: trust.Honored})
}

func TestRoundThatPanicsIsInconclusive(t *testing.T) {
	a := with(agent.V10)
	job := jobFor(t, a.Start(t), trust.Streaming)
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), Progress: func(string) { panic("a fault of our own") }}, job)
	if rep.Round.Reach.Reason != trust.ReasonPanicked || !rep.Round.Usable || rep.Round.Number != job.Round {
		t.Errorf("the report is %+v", rep.Round)
	}
}

func TestRoundThatIsCalledOffEndsSoonAndCancelsItsTasks(t *testing.T) {
	a := with(agent.V10, "stuck")
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Target.Timing.Task = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan Report, 1)
	go func() { done <- Run(ctx, Env{Egress: agent.Loopback()}, job) }()
	waitFor(t, func() bool { return a.Counts().Requests["GetTask"] == 2 }) // reachability, and the first look beside the stream
	began := time.Now()
	cancel()
	rep := <-done
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonProbeDeadlineExceeded})
	if open := a.Counts().Open; open != 0 {
		t.Errorf("%d tasks are left behind", open)
	}
}

// waitFor asks until yes, for at most five seconds.
func waitFor(t *testing.T, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain")
		}
	}
}

func TestTasksThatCannotBeCanceledAreReported(t *testing.T) {
	a := with(agent.V10, "stuck", "cancel-never")
	rep := runJob(t, jobFor(t, a.Start(t), trust.Streaming))
	if len(rep.Orphans) != 1 || rep.Orphans[0].ID != a.Tasks()[0].ID || rep.Orphans[0].Since.IsZero() {
		t.Errorf("orphans are %+v, want task %s", rep.Orphans, a.Tasks()[0].ID)
	}
}

func TestTasksAreCountedThatReachedTheHandler(t *testing.T) {
	for _, tc := range []struct {
		quirk   string
		control bool
		want    int
	}{
		{quirk: "", want: 1},
		{quirk: "", control: true, want: 2},
		{quirk: "withheld-end", want: 3},
		{quirk: "refuses-stream", want: 0},
		{quirk: "mcp", want: 0},
		{quirk: "posts-404", want: 0},
		{quirk: "messages", want: 1},
	} {
		t.Run(tc.quirk, func(t *testing.T) {
			a := with(agent.V10, strings.Fields(tc.quirk)...)
			job := jobFor(t, a.Start(t), trust.Streaming)
			job.Control = tc.control
			if got := runJob(t, job).Round.Tasks; got != tc.want {
				t.Errorf("%d tasks counted, want %d", got, tc.want)
			}
		})
	}
}

func TestNoRoundCostsMoreThanItsReservation(t *testing.T) {
	costs, control := Costs()
	for _, quirk := range []string{"withheld-end", "follow-up-refused", "zombie-cancel", "stream-unknown", "empty-stream"} {
		for _, c := range Questions() {
			a := with(agent.V10, quirk)
			job := jobFor(t, a.Start(t), c)
			job.Control = true
			if got := runJob(t, job).Round.Tasks; got > costs[c]+control {
				t.Errorf("%s with %s cost %d tasks, reserved were %d", c, quirk, got, costs[c]+control)
			}
		}
	}
}

func TestReachabilityNeverReachesTheModel(t *testing.T) {
	for _, g := range []agent.Generation{agent.V10, agent.V03, agent.V02, agent.V01} {
		a := with(g)
		job := jobFor(t, a.Start(t))
		job.Kind = trust.Reachability
		rep := runJob(t, job)
		if rep.Round.Reach.Outcome != trust.Honored || rep.Round.Tasks != 0 || a.Counts().Tasks != 0 {
			t.Errorf("%s: reach %+v, %d tasks counted, %d made", g, rep.Round.Reach, rep.Round.Tasks, a.Counts().Tasks)
		}
		if rep.WireGeneration != wire.Generation(g) {
			t.Errorf("%s is taken for %s", g, rep.WireGeneration)
		}
	}
}

func TestUnchangedCardIsNotReadAgainAndThePeerIsReachedAllTheSame(t *testing.T) {
	a := with(agent.V10)
	job := jobFor(t, a.Start(t))
	job.Kind = trust.Reachability
	first := runJob(t, job)
	job.ETag = first.ETag
	job.Known = &Known{Interface: *first.Interface, Generation: first.WireGeneration, Claims: first.Round.Claims}
	second := runJob(t, job)
	if second.Card != nil || second.ETag != first.ETag || second.Round.Claims.Digest != first.Round.Claims.Digest {
		t.Errorf("the second round read a card, or forgot it: %+v", second)
	}
	if second.Round.Reach.Outcome != trust.Honored || second.Interface == nil {
		t.Errorf("reach is %+v", second.Round.Reach)
	}
}

func TestCaseRulesAContradictionThatMayDemoteIsNotReportedUnderOtherClaims(t *testing.T) {
	a := with(agent.V10, "empty-stream")
	base := a.Start(t)
	job := jobFor(t, base, trust.Streaming)
	job.Doubt = []trust.Capability{trust.Streaming}
	changed := false
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), Progress: func(words string) {
		if words == "streaming" && !changed {
			changed = true
			a.Set(agent.With(func(c *agent.Config) { c.Card.Revision = "another" }))
		}
	}}, job)
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCardChanged})
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Diverged, reason: trust.ReasonStreamEmpty})
}

func TestStreamThatFailsBesideAGoodControlIsNotComparedUnderOtherClaims(t *testing.T) {
	a := with(agent.V10, "empty-stream")
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Pairs, job.Control, job.Doubt = true, true, []trust.Capability{trust.Streaming}
	o := check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamIntermittent})
	if o.Pair == nil || !o.Pair.StreamFailed || o.Pair.ControlFailed {
		t.Errorf("the pair is %+v", o.Pair)
	}
	changed := false
	rep := Run(context.Background(), Env{Egress: agent.Loopback(), Progress: func(words string) {
		if words == "streaming" && !changed {
			changed = true
			a.Set(agent.With(func(c *agent.Config) { c.Card.Revision = "another" }))
		}
	}}, job)
	if o := check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCardChanged}); o.Pair != nil {
		t.Errorf("the pair counts although the claims changed: %+v", o.Pair)
	}
}

func TestEveryTroubleEndsInTimeAndAccusesNobody(t *testing.T) {
	t.Parallel()
	for _, quirk := range []string{
		"hangs", "posts-hang", "drops", "drops-often", "endless-card", "endless-body", "giant-body", "giant-card", "malformed-card", "html-card",
		"endless-stream", "giant-event", "send-hangs", "status-401", "status-403", "status-404", "status-429", "status-500", "status-503",
		"posts-301", "posts-302", "posts-html", "card-404", "odd-interfaces", "rolling-deploy",
	} {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			a := with(agent.V10, quirk)
			job := jobFor(t, a.Start(t), Questions()...)
			job.Target.Timing.FirstEvent = 400 * time.Millisecond
			job.Doubt = job.Ask
			rep := runJob(t, job)
			if o := rep.Round.Reach; o.Outcome != trust.Honored && (o.Outcome != trust.Inconclusive || o.Reason == "" || o.Message == "") {
				t.Errorf("reach is %+v", o)
			}
			for _, o := range rep.Round.Observations {
				if o.Outcome == trust.Diverged {
					t.Errorf("%s: %s %s, %s", o.Capability, o.Outcome, o.Reason, o.Message)
				}
			}
		})
	}
}

func TestCredentialsGoToTheOriginOfTheSpec(t *testing.T) {
	a := with(agent.V10, "needs-token")
	job := jobFor(t, a.Start(t), trust.Streaming)
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonAuthenticationRequired})
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{originOf(job.Target.URL)}}
	check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Honored})
}

func TestErrorsThatOnlyLookLikeTheProtocolAreTheGateways(t *testing.T) {
	for status, reason := range map[int]trust.Reason{401: trust.ReasonAuthenticationRequired, 404: trust.ReasonEndpointNotFound, 502: trust.ReasonServerError} {
		a := with(agent.V10)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				a.Handler().ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":"no"}}`, status)
		}))
		check(t, runJob(t, jobFor(t, s.URL, trust.Streaming)), trust.Streaming, expectation{outcome: trust.Inconclusive, reason: reason})
		s.Close()
		a.Close()
	}
}

func TestProbesAreMarkedAndSayWhatTheyProbedWith(t *testing.T) {
	for _, g := range []agent.Generation{agent.V10, agent.V03, agent.V01} {
		a := with(g)
		job := jobFor(t, a.Start(t), trust.Streaming)
		job.Target.Fixtures.Message = &Fixture{Parts: []wire.Part{{Text: "hello"}}, Metadata: map[string]any{"tenant": "acme"}}
		o := check(t, runJob(t, job), trust.Streaming, expectation{outcome: trust.Honored})
		if !slices.Equal(o.ProbedWith, []string{"tenant", MarkKey}) {
			t.Errorf("probed with %q", o.ProbedWith)
		}
		marked := slices.ContainsFunc(a.Requests(), func(r agent.Request) bool {
			return strings.Contains(string(r.Params), `"`+MarkKey+`":"7"`) && strings.Contains(string(r.Params), `"tenant":"acme"`)
		})
		if !marked {
			t.Errorf("%s: no request carries the mark of round 7", g)
		}
	}
}

// Whoever treats probes better than users by our mark or our user agent finds neither in a round that is sent without them.
func TestAnUnmarkedRoundShowsNobodyThatItIsOurs(t *testing.T) {
	for _, g := range []agent.Generation{agent.V10, agent.V03, agent.V01} {
		a := with(g)
		job := jobFor(t, a.Start(t), trust.Streaming, trust.Lifecycle)
		job.Unmarked = true
		job.Target.Fixtures.Message = &Fixture{Parts: []wire.Part{{Text: "hello"}}, Metadata: map[string]any{"tenant": "acme"}}
		rep := runJob(t, job)
		o := check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
		if !slices.Equal(o.ProbedWith, []string{"tenant"}) || !rep.Round.Unmarked {
			t.Errorf("probed with %q, unmarked %v: want the evidence to say so", o.ProbedWith, rep.Round.Unmarked)
		}
		if len(a.Requests()) == 0 {
			t.Error("the agent was asked nothing")
		}
		for _, r := range a.Requests() {
			said := r.Header.Get("User-Agent") + string(r.Params) + r.Header.Get("X-A2A-Extensions")
			if strings.Contains(said, "probe") || strings.Contains(said, "agentpeer") || r.Header.Get("User-Agent") == "" {
				t.Errorf("%s: %s tells that it is ours: %s %s", g, r.Method, r.Header, r.Params)
			}
		}
	}
}

// A peer whose every free text is poison: none of it may come back in what we report of it.
func TestNoTextOfThePeerReachesTheReport(t *testing.T) {
	const poison = "<script>alert('poison')</script>"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"name":%q,"description":%q,"supportedInterfaces":[{"url":"http://%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
				"capabilities":{"streaming":true},"skills":[{"id":%q,"name":%q}]}`, poison, poison, r.Host, poison, poison)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var call struct{ Method string }
		_ = json.Unmarshal(body, &call)
		switch call.Method {
		case "SendStreamingMessage":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":%q,"contextId":%q,"status":{"state":%q}}}}`+"\n\n", poison, poison, poison)
			_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":%q,"data":%q}}`+"\n\n", poison, poison)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q,"data":[{"reason":%q}]}}`, poison, poison)
		}
	}))
	defer s.Close()
	rep := runJob(t, jobFor(t, s.URL, Questions()...))
	rep.Card = nil // the card layer's own
	raw, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "poison") || strings.Contains(string(raw), "alert(") {
		t.Errorf("the report holds the peer's text: %s", raw)
	}
	if len(rep.Orphans) != 1 || !strings.HasPrefix(rep.Orphans[0].ID, "sha256:") {
		t.Errorf("the orphan's id is to be a hash: %+v", rep.Orphans)
	}
}

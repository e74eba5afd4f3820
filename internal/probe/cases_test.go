package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// acquaintance is what trust makes of rounds, each after its confirm interval, with nothing known before.
type acquaintance struct {
	trust.Peer
	now time.Time
}

func (p *acquaintance) round(t *testing.T, job Job) Report {
	t.Helper()
	if p.now.IsZero() {
		p.now = time.Now()
	}
	policy := trust.DefaultPolicy()
	job.Round, job.Doubt, job.Control = p.Rounds.Last+1, job.Ask, p.Rounds.Last == 0
	rep := runJob(t, job)
	rep.Round.Finished = p.now
	next, _, folded := trust.Advance(p.Peer, job.Target.ID, rep.Round, policy, p.now)
	if !folded {
		t.Fatalf("round %d was not folded", job.Round)
	}
	p.Peer, p.now = next, p.now.Add(policy.ConfirmInterval)
	return rep
}

// warns says whether Streaming is warned of so.
func (p *acquaintance) warns(w trust.Reason) bool {
	return slices.ContainsFunc(p.Records, func(r trust.Record) bool {
		return r.Capability == trust.Streaming && slices.Contains(r.Warnings, w)
	})
}

// verdict is what trust makes of several rounds, and the last one's report.
func verdict(t *testing.T, job Job, rounds int) (trust.Peer, Report) {
	t.Helper()
	var p acquaintance
	var rep Report
	for range rounds {
		rep = p.round(t, job)
	}
	return p.Peer, rep
}

// expectState checks what is held of a capability.
func expectState(t *testing.T, p trust.Peer, c trust.Capability, state trust.State, reason trust.Reason) trust.Record {
	t.Helper()
	for _, r := range p.Records {
		if r.Capability != c {
			continue
		}
		if r.State != state || reason != "" && r.Reason != reason {
			t.Errorf("%s is %s %s, want %s %s\n  %s %q", c, r.State, r.Reason, state, reason, r.Message, r.Observed)
		}
		return r
	}
	t.Errorf("nothing is held of %s", c)
	return trust.Record{}
}

// warnedOf says that a record warns of this and of nothing else, or of nothing if it is empty. A slow machine makes a burst of any stream.
func warnedOf(rec trust.Record, want trust.Reason) bool {
	left := slices.DeleteFunc(slices.Clone(rec.Warnings), func(r trust.Reason) bool {
		return r == want || r == trust.WarnSingleBurst || r == trust.WarnBufferedStream
	})
	return len(left) == 0 && (want == "" || slices.Contains(rec.Warnings, want))
}

// Each case of the collection that needs only JSON-RPC, streaming, cancel, continuation and the card, by its id. Those with a transcript
// are replayed byte by byte.
func TestCasesFromTranscripts(t *testing.T) {
	t.Parallel()
	slow := func(j *Job) { j.Target.Timing.Grace, j.Target.Timing.Task = 5*time.Second, time.Second }
	for _, tc := range []struct {
		name       string
		transcript string // default: the id
		pick       int
		rounds     int
		change     func(*Job)
		state      trust.State
		reason     trust.Reason
		last       trust.Outcome
		warn       trust.Reason
	}{
		{name: "C01 over HTTP+JSON", transcript: "C01 over HTTP+JSON", rounds: 3, state: trust.Demoted, reason: trust.ReasonStreamClosedWithoutTerminalState},
		{name: "C01", rounds: 3, state: trust.Demoted, reason: trust.ReasonStreamClosedWithoutTerminalState},
		{name: "C02", rounds: 3, state: trust.Unverified, reason: trust.ReasonStreamInterrupted, last: trust.Inconclusive},
		{name: "C03 with control A", pick: 1, rounds: 3, state: trust.Unverified, reason: trust.ReasonAgentFailing, last: trust.Inconclusive},
		{name: "C03 with control B", pick: 2, rounds: 3, state: trust.Demoted, reason: trust.ReasonStreamEmpty},
		{name: "C04", rounds: 3, state: trust.Demoted, reason: trust.ReasonStreamStateDivergesFromTask},
		{name: "C04 with an error sooner than we look", rounds: 3, change: func(j *Job) { j.Target.Timing.Idle = 10 * time.Second },
			state: trust.Demoted, reason: trust.ReasonStreamStateDivergesFromTask},
		{name: "C05", rounds: 1, state: trust.Trusted, last: trust.Honored},
		{name: "C08", rounds: 3, change: func(j *Job) { j.Target.Timing.Grace = time.Second }, state: trust.Demoted, reason: trust.ReasonStreamShapeViolation},
		{name: "C22", rounds: 1, state: trust.Trusted, last: trust.Honored, warn: trust.WarnWithoutContent},
		{name: "C25 -32004", pick: 1, rounds: 1, state: trust.Demoted, reason: trust.ReasonStreamingRefused},
		{name: "C25 -32602", pick: 2, rounds: 3, state: trust.Unverified, reason: trust.ReasonProbeRejected, last: trust.Inconclusive},
		{name: "C25 -32603", pick: 3, rounds: 3, state: trust.Unverified, reason: trust.ReasonAgentFailing, last: trust.Inconclusive},
		{name: "C25 -32601", pick: 4, rounds: 1, state: trust.Demoted, reason: trust.ReasonStreamingRefused},
		{name: "C37", rounds: 1, state: trust.Demoted, reason: trust.ReasonProtocolGenerationMismatch},
		{name: "C91", rounds: 1, change: slow, state: trust.Unverified, reason: trust.ReasonProbeDeadlineExceeded, last: trust.Inconclusive},
		{name: "C92 with text", rounds: 1, change: func(j *Job) {
			j.Target.Fixtures.Message = &Fixture{Parts: []wire.Part{{Text: "ping"}}}
		}, state: trust.Unverified, reason: trust.ReasonProbeRejected, last: trust.Inconclusive},
		{name: "C92 with a data part", rounds: 1, state: trust.Trusted, last: trust.Honored, warn: trust.WarnWithoutContent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			id := tc.transcript
			if id == "" {
				id = strings.Fields(tc.name)[0]
			}
			_, base := startReplay(t, id, tc.pick)
			job := jobFor(t, base, trust.Streaming)
			if tc.change != nil {
				tc.change(&job)
			}
			p, rep := verdict(t, job, tc.rounds)
			rec := expectState(t, p, trust.Streaming, tc.state, tc.reason)
			if tc.last != "" && rec.LastOutcome != tc.last {
				t.Errorf("the last outcome is %s, want %s", rec.LastOutcome, tc.last)
			}
			if tc.state == trust.Trusted && !warnedOf(rec, tc.warn) {
				t.Errorf("warned of %v, want %q and nothing else", rec.Warnings, tc.warn)
			}
			if tc.name == "C37" && (!strings.Contains(rec.Message, "0.3") || rep.WireGeneration != wire.V03) {
				t.Errorf("the message %q, or the generation %q, does not name 0.3 as the dialect that works", rec.Message, rep.WireGeneration)
			}
		})
	}
}

// TestCases holds the other cases against the scripted agent.
func TestCases(t *testing.T) {
	t.Parallel()
	const (
		trusted, demoted, unverified = trust.Trusted, trust.Demoted, trust.Unverified
		stream                       = trust.Streaming
	)
	type config = agent.Config
	for _, tc := range []struct {
		name   string
		gen    agent.Generation
		quirks string
		set    func(*config)
		rounds int              // default 1
		about  trust.Capability // default Streaming
		change func(*Job)
		state  trust.State
		reason trust.Reason // default Honored where trusted
		// warn is the one warning that costs nothing; without it there is none at all where trusted.
		warn trust.Reason
		card card.Warning
	}{
		{name: "C03 B an empty stream beside a control that works", gen: agent.V03, quirks: "empty-stream", rounds: 3, state: demoted, reason: trust.ReasonStreamEmpty},
		{name: "C06 held open after the terminal event", gen: agent.V03, quirks: "hold-terminal", state: trusted, warn: trust.WarnStreamNotClosed},
		{name: "C06 held open after the terminal event in 1.0", gen: agent.V10, quirks: "hold-terminal", state: trusted, warn: trust.WarnStreamNotClosed},
		{name: "C08 many Messages in 0.3", gen: agent.V03, quirks: "many-messages", rounds: 3, state: trusted, warn: trust.ReasonStreamShapeViolation},
		{name: "C10 status first in 0.3", gen: agent.V03, quirks: "status-first", state: trusted},
		{name: "C10 status first in 1.0", gen: agent.V10, quirks: "status-first", state: trusted, warn: trust.WarnFirstEventNotTask},
		{name: "C12 completed twice", gen: agent.V01, quirks: "completed-twice", rounds: 3, state: trusted, warn: trust.ReasonEventsAfterTerminal},
		{name: "C12 completed twice, Lifecycle", gen: agent.V02, quirks: "completed-twice", rounds: 3, about: trust.Lifecycle, state: trusted, warn: trust.ReasonEventsAfterTerminal},
		{name: "C13 no content", gen: agent.V03, quirks: "no-content", state: trusted, warn: trust.WarnWithoutContent},
		{name: "C15 one task and no more", gen: agent.V10, quirks: "one-task", state: trusted, warn: trust.WarnSingleBurst},
		{name: "C15 one burst at the end", gen: agent.V03, quirks: "buffered", set: func(c *config) { c.Stream.Work = agent.Duration(300 * time.Millisecond) },
			state: trusted, warn: trust.WarnSingleBurst},
		{name: "C18 at work, a stream that is picked up ends after its snapshot", gen: agent.V10, quirks: "resubscribe-ends", rounds: 3, about: trust.Resubscription,
			state: demoted, reason: trust.ReasonResubscribedStreamEnded},
		{name: "C18 at a question, it ends after its snapshot", gen: agent.V10, quirks: "resubscribe-ends", about: trust.Resubscription, change: func(j *Job) {
			j.Target.Fixtures.LongRunning = &Fixture{Parts: []wire.Part{{Text: "book a trip"}}}
		}, rounds: 3, state: unverified},
		{name: "C19 one JSON per line", gen: agent.V03, quirks: "ndjson", rounds: 3, state: demoted, reason: trust.ReasonWrongStreamMediaType},
		{name: "C20 comments between events", gen: agent.V10, quirks: "keep-alive", state: trusted},
		{name: "C24 no blank line at the end", gen: agent.V03, quirks: "unterminated", state: trusted, warn: trust.WarnUnterminatedFinalEvent},
		{name: "C26 -32603 in the stream", gen: agent.V10, quirks: "stream-fails-sse", rounds: 3, state: unverified, reason: trust.ReasonAgentFailing},
		{name: "C26 -32004 in the stream", gen: agent.V10, quirks: "refuses-stream-sse", state: demoted, reason: trust.ReasonStreamingRefused},
		{name: "C27 one lump at the end", gen: agent.V10, quirks: "buffered", set: func(c *config) { c.Stream.Work = agent.Duration(1100 * time.Millisecond) },
			state: trusted, warn: trust.WarnBufferedStream},
		{name: "C30 undeclared and served", gen: agent.V03, quirks: "undeclared-streams", rounds: 3, state: unverified, reason: trust.ReasonNotDeclared, warn: trust.WarnUndeclaredButWorks},
		{name: "C31 streaming is null", gen: agent.V03, quirks: "streaming-null", rounds: 3, state: unverified, reason: trust.ReasonNotDeclared},
		{name: "C32 undeclared and refused", gen: agent.V10, quirks: "streaming-false", rounds: 3, state: unverified, reason: trust.ReasonNotDeclared},
		{name: "C35 no A2A method at all", gen: agent.V03, quirks: "mcp", state: demoted, reason: trust.ReasonMethodNotFound},
		{name: "C35 404", gen: agent.V03, quirks: "posts-404", rounds: 3, state: unverified, reason: trust.ReasonEndpointNotFound},
		{name: "C35 405", gen: agent.V03, quirks: "posts-405", rounds: 3, state: unverified, reason: trust.ReasonEndpointNotFound},
		{name: "C35 HTML", gen: agent.V03, quirks: "posts-html", rounds: 3, state: unverified, reason: trust.ReasonEndpointNotFound},
		{name: "C38 card 0.3, wire 0.1", gen: agent.V03, quirks: "card-03-wire-01", state: demoted, reason: trust.ReasonProtocolGenerationMismatch},
		{name: "C40 bare results", gen: agent.V10, quirks: "bare-result get-wrapped", state: trusted, warn: trust.WarnResultShapeMismatch},
		{name: "C43 checks the version it declares", gen: agent.V10, quirks: "checks-version", state: trusted},
		{name: "C43 checks the version, 0.3", gen: agent.V03, quirks: "checks-version", state: trusted},
		{name: "C45 send returns at once", gen: agent.V10, quirks: "send-at-once", state: trusted, warn: trust.WarnBlockingSendReturnedActive},
		{name: "C45 send returns at once, in 0.3", gen: agent.V03, quirks: "send-at-once", state: trusted},
		{name: "C46 wildcard address", gen: agent.V03, quirks: "card-wildcard", rounds: 3, state: unverified, reason: trust.ReasonNoUsableInterface, card: card.EndpointUnroutable},
		{name: "C46 wildcard address, and the spec says that the endpoint is the url", gen: agent.V03, quirks: "card-wildcard", change: func(j *Job) {
			j.Target.Preference.FromEndpoint, j.Target.Preference.Endpoint = true, j.Target.URL
		}, state: trusted, card: card.EndpointUnroutable},
		{name: "C47 POST redirected by 301", gen: agent.V10, quirks: "posts-301", rounds: 3, state: unverified, reason: trust.ReasonEndpointRedirects},
		{name: "C47 POST redirected by 302", gen: agent.V10, quirks: "posts-302", rounds: 3, state: unverified, reason: trust.ReasonEndpointRedirects},
		{name: "C47 POST redirected by 307", gen: agent.V10, quirks: "posts-307", rounds: 3, state: unverified, reason: trust.ReasonEndpointRedirects},
		{name: "C50 only the old card path", gen: agent.V03, quirks: "legacy-path", state: trusted, card: card.LegacyCardPath},
		{name: "C52 the card is elsewhere", gen: agent.V03, quirks: "card-elsewhere", rounds: 3, state: unverified, reason: trust.ReasonCardUnavailable},
		{name: "C52 the card is elsewhere and the spec says where", gen: agent.V03, quirks: "card-elsewhere", change: func(j *Job) { j.Target.CardPath = "/v1/card" }, state: trusted},
		{name: "C54 the endpoint is the card", gen: agent.V03, quirks: "card-is-endpoint", rounds: 3, state: unverified, reason: trust.ReasonEndpointNotFound, card: card.EndpointIsCard},
		{name: "C56 a relative endpoint", gen: agent.V03, quirks: "card-relative", state: trusted, card: card.RelativeEndpoint},
		{name: "C57 no capabilities", gen: agent.V02, quirks: "no-capabilities", rounds: 3, state: unverified, reason: trust.ReasonNotDeclared, card: card.CapabilitiesMissing},
		{name: "C59 streaming is yes", gen: agent.V10, quirks: "streaming-yes", rounds: 3, state: unverified, reason: trust.ReasonNotDeclared, card: card.CapabilityWrongType},
		{name: "C61 a large card", gen: agent.V03, quirks: "large-card", state: trusted},
		{name: "C65 replicas, Streaming", gen: agent.V10, quirks: "replicas", rounds: 3, state: trusted},
		{name: "C65 replicas, TaskRetrieval", gen: agent.V10, quirks: "stuck replicas", rounds: 3, about: trust.TaskRetrieval, state: unverified, reason: trust.ReasonReplicaInconsistency},
		{name: "C65 never found, Streaming", gen: agent.V10, quirks: "get-not-found", rounds: 3, state: trusted},
		{name: "C65 never found while the open stream shows the task at work", gen: agent.V10, quirks: "stuck get-not-found", rounds: 3, about: trust.TaskRetrieval,
			state: demoted, reason: trust.ReasonTaskNotRetrievable},
		{name: "C67 a stale store", gen: agent.V02, quirks: "stale-store", state: trusted, warn: trust.WarnTaskStoreStale},
		{name: "C68 a new id for a follow-up", gen: agent.V10, quirks: "follow-up-new-id", rounds: 3, about: trust.Continuation, state: demoted, reason: trust.ReasonTaskIDChangedOnContinuation},
		{name: "C68 a new id for a follow-up, Streaming", gen: agent.V10, quirks: "follow-up-new-id", rounds: 3, state: trusted},
		{name: "C68 never asks", gen: agent.V10, quirks: "never-asks", rounds: 3, about: trust.Continuation, state: unverified, reason: trust.ReasonInputRequiredNotReached},
		{name: "C70 cancel changes nothing", gen: agent.V10, quirks: "cancel-never", rounds: 3, about: trust.Cancellation, state: unverified, reason: trust.ReasonCancelNotHonoured},
		{name: "C71 canceled, then completed", gen: agent.V03, quirks: "completes-after-all", rounds: 2, about: trust.Lifecycle, change: func(j *Job) {
			j.Ask = append(j.Ask, trust.Cancellation)
			j.Target.Timing.Settle = 800 * time.Millisecond
			j.Target.Timing.Task = 3 * time.Second
		}, state: demoted, reason: trust.ReasonTerminalStateNotFinal},
		{name: "C71 canceled, then completed, Streaming", gen: agent.V03, quirks: "completes-after-all", rounds: 2, state: trusted},
		{name: "C72 cancel is not implemented", gen: agent.V03, quirks: "cancel-fails", rounds: 3, about: trust.Cancellation, state: unverified, reason: trust.ReasonCancelUnsupported},
		{name: "C73 every turn ends in a question", gen: agent.V03, quirks: "always-asks", rounds: 3, state: trusted},
		{name: "C76 members of the vendor's own", gen: agent.V10, quirks: "vendor-members", state: trusted},
		{name: "C83 the gateway's address leads nowhere", gen: agent.V10, quirks: "card-wrong-url", rounds: 3, state: unverified, reason: trust.ReasonEndpointNotFound},
		{name: "C85 no task operations", gen: agent.V03, quirks: "get-unknown", rounds: 3, state: trusted, warn: trust.ReasonTaskOpsUnavailable},
		{name: "C85 an unknown session", gen: agent.V03, set: func(c *config) { c.Stream.Refuse, c.Send.Refuse = -32054, -32054 }, rounds: 3, state: unverified, reason: trust.ReasonProbeRejected},
		{name: "C88 EOF without a byte", gen: agent.V10, quirks: "drops", rounds: 3, state: unverified, reason: trust.ReasonUnreachable},
		{name: "C91 hanging up would break the task", gen: agent.V10, quirks: "hang-up-sticks", rounds: 3, state: trusted},
		{name: "C91 a task longer than our patience, which fails when we hang up", gen: agent.V10, quirks: "hang-up-fails", set: func(c *config) {
			c.Script.Think = agent.Duration(10 * time.Second)
		}, rounds: 3, state: unverified, reason: trust.ReasonStuck},
		{name: "C94 401", gen: agent.V03, quirks: "posts-401", rounds: 3, state: unverified, reason: trust.ReasonAuthenticationRequired},
		{name: "C94 402", gen: agent.V03, set: func(c *config) { c.HTTP = []agent.Fault{{Status: 402, On: "post"}} }, rounds: 3, state: unverified, reason: trust.ReasonPermissionDenied},
		{name: "C94 403", gen: agent.V03, quirks: "posts-403", rounds: 3, state: unverified, reason: trust.ReasonPermissionDenied},
		{name: "C94 429", gen: agent.V03, quirks: "posts-429", rounds: 3, state: unverified, reason: trust.ReasonRateLimited},
		{name: "C94 503", gen: agent.V03, quirks: "posts-503", rounds: 3, state: unverified, reason: trust.ReasonServerError},
		{name: "C94 no answer", gen: agent.V03, quirks: "posts-hang", change: func(j *Job) { j.Target.Timing.FirstEvent = 300 * time.Millisecond },
			rounds: 3, state: unverified, reason: trust.ReasonUnreachable},
		{name: "C94 not JSON", gen: agent.V03, quirks: "giant-body", rounds: 3, state: unverified, reason: trust.ReasonUnexpectedAnswer},
		{name: "C99 the tenant is echoed", gen: agent.V10, quirks: "tenant", state: trusted},
		{name: "C99 a binding that nobody speaks stands first", gen: agent.V10, set: func(c *config) {
			c.Card.Interfaces = json.RawMessage(`[{"url":"/ws","protocolBinding":"https://bindings.example/websocket","protocolVersion":"1.0"},
				{"url":"/a2a","protocolBinding":"JSONRPC","protocolVersion":"9.0"},{"url":"/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`)
		}, state: trusted},
		{name: "C99 only gRPC", gen: agent.V10, quirks: "grpc-only", state: trusted},
		{name: "C99 only gRPC, in 0.3", gen: agent.V03, quirks: "grpc-only", state: trusted},
		{name: "C99 only a binding of somebody's own", gen: agent.V10, quirks: "foreign-binding", rounds: 3, state: unverified, reason: trust.ReasonNoUsableInterface},
		{name: "C99 no binding that we speak", gen: agent.V10, set: func(c *config) {
			c.Card.Interfaces = json.RawMessage(`[{"url":"/ws","protocolBinding":"https://bindings.example/websocket","protocolVersion":"1.0"}]`)
		}, rounds: 3, state: unverified, reason: trust.ReasonNoUsableInterface},
		{name: "C109 another origin", gen: agent.V10, quirks: "card-other-origin", rounds: 3, state: unverified, reason: trust.ReasonOriginNotAllowed, card: card.EndpointOriginDiffers},
		{name: "C110 the card leads to the cloud's metadata", gen: agent.V10, quirks: "card-metadata", state: unverified, reason: trust.ReasonOriginNotAllowed},
		{name: "C110 the card leads to the cloud's metadata and the origin is allowed", gen: agent.V10, set: func(c *config) {
			c.Card.URL = "https://169.254.169.254/latest/meta-data/"
		}, change: func(j *Job) {
			j.Target.AllowedOrigins = []string{"https://169.254.169.254"}
		}, state: unverified, reason: trust.ReasonAddressNotAllowed},
		{name: "C110 the card leads to the cloud's metadata by http and the origin is allowed", gen: agent.V10, quirks: "card-metadata", change: func(j *Job) {
			j.Target.AllowedOrigins = []string{"http://169.254.169.254"}
		}, state: unverified, reason: trust.ReasonPlaintextNotAllowed},
		{name: "C110 the card is redirected to the cloud's metadata", gen: agent.V10, quirks: "card-302-away", state: unverified, reason: trust.ReasonEndpointRedirects},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := with(tc.gen, strings.Fields(tc.quirks)...)
			if tc.set != nil {
				a.Set(agent.With(tc.set))
			}
			about := tc.about
			if about == "" {
				about = stream
			}
			job := jobFor(t, a.Start(t), about)
			if tc.change != nil {
				tc.change(&job)
			}
			var p acquaintance
			var rep Report
			for range max(tc.rounds, 1) {
				rep = p.round(t, job)
			}
			for range 4 { // a lump that a slow machine reads slowly shows as one the next time
				if tc.warn != trust.WarnSingleBurst && tc.warn != trust.WarnBufferedStream || p.warns(tc.warn) {
					break
				}
				rep = p.round(t, job)
			}
			if tc.card != "" && !slices.Contains(rep.CardWarnings, tc.card) {
				t.Errorf("the card's warnings are %v, want %s", rep.CardWarnings, tc.card)
			}
			if p.Claims.Digest == "" {
				// No card was ever read, so nothing is held of capabilities that cards declare.
				if p.Rounds.ReachReason != tc.reason {
					t.Errorf("reach says %s, want %s", p.Rounds.ReachReason, tc.reason)
				}
				return
			}
			rec := expectState(t, p.Peer, about, tc.state, tc.reason)
			switch {
			case tc.state == demoted:
				if rec.Message == "" || len(rec.Observed) == 0 {
					t.Errorf("a demotion needs its evidence: %+v", rec)
				}
			case !warnedOf(rec, tc.warn):
				t.Errorf("warned of %v, want %q and nothing else", rec.Warnings, tc.warn)
			}
		})
	}
}

func TestCaseC48TheCardIsFoundBelowThePathAndNotAtTheRoot(t *testing.T) {
	a := with(agent.V03)
	mux := http.NewServeMux()
	mux.Handle("/v3/serve/42/", http.StripPrefix("/v3/serve/42", a.Handler()))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	s := httptest.NewServer(mux)
	defer s.Close()
	defer a.Close()
	a.SetURL(s.URL + "/v3/serve/42")
	check(t, runJob(t, jobFor(t, s.URL+"/v3/serve/42", trust.Streaming)), trust.Streaming, expectation{outcome: trust.Honored})
	rep := runJob(t, jobFor(t, s.URL, trust.Streaming))
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCardUnavailable})
}

func TestCaseC100PlainHTTPToATLSPortIsCardUnavailable(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	u, _ := url.Parse(s.URL)
	rep := runJob(t, jobFor(t, "http://"+u.Host, trust.Streaming))
	o := check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCardUnavailable})
	if !strings.Contains(o.Message, "try https") {
		t.Errorf("the message %q does not say what to try", o.Message)
	}
}

func TestCaseC43AVersionIsAMismatchOnlyWhereTheDeclaredOneIsRefused(t *testing.T) {
	for _, tc := range []struct {
		declared string
		want     expectation
	}{
		{"1.0", expectation{outcome: trust.Diverged, reason: trust.ReasonProtocolGenerationMismatch}},
		{"0.3", expectation{outcome: trust.Inconclusive, reason: trust.ReasonVersionNegotiationFailed}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = fmt.Fprintf(w, `{"name":"x","capabilities":{"streaming":true},
					"supportedInterfaces":[{"url":"/a2a","protocolBinding":"JSONRPC","protocolVersion":%q}]}`, tc.declared)
				return
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32009,"message":"version"}}`)
		}))
		rep := runJob(t, jobFor(t, s.URL, trust.Streaming))
		o := check(t, rep, trust.Streaming, tc.want)
		if o.Outcome == trust.Diverged && !(o.Explicit && o.Confirmed) {
			t.Errorf("the refusal is to be explicit and confirmed: %+v", o)
		}
		s.Close()
	}
}

func TestInterfaceWithoutAVersionIsAskedWhatItSpeaks(t *testing.T) {
	for _, tc := range []struct {
		speaks agent.Generation
		legacy bool
	}{{agent.V10, false}, {agent.V03, false}, {agent.V01, false}, {agent.V02, true}, {agent.V01, true}} {
		a := agent.New(agent.Speaks(tc.speaks), agent.With(func(c *agent.Config) {
			c.Card.Generation = agent.V10
			c.Card.Interfaces = json.RawMessage(`[{"url":"/a2a","protocolBinding":"JSONRPC"}]`)
			if tc.legacy {
				c.Card.Generation, c.Card.Interfaces = agent.V01, nil
			}
		}))
		rep := runJob(t, jobFor(t, a.Start(t), trust.Streaming))
		check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
	}
}

func TestCaseC90SilenceThatAHopClosesInGoodOrderIsInterrupted(t *testing.T) {
	a := with(agent.V03)
	defer a.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			a.Handler().ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		pause(r.Context(), quick().Idle+50*time.Millisecond)
	}))
	defer s.Close()
	rep := runJob(t, jobFor(t, s.URL, trust.Streaming))
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted})
}

func TestCaseC95ADemotionLiftsByItselfAfterTheRepair(t *testing.T) {
	a := with(agent.V03, "empty-stream")
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Round = 0
	var p trust.Peer
	policy, now := trust.DefaultPolicy(), time.Now()
	round := func() {
		t.Helper()
		job.Round++
		rep := runJob(t, job)
		rep.Round.Finished = now
		p, _, _ = trust.Advance(p, job.Target.ID, rep.Round, policy, now)
		now = now.Add(policy.MinDemotion)
	}
	for range 3 { // an empty stream could be a failing agent's (C03 A)
		round()
	}
	expectState(t, p, trust.Streaming, trust.Demoted, trust.ReasonStreamEmpty)
	a.Set(agent.With(func(c *agent.Config) { c.Stream.Empty = false }))
	round()
	round()
	expectState(t, p, trust.Streaming, trust.Trusted, "")
}

package probe

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// everyPeerHas are the capabilities that an honest agent of the default script honours.
var everyPeerHas = []trust.Capability{trust.Streaming, trust.TaskRetrieval, trust.Cancellation, trust.Resubscription, trust.Continuation,
	trust.Lifecycle}

// tenant gives the card one.
func tenant(c *agent.Config) { c.Card.Tenant = "acme" }

// An honest agent that is reached by HTTP+JSON alone is honest, in whatever legal form it answers.
func TestHonestAgentsOverHTTPJSON(t *testing.T) {
	tests := map[string]struct {
		generation agent.Generation
		quirks     string
		with       func(*agent.Config)
	}{
		"1.0":                                    {generation: agent.V10},
		"0.3":                                    {generation: agent.V03},
		"0.2":                                    {generation: agent.V02},
		"statuses of 1.0.0":                      {generation: agent.V10, quirks: "rest-old-status"},
		"problem details":                        {generation: agent.V10, quirks: "rest-problem-details rest-old-status"},
		"errors without a reason":                {generation: agent.V10, quirks: "rest-no-reason"},
		"errors that are a text":                 {generation: agent.V03, quirks: "rest-message-errors"},
		"201 and 202":                            {generation: agent.V03, quirks: "rest-created"},
		"subscribe by GET":                       {generation: agent.V10, quirks: "rest-subscribe-get"},
		"subscribe by POST":                      {generation: agent.V03, quirks: "rest-subscribe-post"},
		"bodies by 1.0.1's name":                 {generation: agent.V10, quirks: "rest-own-media-type"},
		"a tenant in the path":                   {generation: agent.V10, with: tenant},
		"a tenant that no path knows":            {generation: agent.V10, with: tenant, quirks: "rest-no-tenant-path"},
		"unary answers called text/plain":        {generation: agent.V03, quirks: "plain-text"},
		"members that nobody knows":              {generation: agent.V10, quirks: "vendor-members"},
		"a path of its own":                      {generation: agent.V03, quirks: "prefixed"},
		"keep-alives and lines of several kinds": {generation: agent.V10, quirks: "ugly-sse"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []agent.Option{agent.Speaks(tt.generation), agent.Is("rest"), agent.Is(strings.Fields(tt.quirks)...)}
			if tt.with != nil {
				options = append(options, agent.With(tt.with))
			}
			a := agent.New(options...)
			job := jobFor(t, a.Start(t), everyPeerHas...)
			job.Control = true
			rep := runJob(t, job)
			if rep.WireGeneration != wire.Generation(tt.generation) || rep.Interface == nil || rep.Interface.Binding != "HTTP+JSON" {
				t.Errorf("it is taken for %q by %+v", rep.WireGeneration, rep.Interface)
			}
			for _, c := range everyPeerHas {
				o := check(t, rep, c, expectation{outcome: trust.Honored})
				t.Logf("%s %s %s %v\n  %s\n  %q", c, o.Outcome, o.Reason, o.Warnings, o.Message, o.Observed)
			}
			if open := a.Counts().Open; open > 0 {
				t.Errorf("%d tasks are left open", open)
			}
		})
	}
}

// What a missing path and a missing word look like accuses nobody, whatever else is there.
func TestMissingPathsOverHTTPJSONAccuseNobody(t *testing.T) {
	tests := map[string]struct {
		generation agent.Generation
		quirks     string
		with       func(*agent.Config)
		reach      expectation
		says       string
		streaming  expectation
		retrieval  expectation
	}{
		"C85: a gateway routes no task operations": {
			generation: agent.V10, quirks: "rest rest-no-task-paths",
			reach:     expectation{outcome: trust.Honored, warns: []trust.Reason{trust.ReasonTaskOpsUnavailable}},
			streaming: expectation{outcome: trust.Honored},
			retrieval: expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointNotFound},
		},
		"1.0 declared, and its paths stand under /v1": {
			generation: agent.V10, quirks: "rest rest-other-mount",
			reach: expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointNotFound},
			says:  "the paths of 1.0 are not known there; those of 0.3 are",
		},
		"0.3 declared, and its paths are missing": {
			generation: agent.V03, quirks: "rest mcp",
			reach: expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointNotFound},
			says:  "the paths of 0.3 are not known there",
		},
		"1.0 declared and 0.3 spoken": {
			generation: agent.V03, quirks: "rest", with: func(c *agent.Config) { c.Card.Generation = agent.V10 },
			reach: expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointNotFound},
			says:  "the paths of 1.0 are not known there; those of 0.3 are",
		},
		"no version, and no paths of any": {
			generation: agent.V10, quirks: "rest mcp", with: unversioned,
			reach: expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointNotFound},
			says:  "the paths of no generation are known there",
		},
		"errors without a word": {
			generation: agent.V10, quirks: "rest rest-bare-errors",
			reach: expectation{outcome: trust.Inconclusive, reason: trust.ReasonUnexpectedAnswer},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []agent.Option{agent.Speaks(tt.generation), agent.Is(strings.Fields(tt.quirks)...)}
			if tt.with != nil {
				options = append(options, agent.With(tt.with))
			}
			rep := runJob(t, jobFor(t, agent.New(options...).Start(t), everyPeerHas...))
			reach := rep.Round.Reach
			if reach.Outcome != tt.reach.outcome || tt.reach.reason != "" && reach.Reason != tt.reach.reason || !strings.Contains(reach.Message, tt.says) {
				t.Errorf("reach: %s %s %q", reach.Outcome, reach.Reason, reach.Message)
			}
			for _, w := range tt.reach.warns {
				if !slices.Contains(reach.Warnings, w) {
					t.Errorf("reach warns %v, want %s", reach.Warnings, w)
				}
			}
			if tt.streaming.outcome != "" {
				check(t, rep, trust.Streaming, tt.streaming)
				check(t, rep, trust.TaskRetrieval, tt.retrieval)
			}
			for _, o := range rep.Round.Observations {
				if o.Outcome == trust.Diverged {
					t.Errorf("%s is accused: %s %s", o.Capability, o.Reason, o.Message)
				}
			}
		})
	}
}

// unversioned makes the card's one interface leave open what it speaks.
func unversioned(c *agent.Config) {
	c.Card.Raw = `{"name":"peer","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"{{URL}}","protocolBinding":"HTTP+JSON"}]}`
}

// An interface without a version is asked what it speaks.
func TestHTTPJSONInterfaceWithoutAVersion(t *testing.T) {
	for _, g := range []agent.Generation{agent.V10, agent.V03} {
		a := agent.New(agent.Speaks(g), agent.Is("rest"), agent.With(unversioned), agent.With(func(c *agent.Config) { c.Card.Path = "both" }))
		rep := runJob(t, jobFor(t, a.Start(t), trust.Streaming))
		want := wire.Generation(g)
		if g == agent.V03 {
			want = wire.V02 // the two are one on the wire
		}
		if rep.WireGeneration != want {
			t.Errorf("it is taken for %q, want %s", rep.WireGeneration, want)
		}
		check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
	}
}

// Webhooks, extended cards and input modes are asked for by the paths of HTTP+JSON and judged as over JSON-RPC.
func TestWhatCardsDeclareOverHTTPJSON(t *testing.T) {
	r := receiver(t)
	for _, tc := range []struct {
		quirks     string
		capability trust.Capability
		want       expectation
	}{
		{"push", trust.PushNotifications, expectation{outcome: trust.Honored}},
		{"push-method-only", trust.PushNotifications, expectation{outcome: trust.Honored}},
		{"push-silent", trust.PushNotifications, expectation{outcome: trust.Diverged, reason: trust.ReasonPushNotDelivered}},
		{"push-refused-everywhere", trust.PushNotifications, expectation{outcome: trust.Diverged, reason: trust.ReasonPushConfigRefused}},
		{"push-private", trust.PushNotifications, expectation{outcome: trust.Inconclusive}},
		{"push-fails", trust.PushNotifications, expectation{outcome: trust.Inconclusive}},
		{"extended", trust.ExtendedAgentCard, expectation{outcome: trust.Honored}},
		{"declares-extended", trust.ExtendedAgentCard, expectation{outcome: trust.Diverged, reason: trust.ReasonExtendedCardNotConfigured}},
		{"extended-refused", trust.ExtendedAgentCard, expectation{outcome: trust.Diverged, reason: trust.ReasonExtendedCardRefused}},
		{"extended-fails", trust.ExtendedAgentCard, expectation{outcome: trust.Inconclusive, reason: trust.ReasonAgentFailing}},
		{"", trust.InputModes, expectation{outcome: trust.Honored}},
	} {
		for _, g := range []agent.Generation{agent.V10, agent.V03} {
			t.Run(string(g)+" "+tc.quirks, func(t *testing.T) {
				t.Parallel()
				job := pushJob(t, with(g, strings.Fields("rest "+tc.quirks)...).Start(t))
				job.Ask = []trust.Capability{tc.capability}
				loggedIn(&job)
				o := check(t, runPush(t, job, r), tc.capability, tc.want)
				t.Logf("%s %s %v %s", o.Outcome, o.Reason, o.Warnings, o.Message)
			})
		}
	}
}

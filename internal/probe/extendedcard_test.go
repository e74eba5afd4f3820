package probe

import (
	"net/url"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// loggedIn gives a job the bearer token "secret" for the peer's origin.
func loggedIn(j *Job) {
	u := url.URL{Scheme: j.Target.URL.Scheme, Host: j.Target.URL.Host}
	j.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{u.String()}}
}

func TestExtendedCard(t *testing.T) {
	t.Parallel()
	const (
		honored, diverged, inconclusive = trust.Honored, trust.Diverged, trust.Inconclusive
	)
	for _, tc := range []struct {
		quirks    string
		gens      string // default "1.0 0.3"
		anonymous bool
		outcome   trust.Outcome
		reason    trust.Reason
		warn      trust.Reason
	}{
		{quirks: "", gens: "1.0 0.3 0.2 0.1", outcome: inconclusive, reason: trust.ReasonNotDeclared},
		{quirks: "extended", gens: "1.0 0.3 0.2", outcome: honored},
		{quirks: "extended posts-token", outcome: honored},
		{quirks: "extended posts-403", outcome: inconclusive},
		{quirks: "extended", gens: "1.0 0.3 0.2", anonymous: true, outcome: honored, warn: trust.WarnExtendedCardAnonymous},
		{quirks: "extended posts-401", anonymous: true, outcome: inconclusive, reason: trust.ReasonAuthenticationRequired},
		{quirks: "declares-extended", outcome: diverged, reason: trust.ReasonExtendedCardNotConfigured},
		{quirks: "declares-extended", gens: "0.2", outcome: diverged, reason: trust.ReasonExtendedCardRefused},
		{quirks: "declares-extended", gens: "1.0 0.3 0.2", anonymous: true, outcome: inconclusive, reason: trust.ReasonNoCredentials},
		{quirks: "extended-refused", outcome: diverged, reason: trust.ReasonExtendedCardRefused},
		{quirks: "extended-refused", anonymous: true, outcome: inconclusive, reason: trust.ReasonNoCredentials},
		{quirks: "extended-fails", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "extended-odd", outcome: inconclusive, reason: trust.ReasonUnexpectedAnswer},
		{quirks: "extended-withdraws", outcome: honored, warn: trust.WarnExtendedCardContradicts},
		{quirks: "extended-unsaid", outcome: honored, warn: trust.WarnUndeclaredButWorks},
		{quirks: "declares-extended masked-errors", outcome: inconclusive, reason: trust.ReasonAgentFailing},
		{quirks: "extended prefixed", gens: "0.2", outcome: honored},
	} {
		gens := tc.gens
		if gens == "" {
			gens = "1.0 0.3"
		}
		for _, g := range strings.Fields(gens) {
			name := g + " " + tc.quirks
			if tc.anonymous {
				name += " without credentials"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := with(agent.Generation(g), strings.Fields(tc.quirks)...)
				job := jobFor(t, a.Start(t), trust.ExtendedAgentCard)
				if !tc.anonymous {
					loggedIn(&job)
				}
				rep := runJob(t, job)
				want := expectation{outcome: tc.outcome, reason: tc.reason}
				if tc.warn != "" {
					want.warns = []trust.Reason{tc.warn}
				}
				check(t, rep, trust.ExtendedAgentCard, want)
				if n := a.Counts().Tasks; n > 0 || rep.Round.Tasks > 0 {
					t.Errorf("the question cost %d tasks, and the report says %d", n, rep.Round.Tasks)
				}
			})
		}
	}
}

// A gateway that knows no methods but those of messages is not the agent's own word (C85), and an object that is no card is none.
func TestWhatIsNoWordAboutTheExtendedCard(t *testing.T) {
	t.Parallel()
	unknown := agent.With(func(c *agent.Config) { c.Extended.Refuse = codeMethodNotFound })
	for name, tc := range map[string]struct {
		quirks []string
		want   expectation
	}{
		"a gateway for messages alone":     {[]string{"extended-refused", "get-unknown"}, expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskOpsUnavailable}},
		"an agent that does not know this": {[]string{"extended-refused"}, expectation{outcome: trust.Diverged, reason: trust.ReasonExtendedCardRefused}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, agent.New(agent.Is(tc.quirks...), unknown).Start(t), trust.ExtendedAgentCard)
			loggedIn(&job)
			check(t, runJob(t, job), trust.ExtendedAgentCard, tc.want)
		})
	}
	in := card.Interface{URL: &url.URL{Scheme: "https", Host: "agent.test"}}
	for body, want := range map[string]bool{
		`{}`:                                false,
		`{"message":"no route","code":404}`: false,
		`{"name":"a","url":"https://agent.test/a2a"}`: true,
	} {
		var l cardLook
		if l.read(&session{in: in}, []byte(body)); l.card != want {
			t.Errorf("%s taken for a card: %v", body, l.card)
		}
	}
}

// An extended card refused twice demotes at once, and one that is only absent in 0.2 needs more than one round.
func TestExtendedCardInTrust(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gen    agent.Generation
		quirk  string
		rounds int
		state  trust.State
	}{
		"a refusal demotes at once":          {agent.V10, "extended-refused", 1, trust.Demoted},
		"none configured demotes at once":    {agent.V03, "declares-extended", 1, trust.Demoted},
		"nothing there does not":             {agent.V02, "declares-extended", 1, trust.Unverified},
		"nothing there again and again does": {agent.V02, "declares-extended", 2, trust.Demoted},
		"an undeclared one is never trusted": {agent.V10, "extended-unsaid", 2, trust.Unverified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, with(tc.gen, tc.quirk).Start(t), trust.ExtendedAgentCard)
			loggedIn(&job)
			p, _ := verdict(t, job, tc.rounds)
			expectState(t, p, trust.ExtendedAgentCard, tc.state, "")
		})
	}
}

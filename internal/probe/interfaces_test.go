package probe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// declare is one interface of a card.
func declare(url, binding, version string) string {
	return fmt.Sprintf(`{"url":%q,"protocolBinding":%q,"protocolVersion":%q}`, url, binding, version)
}

// declaring makes an agent's card name these interfaces, in this order.
func declaring(list ...string) agent.Option {
	return agent.With(func(c *agent.Config) { c.Card.Interfaces = json.RawMessage("[" + strings.Join(list, ",") + "]") })
}

// nowhere is an address on the peer's own host where nothing of A2A is.
func nowhere(base string) string { return base + "/nothing/here" }

func TestEveryDeclaredInterfaceIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		// list is what the card declares; good is the honest agent's endpoint, old an endpoint of 0.3.
		list func(good, old string) []string
		// states that are expected, in order, with the reason after a colon where there is one.
		states []string
		warns  []card.Warning
	}{
		{
			name:   "one that answers",
			list:   func(good, _ string) []string { return []string{declare(good, "JSONRPC", "1.0")} },
			states: []string{"Used"},
		},
		{
			name: "two that answer",
			list: func(good, old string) []string {
				return []string{declare(good, "JSONRPC", "1.0"), declare(old, "JSONRPC", "0.3")}
			},
			states: []string{"Used", "Reachable"},
		},
		{
			name: "the preferred one is dead",
			list: func(good, _ string) []string {
				return []string{declare(nowhere(good), "JSONRPC", "1.0"), declare(good, "JSONRPC", "1.0")}
			},
			states: []string{"Unreachable:EndpointNotFound", "Used"},
			warns:  []card.Warning{card.InterfaceUnreachable},
		},
		{
			name: "another one is dead",
			list: func(good, _ string) []string {
				return []string{declare(good, "JSONRPC", "1.0"), declare(nowhere(good), "JSONRPC", "1.0")}
			},
			states: []string{"Used", "Unreachable:EndpointNotFound"},
			warns:  []card.Warning{card.InterfaceUnreachable},
		},
		{
			name: "the preferred one speaks another generation",
			list: func(good, old string) []string {
				return []string{declare(old, "JSONRPC", "1.0"), declare(good, "JSONRPC", "1.0")}
			},
			states: []string{"Mismatch:ProtocolGenerationMismatch", "Used"},
			warns:  []card.Warning{card.InterfaceMismatch},
		},
		{
			name: "another one speaks another generation",
			list: func(good, old string) []string {
				return []string{declare(good, "JSONRPC", "1.0"), declare(old, "JSONRPC", "1.0")}
			},
			states: []string{"Used", "Mismatch:ProtocolGenerationMismatch"},
			warns:  []card.Warning{card.InterfaceMismatch},
		},
		{
			name: "of another origin, and of a binding of its own",
			list: func(good, _ string) []string {
				return []string{declare(good, "JSONRPC", "1.0"), declare("http://other.example/a2a", "JSONRPC", "1.0"), declare(good, "https://b.example/own", "1.0")}
			},
			states: []string{"Used", "NotAllowed:OriginNotAllowed", "NotSpoken:NoUsableInterface"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, old := with(agent.V10), with(agent.V03)
			base, oldBase := a.Start(t), old.Start(t)
			a.Set(declaring(tc.list(base+"/a2a", oldBase+"/a2a")...))
			job := jobFor(t, base, trust.Streaming)
			job.Interfaces = true
			job.Target.AllowedOrigins = []string{oldBase}

			rep := runJob(t, job)

			check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
			var states []string
			for _, in := range rep.Interfaces {
				s := string(in.State)
				if in.Reason != "" {
					s += ":" + string(in.Reason)
				}
				states = append(states, s)
			}
			if !slices.Equal(states, tc.states) {
				t.Errorf("states %q, want %q", states, tc.states)
			}
			var warns []card.Warning
			for _, w := range rep.CardWarnings {
				if w == card.InterfaceUnreachable || w == card.InterfaceMismatch {
					warns = append(warns, w)
				}
			}
			if !slices.Equal(warns, tc.warns) {
				t.Errorf("warnings %q, want %q", warns, tc.warns)
			}
			if rep.Round.Tasks != 1 {
				t.Errorf("%d tasks, want the stream's own: looking at interfaces costs none", rep.Round.Tasks)
			}
			if rep.Interface == nil || rep.Interface.URL.String() != base+"/a2a" {
				t.Errorf("used %v, want the good one", rep.Interface)
			}
		})
	}
}

// The other interfaces are asked with the rounds that say so and when the card's claims are new, not each time.
func TestOtherInterfacesAreAskedOnlyByRoundsThatSaySo(t *testing.T) {
	t.Parallel()
	a := with(agent.V10)
	base := a.Start(t)
	a.Set(declaring(declare(base+"/a2a", "JSONRPC", "1.0"), declare(nowhere(base), "JSONRPC", "1.0")))
	job := jobFor(t, base, trust.Streaming)
	job.KnownDigest = runJob(t, job).Round.Claims.Digest

	rep := runJob(t, job)

	if got := rep.Interfaces[1]; got.State != InterfaceUnknown || got.Reason != "" {
		t.Errorf("the second interface is %s %s, want it left alone", got.State, got.Reason)
	}
}

// A hundred interfaces are no hundred questions.
func TestACardOfManyInterfacesIsBounded(t *testing.T) {
	t.Parallel()
	a := with(agent.V10)
	base := a.Start(t)
	list := []string{declare(base+"/a2a", "JSONRPC", "1.0")}
	for i := range 30 {
		list = append(list, declare(fmt.Sprintf("%s/nothing/%d", base, i), "JSONRPC", "1.0"))
	}
	a.Set(declaring(list...))
	job := jobFor(t, base, trust.Streaming)
	job.Interfaces = true

	rep := runJob(t, job)

	if len(rep.Interfaces) != MaxInterfaces {
		t.Errorf("%d interfaces reported, want %d", len(rep.Interfaces), MaxInterfaces)
	}
}

// A refusal of one interface charges Streaming only where it was the last that could be asked (design 3; C35, C37, C38 stay as they are).
func TestARefusalIsChargedOnlyWhereNothingGoodIsLeft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		list    func(good, old string) []string
		charged bool
		reach   trust.Reason
	}{
		{"all refuse", func(_, old string) []string {
			return []string{declare(old, "JSONRPC", "1.0"), declare(old+"/", "JSONRPC", "1.0")}
		}, true, trust.ReasonProtocolGenerationMismatch},
		{"the other one is dead", func(good, old string) []string {
			return []string{declare(old, "JSONRPC", "1.0"), declare(nowhere(good), "JSONRPC", "1.0")}
		}, false, trust.ReasonEndpointNotFound},
		{"the other one is of a binding that is not spoken here", func(_, old string) []string {
			return []string{declare(old, "JSONRPC", "1.0"), declare(old, "https://b.example/own", "1.0")}
		}, false, trust.ReasonNoUsableInterface},
		{"the other one is of an origin that is not allowed", func(_, old string) []string {
			return []string{declare("http://other.example/a2a", "JSONRPC", "1.0"), declare(old, "JSONRPC", "1.0")}
		}, false, trust.ReasonNoUsableInterface},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, old := with(agent.V10), with(agent.V03)
			base, oldBase := a.Start(t), old.Start(t)
			a.Set(declaring(tc.list(base+"/a2a", oldBase+"/a2a")...))
			job := jobFor(t, base, trust.Streaming)
			job.Target.AllowedOrigins = []string{oldBase}

			rep := Run(t.Context(), Env{Egress: agent.Loopback()}, job)

			o, charged := find(rep, trust.Streaming)
			if charged != tc.charged || charged && (o.Outcome != trust.Diverged || o.Reason != trust.ReasonProtocolGenerationMismatch) {
				t.Errorf("charged %v (%s %s), want %v", charged, o.Outcome, o.Reason, tc.charged)
			}
			if rep.Round.Reach.Reason != tc.reach {
				t.Errorf("reach: %s %s, want %s", rep.Round.Reach.Reason, rep.Round.Reach.Message, tc.reach)
			}
		})
	}
}

// An endpoint that finds fault with empty params before it looks at the method's name seems to know every method. That the single-shot send
// is refused with the very same error tells that it is no matter of streams.
func TestAMethodThatIsUnknownAlikeOnBothPathsIsNoRefusedStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		agent  *agent.Agent
		reason trust.Reason
	}{
		{"another generation", agent.New(agent.Speaks(agent.V10), agent.Is("card-03-wire-10", "params-first")), trust.ReasonProtocolGenerationMismatch},
		{"no A2A at all", agent.New(agent.Is("mcp", "params-first")), trust.ReasonMethodNotFound},
		{"no streams", agent.New(agent.Is("stream-unknown", "params-first")), trust.ReasonStreamingRefused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rep := runJob(t, jobFor(t, tc.agent.Start(t), trust.Streaming))
			if o := check(t, rep, trust.Streaming, expectation{outcome: trust.Diverged, reason: tc.reason}); !o.Confirmed {
				t.Errorf("not confirmed: %s", o.Message)
			}
			if usable := tc.reason == trust.ReasonStreamingRefused; rep.Round.Usable != usable {
				t.Errorf("usable %v, want %v", rep.Round.Usable, usable)
			}
		})
	}
}

// What a redirect leads to is not what the card names, and is not asked.
func TestARedirectToAnotherGenerationAccusesNobody(t *testing.T) {
	t.Parallel()
	for _, quirks := range [][]string{{"posts-307", "card-03-wire-10"}, {"posts-307", "card-03-wire-10", "params-first"}, {"posts-307", "mcp"}} {
		t.Run(strings.Join(quirks, " "), func(t *testing.T) {
			t.Parallel()
			rep := Run(t.Context(), Env{Egress: agent.Loopback()}, jobFor(t, agent.New(agent.Is(quirks...)).Start(t), trust.Streaming))
			check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonEndpointRedirects})
		})
	}
}

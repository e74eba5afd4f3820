package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// Honest are the peers that must never be demoted: scripted agents with every oddity that is legal, and released SDKs on paths that are.
func Honest() []Peer { return append(odd(), released()...) }

// odd are the scripted ones (wire reference 12, design 4.3).
func odd() []Peer {
	var all []Peer
	add := func(p Peer, quirks string, gens ...agent.Generation) {
		for _, g := range gens {
			q := p
			q.Name = string(g) + " " + strings.TrimSpace(p.Name+" "+quirks)
			q.Agent = append([]agent.Option{agent.Speaks(g), agent.Is(strings.Fields(quirks)...)}, p.Agent...)
			all = append(all, q)
		}
	}
	slow := func(work time.Duration) Peer {
		return Peer{Name: "at work for " + (work * Scale).String(), Work: work, Agent: []agent.Option{agent.Latency(time.Millisecond, work)}}
	}
	think := func(silence time.Duration) Peer {
		return Peer{Name: "silent for " + (silence * Scale).String(), Work: silence,
			Agent: []agent.Option{agent.With(func(c *agent.Config) { c.Script.Think = agent.Duration(silence) })}}
	}
	fails := func(share float64, as string) Peer {
		return Peer{Name: fmt.Sprintf("executor fails %g times in a hundred %s", 100*share, as), Troubled: share > 0.05, Agent: []agent.Option{agent.With(func(c *agent.Config) {
			c.Script.FailShare, c.Script.FailAs = share, as
		})}}
	}
	undeclares := func(p Peer) Peer {
		p.Name += " and a deploy that ends streaming"
		p.Next = []agent.Option{agent.Is("streaming-false")}
		return p
	}
	ms := time.Millisecond

	add(Peer{Name: "plain"}, "", agent.V10, agent.V03, agent.V02, agent.V01)
	add(undeclares(slow(1500*ms)), "", agent.V10)
	add(undeclares(Peer{}), "", agent.V03)
	add(slow(2500*ms), "", agent.V03, agent.V10)
	add(slow(700*ms), "lagging-store", agent.V10)
	add(think(1000*ms), "", agent.V10, agent.V01)
	add(think(2500*ms), "keep-alive", agent.V03)
	add(think(3500*ms), "", agent.V10)
	add(fails(0.01, ""), "", agent.V10)
	add(fails(0.1, ""), "", agent.V03)
	add(fails(0.3, ""), "", agent.V10)
	add(fails(0.3, "failed"), "", agent.V03)
	add(Peer{}, "messages", agent.V10)
	add(Peer{}, "skips", agent.V03)
	add(Peer{}, "no-submitted", agent.V10)
	add(Peer{}, "always-asks", agent.V10)
	add(Peer{}, "always-asks hold-interrupted", agent.V03)
	add(Peer{}, "wants-auth", agent.V10)
	add(Peer{}, "rejects", agent.V03)
	add(Peer{}, "needs-data", agent.V10)
	add(Peer{}, "follow-up-unpromised", agent.V10, agent.V03)
	add(Peer{}, "follow-up-early follow-up-context", agent.V03)
	add(Peer{}, "follow-up-message", agent.V10)
	add(Peer{}, "follow-up-rewritten", agent.V10)
	add(Peer{}, "late-canceled-frame", agent.V10)
	add(Peer{}, "no-canceled-frame", agent.V03)
	add(Peer{}, "cancel-later", agent.V10)
	add(Peer{}, "cancel-not-now", agent.V03)
	add(Peer{}, "cancel-never", agent.V10)
	add(Peer{}, "cancel-slow", agent.V01)
	add(Peer{}, "ugly-sse crlf", agent.V10)
	add(Peer{}, "hold-terminal last-snapshot repeats-end", agent.V03)
	add(Peer{}, "one-task no-etag", agent.V10)
	add(Peer{}, "status-first unterminated vendor-members", agent.V10)
	add(slow(900*ms), "buffered", agent.V03)
	add(slow(900*ms), "held-back", agent.V10)
	add(Peer{}, "late-headers", agent.V10)
	add(Peer{}, "purges masked-errors", agent.V03)
	add(slow(900*ms), "stale-store", agent.V10)
	add(slow(900*ms), "replicas", agent.V10)
	add(Peer{}, "live-stamps slow-get", agent.V10)
	add(slow(900*ms), "zone-clock", agent.V10)
	add(slow(900*ms), "stopped-clock", agent.V03)
	add(Peer{}, "no-timestamps numeric-states", agent.V10)
	add(Peer{}, "plain-text errors-are-400", agent.V03)
	add(Peer{}, "send-at-once bare-result", agent.V10)
	add(Peer{}, "get-unknown", agent.V10)
	add(Peer{}, "undeclared-streams", agent.V10)
	add(Peer{}, "speaks-10-and-03 union-card", agent.V10)
	add(Peer{}, "hang-up-fails", agent.V10)
	add(Peer{}, "fails-often", agent.V10)
	add(Peer{}, "error-after-two", agent.V03)
	add(Peer{}, "push", agent.V10, agent.V03)
	add(Peer{}, "push-twice push-late", agent.V10)
	add(Peer{}, "push-early", agent.V03)
	add(Peer{}, "push-no-id", agent.V10)
	add(Peer{}, "push-private", agent.V10)
	add(Peer{}, "push-end-only push-new-header", agent.V03)
	add(Peer{}, "rest", agent.V10, agent.V03)
	add(slow(1500*ms), "rest rest-problem-details rest-old-status", agent.V10)
	add(fails(0.1, ""), "rest", agent.V10)
	add(Peer{}, "rest-first rest-created", agent.V03)
	add(Peer{}, "grpc-only", agent.V10, agent.V03)
	add(slow(1500*ms), "grpc-first", agent.V10)
	add(fails(0.1, ""), "grpc-only", agent.V03)
	add(Peer{}, "ids-per-event", agent.V10)
	add(Peer{}, "ids-per-answer", agent.V03)
	for i := range all {
		if strings.Contains(all[i].Name, "fails-often") || strings.Contains(all[i].Name, "error-after") || strings.Contains(all[i].Name, "late-headers") ||
			strings.Contains(all[i].Name, "ids-per-") {
			all[i].Troubled = true
		}
	}
	return all
}

// successor is what a deploy of each SDK's server brings: the next release, which speaks another generation.
var successor = map[string]string{"a2a-go-0.3.15": "a2a-go-2.3.1", "a2a-js-0.2.5": "a2a-js-0.3.13", "a2a-js-0.3.13": "a2a-js-1.3.0"}

// muteSDK accepts webhooks and has nothing to call them with.
const muteSDK = "a2a-js-0.2.5"

// released are the real servers, unchanged, each on every kind of path.
func released() []Peer {
	paths := []struct {
		name     string
		path     proxy.Fault
		troubled bool
	}{
		{name: "as it is"},
		{name: "behind a buffer", path: proxy.Fault{Buffer: 10 * time.Second}},
		{name: "behind a gateway that renames tasks", path: proxy.Fault{Rewrite: proxy.Once}},
		{name: "behind a proxy that is late", path: proxy.Fault{Hold: 150 * time.Millisecond}},
		{name: "behind a proxy whose clock is off", path: proxy.Fault{DateOff: -3 * time.Hour}},
		{name: "two replicas that share nothing", path: proxy.Fault{Replicas: proxy.ByRequest}, troubled: true},
		{name: "with an executor that fails one time in ten", path: proxy.Fault{Fail: 0.1}, troubled: true},
	}
	var all []Peer
	for _, s := range sdk.Peers() {
		for _, p := range paths {
			all = append(all, Peer{Name: s.Name + " " + p.name, SDK: s.Name, Path: p.path, Troubled: p.troubled})
		}
		if next := successor[s.Name]; next != "" {
			all = append(all, Peer{Name: s.Name + " and a deploy of " + next, SDK: s.Name, NextSDK: next})
		}
	}
	for _, s := range sdk.OtherBindings() {
		for _, p := range paths {
			if s.Binding == "GRPC" && p.path.Rewrite != "" {
				continue // gateways of this proxy rewrite JSON
			}
			all = append(all, Peer{Name: s.Name + " " + p.name, SDK: s.Name, Path: p.path, Troubled: p.troubled})
		}
	}
	for i := range all {
		if strings.HasPrefix(all[i].Name, muteSDK) {
			all[i].Really = trust.ReasonPushNotDelivered
		}
	}
	return all
}

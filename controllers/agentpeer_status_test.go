package controllers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestWhatIsKnownOfAPeerSurvivesStatus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawPeer(t)
		var status trustv1alpha1.AgentPeerStatus
		writeMemory(&status, want)

		raw, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		var read trustv1alpha1.AgentPeerStatus
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, readMemory(&read)); diff != "" {
			t.Fatalf("status lost or changed something (-known +read back):\n%s", diff)
		}
	})
}

func TestAStatusOfTheWorstPeerStaysBelow16KB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPeer(t)
		for i := range p.Records {
			r := &p.Records[i]
			r.State, r.LastOutcome, r.LastReason = trust.Demoted, trust.Diverged, trust.ReasonStreamEmpty
			r.Message = strings.Repeat("\x01<é>", 200)
			r.Observed = slices.Repeat([]string{strings.Repeat("<", 100)}, 40)
			r.ProbedWith = slices.Repeat([]string{strings.Repeat("k", 63)}, 16)
			r.Rule = strings.Repeat("&", 90)
		}
		s := trustv1alpha1.AgentPeerStatus{Card: &trustv1alpha1.CardStatus{
			Skills: slices.Repeat([]trustv1alpha1.CardSkill{{
				ID: strings.Repeat("s", 71), InputModes: slices.Repeat([]string{strings.Repeat("m", 127)}, 8)}}, 16)}}
		writeMemory(&s, p)
		s = bounded(s)
		if n := size(s); n > maxStatus {
			t.Fatalf("status has %d bytes, want at most %d", n, maxStatus)
		}
		if diff := cmp.Diff(judgedBy(p), judgedBy(readMemory(&s))); diff != "" {
			t.Fatalf("cutting evidence changed what trust rests on (-known +read back):\n%s", diff)
		}
	})
}

// judgedBy is a peer without evidence for people and without what was held under other claims.
func judgedBy(p trust.Peer) trust.Peer {
	p.Records = slices.Clone(p.Records)
	for i := range p.Records {
		r := &p.Records[i]
		r.Message, r.Observed, r.ProbedWith, r.Rule = "", nil, nil, ""
	}
	p.Digests = nil
	return p
}

var (
	epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

	drawTime = rapid.Custom(func(t *rapid.T) time.Time {
		if n := rapid.IntRange(0, 1_000_000).Draw(t, "seconds"); n > 0 {
			return epoch.Add(time.Duration(n) * time.Second)
		}
		return time.Time{}
	})
	drawCount  = rapid.IntRange(0, 1000)
	drawReason = rapid.SampledFrom([]trust.Reason{"", trust.ReasonHonored, trust.ReasonStreamEmpty, trust.ReasonNoFixture, trust.ReasonAgentFlaky})
	drawState  = rapid.SampledFrom([]trust.State{trust.Unverified, trust.Trusted, trust.Demoted})
	drawText   = rapid.StringN(1, 256, -1).Filter(func(s string) bool { return strings.ToValidUTF8(s, "") == s })
	drawDigest = rapid.Custom(func(t *rapid.T) string { return "sha256:" + rapid.StringMatching("[0-9a-f]{64}").Draw(t, "hex") })
	allNames   = []trust.Capability{trust.Cancellation, trust.Continuation, trust.ExtendedAgentCard, trust.InputModes, trust.Lifecycle,
		trust.PushNotifications, trust.Resubscription, trust.StateTransitionHistory, trust.Streaming, trust.TaskRetrieval}
)

// drawPeer draws a peer as the trust machine leaves it: times in whole seconds, lists within their bounds.
func drawPeer(t *rapid.T) trust.Peer {
	p := trust.Peer{Target: rapid.StringMatching("https://[a-z]{1,9}/").Draw(t, "target")}
	if rapid.Bool().Draw(t, "card") {
		p.Claims = trust.Claims{Digest: drawDigest.Draw(t, "digest"), Legacy: rapid.Bool().Draw(t, "legacy"),
			NoCapabilities: rapid.Bool().Draw(t, "none"), Declared: map[trust.Capability]trust.Declaration{}}
		for _, c := range cardDeclares {
			p.Claims.Declared[c] = rapid.SampledFrom([]trust.Declaration{trust.Declared, trust.NotDeclared}).Draw(t, "declared")
		}
		p.ClaimsSince = drawTime.Draw(t, "since")
		for range rapid.IntRange(0, maxSets).Draw(t, "sets") {
			p.Digests = append(p.Digests, drawClaimSet(t))
		}
	}
	if rapid.Bool().Draw(t, "signature") {
		p.Signature = trust.Signature{
			Result: rapid.SampledFrom([]trust.SignatureResult{trust.SignatureVerified, trust.SignatureInvalid}).Draw(t, "result"),
			Reason: trust.ReasonSignatureAlgorithmNotAllowed, Variant: rapid.SampledFrom([]string{"", trust.EmptiesDropped}).Draw(t, "variant"),
			Partial: rapid.Bool().Draw(t, "partial"), KeyID: rapid.StringMatching("[a-z]{71}").Draw(t, "key"), Algorithm: "ES256",
			KeysDigest: drawDigest.Draw(t, "keys"), Time: drawTime.Draw(t, "found"), Expiration: drawTime.Draw(t, "until")}
	}
	for _, name := range allNames {
		if rapid.Bool().Draw(t, "has "+string(name)) {
			p.Records = append(p.Records, drawRecord(t, name))
		}
	}
	if p.Rounds = drawRounds(t); p.Rounds.Last == 0 {
		p.Rounds = trust.Rounds{}
	}
	return p
}

func drawClaimSet(t *rapid.T) trust.Digest {
	d := trust.Digest{Digest: drawDigest.Draw(t, "digest"), FirstSeen: drawTime.Draw(t, "first"), LastSeen: drawTime.Draw(t, "last")}
	for _, name := range allNames {
		if rapid.Bool().Draw(t, "held") {
			d.Held = append(d.Held, trust.Held{Capability: name, State: drawState.Draw(t, "state"), Expiration: drawTime.Draw(t, "expiration")})
		}
	}
	return d
}

func drawRecord(t *rapid.T, name trust.Capability) trust.Record {
	r := trust.Record{
		Capability: name, State: drawState.Draw(t, "state"), Reason: drawReason.Draw(t, "reason"),
		LastTime: drawTime.Draw(t, "last"), Transition: drawTime.Draw(t, "transition"), Expiration: drawTime.Draw(t, "expiration"),
		NextProbe: drawTime.Draw(t, "next"), DemotedUntil: drawTime.Draw(t, "until"), GoodSince: drawTime.Draw(t, "good"),
		Honored: drawTime.Draw(t, "honored"), Source: rapid.SampledFrom([]trust.Source{"", trust.SourceReport}).Draw(t, "source"),
		Reports:   trust.Reports{Reporters: rapid.IntRange(0, 32).Draw(t, "reporters"), Newest: drawTime.Draw(t, "newest"), Lifted: drawTime.Draw(t, "lifted")},
		Demotions: drawCount.Draw(t, "demotions"), Clean: drawCount.Draw(t, "clean"), Relapsed: rapid.Bool().Draw(t, "relapsed"),
	}
	if !name.Core() {
		r.Declared = rapid.SampledFrom([]trust.Declaration{trust.Declared, trust.NotDeclared}).Draw(t, "declared")
	}
	if r.LastOutcome = rapid.SampledFrom([]trust.Outcome{"", trust.Honored, trust.Diverged, trust.Inconclusive}).Draw(t, "outcome"); r.LastOutcome != "" {
		r.LastReason = drawReason.Filter(func(r trust.Reason) bool { return r != "" }).Draw(t, "last reason")
	}
	if name == trust.PushNotifications && rapid.Bool().Draw(t, "delivered") {
		r.DeliveredTo = "0123456789abcdef"
	}
	for range rapid.IntRange(0, 3).Draw(t, "warnings") {
		r.Warnings = append(r.Warnings, trust.ReasonStreamInterrupted)
	}
	for range rapid.IntRange(0, maxRecent).Draw(t, "recent") {
		r.Recent = append(r.Recent, drawResult(t))
	}
	if speaksOf(r) {
		r.Message, r.Rule = drawText.Draw(t, "message"), "C01"
		r.Observed, r.ProbedWith = []string{"working@12ms", "end@310ms"}, []string{"tenant"}
	}
	if rapid.Bool().Draw(t, "pairs") {
		r.Pairs = trust.Pairs{Since: drawTime.Draw(t, "since"), LastDiscordant: drawTime.Draw(t, "discordant"),
			Score: rapid.IntRange(-5000, 5000).Draw(t, "score"), StreamOnly: drawCount.Draw(t, "a"), ControlOnly: drawCount.Draw(t, "b"),
			Both: drawCount.Draw(t, "c"), Neither: drawCount.Draw(t, "d"), Alone: rapid.Bool().Draw(t, "alone")}
	}
	return r
}

func drawResult(t *rapid.T) trust.Result {
	r := trust.Result{Outcome: trust.Honored, ControlFailed: rapid.Bool().Draw(t, "control")}
	if rapid.Bool().Draw(t, "diverged") {
		r.Outcome, r.Reason, r.Time = trust.Diverged, drawReason.Draw(t, "reason"), drawTime.Draw(t, "time")
		r.Unexcused = rapid.Bool().Draw(t, "unexcused")
	}
	return r
}

func drawRounds(t *rapid.T) trust.Rounds {
	r := trust.Rounds{
		Last: int64(drawCount.Draw(t, "last")), LastTime: drawTime.Draw(t, "time"), LastBehavior: drawTime.Draw(t, "behavior"),
		LastCheap: drawTime.Draw(t, "cheap"), ReachReason: drawReason.Draw(t, "reach"), ReachFailures: drawCount.Draw(t, "failures"),
		ReachableSince: drawTime.Draw(t, "since"), MessageOnly: drawCount.Draw(t, "message only"), Usable: rapid.Bool().Draw(t, "usable"),
		UsableReason: drawReason.Draw(t, "why"), Behaviors: int64(drawCount.Draw(t, "behaviors")),
		ControlFailedAt: int64(drawCount.Draw(t, "control")),
	}
	for range rapid.IntRange(0, maxHours).Draw(t, "hours") {
		r.Tasks = append(r.Tasks, rapid.IntRange(0, 9).Draw(t, "tasks"))
	}
	if len(r.Tasks) > 0 { // the hours end with one that has a task
		r.Tasks[len(r.Tasks)-1]++
		r.TasksHour = epoch
		r.RequestedTasks = slices.Clone(r.Tasks)
	}
	return r
}

package controllers

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// steady is a healthy peer between two rounds.
func steady(b *testing.B) facts {
	ask := []trust.Capability{trust.Lifecycle, trust.Streaming, trust.TaskRetrieval}
	f := facts{
		peer:      &trustv1alpha1.AgentPeer{Spec: trustv1alpha1.AgentPeerSpec{URL: "https://planner.example.com/"}},
		settings:  effective(&trustv1alpha1.AgentPeerSpec{}, DefaultConfig()),
		target:    probe.Target{ID: "https://planner.example.com/"},
		questions: questions{ask: ask, cost: map[trust.Capability]int{trust.Streaming: 2}, control: 1},
		now:       epoch,
	}
	f.peer.UID, f.peer.Generation = types.UID("0d7a"), 1
	f.report = &probe.Report{Target: f.target.ID, Generation: 1, Round: trust.Round{
		Number: 1, Kind: trust.Behavior, Started: epoch, Finished: epoch, Usable: true, Asked: ask, Tasks: 2,
		Reach:  trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored},
		Claims: trust.Claims{Digest: digestA, Declared: map[trust.Capability]trust.Declaration{trust.Streaming: trust.Declared}},
	}}
	for _, c := range ask {
		f.report.Round.Observations = append(f.report.Round.Observations,
			trust.Observation{Capability: c, Outcome: trust.Honored, Reason: trust.ReasonHonored})
	}
	v := judge(f)
	if !v.write || v.status.Decision.Path != trustv1alpha1.PathStreaming {
		b.Fatalf("the peer is not healthy: %+v", v.status.Decision)
	}
	f.peer.Status, f.known, f.report, f.now = v.status, v.known, nil, epoch.Add(time.Minute)
	return f
}

// BenchmarkJudge is what one reconciliation costs beside the API server, when nothing changed.
func BenchmarkJudge(b *testing.B) {
	f := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		if v := judge(f); v.write {
			b.Fatal("a write although nothing changed")
		}
	}
}

// BenchmarkApply is what encoding a status costs.
func BenchmarkApply(b *testing.B) {
	f := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(newStatusApply(f.peer, f.peer.Status)); err != nil {
			b.Fatal(err)
		}
	}
}

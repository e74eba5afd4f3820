package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestWhenManyPeersTurnLiarsAlikeWeSuspectOurselves_CaseC88(t *testing.T) { // design 4.8
	s := newStage(t)
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("peer-%d", i))
		s.peer(names[i])
		s.settle(names[i])
	}
	s.told()
	for _, name := range names {
		s.play(name, s.liar)
	}

	for range 12 { // an hour, all of them in step
		s.clock.SetTime(s.clock.Now().Add(15 * time.Minute))
		for _, name := range names {
			s.settle(name)
		}
	}

	demoted := 0
	for _, name := range names {
		if capability(s.get(name), trust.Streaming).State == "Demoted" {
			demoted++
		}
		s.wantKStatus(name, kstatus.CurrentStatus)
	}
	if demoted != 0 {
		t.Errorf("%d of 6 peers were demoted for what all of them show at once, want none", demoted)
	}
	if got := s.figure("agentpeer_rounds_total", "outcome", roundWithheld); got == 0 {
		t.Error("no round was withheld")
	}
	if got := s.figure("agentpeer_fuse_blown"); got != 1 {
		t.Errorf("agentpeer_fuse_blown is %v, want 1", got)
	}
}

func TestAnOutageOfOursAccusesNobodyAndExpiryRunsOn_CaseC88(t *testing.T) { // design 4.8, case C88
	s := newStage(t)
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("peer-%d", i))
		s.peer(names[i])
		s.settle(names[i])
	}
	s.told()
	for _, name := range names {
		s.play(name, func(ctx context.Context, job probe.Job) probe.Report { return s.silent(ctx, job) })
	}

	for range 60 { // five hours
		s.clock.SetTime(s.clock.Now().Add(5 * time.Minute))
		for _, name := range names {
			s.settle(name)
		}
	}

	for _, name := range names {
		s.wantState(name, trust.Streaming, trust.Unverified)
	}
	if got := s.figure("agentpeer_demotions_total"); got != 0 {
		t.Errorf("%v demotions, want none", got)
	}
}

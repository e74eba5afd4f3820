package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
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

// A tenant makes agents, and so origins, for nothing: what they show holds back what is found of that tenant's agents, and of nobody else's.
func TestSecurityTenantsDoNotHoldBackTheRoundsOfOthers(t *testing.T) {
	s := newStage(t)
	own, evil := s.namespace, s.server.Namespace(t)
	as := func(namespace string, do func(name string), names ...string) {
		s.namespace = namespace
		for _, name := range names {
			do(name)
		}
		s.namespace = own
	}
	victims, evils := []string{"honest", "liar"}, []string{"evil-0", "evil-1", "evil-2"}
	settle := func(name string) { s.settle(name) }
	as(own, func(name string) { s.peer(name); s.settle(name) }, victims...)
	as(evil, func(name string) {
		s.peer(name, func(p *trustv1alpha1.AgentPeer) { p.Spec.Trust.Duration = duration(168 * time.Hour) })
		s.settle(name)
	}, evils...)
	s.play("liar", s.liar)
	as(evil, func(name string) { s.play(name, s.liar) }, evils...)

	for range 6 * 12 { // six hours
		s.clock.SetTime(s.clock.Now().Add(5 * time.Minute))
		as(evil, settle, evils...)
		as(own, settle, victims...)
	}

	s.wantState("honest", trust.Streaming, trust.Trusted)
	s.wantState("liar", trust.Streaming, trust.Demoted)
	as(evil, func(name string) {
		if got := capability(s.get(name), trust.Streaming).State; got == "Trusted" {
			t.Errorf("%s lies since six hours in company and is still trusted", name)
		}
	}, evils...)
	if all := s.figure("agentpeer_fuse_blown", "scope", "All"); all != 0 {
		t.Error("one namespace holds back everybody's rounds")
	}
	if got := s.figure("agentpeer_rounds_total", "outcome", roundWithheld); got == 0 {
		t.Error("no round of the liars was withheld, so this proves nothing")
	}
}

// What never worked cannot turn: a path without a card at other people's addresses is no outage.
func TestSecurityTenantsDoNotBlowTheFuseWithPathsThatNeverWorked(t *testing.T) {
	s := newStage(t)
	for i := range 6 {
		name := fmt.Sprintf("peer-%d", i)
		s.peer(name, func(p *trustv1alpha1.AgentPeer) { p.Spec.URL = fmt.Sprintf("https://agent-%d.example.com/", i) })
		s.settle(name)
	}
	for i := range 6 {
		name := fmt.Sprintf("evil-%d", i)
		s.play(name, s.silent)
		s.peer(name, func(p *trustv1alpha1.AgentPeer) {
			p.Spec.URL = fmt.Sprintf("https://agent-%d.example.com/no-card-here", i)
		})
		s.settle(name)
	}
	if got := s.figure("agentpeer_fuse_blown"); got != 0 {
		t.Error("the fuse is blown by what was never reached")
	}
}

// Proof is proof: while the fuse holds back what accuses, a peer that keeps its promises keeps its trust.
func TestAPeerThatKeepsItsPromisesStaysTrustedWhileTheFuseIsBlown(t *testing.T) {
	s := newStage(t)
	names := []string{"honest"}
	for i := range 4 {
		names = append(names, fmt.Sprintf("liar-%d", i))
	}
	for _, name := range names {
		s.peer(name)
		s.settle(name)
	}
	for _, name := range names[1:] {
		s.play(name, s.liar)
	}
	for range 5 * 12 { // longer than trust lasts
		s.clock.SetTime(s.clock.Now().Add(5 * time.Minute))
		for _, name := range names {
			s.settle(name)
		}
		if s.figure("agentpeer_fuse_blown") > 0 {
			s.wantState("honest", trust.Streaming, trust.Trusted)
		}
	}
	s.wantState("honest", trust.Streaming, trust.Trusted)
	if got := s.figure("agentpeer_rounds_total", "outcome", roundWithheld); got == 0 {
		t.Error("no round was withheld, so this proves nothing")
	}
}

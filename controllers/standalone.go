package controllers

import (
	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Standalone yields what a round needs of spec.probes where there is no cluster: the messages, the timing and the policy, with the
// operator's defaults where it is silent and without an operator's floors and ceilings.
func Standalone(p *trustv1alpha1.Probes) (probe.Fixtures, probe.Timing, trust.Policy) {
	s := effective(&trustv1alpha1.AgentPeerSpec{Probes: *p}, Config{Defaults: DefaultConfig().Defaults})
	return fixtures(p), s.timing(probe.DefaultTiming()), s.policy()
}

// Written is what an operator that restarts knows of a peer: as much of its memory as status holds.
func Written(p trust.Peer) trust.Peer {
	var s trustv1alpha1.AgentPeerStatus
	writeMemory(&s, p)
	s = bounded(s)
	return readMemory(&s)
}

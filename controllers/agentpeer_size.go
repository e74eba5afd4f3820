package controllers

import (
	"encoding/json"
	"slices"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// maxStatus is the most bytes of JSON that a status may have.
const maxStatus = 16 << 10

// bounded gives up what is least missed until the status fits: first what only routing wants, then evidence, the longest
// lists first, and last the messages. What trust rests on is never given up; it is bounded by its own counts.
func bounded(s trustv1alpha1.AgentPeerStatus) trustv1alpha1.AgentPeerStatus {
	if worst(s) <= maxStatus {
		return s
	}
	steps := []func(){
		func() { s.Card.Skills = s.Card.Skills[:min(4, len(s.Card.Skills))] },
		func() { eachCapability(&s, func(c *trustv1alpha1.CapabilityStatus) { c.ProbedWith = nil }) },
		func() {
			eachCapability(&s, func(c *trustv1alpha1.CapabilityStatus) { c.Observed = c.Observed[:min(4, len(c.Observed))] })
		},
		func() { s.Card.Skills = nil },
		func() {
			s.Card.Interfaces = slices.Clone(s.Card.Interfaces)
			for i := range s.Card.Interfaces {
				s.Card.Interfaces[i].URL = ""
			}
		},
		func() { s.OrphanedTasks = s.OrphanedTasks[:min(2, len(s.OrphanedTasks))] },
		func() { eachCapability(&s, func(c *trustv1alpha1.CapabilityStatus) { c.Observed = nil }) },
		func() { eachCapability(&s, func(c *trustv1alpha1.CapabilityStatus) { c.Message = cut(c.Message, 80) }) },
		func() { eachCapability(&s, func(c *trustv1alpha1.CapabilityStatus) { c.Message, c.Rule = "", "" }) },
		func() {
			for i := range s.Card.ClaimSets {
				s.Card.ClaimSets[i].Held = nil
			}
		},
	}
	for _, step := range steps {
		if s.Card == nil {
			s.Card = &trustv1alpha1.CardStatus{}
		}
		if size(s) <= maxStatus {
			break
		}
		step()
	}
	if bareCard(s.Card) {
		s.Card = nil
	}
	return s
}

// worst is a quick upper bound of the size of the parts that vary, so that an ordinary status is not encoded just to be
// measured.
func worst(s trustv1alpha1.AgentPeerStatus) int {
	n := 7 << 10 // all that is bounded by its own counts
	for i := range s.Capabilities {
		c := &s.Capabilities[i]
		n += 2*len(c.Message) + len(c.Rule)
		for _, o := range c.Observed {
			n += 2*len(o) + 3
		}
		for _, m := range c.RefusedInputModes {
			n += 2*len(m) + 3
		}
		for _, k := range c.ProbedWith {
			n += len(k) + 3
		}
		n += 120 * len(c.Recent)
	}
	if s.Card != nil {
		for _, skill := range s.Card.Skills {
			n += len(skill.ID) + 40
			for _, m := range skill.InputModes {
				n += 2*len(m) + 3
			}
		}
		for _, in := range s.Card.Interfaces {
			n += 250 + 2*len(in.URL)
		}
		for _, set := range s.Card.ClaimSets {
			n += 200 + 100*len(set.Held)
		}
	}
	return n + 200*len(s.OrphanedTasks)
}

func size(s trustv1alpha1.AgentPeerStatus) int {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0 // what cannot be encoded is refused where it is written
	}
	return len(raw)
}

func eachCapability(s *trustv1alpha1.AgentPeerStatus, f func(*trustv1alpha1.CapabilityStatus)) {
	for i := range s.Capabilities {
		f(&s.Capabilities[i])
	}
}

package card

import "encoding/json"

// skill is a Skill and what only the digest needs of it.
type skill struct {
	Skill
	outputModes []string
}

// skills reads what routing needs of them; one without an id is of no use to anybody.
func (p *parser) skills(raw json.RawMessage) []skill {
	if isNull(raw) {
		return nil
	}
	items, ok := readArray(raw)
	if !ok {
		p.warn.add(SkillsMalformed)
	}
	var list []skill
	for _, item := range items {
		o, ok := p.object(item)
		id, named := readText(o["id"])
		if !ok || !named || id == "" {
			p.warn.add(SkillsMalformed)
			continue
		}
		s := skill{Skill: Skill{ID: Safe(id), InputModes: p.modes(o["inputModes"]), EstimatedDuration: p.estimate(o)}}
		s.outputModes = p.modes(o["outputModes"])
		list = append(list, s)
	}
	return list
}

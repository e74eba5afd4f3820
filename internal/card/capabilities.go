package card

import (
	"encoding/json"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// flags are the capabilities that a card states, as members of the two families of generations name them.
type flags struct {
	streaming, push bool
	history         bool // capabilities.stateTransitionHistory, 0.x
	extendedNew     bool // capabilities.extendedAgentCard, 1.0
	extendedOld     bool // supportsAuthenticatedExtendedCard, 0.2.1 to 0.3
}

// capabilities reads the flags. False, absent and null are one thing (C31); a wrong type counts as not declared (C59), and so does what a
// card says twice and differently: one client reads the first and another the last, so it promises to neither.
func (p *parser) capabilities(top object, twice map[string]bool) (f flags, there bool) {
	f.extendedOld = p.flag(top, twice, "supportsAuthenticatedExtendedCard")
	if !top.present("capabilities") {
		p.warn.add(CapabilitiesMissing)
		return f, false
	}
	caps, torn, ok := p.members(top["capabilities"])
	if twice["capabilities"] {
		return f, true
	}
	if !ok {
		p.warn.add(CapabilityWrongType)
		return f, false
	}
	p.snakeCase(caps, snakeCapabilities)
	f.streaming = p.flag(caps, torn, "streaming")
	f.push = p.flag(caps, torn, "pushNotifications")
	f.history = p.flag(caps, torn, "stateTransitionHistory")
	f.extendedNew = p.flag(caps, torn, "extendedAgentCard")
	return f, true
}

func (p *parser) flag(o object, twice map[string]bool, name string) bool {
	if !o.present(name) || twice[name] {
		return false
	}
	var b bool
	if json.Unmarshal(o[name], &b) != nil {
		p.warn.add(CapabilityWrongType)
		return false
	}
	return b
}

// claims are the four capabilities as a client of one interface reads them: it knows the members of its generation and no
// others.
func (f flags) claims(in Interface) map[trust.Capability]trust.Declaration {
	extended, history := f.extendedNew, false
	switch {
	case in.old():
		extended, history = f.extendedOld, f.history
	case in.Generation() == "":
		extended = f.extendedNew || f.extendedOld
	}
	return map[trust.Capability]trust.Declaration{
		trust.Streaming:              declaration(f.streaming),
		trust.PushNotifications:      declaration(f.push),
		trust.ExtendedAgentCard:      declaration(extended),
		trust.StateTransitionHistory: declaration(history),
	}
}

// declaredBy joins the claims of all interfaces; without one the flags stand for themselves.
func (f flags) declaredBy(list []Interface) map[trust.Capability]trust.Declaration {
	if len(list) == 0 {
		return map[trust.Capability]trust.Declaration{
			trust.Streaming:              declaration(f.streaming),
			trust.PushNotifications:      declaration(f.push),
			trust.ExtendedAgentCard:      declaration(f.extendedNew || f.extendedOld),
			trust.StateTransitionHistory: declaration(f.history),
		}
	}
	joined := f.claims(list[0])
	for _, in := range list[1:] {
		for c, d := range f.claims(in) {
			if d == trust.Declared {
				joined[c] = d
			}
		}
	}
	return joined
}

// historyRemoved says that no interface is of a generation that knows stateTransitionHistory.
func (f flags) historyRemoved(list []Interface) bool {
	for _, in := range list {
		if in.old() {
			return false
		}
	}
	return len(list) > 0
}

func declaration(b bool) trust.Declaration {
	if b {
		return trust.Declared
	}
	return trust.NotDeclared
}

// Claims of the card under the interface in use. The map is the caller's own.
func (c *Card) Claims(in Interface) trust.Claims {
	return trust.Claims{
		Digest:         c.Digest,
		Declared:       c.flags.claims(in),
		Legacy:         in.old(),
		NoCapabilities: in.old() && !c.HasCapabilities,
	}
}

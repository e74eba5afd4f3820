package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// errNotObject holds no byte of the peer on purpose.
var errNotObject = errors.New("parsing card: not a JSON object")

// maxDepth is how deep objects and arrays of a card may stand in each other; what reads them calls itself.
const maxDepth = 512

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads a card. cardURL is where it was found and resolves relative endpoints; it may be nil. The error, the only
// one, says that the bytes are not a JSON object, or are nested deeper than any card has to be; everything else is a warning.
// Parse keeps raw and does not change it; whoever fetched it has bounded its size.
func Parse(raw []byte, cardURL *url.URL) (*Card, error) {
	p := parser{warn: warnings{}, source: cardURL}
	body := raw
	if bytes.HasPrefix(raw, byteOrderMark) {
		p.warn.add(ByteOrderMark)
		body = raw[len(byteOrderMark):]
	}
	if deeper(body, maxDepth) || !json.Valid(body) {
		return nil, errNotObject
	}
	top, twice, ok := p.members(body)
	if !ok {
		return nil, errNotObject
	}
	return p.card(raw, top, twice), nil
}

// parser collects what is odd while the parts of one card are read.
type parser struct {
	warn   warnings
	source *url.URL
}

// object is readObject with its warning.
func (p *parser) object(raw json.RawMessage) (object, bool) {
	o, _, ok := p.members(raw)
	return o, ok
}

// members is readMembers with its warning.
func (p *parser) members(raw json.RawMessage) (object, map[string]bool, bool) {
	o, twice, ok := readMembers(raw)
	if twice != nil {
		p.warn.add(DuplicateMembers)
	}
	return o, twice, ok
}

func (p *parser) card(raw []byte, top object, twice map[string]bool) *Card {
	p.snakeCase(top, snakeTop)
	p.legacyPath()

	interfaces := p.interfaces(top)
	skills := p.skills(top["skills"])
	security := p.security(top)
	c := &Card{
		Raw:                raw,
		Interfaces:         interfaces,
		DefaultInputModes:  p.modes(top["defaultInputModes"]),
		DefaultOutputModes: p.modes(top["defaultOutputModes"]),
		AuthDeclared:       security.asked(),
		Signed:             signed(top["signatures"]),
		spellings:          spellings(top["defaultInputModes"]),
		source:             p.source,
	}
	c.flags, c.HasCapabilities = p.capabilities(top, twice)
	c.Declared = c.flags.declaredBy(interfaces)
	if c.flags.history && c.flags.historyRemoved(interfaces) {
		p.warn.add(HistoryFlagRemoved)
	}
	// The digest is taken before lists are cut: a claim beyond our bounds is a claim all the same.
	c.Digest = digest(c, skills, security)
	p.bound(c, skills)
	c.Warnings = p.warn.sorted()
	return c
}

// bound cuts the lists that a peer can make as long as it likes.
func (p *parser) bound(c *Card, skills []skill) {
	if len(c.Interfaces) > MaxInterfaces {
		c.Interfaces = c.Interfaces[:MaxInterfaces:MaxInterfaces]
		p.warn.add(InterfacesTruncated)
	}
	seen := map[string]bool{}
	for _, s := range skills {
		if seen[s.ID] {
			continue
		}
		if len(c.Skills) == MaxSkills {
			p.warn.add(SkillsTruncated)
			break
		}
		seen[s.ID] = true
		s.InputModes = cut(s.InputModes)
		c.Skills = append(c.Skills, s.Skill)
	}
	c.DefaultInputModes = cut(c.DefaultInputModes)
	c.DefaultOutputModes = cut(c.DefaultOutputModes)
}

func cut(modes []string) []string {
	if len(modes) > MaxModes {
		return modes[:MaxModes:MaxModes]
	}
	return modes
}

// legacyPath warns where the card came from the well-known name of 0.1 and 0.2.
func (p *parser) legacyPath() {
	if p.source != nil && strings.HasSuffix(p.source.Path, "/.well-known/agent.json") {
		p.warn.add(LegacyCardPath)
	}
}

// Members that some servers write in snake case. They are not read: a client that obeys the card's generation does not
// see them.
var (
	snakeTop = []string{
		"default_input_modes", "default_output_modes", "supported_interfaces", "protocol_version", "preferred_transport",
		"additional_interfaces", "security_schemes", "security_requirements", "supports_authenticated_extended_card",
	}
	snakeCapabilities = []string{"push_notifications", "state_transition_history", "extended_agent_card"}
)

func (p *parser) snakeCase(o object, names []string) {
	for _, name := range names {
		if _, there := o[name]; there {
			p.warn.add(SnakeCaseMembers)
		}
	}
}

// signed says whether there is at least one signature.
func signed(raw json.RawMessage) bool {
	list, ok := readArray(raw)
	return ok && len(list) > 0
}

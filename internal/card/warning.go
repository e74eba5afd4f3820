package card

import "slices"

// Warning is something odd about a card that loses nothing.
type Warning string

// The warnings. Each stands in docs/reasons.md.
const (
	LegacyCardPath        Warning = "LegacyCardPath"        // C50: read from /.well-known/agent.json
	CapabilityWrongType   Warning = "CapabilityWrongType"   // C59: a flag that is neither true, false nor null
	CapabilitiesMissing   Warning = "CapabilitiesMissing"   // C57: no capabilities member
	EndpointUnroutable    Warning = "EndpointUnroutable"    // C46: 0.0.0.0, [::], localhost on a remote card
	SchemeDowngrade       Warning = "SchemeDowngrade"       // C47: card over https, endpoint over http
	InsecureEndpoint      Warning = "InsecureEndpoint"      // C108: plain http on a host that is not loopback
	EndpointIsCard        Warning = "EndpointIsCard"        // C54: the endpoint is the card's own address
	RelativeEndpoint      Warning = "RelativeEndpoint"      // C56: resolved against the card's address
	EndpointOriginDiffers Warning = "EndpointOriginDiffers" // C83, C109: another host or port than the card's
	InterfaceMalformed    Warning = "InterfaceMalformed"    // null, a string, no url, a url that is none
	InterfacesTruncated   Warning = "InterfacesTruncated"   // more than MaxInterfaces
	InterfaceUnreachable  Warning = "InterfaceUnreachable"  // nothing answers at one of several interfaces (found by asking, wire reference 7.1)
	InterfaceMismatch     Warning = "InterfaceMismatch"     // an interface answers in another generation or binding than it names (1.0 section 8.3.1)
	SecurityMalformed     Warning = "SecurityMalformed"     // a scheme or requirement that cannot be read
	SkillsMalformed       Warning = "SkillsMalformed"       // a skill without an id, or no object
	SkillsTruncated       Warning = "SkillsTruncated"       // more than MaxSkills
	ModesMalformed        Warning = "ModesMalformed"        // an input or output mode that is no media type
	MixedGenerations      Warning = "MixedGenerations"      // union cards: 0.x and 1.0 members side by side
	DuplicateMembers      Warning = "DuplicateMembers"      // a member named twice; the last one counts, and no capability that is said to be and not to be
	ByteOrderMark         Warning = "ByteOrderMark"         // before the card's JSON
	HistoryFlagRemoved    Warning = "HistoryFlagRemoved"    // stateTransitionHistory on a 1.0-only card
	SnakeCaseMembers      Warning = "SnakeCaseMembers"      // C57: default_input_modes and the like, which are not read
	VersionMissing        Warning = "VersionMissing"        // 1.0 interface without a protocolVersion, or one that is no version
)

// warnings is a set of them.
type warnings map[Warning]bool

func (w warnings) add(x Warning) { w[x] = true }

func (w warnings) sorted() []Warning {
	var list []Warning
	for x := range w {
		list = append(list, x)
	}
	slices.Sort(list)
	return list
}

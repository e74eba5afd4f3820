package card

import (
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Warning is something odd about a card that loses nothing.
type Warning string

// The warnings. Each stands in docs/reasons.md.
const (
	LegacyCardPath        Warning = "LegacyCardPath"        // C50
	CapabilityWrongType   Warning = "CapabilityWrongType"   // C59
	CapabilitiesMissing   Warning = "CapabilitiesMissing"   // C57
	EndpointUnroutable    Warning = "EndpointUnroutable"    // C46: 0.0.0.0, [::], localhost on a remote card
	SchemeDowngrade       Warning = "SchemeDowngrade"       // C47
	InsecureEndpoint      Warning = "InsecureEndpoint"      // C108
	EndpointIsCard        Warning = "EndpointIsCard"        // C54
	RelativeEndpoint      Warning = "RelativeEndpoint"      // C56
	EndpointOriginDiffers Warning = "EndpointOriginDiffers" // C83, C109
	InterfaceMalformed    Warning = "InterfaceMalformed"    // null, a string, no url
	SecurityMalformed     Warning = "SecurityMalformed"
	SkillsMalformed       Warning = "SkillsMalformed"
	SkillsTruncated       Warning = "SkillsTruncated"
	MixedGenerations      Warning = "MixedGenerations" // union cards
	DuplicateMembers      Warning = "DuplicateMembers"
	ByteOrderMark         Warning = "ByteOrderMark"
	HistoryFlagRemoved    Warning = "HistoryFlagRemoved" // stateTransitionHistory on a 1.0-only card
	SnakeCaseMembers      Warning = "SnakeCaseMembers"
	VersionMissing        Warning = "VersionMissing"
)

// Interface is one declared way to reach the peer.
type Interface struct {
	URL     *url.URL
	Binding string // JSONRPC, HTTP+JSON, GRPC, or a URI
	// ProtocolVersion as declared ("1.0", "0.3.0"); empty if the card has none.
	ProtocolVersion string
	Tenant          string
	// Legacy is set for an entry built from 0.x members.
	Legacy bool
}

// Skill is what routing needs of a skill; only skills whose id fits the safe alphabet are kept by name, others by hash.
type Skill struct {
	ID         string
	InputModes []string
	// EstimatedDuration, if the card has one (seconds or ISO 8601); zero if not.
	EstimatedDuration time.Duration
}

// Card is what was read from untrusted bytes.
type Card struct {
	// Raw bytes as served.
	Raw []byte
	// Interfaces in order of preference, duplicates removed by url and binding and version.
	Interfaces []Interface
	// Declared: Streaming, PushNotifications, ExtendedAgentCard, StateTransitionHistory; always all four.
	Declared map[trust.Capability]trust.Declaration
	// HasCapabilities is false where the card has no capabilities member.
	HasCapabilities   bool
	DefaultInputModes []string
	Skills            []Skill
	// AuthDeclared: the card asks for authentication.
	AuthDeclared bool
	// Signed: the card carries signatures (not verified here yet).
	Signed bool
	// Digest of the claims ("sha256:" and hex): interfaces, capabilities, security, modes, skill ids; lists sorted; no
	// signatures, no descriptions.
	Digest   string
	Warnings []Warning
}

// Preference chooses among interfaces. Zero fields mean no preference.
type Preference struct {
	Binding         string
	ProtocolVersion string
	// FromEndpoint takes the URL of the spec instead of the card's (urlFrom: Endpoint).
	FromEndpoint bool
	Endpoint     *url.URL
}

// Parse reads a card. cardURL resolves relative endpoints; it may be nil. The error, the only one, says that the bytes are not a JSON
// object; everything else is a warning.
func Parse(raw []byte, cardURL *url.URL) (*Card, error) { panic("not built") }

// Usable lists the interfaces that we can speak, best first: JSONRPC of generation 1.x, 0.3, 0.2 or 0.1 for now. A preference narrows it.
// why is empty unless the list is.
func (c *Card) Usable(p Preference) (list []Interface, why trust.Reason) { panic("not built") }

// Claims of the card under the interface in use.
func (c *Card) Claims(in Interface) trust.Claims { panic("not built") }

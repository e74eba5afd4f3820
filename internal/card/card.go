package card

import (
	"net/url"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Card is what was read from untrusted bytes.
type Card struct {
	// Raw bytes as served.
	Raw []byte
	// Interfaces in order of preference, at most MaxInterfaces, duplicates removed by url, binding, version and tenant.
	Interfaces []Interface
	// Declared: Streaming, PushNotifications, ExtendedAgentCard, StateTransitionHistory; always all four. A capability is
	// Declared if it is for one interface at least; Claims narrows it to one.
	Declared map[trust.Capability]trust.Declaration
	// HasCapabilities is false where the card has no capabilities member, or one that is not an object.
	HasCapabilities bool
	// DefaultInputModes and DefaultOutputModes are media types in lower case without parameters, in the card's order, at
	// most MaxModes; empty if the card has none that can be read.
	DefaultInputModes, DefaultOutputModes []string
	// Skills in the card's order, at most MaxSkills.
	Skills []Skill
	// AuthDeclared: the card asks for authentication.
	AuthDeclared bool
	// Signed: the card carries signatures (not verified here yet).
	Signed bool
	// Digest of the claims ("sha256:" and hex): interfaces, capabilities, security, modes, skill ids; lists sorted; no
	// signatures, no descriptions.
	Digest string
	// Warnings, sorted, each once.
	Warnings []Warning

	flags     flags
	spellings map[string]Spelling
	source    *url.URL
}

// Interface is one declared way to reach the peer.
type Interface struct {
	// URL is absolute, unless the card's is relative and nobody said where the card came from. It carries neither user
	// nor fragment.
	URL *url.URL
	// Binding is JSONRPC, HTTP+JSON or GRPC, another name that fits the safe alphabet, or the hash of one that does not.
	Binding string
	// ProtocolVersion as declared ("1.0", "0.3.0"); empty if the card has none that can be read.
	ProtocolVersion string
	// Tenant goes into every request to this interface (1.0 §8.3.2) and is peer text: never into status, events or logs.
	Tenant string
	// Legacy is set for an entry built from 0.x members.
	Legacy bool
}

// Skill is what routing needs of a skill.
type Skill struct {
	// ID fits the safe alphabet, or is the hash of one that does not (see Safe).
	ID string
	// InputModes are media types like DefaultInputModes; empty means the card's defaults.
	InputModes []string
	// EstimatedDuration, if the card has one (seconds or ISO 8601) below a day; zero if not.
	EstimatedDuration time.Duration
}

// Bounds of what is kept of a card. The digest covers what was cut, up to 4,096 entries of a list.
const (
	MaxInterfaces = 32
	MaxSkills     = 64
	MaxModes      = 32
)

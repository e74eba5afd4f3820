package probe

import (
	"github.com/agentpeer/agentpeer/internal/wire"
)

// What whoever prepares rounds needs of the wire, without knowing it.
type (
	// Egress is where rounds may connect.
	Egress = wire.Egress
	// OAuth2 is a client of a token endpoint.
	OAuth2 = wire.OAuth2
)

// Why a URL is never asked.
const (
	RefusedAddress   = wire.RefusedAddress
	RefusedPlaintext = wire.RefusedPlaintext
)

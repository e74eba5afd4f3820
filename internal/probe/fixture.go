package probe

import (
	"github.com/agentpeer/agentpeer/internal/wire"
)

// Part of a message, so that whoever writes fixtures need not know the wire.
type Part = wire.Part

package probe

import (
	"net/netip"
	"net/url"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// Part of a message, so that whoever writes fixtures need not know the wire.
type Part = wire.Part

// Refuses tells whether the host of u is an address that rounds with these open ranges would never dial. A name is judged
// only when it is dialled.
func Refuses(u *url.URL, allow []netip.Prefix) bool { return wire.Refuses(u.Hostname(), allow) }

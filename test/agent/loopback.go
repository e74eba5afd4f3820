package agent

import (
	"net/netip"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// Loopback is the egress of an operator that runs with --allow-cidrs=127.0.0.0/8,::1/128 and --allow-http-hosts=127.0.0.1,localhost,::1, as those do that
// probe agents on their own machine.
func Loopback() *wire.Egress {
	e, err := wire.NewEgress(wire.EgressPolicy{
		Allow:          []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		PlaintextHosts: []string{"127.0.0.1", "localhost", "::1"},
	})
	if err != nil {
		panic(err) // constants
	}
	return e
}

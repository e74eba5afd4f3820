package wire

import "net/netip"

// Refuses tells whether host is the literal of an address that a Client with these open ranges would never dial, so that
// it can be said before anything is tried. A name, and any odd spelling of an address, is judged only when it is dialled.
func Refuses(host string, allow []netip.Prefix) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	g, err := newGuard(allow, nil)
	if err != nil {
		return false
	}
	return g.check(ip, false) != nil
}

package serve

import (
	"net"
	"net/netip"
	"sync"
)

// gate takes connections up to a number, and up to a part of that from one source. It hangs up on the others at once: left to wait, they would
// look to whoever called as if nobody was there, and to us as if nobody had called.
type gate struct {
	net.Listener
	most, perSource int
	sourceOf        func(net.Addr) netip.Addr
	turnedAway      func()

	mu   sync.Mutex
	open int
	from map[netip.Addr]int
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := g.sourceOf(c.RemoteAddr())
		if g.enter(source) {
			return &guest{Conn: c, leave: sync.OnceFunc(func() { g.leave(source) })}, nil
		}
		// Counted before anybody can see it.
		g.turnedAway()
		_ = c.Close()
	}
}

func (g *gate) enter(source netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= g.most || g.from[source] >= g.perSource {
		return false
	}
	if g.from == nil {
		g.from = map[netip.Addr]int{}
	}
	g.open++
	g.from[source]++
	return true
}

func (g *gate) leave(source netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if g.from[source]--; g.from[source] == 0 {
		delete(g.from, source)
	}
}

// guest is a connection that was let in.
type guest struct {
	net.Conn
	leave func()
}

func (c *guest) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// networkOf takes as one source an IPv4 address, or the 64 bits of an IPv6 network, of which one host may use every address.
func networkOf(a net.Addr) netip.Addr {
	ip := addressOf(a)
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip
}

// addressOf takes as one source an address.
func addressOf(a net.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

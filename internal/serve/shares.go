package serve

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// shares bounds what one source may have at the same time, so that nobody takes every place.
type shares struct {
	most int

	mu   sync.Mutex
	from map[netip.Addr]int
}

func (s *shares) enter(source netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[source] >= s.most {
		return false
	}
	if s.from == nil {
		s.from = map[netip.Addr]int{}
	}
	s.from[source]++
	return true
}

func (s *shares) leave(source netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[source]--; s.from[source] == 0 {
		delete(s.from, source)
	}
}

// sourceOfRequest is who sent it, as far as the gate can tell.
func sourceOfRequest(req *http.Request) netip.Addr { return sentBy(req, networkOf) }

// neighbourOf is the same on ports that neighbours in the network use (Listen).
func neighbourOf(req *http.Request) netip.Addr { return sentBy(req, addressOf) }

func sentBy(req *http.Request, sourceOf func(net.Addr) netip.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return sourceOf(net.TCPAddrFromAddrPort(ap))
}

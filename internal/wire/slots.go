package wire

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// errBusy says that nothing of what is bounded became free in time.
var errBusy = errors.New("as many connections to one address, or bytes of answers, as may be are in flight")

// slots bounds how many connections to one address are open at once. Many names may lead to one address, so names do not count.
// One tenant gets half of them.
type slots struct {
	limit int
	mu    sync.Mutex
	byKey map[slotKey]*slot
}

// slotKey is an address, and a tenant's share of it; without a tenant, all of it.
type slotKey struct {
	ip     netip.Addr
	tenant string
}

// slot is the places of one key. It is forgotten when nobody holds or wants one of them.
type slot struct {
	places chan struct{}
	users  int
}

func newSlots(limit int) *slots { return &slots{limit: limit, byKey: map[slotKey]*slot{}} }

// take waits for a place until the context is over. An empty tenant is alone, and has no share.
func (s *slots) take(ctx context.Context, ip netip.Addr, tenant string) error {
	if tenant == "" {
		return s.wait(ctx, slotKey{ip: ip}, s.limit)
	}
	if err := s.wait(ctx, slotKey{ip, tenant}, max(1, s.limit/2)); err != nil {
		return err
	}
	err := s.wait(ctx, slotKey{ip: ip}, s.limit)
	if err != nil {
		s.leave(slotKey{ip, tenant})
	}
	return err
}

func (s *slots) wait(ctx context.Context, key slotKey, limit int) error {
	s.mu.Lock()
	of := s.byKey[key]
	if of == nil {
		of = &slot{places: make(chan struct{}, limit)}
		s.byKey[key] = of
	}
	of.users++
	s.mu.Unlock()
	select { // a free place is taken by a context that is over too: the dial itself will say so
	case of.places <- struct{}{}:
		return nil
	default:
	}
	select {
	case of.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		s.forget(key, of)
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return errBusy
	}
}

// free gives a place back.
func (s *slots) free(ip netip.Addr, tenant string) {
	s.leave(slotKey{ip: ip})
	if tenant != "" {
		s.leave(slotKey{ip, tenant})
	}
}

func (s *slots) leave(key slotKey) {
	s.mu.Lock()
	of := s.byKey[key]
	s.mu.Unlock()
	<-of.places
	s.forget(key, of)
}

func (s *slots) forget(key slotKey, of *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(s.byKey, key)
	}
}

// lease is what one dial holds: a place for every address that it tries, of which the one that answers is kept.
type lease struct {
	slots  *slots
	tenant string
	mu     sync.Mutex
	held   []netip.Addr
	over   bool
	busy   bool
}

// take holds a place for an address. A dial tries several addresses at once, and one of them may still be trying when the dial is over.
func (l *lease) take(ctx context.Context, ip netip.Addr) error {
	err := l.slots.take(ctx, ip, l.tenant)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.busy = l.busy || errors.Is(err, errBusy)
		return err
	case l.over:
		l.slots.free(ip, l.tenant)
		return context.Canceled
	}
	l.held = append(l.held, ip)
	return nil
}

// settle ends the dial: the connection, if there is one, keeps its place until it is closed, and the other places are given back.
func (l *lease) settle(conn net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	kept := netip.Addr{}
	if conn != nil {
		if ap, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			kept = plain(ap.Addr())
		}
	}
	placed := false
	for _, ip := range l.held {
		if ip == kept && !placed {
			placed = true
			continue
		}
		l.slots.free(ip, l.tenant)
	}
	if !placed {
		return conn
	}
	return &placedConn{Conn: conn, free: sync.OnceFunc(func() { l.slots.free(kept, l.tenant) })}
}

// placedConn gives its place back when it is closed.
type placedConn struct {
	net.Conn
	free func()
}

func (c *placedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

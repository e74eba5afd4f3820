package wire

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// closeGrace is how long connections stay that are in use when their client is closed, so that streams take leave in good order.
const closeGrace = time.Second

// writeTimeout bounds each write. What we send fits into the buffers of a socket many times over, so only a peer that reads nothing can hold one
// up. HTTP/2 must not wait for it: not even an ended context gets past a write that never ends, be it the answer to one ping of a flood.
const writeTimeout = 3 * time.Second

// conns are the open connections of some pools. A pool by itself closes what is idle, and never a connection of HTTP/2 whose peer floods it, or
// reads nothing so that not even the end of a stream can be written: each would cost a socket, and time, for as long as the peer likes.
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
	over bool
}

// conn is one of them.
type conn struct {
	net.Conn
	of *conns
}

// Write fails after writeTimeout, however little is missing, and with it the connection.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// track keeps the connections that pools open from now on.
func track(pools ...*http.Transport) *conns {
	c := &conns{open: map[*conn]struct{}{}}
	for _, p := range pools {
		dial := p.DialContext
		p.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			raw, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return c.add(raw)
		}
	}
	return c
}

func (c *conns) add(raw net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over { // a pool goes on dialling for a request that was given up
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	one := &conn{raw, c}
	c.open[one] = struct{}{}
	return one, nil
}

// close ends them all once closeGrace is over, whatever their peers do.
func (c *conns) close() {
	time.AfterFunc(closeGrace, func() {
		c.mu.Lock()
		c.over = true
		left := c.open
		c.open = map[*conn]struct{}{}
		c.mu.Unlock()
		for one := range left {
			_ = one.Conn.Close()
		}
	})
}

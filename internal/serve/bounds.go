package serve

import (
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Bounds of every listener.
const (
	maxHeader      = 16 << 10
	maxConnections = 512
	// maxPerSource is how many of those may come from one source. It is half of them: behind a proxy or a relay everybody has one address.
	maxPerSource = maxConnections / 2
	// maxPerNeighbour is the same for what only neighbours in the network use: few callers, each under its own address.
	maxPerNeighbour = maxConnections / 8
)

// Listen listens on a TCP address for what neighbours in the network use, such as probes of the kubelet and scrapers: 512 connections at most, and
// 64 of them from one address. It hangs up on the others at once.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	// A node and the pods on it often share the 64 bits of an IPv6 network, and one pod is not to lock out the kubelet.
	return &gate{Listener: l, most: maxConnections, perSource: maxPerNeighbour, sourceOf: addressOf, turnedAway: func() {}}, nil
}

// Server answers with h and waits for nobody long: 16 KiB of headers in 5 s, 10 s to read and 15 s until all is answered, 10 s between requests;
// HTTP/1.1 only. The caller may allow more time before it serves.
func Server(h http.Handler) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would quote what strangers send
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

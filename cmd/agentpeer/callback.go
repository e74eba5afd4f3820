package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/serve"
)

// listen opens the receiver of webhooks, which a peer on this machine reaches without further ado. Others are given --callback-url. It
// yields nil if there is to be none; stop ends it.
func (f *checkFlags) listen(peer *url.URL) (r probe.Receiver, stop func(), err error) {
	none := func() {}
	o := serve.ReceiverOptions{Address: f.callbackListen}
	if f.callbackURL != "" {
		if o.URL, err = parseURL(f.callbackURL); err != nil {
			return nil, none, fmt.Errorf("reading --callback-url: %w", err)
		}
		if o.Address == "" {
			return nil, none, fmt.Errorf("--callback-url is %q: name the address that it leads to with --callback-listen, such as :8083", f.callbackURL)
		}
	}
	if o.Address == "" {
		if o.Address = loopback(peer); o.Address == "" {
			return nil, none, nil
		}
	}
	receiver, err := serve.NewReceiver(o)
	if err != nil {
		return nil, none, fmt.Errorf("reading --callback-listen: %w", err)
	}
	if o.URL == nil && wildcard(receiver.Base()) {
		_ = receiver.Close()
		return nil, none, fmt.Errorf("--callback-listen is %q, which names no one address: say with --callback-url what the agent should call", f.callbackListen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = receiver.Start(ctx)
	}()
	return receiver, func() { cancel(); <-ended }, nil
}

// loopback is where to listen for a peer on this machine; empty for any other.
func loopback(peer *url.URL) string {
	host := peer.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return ""
	}
	return net.JoinHostPort(host, "0")
}

// wildcard: the address stands for all addresses of this machine.
func wildcard(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsUnspecified()
}

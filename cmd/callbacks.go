package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// newReceiver listens for webhooks if the flags say under what URL agents can reach it; nil if they do not.
func newReceiver(o options, registry prometheus.Registerer) (*serve.Receiver, error) {
	if o.callbackURL == "" {
		return nil, nil
	}
	base, err := callbackBase(o.callbackURL)
	if err != nil {
		return nil, err
	}
	if o.callbackAddress == "0" || o.callbackAddress == "" {
		return nil, fmt.Errorf("reading --callback-url: %q is set, and --callback-bind-address turns the receiver off: give it an address such as :8083",
			o.callbackURL)
	}
	options := serve.ReceiverOptions{Address: o.callbackAddress, URL: base, Count: countCallbacks(registry)}
	if o.callbackPeers != "" {
		ip := os.Getenv("POD_IP")
		if options.Self, err = netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("reading --callback-peers: replicas find each other by the address in POD_IP, which is %q: %w", ip, err)
		}
		name := o.callbackPeers
		options.Others = func(ctx context.Context) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
		options.Relay = wire.NewRelay()
	}
	return serve.NewReceiver(options)
}

// callbackBase reads the URL that agents are given.
func callbackBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	const want = "write an absolute http or https URL such as https://callbacks.example.com/agentpeer"
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading --callback-url: %w; %s", err, want)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fmt.Errorf("reading --callback-url: %q has no scheme or no host; %s", text, want)
	case u.User != nil, u.RawQuery != "", u.ForceQuery, strings.Contains(text, "#"):
		return nil, fmt.Errorf("reading --callback-url: %q has a user name, a query or a fragment; %s", text, want)
	}
	return u, nil
}

// countCallbacks counts what came in by what became of it.
func countCallbacks(registry prometheus.Registerer) func(string) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "agentpeer_callback_requests_total",
		Help: "Requests to the webhook receiver by outcome: taken, late, too-large, passed-on, unknown or refused.",
	}, []string{"outcome"})
	registry.MustRegister(requests)
	return func(outcome string) { requests.WithLabelValues(outcome).Inc() }
}

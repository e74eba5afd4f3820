package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/agentpeer/agentpeer/internal/serve"
)

// servers are what the manager serves beside webhooks. controller-runtime's own take 1 MiB of headers from each of any number of callers and wait
// 32 s for them, so that whoever reaches the port can have the operator killed for want of memory. These are bounded by package serve.
type servers struct{ listeners []net.Listener }

// Close is for servers that were never started; it does no harm to others.
func (s *servers) Close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// addServers listens, so that an address in use shows at once, and has mgr serve health and metrics before anything else, leader or not.
func addServers(mgr ctrl.Manager, o options) (_ *servers, err error) {
	s := &servers{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.add(mgr, "health", o.probeAddress, serve.Server(healthHandler(mgr)), nil); err != nil {
		return nil, err
	}
	return s, s.addMetrics(mgr, o)
}

// add serves on an address, unless that is "0" or empty.
func (s *servers) add(mgr ctrl.Manager, name, address string, server *http.Server, secure *tls.Config) error {
	if off(address) {
		return nil
	}
	l, err := serve.Listen(address)
	if err != nil {
		return fmt.Errorf("listening for %s on %q: %w", name, address, err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	s.listeners = append(s.listeners, l)
	last := 5 * time.Second // whoever holds a connection does not hold up the stop
	if err := mgr.Add(&manager.Server{Name: name, Server: server, Listener: l, ShutdownTimeout: &last}); err != nil {
		return fmt.Errorf("adding the server of %s: %w", name, err)
	}
	return nil
}

func off(address string) bool { return address == "0" || address == "" }

func healthHandler(mgr ctrl.Manager) http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]healthz.Checker{"/healthz": healthz.Ping, "/readyz": cacheSynced(mgr.GetCache())} {
		h := http.StripPrefix(path, &healthz.Handler{Checks: map[string]healthz.Checker{path[1:]: check}})
		mux.Handle(path, h)
		mux.Handle(path+"/", h)
	}
	return mux
}

// addMetrics serves the registry: over TLS to those whom Kubernetes authenticates and authorizes, or to everybody in plain text.
func (s *servers) addMetrics(mgr ctrl.Manager, o options) error {
	if off(o.metricsAddress) {
		return nil
	}
	h := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: 16, // each holds all series of all AgentPeers
	})
	var secure *tls.Config
	if o.secureMetrics {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("setting up who may read metrics: %w", err)
		}
		if h, err = filter(ctrl.Log.WithName("metrics"), h); err != nil {
			return fmt.Errorf("setting up who may read metrics: %w", err)
		}
		if secure, err = selfSigned(); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", h)
	server := serve.Server(mux)
	server.WriteTimeout = time.Minute // a large fleet has large answers, and to authenticate the reader may take several calls
	return s.add(mgr, "metrics", o.metricsAddress, server, secure)
}

// selfSigned makes a certificate that lives as long as the process. It encrypts; whoever must know whom it talks to needs a proxy with a certificate.
func selfSigned() (*tls.Config, error) {
	crt, key, err := cert.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil, "")
	if err != nil {
		return nil, fmt.Errorf("making a certificate for the metrics endpoint: %w", err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for the metrics endpoint: %w", err)
	}
	// HTTP/2 stays off, for the reasons of CVE-2023-44487.
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}, nil
}

package main

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/serve"
)

// Requests a second to the API server that callers of reconciled cards can cause, who may be strangers.
const reviewsPerSecond, reviewsBurst = 50, 100

// addCards serves reconciled cards on every replica, if the flags say where.
func (s *servers) addCards(mgr ctrl.Manager, o options, cards controllers.CardsOptions, registry prometheus.Registerer, log logr.Logger) error {
	if off(o.cardAddress) {
		return nil
	}
	secure, err := cardTLS(mgr, o)
	if err != nil {
		return err
	}
	callers, err := newCallers(mgr.GetConfig())
	if err != nil {
		return err
	}
	cards.Informers, cards.Client = mgr.GetCache(), mgr.GetClient()
	source := controllers.NewCards(cards)
	if err := mgr.Add(source); err != nil {
		return fmt.Errorf("adding the source of reconciled cards: %w", err)
	}
	switch {
	case secure == nil:
		log.Info("Reconciled cards are served without encryption: whoever sees the network reads cards and the tokens of those who ask")
	case o.cardCertDir == "":
		log.Info("Reconciled cards are served with a certificate made now, which no client can verify: set --card-cert-dir")
	}
	return s.add(mgr, "cards", o.cardAddress, serve.Server(serve.NewCards(source, callers, countCards(registry))), secure)
}

// cardTLS is the certificate that the flags name, read again when it is replaced; one that lives as long as the process where they name none;
// nil where they ask for plain text.
func cardTLS(mgr ctrl.Manager, o options) (*tls.Config, error) {
	switch {
	case o.cardInsecure && o.cardCertDir != "":
		return nil, fmt.Errorf("reading --card-insecure: --card-cert-dir is %q: set one of the two", o.cardCertDir)
	case o.cardInsecure:
		return nil, nil
	case o.cardCertDir == "":
		return selfSigned()
	}
	watcher, err := certwatcher.New(filepath.Join(o.cardCertDir, "tls.crt"), filepath.Join(o.cardCertDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading --card-cert-dir: want tls.crt and tls.key in %q, as a Secret of type kubernetes.io/tls has them: %w", o.cardCertDir, err)
	}
	if err := mgr.Add(watcher); err != nil {
		return nil, fmt.Errorf("adding the certificate of reconciled cards: %w", err)
	}
	// HTTP/2 stays off, for the reasons of CVE-2023-44487.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate, NextProtos: []string{"http/1.1"}}, nil
}

// newCallers asks the API server who callers are, with a rate of its own: a flood of tokens starves neither status nor the lease.
func newCallers(base *rest.Config) (*serve.Callers, error) {
	config := rest.CopyConfig(base)
	config.QPS, config.Burst, config.RateLimiter = reviewsPerSecond, reviewsBurst, nil
	tokens, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up who may read reconciled cards: %w", err)
	}
	access, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up who may read reconciled cards: %w", err)
	}
	return serve.NewCallers(tokens.TokenReviews(), access.SubjectAccessReviews()), nil
}

// countCards counts what was answered by its status.
func countCards(registry prometheus.Registerer) func(int) {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "agentpeer_card_requests_total",
		Help: "Requests for reconciled cards and lists of decisions by HTTP status.",
	}, []string{"code"})
	registry.MustRegister(answers)
	return func(status int) { answers.WithLabelValues(strconv.Itoa(status)).Inc() }
}

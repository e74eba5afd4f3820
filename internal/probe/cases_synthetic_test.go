package probe

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// What nobody has reported of an A2A peer yet, and will: cases S01 to S09.

// behind is a server of an agent with something between it and its clients. It ends with the test.
func behind(t *testing.T, a *agent.Agent, between func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(between(a.Handler()))
	t.Cleanup(func() { a.Close(); s.CloseClientConnections(); s.Close() })
	return s
}

// rewritten lets change see the first bytes of every body that is no stream, or of every body.
func rewritten(streams bool, change func(w http.ResponseWriter) http.ResponseWriter) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if streams || r.Header.Get("Accept") != "text/event-stream" {
				w = change(w)
				if c, ok := w.(interface{ Close() error }); ok {
					defer func() { _ = c.Close() }()
				}
			}
			h.ServeHTTP(w, r)
		})
	}
}

// marked puts a byte order mark before a body.
type marked struct {
	http.ResponseWriter
	begun bool
}

func (w *marked) Write(b []byte) (int, error) {
	if !w.begun {
		w.begun = true
		if _, err := w.ResponseWriter.Write([]byte("\xef\xbb\xbf")); err != nil {
			return 0, err
		}
	}
	return w.ResponseWriter.Write(b)
}

func (w *marked) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// zipped compresses a body and says nothing of it.
type zipped struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (w *zipped) Write(b []byte) (int, error) {
	n, err := w.z.Write(b)
	if err == nil {
		err = w.z.Flush()
	}
	return n, err
}

func (w *zipped) Close() error                { return w.z.Close() }
func (w *zipped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// length is wrong once a body is rewritten, so it goes.
func unmeasured(w http.ResponseWriter) http.ResponseWriter { return &lengthless{ResponseWriter: w} }

type lengthless struct{ http.ResponseWriter }

func (w *lengthless) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w *lengthless) Write(b []byte) (int, error) {
	w.Header().Del("Content-Length")
	return w.ResponseWriter.Write(b)
}

func (w *lengthless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestSyntheticCases(t *testing.T) {
	t.Parallel()
	const oneSecond = agent.Duration(time.Second)
	bom := func(w http.ResponseWriter) http.ResponseWriter { return &marked{ResponseWriter: unmeasured(w)} }
	zip := func(w http.ResponseWriter) http.ResponseWriter {
		u := unmeasured(w)
		return &zipped{ResponseWriter: u, z: gzip.NewWriter(u)}
	}
	for _, tc := range []struct {
		name    string
		gen     agent.Generation
		quirks  string
		set     func(*agent.Config)
		between func(http.Handler) http.Handler
		change  func(*Job)
		rounds  int
		about   trust.Capability
		state   trust.State
		reason  trust.Reason
		warn    trust.Reason
		card    card.Warning
	}{
		{name: "S01 a byte order mark before the card", quirks: "card-bom", state: trust.Trusted, card: card.ByteOrderMark},
		{name: "S01 a byte order mark before the stream", quirks: "stream-bom", state: trust.Trusted},
		{name: "S01 a byte order mark before every answer", between: rewritten(false, bom), about: trust.TaskRetrieval, state: trust.Trusted, card: card.ByteOrderMark},
		{name: "S02 a card in gzip that does not say so", quirks: "card-gzip", state: trust.Trusted},
		{name: "S02 every answer in gzip that does not say so", between: rewritten(false, zip), about: trust.TaskRetrieval, state: trust.Trusted},
		{name: "S02 streams too", between: rewritten(true, zip), state: trust.Trusted},
		{name: "S03 the id becomes a string", quirks: "id-string", state: trust.Trusted},
		{name: "S03 the id becomes a number", quirks: "id-number", state: trust.Trusted, warn: trust.WarnResponseIDMismatch},
		{name: "S03 the id is another", quirks: "id-wrong", state: trust.Trusted, warn: trust.WarnResponseIDMismatch},
		{name: "S03 the id is null", quirks: "id-null", state: trust.Trusted, warn: trust.WarnResponseIDMismatch},
		{name: "S03 the id is missing", quirks: "id-missing", state: trust.Trusted, warn: trust.WarnResponseIDMismatch},
		{name: "S04 states are numbers", quirks: "numeric-states", state: trust.Trusted, warn: trust.WarnStateSpelling},
		{name: "S04 states are numbers, TaskRetrieval", quirks: "numeric-states", about: trust.TaskRetrieval, state: trust.Trusted},
		{name: "S04 states are numbers, and the end is withheld", quirks: "numeric-states withheld-end", rounds: 3, state: trust.Demoted, reason: trust.ReasonStreamClosedWithoutTerminalState},
		{name: "S05 no history", quirks: "no-history", about: trust.TaskRetrieval, state: trust.Trusted},
		{name: "S09 a clock a second behind, and a stream cut before the end", quirks: "cut-before-end slow-clock", set: wellBeforeEnd, change: patient, rounds: 4, state: trust.Unverified, reason: trust.ReasonStreamInterrupted},
		{name: "S09 a clock a second ahead, and a stream cut before the end", quirks: "cut-before-end", set: func(c *agent.Config) { wellBeforeEnd(c); c.RPC.ClockOff = oneSecond },
			change: patient, rounds: 4, state: trust.Unverified, reason: trust.ReasonStreamInterrupted},
		{name: "S09 a clock of another zone", quirks: "zone-clock", rounds: 3, state: trust.Trusted},
		{name: "S09 a clock that stands", quirks: "stopped-clock", rounds: 3, state: trust.Trusted},
		{name: "S09 a clock of another zone does not hide what a stream withholds", quirks: "zone-clock withheld-end", rounds: 3,
			state: trust.Demoted, reason: trust.ReasonStreamClosedWithoutTerminalState},
		{name: "S09 a clock of another zone, Lifecycle", quirks: "zone-clock", rounds: 3, about: trust.Lifecycle, state: trust.Trusted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := with(tc.gen, strings.Fields(tc.quirks)...)
			if tc.set != nil {
				a.Set(agent.With(tc.set))
			}
			between := tc.between
			if between == nil {
				between = func(h http.Handler) http.Handler { return h }
			}
			s := behind(t, a, between)
			s.Start()
			about := tc.about
			if about == "" {
				about = trust.Streaming
			}
			job := jobFor(t, s.URL, about)
			if tc.change != nil {
				tc.change(&job)
			}
			p, rep := verdict(t, job, max(tc.rounds, 1))
			rec := expectState(t, p, about, tc.state, tc.reason)
			if tc.state == trust.Trusted && !warnedOf(rec, tc.warn) {
				t.Errorf("warned of %v, want %q and nothing else", rec.Warnings, tc.warn)
			}
			if tc.card != "" && !slices.Contains(rep.CardWarnings, tc.card) {
				t.Errorf("the card's warnings are %v, want %s", rep.CardWarnings, tc.card)
			}
		})
	}
}

// authority signs certificates for loopback.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	ca := &authority{t: t}
	ca.key = ca.newKey()
	ca.cert = ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, ca.key)
	return ca
}

func (ca *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		ca.t.Fatal(err)
	}
	return key
}

func (ca *authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	ca.n++
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(ca.n), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := ca.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		ca.t.Fatal(err)
	}
	return cert
}

// leaf is a new certificate for 127.0.0.1.
func (ca *authority) leaf() *tls.Certificate {
	key := ca.newKey()
	cert := ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "leaf"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, key)
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (ca *authority) roots() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// secured starts a server over TLS that shows the certificate held in cert to each new connection.
func secured(t *testing.T, s *httptest.Server, cert *atomic.Pointer[tls.Certificate], http2 bool) {
	t.Helper()
	s.EnableHTTP2 = http2
	s.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert.Load(), nil },
		SessionTicketsDisabled: true}
	s.StartTLS()
	s.TLS.Certificates = nil // httptest's own
}

// onStreams does something to the streams that a handler serves, after their nth event.
func onStreams(after int, do func(w http.ResponseWriter)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept") == "text/event-stream" {
				w = &counting{ResponseWriter: w, left: after, do: do}
			}
			h.ServeHTTP(w, r)
		})
	}
}

type counting struct {
	http.ResponseWriter
	left int
	do   func(http.ResponseWriter)
}

func (w *counting) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	if w.left > 0 {
		if w.left -= bytes.Count(b, []byte("data:")); w.left <= 0 {
			_ = http.NewResponseController(w.ResponseWriter).Flush()
			w.do(w.ResponseWriter)
		}
	}
	return n, err
}

func (w *counting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// RST_STREAM in the middle of a stream is the network's or a proxy's doing: what was trusted stays so.
func TestCaseS06AnHTTP2ResetInMidStreamCostsNoTrust(t *testing.T) {
	t.Parallel()
	var resets atomic.Bool
	a := with(agent.V10)
	a.Set(agent.Latency(0, 300*time.Millisecond))
	reset := onStreams(2, func(http.ResponseWriter) {
		if resets.Load() {
			panic(http.ErrAbortHandler)
		}
	})
	s := behind(t, a, func(h http.Handler) http.Handler {
		h = reset(h)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("asked over %s, want HTTP/2", r.Proto)
			}
			h.ServeHTTP(w, r)
		})
	})
	ca := newAuthority(t)
	var cert atomic.Pointer[tls.Certificate]
	cert.Store(ca.leaf())
	secured(t, s, &cert, true)
	job := jobFor(t, s.URL, trust.Streaming, trust.TaskRetrieval, trust.Lifecycle)
	job.Target.RootCAs = ca.roots()

	var p acquaintance
	p.round(t, job)
	expectState(t, p.Peer, trust.Streaming, trust.Trusted, trust.ReasonHonored)
	resets.Store(true)
	for range 4 {
		rep := p.round(t, job)
		check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamInterrupted})
	}
	for _, c := range job.Ask {
		expectState(t, p.Peer, c, trust.Trusted, "")
	}
}

// A certificate is replaced while a stream is open. New connections see the new one.
func TestCaseS07ACertificateRotatedInMidStreamCostsNoTrust(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ stranger, http2 bool }{
		"S07 by the same authority":                 {},
		"S07 by the same authority, HTTP/2":         {http2: true},
		"S07 by an authority that we do not trust":  {stranger: true},
		"S07 by a stranger, on HTTP/2's connection": {stranger: true, http2: true}, // the open connection goes on
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newAuthority(t)
			next := ca
			if tc.stranger {
				next = newAuthority(t)
			}
			var cert atomic.Pointer[tls.Certificate]
			cert.Store(ca.leaf())
			a := with(agent.V10)
			a.Set(agent.Latency(0, 300*time.Millisecond))
			var s *httptest.Server
			s = behind(t, a, onStreams(1, func(http.ResponseWriter) {
				cert.Store(next.leaf())
				if !tc.http2 {
					s.Config.SetKeepAlivesEnabled(false) // as a server does that reloads: what is idle is closed, the stream goes on
				}
			}))
			secured(t, s, &cert, tc.http2)
			job := jobFor(t, s.URL, trust.Streaming, trust.TaskRetrieval, trust.Lifecycle)
			job.Target.RootCAs = ca.roots()

			var p acquaintance
			p.round(t, job)
			expectState(t, p.Peer, trust.Streaming, trust.Trusted, trust.ReasonHonored)
			if !tc.stranger { // else it hangs on whether GetTask finds an open connection
				expectState(t, p.Peer, trust.TaskRetrieval, trust.Trusted, "")
			}
			last := p.round(t, job)
			if tc.stranger {
				check(t, last, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonUnreachable})
			} else {
				check(t, last, trust.Streaming, expectation{outcome: trust.Honored})
			}
			expectState(t, p.Peer, trust.Streaming, trust.Trusted, "")
		})
	}
}

// unshared serves one card and several stores: every request meets another replica, which knows only the tasks that it began itself.
func unshared(t *testing.T, gen agent.Generation, replicas int) string {
	t.Helper()
	var stores []*agent.Agent
	for range replicas {
		stores = append(stores, with(gen))
	}
	var turn atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stores[turn.Add(1)%int64(replicas)].Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for _, a := range stores {
			a.Close()
		}
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// Replicas that share no store answer TaskNotFound for tasks of the others. Nobody lies, and nobody is demoted.
func TestCaseS08ReplicasWithoutASharedStoreAreNotAccused(t *testing.T) {
	t.Parallel()
	for _, gen := range []agent.Generation{agent.V10, agent.V03} {
		for _, replicas := range []int{2, 3} {
			job := jobFor(t, unshared(t, gen, replicas), Questions()...)
			var p acquaintance
			mixed := 0
			for range 4 {
				rep := p.round(t, job)
				for _, o := range rep.Round.Observations {
					if o.Reason == trust.ReasonReplicaInconsistency {
						mixed++
					}
					if o.Outcome == trust.Diverged {
						t.Errorf("%d replicas of %s, %s: %s %s\n  %s\n  %q", replicas, gen, o.Capability, o.Outcome, o.Reason, o.Message, o.Observed)
					}
				}
			}
			if mixed == 0 {
				t.Errorf("%d replicas of %s: nothing was told of stores that disagree", replicas, gen)
			}
			expectState(t, p.Peer, trust.Streaming, trust.Trusted, "")
		}
	}
}

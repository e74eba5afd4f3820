package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of the phases before a request is sent. Everything after is bounded by the caller's context: a stream may be
// slow to send its headers (some servers send none before the first event), so there is no header timeout here.
const (
	dialTimeout = 3 * time.Second
	tlsTimeout  = 5 * time.Second
	// idleTimeout is shorter than what servers wait before they close an idle connection (Node and uvicorn 5 s,
	// gunicorn 2 s). A send that meets such a close is lost, and may not be repeated.
	idleTimeout = time.Second
)

// road is how requests travel: two pools of connections that differ in nothing but what is spoken on them.
type road struct {
	http *http.Transport
	// http2 speaks nothing else, without TLS too; gRPC needs it.
	http2 *http.Transport
	open  *conns
}

func newRoad(g *guard, roots *x509.CertPool, headerBytes int64) road {
	r := road{http: newTransport(g, roots, headerBytes), http2: newTransport(g, roots, headerBytes)}
	r.open = track(r.http, r.http2)
	r.http2.Protocols.SetHTTP1(false)
	r.http2.Protocols.SetUnencryptedHTTP2(true)
	return r
}

// secure makes the connections those of the credential's origins: with its certificate, to that server name, of those keys.
func (r road) secure(s *secret) {
	for _, t := range []*http.Transport{r.http, r.http2} {
		t.TLSClientConfig.ServerName = s.serverName
		if s.Certificate != nil {
			// Whatever authorities the server names: intermediates are often missing from that list.
			t.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate, nil }
		}
		if len(s.pins) > 0 {
			t.TLSClientConfig.VerifyConnection = s.verifyPins
		}
	}
}

func (r road) close() {
	r.http.CloseIdleConnections()
	r.http2.CloseIdleConnections()
	r.open.close()
}

// errNotPinned says that a server's certificate is good, and of none of the keys that were asked for.
var errNotPinned = errors.New("tls: no certificate of the verified chain has a pinned key")

// verifyPins runs after the chain was verified. A certificate that the server sends beside the chain does not count: anybody may send that.
func (s *secret) verifyPins(c tls.ConnectionState) error {
	for _, chain := range c.VerifiedChains {
		for _, cert := range chain {
			if slices.Contains(s.pins, sha256.Sum256(cert.RawSubjectPublicKeyInfo)) {
				return nil
			}
		}
	}
	return errNotPinned
}

// newTransport makes a connection pool of its own behind the guard. No proxy, ever: behind one the guard would see the
// proxy's address and not the peer's. No transparent decompression: the caps must hold after inflation.
func newTransport(g *guard, roots *x509.CertPool, headerBytes int64) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    tlsTimeout,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerBytes,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        idleTimeout,
		// What a peer may push at us before we read it, in bytes; net/http would take 4 MiB for a stream, 1 GiB in all.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 1 << 20},
	}
}

// errNoCertificate says that the PEM given holds none.
var errNoCertificate = errors.New("reading CA certificates: no certificate in the PEM data")

// pools remembers the pool of each CA bundle, so that a client made for every round does not parse the system's
// certificates again. It is emptied when it holds too many, which costs a parse and nothing else.
var pools = struct {
	sync.Mutex
	byHash map[[sha256.Size]byte]*x509.CertPool
}{byHash: map[[sha256.Size]byte]*x509.CertPool{}}

const maxPools = 256

// rootsWith is the system's pool and the certificates of the PEM data; nil, which crypto/tls reads as the system's, if
// there are none.
func rootsWith(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	key := sha256.Sum256(pem)
	pools.Lock()
	defer pools.Unlock()
	if p := pools.byHash[key]; p != nil {
		return p, nil
	}
	p, err := x509.SystemCertPool()
	if err != nil {
		p = x509.NewCertPool() // a machine without system certificates can still trust the given ones
	}
	if !p.AppendCertsFromPEM(pem) {
		return nil, errNoCertificate
	}
	if len(pools.byHash) >= maxPools {
		clear(pools.byHash)
	}
	pools.byHash[key] = p
	return p, nil
}

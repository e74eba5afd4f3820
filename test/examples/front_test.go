package examples

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// front stands before the API server, which can go away there, or have forgotten what a watch asks for.
type front struct {
	server *httptest.Server
	proxy  *httputil.ReverseProxy
	// away hangs up on everybody.
	away atomic.Bool
	// forgets answers watches with 410, as an API server does that no longer has the version asked for.
	forgets atomic.Bool
	// lists and watches that came.
	lists, watches atomic.Int64
}

func (w world) layFront(t *testing.T) *front {
	t.Helper()
	to, err := url.Parse(w.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// Only the server's certificate: who calls is said by the caller's token.
	transport, err := rest.TransportFor(&rest.Config{Host: w.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: w.Config.CAData}})
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	f.proxy = &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	f.server = httptest.NewTLSServer(f)
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A watch that begins with all there is is a list too.
	watch := r.URL.Query().Has("watch") && !r.URL.Query().Has("sendInitialEvents")
	switch {
	case f.away.Load():
		panic(http.ErrAbortHandler)
	case watch:
		f.watches.Add(1)
	case r.Method == http.MethodGet:
		f.lists.Add(1)
	}
	if watch && f.forgets.Load() {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`)
		return
	}
	f.proxy.ServeHTTP(w, r)
}

// leave makes the API server go away, with all that was open.
func (f *front) leave() {
	f.away.Store(true)
	f.server.CloseClientConnections()
}

func (f *front) comeBack() { f.away.Store(false) }

// forget ends every watch, and answers the next ones with 410 until remember.
func (f *front) forget() {
	f.forgets.Store(true)
	f.server.CloseClientConnections()
}

func (f *front) remember() { f.forgets.Store(false) }

func (f *front) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
}

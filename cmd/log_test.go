package main

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// chatter answers one request and, once the connection is idle, sends what nobody asked for; sent says when it has.
func chatter(t *testing.T, idle <-chan struct{}) (base *url.URL, sent <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		<-idle
		_, _ = io.WriteString(c, "GRAFFITI GRAFFITI\r\n\r\n")
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}, done
}

// lockedBuffer may be written to by net/http while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func TestSecurityLeaksNoBodyOfTheAPIServerAtAnyVerbosity(t *testing.T) {
	for _, args := range [][]string{{"--zap-log-level=10"}, {"--zap-log-level=10", "--zap-devel"}, {"--zap-log-level=5"}} {
		var o options
		f := flag.NewFlagSet("operator", flag.ContinueOnError)
		o.bind(f)
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		l := newLogger(o.zap)
		if !l.V(5).Enabled() || l.V(7).Enabled() || l.V(10).Enabled() {
			t.Errorf("%v: verbosity 5, 7 and 10 are on: %v, %v, %v; want only 5: the Kubernetes client logs Secrets from 8 on",
				args, l.V(5).Enabled(), l.V(7).Enabled(), l.V(10).Enabled())
		}
	}
	t.Attr("leaks", "0")
}

func TestWhatAPeerSendsUnaskedReachesNoLog(t *testing.T) {
	before := log.Writer()
	t.Cleanup(func() { log.SetOutput(before) })
	visit := func() {
		idle := make(chan struct{})
		base, sent := chatter(t, idle)
		c, err := wire.NewClient(wire.Options{AllowHosts: []string{base.Host}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		told := sync.OnceFunc(func() { close(idle) })
		defer told() // the chatter ends whatever becomes of the request
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{PutIdleConn: func(error) { told() }})
		if _, err := c.Get(ctx, base, nil); err != nil {
			t.Fatal(err)
		}
		<-sent
	}

	var said lockedBuffer
	log.SetOutput(&said)
	visit()
	NewWithT(t).Eventually(said.String).WithTimeout(5*time.Second).Should(ContainSubstring("GRAFFITI"),
		"the standard library no longer logs this: muteStandardLog may go")

	muteStandardLog()
	if log.Writer() != io.Discard {
		t.Errorf("the standard log still writes somewhere, and would say %q", strings.TrimSpace(said.String()))
	}
}

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A socket is what the system says of a TCP socket of this process.
type socket struct {
	local, remote netip.AddrPort
	listens, open bool
}

// sockets of this process, as the system knows them: whoever adds a listener need not think of telling a test.
func sockets(t *testing.T) []socket {
	t.Helper()
	own := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, "socket:[") {
			own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	var out []socket
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || !own[f[9]] {
			continue
		}
		out = append(out, socket{local: hexAddress(t, f[1]), remote: hexAddress(t, f[2]), listens: f[3] == "0A", open: f[3] == "01"})
	}
	return out
}

// hexAddress reads an IPv4 address as the table of a little-endian machine has it.
func hexAddress(t *testing.T, s string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(s, ":")
	h, err1 := strconv.ParseUint(host, 16, 32)
	p, err2 := strconv.ParseUint(port, 16, 16)
	if err1 != nil || err2 != nil {
		t.Fatalf("not an address: %q", s)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24)}), uint16(p))
}

func listening(t *testing.T) []netip.AddrPort {
	t.Helper()
	var out []netip.AddrPort
	for _, s := range sockets(t) {
		if s.listens {
			out = append(out, s.local)
		}
	}
	return out
}

// callFrom opens a connection from an address of loopback, over TLS if that is spoken.
func callFrom(t *testing.T, from string, to netip.AddrPort, secure bool) (net.Conn, error) {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	if !secure {
		return c, nil
	}
	over := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return over, over.HandshakeContext(ctx)
}

// ask asks as an honest caller does; 0 is no answer.
func ask(t *testing.T, from string, to netip.AddrPort, secure bool, path string) int {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: d.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	url := map[bool]string{true: "https://", false: "http://"}[secure] + to.String() + path
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Every port on which the process listens is flooded by one neighbour without credentials, with headers that do not end. It takes a share of the
// connections and little memory, and others are answered meanwhile.
func TestSecurityListenersOutliveAFloodOfHeaders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs several addresses on loopback and a table of sockets")
	}
	ctrl.SetLogger(logr.Discard())
	before := listening(t)
	o := flags(t, "-metrics-bind-address=127.0.0.1:0", "-health-probe-bind-address=127.0.0.1:0", "-callback-bind-address=127.0.0.1:0",
		"-callback-url=http://callbacks.test")
	serveAll(t, o)
	ports := slices.DeleteFunc(listening(t), func(p netip.AddrPort) bool { return slices.Contains(before, p) })

	kinds := map[string]bool{}
	for _, port := range ports {
		c, err := callFrom(t, "127.0.0.2", port, true)
		secure := err == nil
		if c != nil {
			_ = c.Close()
		}
		kinds[fmt.Sprint(secure, ask(t, "127.0.0.2", port, secure, "/healthz"), ask(t, "127.0.0.2", port, secure, "/metrics"))] = true
		t.Run(fmt.Sprint(port.Port()), func(t *testing.T) { flood(t, port, secure) })
	}
	for kind, want := range map[string]string{"health": "false 200 404", "metrics": "true 404 401", "webhooks": "false 404 404"} {
		if !kinds[want] {
			t.Errorf("nobody listens for %s: the ports say %v", kind, kinds)
		}
	}
	if len(ports) != 3 {
		t.Errorf("the process listens on %d ports, want 3: %v", len(ports), ports)
	}
}

// serveAll starts a manager that serves all that the operator serves, without an API server.
func serveAll(t *testing.T, o options) {
	t.Helper()
	mgr, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, o)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := addServers(mgr, o)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := newReceiver(o, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(receiver); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stopping: %v", err)
		}
		serving.Close()
		_ = receiver.Close()
	})
}

func flood(t *testing.T, port netip.AddrPort, secure bool) {
	const attacker, honest = "127.0.0.9", "127.0.0.2"
	began := heap()
	head := append([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nX: "), bytes.Repeat([]byte("a"), 256<<10)...)
	for range 8 {
		c, err := callFrom(t, attacker, port, secure)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(3 * time.Second)) // less than headers may take: size alone ends it
		go func() { _, _ = c.Write(head) }()               // fails when it is cut off
		answer, err := io.ReadAll(c)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() || len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 431")) {
			t.Fatalf("headers of 256 KiB are read on: %.60q %v", answer, err)
		}
		_ = c.Close()
	}
	held := func() (n int) {
		for _, s := range sockets(t) {
			if s.open && s.local == port && s.remote.Addr().String() == attacker {
				n++
			}
		}
		return n
	}
	g := NewWithT(t)
	g.Eventually(held, "10s").Should(BeZero())
	var guests []net.Conn
	for range 400 {
		c, err := callFrom(t, attacker, port, secure)
		if err != nil {
			continue // turned away before TLS began
		}
		_, _ = c.Write(head[:8<<10]) // fails where it is turned away
		guests = append(guests, c)
	}
	g.Eventually(held, "3s").Should(And(BeNumerically(">", 0), BeNumerically("<=", 256)), "connections of one neighbour")
	t.Logf("one neighbour holds %d connections", held())
	if status := ask(t, honest, port, secure, "/healthz"); status == 0 {
		t.Error("another neighbour is not answered")
	}
	if grown := heap() - began; grown > 32<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	g.Eventually(held, "10s").Should(BeZero(), "connections whose headers do not end")
	for _, c := range guests {
		_ = c.Close()
	}
}

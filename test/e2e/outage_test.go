package e2e_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/test/agent"
)

// wire is the way to the API server, which can be cut.
type wire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// layWire puts a wire before the API server and returns it with the address to use instead.
func (w world) layWire(t *testing.T) (*wire, string) {
	t.Helper()
	server, err := url.Parse(w.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &wire{listener: l, to: server.Host, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(x.serve)
	t.Cleanup(func() {
		_ = l.Close()
		x.set(true)
		serving.Wait()
	})
	return x, "https://" + l.Addr().String()
}

func (x *wire) serve() {
	var piping sync.WaitGroup
	defer piping.Wait()
	for {
		in, err := x.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", x.to)
		if err != nil || !x.keep(in, out) {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			continue
		}
		for _, ends := range [][2]net.Conn{{in, out}, {out, in}} {
			piping.Go(func() {
				_, _ = io.Copy(ends[0], ends[1])
				_, _ = in.Close(), out.Close()
			})
		}
	}
}

// keep is false while the wire is cut.
func (x *wire) keep(conns ...net.Conn) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range conns {
		if !x.cut {
			x.conns[c] = true
		}
	}
	return !x.cut
}

// set cuts the wire, with all that goes over it, or mends it.
func (x *wire) set(cut bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut = cut
	for c := range x.conns {
		_ = c.Close()
		delete(x.conns, c)
	}
}

func TestWhileTheAPIServerIsAwayAFinishedReportWaitsAndIsWrittenAfter(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	a := agent.New()
	w.apply(t, namespace, peer{name: "peer", url: a.Start(t), every: "2s"})
	x, host := w.layWire(t)
	o := w.startOperator(t, w.kubeconfig(t, host), namespace)
	for _, c := range everything {
		w.becomes(t, namespace, "peer", verdict(c), "Trusted", string(c))
	}
	g := gomega.NewWithT(t)

	x.set(true)
	g.Eventually(func() bool { return sent(a) > tasks(w.get(t, namespace, "peer")) }, within, often).
		Should(gomega.BeTrue(), "a round ends that cannot be written")
	made := 0
	g.Eventually(func() bool { last := made; made = sent(a); return last == made }, within, "1s").
		Should(gomega.BeTrue(), "that round comes to its end")
	g.Consistently(func() int { return sent(a) }, "6s", often).Should(gomega.Equal(made), "messages to the agent: no new round may start")
	before := w.get(t, namespace, "peer")
	select {
	case <-o.ended:
		t.Fatal("the operator ended")
	default:
	}

	x.set(false)
	g.Eventually(func() int64 { return behaviors(w.get(t, namespace, "peer")) }, within, often).
		Should(gomega.BeNumerically(">", behaviors(before)+1), "behaviour rounds written")
	for _, p := range h.of("peer") {
		if behaviors(p) == behaviors(before)+1 && tasks(p) != made {
			t.Errorf("the report that waited was written with %d messages in all, the agent got %d", tasks(p), made)
		}
	}
	h.countedOnce(t, "peer")
	h.keptTrust(t, "peer")
	h.neverAccused(t, "peer")
}

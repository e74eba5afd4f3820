package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Honest peers that share a Runner with a dozen hostile ones are judged as well as without them, and nearly as soon.
func TestSecurityHostileNeighbours(t *testing.T) {
	const honestPeers = 8
	r, err := serve.NewReceiver(serve.ReceiverOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	receiving := make(chan error, 1)
	go func() { receiving <- r.Start(ctx) }()
	runner := probe.NewRunner(probe.RunnerOptions{Env: probe.Env{Egress: agent.Loopback(), UserAgent: "hostile-test", Receiver: r}, Rounds: 16,
		SlowAfter: time.Second, Log: logr.Discard()})
	running := make(chan error, 1)
	go func() { running <- runner.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-running; err != nil {
			t.Error(err)
		}
		if err := <-receiving; err != nil {
			t.Error(err)
		}
	}()

	var honests []string
	for range honestPeers {
		honests = append(honests, honest(t))
	}
	alone := rounds(t, runner, 1, honests)
	var stands []*stand
	for _, build := range dozen() {
		s := newStand(t)
		build(s)
		stands = append(stands, s)
		job, err := jobFor(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		job.Target.AllowedOrigins = s.Origins
		if !runner.Submit(job) {
			t.Fatal("a hostile peer was not taken")
		}
	}
	together := rounds(t, runner, 2, honests)
	for _, s := range stands {
		harmlessToo(t, runner, s)
	}
	t.Logf("%d honest rounds took %s alone and %s beside %d hostile ones: %.1f times as long", honestPeers, alone, together, len(stands),
		together.Seconds()/alone.Seconds())
	// The hostile servers run on the same cores and write as fast as they can, so a good part of that is theirs.
	if together > 10*alone+10*time.Second {
		t.Errorf("hostile neighbours make rounds last %s instead of %s", together, alone)
	}
}

// harmlessToo waits for the round of a hostile peer, which began before.
func harmlessToo(t *testing.T, runner *probe.Runner, s *stand) {
	t.Helper()
	job, err := jobFor(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	rep, ok := runner.Report(job.Target.Key)
	for tick := time.NewTicker(50 * time.Millisecond); !ok && runner.Busy(job.Target.Key); rep, ok = runner.Report(job.Target.Key) {
		<-tick.C
	}
	if rep, ok = runner.Report(job.Target.Key); !ok {
		t.Fatalf("the round of %s left no report", s.URL)
	}
	if took := rep.Round.Finished.Sub(rep.Round.Started); took > probe.Bound(job) {
		t.Errorf("the round of %s took %s, more than %s", s.URL, took, probe.Bound(job))
	}
	if s.met.Load() == 0 {
		t.Errorf("%s never got to do what it is there for", s.URL)
	}
	for _, o := range rep.Round.Observations {
		if o.Outcome == trust.Diverged {
			t.Errorf("%s: %s is Diverged %s: %s", s.URL, o.Capability, o.Reason, o.Message)
		}
	}
}

// rounds lets one round of each peer run, sees that it is as good as can be, and says how long they took together.
func rounds(t *testing.T, runner *probe.Runner, number int64, peers []string) time.Duration {
	t.Helper()
	began := time.Now()
	for _, base := range peers {
		job, err := jobFor(base)
		if err != nil {
			t.Fatal(err)
		}
		job.Round, job.Ask = number, []trust.Capability{trust.Streaming, trust.Cancellation, trust.PushNotifications}
		job.Target.Timing.FirstEvent, job.Target.Timing.Task = 10*time.Second, 20*time.Second // the machine is busy, and honest peers get the time
		if !runner.Submit(job) {
			t.Fatal("an honest peer was not taken")
		}
	}
	waiting := map[string]bool{}
	for _, base := range peers {
		waiting["test/"+strings.TrimPrefix(base, "http://")] = true
	}
	timeout := time.After(3 * time.Minute)
	for len(waiting) > 0 {
		select {
		case key := <-runner.Wake():
			rep, ok := runner.Report(key)
			if !waiting[key] || !ok {
				continue
			}
			delete(waiting, key)
			runner.Done(key, number)
			for _, o := range append(rep.Round.Observations, rep.Round.Reach) {
				if o.Outcome != trust.Honored {
					t.Errorf("round %d of an honest peer: %s is %s %s: %s", number, o.Capability, o.Outcome, o.Reason, o.Message)
				}
			}
		case <-timeout:
			t.Fatalf("%d rounds of honest peers did not end", len(waiting))
		}
	}
	return time.Since(began)
}

// dozen are hostile peers of every kind.
func dozen() []func(*stand) {
	stream := func(text string) func(*stand) {
		return func(s *stand) {
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, c call) {
				begun(w, c)
				s.forever(w, []byte(text))
			})
		}
	}
	raw := func(serve func(s *stand, c net.Conn)) func(*stand) {
		return func(s *stand) { s.rawEndpoint(withRequest(func(c net.Conn) { serve(s, c) })) }
	}
	bomb := zipped(64<<20, 1)
	return []func(*stand){
		stream(strings.Repeat(":\n", 500)),
		stream(strings.Repeat("data: x\n", 500)),
		stream(strings.Repeat("data: {}\n\n", 500)),
		func(s *stand) {
			s.onCard(func(w http.ResponseWriter, _ *http.Request) { s.forever(w, bytes.Repeat([]byte("{"), 4096)) })
		},
		func(s *stand) {
			s.on(unary, func(w http.ResponseWriter, _ *http.Request, _ call) { s.met.Add(1); _, _ = w.Write(bomb) })
		},
		func(s *stand) {
			s.on(unary, func(w http.ResponseWriter, _ *http.Request, c call) {
				s.met.Add(1)
				_, _ = io.WriteString(w, result(c, `{"x":`+deep(100_000)+`}`))
			})
		},
		raw(func(s *stand, c net.Conn) {
			_, _ = io.WriteString(c, answerOK)
			s.forever(c, []byte(strings.Repeat("X-A: b\r\n", 500)))
		}),
		raw(func(s *stand, c net.Conn) { s.drip(c, []byte(answerOK), time.Second) }),
		raw(func(s *stand, c net.Conn) { s.met.Add(1); <-s.over.Done() }),
		raw(func(s *stand, c net.Conn) {
			s.met.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}),
		func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 100_000, 16, func(i int) (*http.Request, error) {
					return http.NewRequest(http.MethodPost, h.URL, strings.NewReader(fmt.Sprintf(`{"x":%d}`, i)))
				})
			})
		},
		func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 1000, 8, func(int) (*http.Request, error) {
					return http.NewRequest(http.MethodPost, h.URL, strings.NewReader(strings.Repeat("x", 1<<20)))
				})
			})
		},
	}
}

package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
)

// Two versions answer in turn while a deploy is under way. The next one does not stream and says so in its card; the old card is still
// served to most who ask.
func TestADeployUnderWayAccusesNobody(t *testing.T) {
	t.Parallel()
	old, next := agent.New(), agent.New(agent.Is("streaming-false"))
	var cards, streams atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := next
		if r.Method == http.MethodGet && cards.Add(1)%4 != 0 {
			to = old
		}
		if r.Method == http.MethodPost {
			streams.Add(1)
		}
		to.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	rep := runJob(t, jobFor(t, server.URL, trust.Streaming))
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonCardChanged})
	if n := cards.Load(); n != 4 {
		t.Errorf("the card was read %d times, want 4: once at first and until it differs", n)
	}
}

// A cache on the way still has the card of the version before. Who reads a card whole asks past it.
func TestTheCardIsReadPastCaches(t *testing.T) {
	t.Parallel()
	old, next := agent.New(), agent.New(agent.Is("streaming-false"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := next
		if r.Method == http.MethodGet && r.Header.Get("Cache-Control") != "no-cache" {
			to = old
		}
		to.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	rep := runJob(t, jobFor(t, server.URL, trust.Streaming))
	if rep.Round.Claims.Declared[trust.Streaming] != trust.NotDeclared {
		t.Errorf("the card that was read says %q of streaming, want the one that is served now", rep.Round.Claims.Declared[trust.Streaming])
	}
	if o, _ := find(rep, trust.Streaming); o.Outcome == trust.Diverged {
		t.Errorf("%s: %s", o.Reason, o.Message)
	}
}

// A liar that could tell the reading that confirms from the one before would withhold the card then and never be demoted.
func TestTheReadingThatConfirmsIsAskedForAsTheFirst(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	base := gated(t, agent.New(agent.Is("refuses-stream")), func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.Method == http.MethodGet {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(r.Proto, r.RequestURI, r.Header))
		}
		return false
	})
	rep := runJob(t, jobFor(t, base, trust.Streaming))
	check(t, rep, trust.Streaming, expectation{outcome: trust.Diverged})
	if len(asked) != 1+cardReads {
		t.Errorf("the card was asked for %d times, want %d", len(asked), 1+cardReads)
	}
	for _, a := range asked {
		if a != asked[0] {
			t.Errorf("a reading can be told from the first:\n%s\n%s", a, asked[0])
		}
	}
}

// What the order alone tells a liar may get it out of a demotion, and not out of the account.
func TestACardThatDoesNotComeAgainIsAccountedFor(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusNotModified, http.StatusNotFound} {
		var cards atomic.Int64
		base := gated(t, agent.New(agent.Is("refuses-stream")), func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Method != http.MethodGet || cards.Add(1) == 1 {
				return false
			}
			w.WriteHeader(status)
			return true
		})
		rep := runJob(t, jobFor(t, base, trust.Streaming))
		o := check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive})
		if !strings.Contains(o.Message, "the card that came at first did not come again") {
			t.Errorf("%d: the account does not say so: %s", status, o.Message)
		}
	}
}

// A balancer that sends every other connection to a version that does not stream: the refusal is asked again more than once.
func TestARefusalThatNotEveryConnectionMeetsIsNone(t *testing.T) {
	t.Parallel()
	streams, refuses := agent.New(), agent.New(agent.Is("refuses-stream"))
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := refuses
		if r.Method == http.MethodPost && asked.Add(1) > 3 { // reachability, a refusal and the same again
			to = streams
		}
		to.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	rep := runJob(t, jobFor(t, server.URL, trust.Streaming))
	check(t, rep, trust.Streaming, expectation{outcome: trust.Inconclusive, reason: trust.ReasonStreamIntermittent})
}

// A gateway may give a task another id in every answer, and know the task by all of them.
func TestAGatewayThatRenamesTasksInEveryAnswerAccusesNobody(t *testing.T) {
	t.Parallel()
	p, err := proxy.New(1, agent.New().Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Set(proxy.Fault{Rewrite: proxy.Each}); err != nil {
		t.Fatal(err)
	}
	rep := runJob(t, jobFor(t, p.URL(), Questions()...))
	for _, o := range rep.Round.Observations {
		if o.Outcome == trust.Diverged {
			t.Errorf("%s: %s %s\n  %q", o.Capability, o.Reason, o.Message, o.Observed)
		}
	}
	check(t, rep, trust.TaskRetrieval, expectation{outcome: trust.Inconclusive, reason: trust.ReasonTaskIdentityUnstable})
}

// The same gateway in front of replicas that share nothing: that one of them does not know an id is no proof that nobody does.
func TestAGatewayBeforeUnsharedReplicasAccusesNobody(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		p, err := proxy.New(seed, agent.New(agent.Latency(0, quick().Settle)).Start(t), agent.New(agent.Latency(0, quick().Settle)).Start(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		if err := p.Set(proxy.Fault{Rewrite: proxy.Each, Replicas: proxy.ByRequest}); err != nil {
			t.Fatal(err)
		}
		rep := runJob(t, jobFor(t, p.URL(), trust.TaskRetrieval))
		for _, o := range rep.Round.Observations {
			if o.Outcome == trust.Diverged {
				t.Errorf("%s: %s %s\n  %q", o.Capability, o.Reason, o.Message, o.Observed)
			}
		}
	}
}

package examples

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

// aService is a case that the Go client sees more strictly: it knows what a Service's target looks like, and this is none.
const aService = "a Service that stands for the URL"

// cases say what an orchestrator should do with what the API server knows of an agent.
var cases = []struct {
	says string
	// know tells the API server what is known of the agent at a URL.
	know func(t *testing.T, w world, url string)
	want string
}{
	{"trusted: it streams", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
	}, "Streaming"},
	{"demoted: a single shot", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathSingleShot, 0))
	}, "SingleShot"},
	{"expired: a single shot, though the status still says Streaming", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathStreaming, -time.Second))
	}, "SingleShot"},
	{"about to expire, within the clock's tolerance: a single shot", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathStreaming, 3*time.Second))
	}, "SingleShot"},
	{"nobody knows it: a single shot", func(*testing.T, world, string) {}, "SingleShot"},
	{"not yet probed: a single shot", func(t *testing.T, w world, url string) { w.knows(t, url, nil) }, "SingleShot"},
	{"the verdicts are about another target: a single shot", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged("http://192.0.2.7/", v1alpha1.PathStreaming, time.Hour))
	}, "SingleShot"},
	{"of two AgentPeers for one URL the worst wins", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
		w.knows(t, url+"/", judged(url+"/", v1alpha1.PathSingleShot, 0))
	}, "SingleShot"},
	{aService, func(t *testing.T, w world, url string) {
		w.knows(t, "", judged(url, v1alpha1.PathStreaming, time.Hour), func(p *v1alpha1.AgentPeer) {
			p.Spec.ServiceRef = &v1alpha1.ServiceReference{Name: "agent", Port: intstr.FromInt32(80)}
		})
	}, "Streaming"},
	{"a URL spelled otherwise", func(t *testing.T, w world, url string) {
		spelled := strings.Replace(url, "http", "HTTP", 1) + "/"
		w.knows(t, spelled, judged(spelled, v1alpha1.PathStreaming, time.Hour))
	}, "Streaming"},
	{"unavailable: not called", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathUnavailable, 0))
	}, "Unavailable"},
	{"expired where only a signed card will do: not called", func(t *testing.T, w world, url string) {
		w.knows(t, url, judged(url, v1alpha1.PathStreaming, -time.Second), func(p *v1alpha1.AgentPeer) {
			p.Spec.Card.Verification = v1alpha1.CardVerification{Policy: v1alpha1.SignatureRequire, JWKSURL: "https://keys.example.com/jwks.json"}
		})
	}, "Unavailable"},
}

func TestOrchestratorsTakeThePathThatIsProven(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			urls, agents := make([]string, len(cases)), make([]*agent.Agent, len(cases))
			for i, c := range cases {
				agents[i] = agent.New()
				urls[i] = agents[i].Start(t)
				c.know(t, w, urls[i])
			}
			f := w.layFront(t)
			p := l.start(t, w.account(t, f, "agentpeer-orchestrator"))
			for i, c := range cases {
				t.Run(c.says, func(t *testing.T) {
					if l.name == "Go" && c.says == aService {
						t.Skip("the client has a test of its own for this")
					}
					want, counts := c.want+" TASK_STATE_COMPLETED", map[string]int{"SendMessage": 1}
					switch c.want {
					case "Streaming":
						counts = map[string]int{"SendStreamingMessage": 1}
					case "Unavailable":
						want, counts = c.want, map[string]int{}
					}
					if got := p.errand(t, urls[i], "ping"); got != want {
						t.Errorf("it said %q, want %q", got, want)
					}
					got := agents[i].Counts()
					for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
						if got.Requests[method] != counts[method] {
							t.Errorf("the agent saw %d of %s, want %d", got.Requests[method], method, counts[method])
						}
					}
					if got.Requests["GetTask"] > 0 && c.want == "Streaming" || got.Open > 0 {
						t.Errorf("%d GetTask, %d tasks left open", got.Requests["GetTask"], got.Open)
					}
				})
			}
		})
	}
}

func TestOrchestratorsSeeAFlipWhileTheyRun(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			url := agent.New().Start(t)
			known := w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
			f := w.layFront(t)
			p := l.start(t, w.account(t, f, "agentpeer-orchestrator"))
			becomes := func(path, about string) {
				t.Helper()
				gomega.NewWithT(t).Eventually(func() string { return p.errand(t, url, "ping") }, within, often).
					Should(gomega.HavePrefix(path+" "), about)
			}
			becomes("Streaming", "trusted")
			w.judge(t, known, judged(url, v1alpha1.PathSingleShot, 0))
			becomes("SingleShot", "demoted")

			lists := f.lists.Load()
			f.forget()
			w.judge(t, known, judged(url, v1alpha1.PathStreaming, time.Hour))
			becomes("Streaming", "lifted while the API server answered 410")
			if f.lists.Load() == lists {
				t.Error("it did not list anew after 410")
			}
			f.remember()

			f.leave()
			w.judge(t, known, judged(url, v1alpha1.PathSingleShot, 0))
			if got := p.errand(t, url, "ping"); got != "Streaming TASK_STATE_COMPLETED" {
				t.Errorf("while the API server is away: %q, want what it knew", got)
			}
			f.comeBack()
			becomes("SingleShot", "demoted while the API server was away")

			if err := w.Client.Delete(t.Context(), known); err != nil {
				t.Fatal(err)
			}
			w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
			becomes("Streaming", "the demoted AgentPeer is gone, another came")
		})
	}
}

func TestOrchestratorsTrustNobodyWithoutTheRightToRead(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			url := agent.New().Start(t)
			w.knows(t, url, judged(url, v1alpha1.PathStreaming, time.Hour))
			p := l.start(t, w.account(t, w.layFront(t)))
			if got := p.errand(t, url, "ping"); got != "SingleShot TASK_STATE_COMPLETED" {
				t.Errorf("it said %q, want a single shot", got)
			}
			if said := p.says.String(); !strings.Contains(said, "403") && !strings.Contains(said, "forbidden") {
				t.Errorf("it should say why: %q", said)
			}
		})
	}
}

func TestTrustThatNobodyRenewsLapsesByTheClock(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			url := agent.New().Start(t)
			known := w.knows(t, url, judged(url, v1alpha1.PathSingleShot, 0))
			f := w.layFront(t)
			p := l.start(t, w.account(t, f, "agentpeer-orchestrator"))
			g := gomega.NewWithT(t)
			errand := func() string { return p.errand(t, url, "ping") }
			g.Eventually(errand, within, often).Should(gomega.HavePrefix("SingleShot "), "it runs")
			w.judge(t, known, judged(url, v1alpha1.PathStreaming, 15*time.Second))
			g.Eventually(errand, "10s", often).Should(gomega.HavePrefix("Streaming "), "trusted")
			f.leave() // operator and API server are down, and nobody writes the lapse
			g.Eventually(errand, within, often).Should(gomega.HavePrefix("SingleShot "), "trust that lapsed")
		})
	}
}

func TestOrchestratorsEndTrustSoonerThanItsTimeSinceClocksDiffer(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			url := agent.New().Start(t)
			known := w.knows(t, url, judged(url, v1alpha1.PathSingleShot, 0))
			p := l.start(t, w.account(t, w.layFront(t), "agentpeer-orchestrator"))
			g := gomega.NewWithT(t)
			errand := func() string { return p.errand(t, url, "ping") }
			g.Eventually(errand, within, often).Should(gomega.HavePrefix("SingleShot "), "it runs")
			w.judge(t, known, judged(url, v1alpha1.PathStreaming, 4500*time.Millisecond))
			g.Consistently(errand, "3s", often).Should(gomega.HavePrefix("SingleShot "), "trust that ends within the clock's tolerance")
		})
	}
}

// errands say what becomes of what an agent does, for an orchestrator that waits 2 s for a quiet agent and 8 s for an errand.
var errands = []struct {
	says, text string
	path       v1alpha1.DecisionPath
	is         []string
	// want is how its answer begins; tasks are how many the agent should have made.
	want  string
	tasks int
}{
	{"a question that it cannot answer, streamed", "book a trip", v1alpha1.PathStreaming, nil, "Streaming TASK_STATE_INPUT_REQUIRED", 1},
	{"a question that it cannot answer", "book a trip", v1alpha1.PathSingleShot, nil, "SingleShot TASK_STATE_INPUT_REQUIRED", 1},
	{"all inputs at once", "book a trip to Oslo", v1alpha1.PathSingleShot, nil, "SingleShot TASK_STATE_COMPLETED", 1},
	{"work without end, streamed", "count", v1alpha1.PathStreaming, nil, "failed: ", 1},
	{"work without end", "count", v1alpha1.PathSingleShot, nil, "failed: ", 1},
	{"a stream that withholds the end", "ping", v1alpha1.PathStreaming, []string{"withheld-end"}, "Streaming TASK_STATE_COMPLETED", 1},
	{"a stream that withholds the end and stays open", "ping", v1alpha1.PathStreaming, []string{"withheld-end-open"}, "Streaming TASK_STATE_COMPLETED", 1},
	{"an agent that never answers", "ping", v1alpha1.PathSingleShot, []string{"hangs"}, "failed: ", 0},
	{"a stream without an event", "ping", v1alpha1.PathStreaming, []string{"empty-stream"}, "failed: ", 0},
	{"a message in answer", "ping", v1alpha1.PathStreaming, []string{"messages"}, "Streaming message", 0},
	{"an answer that is no agent's", "ping", v1alpha1.PathSingleShot, []string{"posts-html"}, "failed: ", 0},
}

func TestOrchestratorsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if l.bounds == "" {
				t.Skip("the client has tests of its own for this")
			}
			urls, agents := make([]string, len(errands)), make([]*agent.Agent, len(errands))
			for i, e := range errands {
				agents[i] = agent.New(agent.Is(e.is...))
				urls[i] = agents[i].Start(t)
				w.knows(t, urls[i], judged(urls[i], e.path, time.Hour))
			}
			p := l.startImpatient(t, w.account(t, w.layFront(t), "agentpeer-orchestrator"))
			for i, e := range errands {
				t.Run(e.says, func(t *testing.T) {
					if got := p.errand(t, urls[i], e.text); !strings.HasPrefix(got, e.want) {
						t.Errorf("it said %q, want %q", got, e.want)
					}
					gomega.NewWithT(t).Eventually(func() int { return agents[i].Counts().Open }, "5s", often).
						Should(gomega.BeZero(), "tasks left open")
					if made := agents[i].Counts().Tasks; made != e.tasks {
						t.Errorf("%d tasks were made, want %d", made, e.tasks)
					}
				})
			}
		})
	}
}

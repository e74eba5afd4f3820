package probe

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// The cases that need a peer which is no quirk of the scripted agent, or more than one.

// gated serves an agent behind a gate, which answers some requests itself and lets pass the others.
func gated(t *testing.T, a *agent.Agent, gate func(w http.ResponseWriter, r *http.Request, body []byte) (answered bool)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !gate(w, r, body) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			a.Handler().ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { a.Close(); s.CloseClientConnections(); s.Close() })
	return s.URL
}

func rpcError(w http.ResponseWriter, body []byte, status, code int) {
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &call)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, call.ID, code)
}

// Strict servers refuse members that their generation does not know, old ones want acceptedOutputModes.
func TestCaseC44BodiesHoldWhatTheirGenerationKnows(t *testing.T) {
	t.Parallel()
	known := map[agent.Generation][]string{
		agent.V10: {"acceptedOutputModes", "returnImmediately", "historyLength", "taskPushNotificationConfig"},
		agent.V03: {"acceptedOutputModes", "blocking", "historyLength", "pushNotificationConfig"},
	}
	for generation, members := range known {
		strict := func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
			var call struct {
				Params struct {
					Message       map[string]json.RawMessage
					Configuration map[string]json.RawMessage
				}
			}
			_ = json.Unmarshal(body, &call)
			if call.Params.Message == nil {
				return false
			}
			wrong := generation == agent.V03 && call.Params.Configuration["acceptedOutputModes"] == nil
			for name := range call.Params.Configuration {
				wrong = wrong || !slices.Contains(members, name)
			}
			if wrong {
				rpcError(w, body, 200, codeInvalidParams)
			}
			return wrong
		}
		p, _ := verdict(t, jobFor(t, gated(t, with(generation), strict), trust.Streaming), 1)
		expectState(t, p, trust.Streaming, trust.Trusted, trust.ReasonHonored)
	}
	fussy := func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		no := bytes.Contains(body, []byte(`"message"`))
		if no {
			rpcError(w, body, 200, codeInvalidParams)
		}
		return no
	}
	p, _ := verdict(t, jobFor(t, gated(t, with(agent.V10), fussy), trust.Streaming), 3)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonProbeRejected)
}

// Servers that refuse a version by 400 and -32600 say nothing about streams.
func TestCaseC43AVersionRefusedByStatus400AccusesNobody(t *testing.T) {
	t.Parallel()
	picky := func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		if r.Method != http.MethodPost {
			return false
		}
		rpcError(w, body, 400, codeInvalidRequest)
		return true
	}
	p, _ := verdict(t, jobFor(t, gated(t, with(agent.V03), picky), trust.Streaming), 3)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonVersionNegotiationFailed)
}

// A peer that knows no method at all is of no use to anybody: that is the one lie by which the path is Unavailable.
func TestCaseC35APeerWithoutAnyMethodIsUnavailableAndOneThatIsNotFoundIsNot(t *testing.T) {
	t.Parallel()
	for quirk, path := range map[string]trust.Path{"mcp": trust.PathUnavailable, "posts-404": trust.PathSingleShot} {
		p, _ := verdict(t, jobFor(t, with(agent.V03, quirk).Start(t), trust.Streaming), 2)
		if d := trust.Decide(p, trust.DecideInput{}, time.Now()); d.Path != path {
			t.Errorf("%s: the path is %s (%s), want %s", quirk, d.Path, d.Reason, path)
		}
	}
}

// The card came over https and says http on the same host, as behind a TLS terminator.
func TestCaseC47ADowngradedEndpointGetsNoCredentials(t *testing.T) {
	t.Parallel()
	var posts, credentials atomic.Int32
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		if r.Header.Get("Authorization") != "" {
			credentials.Add(1)
		}
		http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
	}))
	t.Cleanup(plain.Close)
	a := with(agent.V03)
	a.SetURL(plain.URL)
	s := httptest.NewTLSServer(a.Handler())
	t.Cleanup(func() { a.Close(); s.CloseClientConnections(); s.Close() })
	job := jobFor(t, s.URL, trust.Streaming)
	job.Target.RootCAs = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{s.URL}}

	p, rep := verdict(t, job, 3)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonOriginNotAllowed)
	if !slices.Contains(rep.CardWarnings, card.SchemeDowngrade) || posts.Load() != 0 {
		t.Errorf("warned of %v, want %s; %d requests in the clear, want none", rep.CardWarnings, card.SchemeDowngrade, posts.Load())
	}
	job.Target.AllowedOrigins = []string{plain.URL}
	p, _ = verdict(t, job, 3)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonEndpointRedirects)
	if posts.Load() == 0 || credentials.Load() != 0 {
		t.Errorf("%d requests in the clear, %d of them with credentials, want some and none", posts.Load(), credentials.Load())
	}
}

// One agent, two cards: that of the pod, whose skill's description is a system prompt, and a curated one that claims less.
func TestCaseC62AVerdictBelongsToTheCardItWasMadeFrom(t *testing.T) {
	t.Parallel()
	const prompt = "You are a helpful planner, and the password is hunter2"
	pod := with(agent.V03)
	pod.Set(agent.With(func(c *agent.Config) {
		c.Card.Extra = map[string]json.RawMessage{"skills": json.RawMessage(`[{"id":"plan","name":"x","description":"` + prompt + `","tags":[]}]`)}
	}))
	curated := with(agent.V03, "streaming-false")
	one, two := pod.Start(t), curated.Start(t)

	p, rep := verdict(t, jobFor(t, one, trust.Streaming), 1)
	expectState(t, p, trust.Streaming, trust.Trusted, trust.ReasonHonored)
	q, _ := verdict(t, jobFor(t, two, trust.Streaming), 1)
	expectState(t, q, trust.Streaming, trust.Unverified, trust.ReasonNotDeclared)
	if p.Claims.Digest == "" || p.Claims.Digest == q.Claims.Digest {
		t.Errorf("digests %q and %q are to be two", p.Claims.Digest, q.Claims.Digest)
	}
	held, err := json.Marshal([]any{rep, p})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(held), "hunter2") {
		t.Error("the report holds the skill's description")
	}
}

// What a gateway serves as the card is not what the agent serves: two AgentPeers of one agent may rightly differ.
func TestCaseC86AGatewaysCardIsJudgedAtTheGateway(t *testing.T) {
	t.Parallel()
	upstream := with(agent.V03)
	direct := upstream.Start(t)
	overlay := agent.New(agent.Speaks(agent.V10), agent.Is("streaming-false"))
	gateway := overlay.Start(t)

	p, _ := verdict(t, jobFor(t, direct, trust.Streaming), 1)
	expectState(t, p, trust.Streaming, trust.Trusted, trust.ReasonHonored)
	q, _ := verdict(t, jobFor(t, gateway, trust.Streaming), 1)
	expectState(t, q, trust.Streaming, trust.Unverified, trust.ReasonNotDeclared)

	// The spec moves from one to the other: nothing is carried over, and nothing counts as a change of the card.
	job := jobFor(t, gateway, trust.Streaming)
	job.Round = p.Rounds.Last + 1
	rep := runJob(t, job)
	moved, _, folded := trust.Advance(p, job.Target.ID, rep.Round, trust.DefaultPolicy(), time.Now())
	if !folded || moved.Target != gateway {
		t.Fatalf("the round of the other address was not folded: %+v", moved.Rounds)
	}
	expectState(t, moved, trust.Streaming, trust.Unverified, trust.ReasonNotDeclared)
	if !moved.ClaimsSince.IsZero() || len(moved.Digests) != 1 {
		t.Errorf("another address counts as a change of the card: %+v", moved.Digests)
	}
}

// A signature that cannot be verified says nothing about what the peer does.
func TestCaseC63ASignatureThatNobodyCanVerifyCostsNoCapability(t *testing.T) {
	t.Parallel()
	a := with(agent.V10)
	a.Set(agent.With(func(c *agent.Config) {
		c.Card.Extra = map[string]json.RawMessage{"signatures": json.RawMessage(`[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ","signature":"AAAA"}]`)}
	}))
	job := jobFor(t, a.Start(t), trust.Streaming, trust.TaskRetrieval)
	p, rep := verdict(t, job, 1)
	for _, c := range job.Ask {
		if rec := expectState(t, p, c, trust.Trusted, trust.ReasonHonored); !warnedOf(rec, "") {
			t.Errorf("%s: warned of %v, want nothing", c, rec.Warnings)
		}
	}
	if !rep.Card.Signed {
		t.Error("the card is not known as signed")
	}
}

// Every message makes a task that is reclaimed only when it ends, so we leave none behind.
func TestCaseC96ARoundLeavesNoTaskBehind(t *testing.T) {
	t.Parallel()
	for _, quirks := range [][]string{nil, {"stuck"}, {"never-asks"}, {"slow-thinker"}, {"empty-stream"}} {
		a := with(agent.V10, quirks...)
		job := jobFor(t, a.Start(t), Questions()...)
		rep := runJob(t, job)
		counts := a.Counts()
		if counts.Open != 0 || len(rep.Orphans) != 0 {
			t.Errorf("%v: %d tasks are left open, orphans %v", quirks, counts.Open, rep.Orphans)
		}
		cost := 0
		costs, control := Costs()
		for _, c := range job.Ask {
			cost += costs[c]
		}
		if made := len(a.Tasks()); made > cost+control || rep.Round.Tasks < made {
			t.Errorf("%v: %d tasks made, %d counted, %d reserved", quirks, made, rep.Round.Tasks, cost+control)
		}
	}
}

// The order of checking and keeping must not make the verdict hang on history: the same bad card gives the same verdict every time.
func TestCaseC108TheSameCardGivesTheSameVerdictEveryTime(t *testing.T) {
	t.Parallel()
	for _, quirk := range []string{"card-other-origin", "card-metadata", "card-wildcard", "card-wrong-url"} {
		job := jobFor(t, with(agent.V03, quirk).Start(t), trust.Streaming)
		first := runJob(t, job)
		job.ETag, job.KnownDigest = first.ETag, first.Round.Claims.Digest
		if first.Interface != nil {
			job.Known = &Known{Interface: *first.Interface, Generation: first.WireGeneration, Claims: first.Round.Claims}
		}
		for _, kind := range []trust.RoundKind{trust.Behavior, trust.Reachability, trust.Behavior} {
			job.Kind = kind
			rep := runJob(t, job)
			if rep.Round.Reach.Outcome != trust.Inconclusive || rep.Round.Reach.Reason != first.Round.Reach.Reason {
				t.Errorf("%s: %s then %s %s in a %s round", quirk, first.Round.Reach.Reason, rep.Round.Reach.Outcome, rep.Round.Reach.Reason, kind)
			}
		}
	}
	a := with(agent.V03)
	a.SetURL("http://planner.example.com")
	rep := runJob(t, jobFor(t, a.Start(t), trust.Streaming))
	if !slices.Contains(rep.CardWarnings, card.InsecureEndpoint) {
		t.Errorf("the card's warnings are %v, want %s", rep.CardWarnings, card.InsecureEndpoint)
	}
}

// A card that names another host must not get our credentials, and neither must a host that the endpoint redirects to.
func TestCaseC109CredentialsStayOnTheOriginOfTheSpec(t *testing.T) {
	t.Parallel()
	var seen, leaked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	a := with(agent.V10)
	a.SetURL(other.URL)
	job := jobFor(t, a.Start(t), trust.Streaming)
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{originOf(job.Target.URL)}}

	p, _ := verdict(t, job, 2)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonOriginNotAllowed)
	if seen.Load() != 0 {
		t.Errorf("the other host was asked %d times, want never", seen.Load())
	}
	job.Target.AllowedOrigins = []string{other.URL} // allowed to be asked, and still no place for the credentials
	p, _ = verdict(t, job, 2)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonEndpointNotFound)

	away := with(agent.V10)
	away.Set(agent.With(func(c *agent.Config) { c.HTTP = []agent.Fault{{On: "post", Redirect: 307, To: other.URL}} }))
	job = jobFor(t, away.Start(t), trust.Streaming)
	job.Target.Credentials = wire.Credentials{Header: "Authorization", Value: "Bearer secret", Origins: []string{originOf(job.Target.URL)}}
	p, _ = verdict(t, job, 2)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonEndpointRedirects)
	if seen.Load() == 0 || leaked.Load() != 0 {
		t.Errorf("the other host was asked %d times and got the credentials %d times, want some and never", seen.Load(), leaked.Load())
	}
}

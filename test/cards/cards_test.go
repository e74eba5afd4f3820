package cards_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/test/agent"
)

func TestSecurityCardIsForServiceAccountsThatMayGetThePeer(t *testing.T) {
	w := enter(t)
	replica := w.replica()
	a := agent.New()
	w.decide(w.peer("planner", a.Start(t)), v1alpha1.PathStreaming, "StreamingTrusted")
	at := w.base(replica, "planner") + ".well-known/agent-card.json"
	list := replica + "/peers/" + w.namespace

	// A token that the API server takes is not of our audience, whether it names one or not.
	ownAudience := w.tokenOf("orchestrator")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: ownAudience}}
	if err := w.Client.Create(t.Context(), review); err != nil || !review.Status.Authenticated {
		t.Fatalf("the API server does not take its own token: %v %+v", err, review.Status)
	}
	for name, tc := range map[string]struct {
		url, token string
		want       int
		says       string
	}{
		"with the right":                      {at, w.token, 200, `"streaming":true`},
		"without a token":                     {at, "", 401, "audience agentpeer"},
		"with the API server's token":         {at, ownAudience, 401, "audience agentpeer"},
		"with a token for others too":         {at, w.tokenOf("orchestrator", "agentpeer", review.Status.Audiences[0]), 401, ""},
		"with a token for others":             {at, w.tokenOf("orchestrator", "vault"), 401, ""},
		"with a token that somebody made up":  {at, w.token[:len(w.token)-4] + "AAAA", 401, ""},
		"without the right":                   {at, w.tokenOf("nobody", "agentpeer"), 403, "may not get agentpeers.trust.agentpeer.dev planner"},
		"to get one is not to list all":       {list, w.token, 403, "may not list"},
		"of another namespace":                {replica + "/peers/default/planner/.well-known/agent-card.json", w.token, 403, "in namespace default"},
		"of one that is not there":            {w.base(replica, "nobody") + ".well-known/agent-card.json", w.token, 404, "create it"},
		"healthz":                             {replica + "/healthz", "", 200, "ok"},
		"a base URL without a slash, from JS": {replica + "/peers/" + w.namespace + "/.well-known/agent-card.json", w.token, 404, "slash"},
	} {
		got := w.get(tc.url, tc.token)
		if got.StatusCode != tc.want || !strings.Contains(string(got.body), tc.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, got.StatusCode, got.body, tc.want, tc.says)
		}
	}
	// And ours opens nothing at the API server.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Config.Host+"/apis/trust.agentpeer.dev/v1alpha1/namespaces/"+w.namespace+"/agentpeers/planner", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	anonymous := *w.Config
	anonymous.CertData, anonymous.KeyData, anonymous.CertFile, anonymous.KeyFile = nil, nil, "", ""
	c := httpClient(t, &anonymous)
	if response, err := c.Do(r); err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("our token at the API server: %v %v, want 401", response, err)
	}
	// The right to list opens the list.
	w.create(&rbacv1.Role{ObjectMeta: w.named("lister"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"trust.agentpeer.dev"}, Resources: []string{"agentpeers"}, Verbs: []string{"list"}}}},
		&rbacv1.RoleBinding{ObjectMeta: w.named("lister"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "lister"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: "nobody"}}})
	lister := w.tokenOf("nobody", "agentpeer")
	gomega.NewWithT(t).Eventually(func() int { return w.get(list, lister).StatusCode }).WithTimeout(30 * time.Second).Should(gomega.Equal(200))
	if got := w.get(list, lister); !strings.Contains(string(got.body), `"name":"planner","path":"Streaming"`) {
		t.Errorf("list: %s", got.body)
	}
}

func TestAChangeOfStatusShowsWithinASecond(t *testing.T) {
	w := enter(t)
	replica := w.replica()
	a := agent.New()
	p := w.peer("planner", a.Start(t))
	if got := w.card(replica, "planner", w.token); got.StatusCode != 503 || got.Header.Get("Retry-After") == "" || !strings.Contains(string(got.body), "CardNotJudged") {
		t.Errorf("before any verdict: %d %s", got.StatusCode, got.body)
	}
	w.decide(p, v1alpha1.PathStreaming, "StreamingTrusted")
	w.within(replica, "planner", true)
	for i := range 6 {
		path, reason := v1alpha1.PathSingleShot, v1alpha1.Reason("StreamingDemoted")
		if i%2 == 1 {
			path, reason = v1alpha1.PathStreaming, "StreamingTrusted"
		}
		w.decide(p, path, reason)
		w.within(replica, "planner", path == v1alpha1.PathStreaming)
	}
	if n := a.Counts().Requests["card"]; n > 12 { // half of them are decide's own
		t.Errorf("the agent was asked for its card %d times", n)
	}
}

// within looks until the card says so, for a second.
func (w *world) within(replica, name string, streaming bool) {
	w.Helper()
	gomega.NewWithT(w).Eventually(func() bool {
		got := w.card(replica, name, w.token)
		return got.StatusCode == 200 && got.streaming() == streaming
	}).
		WithTimeout(time.Second).WithPolling(10 * time.Millisecond).Should(gomega.BeTrue())
}

func TestAPeerThatLeavesOrChangesIsServedAsItWasJudged(t *testing.T) {
	w := enter(t)
	replica := w.replica()
	a := agent.New()
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	base := server.URL
	a.SetURL(base)
	p := w.peer("planner", base)
	w.decide(p, v1alpha1.PathStreaming, "StreamingTrusted")
	w.within(replica, "planner", true)

	// Status is about claims that the agent does not serve: what was judged of them says nothing of the card that is held.
	other := agent.New(agent.With(func(c *agent.Config) { c.Card.StateTransitionHistory = []byte("true") }))
	w.write(p, v1alpha1.PathStreaming, "StreamingTrusted", w.digest(other.Start(t)))
	w.within(replica, "planner", false)
	got := w.card(replica, "planner", w.token)
	if got.Header.Get("AgentPeer-Card") != "last-judged" || got.Header.Get("AgentPeer-Reason") != "CardChanged" || got.Header.Get("AgentPeer-Path") != "SingleShot" {
		t.Errorf("another digest: %v", got.Header)
	}

	// Back, and then the agent is gone: the card stays, and its trust as long as status says so.
	w.decide(p, v1alpha1.PathStreaming, "StreamingTrusted")
	w.within(replica, "planner", true)
	digest := w.digest(base)
	server.Close()
	if got := w.card(replica, "planner", w.token); !got.streaming() {
		t.Errorf("gone: %d %s", got.StatusCode, got.body)
	}
	w.write(p, v1alpha1.PathSingleShot, "StreamingUnverified", digest)
	w.within(replica, "planner", false)

	// A replica that never saw it has no card to serve, and says so in time.
	late := w.replica()
	if got := w.card(late, "planner", w.token); got.StatusCode != 503 || got.Header.Get("Retry-After") == "" || !strings.Contains(string(got.body), "Unreachable") || got.took > 5*time.Second {
		t.Errorf("a replica that never saw it: %d %s after %s", got.StatusCode, got.body, got.took)
	}
}

func TestAHungPeerHoldsUpNobodyElse(t *testing.T) {
	w := enter(t)
	replica := w.replica()
	honest, hung := agent.New(), agent.New()
	base := honest.Start(t)
	w.decide(w.peer("planner", base), v1alpha1.PathStreaming, "StreamingTrusted")
	p := w.peer("hung", hung.Start(t))
	hung.Set(agent.Preset("hung"))
	w.write(p, v1alpha1.PathStreaming, "StreamingTrusted", w.digest(base))
	w.within(replica, "planner", true)
	done := make(chan answer, 8)
	for range cap(done) {
		go func() { done <- w.card(replica, "hung", w.token) }()
	}
	for range 20 {
		if got := w.card(replica, "planner", w.token); got.StatusCode != 200 || got.took > time.Second {
			t.Errorf("beside a hung one: %d after %s", got.StatusCode, got.took)
		}
	}
	for range cap(done) {
		if got := <-done; got.StatusCode != 503 || got.took > 6*time.Second {
			t.Errorf("hung: %d after %s", got.StatusCode, got.took)
		}
	}
}

// A card that says several things at once is served as it was judged, whoever reads it.
func TestAHostileCardPromisesNothingToAnybody(t *testing.T) {
	w := enter(t)
	replica := w.replica()
	hostile := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`{"protocolVersion":"0.3.0","url":"/rpc","URL":"https://evil.example.com","capabilities":{"streaming":false,"Streaming":true,"push_notifications":true,` +
			`"streaming":true,"stre\u0061ming":"yes"},"Capabilities":{"streaming":true},"additionalInterfaces":[{"url":"https://evil.example.com/rpc","transport":"JSONRPC"}],` +
			`"signatures":[{"signature":"x"}],"description":"\u001b[2J"}`))
	}))
	t.Cleanup(hostile.Close)
	address := hostile.URL
	w.decide(w.peer("hostile", address), v1alpha1.PathStreaming, "StreamingTrusted")
	var got answer
	gomega.NewWithT(t).Eventually(func() int { got = w.card(replica, "hostile", w.token); return got.StatusCode }).WithTimeout(10 * time.Second).Should(gomega.Equal(200))
	source, err := url.Parse(replica + "/card")
	if err != nil {
		t.Fatal(err)
	}
	c, err := card.Parse(got.body, source)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(string(got.body))
	if strings.Contains(text, "evil") || strings.Contains(text, "true") || strings.Contains(text, "yes") || c.Signed || len(c.Interfaces) != 1 || c.Interfaces[0].URL.String() != address+"/rpc" {
		t.Errorf("served: %s", got.body)
	}
	for name, values := range got.Header {
		if strings.Contains(strings.Join(values, ""), "evil") {
			t.Errorf("%s: %v", name, values)
		}
	}
}

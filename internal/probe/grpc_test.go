package probe

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// behindTLS serves an agent by HTTPS, HTTP/2 included, and returns its base URL and its certificate.
func behindTLS(t *testing.T, a *agent.Agent) (base string, ca []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(a.Handler())
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		a.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// A gRPC peer behind TLS with a CA of its own is judged by whoever has the CA, and accused by nobody.
func TestGRPCPeerBehindTLS(t *testing.T) {
	t.Parallel()
	a := with(agent.V10, "grpc-only")
	base, ca := behindTLS(t, a)
	job := jobFor(t, base, everyPeerHas...)
	job.Target.RootCAs = ca
	rep := runJob(t, job)
	for _, c := range everyPeerHas {
		check(t, rep, c, expectation{outcome: trust.Honored})
	}
	if n := a.Counts().Requests["SendStreamingMessage"]; n == 0 || a.Counts().Requests["other"] > 0 {
		t.Errorf("requests: %v", a.Counts().Requests)
	}
}

// The card is in the open and its gRPC interface elsewhere: without leave it is not asked; without its CA, or where there is no TLS, it is
// not reached. None of it is a contradiction.
func TestGRPCInterfaceOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	secure := with(agent.V10, "grpc-only")
	there, ca := behindTLS(t, secure)
	plain := with(agent.V10, "grpc-only").Start(t)
	host := func(base string) string { return base[strings.Index(base, "://")+3:] }
	for name, tc := range map[string]struct {
		at      string
		allowed []string
		ca      []byte
		want    expectation
	}{
		"not allowed":                           {there, nil, ca, expectation{trust.Inconclusive, trust.ReasonOriginNotAllowed, nil}},
		"allowed, and its CA is known":          {there, []string{there}, ca, expectation{outcome: trust.Honored}},
		"allowed, and its CA is not known":      {there, []string{there}, nil, expectation{trust.Inconclusive, trust.ReasonUnreachable, nil}},
		"allowed by the wrong scheme":           {there, []string{"http://" + host(there)}, ca, expectation{trust.Inconclusive, trust.ReasonOriginNotAllowed, nil}},
		"without TLS":                           {plain, []string{plain}, nil, expectation{outcome: trust.Honored}},
		"without a scheme, as safe as the card": {host(plain), []string{plain}, nil, expectation{outcome: trust.Honored}},
		"TLS where there is none":               {"https://" + host(plain), []string{"https://" + host(plain)}, nil, expectation{trust.Inconclusive, trust.ReasonUnreachable, nil}},
		"no TLS where there is one":             {"http://" + host(there), []string{"http://" + host(there)}, nil, expectation{trust.Inconclusive, trust.ReasonUnreachable, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := json.Marshal([]map[string]string{{"url": tc.at, "protocolBinding": "GRPC", "protocolVersion": "1.0"}})
			if err != nil {
				t.Fatal(err)
			}
			front := with(agent.V10)
			front.Set(agent.With(func(c *agent.Config) { c.Card.Interfaces = list }))
			job := jobFor(t, front.Start(t), trust.Streaming)
			job.Target.AllowedOrigins, job.Target.RootCAs = tc.allowed, tc.ca
			check(t, runJob(t, job), trust.Streaming, tc.want)
		})
	}
}

// A gRPC interface without a version is asked what it speaks: 1.0's service first, then 0.3's, which 0.2 shares.
func TestGRPCInterfaceWithoutAVersionIsAskedWhatItSpeaks(t *testing.T) {
	t.Parallel()
	for g, want := range map[agent.Generation]string{agent.V10: "1.0", agent.V03: "0.2"} {
		a := with(g, "grpc-only")
		base := a.Start(t)
		list, err := json.Marshal([]map[string]string{{"url": base, "protocolBinding": "GRPC"}})
		if err != nil {
			t.Fatal(err)
		}
		a.Set(agent.With(func(c *agent.Config) {
			c.Card.Generation, c.Card.Interfaces, c.Also = agent.V10, list, nil
			if g == agent.V03 {
				c.Also = []agent.Generation{agent.V02}
			}
		}))
		rep := runJob(t, jobFor(t, base, trust.Streaming))
		if string(rep.WireGeneration) != want {
			t.Errorf("%s is taken for %q", g, rep.WireGeneration)
		}
		check(t, rep, trust.Streaming, expectation{outcome: trust.Honored})
	}
}

// Webhooks are registered by gRPC too, and what is made of them is what the other bindings make.
func TestPushNotificationsByGRPC(t *testing.T) {
	t.Parallel()
	r := receiver(t)
	for _, c := range pushCases {
		if c.gen != agent.V10 && c.gen != agent.V03 {
			continue // 0.2's gRPC is 0.3's, and 0.1 has none
		}
		t.Run(string(c.gen)+" "+strings.Join(c.quirks, " "), func(t *testing.T) {
			t.Parallel()
			a := with(c.gen, append([]string{"grpc-only"}, c.quirks...)...)
			check(t, runPush(t, pushJob(t, a.Start(t)), r), trust.PushNotifications, expectation{c.outcome, c.reason, c.warns})
		})
	}
}

// So is the extended card asked for.
func TestExtendedCardByGRPC(t *testing.T) {
	t.Parallel()
	for _, g := range []agent.Generation{agent.V10, agent.V03} {
		for quirk, want := range map[string]expectation{
			"extended":          {outcome: trust.Honored},
			"declares-extended": {outcome: trust.Diverged, reason: trust.ReasonExtendedCardNotConfigured},
			"extended-fails":    {outcome: trust.Inconclusive, reason: trust.ReasonAgentFailing},
			"extended-unsaid":   {outcome: trust.Honored, warns: []trust.Reason{trust.WarnUndeclaredButWorks}},
		} {
			a := with(g, "grpc-only", quirk)
			job := jobFor(t, a.Start(t), trust.ExtendedAgentCard)
			loggedIn(&job)
			check(t, runJob(t, job), trust.ExtendedAgentCard, want)
		}
	}
}

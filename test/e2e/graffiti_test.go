package e2e_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/test/agent"
)

// graffiti is what these peers write wherever they can.
const graffiti = "kilroy-was-here"

// paint serves an agent and writes graffiti into all that it says: names, descriptions, texts, errors, headers, and, as
// more asks for, into what the protocol gives a meaning.
func paint(t *testing.T, a *agent.Agent, more ...string) string {
	t.Helper()
	words := strings.NewReplacer(append([]string{
		`"name":"`, `"name":"` + graffiti + " ",
		`"description":"`, `"description":"` + graffiti + " ",
		`"text":"`, `"text":"` + graffiti + " ",
		`"message":"`, `"message":"` + graffiti + " ",
		`"artifactId":"`, `"artifactId":"` + graffiti + " ",
		`Welcome`, graffiti,
		`unauthorized`, graffiti,
	}, more...)...)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Server", "WWW-Authenticate", "Warning", "Retry-After", "X-Request-Id", "Set-Cookie"} {
			out.Header().Set(name, `Bearer realm="`+graffiti+`"`)
		}
		a.Handler().ServeHTTP(painter{out, words}, r)
	}))
	t.Cleanup(func() {
		a.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

type painter struct {
	http.ResponseWriter
	words *strings.Replacer
}

// Unwrap lets ResponseController find Flush.
func (p painter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p painter) Write(b []byte) (int, error) {
	painted := bytes.NewBufferString(p.words.Replace(string(b)))
	if _, err := p.ResponseWriter.Write(painted.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func TestNothingThatAPeerSaysReachesStatusEventsOrLogs(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	is := func(quirks ...string) *agent.Agent { return agent.New(agent.Is(quirks...)) }
	moved := agent.With(func(c *agent.Config) {
		c.HTTP = append(c.HTTP, agent.Fault{On: "post", Redirect: http.StatusFound, To: "http://" + graffiti + ".example.invalid/" + graffiti})
	})
	card := agent.With(func(c *agent.Config) {
		c.Card.Raw = `{"name":"x","description":"x","url":"http://` + graffiti + `.example.invalid/","preferredTransport":"` + graffiti +
			`","protocolVersion":"` + graffiti + `","supportedInterfaces":[{"url":"{{URL}}","protocolBinding":"` + graffiti +
			`","protocolVersion":"` + graffiti + `"}],"capabilities":{"streaming":"` + graffiti + `"},"skills":[{"id":"` + graffiti + ` !"}]}`
	})
	type painted struct {
		name  string
		url   string
		wants string
	}
	peers := []painted{
		{name: "honest", url: paint(t, is()), wants: "Trusted"},
		{name: "refuses", url: paint(t, is("refuses-stream")), wants: "Demoted/StreamingRefused"},
		{name: "empty", url: paint(t, is("empty-stream")), wants: "Demoted/StreamEmpty"},
		{name: "states", url: paint(t, is(), "TASK_STATE_WORKING", graffiti, "TASK_STATE_COMPLETED", graffiti)},
		{name: "kinds", url: paint(t, is(), `"statusUpdate"`, `"`+graffiti+`"`, `"artifactUpdate"`, `"`+graffiti+`"`)},
		{name: "fails", url: paint(t, is("stream-fails"))},
		{name: "methods", url: paint(t, is("mcp"))},
		{name: "broken", url: paint(t, is("malformed-event"))},
		{name: "page", url: paint(t, is("posts-html"), "text/html", "text/"+graffiti)},
		{name: "guarded", url: paint(t, is("posts-token"))},
		{name: "moved", url: paint(t, agent.New(moved))},
		{name: "card", url: paint(t, agent.New(card))},
		{name: "cut", url: paint(t, is("malformed-card"))},
	}
	for _, p := range peers {
		w.apply(t, namespace, peer{name: p.name, url: p.url})
	}
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)

	for _, p := range peers {
		if p.wants != "" {
			w.becomes(t, namespace, p.name, verdict("Streaming"), p.wants, "Streaming")
		}
		gomega.NewWithT(t).Eventually(func() string {
			got := w.get(t, namespace, p.name)
			if behaviors(got) > 1 {
				return "looked at"
			}
			return verdict("Streaming")(got)
		}, within, often).ShouldNot(gomega.BeEmpty(), "what is known of %s", p.name)
	}
	for _, where := range w.says(t, h, namespace, graffiti) {
		t.Errorf("what the peer says stands in %s", where)
	}
	for line := range strings.Lines(o.log.String()) {
		if strings.Contains(strings.ToLower(line), graffiti) {
			t.Errorf("what the peer says stands in the log: %.500s", line)
		}
	}
}

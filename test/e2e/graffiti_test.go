package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/ports"
)

// graffiti is what these peers write wherever they can, with the name of the place after it.
const graffiti = "kilroy-was-here"

// strangeID is no id of the safe alphabet.
const strangeID = graffiti + `-id é!`

// words are what peers write into their answers: into each member a text of its own.
func words(more ...string) *strings.Replacer {
	pairs := more
	for _, member := range []string{"name", "description", "text", "message", "artifactId", "version", "documentationUrl"} {
		pairs = append(pairs, `"`+member+`":"`, `"`+member+`":"`+graffiti+"-"+member+" ")
	}
	return strings.NewReplacer(append(pairs,
		`"artifact":{`, `"artifact":{"metadata":{"`+graffiti+`-key":"`+graffiti+`-metadata"},"extensions":["https://`+graffiti+`-extension.example/"],`,
		`Welcome`, graffiti+"-page", `unauthorized`, graffiti+"-body")...)
}

// vandal serves an agent and writes into all that it says: bodies, headers, cookies, trailers.
func vandal(a *agent.Agent, words *strings.Replacer) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Server", "WWW-Authenticate", "Warning", "Retry-After", "X-Request-Id", "Set-Cookie", "Link", graffiti + "-Header"} {
			out.Header().Set(name, `Bearer realm="`+graffiti+"-"+name+`"`)
		}
		a.Handler().ServeHTTP(painter{out, words}, r)
		out.Header().Set(http.TrailerPrefix+"X-"+graffiti, graffiti+"-trailer")
	})
}

// serveOnLoopback serves a peer until the test ends.
func serveOnLoopback(t *testing.T, a *agent.Agent, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = agent.Protocols()
	s.Start()
	t.Cleanup(func() {
		a.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func paint(t *testing.T, a *agent.Agent, more ...string) string {
	t.Helper()
	return serveOnLoopback(t, a, vandal(a, words(more...)))
}

type painter struct {
	http.ResponseWriter
	words *strings.Replacer
}

// Unwrap lets ResponseController find Flush.
func (p painter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p painter) Write(b []byte) (int, error) {
	if strings.HasPrefix(p.Header().Get("Content-Type"), "application/grpc") {
		return p.ResponseWriter.Write(b) // lengths are part of it
	}
	if _, err := io.WriteString(p.ResponseWriter, p.words.Replace(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// failsByGRPC serves a card that names gRPC, and fails every call with a status that says all it can.
func failsByGRPC(t *testing.T) string {
	t.Helper()
	a := agent.New(agent.With(func(c *agent.Config) { c.Bindings = []string{"GRPC"} }))
	inner := vandal(a, words())
	return serveOnLoopback(t, a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			inner.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "13")
		w.Header().Set("Grpc-Message", graffiti+"-grpc-message")
		w.Header().Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString([]byte("\x08\x0d\x12\x20"+graffiti+"-grpc-details-a")))
	}))
}

// sends answers every request with bytes of its own.
func sends(t *testing.T, answer string) string {
	t.Helper()
	return serveOnLoopback(t, agent.New(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}))
}

// tells is a card with graffiti in each member that a card has. A skill's input mode that is a media type would stand in status, for those
// who route by it; what is none must not.
func tells(c *agent.Config) {
	c.Card.Extra = map[string]json.RawMessage{}
	for member, text := range map[string]string{
		"provider":           `{"organization":"K-organization","url":"https://K-provider.example/"}`,
		"iconUrl":            `"https://K-icon.example/"`,
		"defaultOutputModes": `["text/K-mode"]`,
		"securitySchemes":    `{"K-scheme":{"httpAuthSecurityScheme":{"scheme":"K-http","description":"K-how","bearerFormat":"K-format"}}}`,
		"security":           `[{"schemes":{"K-scheme":{"list":["K-scope"]}}}]`,
		"signatures":         `[{"protected":"K-protected","signature":"K-signature","header":{"K-member":"K-header"}}]`,
		"skills": `[{"id":"K !","name":"K-skill","description":"K-skill-description","tags":["K-tag"],"examples":["K-example"],
			"inputModes":["K input"],"outputModes":["text/K-output"]}]`,
		"K-unknown": `{"K-a":["K-b"]}`,
	} {
		c.Card.Extra[strings.ReplaceAll(member, "K", graffiti)] = json.RawMessage(strings.ReplaceAll(text, "K", graffiti))
	}
}

func TestSecurityLeaksOfWhatPeersSay(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	seen := w.record(t, namespace)
	is := func(quirks ...string) *agent.Agent { return agent.New(agent.Is(quirks...)) }
	with := func(f func(*agent.Config)) *agent.Agent { return agent.New(agent.With(f)) }
	moved := func(c *agent.Config) {
		c.HTTP = append(c.HTTP, agent.Fault{On: "post", Redirect: http.StatusFound, To: "http://" + graffiti + ".example.invalid/" + graffiti})
	}
	card := func(c *agent.Config) {
		c.Card.Raw = `{"name":"x","description":"x","url":"http://` + graffiti + `.example.invalid/","preferredTransport":"` + graffiti +
			`","protocolVersion":"` + graffiti + `","supportedInterfaces":[{"url":"{{URL}}","protocolBinding":"` + graffiti +
			`","protocolVersion":"` + graffiti + `"}],"capabilities":{"streaming":"` + graffiti + `"},"skills":[{"id":"` + graffiti + ` !"}]}`
	}
	const errorData = `"error":{"data":[{"@type":"type.googleapis.com/` + graffiti + `","reason":"` + graffiti + `-reason","metadata":{"` + graffiti + `":"` +
		graffiti + `"}}],`
	internal := ports.Closed(t)
	_, port, err := net.SplitHostPort(internal)
	if err != nil {
		t.Fatal(err)
	}
	type painted struct {
		name, url, wants, more string
	}
	peers := []painted{
		{name: "honest", url: paint(t, is()), wants: "Trusted"},
		{name: "refuses", url: paint(t, is("refuses-stream")), wants: "Demoted/StreamingRefused"},
		{name: "empty", url: paint(t, is("empty-stream")), wants: "Demoted/StreamEmpty"},
		{name: "card-full", url: paint(t, with(tells)), wants: "Trusted"},
		{name: "tenant", url: paint(t, with(func(c *agent.Config) { c.Card.Tenant = graffiti + "-tenant" }))},
		{name: "rest", url: paint(t, with(func(c *agent.Config) { c.Bindings = []string{"HTTP+JSON"} })), wants: "Trusted"},
		{name: "grpc", url: paint(t, with(func(c *agent.Config) { c.Bindings = []string{"GRPC"} })), wants: "Trusted"},
		{name: "grpc-fails", url: failsByGRPC(t)},
		{name: "ids", url: paint(t, is(), `"taskId":"`, `"taskId":"`+strangeID, `"id":"task`, `"id":"`+strangeID+`task`, `"contextId":"`, `"contextId":"`+strangeID)},
		{name: "states", url: paint(t, is(), "TASK_STATE_WORKING", graffiti, "TASK_STATE_COMPLETED", graffiti)},
		{name: "kinds", url: paint(t, is(), `"statusUpdate"`, `"`+graffiti+`"`, `"artifactUpdate"`, `"`+graffiti+`"`)},
		{name: "frames", url: paint(t, is(), "data: ", ": "+graffiti+"-comment\nid: "+graffiti+"-sse-id\ndata: ")},
		{name: "frames-named", url: paint(t, is(), "data: ", "event: "+graffiti+"-event\nretry: "+graffiti+"\n"+graffiti+"-field: x\ndata: ")},
		{name: "fails", url: paint(t, is("stream-fails"))},
		{name: "fails-with-data", url: paint(t, is("fails-always"), `"error":{`, errorData)},
		{name: "methods", url: paint(t, is("mcp"))},
		{name: "broken", url: paint(t, is("malformed-event"))},
		{name: "page", url: paint(t, is("posts-html"), "text/html", "text/"+graffiti)},
		{name: "guarded", url: paint(t, is("posts-token"))},
		{name: "pushes", url: paint(t, is("push"))},
		{name: "moved", url: paint(t, with(moved))},
		{name: "card", url: paint(t, with(card))},
		{name: "cut", url: paint(t, is("malformed-card"))},
		{name: "phrase", url: sends(t, "HTTP/1.1 503 "+graffiti+"-phrase\r\nRetry-After: "+graffiti+"\r\nContent-Length: 0\r\n\r\n")},
		{name: "no-http", url: sends(t, graffiti+"-protocol 200\r\n\r\n")},
		{name: "bad-length", url: sends(t, "HTTP/1.1 200 OK\r\nContent-Length: "+graffiti+"\r\n\r\n")},
		{name: "bad-chunk", url: sends(t, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+graffiti+"\r\n")},
		{name: "bad-encoding", url: sends(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+graffiti+"\r\n\r\n")},
		{name: "bad-header", url: sends(t, "HTTP/1.1 200 OK\r\n"+graffiti+" without colon\r\n\r\n")},
		{name: "internal", url: "http://localhost:" + port},
		{name: "untrusted", url: stranger(t)},
	}
	for _, p := range peers {
		w.apply(t, namespace, peer{name: p.name, url: p.url, more: p.more})
	}
	metrics, health, calls := freePort(t), freePort(t), freePort(t)
	local := func(port int, path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", port, path) }
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace, "--allow-http-hosts", "127.0.0.1,localhost",
		"--zap-log-level", "10", "--zap-devel", "--metrics-bind-address", fmt.Sprintf("127.0.0.1:%d", metrics), "--metrics-secure=false",
		"--health-probe-bind-address", fmt.Sprintf("127.0.0.1:%d", health),
		"--callback-url", local(calls, "/calls"), "--callback-bind-address", fmt.Sprintf("127.0.0.1:%d", calls))

	for _, p := range peers {
		if p.wants != "" {
			w.becomes(t, namespace, p.name, verdict("Streaming"), p.wants, "Streaming of "+p.name)
		}
		gomega.NewWithT(t).Eventually(func() bool {
			got := w.get(t, namespace, p.name)
			return behaviors(got) > 1 || verdict("Streaming")(got) != "" || condition("Reachable")(got) != ""
		}, within, often).Should(gomega.BeTrue(), "what is known of %s", p.name)
	}
	wall := newHunt(map[string]string{"what a peer says": graffiti, "the address of an internal host": internal})
	for _, path := range []string{"/", "/calls", "/calls/" + graffiti, "/calls?" + graffiti} {
		wall.inHTTP(t, http.MethodPost, local(calls, path), `{"`+graffiti+`":"`+graffiti+`"}`)
		wall.inHTTP(t, http.MethodGet, local(calls, path), "")
	}
	wall.inHTTP(t, http.MethodGet, local(health, "/healthz?verbose"), "")
	wall.inHTTP(t, http.MethodGet, local(health, "/readyz?verbose"), "")
	if text := wall.inHTTP(t, http.MethodGet, local(metrics, "/metrics"), ""); !strings.Contains(text, "agentpeer_") {
		t.Error("there are no metrics to look at")
	}
	wall.inCluster(t, w, seen, namespace)
	for line := range strings.Lines(o.log.String()) {
		wall.in("the log", line)
	}
	wall.report(t)
}

package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Secrets that must stay between us and the one origin they are for.
const (
	bearerWord   = "bearer-wOrd-7Qm2xR9tVb"
	headerWord   = "header-wOrd-K4ns8PzLc1"
	queryWord    = "query+wOrd/3Hd6YwGf0="
	userWord     = "user-wOrd-Xe5jUa2N"
	passwordWord = "password:wOrd-T8rMk1B"
	clientWord   = "client-wOrd&Sv9oZq4Dh="
	accessWord   = "access-wOrd-6LyCi3Ep0W"
)

func secretWords() map[string]string {
	return map[string]string{"the bearer token": bearerWord, "the header's value": headerWord, "the query's value": queryWord, "the user name": userWord,
		"the password": passwordWord, "the client's secret": clientWord, "the access token": accessWord}
}

// keyring is one way to show who we are: as an AgentPeer has it, as flags, and how the server finds it.
type keyring struct {
	name, spec string
	flags      func(file func(string) string) []string
	shown      func(*http.Request) string
	word       string
}

func keyrings(tokenURL string) []keyring {
	authorization := func(r *http.Request) string { return r.Header.Get("Authorization") }
	return []keyring{
		{"bearer", "{type: Bearer, bearer: {secretRef: {name: words, key: bearer}}}",
			func(file func(string) string) []string { return []string{"--bearer-token-file", file(bearerWord)} }, authorization, "Bearer " + bearerWord},
		{"header", "{type: Header, header: {name: X-Api-Key, secretRef: {name: words, key: header}}}",
			func(file func(string) string) []string {
				return []string{"--header-file", "X-Api-Key=" + file(headerWord)}
			},
			func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, headerWord},
		{"query", "{type: Query, query: {name: api_key, secretRef: {name: words, key: query}}}",
			func(file func(string) string) []string { return []string{"--query-file", "api_key=" + file(queryWord)} },
			func(r *http.Request) string { return r.URL.Query().Get("api_key") }, queryWord},
		{"basic", "{type: Basic, basic: {secretRef: {name: words}}}",
			func(file func(string) string) []string {
				return []string{"--basic-file", file(userWord + ":" + passwordWord)}
			}, authorization, "Basic " + base64.StdEncoding.EncodeToString([]byte(userWord+":"+passwordWord))},
		{"oauth2", "{type: OAuth2, oauth2: {tokenURL: '" + tokenURL + "', clientID: us, clientSecretRef: {name: words, key: client}}}",
			func(file func(string) string) []string {
				return []string{"--oauth2-token-url", tokenURL, "--oauth2-client-id", "us", "--oauth2-client-secret-file", file(clientWord)}
			}, authorization, "Bearer " + accessWord},
	}
}

// echo serves an agent that wants what the keyring shows, and says it back wherever it can. came counts how often it was shown.
func (k keyring) echo(t *testing.T, a *agent.Agent, came *atomic.Int64) string {
	t.Helper()
	text, _ := json.Marshal(strings.TrimPrefix(k.word, "Bearer "))
	word := strings.Trim(string(text), `"`)
	var pairs []string
	for _, member := range []string{"name", "description", "text", "message", "artifactId"} {
		pairs = append(pairs, `"`+member+`":"`, `"`+member+`":"`+word+" ")
	}
	pairs = append(pairs, "data: ", ": "+word+"\nid: "+word+"\ndata: ")
	words := strings.NewReplacer(pairs...)
	return serveOnLoopback(t, a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k.shown(r) != k.word {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		came.Add(1)
		for _, name := range []string{"Server", "X-Echo", "Set-Cookie", "Retry-After", "Location"} {
			w.Header().Set(name, k.word)
		}
		w.Header().Set("X-Echo-Base64", base64.StdEncoding.EncodeToString([]byte("echo "+k.word)))
		a.Handler().ServeHTTP(painter{w, words}, r)
		w.Header().Set(http.TrailerPrefix+"X-Echo", k.word)
	}))
}

// issuer is a token endpoint.
func issuer(t *testing.T) string {
	t.Helper()
	a := agent.New()
	return serveOnLoopback(t, a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600,"refresh_token":%q}`, accessWord, accessWord)
	})) + "/token"
}

// refusingIssuer is a token endpoint that says what it was shown.
func refusingIssuer(t *testing.T) string {
	t.Helper()
	a := agent.New()
	return serveOnLoopback(t, a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("WWW-Authenticate", `Basic realm="`+clientWord+`"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":%q,"error_description":%q,"error_uri":%q}`, clientWord, r.Header.Get("Authorization"), clientWord)
	})) + "/token"
}

// bystander is an agent elsewhere, which writes down all that it is sent.
type bystander struct {
	url string
	mu  sync.Mutex
	got strings.Builder
}

func stand(t *testing.T) *bystander {
	t.Helper()
	a, b := agent.New(), &bystander{}
	b.url = serveOnLoopback(t, a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := httputil.DumpRequest(r, true)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.got.Write(raw)
		b.mu.Unlock()
		a.Handler().ServeHTTP(w, r)
	}))
	return b
}

func (b *bystander) heard() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got.String()
}

// ledTo is an agent whose card names an interface elsewhere.
func ledTo(elsewhere string) *agent.Agent {
	return agent.New(agent.With(func(c *agent.Config) {
		c.Card.Interfaces = fmt.Appendf(nil, `[{"url":"%s/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, elsewhere)
	}))
}

func TestSecurityLeaksOfCredentials(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	seen := w.record(t, namespace)
	err := w.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "words", Labels: map[string]string{v1alpha1.SendToPeersLabel: v1alpha1.SendToPeersValue}},
		StringData: map[string]string{"bearer": bearerWord, "header": headerWord, "query": queryWord, "username": userWord,
			"password": passwordWord, "client": clientWord}})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := stand(t)
	came := map[string]*atomic.Int64{}
	rings := keyrings(issuer(t))
	for _, k := range rings {
		came[k.name] = &atomic.Int64{}
		w.apply(t, namespace,
			peer{name: k.name, url: k.echo(t, agent.New(), came[k.name]), more: "  auth: " + k.spec + "\n"},
			peer{name: k.name + "-led-away", url: k.echo(t, ledTo(elsewhere.url), came[k.name]),
				more: "  auth: " + k.spec + "\n  allowedOrigins: [" + elsewhere.url + "]\n"})
	}
	refused := keyrings(refusingIssuer(t))[4]
	w.apply(t, namespace, peer{name: "refused", url: agent.New(agent.Is("needs-token")).Start(t), more: "  auth: " + refused.spec + "\n"})
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace, "--zap-log-level", "10", "--zap-devel")
	for _, k := range rings {
		w.becomes(t, namespace, k.name, verdict("Streaming"), "Trusted", "Streaming of "+k.name)
		gomega.NewWithT(t).Eventually(func() bool { return behaviors(w.get(t, namespace, k.name+"-led-away")) > 0 }, within, often).
			Should(gomega.BeTrue(), "a round of %s-led-away", k.name)
		if came[k.name].Load() == 0 {
			t.Errorf("%s never came to the origin it is for, so this test shows nothing about it", k.name)
		}
	}
	gomega.NewWithT(t).Eventually(func() string { return condition(v1alpha1.ConditionReachable)(w.get(t, namespace, "refused")) }, within, often).
		Should(gomega.HavePrefix("False/"), "Reachable of a peer whose token endpoint refuses us")

	h := newHunt(secretWords())
	h.inCluster(t, w, seen, namespace)
	for line := range strings.Lines(o.log.String()) {
		h.in("the log", line)
	}
	if elsewhere.heard() == "" {
		t.Error("the other origin was not asked at all, so this test shows nothing about it")
	}
	h.in("what another origin was sent", elsewhere.heard())
	h.report(t)
}

// secretFile holds a secret for a flag.
func secretFile(t *testing.T) func(string) string {
	return func(word string) string {
		f, err := os.CreateTemp(t.TempDir(), "secret")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.WriteString(f, word+"\n"); err != nil {
			t.Fatal(err)
		}
		return filepath.Clean(f.Name())
	}
}

func TestSecurityLeaksOfCredentialsFromTheCommand(t *testing.T) {
	t.Parallel()
	h := newHunt(secretWords())
	elsewhere := stand(t)
	for _, k := range keyrings(issuer(t)) {
		var came atomic.Int64
		own, away := k.echo(t, agent.New(), &came), k.echo(t, ledTo(elsewhere.url), &came)
		for _, args := range [][]string{{"-v", own}, {"-v", "-o", "json", own}, {"-v", "-o", "json", "--allow-origins", elsewhere.url, away}} {
			args = append(append(args, k.flags(secretFile(t))...), "--allow-http-hosts", "127.0.0.1", "--allow-cidrs", "127.0.0.0/8")
			before := came.Load()
			stdout, stderr, _ := check(t, "", args...)
			if came.Load() == before {
				t.Errorf("%s: the credential never came to its origin, so this shows nothing:\n%s%.2000s", k.name, stdout, stderr)
			}
			h.in("standard output of "+k.name, stdout)
			h.in("standard error of "+k.name, stderr)
		}
	}
	refused := keyrings(refusingIssuer(t))[4]
	stdout, stderr, _ := check(t, "", append(refused.flags(secretFile(t)), "-v", "--allow-http-hosts", "127.0.0.1", "--allow-cidrs", "127.0.0.0/8",
		agent.New(agent.Is("needs-token")).Start(t))...)
	h.in("output of a refused client", stdout+stderr)
	h.in("what another origin was sent", elsewhere.heard())
	h.report(t)
}

// What peers say may stand on a terminal with -v. It must not move its cursor, hide, or turn around what stands there.
func TestSecurityLeaksNothingThatSteersATerminal(t *testing.T) {
	t.Parallel()
	const evil = "evil \u001b[2J\u001b]8;;http://x.example\u0007\u009b31m\u0085\u202eabc\u2066\u2069\u200b\u200d\ufeff\u2028\u00ad\r\b\u007f"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	inJSON := strings.Trim(string(quoted), `"`)
	raw := strings.NewReplacer("\r", "", "\n", "").Replace(evil)
	more := []string{"data: ", ": " + raw + "\nid: " + raw + "\ndata: ", "Welcome", evil}
	for _, member := range []string{"name", "description", "text", "message", "artifactId", "protocolVersion"} {
		more = append(more, `"`+member+`":"`, `"`+member+`":"`+inJSON)
	}
	evilHeaders := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-Evil"] = []string{"\u202e\u0085\u200b" + strings.Repeat("x", 20<<10)}
			h.ServeHTTP(w, r)
		})
	}
	listed := func(c *agent.Config) {
		c.Card.Interfaces = json.RawMessage(`[{"url":"http://127.0.0.1:1/a2a?q=` + "\u202e\u009b" + `","protocolBinding":"` + inJSON + `","protocolVersion":"1.0` + inJSON + `"},
			{"url":"http://h` + "\u202e" + `.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`)
	}
	steers := 0
	for _, a := range []*agent.Agent{agent.New(), agent.New(agent.Is("stream-fails")), agent.New(agent.Is("posts-html")), agent.New(agent.With(listed))} {
		base := serveOnLoopback(t, a, evilHeaders(vandal(a, words(more...))))
		for _, args := range [][]string{{base}, {"-v", base}, {"-o", "json", base}, {"-v", "-o", "json", base}} {
			stdout, stderr, _ := check(t, "", args...)
			for where, text := range map[string]string{"standard output": stdout, "standard error": stderr} {
				for line := range strings.Lines(text) {
					line = strings.TrimSuffix(line, "\n")
					if at := strings.IndexFunc(line, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }); at >= 0 {
						steers++
						t.Errorf("%q: %s holds %.40q", args, where, line[at:])
					}
					if len(line) > 32<<10 && where == "standard error" {
						t.Errorf("%q: a line of %s has %d bytes", args, where, len(line))
					}
				}
			}
		}
	}
	t.Attr("leaks", fmt.Sprint(steers))
}

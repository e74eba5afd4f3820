package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

const token = "t0k3n-that-nobody-may-read"

func TestASecretHealsWhenItAppearsAndGoesToItsOriginOnly(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	h := w.record(t, namespace)
	bearer := "  auth: {type: Bearer, bearer: {secretRef: {name: %s, key: token}}}\n"
	elsewhere := agent.New() // other origins, which may be used and must not be told
	elsewhereURL := elsewhere.Start(t)
	locked := func(more ...agent.Option) string {
		options := []agent.Option{agent.With(func(c *agent.Config) { c.HTTP = append(c.HTTP, agent.Fault{Bearer: token}) })}
		return agent.New(append(options, more...)...).Start(t)
	}
	w.apply(t, namespace,
		peer{name: "missing", url: locked(), more: fmt.Sprintf(bearer, "late")},
		peer{name: "unlabelled", url: locked(), more: fmt.Sprintf(bearer, "private")},
		peer{name: "locked-out", url: locked()},
		peer{name: "interface-elsewhere", more: fmt.Sprintf(bearer, "token") + "  allowedOrigins: [" + elsewhereURL + "]\n",
			url: locked(agent.With(func(c *agent.Config) {
				c.Card.Interfaces = fmt.Appendf(nil, `[{"url":"%s/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, elsewhereURL)
			}))},
		peer{name: "redirects-elsewhere", more: fmt.Sprintf(bearer, "token") + "  allowedOrigins: [" + elsewhereURL + "]\n",
			url: agent.New(agent.With(func(c *agent.Config) {
				c.HTTP = append(c.HTTP, agent.Fault{Redirect: http.StatusTemporaryRedirect, To: elsewhereURL + "/.well-known/agent-card.json"})
			})).Start(t)},
	)
	w.secret(t, namespace, "token", true)
	w.secret(t, namespace, "private", false)
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace)

	w.becomes(t, namespace, "missing", condition(v1alpha1.ConditionReady), "False/SecretNotFound", "Ready")
	w.becomes(t, namespace, "missing", condition(v1alpha1.ConditionReconciling), "True/WaitingForReference", "Reconciling")
	w.becomes(t, namespace, "unlabelled", condition(v1alpha1.ConditionReady), "False/SecretNotAllowed", "Ready")
	w.secret(t, namespace, "late", true)
	w.becomes(t, namespace, "missing", condition(v1alpha1.ConditionReady), "True/Accepted", "Ready")
	w.becomes(t, namespace, "missing", verdict("Streaming"), "Trusted", "Streaming")
	w.becomes(t, namespace, "locked-out", condition(v1alpha1.ConditionReachable), "False/AuthenticationRequired", "Reachable")
	w.becomes(t, namespace, "interface-elsewhere", verdict("Streaming"), "Trusted", "Streaming")
	w.becomes(t, namespace, "unlabelled", condition(v1alpha1.ConditionReady), "False/SecretNotAllowed", "Ready")

	asked := elsewhere.Requests()
	if len(asked) == 0 {
		t.Error("the other origin was not asked at all, so this test shows nothing")
	}
	for _, r := range asked {
		if r.Header.Get("Authorization") != "" || strings.Contains(fmt.Sprint(r.Header), token) {
			t.Fatalf("the token was sent to another origin, with %s %s", r.Method, r.Path)
		}
	}
	for _, where := range w.says(t, h, namespace, token) {
		t.Errorf("the token stands in %s", where)
	}
	if strings.Contains(o.log.String(), token) {
		t.Error("the token stands in the operator's log")
	}
}

// secret makes a Secret that holds the token, labelled so that it may be sent to peers, or not.
func (w world) secret(t *testing.T, namespace, name string, mayBeSent bool) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"token": token}}
	if mayBeSent {
		s.Labels = map[string]string{v1alpha1.SendToPeersLabel: "true"}
	}
	if err := w.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

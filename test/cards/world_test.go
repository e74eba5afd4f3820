package cards_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// world is a namespace of an API server, a ServiceAccount that may read its AgentPeers, and replicas that serve cards.
type world struct {
	*testing.T
	*apiserver.Server
	namespace, token string
}

func enter(t *testing.T) *world {
	w := &world{T: t, Server: apiserver.For(t)}
	w.namespace = w.Server.Namespace(t)
	w.create(
		&corev1.ServiceAccount{ObjectMeta: w.named("orchestrator")},
		&corev1.ServiceAccount{ObjectMeta: w.named("nobody")},
		&rbacv1.Role{ObjectMeta: w.named("orchestrator"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"trust.agentpeer.dev"}, Resources: []string{"agentpeers"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: w.named("orchestrator"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "orchestrator"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: "orchestrator"}}})
	w.token = w.tokenOf("orchestrator", "agentpeer")
	return w
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.Client.Create(w.Context(), o); err != nil {
			w.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

func (w *world) tokenOf(account string, audiences ...string) string {
	w.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: ptr.To[int64](3600)}}
	if err := w.Client.SubResource("token").Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: w.named(account)}, request); err != nil {
		w.Fatalf("asking for a token of %s: %v", account, err)
	}
	return request.Status.Token
}

// replica serves cards like any replica of the operator, and says where.
func (w *world) replica() string {
	w.Helper()
	options := controllers.CacheOptions()
	options.Scheme = w.Scheme
	informers, err := cache.New(w.Config, options)
	if err != nil {
		w.Fatal(err)
	}
	tokens, err1 := authenticationclient.NewForConfig(w.Config)
	access, err2 := authorizationclient.NewForConfig(w.Config)
	if err1 != nil || err2 != nil {
		w.Fatal(err1, err2)
	}
	source := controllers.NewCards(controllers.CardsOptions{Informers: informers, Client: w.Client, Config: controllers.DefaultConfig(),
		Env: probe.Env{Egress: agent.Loopback(), Tokens: wire.NewTokens(), UserAgent: "agentpeer-operator/test"}})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	go func() { _ = informers.Start(ctx); ended <- struct{}{} }()
	go func() { _ = source.Start(ctx); ended <- struct{}{} }()
	server := httptest.NewUnstartedServer(nil)
	server.Config = serve.Server(serve.NewCards(source, serve.NewCallers(tokens.TokenReviews(), access.SubjectAccessReviews()), nil))
	server.Start()
	w.Cleanup(func() { server.Close(); stop(); <-ended; <-ended })
	gomega.NewWithT(w).Eventually(source.Ready).WithTimeout(30 * time.Second).Should(gomega.BeTrue())
	return server.URL
}

// peer makes an AgentPeer of an agent, judged by nobody yet.
func (w *world) peer(name, url string) *v1alpha1.AgentPeer {
	w.Helper()
	p := &v1alpha1.AgentPeer{ObjectMeta: w.named(name), Spec: v1alpha1.AgentPeerSpec{URL: url}}
	w.create(p)
	return p
}

// decide writes the status that the operator would: this path, about the card that the agent serves now.
func (w *world) decide(p *v1alpha1.AgentPeer, path v1alpha1.DecisionPath, reason v1alpha1.Reason) {
	w.Helper()
	w.write(p, path, reason, w.digest(p.Spec.URL))
}

func (w *world) write(p *v1alpha1.AgentPeer, path v1alpha1.DecisionPath, reason v1alpha1.Reason, digest string) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		w.Fatal(err)
	}
	p.Status.ObservedGeneration, p.Status.Target = p.Generation, p.Spec.URL
	p.Status.Card = &v1alpha1.CardStatus{ClaimsDigest: v1alpha1.ClaimsDigest(digest)}
	p.Status.Decision = &v1alpha1.Decision{Choice: v1alpha1.Choice{Path: path, MultiTurn: v1alpha1.MultiTurnAllInputsUpfront, Cancel: v1alpha1.CancelBestEffort,
		Updates: v1alpha1.UpdatesPoll, Reason: reason}, ExpirationTime: &metav1.Time{Time: time.Now().Add(time.Hour)}}
	if err := w.Client.Status().Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// digest of the card that an agent serves.
func (w *world) digest(base string) string {
	w.Helper()
	at := base + "/.well-known/agent-card.json"
	source, err := url.Parse(at)
	if err != nil {
		w.Fatal(err)
	}
	r, err := http.Get(at)
	if err != nil {
		w.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Fatal(err)
	}
	c, err := card.Parse(body, source)
	if err != nil {
		w.Fatal(err)
	}
	return c.Digest
}

// answer is what came back for a card.
type answer struct {
	*http.Response
	body []byte
	took time.Duration
}

func (a answer) streaming() bool {
	var c struct {
		Capabilities struct {
			Streaming bool `json:"streaming"`
		} `json:"capabilities"`
	}
	return a.StatusCode == http.StatusOK && json.Unmarshal(a.body, &c) == nil && c.Capabilities.Streaming
}

func (w *world) base(replica, name string) string {
	return replica + "/peers/" + w.namespace + "/" + name + "/"
}

func (w *world) card(replica, name, token string) answer {
	w.Helper()
	return w.get(w.base(replica, name)+".well-known/agent-card.json", token)
}

func (w *world) get(at, token string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, at, nil)
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{response, bytes.TrimSpace(body), time.Since(began)}
}

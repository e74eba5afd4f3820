package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

const (
	cardClients = 16              // connections that ask at once
	cardLap     = 3 * time.Second // of one kind of server
	cardPath    = "/peers/" + namespace + "/card-0/.well-known/agent-card.json"
)

// cardRequests compares how many reconciled cards a core serves in a second with how often a bare handler serves the same bytes, with the same
// authentication cached. Both stand in one process, which is asked for one after the other; what counts is its CPU time.
func cardRequests(ctx context.Context, b *bed, _, repeat int) (list []figure, err error) {
	agents, urls, err := b.agents(ctx, "honest", "honest", 1, "")
	if err != nil {
		return nil, err
	}
	defer agents.stop()
	token, err := b.judgedCard(ctx, urls[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.clear(ctx)) }()
	p, err := b.start(ctx, "cards", "ready", filepath.Join(b.work, "bench"), "cards", "-kubeconfig", b.kubeconfig, "-token", token)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	said := strings.Fields(p.lines[len(p.lines)-1])
	if len(said) != 3 {
		return nil, fmt.Errorf("starting the servers of cards: they said %q", said)
	}
	var ratios, ours, bares []float64
	for range repeat {
		var perCore [2]float64
		for i, base := range said[1:] {
			before, err1 := p.cpu()
			n, err2 := askForCards(ctx, base+cardPath, token)
			after, err3 := p.cpu()
			if err := errors.Join(err1, err2, err3); err != nil {
				return nil, err
			}
			perCore[i] = float64(n) / (after - before)
		}
		ours, bares, ratios = append(ours, perCore[0]), append(bares, perCore[1]), append(ratios, perCore[0]/perCore[1])
	}
	return []figure{{Name: "card_rps_ratio", Value: median(ratios), Goal: 0.7,
		Of: map[string]float64{"cards_per_core_s": median(ours), "bare_per_core_s": median(bares)}}}, nil
}

// askForCards asks for a while, and says how often.
func askForCards(ctx context.Context, at, token string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, cardLap)
	defer cancel()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: cardClients}}
	defer c.CloseIdleConnections()
	var n atomic.Int64
	err := each(cardClients, cardClients, func(int) error {
		for {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := c.Do(r)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if ctx.Err() == nil && (err != nil || response.StatusCode != http.StatusOK) {
				return fmt.Errorf("asking for a card: status %d, %w", response.StatusCode, err)
			}
			n.Add(1)
		}
	})
	return n.Load(), err
}

// judgedCard makes an AgentPeer whose status is about the agent's card, and a token that opens it.
func (b *bed) judgedCard(ctx context.Context, base string) (token string, err error) {
	source, err := url.Parse(base + "/.well-known/agent-card.json")
	if err != nil {
		return "", err
	}
	raw, err := get(source.String())
	if err != nil {
		return "", err
	}
	c, err := card.Parse([]byte(raw), source)
	if err != nil {
		return "", err
	}
	named := metav1.ObjectMeta{Namespace: namespace, Name: "card-0"}
	p := &v1alpha1.AgentPeer{ObjectMeta: named, Spec: v1alpha1.AgentPeerSpec{URL: base}}
	account := &corev1.ServiceAccount{ObjectMeta: named}
	for _, o := range []ctrlclient.Object{p, account,
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"agentpeers"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: named.Name}}}} {
		if err := b.api.Create(ctx, o); err != nil {
			return "", err
		}
	}
	p.Status = v1alpha1.AgentPeerStatus{ObservedGeneration: p.Generation, Target: base, Card: &v1alpha1.CardStatus{ClaimsDigest: v1alpha1.ClaimsDigest(c.Digest)},
		Decision: &v1alpha1.Decision{Choice: v1alpha1.Choice{Path: v1alpha1.PathStreaming, MultiTurn: v1alpha1.MultiTurnInteractive, Cancel: v1alpha1.CancelReliable,
			Updates: v1alpha1.UpdatesPoll, Reason: "StreamingTrusted"}, ExpirationTime: &metav1.Time{Time: time.Now().Add(time.Hour)}}}
	if err := b.api.Status().Update(ctx, p); err != nil {
		return "", err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{v1alpha1.CardAudience}, ExpirationSeconds: ptr.To[int64](3600)}}
	err = b.api.SubResource("token").Create(ctx, account, request)
	return request.Status.Token, err
}

// cardsMain serves reconciled cards, and the bare handler beside them.
func cardsMain(args []string) error {
	f := flag.NewFlagSet("cards", flag.ExitOnError)
	kubeconfig, token := f.String("kubeconfig", "", ""), f.String("token", "", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	options := controllers.CacheOptions()
	options.Scheme = newScheme()
	informers, err := cache.New(config, options)
	if err != nil {
		return err
	}
	live, err1 := ctrlclient.New(config, ctrlclient.Options{Scheme: options.Scheme})
	api, err2 := kubernetes.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	source := controllers.NewCards(controllers.CardsOptions{Informers: informers, Client: live, Config: controllers.DefaultConfig(),
		Env: probe.Env{Egress: agent.Loopback(), Tokens: wire.NewTokens()}})
	ended := make(chan error, 4)
	go func() { ended <- informers.Start(ctx) }()
	go func() { ended <- source.Start(ctx) }()
	ours, err := serveOn(serve.Server(serve.NewCards(source, serve.NewCallers(api.AuthenticationV1().TokenReviews(), api.AuthorizationV1().SubjectAccessReviews()), nil)), ended)
	if err != nil {
		return err
	}
	body, err := ownCard(ctx, ours, *token)
	if err != nil {
		return err
	}
	bare, err := serveOn(&http.Server{Handler: &bareCards{api: api, body: body}}, ended)
	if err != nil {
		return err
	}
	fmt.Println("ready", ours, bare)
	return <-ended
}

func serveOn(s *http.Server, ended chan<- error) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { ended <- s.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// ownCard waits until the card is served.
func ownCard(ctx context.Context, base, token string) ([]byte, error) {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+cardPath, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode == http.StatusOK {
			return body, err
		}
		if time.Since(began) > 20*time.Second {
			return nil, fmt.Errorf("asking for a card: status %d, %s", response.StatusCode, body)
		}
	}
}

// bareCards is what one would write by hand: the same bytes for whoever may have them, and what the API server said is kept for a minute.
type bareCards struct {
	api   kubernetes.Interface
	body  []byte
	known sync.Map // hash of the token: until when
}

func (s *bareCards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	key := sha256.Sum256([]byte(token))
	if until, ok := s.known.Load(key); !ok || !time.Now().Before(until.(time.Time)) {
		if !s.may(r.Context(), token) {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		s.known.Store(key, time.Now().Add(time.Minute))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.body)
}

func (s *bareCards) may(ctx context.Context, token string) bool {
	who, err := s.api.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{v1alpha1.CardAudience}}}, metav1.CreateOptions{})
	if err != nil || !who.Status.Authenticated {
		return false
	}
	may, err := s.api.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.Status.User.Username, Groups: who.Status.User.Groups, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: v1alpha1.GroupVersion.Group, Resource: "agentpeers", Verb: "get", Namespace: namespace, Name: "card-0"}}}, metav1.CreateOptions{})
	return err == nil && may.Status.Allowed
}

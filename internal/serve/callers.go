package serve

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Bounds of what callers can have us do and keep.
const (
	// A caller that is known, and a right that is there, is looked up again after goodFor; one that is not after badFor.
	goodFor, badFor = time.Minute, 10 * time.Second
	// callersKept and rightsKept bound what is remembered; the latest stay.
	callersKept, rightsKept = 4096, 16384
	// reviewsAtOnce may be asked of the API server, and reviewsPerSource of them for one address. Who comes beyond gets 503 at once: strangers
	// with made-up tokens make no queue, and one who has no end of them, or asks about ever other peers, leaves room for others.
	reviewsAtOnce, reviewsPerSource = 16, 4
	// reviewTimeout bounds one of them.
	reviewTimeout = 5 * time.Second
)

// Callers knows who asks and what they may see. Only ServiceAccounts come in, with a token whose one audience is v1alpha1.CardAudience: such a
// token opens nothing else, so that one that is sent to a peer by mistake is worth nothing there. Kubernetes says who it is of (TokenReview)
// and what they may do (SubjectAccessReview); what it said is kept for a minute, and never beyond the token's own end.
type Callers struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface

	known, rights *cache.LRUExpireCache
	calls         singleflight.Group
	slots         chan struct{}
	sources       shares
}

// NewCallers asks with these clients, which need rate limits of their own: strangers cause calls.
func NewCallers(tokens authenticationclient.TokenReviewInterface, access authorizationclient.SubjectAccessReviewInterface) *Callers {
	return &Callers{tokens: tokens, access: access, known: cache.NewLRUExpireCache(callersKept), rights: cache.NewLRUExpireCache(rightsKept),
		slots: make(chan struct{}, reviewsAtOnce), sources: shares{most: reviewsPerSource}}
}

// fingerprint stands for a token: no token is kept.
type fingerprint [sha256.Size]byte

// caller is somebody whose token was accepted. A nil caller in the cache is somebody whose token was not.
type caller struct {
	token fingerprint
	user  authenticationv1.UserInfo
	// until is when the token ends, by its own word.
	until time.Time
}

// want says what a caller may do, or must.
type want struct{ verb, namespace, name string }

type right struct {
	token fingerprint
	want
}

// admit lets a request in, or says why not.
func (c *Callers) admit(r *http.Request, w want) *problem {
	who, p := c.authenticate(r)
	if p != nil {
		return p
	}
	return c.authorize(r, who, w)
}

func (c *Callers) authenticate(r *http.Request) (*caller, *problem) {
	header := r.Header["Authorization"]
	if len(header) != 1 {
		return nil, unauthenticated("")
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, unauthenticated("")
	}
	print := fingerprint(sha256.Sum256([]byte(token)))
	now := time.Now()
	if found, ok := c.known.Get(print); ok {
		who, _ := found.(*caller)
		if who == nil || !now.Before(who.until) {
			return nil, unauthenticated("invalid_token")
		}
		return who, nil
	}
	until, ok := ours(token)
	if !ok || !now.Before(until) {
		return nil, unauthenticated("invalid_token") // and nobody else is asked
	}
	found, p := c.once(r, "token "+string(print[:]), func(ctx context.Context) (any, *problem) {
		return c.review(ctx, token, print, until)
	})
	if p != nil {
		return nil, p
	}
	who, _ := found.(*caller)
	if who == nil {
		return nil, unauthenticated("invalid_token")
	}
	return who, nil
}

// ours reads what a token says of itself, which Kubernetes verifies afterwards: it is of a ServiceAccount and for this audience alone. What is
// for others too would open their doors to whoever gets hold of it.
func ours(token string) (until time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Subject  string          `json:"sub"`
		Audience json.RawMessage `json:"aud"`
		Expires  int64           `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return time.Time{}, false
	}
	var audiences []string
	if json.Unmarshal(claims.Audience, &audiences) != nil { // one may be a text instead of a list
		audiences = make([]string, 1)
		_ = json.Unmarshal(claims.Audience, &audiences[0])
	}
	return time.Unix(claims.Expires, 0), len(audiences) == 1 && audiences[0] == v1alpha1.CardAudience && serviceAccount(claims.Subject)
}

func serviceAccount(user string) bool { return strings.HasPrefix(user, "system:serviceaccount:") }

func (c *Callers) review(ctx context.Context, token string, print fingerprint, until time.Time) (any, *problem) {
	review, err := c.tokens.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{v1alpha1.CardAudience}}}, metav1.CreateOptions{})
	if err != nil {
		return nil, apiServerTrouble()
	}
	s := review.Status
	// An API server that knows no audiences names none, and has looked at none.
	if !s.Authenticated || s.Error != "" || !slices.Contains(s.Audiences, v1alpha1.CardAudience) || !serviceAccount(s.User.Username) {
		c.known.Add(print, (*caller)(nil), badFor)
		return (*caller)(nil), nil
	}
	who := &caller{token: print, user: s.User, until: until}
	c.known.Add(print, who, goodFor)
	return who, nil
}

func (c *Callers) authorize(r *http.Request, who *caller, w want) *problem {
	key := right{who.token, w}
	if found, ok := c.rights.Get(key); ok {
		if allowed, _ := found.(bool); allowed {
			return nil
		}
		return forbidden(who, w)
	}
	found, p := c.once(r, "right "+string(who.token[:])+w.verb+"/"+w.namespace+"/"+w.name, func(ctx context.Context) (any, *problem) {
		return c.ask(ctx, who, w)
	})
	if p != nil {
		return p
	}
	if allowed, _ := found.(bool); !allowed {
		return forbidden(who, w)
	}
	return nil
}

func (c *Callers) ask(ctx context.Context, who *caller, w want) (any, *problem) {
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range who.user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	review, err := c.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.user.Username, Groups: who.user.Groups, UID: who.user.UID, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
			Resource: "agentpeers", Verb: w.verb, Namespace: w.namespace, Name: w.name}}}, metav1.CreateOptions{})
	if err != nil {
		return nil, apiServerTrouble()
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	ttl := badFor
	if allowed {
		ttl = goodFor
	}
	c.rights.Add(right{who.token, w}, allowed, ttl)
	return allowed, nil
}

// once asks the API server, for all who want to know the same at once. It goes on where the one who asked first has hung up.
func (c *Callers) once(r *http.Request, key string, ask func(context.Context) (any, *problem)) (any, *problem) {
	ctx, source := r.Context(), neighbourOf(r)
	type answer struct {
		found any
		p     *problem
	}
	result := c.calls.DoChan(key, func() (any, error) {
		if !c.sources.enter(source) {
			return answer{p: tooManyUnknown()}, nil
		}
		defer c.sources.leave(source)
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		default:
			return answer{p: tooManyUnknown()}, nil
		}
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		found, p := ask(detached)
		return answer{found, p}, nil
	})
	select {
	case r := <-result:
		a, _ := r.Val.(answer)
		return a.found, a.p
	case <-ctx.Done():
		return nil, apiServerTrouble()
	}
}

func tooManyUnknown() *problem {
	p := newProblem(http.StatusServiceUnavailable, "Too many callers are unknown at once: try again.")
	p.retryAfter = time.Second
	return p
}

func unauthenticated(code string) *problem {
	p := newProblem(http.StatusUnauthorized, "Send the token of a ServiceAccount whose one audience is "+v1alpha1.CardAudience+
		" as Authorization: Bearer TOKEN: a projected volume with serviceAccountToken.audience, or kubectl create token NAME --audience "+v1alpha1.CardAudience+".")
	challenge := `Bearer realm="` + v1alpha1.CardAudience + `"`
	if code != "" {
		challenge += `, error="` + code + `"`
	}
	p.header = http.Header{"Www-Authenticate": {challenge}}
	return p
}

func forbidden(who *caller, w want) *problem {
	of := "agentpeers." + v1alpha1.GroupVersion.Group
	name := ""
	if w.name != "" {
		name = " " + w.name
	}
	p := newProblem(http.StatusForbidden, who.user.Username+" may not "+w.verb+" "+of+name+" in namespace "+w.namespace+
		": bind it to a role with that right, such as the ClusterRole agentpeer-orchestrator.")
	return p
}

func apiServerTrouble() *problem {
	p := newProblem(http.StatusServiceUnavailable, "The API server did not say who you are or what you may see: try again.")
	p.retryAfter = time.Second
	return p
}

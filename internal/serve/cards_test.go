package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	peerclient "github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// desk is a source of cards and an API server that knows one caller.
type desk struct {
	*testing.T
	peer    *v1alpha1.AgentPeer
	judged  *card.Judged
	err     error
	unready bool

	review          func(*authenticationv1.TokenReview)
	allowed         func(authorizationv1.ResourceAttributes) bool
	reviews, rights atomic.Int64
	reviewing       chan struct{} // reviews wait for it, if it is set
	authorizing     chan struct{} // as do questions about rights for this
	authenticationclient.TokenReviewInterface
	authorizationclient.SubjectAccessReviewInterface

	cards *Cards
}

const deskCard = `{"protocolVersion":"0.3.0","url":"https://a.example.com/rpc","preferredTransport":"JSONRPC",` +
	`"additionalInterfaces":[{"url":"https://a.example.com/rest","transport":"HTTP+JSON"}],` +
	`"capabilities":{"streaming":true,"pushNotifications":true},"signatures":[{"signature":"x"}]}`

// newDesk is inside a synctest bubble, or beside one.
func newDesk(t *testing.T) *desk {
	d := &desk{T: t, review: func(r *authenticationv1.TokenReview) {
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: r.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:travel:orchestrator"}}
	}}
	d.allowed = func(authorizationv1.ResourceAttributes) bool { return true }
	source, err := url.Parse("https://a.example.com/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	d.judged = &card.Judged{Raw: []byte(deskCard), Source: source, Digest: "sha256:1", Barred: []bool{false, false}}
	d.peer = &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: "travel", Name: "planner", Generation: 1}, Spec: v1alpha1.AgentPeerSpec{URL: "https://a.example.com"}}
	d.peer.Status = v1alpha1.AgentPeerStatus{ObservedGeneration: 1, Target: "https://a.example.com", Card: &v1alpha1.CardStatus{ClaimsDigest: "sha256:1"},
		Decision: &v1alpha1.Decision{Choice: v1alpha1.Choice{Path: v1alpha1.PathStreaming, MultiTurn: v1alpha1.MultiTurnInteractive,
			Cancel: v1alpha1.CancelReliable, Updates: v1alpha1.UpdatesPush, Reason: "StreamingTrusted"}, ExpirationTime: &metav1.Time{Time: time.Now().Add(time.Hour)}}}
	d.cards = NewCards(d, NewCallers(tokenReviews{d}, accessReviews{d}), nil)
	return d
}

func (d *desk) Find(context.Context, types.NamespacedName) (*v1alpha1.AgentPeer, *card.Judged, error) {
	return d.peer, d.judged, d.err
}
func (d *desk) Peers(string) []*v1alpha1.AgentPeer { return []*v1alpha1.AgentPeer{d.peer} }
func (d *desk) Ready() bool                        { return !d.unready }

type tokenReviews struct{ *desk }

func (d tokenReviews) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	d.reviews.Add(1)
	if d.reviewing != nil {
		select {
		case <-d.reviewing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if len(r.Spec.Audiences) != 1 || r.Spec.Audiences[0] != "agentpeer" {
		return nil, errors.New("a review for another audience")
	}
	d.review(r)
	return r, nil
}

type accessReviews struct{ *desk }

func (d accessReviews) Create(ctx context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	d.rights.Add(1)
	if d.authorizing != nil {
		select {
		case <-d.authorizing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.Status.Allowed = d.allowed(*r.Spec.ResourceAttributes)
	return r, nil
}

// token is one whose claims are these; nobody signed it.
func token(claims string, a ...any) string {
	return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, claims, a...)) + ".x"
}

func good() string {
	return token(`{"sub":"system:serviceaccount:travel:orchestrator","aud":["agentpeer"],"exp":%d}`, time.Now().Add(time.Hour).Unix())
}

const cardURL = "/peers/travel/planner/.well-known/agent-card.json"

func (d *desk) get(path, token string, header ...string) *httptest.ResponseRecorder {
	return d.ask(http.MethodGet, path, token, header...)
}

func (d *desk) ask(method, path, token string, header ...string) *httptest.ResponseRecorder {
	d.Helper()
	return d.do(httptest.NewRequestWithContext(d.Context(), method, path, nil), path, token, header...)
}

func (d *desk) getFrom(source, path, token string) *httptest.ResponseRecorder {
	d.Helper()
	r := httptest.NewRequestWithContext(d.Context(), http.MethodGet, path, nil)
	r.RemoteAddr = source
	return d.do(r, path, token)
}

func (d *desk) do(r *http.Request, path, token string, header ...string) *httptest.ResponseRecorder {
	d.Helper()
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.cards.ServeHTTP(w, r)
	if w.Code >= 400 {
		var p problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Detail == "" || w.Header().Get("Content-Type") != "application/problem+json" {
			d.Errorf("%s: a problem of %q: %v", path, w.Body, err)
		}
	}
	return w
}

func TestCaseRulesServedCards(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*desk)
		code   int
		body   string // in it
		not    string
		header map[string]string
	}{
		"trusted": {code: 200, body: `"streaming":true,"pushNotifications":true`, not: "signatures", header: map[string]string{
			"AgentPeer-Path": "Streaming", "AgentPeer-Reason": "StreamingTrusted", "AgentPeer-Masked": "none", "AgentPeer-Signatures": "dropped",
			"AgentPeer-Card": "current", "Cache-Control": "private, max-age=1", "Vary": "Authorization", "Content-Type": "application/json"}},
		"demoted": {change: func(d *desk) {
			d.peer.Status.Decision.Path, d.peer.Status.Decision.Reason = v1alpha1.PathSingleShot, "StreamingDemoted"
		}, code: 200, body: `"streaming":false,"pushNotifications":true`, header: map[string]string{"AgentPeer-Path": "SingleShot", "AgentPeer-Reason": "StreamingDemoted", "AgentPeer-Masked": "Streaming"}},
		"expired by the clock of whoever serves": {change: func(d *desk) { d.peer.Status.Decision.ExpirationTime.Time = time.Now() }, code: 200, body: `"streaming":false,"pushNotifications":false`,
			header: map[string]string{"AgentPeer-Path": "SingleShot", "AgentPeer-Reason": "TrustExpired", "AgentPeer-Masked": "PushNotifications, Streaming", "AgentPeer-Expiration": ""}},
		"about to expire": {change: func(d *desk) {
			d.peer.Status.Decision.ExpirationTime.Time = time.Now().Add(peerclient.DefaultClockSkew + 500*time.Millisecond)
		}, code: 200, body: `"streaming":true`,
			header: map[string]string{"Cache-Control": "private, no-cache"}},
		"of other claims than those judged": {change: func(d *desk) { d.judged.Doubt, d.judged.Stale = trust.ReasonCardChanged, trust.ReasonUnreachable }, code: 200, body: `"streaming":false,"pushNotifications":false`,
			header: map[string]string{"AgentPeer-Path": "SingleShot", "AgentPeer-Reason": "CardChanged", "AgentPeer-Card": "last-judged", "AgentPeer-Card-Reason": "Unreachable", "AgentPeer-Multi-Turn": "AllInputsUpfront"}},
		"gone, with trust that lives": {change: func(d *desk) { d.judged.Stale = trust.ReasonUnreachable }, code: 200, body: `"streaming":true`,
			header: map[string]string{"AgentPeer-Card": "last-judged", "AgentPeer-Card-Reason": "Unreachable"}},
		"observed only": {change: func(d *desk) {
			d.peer.Status.Decision.Reason, d.peer.Status.Decision.ExpirationTime = "ObserveOnly", nil
		}, code: 200, body: deskCard, header: map[string]string{"AgentPeer-Signatures": "kept", "AgentPeer-Masked": "none"}},
		"unavailable": {change: func(d *desk) {
			d.peer.Status.Decision.Path, d.peer.Status.Decision.Reason = v1alpha1.PathUnavailable, "NoUsableInterface"
		}, code: 503, body: "NoUsableInterface", header: map[string]string{"Retry-After": "10", "AgentPeer-Path": "Unavailable"}},
		"a required signature that lapsed": {change: func(d *desk) {
			d.peer.Spec.Card.Verification.Policy = v1alpha1.SignatureRequire
			d.peer.Status.Decision.ExpirationTime.Time = time.Now()
		}, code: 503, body: "TrustExpired"},
		"never held": {change: func(d *desk) {
			d.err = &card.Unheld{Reason: trust.ReasonUnreachable, RetryAfter: 1500 * time.Millisecond}
		}, code: 503, body: "Unreachable", header: map[string]string{"Retry-After": "2"}},
		"not there":             {change: func(d *desk) { d.peer, d.judged = nil, nil }, code: 404, body: "There is no AgentPeer planner"},
		"still being read":      {change: func(d *desk) { d.unready = true }, code: 503},
		"main interface dead":   {change: func(d *desk) { d.interfaces("Unreachable", "Reachable") }, code: 200, body: `"url":"https://a.example.com/rest","preferredTransport":"HTTP+JSON"`, not: "/rpc", header: map[string]string{"AgentPeer-Interfaces-Dropped": "1"}},
		"all of them dead":      {change: func(d *desk) { d.interfaces("Unreachable", "Unreachable") }, code: 200, body: "/rpc", header: map[string]string{"AgentPeer-Interfaces-Dropped": ""}},
		"one dead, one another": {change: func(d *desk) { d.interfaces("Unreachable", "Mismatch") }, code: 200, body: "/rpc", not: "/rest"},
		"none may be asked":     {change: func(d *desk) { d.judged.Barred = []bool{true, true} }, code: 503, body: "spec.allowedOrigins"},
		"an address that may not be dialled, of which status shows none": {change: func(d *desk) {
			d.interfaces("NotAllowed", "Used")
			d.peer.Status.Card.Interfaces[0].URL = ""
		}, code: 200, body: "/rest", not: "/rpc"},
		"refused modes": {change: func(d *desk) {
			d.judged.Raw = []byte(`{"url":"https://a.example.com","defaultInputModes":["text/plain","image/png"]}`)
			d.peer.Status.Capabilities = []v1alpha1.CapabilityStatus{{Name: "InputModes", State: v1alpha1.Demoted, RefusedInputModes: []string{"image/png"}}}
		}, code: 200, body: `["text/plain"]`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if tc.change != nil {
				tc.change(d)
			}
			w := d.get(cardURL, good())
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.body) || tc.not != "" && strings.Contains(w.Body.String(), tc.not) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			for name, want := range tc.header {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if old := d.get("/peers/travel/planner/.well-known/agent.json", good()); old.Code != w.Code || old.Body.String() != w.Body.String() {
				t.Errorf("under the old name: %d %s", old.Code, old.Body)
			}
		})
	}
}

// interfaces sets what status says of the two.
func (d *desk) interfaces(first, second v1alpha1.InterfaceState) {
	d.peer.Status.Card.Interfaces = []v1alpha1.DeclaredInterface{
		{CardInterface: v1alpha1.CardInterface{Binding: "JSONRPC", ProtocolVersion: "0.3.0", URL: "https://a.example.com/rpc"}, State: first},
		{CardInterface: v1alpha1.CardInterface{Binding: "HTTP+JSON", ProtocolVersion: "0.3.0", URL: "https://a.example.com/rest"}, State: second}}
}

func TestAnETagStandsForCardAndVerdict(t *testing.T) {
	d := newDesk(t)
	first := d.get(cardURL, good())
	tag := first.Header().Get("ETag")
	if w := d.get(cardURL, good(), "If-None-Match", `"other", W/`+tag); w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("ETag") != tag || w.Header().Get("AgentPeer-Path") != "Streaming" {
		t.Errorf("unchanged: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := d.ask(http.MethodHead, cardURL, good()); w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Content-Length") != fmt.Sprint(first.Body.Len()) {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	changed := d.peer.DeepCopy()
	changed.Status.Decision.ExpirationTime.Time = changed.Status.Decision.ExpirationTime.Add(time.Hour)
	d.peer = changed
	if w := d.get(cardURL, good(), "If-None-Match", tag); w.Code != 304 {
		t.Errorf("trust renewed, and nothing else: %d, want the card to be kept", w.Code)
	}
	changed = d.peer.DeepCopy()
	changed.Status.Decision.Cancel = v1alpha1.CancelBestEffort
	d.peer = changed
	if w := d.get(cardURL, good(), "If-None-Match", tag); w.Code != 200 || w.Body.String() != first.Body.String() {
		t.Errorf("the same card under another verdict: %d", w.Code)
	}
}

// Nobody writes status when the operator is dead: the clock alone ends trust.
func TestCaseRulesServedTrustEndsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		token := token(`{"sub":"system:serviceaccount:travel:orchestrator","aud":"agentpeer","exp":%d}`, time.Now().Add(48*time.Hour).Unix())
		before := d.get(cardURL, token)
		time.Sleep(time.Hour - peerclient.DefaultClockSkew - time.Millisecond)
		if w := d.get(cardURL, token); w.Body.String() != before.Body.String() || w.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("just before: %s, %s", w.Body, w.Header().Get("Cache-Control"))
		}
		time.Sleep(time.Millisecond)
		if w := d.get(cardURL, token, "If-None-Match", before.Header().Get("ETag")); w.Code != 200 || !strings.Contains(w.Body.String(), `"streaming":false`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

func TestListNamesDecisions(t *testing.T) {
	d := newDesk(t)
	w := d.get("/peers/travel", good())
	want := fmt.Sprintf(`{"namespace":"travel","items":[{"name":"planner","path":"Streaming","multiTurn":"Interactive","cancel":"Reliable","updates":"Push",`+
		`"reason":"StreamingTrusted","expirationTime":"%s","url":"https://a.example.com","card":"%s"}]}`, d.peer.Status.Decision.ExpirationTime.UTC().Format(time.RFC3339), cardURL)
	if d := cmp.Diff(want+"\n", w.Body.String()); w.Code != 200 || d != "" {
		t.Errorf("%d (-want +got):\n%s", w.Code, d)
	}
	if w := d.get("/healthz", ""); w.Code != 200 {
		t.Errorf("healthz: %d", w.Code)
	}
	d.unready = true
	if w := d.get("/healthz", ""); w.Code != 503 {
		t.Errorf("healthz before anything was read: %d", w.Code)
	}
	for path, want := range map[string]string{"/": "/peers/NAMESPACE/NAME/", "/peers/": "/peers/NAMESPACE", "/peers/travel/planner": "base URL", "/peers/Travel/planner/.well-known/agent-card.json": "/peers/",
		"/peers/travel/.well-known/agent-card.json": "end the base URL with a slash", "/peers/travel/planner/../../x": "/peers/"} {
		if w := d.get(path, good()); w.Code != 404 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := d.ask(http.MethodPost, cardURL, good()); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestSecurityCardCallersAreKnownByTokensThatOpenNothingElse(t *testing.T) {
	exp := time.Now().Add(time.Hour).Unix()
	for name, tc := range map[string]struct {
		token   string
		review  func(*authenticationv1.TokenReview)
		code    int
		reviews int64
	}{
		"none":                      {code: 401},
		"not a token":               {token: "hello", code: 401},
		"of the API server":         {token: token(`{"sub":"system:serviceaccount:a:b","aud":["https://kubernetes.default.svc"],"exp":%d}`, exp), code: 401},
		"of the API server as well": {token: token(`{"sub":"system:serviceaccount:a:b","aud":["agentpeer","https://kubernetes.default.svc"],"exp":%d}`, exp), code: 401},
		"of a person":               {token: token(`{"sub":"jane","aud":"agentpeer","exp":%d}`, exp), code: 401},
		"expired":                   {token: token(`{"sub":"system:serviceaccount:a:b","aud":"agentpeer","exp":%d}`, time.Now().Unix()), code: 401},
		"without an end":            {token: token(`{"sub":"system:serviceaccount:a:b","aud":"agentpeer"}`), code: 401},
		"refused":                   {token: good(), review: func(r *authenticationv1.TokenReview) { r.Status.Authenticated = false }, code: 401, reviews: 1},
		"by an API server that knows no audiences": {token: good(), review: func(r *authenticationv1.TokenReview) { r.Status.Audiences = nil }, code: 401, reviews: 1},
		"of a person after all":                    {token: good(), review: func(r *authenticationv1.TokenReview) { r.Status.User.Username = "jane" }, code: 401, reviews: 1},
		"good":                                     {token: good(), code: 200, reviews: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if accept := d.review; tc.review != nil {
				d.review = func(r *authenticationv1.TokenReview) { accept(r); tc.review(r) }
			}
			for range 3 {
				w := d.get(cardURL, tc.token)
				if w.Code != tc.code {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				if challenge := w.Header().Get("WWW-Authenticate"); tc.code == 401 && !strings.HasPrefix(challenge, `Bearer realm="agentpeer"`) {
					t.Errorf("challenge %q", challenge)
				}
			}
			if n := d.reviews.Load(); n != tc.reviews {
				t.Errorf("the API server was asked %d times for three requests, want %d", n, tc.reviews)
			}
		})
	}
}

func TestSecurityCardCallersNeedTheRight(t *testing.T) {
	d := newDesk(t)
	d.allowed = func(a authorizationv1.ResourceAttributes) bool {
		return a == authorizationv1.ResourceAttributes{Group: "trust.agentpeer.dev", Version: "v1alpha1", Resource: "agentpeers", Verb: "get", Namespace: "travel", Name: "planner"}
	}
	for path, want := range map[string]int{cardURL: 200, "/peers/travel": 403, "/peers/other/planner/.well-known/agent-card.json": 403, "/peers/travel/other/.well-known/agent-card.json": 403} {
		w := d.get(path, good())
		if w.Code != want || want == 403 && !strings.Contains(w.Body.String(), "may not") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	// Whoever may not look learns nothing of what is there.
	here := d.get("/peers/travel/other/.well-known/agent-card.json", good()).Body.String()
	d.peer = nil
	if gone := d.get("/peers/travel/other/.well-known/agent-card.json", good()).Body.String(); gone != here {
		t.Errorf("there: %s, not there: %s", here, gone)
	}
}

func TestSecurityCardAnswersOfTheAPIServerAgeAndTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		short := token(`{"sub":"system:serviceaccount:travel:orchestrator","aud":"agentpeer","exp":%d}`, time.Now().Add(20*time.Second).Unix())
		long := good()
		for _, token := range []string{short, long} {
			if w := d.get(cardURL, token); w.Code != 200 {
				t.Fatal(w.Code)
			}
		}
		time.Sleep(21 * time.Second)
		if w := d.get(cardURL, short); w.Code != 401 {
			t.Errorf("a token past its end: %d", w.Code)
		}
		d.allowed = func(authorizationv1.ResourceAttributes) bool { return false }
		d.review = func(*authenticationv1.TokenReview) {}
		if w := d.get(cardURL, long); w.Code != 200 {
			t.Errorf("within a minute: %d", w.Code)
		}
		time.Sleep(40 * time.Second)
		if w := d.get(cardURL, long); w.Code != 401 {
			t.Errorf("a minute after the pod was deleted: %d", w.Code)
		}
		d.review = func(r *authenticationv1.TokenReview) {
			r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: r.Spec.Audiences, User: authenticationv1.UserInfo{Username: "system:serviceaccount:travel:orchestrator"}}
		}
		time.Sleep(badFor + time.Second)
		if w := d.get(cardURL, long); w.Code != 403 {
			t.Errorf("a minute after the right was taken: %d", w.Code)
		}
		d.allowed = func(authorizationv1.ResourceAttributes) bool { return true }
		time.Sleep(badFor + time.Second)
		if w := d.get(cardURL, long); w.Code != 200 {
			t.Errorf("ten seconds after it was given back: %d", w.Code)
		}
	})
}

func TestSecurityCardStrangersMakeNoQueueAtTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		known := good()
		if w := d.get(cardURL, known); w.Code != 200 {
			t.Fatal(w.Code)
		}
		d.reviewing = make(chan struct{})
		codes := make(chan int, 400)
		for i := range 400 {
			go func() { codes <- d.getFrom(fmt.Sprintf("10.0.%d.%d:1", i/200, i%200), cardURL, madeUp(i)).Code }()
		}
		synctest.Wait()
		if n := d.reviews.Load(); n != 1+reviewsAtOnce {
			t.Errorf("%d reviews at once, want %d", n-1, reviewsAtOnce)
		}
		if n := len(codes); n != 400-reviewsAtOnce {
			t.Errorf("%d were answered at once, want all but %d", n, reviewsAtOnce)
		}
		if w := d.get(cardURL, known); w.Code != 200 {
			t.Errorf("whoever is known, meanwhile: %d", w.Code)
		}
		time.Sleep(reviewTimeout)
		synctest.Wait()
		for range 400 {
			if code := <-codes; code != 503 {
				t.Fatalf("%d, want 503 where the API server says nothing", code)
			}
		}
	})
}

// madeUp is a token that nobody signed and that says of itself what a good one does.
func madeUp(n int) string {
	return token(`{"sub":"system:serviceaccount:a:b","aud":"agentpeer","exp":%d,"n":%d}`, time.Now().Add(time.Hour).Unix(), n)
}

// TestSecurityCardFloodsFromOneSourceLeaveRoomForOthers: neither made-up tokens nor, with a token that is known, questions about ever other
// peers keep those away who ask from elsewhere for the first time.
func TestSecurityCardFloodsFromOneSourceLeaveRoomForOthers(t *testing.T) {
	for name, flood := range map[string]func(d *desk, known string, i int){
		"made-up tokens": func(d *desk, _ string, i int) { d.getFrom("10.9.9.9:1", cardURL, madeUp(i)) },
		"names that are nothing": func(d *desk, known string, i int) {
			d.getFrom("10.9.9.9:1", fmt.Sprintf("/peers/travel/none-%d/.well-known/agent-card.json", i), known)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				known := good()
				if w := d.getFrom("10.9.9.9:1", cardURL, known); w.Code != 200 {
					t.Fatal(w.Code)
				}
				slow := make(chan struct{})
				d.reviewing, d.authorizing = slow, slow
				for i := range 64 { // as many as may have connections from one address
					go flood(d, known, i)
				}
				synctest.Wait()
				got := make(chan int, 1)
				go func() { got <- d.getFrom("10.1.1.1:1", cardURL, madeUp(-1)).Code }()
				synctest.Wait()
				close(slow)
				if code := <-got; code != 200 {
					t.Errorf("somebody else who comes for the first time: %d, want 200", code)
				}
			})
		})
	}
}

func TestWrittenCardsKeepToTheirMemory(t *testing.T) {
	d := newDesk(t)
	for i := range 60 {
		d.judged = &card.Judged{Raw: []byte(`{"url":"https://a.example.com","description":"` + strings.Repeat("x", 1<<20) + `"}`)}
		d.get(fmt.Sprintf("/peers/travel/planner-%d/.well-known/agent-card.json", i), good())
		if d.cards.size > renderedBytes {
			t.Fatalf("%d bytes", d.cards.size)
		}
	}
	if sum := 0; true {
		for _, one := range d.cards.rendered {
			sum += len(one.body)
		}
		if sum != d.cards.size || sum == 0 {
			t.Errorf("%d bytes are kept, and %d counted", sum, d.cards.size)
		}
	}
}

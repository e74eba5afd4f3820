package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	peerclient "github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/internal/card"
)

const (
	// maxAge is how long a client may take a card from its own cache, in seconds: as long as a change of status takes to be seen here.
	maxAge = 1
	// renderedBytes is how much of written cards is kept. Beyond it all are written again, which costs time and nothing else.
	renderedBytes = 32 << 20
	// retryUnavailable is when to look again at a peer that cannot be used.
	retryUnavailable = 10 * time.Second
)

// Names of headers. Their values are enums, numbers and times.
const (
	headerPath       = "Agentpeer-Path"
	headerMultiTurn  = "Agentpeer-Multi-Turn"
	headerCancel     = "Agentpeer-Cancel"
	headerUpdates    = "Agentpeer-Updates"
	headerReason     = "Agentpeer-Reason"
	headerMasked     = "Agentpeer-Masked"
	headerSignatures = "Agentpeer-Signatures"
	headerInterfaces = "Agentpeer-Interfaces-Dropped"
	headerCard       = "Agentpeer-Card"
	headerCardReason = "Agentpeer-Card-Reason"
	headerExpiration = "Agentpeer-Expiration"
)

// CardSource has the AgentPeers and their judged cards. The controllers have one.
type CardSource interface {
	// Find yields an AgentPeer, nil if there is none, and its judged card. Where there is no card to serve the error is a *card.Unheld. It may
	// take some seconds. Nobody changes what it yields.
	Find(ctx context.Context, key types.NamespacedName) (*v1alpha1.AgentPeer, *card.Judged, error)
	// Peers are the AgentPeers of a namespace.
	Peers(namespace string) []*v1alpha1.AgentPeer
	// Ready once all AgentPeers were seen.
	Ready() bool
}

// Cards serves reconciled cards: the card of a peer that promises no more than is trusted now.
//
//	GET /peers/NAMESPACE/NAME/.well-known/agent-card.json   the card; agent.json for clients of 0.2 and before
//	GET /peers/NAMESPACE                                    a list of decisions
//	GET /healthz                                            open to everybody
//
// It is safe for many goroutines.
type Cards struct {
	source  CardSource
	callers *Callers
	// count is told of each answer.
	count func(status int)

	mu       sync.Mutex
	rendered map[types.NamespacedName]*rendered
	size     int
}

// NewCards serves what source has to those whom callers let in. count, if set, is told the status of each answer.
func NewCards(source CardSource, callers *Callers, count func(status int)) *Cards {
	if count == nil {
		count = func(int) {}
	}
	return &Cards{source: source, callers: callers, count: count, rendered: map[types.NamespacedName]*rendered{}}
}

func (s *Cards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, p := s.serve(w, r)
	if p != nil {
		status = p.Status
		p.answer(w)
	}
	s.count(status)
}

const (
	wellKnown       = ".well-known/agent-card.json"
	legacyWellKnown = ".well-known/agent.json"
)

func (s *Cards) serve(w http.ResponseWriter, r *http.Request) (int, *problem) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p := newProblem(http.StatusMethodNotAllowed, "Everything here is read: use GET or HEAD.")
		p.header = http.Header{"Allow": {"GET, HEAD"}}
		return 0, p
	}
	if r.URL.Path == "/healthz" {
		return s.health(w)
	}
	below, ok := strings.CutPrefix(r.URL.Path, "/peers/")
	namespace, rest, _ := strings.Cut(below, "/")
	name, file, _ := strings.Cut(rest, "/")
	switch {
	case !ok, r.URL.RawPath != "", !named(namespace):
		return 0, nothingThere()
	case rest == "":
		return s.list(w, r, namespace)
	case name == ".well-known":
		return 0, newProblem(http.StatusNotFound, "This has a namespace and no name: end the base URL with a slash, as in /peers/NAMESPACE/NAME/, "+
			"since some clients put the path of the card in place of what follows the last one.")
	case !named(name), file != wellKnown && file != legacyWellKnown:
		return 0, nothingThere()
	}
	return s.card(w, r, types.NamespacedName{Namespace: namespace, Name: name})
}

// named tells what may be the name of an object or namespace (RFC 1123). The API server knows more exactly; the regular expressions for it took a
// tenth of a request.
func named(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return s != "" && len(s) <= 253 && s[0] != '.'
}

func nothingThere() *problem {
	return newProblem(http.StatusNotFound, "There is /peers/NAMESPACE/NAME/"+wellKnown+", whose base URL for a client is /peers/NAMESPACE/NAME/, "+
		"/peers/NAMESPACE and /healthz.")
}

func (s *Cards) health(w http.ResponseWriter) (int, *problem) {
	if !s.source.Ready() {
		p := newProblem(http.StatusServiceUnavailable, "The AgentPeers are still being read.")
		p.retryAfter = time.Second
		return 0, p
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // whoever asked is gone
	return http.StatusOK, nil
}

func (s *Cards) card(w http.ResponseWriter, r *http.Request, key types.NamespacedName) (int, *problem) {
	if p := s.callers.admit(r, want{"get", key.Namespace, key.Name}); p != nil {
		return 0, p
	}
	if !s.source.Ready() {
		return 0, unheld(&card.Unheld{Reason: "CardNotJudged", RetryAfter: time.Second})
	}
	peer, judged, err := s.source.Find(r.Context(), key)
	var none *card.Unheld
	switch {
	case err == nil && peer == nil:
		return 0, newProblem(http.StatusNotFound, "There is no AgentPeer "+key.Name+" in namespace "+key.Namespace+": create it, or mend the URL.")
	case errors.As(err, &none):
		// What cannot be used at all is told by its own reason, card or none.
		if d := peerclient.Decide(peer, asOf()); peer != nil && d.Path == v1alpha1.PathUnavailable {
			return 0, unavailable(d)
		}
		return 0, unheld(none)
	case err != nil:
		return 0, unheld(&card.Unheld{Reason: "CardNotJudged", RetryAfter: time.Second})
	}
	now := asOf()
	v := judge(peer, judged, now)
	if v.Path == v1alpha1.PathUnavailable {
		return 0, unavailable(v.Decision)
	}
	one, p := s.write(key, peer, judged, v)
	if p != nil {
		return 0, p
	}
	return one.answer(w, r, v.until(), now), nil
}

// asOf is the time that trust is compared with: as much later than our clock as it may be behind the operator's, which is another replica's.
func asOf() time.Time { return time.Now().Add(peerclient.DefaultClockSkew) }

func unavailable(d peerclient.Decision) *problem {
	p := newProblem(http.StatusServiceUnavailable, "The peer cannot be used: see status.decision of its AgentPeer, and docs/reasons.md for the reason.")
	p.Reason, p.retryAfter = d.Reason, retryUnavailable
	p.header = http.Header{headerPath: {string(d.Path)}, headerReason: {string(d.Reason)}}
	return p
}

func unheld(e *card.Unheld) *problem {
	p := newProblem(http.StatusServiceUnavailable, "This replica holds no card of the peer whose claims were judged: try again, or take your single-shot path with the peer's own card.")
	p.Reason, p.retryAfter = v1alpha1.Reason(e.Reason), e.RetryAfter
	return p
}

// rendered is a written card with what it was written from.
type rendered struct {
	peer    *v1alpha1.AgentPeer
	judged  *card.Judged
	verdict verdict
	body    []byte
	etag    string
	header  http.Header
}

// write yields the card as the verdict has it, which is written anew only where something has changed.
func (s *Cards) write(key types.NamespacedName, peer *v1alpha1.AgentPeer, judged *card.Judged, v verdict) (*rendered, *problem) {
	s.mu.Lock()
	one := s.rendered[key]
	s.mu.Unlock()
	if one != nil && one.peer == peer && one.judged == judged && one.verdict == v {
		return one, nil
	}
	next, err := render(peer, judged, v)
	if err != nil {
		p := newProblem(http.StatusServiceUnavailable, "No interface of the peer's card may be used: add their origins to spec.allowedOrigins, or set spec.interface.urlFrom to Endpoint.")
		p.Reason, p.retryAfter = v1alpha1.WarningEndpointOriginDiffers, retryUnavailable
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.rendered[key]; old != nil {
		s.size -= len(old.body)
	}
	if s.size+len(next.body) > renderedBytes {
		clear(s.rendered)
		s.size = 0
	}
	s.rendered[key] = next
	s.size += len(next.body)
	return next, nil
}

var noCache, shortly = []string{"private, no-cache"}, []string{"private, max-age=" + strconv.Itoa(maxAge)}

// answer sends the card, or says that it is the one that the client has. until is when trust ends that it rests on at now; zero if it rests on
// none.
func (one *rendered) answer(w http.ResponseWriter, r *http.Request, until, now time.Time) int {
	h := w.Header()
	for name, values := range one.header {
		h[name] = values
	}
	h["Cache-Control"] = shortly
	if !until.IsZero() && until.Sub(now) < maxAge*time.Second {
		h["Cache-Control"] = noCache
	}
	if match := r.Header["If-None-Match"]; len(match) > 0 && matches(match, one.etag) {
		delete(h, "Content-Length")
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(one.body) // whoever asked is gone
	}
	return http.StatusOK
}

// matches compares as RFC 9110, 13.1.2 has it.
func matches(headers []string, etag string) bool {
	for _, header := range headers {
		for _, tag := range strings.Split(header, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// listed is a decision in the list.
type listed struct {
	Name           string                     `json:"name"`
	Path           v1alpha1.DecisionPath      `json:"path"`
	MultiTurn      v1alpha1.DecisionMultiTurn `json:"multiTurn"`
	Cancel         v1alpha1.DecisionCancel    `json:"cancel"`
	Updates        v1alpha1.DecisionUpdates   `json:"updates"`
	Reason         v1alpha1.Reason            `json:"reason"`
	ExpirationTime *metav1.Time               `json:"expirationTime,omitempty"`
	URL            string                     `json:"url,omitempty"`
	Card           string                     `json:"card"`
}

func (s *Cards) list(w http.ResponseWriter, r *http.Request, namespace string) (int, *problem) {
	if p := s.callers.admit(r, want{"list", namespace, ""}); p != nil {
		return 0, p
	}
	peers, now := s.source.Peers(namespace), asOf()
	slices.SortFunc(peers, func(a, b *v1alpha1.AgentPeer) int { return strings.Compare(a.Name, b.Name) })
	answer := struct {
		Namespace string   `json:"namespace"`
		Items     []listed `json:"items"`
	}{namespace, make([]listed, 0, len(peers))}
	for _, peer := range peers {
		d := peerclient.Decide(peer, now)
		one := listed{Name: peer.Name, Path: d.Path, MultiTurn: d.MultiTurn, Cancel: d.Cancel, Updates: d.Updates, Reason: d.Reason,
			URL: peer.Status.Target, Card: "/peers/" + namespace + "/" + peer.Name + "/" + wellKnown}
		if !d.Expiration.IsZero() {
			one.ExpirationTime = &metav1.Time{Time: d.Expiration}
		}
		answer.Items = append(answer.Items, one)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return 0, newProblem(http.StatusInternalServerError, "The list could not be written.")
	}
	one := rendered{body: append(body, '\n')}
	one.etag = etagOf(one.body)
	one.header = baseHeader(&one)
	return one.answer(w, r, now, now), nil // the list has many ends of trust, so it is never kept
}

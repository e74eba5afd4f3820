package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// peers is a Reader of a table, and its own clock.
type peers struct {
	mu    sync.Mutex
	all   map[types.NamespacedName]*v1alpha1.AgentPeer
	err   error
	now   time.Time
	reads atomic.Int64
}

func (p *peers) Get(name types.NamespacedName) (*v1alpha1.AgentPeer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads.Add(1)
	return p.all[name], p.err
}

func (p *peers) List() ([]*v1alpha1.AgentPeer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads.Add(1)
	var out []*v1alpha1.AgentPeer
	for _, peer := range p.all {
		out = append(out, peer)
	}
	return out, p.err
}

func (p *peers) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// set an AgentPeer as an API server would, with a new resourceVersion.
func (p *peers) set(name string, change func(*v1alpha1.AgentPeer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := types.NamespacedName{Namespace: "travel", Name: name}
	peer := trusted()
	if old := p.all[key]; old != nil {
		peer = old.DeepCopy()
	}
	peer.Namespace, peer.Name = key.Namespace, key.Name
	if peer.UID == "" {
		peer.UID = types.UID("uid-" + name)
	}
	if change != nil {
		change(peer)
	}
	peer.ResourceVersion = fmt.Sprint(rand.Uint64())
	p.all[key] = peer
}

func (p *peers) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, types.NamespacedName{Namespace: "travel", Name: name})
}

func (p *peers) after(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// readPeers is a cache over a table with one trusted peer, planner, until now plus a minute.
func readPeers(o CacheOptions) (*PeerCapabilityCache, *peers) {
	p := &peers{all: map[types.NamespacedName]*v1alpha1.AgentPeer{}, now: now}
	o.Clock = p.clock
	p.set("planner", func(peer *v1alpha1.AgentPeer) { trustAll(peer, now.Add(time.Minute)) })
	return NewPeerCapabilityCacheFor(p, o), p
}

// trustAll writes trust in every capability that a decision speaks of.
func trustAll(peer *v1alpha1.AgentPeer, until time.Time) {
	peer.Status.Capabilities = nil
	for _, c := range []v1alpha1.CapabilityName{v1alpha1.CapabilityStreaming, v1alpha1.CapabilityContinuation, v1alpha1.CapabilityCancellation,
		v1alpha1.CapabilityPushNotifications} {
		peer.Status.Capabilities = append(peer.Status.Capabilities, v1alpha1.CapabilityStatus{Name: c, State: v1alpha1.Trusted,
			ExpirationTime: &metav1.Time{Time: until}, LastHonoredTime: &metav1.Time{Time: now.Add(-time.Hour)}})
	}
}

var planner = Named("travel", "planner")

// What a reader is told must be what the pure function says at every moment, sooner by the skew: there is one truth.
func TestTheIndexSaysWhatDecideSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	at := func() *metav1.Time {
		if random.IntN(4) == 0 {
			return nil
		}
		return &metav1.Time{Time: now.Add(time.Duration(random.IntN(20)) * time.Second)}
	}
	const skew = 3 * time.Second
	for range 500 {
		peer := trusted()
		peer.Status.Decision.ExpirationTime = at()
		if random.IntN(2) == 0 {
			peer.Spec.Card.Verification.Policy = v1alpha1.SignatureRequire
		}
		if random.IntN(2) == 0 {
			peer.Status.Card = &v1alpha1.CardStatus{Signature: &v1alpha1.CardSignature{Result: v1alpha1.SignatureVerified, ExpirationTime: at()}}
		}
		switch random.IntN(8) {
		case 0:
			peer.Status.Decision = nil
		case 1:
			peer.Generation++
		case 2:
			peer.Spec.URL = "https://elsewhere.example.com"
		case 3:
			peer.Status.Decision.Path = v1alpha1.PathUnavailable
		}
		a := answerOf(compile(peer, skew), [capabilities]moment{})
		for s := -5; s < 25; s++ {
			for _, nudge := range []time.Duration{-1, 0, 1} {
				when := now.Add(time.Duration(s)*time.Second + nudge)
				want := Decide(peer, when.Add(skew))
				if !want.Expiration.IsZero() {
					want.Expiration = want.Expiration.Add(-skew)
				}
				if diff := cmp.Diff(want, a.at(momentOf(when)).Decision); diff != "" {
					t.Fatalf("at %v (-Decide +index):\n%s", when.Sub(now), diff)
				}
			}
		}
	}
}

func TestTrustEndsSoonerByTheSkew(t *testing.T) {
	c, p := readPeers(CacheOptions{ClockSkew: 10 * time.Second})
	for _, tc := range []struct {
		after time.Duration
		path  v1alpha1.DecisionPath
	}{{0, "Streaming"}, {49 * time.Second, "Streaming"}, {time.Second, "SingleShot"}} {
		p.after(tc.after)
		d := c.Decide(planner)
		if d.Path != tc.path || c.IsTrusted(planner, v1alpha1.CapabilityStreaming) != (tc.path == "Streaming") {
			t.Errorf("%v before the expiration: %s (%s)", now.Add(time.Minute).Sub(p.now), d.Path, d.Reason)
		}
		if tc.path == "Streaming" && !d.Expiration.Equal(now.Add(50*time.Second)) {
			t.Errorf("the decision expires at %v, want the skew before its time", d.Expiration)
		}
	}
}

func TestIsTrusted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*v1alpha1.AgentPeer)
		want   bool
	}{
		"live trust": {"the operator vouches for it", func(*v1alpha1.AgentPeer) {}, true},
		"trust in a capability and a decision that does not follow it": {
			"claims that are not settled, or a human, stand before it",
			func(p *v1alpha1.AgentPeer) { p.Status.Decision.Path = v1alpha1.PathSingleShot }, false},
		"mode Observe, which would follow it": {
			"the decision is the card's, the trust is the operator's",
			func(p *v1alpha1.AgentPeer) {
				would := p.Status.Decision.Choice
				p.Status.Decision.Would, p.Status.Decision.Path = &would, v1alpha1.PathSingleShot
			}, true},
		"mode Observe, which would not": {
			"a card's word is no observation",
			func(p *v1alpha1.AgentPeer) {
				p.Status.Decision.Would = &v1alpha1.Choice{Path: v1alpha1.PathSingleShot}
			}, false},
		"trust without an end": {"it would outlive the operator", func(p *v1alpha1.AgentPeer) { p.Status.Capabilities[0].ExpirationTime = nil }, false},
		"demoted":              {"it was seen to fail", func(p *v1alpha1.AgentPeer) { p.Status.Capabilities[0].State = v1alpha1.Demoted }, false},
		"another target":       {"nobody has looked at it", func(p *v1alpha1.AgentPeer) { p.Spec.URL = "https://elsewhere.example.com" }, false},
		"no decision":          {"the operator has said nothing", func(p *v1alpha1.AgentPeer) { p.Status.Decision = nil }, false},
		"a signature that is required and was not found": {
			"nothing counts of a peer that may be another",
			func(p *v1alpha1.AgentPeer) {
				p.Spec.Card.Verification.Policy = v1alpha1.SignatureRequire
				p.Generation++
			}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := readPeers(CacheOptions{})
			p.set("planner", tc.change)
			if got := c.IsTrusted(planner, v1alpha1.CapabilityStreaming); got != tc.want {
				t.Errorf("%v, want %v: %s", got, tc.want, tc.reason)
			}
		})
	}
	c, _ := readPeers(CacheOptions{})
	if c.IsTrusted(planner, v1alpha1.CapabilityLifecycle) || c.IsTrusted(planner, "Flying") || c.IsTrusted(Named("travel", "nobody"), "Streaming") {
		t.Error("what nobody has judged is trusted")
	}
}

func TestAPeerIsFoundByEachURLThatItStandsFor(t *testing.T) {
	c, p := readPeers(CacheOptions{})
	p.set("planner", func(peer *v1alpha1.AgentPeer) {
		peer.Status.Card = &v1alpha1.CardStatus{
			Interface: &v1alpha1.CardInterface{URL: "https://rpc.example.com/v1"},
			Interfaces: []v1alpha1.DeclaredInterface{
				{State: v1alpha1.InterfaceUsed, CardInterface: v1alpha1.CardInterface{URL: "https://rpc.example.com/v1"}},
				{State: v1alpha1.InterfaceReachable, CardInterface: v1alpha1.CardInterface{URL: "https://rest.example.com"}},
				{State: v1alpha1.InterfaceUnreachable, CardInterface: v1alpha1.CardInterface{URL: "https://dead.example.com"}},
				{State: v1alpha1.InterfaceNotAllowed, CardInterface: v1alpha1.CardInterface{URL: "https://victim.example.com"}},
			}}
	})
	p.set("svc", func(peer *v1alpha1.AgentPeer) {
		peer.Spec.URL = ""
		peer.Spec.ServiceRef = &v1alpha1.ServiceReference{Name: "agent", Port: intstr.FromString("http"), Path: "/a2a", Scheme: "http"}
		peer.Status.Target = "http://agent.travel.svc:8080/a2a"
	})
	for url, want := range map[string]v1alpha1.Reason{
		"https://planner.example.com/a2a":  "StreamingTrusted",
		"https://PLANNER.example.com/a2a/": "StreamingTrusted",
		"https://rpc.example.com/v1":       "StreamingTrusted",
		"https://rest.example.com":         "StreamingTrusted",
		"http://agent.travel.svc:8080/a2a": "StreamingTrusted",
		"https://dead.example.com":         ReasonPeerUnknown,
		"https://victim.example.com":       ReasonPeerUnknown,
		"https://planner.example.com":      ReasonPeerUnknown,
		"planner.example.com/a2a":          ReasonPeerUnknown,
	} {
		if d := c.Decide(At(url)); d.Reason != want {
			t.Errorf("%s: %s, want %s", url, d.Reason, want)
		}
	}
	p.set("planner", func(peer *v1alpha1.AgentPeer) { peer.Spec.URL = "https://moved.example.com" })
	for url, want := range map[string]v1alpha1.Reason{
		"https://moved.example.com":  ReasonStatusOutdated,
		"https://rpc.example.com/v1": ReasonPeerUnknown,
	} {
		if d := c.Decide(At(url)); d.Reason != want || d.Path != "SingleShot" {
			t.Errorf("after the move, %s: %s, want %s", url, d.Reason, want)
		}
	}
	p.remove("planner")
	if d := c.Decide(At("https://moved.example.com")); d.Reason != ReasonPeerUnknown {
		t.Errorf("after it was deleted: %s", d.Reason)
	}
}

func TestOfTwoPeersForOneURLTheWorstCountsInEachField(t *testing.T) {
	c, p := readPeers(CacheOptions{ClockSkew: -1})
	at := At("https://planner.example.com/a2a")
	p.set("aaa", func(peer *v1alpha1.AgentPeer) {
		trustAll(peer, now.Add(time.Hour))
		peer.Status.Decision.ExpirationTime = &metav1.Time{Time: now.Add(30 * time.Second)}
		peer.Status.Decision.Cancel = v1alpha1.CancelBestEffort
		peer.Status.Decision.Deadlines = v1alpha1.Deadlines{Hard: &metav1.Duration{Duration: time.Minute}}
		peer.Status.Capabilities[3].State = v1alpha1.Demoted
		peer.Status.Capabilities = append(peer.Status.Capabilities,
			v1alpha1.CapabilityStatus{Name: v1alpha1.CapabilityInputModes, State: v1alpha1.Unverified, RefusedInputModes: []string{"text/csv"}})
	})
	both := Decision{Path: "Streaming", MultiTurn: "Interactive", Cancel: "BestEffort", Updates: "Push", Reason: "StreamingTrusted",
		Expiration: now.Add(30 * time.Second), Wait: 10 * time.Second, Hard: time.Minute}
	if diff := cmp.Diff(both, c.Decide(at)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for capability, want := range map[v1alpha1.CapabilityName]bool{"Streaming": true, "PushNotifications": false} {
		if got := c.IsTrusted(at, capability); got != want {
			t.Errorf("%s is trusted: %v, want %v", capability, got, want)
		}
	}
	if got := c.RefusedInputModes(at); !slices.Equal(got, []string{"text/csv"}) {
		t.Errorf("refused are %v", got)
	}
	p.after(30 * time.Second)
	if d := c.Decide(at); d.Path != "SingleShot" || d.Reason != ReasonTrustExpired || !d.Expiration.Equal(now.Add(time.Minute)) {
		t.Errorf("after the first has expired: %+v", d)
	}
	if d := c.Decide(planner); d.Path != "Streaming" {
		t.Errorf("the other by its name: %+v", d)
	}
	p.after(-20 * time.Second) // a clock is set back
	if diff := cmp.Diff(both, c.Decide(at)); diff != "" {
		t.Errorf("after the clock was set back (-want +got):\n%s", diff)
	}
	p.set("zzz", func(peer *v1alpha1.AgentPeer) {
		peer.Status.Decision.Path, peer.Status.Decision.Reason = v1alpha1.PathUnavailable, "NoUsableInterface"
	})
	if d := c.Decide(at); d.Path != "Unavailable" || d.Reason != "NoUsableInterface" {
		t.Errorf("beside one that is unavailable: %+v", d)
	}
	p.remove("aaa")
	p.remove("zzz")
	if d := c.Decide(at); d.Path != "Streaming" || d.Cancel != "Reliable" {
		t.Errorf("when the others are gone: %+v", d)
	}
}

func TestReadersAndWritersAtOnce(t *testing.T) {
	c := newCache(CacheOptions{Clock: func() time.Time { return now }})
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	make1 := func(i, version int) *v1alpha1.AgentPeer {
		peer := trusted()
		peer.Namespace, peer.Name, peer.UID = "travel", fmt.Sprint("p", i), types.UID(fmt.Sprint(i))
		peer.ResourceVersion = fmt.Sprint(version)
		if version%2 == 1 {
			peer.Status.Decision.Path = v1alpha1.PathSingleShot
		}
		return peer
	}
	for w := range 4 {
		writers.Go(func() {
			for version := range 300 {
				c.take(make1(w, version))
				if version%10 == 9 {
					c.drop(types.NamespacedName{Namespace: "travel", Name: fmt.Sprint("p", w)})
				}
			}
			c.take(make1(w, 1001))
		})
	}
	for range 16 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if d := c.Decide(At("https://planner.example.com/a2a")); d.Path == "" {
					t.Error("an empty decision")
					return
				}
				c.Demote(Named("travel", "p0"), v1alpha1.CapabilityStreaming, refusal)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for i := range 4 {
		if d := c.Decide(Named("travel", fmt.Sprint("p", i))); d.Path != "SingleShot" {
			t.Errorf("p%d: %+v", i, d)
		}
	}
	if d := c.Decide(At("https://planner.example.com/a2a")); d.Path != "SingleShot" {
		t.Errorf("by URL: %+v", d)
	}
}

// fleet is a cache that knows n peers, as an informer would fill it.
func fleet(tb testing.TB, n int) (c *PeerCapabilityCache, names, urls []Ref) {
	tb.Helper()
	c = newCache(CacheOptions{})
	for i := range n {
		peer := trusted()
		peer.Namespace, peer.Name = fmt.Sprint("team-", i%50), fmt.Sprint("agent-", i)
		peer.UID, peer.ResourceVersion = types.UID(fmt.Sprint(i)), "1"
		peer.Spec.URL = fmt.Sprintf("https://agent-%d.example.com/a2a", i)
		peer.Status.Target = peer.Spec.URL
		trustAll(peer, time.Now().Add(time.Hour))
		peer.Status.Decision.ExpirationTime = &metav1.Time{Time: time.Now().Add(time.Hour)}
		c.take(peer)
		names, urls = append(names, Named(peer.Namespace, peer.Name)), append(urls, At(peer.Spec.URL))
	}
	return c, names, urls
}

func TestAskingAllocatesNothing(t *testing.T) {
	c, names, urls := fleet(t, 100)
	twin := trusted()
	twin.Namespace, twin.Name, twin.Spec.URL, twin.Status.Target = "team-0", "twin", "https://agent-0.example.com/a2a", "https://agent-0.example.com/a2a"
	c.take(twin)
	c.Demote(names[1], v1alpha1.CapabilityStreaming, refusal)
	for name, ask := range map[string]func(){
		"Decide by name":           func() { c.Decide(names[7]) },
		"Decide by URL":            func() { c.Decide(urls[7]) },
		"Decide by a URL of two":   func() { c.Decide(urls[0]) },
		"Decide of one held":       func() { c.Decide(names[1]) },
		"Decide of nobody":         func() { c.Decide(Ref{}) },
		"IsTrusted":                func() { c.IsTrusted(urls[7], v1alpha1.CapabilityStreaming) },
		"RefusedInputModes":        func() { c.RefusedInputModes(names[7]) },
		"Honored without Reporter": func() { c.Honored(names[7], v1alpha1.CapabilityStreaming) },
	} {
		ask()
		if n := testing.AllocsPerRun(1000, ask); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

func BenchmarkCacheDecide(b *testing.B) {
	c, names, urls := fleet(b, 10_000)
	for _, by := range []struct {
		name string
		refs []Ref
	}{{"name", names}, {"URL", urls}} {
		b.Run("by "+by.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if d := c.Decide(by.refs[i]); d.Path != v1alpha1.PathStreaming {
					b.Fatal(d)
				}
				if i += 7919; i >= len(by.refs) {
					i -= len(by.refs)
				}
			}
		})
		b.Run("by "+by.name+" in parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(loop *testing.PB) {
				for i := rand.IntN(len(by.refs)); loop.Next(); {
					c.Decide(by.refs[i])
					if i += 7919; i >= len(by.refs) {
						i -= len(by.refs)
					}
				}
			})
		})
	}
	b.Run("IsTrusted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.IsTrusted(names[77], v1alpha1.CapabilityStreaming)
		}
	})
}

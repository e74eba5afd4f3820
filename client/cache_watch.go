package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// watcher keeps a cache up to date with the API server: one reflector for each namespace, which compiles what it reads and keeps nothing
// else of it.
type watcher struct {
	api   rest.Interface
	codec runtime.ParameterCodec
	// scopes are namespaces; the only one "" is all of them.
	scopes []string
	synced atomic.Bool

	mu      sync.Mutex
	running bool
	waiting map[string]bool  // scopes that were never read whole
	trouble map[string]error // of each scope, what its last request came to
	changed chan struct{}    // closed and replaced when one of the above is another
}

func newWatcher(config *rest.Config, namespaces []string) (*watcher, error) {
	if config == nil {
		return nil, errors.New("making a cache of AgentPeers: no configuration of the API server, take rest.InClusterConfig or clientcmd's")
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("making a cache of AgentPeers: %w", err)
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a cache of AgentPeers: %w", err)
	}
	w := &watcher{api: api, codec: runtime.NewParameterCodec(scheme), scopes: []string{metav1.NamespaceAll},
		waiting: map[string]bool{}, trouble: map[string]error{}, changed: make(chan struct{})}
	if len(namespaces) > 0 && !slices.Contains(namespaces, metav1.NamespaceAll) {
		w.scopes = slices.Compact(slices.Sorted(slices.Values(namespaces)))
	}
	for _, scope := range w.scopes {
		w.waiting[scope] = true
	}
	return w, nil
}

func (w *watcher) run(ctx context.Context, c *PeerCapabilityCache) error {
	w.mu.Lock()
	again := w.running
	w.running = true
	w.mu.Unlock()
	if again {
		return errors.New("starting a cache of AgentPeers: it was started before")
	}
	var all sync.WaitGroup
	for _, scope := range w.scopes {
		reflector := cache.NewReflectorWithOptions(w.source(scope), &v1alpha1.AgentPeer{}, &sink{cache: c, watcher: w, scope: scope},
			cache.ReflectorOptions{Name: "agentpeers", TypeDescription: "AgentPeer"})
		all.Go(func() { reflector.RunWithContext(ctx) })
	}
	all.Wait()
	return w.err()
}

// source lists and watches one scope, and notes how that went.
func (w *watcher) source(scope string) cache.ListerWatcher {
	request := func(o metav1.ListOptions) *rest.Request {
		return w.api.Get().NamespaceIfScoped(scope, scope != metav1.NamespaceAll).Resource("agentpeers").VersionedParams(&o, w.codec)
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &v1alpha1.AgentPeerList{}
			err := request(o).Do(ctx).Into(list)
			w.note(ctx, scope, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			stream, err := request(o).Watch(ctx)
			w.note(ctx, scope, err)
			return stream, err
		},
	}, w.api)
}

// note what a request came to. That a context ended says nothing about the API server.
func (w *watcher) note(ctx context.Context, scope string, err error) {
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.trouble, scope)
	} else {
		w.trouble[scope] = access(scope, err)
	}
	w.tell()
}

// read notes that a scope is known whole.
func (w *watcher) read(scope string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, scope)
	w.synced.Store(len(w.waiting) == 0)
	w.tell()
}

// tell whoever waits. The caller holds mu.
func (w *watcher) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watcher) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.joined()
}

// joined is all trouble there is. The caller holds mu.
func (w *watcher) joined() error {
	var all []error
	for _, scope := range w.scopes {
		all = append(all, w.trouble[scope])
	}
	return errors.Join(all...)
}

func (w *watcher) wait(ctx context.Context) error {
	for {
		w.mu.Lock()
		synced, trouble, changed := len(w.waiting) == 0, w.joined(), w.changed
		w.mu.Unlock()
		if refused := (*AccessError)(nil); synced {
			return nil
		} else if errors.As(trouble, &refused) {
			return trouble
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting until all AgentPeers are known: %w", errors.Join(ctx.Err(), trouble))
		}
	}
}

// sink takes what a reflector reads of one scope.
type sink struct {
	cache   *PeerCapabilityCache
	watcher *watcher
	scope   string
}

var _ cache.TransformingStore = (*sink)(nil)

// Add takes up an AgentPeer.
func (s *sink) Add(o any) error {
	if peer, ok := o.(*v1alpha1.AgentPeer); ok {
		s.cache.take(peer)
	}
	return nil
}

// Update takes up an AgentPeer.
func (s *sink) Update(o any) error { return s.Add(o) }

// Delete forgets one.
func (s *sink) Delete(o any) error {
	if peer, ok := o.(*v1alpha1.AgentPeer); ok {
		s.cache.drop(types.NamespacedName{Namespace: peer.Namespace, Name: peer.Name})
	}
	return nil
}

// Replace takes up all AgentPeers of the scope.
func (s *sink) Replace(list []any, _ string) error {
	those := make([]*v1alpha1.AgentPeer, 0, len(list))
	for _, o := range list {
		if peer, ok := o.(*v1alpha1.AgentPeer); ok {
			those = append(those, peer)
			s.cache.take(peer)
		}
	}
	s.cache.keep(those, func(name types.NamespacedName) bool {
		return s.scope == metav1.NamespaceAll || name.Namespace == s.scope
	})
	s.watcher.read(s.scope)
	return nil
}

// Resync has nothing to do: nothing is derived that could be lost.
func (s *sink) Resync() error { return nil }

// Transformer drops what no reader needs before the first list is complete, so that starting takes little memory too.
func (s *sink) Transformer() cache.TransformFunc {
	return func(o any) (any, error) {
		if peer, ok := o.(*v1alpha1.AgentPeer); ok {
			return stripped(peer), nil
		}
		return o, nil
	}
}

// stripped is an AgentPeer with what is read of it here and no more.
func stripped(peer *v1alpha1.AgentPeer) *v1alpha1.AgentPeer {
	out := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: peer.Namespace, Name: peer.Name, UID: peer.UID,
		ResourceVersion: peer.ResourceVersion, Generation: peer.Generation}}
	out.Spec.URL, out.Spec.ServiceRef = peer.Spec.URL, peer.Spec.ServiceRef
	out.Spec.Card.Verification.Policy = peer.Spec.Card.Verification.Policy
	out.Status.ObservedGeneration, out.Status.Target = peer.Status.ObservedGeneration, peer.Status.Target
	out.Status.Decision, out.Status.Capabilities = peer.Status.Decision, peer.Status.Capabilities
	if c := peer.Status.Card; c != nil {
		out.Status.Card = &v1alpha1.CardStatus{ClaimsDigest: c.ClaimsDigest, Interface: c.Interface, Interfaces: c.Interfaces, Signature: c.Signature}
	}
	return out
}

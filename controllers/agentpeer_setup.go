package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// SetupOptions size the controller.
type SetupOptions struct {
	// Concurrent is how many AgentPeers are reconciled at once; 1 if zero.
	Concurrent int
}

// Index keys: which AgentPeers name a Service or a ConfigMap.
const (
	indexService   = ".spec.serviceRef.name"
	indexConfigMap = ".spec.tls.caRef.name"
)

// ClientOptions are those that the operator's client must have: Secrets and Services are read live. A Secret in a cache
// would need the right to list all of them, and of Services only the metadata is watched.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Service{}},
	}}
}

// CacheOptions are those that the operator's cache should have: managed fields, two fifths of an object, are of no use here.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
}

// SetupWithManager wires the reconciler to what wakes it: its AgentPeers (spec or annotation changed; never its own status
// writes), the Runner's reports, and the metadata of Services and ConfigMaps that AgentPeers name.
func (r *AgentPeerReconciler) SetupWithManager(mgr ctrl.Manager, o SetupOptions) error {
	if err := index(mgr, indexService, serviceName); err != nil {
		return err
	}
	if err := index(mgr, indexConfigMap, configMapName); err != nil {
		return err
	}
	r.complete()
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentpeer").
		For(&trustv1alpha1.AgentPeer{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesMetadata(&corev1.Service{}, r.namers(indexService)).
		WatchesMetadata(&corev1.ConfigMap{}, r.namers(indexConfigMap)).
		WatchesRawSource(reports(r.Runner.Wake())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Concurrent,
			EnableWarmup:            ptr.To(true),
			// A report waits while the API server is away, so retries must not drift apart by minutes.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, 30*time.Second),
		}).
		Complete(r)
}

// index lets us find the AgentPeers that name an object.
func index(mgr ctrl.Manager, field string, name func(*trustv1alpha1.AgentPeer) string) error {
	extract := func(o client.Object) []string {
		if n := name(o.(*trustv1alpha1.AgentPeer)); n != "" {
			return []string{n}
		}
		return nil
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &trustv1alpha1.AgentPeer{}, field, extract); err != nil {
		return fmt.Errorf("indexing AgentPeers by %s: %w", field, err)
	}
	return nil
}

// namers wakes the AgentPeers of the same namespace that name the object.
func (r *AgentPeerReconciler) namers(field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list trustv1alpha1.AgentPeerList
		err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{field: o.GetName()})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the AgentPeers that name an object", "field", field, "name", o.GetName())
			return nil // the next due time wakes them
		}
		requests := make([]reconcile.Request, 0, len(list.Items))
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	})
}

// reports wakes the AgentPeer whose key comes in. The key is all it carries: the report stays with the Runner until it is
// written, so a signal may be lost or doubled.
func reports(wake <-chan string) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case key := <-wake:
					queue.Add(reconcile.Request{NamespacedName: parseKey(key)})
				}
			}
		}()
		return nil
	})
}

// parseKey splits "namespace/name".
func parseKey(key string) types.NamespacedName {
	namespace, name, _ := strings.Cut(key, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

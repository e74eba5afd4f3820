package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
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
	indexConfigMap = ".configMaps"
)

// ClientOptions are those that the operator's client must have: what a spec refers to is read live. A Secret or ServiceAccount in a
// cache would need the right to list all of them, and of Services and ConfigMaps only the metadata is watched.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &discoveryv1.EndpointSlice{},
			&admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}},
	}}
}

// CacheOptions are those that the operator's cache should have: managed fields, two fifths of an object, are of no use here.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: held} // not one by kind, for which the API server would have to be there when the manager is made
}

var stripped = cache.TransformStripManagedFields()

// held is what the cache holds of an object.
func held(o any) (any, error) {
	if report, ok := o.(*trustv1alpha1.AgentPeerReport); ok {
		return weighed(report), nil
	}
	return stripped(o)
}

// weighed leaves of an AgentPeerReport what is looked at. Its schema bounds the spec, and nothing the annotations, labels and owners, of which
// any orchestrator could have us hold a megabyte in each report.
func weighed(report *trustv1alpha1.AgentPeerReport) *trustv1alpha1.AgentPeerReport {
	report.ManagedFields, report.Annotations, report.Labels, report.OwnerReferences, report.Finalizers = nil, nil, nil, nil, nil
	for i := range report.Spec.Divergences {
		report.Spec.Divergences[i].TaskID, report.Spec.Divergences[i].Observed = "", nil
	}
	return report
}

// SetupWithManager wires the reconciler to what wakes it: its AgentPeers (spec or annotation changed; never its own status
// writes), the Runner's reports, and the metadata of Services and ConfigMaps that AgentPeers name.
func (r *AgentPeerReconciler) SetupWithManager(mgr ctrl.Manager, o SetupOptions) error {
	if err := index(mgr, indexService, serviceNames); err != nil {
		return err
	}
	if err := index(mgr, indexConfigMap, configMapNames); err != nil {
		return err
	}
	if err := indexReports(mgr); err != nil {
		return err
	}
	r.complete()
	if err := r.reportReconciler().setup(mgr, o); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentpeer").
		For(&trustv1alpha1.AgentPeer{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesMetadata(&corev1.Service{}, r.namers(indexService)).
		WatchesMetadata(&corev1.ConfigMap{}, r.namers(indexConfigMap)).
		Watches(&trustv1alpha1.AgentPeerReport{}, r.reporters()).
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
func index(mgr ctrl.Manager, field string, names func(*trustv1alpha1.AgentPeer) []string) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &trustv1alpha1.AgentPeer{}, field, indexer(names)); err != nil {
		return fmt.Errorf("indexing AgentPeers by %s: %w", field, err)
	}
	return nil
}

func indexer(names func(*trustv1alpha1.AgentPeer) []string) client.IndexerFunc {
	return func(o client.Object) []string { return names(o.(*trustv1alpha1.AgentPeer)) }
}

// queue is what the controller works through.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// afterOthers puts what a touched Service or ConfigMap wakes behind all else: one object may be named by thousands of AgentPeers and
// touched every second, and nobody of another namespace is to wait for that.
var afterOthers = priorityqueue.AddOpts{Priority: ptr.To(-10)}

// namers wakes the AgentPeers of the same namespace that name the object.
func (r *AgentPeerReconciler) namers(field string) handler.EventHandler {
	wake := func(ctx context.Context, o client.Object, q queue) {
		var list trustv1alpha1.AgentPeerList
		err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{field: o.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the AgentPeers that name an object", "field", field, "name", o.GetName())
			return // the next due time wakes them
		}
		for i := range list.Items {
			addLast(q, client.ObjectKeyFromObject(&list.Items[i]), 0)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, q) },
	}
}

// addLast puts a key behind all else, to be worked on after some time at the earliest.
func addLast(q queue, key types.NamespacedName, after time.Duration) {
	request := reconcile.Request{NamespacedName: key}
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		o := afterOthers
		o.After = after
		p.AddWithOpts(o, request)
		return
	}
	q.AddAfter(request, after)
}

// gatherReports is how long reports about one peer are gathered before they are weighed together: thousands may come at once.
const gatherReports = 200 * time.Millisecond

// reporters wakes the AgentPeer that a report is about, where the report says something new or has come to count.
func (r *AgentPeerReconciler) reporters() handler.EventHandler {
	wake := func(o client.Object, q queue) {
		report := o.(*trustv1alpha1.AgentPeerReport)
		addLast(q, types.NamespacedName{Namespace: report.Namespace, Name: report.Spec.PeerRef.Name}, gatherReports)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !isAccepted(e.ObjectOld) && isAccepted(e.ObjectNew) {
				wake(e.ObjectNew, q)
			}
		},
	}
}

func isAccepted(o client.Object) bool {
	return meta.IsStatusConditionTrue(o.(*trustv1alpha1.AgentPeerReport).Status.Conditions, trustv1alpha1.ConditionAccepted)
}

// indexReports lets us find the reports about an AgentPeer.
func indexReports(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &trustv1alpha1.AgentPeerReport{}, indexPeer, func(o client.Object) []string {
		return []string{o.(*trustv1alpha1.AgentPeerReport).Spec.PeerRef.Name}
	})
	if err != nil {
		return fmt.Errorf("indexing AgentPeerReports by %s: %w", indexPeer, err)
	}
	return nil
}

// reports wakes the AgentPeer whose key comes in. The key is all it carries: the report stays with the Runner until it is
// written, so a signal may be lost or doubled.
func reports(wake <-chan string) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case key := <-wake:
					q.Add(reconcile.Request{NamespacedName: parseKey(key)})
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

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	apiac "github.com/agentpeer/agentpeer/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// reportReconciler acknowledges AgentPeerReports in their status and deletes those that are old or whose peer is gone. What they say is weighed
// by the AgentPeerReconciler.
type reportReconciler struct {
	client.Client
	config   Config
	identity *reportIdentity
	metrics  *Metrics
	clock    clock.PassiveClock

	mu sync.Mutex
	// told is when each report was last acknowledged by this process.
	told map[types.NamespacedName]time.Time
}

func (r *AgentPeerReconciler) reportReconciler() *reportReconciler {
	return &reportReconciler{Client: r.Client, config: r.Config, identity: r.identity, metrics: r.Metrics, clock: r.Clock,
		told: map[types.NamespacedName]time.Time{}}
}

// Reconcile acknowledges one report, or deletes it.
func (r *reportReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var report trustv1alpha1.AgentPeerReport
	if err := r.Get(ctx, req.NamespacedName, &report); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting AgentPeerReport %q: %w", req, err)
	}
	if !report.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	f := reportFacts{report: &report, proven: r.identity.proven(ctx), told: r.lastTold(req.NamespacedName), now: r.clock.Now()}
	var peer trustv1alpha1.AgentPeer
	if err := r.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: report.Spec.PeerRef.Name}, &peer); err == nil {
		f.peer, f.settings = &peer, effective(&peer.Spec, r.config)
	} else if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("getting the AgentPeer of AgentPeerReport %q: %w", req, err)
	}
	a := acknowledge(f)
	switch {
	case a.collect:
		return ctrl.Result{}, r.collect(ctx, &report)
	case a.write:
		if err := r.write(ctx, &report, a.status); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: until(f.now, a.again)}, nil
}

// collect deletes a report as it was read: one that was brought up to date meanwhile stays, and wakes us.
func (r *reportReconciler) collect(ctx context.Context, report *trustv1alpha1.AgentPeerReport) error {
	err := r.Delete(ctx, report, client.Preconditions{UID: &report.UID, ResourceVersion: &report.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting AgentPeerReport %q: %w", client.ObjectKeyFromObject(report), err)
	}
	r.metrics.reports.WithLabelValues(reportDeleted).Inc()
	return nil
}

// +kubebuilder:rbac:groups=trust.agentpeer.dev,resources=agentpeerreports/status,verbs=patch

// write acknowledges this very object; another of the same name is a conflict.
func (r *reportReconciler) write(ctx context.Context, report *trustv1alpha1.AgentPeerReport, s trustv1alpha1.AgentPeerReportStatus) error {
	status := apiac.AgentPeerReportStatus().WithObservedGeneration(s.ObservedGeneration)
	if s.ExpirationTime != nil {
		status.WithExpirationTime(*s.ExpirationTime)
	}
	for _, c := range s.Conditions {
		status.WithConditions(metav1ac.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).WithMessage(c.Message).
			WithObservedGeneration(c.ObservedGeneration).WithLastTransitionTime(c.LastTransitionTime))
	}
	applied := apiac.AgentPeerReport(report.Name, report.Namespace).WithUID(report.UID).WithStatus(status)
	err := r.Status().Apply(ctx, applied, FieldOwner, client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return nil // gone; its deletion wakes us
	}
	if err != nil {
		return fmt.Errorf("applying the status of AgentPeerReport %q: %w", client.ObjectKeyFromObject(report), err)
	}
	r.metrics.reports.WithLabelValues(s.Conditions[0].Reason).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[client.ObjectKeyFromObject(report)] = r.clock.Now()
	return nil
}

func (r *reportReconciler) lastTold(key types.NamespacedName) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[key]
}

func (r *reportReconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, key)
}

// setup wires it to its reports (spec changed), to the AgentPeers that they are about (spec or target changed, or gone), and to the policy that
// proves their writers.
func (r *reportReconciler) setup(mgr ctrl.Manager, o SetupOptions) error {
	r.identity.changed = make(chan struct{}, 1)
	if err := mgr.Add(r.identity); err != nil {
		return fmt.Errorf("adding the look at the report policy: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentpeerreport").
		For(&trustv1alpha1.AgentPeerReport{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&trustv1alpha1.AgentPeer{}, r.reported()).
		WatchesRawSource(r.provenOrNot()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: max(o.Concurrent/2, 1),
			EnableWarmup:            ptr.To(true),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, 30*time.Second),
		}).
		Complete(r)
}

// reported wakes the reports about an AgentPeer.
func (r *reportReconciler) reported() handler.EventHandler {
	wake := func(ctx context.Context, peer client.Object, q queue) {
		r.wake(ctx, q, client.InNamespace(peer.GetNamespace()), client.MatchingFields{indexPeer: peer.GetName()})
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			old, next := e.ObjectOld.(*trustv1alpha1.AgentPeer), e.ObjectNew.(*trustv1alpha1.AgentPeer)
			if old.UID != next.UID || old.Generation != next.Generation || old.Status.Target != next.Status.Target ||
				old.DeletionTimestamp.IsZero() != next.DeletionTimestamp.IsZero() {
				wake(ctx, next, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, q) },
	}
}

// provenOrNot wakes all reports when their writers' names come to be proven, or are no longer.
func (r *reportReconciler) provenOrNot() source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-r.identity.changed:
					r.wake(ctx, q)
				}
			}
		}()
		return nil
	})
}

func (r *reportReconciler) wake(ctx context.Context, q queue, which ...client.ListOption) {
	var list trustv1alpha1.AgentPeerReportList
	if err := r.List(ctx, &list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the reports to look at again")
		return // each is looked at again in time
	}
	for i := range list.Items {
		addLast(q, client.ObjectKeyFromObject(&list.Items[i]), 0)
	}
}

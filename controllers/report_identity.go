package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// reportIdentity tells whether the API server holds spec.reporter of AgentPeerReports to whoever writes them: by a ValidatingAdmissionPolicy
// and a binding, both of one name. Without them anybody could report in anybody's name, and no report counts.
type reportIdentity struct {
	client  client.Reader
	name    string
	clock   clock.PassiveClock
	metrics *Metrics

	mu      sync.Mutex
	looked  time.Time
	since   time.Time // zero: names are not proven
	why     string
	changed chan struct{}
}

const (
	// identityFor is how long an answer of the API server holds.
	identityFor = 30 * time.Second
	// identityWithin bounds one question to it.
	identityWithin = 10 * time.Second
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=agentpeer-report-identity,verbs=get

// proven is since when the names of reporters are proven: only objects created later are of whom they say, as of older ones nobody knows who
// wrote them. Zero: they are not. It is asked of the API server twice a minute at most.
func (i *reportIdentity) proven(ctx context.Context) time.Time {
	if i == nil || i.name == "" {
		return time.Time{}
	}
	now := i.clock.Now()
	i.mu.Lock()
	since, fresh := i.since, !i.looked.IsZero() && now.Sub(i.looked) < identityFor
	i.mu.Unlock()
	if fresh {
		return since
	}
	since, why, ok := i.look(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.looked = now; !ok { // the API server is in trouble: what was true a moment ago is likelier than anything else
		return i.since
	}
	if changed := i.why != why || i.since.IsZero() != since.IsZero(); changed {
		i.tell(ctx, why)
		if i.changed != nil {
			select {
			case i.changed <- struct{}{}:
			default: // one is waiting
			}
		}
	}
	i.since, i.why = since, why
	i.metrics.proven(!since.IsZero())
	return since
}

func (i *reportIdentity) tell(ctx context.Context, why string) {
	log := ctrl.LoggerFrom(ctx).WithValues("policy", i.name)
	if why == "" {
		log.Info("The admission policy proves who writes AgentPeerReports: they count")
		return
	}
	log.Info("Nothing proves who writes AgentPeerReports: they are ignored", "why", why)
}

// look asks the API server. ok is false where it gave no answer.
func (i *reportIdentity) look(ctx context.Context) (since time.Time, why string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, identityWithin)
	defer cancel()
	var policy admissionv1.ValidatingAdmissionPolicy
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	for _, o := range []client.Object{&policy, &binding} {
		switch err := i.client.Get(ctx, client.ObjectKey{Name: i.name}, o); {
		case apierrors.IsNotFound(err):
			return time.Time{}, "the policy or its binding does not exist", true
		case apierrors.IsForbidden(err):
			return time.Time{}, "the operator may not get the policy and its binding by this name", true
		case err != nil:
			return time.Time{}, "", false
		}
	}
	if why := proves(&policy, &binding); why != "" {
		return time.Time{}, why, true
	}
	since = policy.CreationTimestamp.Time
	if binding.CreationTimestamp.After(since) {
		since = binding.CreationTimestamp.Time
	}
	return since, "", true
}

// proves says what keeps a policy and its binding from proving who reports; empty if nothing does. What the policy asks is for whoever may
// write it to say; whether it is asked of every report, and refuses, is looked at here.
func proves(policy *admissionv1.ValidatingAdmissionPolicy, binding *admissionv1.ValidatingAdmissionPolicyBinding) string {
	spec, bound := &policy.Spec, &binding.Spec
	m := spec.MatchConstraints
	switch {
	case policy.DeletionTimestamp != nil || binding.DeletionTimestamp != nil:
		return "the policy or its binding is being deleted"
	case spec.FailurePolicy != nil && *spec.FailurePolicy != admissionv1.Fail:
		return "the policy lets pass what it cannot judge: set failurePolicy: Fail"
	case len(spec.Validations) == 0 || spec.ParamKind != nil || bound.ParamRef != nil:
		return "the policy validates nothing by itself"
	case m == nil || narrowed(m) || !covers(m.ResourceRules, admissionv1.Create) || !covers(m.ResourceRules, admissionv1.Update):
		return "the policy does not match every create and update of agentpeerreports"
	case bound.PolicyName != policy.Name:
		return "the binding is of another policy"
	case !slices.Contains(bound.ValidationActions, admissionv1.Deny):
		return "the binding does not deny: set validationActions: [Deny]"
	case bound.MatchResources != nil && (narrowed(bound.MatchResources) || len(bound.MatchResources.ResourceRules) > 0):
		return "the binding is narrowed by matchResources: leave them out"
	}
	return ""
}

// narrowed: some objects or namespaces are left out.
func narrowed(m *admissionv1.MatchResources) bool {
	selects := func(s *metav1.LabelSelector) bool { return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 }
	return selects(m.NamespaceSelector) || selects(m.ObjectSelector) || len(m.ExcludeResourceRules) > 0
}

// covers tells whether a rule is about an operation on any AgentPeerReport.
func covers(rules []admissionv1.NamedRuleWithOperations, operation admissionv1.OperationType) bool {
	any := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(x string) bool { return x == "*" || slices.Contains(names, x) })
	}
	return slices.ContainsFunc(rules, func(r admissionv1.NamedRuleWithOperations) bool {
		operations := slices.Contains(r.Operations, admissionv1.OperationAll) || slices.Contains(r.Operations, operation)
		return operations && len(r.ResourceNames) == 0 && any(r.APIGroups, trustv1alpha1.GroupVersion.Group) &&
			any(r.APIVersions, trustv1alpha1.GroupVersion.Version) && any(r.Resources, "agentpeerreports", "*/*") &&
			(r.Scope == nil || *r.Scope != admissionv1.ClusterScope)
	})
}

// Start looks again and again, so that what is missing is said even while nobody reports, and what is mended counts soon.
func (i *reportIdentity) Start(ctx context.Context) error {
	for {
		i.proven(ctx)
		timer := time.NewTimer(identityFor)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

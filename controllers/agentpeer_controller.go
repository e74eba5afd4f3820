package controllers

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// FieldOwner owns every field of status.
const FieldOwner = client.FieldOwner("agentpeer")

const (
	// catchUp is how long to wait for the cache to show our own last write.
	catchUp = 20 * time.Millisecond
	// net is when to look again at a peer whose round is under way, in case its signal was lost.
	net = 2 * time.Minute
	// again is when to ask again whether the Runner takes a round.
	again = 5 * time.Second
	// longest is the longest time that a peer is left alone.
	longest = 10 * time.Hour
	// longestRetry bounds the pause that a peer can ask for (Retry-After).
	longestRetry = 24 * time.Hour
)

// AgentPeerReconciler brings AgentPeers to a verdict. Fill the exported fields, then call SetupWithManager.
type AgentPeerReconciler struct {
	client.Client
	// Recorder writes events.
	Recorder events.EventRecorder
	// Runner runs the rounds. It has to be added to the manager as well.
	Runner *probe.Runner
	// Config is the operator's own; DefaultConfig if in doubt.
	Config Config
	// Egress is where the operator lets rounds connect; the Runner's Env has the same one.
	Egress *probe.Egress
	// Self is the operator's own ServiceAccount, of which no token is ever sent; zero if it has none.
	Self types.NamespacedName
	// Metrics to count in.
	Metrics *Metrics
	// ReportPolicy names the ValidatingAdmissionPolicy, and its binding, that prove who writes AgentPeerReports. Empty: reports are ignored.
	ReportPolicy string
	// Webhooks says that rounds have a receiver of webhooks, so that PushNotifications can be asked.
	Webhooks bool
	// Clock is the wall clock if nil.
	Clock clock.PassiveClock

	memory    *memory
	tokens    *accountTokens
	documents documents
	questions questions
	timing    probe.Timing
	fuse      fleetFuse
	identity  *reportIdentity
}

// complete fills what the caller left out.
func (r *AgentPeerReconciler) complete() {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	r.memory, r.tokens = newMemory(), newAccountTokens()
	r.identity = &reportIdentity{client: r.Client, name: r.ReportPolicy, clock: r.Clock, metrics: r.Metrics}
	r.Metrics.watchFuse(func() (all, namespaces float64) { return r.fuse.blown(r.Clock.Now()) })
	if r.questions.ask == nil {
		r.questions.ask = probe.Questions()
		r.questions.cost, r.questions.control = probe.Costs()
	}
	if r.timing == (probe.Timing{}) {
		r.timing = probe.DefaultTiming()
	}
}

// +kubebuilder:rbac:groups=trust.agentpeer.dev,resources=agentpeers,verbs=get;list;watch

// Reconcile brings one AgentPeer up to date. It asks the API server only: what peers say comes from the Runner.
func (r *AgentPeerReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var peer trustv1alpha1.AgentPeer
	if err := r.Get(ctx, req.NamespacedName, &peer); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting AgentPeer %q: %w", req, err)
	}
	if !peer.DeletionTimestamp.IsZero() { // somebody else's finalizer holds it
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	mem, replaced := r.memory.of(req.NamespacedName, peer.UID)
	if mem.since.IsZero() {
		mem.since = r.Clock.Now()
	}
	if replaced { // another object of the same name: what runs or waits is about the old one
		r.Runner.Forget(req.String())
	}
	if mem.behind(peer.ResourceVersion) {
		return ctrl.Result{RequeueAfter: catchUp}, nil
	}

	f, err := r.gather(ctx, &peer, mem)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := judge(f)
	if v.write {
		if err := r.write(ctx, &peer, v.status, mem); err != nil {
			return ctrl.Result{}, err // the report waits, and no new round starts
		}
	}
	r.take(f, v, mem)
	r.announce(ctx, f, v, mem)
	after := r.dispatch(f, v, mem)
	if !v.later.IsZero() {
		after = min(after, until(f.now, v.later))
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// forget drops a peer that is gone: its round, its report, its series. Nothing outside of this process needs cleaning up.
func (r *AgentPeerReconciler) forget(key types.NamespacedName) {
	r.Runner.Forget(key.String())
	if mem := r.memory.forget(key); mem != nil {
		r.Metrics.states(key.Namespace, key.Name, mem.shown, nil)
	}
}

// gather collects the facts.
func (r *AgentPeerReconciler) gather(ctx context.Context, peer *trustv1alpha1.AgentPeer, mem *remembered) (facts, error) {
	f := facts{
		peer:      peer,
		settings:  effective(&peer.Spec, r.Config),
		known:     mem.over(readMemory(&peer.Status)),
		questions: r.questions,
		webhooks:  r.Webhooks,
		since:     mem.since,
		now:       r.Clock.Now(),
	}
	var err error
	resolver := resolver{client: r.Client, egress: r.Egress, timing: f.settings.timing(r.timing),
		tokens: r.tokens, documents: &r.documents, granted: r.Config.ServiceAccountTokens, self: r.Self, now: f.now}
	if f.target, f.fault, err = resolver.resolve(ctx, peer); err != nil {
		return facts{}, err
	}
	if f.fault == nil {
		mem.refer(resolver.references(peer.Generation), peer.Generation == peer.Status.ObservedGeneration)
	}
	f.renewed = mem.renewed
	if report, ok := r.Runner.Report(key(peer)); ok {
		f.report = &report
		if mem.askedRound == report.Round.Number {
			f.answered, f.charged = mem.asked, true
		}
		f.reported = mem.reportedRound == report.Round.Number
		if mem.sighted != report.Round.Number { // once, however often its writing is tried
			r.fuse.observe(peer.Namespace, f.report, f.known, f.now)
			mem.sighted = report.Round.Number
		}
		if f.withheld = r.fuse.withholds(peer.Namespace, f.report, f.now); f.withheld != "" && report.Target == f.known.Target && report.Generation == peer.Generation {
			f.known = trust.Doubted(f.known, report.Round, f.now)
		}
	}
	return f, r.hear(ctx, &f)
}

// +kubebuilder:rbac:groups=trust.agentpeer.dev,resources=agentpeers/status,verbs=patch

// write applies status in one forced server-side apply, for the very version that it was computed from: if anything was
// changed meanwhile the API server refuses, and everything is computed again.
func (r *AgentPeerReconciler) write(ctx context.Context, peer *trustv1alpha1.AgentPeer, status trustv1alpha1.AgentPeerStatus, mem *remembered) error {
	applied := newStatusApply(peer, status)
	err := r.Status().Apply(ctx, applied, FieldOwner, client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return nil // gone; its deletion wakes us
	}
	if err != nil {
		return fmt.Errorf("applying the status of AgentPeer %q: %w", key(peer), err)
	}
	r.Metrics.writes.Inc()
	mem.version = applied.version()
	return nil
}

// take remembers what is known now and takes the report over from the Runner.
func (r *AgentPeerReconciler) take(f facts, v verdict, mem *remembered) {
	mem.known, mem.rounds = &v.known, lastRound(&f.peer.Status)
	if v.write {
		mem.rounds = lastRound(&v.status)
	}
	if f.report == nil {
		return
	}
	mem.pause = pause{target: f.report.Target, until: f.now.Add(min(max(f.report.RetryAfter, 0), longestRetry))}
	if v.outcome != roundDiscarded {
		mem.card.learn(f.report)
	}
	r.Runner.Done(key(f.peer), f.report.Round.Number)
}

func lastRound(s *trustv1alpha1.AgentPeerStatus) int64 {
	if s.Rounds == nil {
		return 0
	}
	return s.Rounds.Last
}

// dispatch starts or ends what has to start or end, and says when to look again.
func (r *AgentPeerReconciler) dispatch(f facts, v verdict, mem *remembered) time.Duration {
	due := soonest(v.plan.At, expiry(v.known))
	switch {
	case f.peer.Spec.Suspend:
		if r.Runner.Busy(key(f.peer)) {
			r.Runner.Cancel(key(f.peer))
		}
		mem.missingSince = time.Time{}
		return until(f.now, expiry(v.known))
	case f.fault != nil:
		if mem.missingSince.IsZero() || mem.missing != f.fault.message { // other words: somebody is at work on it
			mem.missing, mem.missingSince = f.fault.message, f.now
		}
		if !f.fault.stalled {
			due = soonest(expiry(v.known), f.now.Add(patience(f.fault, f.now.Sub(mem.missingSince))))
		}
		return until(f.now, due)
	}
	mem.missingSince = time.Time{}
	if v.plan.At.IsZero() || v.plan.At.After(f.now) {
		if v.known.TurnedAway() { // Secrets are not watched: whoever mends one must not wait for the next round, which may be a day away
			due = soonest(due, f.now.Add(f.settings.Reachability.Interval.Duration))
		}
		return until(f.now, due)
	}
	if mem.pause.target == f.target.ID && mem.pause.until.After(f.now) {
		return until(f.now, soonest(mem.pause.until, expiry(v.known)))
	}
	if r.Runner.Busy(key(f.peer)) {
		return net
	}
	job := r.job(f, v, mem)
	if !r.Runner.Submit(job) {
		return again
	}
	mem.asked, mem.askedRound, mem.reportedRound, mem.renewed = "", 0, 0, false
	if v.plan.Requested {
		mem.asked, mem.askedRound = requested(f), job.Round
	}
	if v.plan.Reported {
		mem.reportedRound = job.Round
	}
	return net
}

// job is the round that the plan asks for.
func (r *AgentPeerReconciler) job(f facts, v verdict, mem *remembered) probe.Job {
	mem.card.validFor(f.peer.Generation)
	return probe.Job{
		Target:      f.target,
		Generation:  f.peer.Generation,
		Round:       v.known.Rounds.Last + 1,
		Kind:        v.plan.Kind,
		CardAndTask: f.settings.Reachability.Mode == trustv1alpha1.ReachabilityCardAndTask,
		NoReach:     f.settings.Reachability.Mode == trustv1alpha1.ReachabilityNone,
		Ask:         v.plan.Ask,
		Control:     v.plan.Control,
		Pairs:       v.plan.Pairs,
		SingleShot:  v.plan.SingleShot,
		Unmarked:    v.plan.Unmarked,
		Interfaces:  beyondStreaming(v.plan.Ask),
		KnownDigest: v.known.Claims.Digest,
		ETag:        mem.card.etag,
		Known:       mem.card.known,
		Doubt:       trust.Doubt(v.known, f.settings.policy(), f.now),

		RefusedModes: trust.RefusedModes(v.known),
		DeliveredTo:  trust.DeliveredTo(v.known),
	}
}

// beyondStreaming: the rounds that ask more than Streaming, every sixth and after a change of the card, look at every interface too.
func beyondStreaming(ask []trust.Capability) bool {
	return slices.ContainsFunc(ask, func(c trust.Capability) bool { return c != trust.Streaming })
}

// expiry is when the first verdict lapses by the clock, that on a signature included; zero if none does.
func expiry(p trust.Peer) time.Time {
	first := p.Signature.Expiration
	for _, rec := range p.Records {
		first = soonest(first, rec.Lapses())
	}
	return first
}

// until is how long from now to a time: never 0, which would mean not at all, and never longer than longest.
func until(now, t time.Time) time.Duration {
	if t.IsZero() {
		return longest
	}
	return min(max(t.Sub(now), 10*time.Millisecond), longest)
}

// seed spreads peers over their intervals, the same way after each restart.
func seed(uid types.UID) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// key names a peer to the Runner.
func key(peer *trustv1alpha1.AgentPeer) string { return peer.Namespace + "/" + peer.Name }

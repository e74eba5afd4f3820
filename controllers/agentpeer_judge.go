package controllers

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// facts are all that one reconciliation knows. judge makes everything out of them, and asks nobody.
type facts struct {
	peer     *trustv1alpha1.AgentPeer
	settings Settings
	// target, or the fault because of which there is none.
	target probe.Target
	fault  *fault
	// known is status, with what was folded in memory laid over it.
	known trust.Peer
	// report that is finished and not yet taken over; nil if none is.
	report *probe.Report
	// answered is the value of the annotation that the report's round was submitted for; empty if none. charged: it was asked for.
	answered string
	charged  bool
	// renewed: the spec, or what it refers to, changed since the last round began.
	renewed bool
	// withheld says why the fleet fuse does not let the report count; empty if it does.
	withheld trust.Reason
	// testimonies are what orchestrators reported, of those who count; doubted says that the fleet fuse is blown.
	testimonies []trust.Testimony
	doubted     bool
	// reported: the report's round was brought forward by reports.
	reported bool
	// questions that can be asked, and what they cost.
	questions questions
	// webhooks can be received.
	webhooks bool
	// since is when this process first saw the object.
	since time.Time
	now   time.Time
}

// questions are what probes can ask, and what that costs at worst in tasks.
type questions struct {
	ask     []trust.Capability
	cost    map[trust.Capability]int
	control int
}

// verdict is what follows from facts.
type verdict struct {
	known       trust.Peer
	status      trustv1alpha1.AgentPeerStatus
	transitions []trust.Transition
	// outcome of the report for the metrics; empty if there was none.
	outcome string
	// write: status has to be written.
	write bool
	// later: it would have to be, and waits until then for the first report; zero if it does not.
	later time.Time
	plan  trust.Plan
}

// judge folds what came back, lets expire what expired, and says what status is now and what to do next.
func judge(f facts) verdict {
	var v verdict
	v.known, v.transitions = retarget(f)
	known, transitions, outcome := fold(f, v.known)
	v.known, v.outcome = known, outcome
	v.transitions = append(v.transitions, transitions...)
	v.known = reverify(f, v.known)
	known, transitions = trust.Lapse(v.known, f.now)
	v.known, v.transitions = known, append(v.transitions, transitions...)
	known, transitions, wanted := weigh(f, v.known)
	v.known, v.transitions = known, append(v.transitions, transitions...)

	v.plan = plan(f, v.known, wanted)
	v.status = status(f, v)
	// What is known is what status can hold, no more, so that nothing hangs on whether the operator was restarted.
	v.known = readMemory(&v.status)
	v.write = mustWrite(f, v)
	if v.write && firstWord(f, v) {
		v.write, v.later = false, f.since.Add(firstWordWithin)
	}
	return v
}

// firstWordWithin is how long a new object may go without a first word in its status.
const firstWordWithin = 2 * time.Second

// firstWord: all there is to say of a new object is that its first round has begun. If the round is over soon, its verdict is the
// first word and the write before it is saved, which matters where a fleet is applied at once.
func firstWord(f facts, v verdict) bool {
	unseen := f.peer.Status.ObservedGeneration < 0 && f.peer.Status.Target == ""
	return unseen && f.fault == nil && f.report == nil && !v.plan.At.IsZero() && !v.plan.At.After(f.now) &&
		f.now.Before(f.since.Add(firstWordWithin))
}

// retarget starts afresh if the spec names another peer. Without a target nothing is decided about whom it names.
func retarget(f facts) (trust.Peer, []trust.Transition) {
	if f.fault != nil || f.known.Target == f.target.ID {
		return f.known, nil
	}
	return trust.Retarget(f.known, f.target.ID, f.now)
}

// fold counts a report once: only the next round of the current generation and target. Any other next round is used up
// all the same, with the tasks it cost and nothing else.
func fold(f facts, known trust.Peer) (trust.Peer, []trust.Transition, string) {
	if f.report == nil {
		return known, nil, ""
	}
	round, target, outcome := f.report.Round, f.report.Target, outcomeOf(f.report.Round)
	round.Requested, round.Reported = f.charged, f.reported
	switch {
	case f.report.Generation != f.peer.Generation || f.fault == nil && target != f.target.ID || target != known.Target:
		// As a cheap round, so that the next behaviour round, of the spec as it is now, need not wait for this one.
		round, target, outcome = spent(round, trust.Reachability), known.Target, roundDiscarded
	case f.withheld != "":
		round, outcome = withheld(round, f.withheld), roundWithheld
	}
	next, transitions, folded := trust.Advance(known, target, round, f.settings.policy(), f.now)
	if !folded {
		return known, nil, roundDiscarded
	}
	return next, transitions, outcome
}

// weigh lays what orchestrators reported over what is known. Where probing is suspended, or the spec names nobody that could be asked, verdicts
// stay as they are.
func weigh(f facts, known trust.Peer) (trust.Peer, []trust.Transition, []trust.Capability) {
	if f.peer.Spec.Suspend || f.fault != nil && f.fault.stalled {
		return known, nil, nil
	}
	policy := f.settings.reports()
	policy.Withheld = f.doubted
	return trust.Weigh(known, f.testimonies, policy, f.settings.policy(), f.now)
}

// reverify drops what was found of signatures where none are wanted any more, or with a key that the spec no longer names.
func reverify(f facts, known trust.Peer) trust.Peer {
	switch {
	case !verifies(f.peer.Spec.Card.Verification.Policy):
		known.Signature = trust.Signature{}
	case f.fault == nil:
		wanted := f.target.Verification
		known = trust.Reverify(known, wanted.Digest(), wanted.Knows(known.Signature.KeyID))
	}
	return known
}

func verifies(policy trustv1alpha1.SignaturePolicy) bool {
	return policy == trustv1alpha1.SignatureWarn || policy == trustv1alpha1.SignatureRequire
}

// spent is a round of which only its number and its cost count.
func spent(r trust.Round, kind trust.RoundKind) trust.Round {
	return trust.Round{Number: r.Number, Kind: kind, Requested: r.Requested, Started: r.Started, Finished: r.Finished, Tasks: r.Tasks}
}

// plan says when to look again, and at what.
func plan(f facts, known trust.Peer, wanted []trust.Capability) trust.Plan {
	again := f.renewed && known.TurnedAway()
	look := again || f.renewed && f.target.Verification.Wanted
	next := trust.Schedule(known, trust.PlanInput{
		Policy:      f.settings.policy(),
		Seed:        seed(f.peer.UID),
		Requested:   requested(f) != "" || again,
		Reported:    wanted,
		Suspended:   f.peer.Spec.Suspend || f.fault != nil,
		Fixtures:    askable(f),
		Cost:        f.questions.cost,
		CostControl: f.questions.control,
	}, f.now)
	if look && next.At.After(f.now) && !f.settings.policy().SkipReachability { // no task can be had for it; looking costs none
		return trust.Plan{Kind: trust.Reachability, At: f.now, Reason: next.Reason}
	}
	return next
}

// requested is the value of the annotation that asks for a round and is not yet answered; empty if none.
func requested(f facts) string {
	value := cut(f.peer.Annotations[trustv1alpha1.RequestedAtAnnotation], trustv1alpha1.MaxRequestedAtLength)
	if value == f.peer.Status.LastHandledRequestedAt || value == answeredNow(f) {
		return ""
	}
	return value
}

// answeredNow is the request that the report answers, if it is a behaviour round that is folded now.
func answeredNow(f facts) string {
	if f.report == nil || f.report.Round.Kind != trust.Behavior || f.report.Generation != f.peer.Generation || f.withheld != "" {
		return ""
	}
	return f.answered
}

// askable tells which questions have what they need: cancelling needs work that lasts, picking up a stream needs a stream of such work,
// continuing needs a question, and the extended card credentials. The others only join a round that is made anyway.
func askable(f facts) map[trust.Capability]bool {
	out := make(map[trust.Capability]bool, len(f.questions.ask))
	for _, c := range f.questions.ask {
		switch c {
		case trust.Cancellation:
			out[c] = f.peer.Spec.Probes.Fixtures.LongRunning != nil
		case trust.Resubscription:
			out[c] = f.peer.Spec.Probes.Fixtures.LongRunning != nil && f.known.Claims.Declared[trust.Streaming] == trust.Declared
		case trust.PushNotifications:
			out[c] = f.webhooks
		case trust.ExtendedAgentCard:
			out[c] = f.peer.Spec.Auth != nil
		case trust.Continuation:
			out[c] = f.peer.Spec.Probes.Fixtures.InputRequired != nil
		default:
			out[c] = true
		}
	}
	return out
}

// status puts everything known into words.
func status(f facts, v verdict) trustv1alpha1.AgentPeerStatus {
	s := *f.peer.Status.DeepCopy()
	if f.fault == nil || f.fault.stalled {
		s.ObservedGeneration = f.peer.Generation // accepted or rejected; never while waiting
	}
	if v.known.Target != f.peer.Status.Target {
		s.Card, s.OrphanedTasks = nil, nil
	}
	if f.report != nil && v.outcome != roundDiscarded && v.outcome != roundWithheld {
		s.Card = cardStatus(s.Card, f.report)
	}
	if f.report != nil {
		s.OrphanedTasks = orphans(s.OrphanedTasks, f.report.Orphans)
	}
	writeMemory(&s, v.known)
	if s.Rounds != nil {
		s.Rounds.HeldBack = reason(v.plan.Reason)
	}
	s.Decision = decision(f, v.known)
	s.Effective = f.settings.show()
	if a := answeredNow(f); a != "" {
		s.LastHandledRequestedAt = a
	}
	s.Conditions = conditions(f.peer.Status.Conditions, conditionFacts{
		known:            v.known,
		required:         convert[trust.Capability](f.peer.Spec.RequiredCapabilities),
		fault:            f.fault,
		suspended:        f.peer.Spec.Suspend,
		skipReachability: f.settings.policy().SkipReachability,
		verification:     f.peer.Spec.Card.Verification.Policy,
		generation:       f.peer.Generation,
		reported:         reportedGeneration(f, v),
		now:              f.now,
	})
	return bounded(s)
}

func reportedGeneration(f facts, v verdict) int64 {
	if f.report == nil || v.outcome == roundDiscarded || v.outcome == roundWithheld {
		return 0
	}
	return f.report.Generation
}

// baseless says why nothing may be decided on what is known, empty if it may: a spec that cannot be used may name anybody, and a card that
// has to be signed by keys that are gone is vouched for by nobody. A reference that is missing for a while changes nothing else: what was
// seen was seen, and expires.
func baseless(f facts) trust.Reason {
	switch {
	case f.fault == nil:
		return ""
	case f.fault.stalled:
		return trust.Reason(f.fault.reason)
	case f.peer.Spec.Card.Verification.Policy != trustv1alpha1.SignatureRequire:
		return ""
	case f.fault.reason == trustv1alpha1.ReasonVerificationKeysNotFound, f.fault.reason == trustv1alpha1.ReasonVerificationKeysInvalid:
		return trust.Reason(f.fault.reason)
	}
	return ""
}

func decision(f facts, known trust.Peer) *trustv1alpha1.Decision {
	d := trust.Decide(known, trust.DecideInput{
		Observe:          f.settings.observe(),
		Interval:         f.settings.Behavior.Interval.Duration,
		RequireSignature: f.peer.Spec.Card.Verification.Policy == trustv1alpha1.SignatureRequire,
		Baseless:         baseless(f),
	}, f.now)
	out := &trustv1alpha1.Decision{
		Choice:         choice(d),
		ExpirationTime: writeTime(d.Expiration),
		Deadlines:      f.settings.Deadlines,
	}
	if d.Would != nil {
		would := choice(*d.Would)
		out.Would = &would
	}
	return out
}

func choice(d trust.Decision) trustv1alpha1.Choice {
	return trustv1alpha1.Choice{
		Path:      trustv1alpha1.DecisionPath(d.Path),
		MultiTurn: trustv1alpha1.DecisionMultiTurn(d.MultiTurn),
		Cancel:    trustv1alpha1.DecisionCancel(d.Cancel),
		Updates:   trustv1alpha1.DecisionUpdates(d.Updates),
		Reason:    reason(d.Reason),
	}
}

// cardStatus is what routing needs of the card that a report brings; the report of an unchanged card brings none.
func cardStatus(old *trustv1alpha1.CardStatus, report *probe.Report) *trustv1alpha1.CardStatus {
	if report.Card == nil {
		return old
	}
	next := &trustv1alpha1.CardStatus{}
	if in := report.Interface; in != nil {
		shown := cardInterface(*in, trustv1alpha1.MaxTargetLength)
		next.Interface = &shown
	}
	var before []trustv1alpha1.DeclaredInterface
	if old != nil {
		before = old.Interfaces
	}
	next.Interfaces = declaredInterfaces(before, report.Interfaces)
	for _, skill := range report.Card.Skills[:min(len(report.Card.Skills), trustv1alpha1.MaxSkills)] {
		next.Skills = append(next.Skills, trustv1alpha1.CardSkill{
			ID:         cut(skill.ID, 71),
			InputModes: cutAll(skill.InputModes, trustv1alpha1.MaxSkillInputModes, 127)})
	}
	for _, w := range report.CardWarnings[:min(len(report.CardWarnings), trustv1alpha1.MaxCardWarnings)] {
		next.Warnings = append(next.Warnings, reason(trust.Reason(w)))
	}
	next.Warnings = warnOfInterfaces(next.Warnings, next.Interfaces)
	return next
}

// orphans keeps the latest tasks that were left behind.
func orphans(old []trustv1alpha1.OrphanedTask, more []probe.Orphan) []trustv1alpha1.OrphanedTask {
	out := slices.Clone(old)
	for _, o := range more {
		id := cut(o.ID, 128)
		if id == "" || slices.ContainsFunc(out, func(t trustv1alpha1.OrphanedTask) bool { return t.ID == id }) {
			continue
		}
		out = append(out, trustv1alpha1.OrphanedTask{ID: id, Since: writeTime(o.Since)})
	}
	if n := len(out) - trustv1alpha1.MaxOrphanedTasks; n > 0 {
		out = out[n:]
	}
	return out
}

// mustWrite: a round that reached the model cost money and is always written, once; else only a changed meaning is.
func mustWrite(f facts, v verdict) bool {
	if f.report != nil && f.report.Round.Tasks > 0 && v.known.Rounds.Last == f.report.Round.Number {
		return true
	}
	return !equality.Semantic.DeepEqual(meaning(f.peer.Status), meaning(v.status))
}

// meaning is a status without its book-keeping: what changes in it is worth a write, and nothing else is (case C104). It
// shares what it does not change with its argument.
func meaning(s trustv1alpha1.AgentPeerStatus) trustv1alpha1.AgentPeerStatus {
	s.Rounds = nil
	if s.Card != nil {
		card := *s.Card
		card.ClaimSets = slices.Clone(card.ClaimSets)
		for i := range card.ClaimSets {
			card.ClaimSets[i].LastSeenTime, card.ClaimSets[i].Held = nil, nil
		}
		if card.Signature != nil {
			signature := *card.Signature
			signature.LastTime = nil
			card.Signature = &signature
		}
		s.Card = &card
	}
	s.Capabilities = slices.Clone(s.Capabilities)
	for i := range s.Capabilities {
		c := &s.Capabilities[i]
		c.NextProbeTime, c.LastTime, c.LastHonoredTime = nil, nil, nil
	}
	return s
}

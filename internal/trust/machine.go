package trust

import (
	"slices"
	"strings"
	"time"
)

// Advance folds one round into what is known of a peer. A round that is not the next one changes nothing
// (folded is false). target is whom the round asked; another than p.Target resets first what Retarget resets, so the
// caller passes rounds of the current target only. p is left as it is.
func Advance(p Peer, target string, r Round, policy Policy, now time.Time) (next Peer, transitions []Transition, folded bool) {
	if r.Number != p.Rounds.Last+1 {
		return p, nil, false
	}
	f := fold{policy: policy, round: r, at: moment(r.Finished, now), next: p.clone()}
	f.began = moment(r.Started, f.at)
	if target != p.Target {
		f.next, f.transitions = Retarget(p, target, now)
	}
	expired, early := Lapse(f.next, f.at)
	f.next, f.transitions = expired, append(f.transitions, early...)
	f.count()
	f.reach()
	same := f.claimsStand()
	f.claims()
	f.signature(same)
	f.unstable = unstable(f.next, f.at)
	for _, obs := range f.observations() {
		f.observe(obs)
	}
	f.messageOnly()
	lapsed, late := Lapse(f.next, now)
	return lapsed, append(f.transitions, late...), true
}

// Lapse writes down what the clock alone has changed: trust past its expiration is Unverified, and so are a signature and a demotion by
// reports that nobody could ask about. p is left as it is.
func Lapse(p Peer, now time.Time) (Peer, []Transition) {
	if !p.Signature.lapsed(now) && !slices.ContainsFunc(p.Records, func(r Record) bool { return r.expired(now) || r.outlived(now) }) {
		return p, nil
	}
	next := p.clone()
	if p.Signature.lapsed(now) {
		next.Signature = Signature{Result: SignatureUnverifiable, Reason: ReasonSignatureExpired, KeysDigest: p.Signature.KeysDigest,
			Time: p.Signature.Time}
	}
	var transitions []Transition
	for i := range next.Records {
		switch rec := &next.Records[i]; {
		case rec.expired(now):
			transitions = append(transitions, rec.become(Unverified, ReasonTrustExpired, rec.Expiration)...)
		case rec.outlived(now):
			transitions = append(transitions, rec.lapseReports()...)
		}
	}
	return next, transitions
}

// Retarget resets everything that was learned of another target. How often we asked stays: the number of the last
// round, the tasks spent, and the time, so that the new target is asked at once and not at random. The same target
// changes nothing.
func Retarget(p Peer, target string, now time.Time) (Peer, []Transition) {
	if p.Target == target {
		return p, nil
	}
	next := Peer{Target: target, Rounds: Rounds{
		Last: p.Rounds.Last, TasksHour: p.Rounds.TasksHour,
		Tasks: slices.Clone(p.Rounds.Tasks), RequestedTasks: slices.Clone(p.Rounds.RequestedTasks),
	}}
	if next.Rounds.Last > 0 {
		next.Rounds.LastTime = moment(now, now)
	}
	var transitions []Transition
	for _, rec := range p.Records {
		if rec.State == Trusted || rec.State == Demoted {
			transitions = append(transitions, Transition{Capability: rec.Capability, From: rec.State, To: Unverified, Reason: ReasonTargetChanged})
		}
	}
	return next, transitions
}

// fold is one round on its way into a Peer.
type fold struct {
	policy      Policy
	round       Round
	began, at   time.Time // when the round began, and ended
	next        Peer
	unstable    bool
	transitions []Transition
}

// count keeps the account of rounds and tasks.
func (f *fold) count() {
	r := &f.next.Rounds
	r.Last, r.LastTime = f.round.Number, f.at
	r.spend(f.at, f.round.Tasks, f.round.Requested)
	if f.round.Kind != Behavior {
		return
	}
	r.LastBehavior = f.at
	if len(f.round.Observations) == 0 {
		return // stopped at the reachability tier: no control was asked
	}
	r.Behaviors++
	for _, obs := range f.round.Observations {
		if obs.ControlFailed || obs.Pair != nil && obs.Pair.ControlFailed {
			r.ControlFailedAt = r.Behaviors
		}
	}
}

// reach counts failures in a row. Becoming reachable again starts a time of grace, the first sight does not.
func (f *fold) reach() {
	r, reach := &f.next.Rounds, f.round.Reach
	if reach.Outcome == "" {
		return
	}
	r.LastCheap, r.ReachReason = f.at, reach.Reason
	if reach.Outcome != Honored {
		r.ReachFailures++
	} else {
		if r.ReachFailures >= UnreachableAfter && f.next.Claims.Digest != "" {
			r.ReachableSince = f.at
		}
		r.ReachFailures = 0
	}
	switch {
	case reach.Reason == ReasonNoUsableInterface:
		r.Usable, r.UsableReason = false, reach.Reason
	case f.round.Claims.Digest == "": // no card read: nothing new about its interfaces
	case f.round.Usable:
		r.Usable, r.UsableReason = true, ReasonHonored
	default:
		r.Usable, r.UsableReason = false, reach.Reason
	}
}

// observations are those of this round, one for each capability. What was asked and not answered taught nothing.
func (f *fold) observations() []Observation {
	var out []Observation
	seen := map[Capability]bool{StateTransitionHistory: true}
	for _, obs := range f.round.Observations {
		if !seen[obs.Capability] {
			seen[obs.Capability] = true
			out = append(out, obs)
		}
	}
	for _, c := range f.round.Asked {
		if seen[c] {
			continue
		}
		seen[c] = true
		reason := ReasonNotExercised
		if f.round.Reach.Outcome == Inconclusive {
			reason = f.round.Reach.Reason
		}
		out = append(out, Observation{Capability: c, Outcome: Inconclusive, Reason: reason})
	}
	return out
}

// messageOnly counts rounds in a row whose tasks were answered by nothing but Messages.
func (f *fold) messageOnly() {
	r := &f.next.Rounds
	message, task := false, false
	for _, obs := range f.round.Observations {
		message = message || obs.Reason == ReasonMessageOnly
		task = task || obs.Outcome != Inconclusive && needsTask(obs.Capability)
	}
	switch {
	case task:
		r.MessageOnly = 0
	case message:
		r.MessageOnly = min(r.MessageOnly+1, MessageOnlyAfter)
	}
}

// needsTask tells whether an outcome shows that the peer made a task: Messages are streams, and take every input mode, all the same.
func needsTask(c Capability) bool {
	switch c {
	case Streaming, InputModes, ExtendedAgentCard:
		return false
	}
	return true
}

// record finds or makes the record of a capability. The pointer holds until the next call.
func (f *fold) record(c Capability) *Record {
	i, found := slices.BinarySearchFunc(f.next.Records, c, func(r Record, c Capability) int {
		return strings.Compare(string(r.Capability), string(c))
	})
	if !found {
		rec := Record{Capability: c, State: Unverified, Reason: ReasonNotExercised, Transition: f.at}
		if !c.Core() {
			rec.Declared = f.next.Claims.declared(c)
		}
		f.next.Records = slices.Insert(f.next.Records, i, rec)
	}
	return &f.next.Records[i]
}

func (f *fold) become(rec *Record, state State, reason Reason) {
	f.transitions = append(f.transitions, rec.become(state, reason, f.at)...)
}

// become moves a record to a state; only Trusted has an expiration, which the caller sets.
func (r *Record) become(state State, reason Reason, at time.Time) []Transition {
	from := r.State
	r.State, r.Reason, r.Source = state, reason, ""
	if state != Trusted {
		r.Expiration = time.Time{}
	}
	if from == state {
		return nil
	}
	r.Transition = at
	return []Transition{{Capability: r.Capability, From: from, To: state, Reason: reason}}
}

func (r *Record) expired(now time.Time) bool {
	return r.State == Trusted && !r.Expiration.After(now)
}

// owed tells whether the peer owes the capability: a core behaviour, or one that its card declares.
func (r *Record) owed() bool {
	return r.Capability.Core() || r.Declared == Declared && r.Capability != StateTransitionHistory
}

// moment is a time as status can hold it: whole seconds, UTC, not after now.
func moment(t, now time.Time) time.Time {
	if t.IsZero() || t.After(now) {
		t = now
	}
	return t.UTC().Truncate(time.Second)
}

// clone copies a Peer so deeply that no write to the copy shows in the original.
func (p Peer) clone() Peer {
	p.Claims = p.Claims.clone()
	p.Digests = slices.Clone(p.Digests)
	for i := range p.Digests {
		p.Digests[i].Held = slices.Clone(p.Digests[i].Held)
	}
	p.Records = slices.Clone(p.Records)
	for i := range p.Records {
		r := &p.Records[i]
		r.Observed, r.Warnings = slices.Clone(r.Observed), slices.Clone(r.Warnings)
		r.ProbedWith, r.Recent = slices.Clone(r.ProbedWith), slices.Clone(r.Recent)
		r.RefusedModes = slices.Clone(r.RefusedModes)
	}
	p.Rounds.Tasks = slices.Clone(p.Rounds.Tasks)
	p.Rounds.RequestedTasks = slices.Clone(p.Rounds.RequestedTasks)
	return p
}

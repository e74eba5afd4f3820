package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// epoch is when every life begins, a Monday morning.
var epoch = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

const target = "https://peer.test"

// life is one peer, driven as the controller drives it.
type life struct {
	agent  agent
	events events
	in     trust.PlanInput
	peer   trust.Peer
	now    time.Time
	end    time.Time
	laws   laws
	count  Count
	// asked counts behaviour rounds that asked for what is lied about since the lie began; caught says that it was demoted since then,
	// lifted that it was lifted after its repair.
	asked          int
	caught, lifted bool
	err            error
}

func newLife(p *profile, seed, place uint64) *life {
	rng := rand.New(rand.NewPCG(seed, place))
	l := &life{now: epoch, end: epoch.Add(time.Duration(p.days) * day)}
	l.in = trust.PlanInput{Policy: trust.DefaultPolicy(), Seed: rng.Uint64(), Cost: worst}
	if p.world.budget > 0 {
		l.in.Policy.MaxTasksPerDay = p.world.budget
	}
	l.in.Policy.SkipReachability = p.world.noCheap
	l.events = happen(p.world, rng, l.now, l.end)
	l.agent = agent{profile: p, rng: rng, began: epoch}
	l.laws = laws{policy: l.in.Policy, honored: map[key]time.Time{}}
	return l
}

// live to the end.
func (l *life) live() {
	for l.now.Before(l.end) && l.err == nil {
		plan := trust.Schedule(l.peer, l.in, l.now)
		if plan.At.IsZero() {
			l.err = fmt.Errorf("%s: planning at %s: nothing is planned", l.agent.name, l.now.Sub(epoch))
			return
		}
		if plan.At.After(l.now) {
			l.wait(l.until(plan))
			continue
		}
		l.wait(l.now.Add(l.upTo(5 * time.Second))) // a worker is free
		l.round(plan)
	}
	l.judge()
	l.count.Days = l.end.Sub(epoch).Hours() / 24
}

func (l *life) upTo(d time.Duration) time.Duration {
	return time.Duration(l.agent.rng.Int64N(int64(d))).Truncate(time.Millisecond)
}

// until is when the plan is carried out, or something happens that may change it. Cheap rounds that would find nothing new are passed
// over.
func (l *life) until(plan trust.Plan) time.Time {
	to := plan.At
	next := l.events.next(l.now)
	if plan.Kind == trust.Reachability && l.peer.Rounds.ReachFailures == 0 && l.peer.Rounds.Last > 0 {
		in := l.in
		in.Policy.SkipReachability = true
		if behavior := trust.Schedule(l.peer, in, l.now); behavior.At.After(to) {
			to = behavior.At
		}
		if !next.IsZero() && next.Before(to) {
			to = maxTime(plan.At, next.Add(l.upTo(l.in.Policy.ReachabilityInterval)))
		}
	}
	if len(l.events.requests) > 0 && l.events.requests[0].Before(to) {
		to = maxTime(l.events.requests[0], l.now.Add(time.Millisecond))
	}
	return to
}

// wait lets the time pass, reads the decision in between and writes down what the clock has changed.
func (l *life) wait(to time.Time) {
	if to.After(l.now) {
		l.laws.decision(l.peer, l.now.Add(l.upTo(to.Sub(l.now)+1)))
	}
	l.now = to
	for len(l.events.requests) > 0 && !l.events.requests[0].After(l.now) {
		l.in.Requested, l.events.requests = true, l.events.requests[1:]
	}
	var ts []trust.Transition
	l.peer, ts = trust.Lapse(l.peer, l.now)
	l.saw(ts)
}

func (l *life) round(plan trust.Plan) {
	r := trust.Round{Number: l.peer.Rounds.Last + 1, Kind: plan.Kind, Requested: plan.Requested, Started: l.now, Usable: true,
		Reach: trust.Observation{Outcome: trust.Honored, Reason: trust.ReasonHonored}}
	if plan.Kind == trust.Behavior {
		r.Asked = plan.Ask
	}
	down := l.events.down(l.now)
	if down {
		r.Usable, r.Reach = false, trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonUnreachable}
	} else {
		r.Claims = claims(l.events.digest(l.now))
		l.answers(&r, plan)
	}
	l.now = l.now.Add(l.lasts(&r))
	r.Finished = l.now
	if r.Kind == trust.Behavior && l.agent.chance(l.agent.world.lost) {
		l.now = l.now.Add(30 * time.Second) // the operator died with it, and another took over
		return
	}
	l.fold(r, down)
}

// answers asks the agent. Claims that are not those that the round began with make every contradiction Inconclusive (design 4.4).
func (l *life) answers(r *trust.Round, plan trust.Plan) {
	for _, c := range r.Asked {
		obs, tasks := l.agent.ask(c, plan, l.now)
		r.Tasks += tasks
		if obs.Outcome == trust.Diverged && l.events.digest(l.now) != r.Claims.Digest {
			obs.Outcome, obs.Reason, obs.Basis, obs.Pair = trust.Inconclusive, trust.ReasonCardChanged, "", nil
		}
		r.Observations = append(r.Observations, obs)
	}
}

// lasts is how long a round takes: a second without tasks, some seconds for each task.
func (l *life) lasts(r *trust.Round) time.Duration {
	took := time.Second
	for range r.Tasks {
		took += time.Second + l.upTo(8*time.Second)
	}
	return took
}

func (l *life) fold(r trust.Round, down bool) {
	before := l.peer
	next, ts, folded := trust.Advance(l.peer, target, r, l.in.Policy, l.now)
	if !folded {
		l.err = fmt.Errorf("%s: folding round %d: it was not the next one", l.agent.name, r.Number)
		return
	}
	l.peer = next
	if r.Kind == trust.Behavior && r.Requested {
		l.in.Requested = false
	}
	if r.Kind == trust.Behavior && !down {
		l.counts(&r)
	}
	l.laws.round(before, next, &r, l.now)
	l.saw(ts)
}

// counts keeps the account of a behaviour round that reached the peer.
func (l *life) counts(r *trust.Round) {
	l.count.Rounds++
	learned := false
	for _, obs := range r.Observations {
		learned = learned || obs.Outcome != trust.Inconclusive
		if obs.Capability == l.agent.lie.about && !l.caught && l.agent.lying(obs.Capability, r.Started) {
			l.asked++
		}
	}
	if learned {
		l.count.Conclusive++
	}
}

// saw judges transitions.
func (l *life) saw(ts []trust.Transition) {
	lie := &l.agent.lie
	for _, x := range ts {
		switch {
		case x.To == trust.Demoted && !(lie.about == x.Capability && l.now.Sub(epoch) >= lie.from && (lie.until == 0 || l.now.Sub(epoch) < lie.until+time.Minute)):
			l.count.falsely(x)
		case x.To == trust.Demoted:
			l.demoted(x)
		case x.From == trust.Demoted && x.Capability == lie.about:
			if l.agent.lying(x.Capability, l.now) {
				l.count.LiftedWhileLying++
			} else if x.To == trust.Trusted {
				l.lifted = true
			}
		case x.Reason == trust.ReasonTrustExpired:
			l.count.Lapses++
			if !l.agent.world.lapses && lie.one == 0 {
				l.count.NeedlessLapses++
				l.count.note(fmt.Sprintf("%s: trust in %s ran out at %s", l.agent.name, x.Capability, l.now.Sub(epoch)))
			}
		}
	}
}

// demoted notes that the lie was caught, and how soon.
func (l *life) demoted(x trust.Transition) {
	lie := &l.agent.lie
	plain := lie.one > 1 && (x.Reason == trust.ReasonStreamEmpty || x.Reason == trust.ReasonStreamClosedWithoutTerminalState)
	if x.Reason != lie.reason && !plain {
		l.count.WrongReason++
		l.count.note(fmt.Sprintf("%s: demoted %s for %s, want %s", l.agent.name, x.Capability, x.Reason, lie.reason))
	}
	if l.caught {
		return
	}
	l.caught = true
	took := l.now.Sub(epoch) - lie.from
	l.count.took = append(l.count.took, took)
	l.count.rounds = append(l.count.rounds, l.asked)
	if took <= lie.target {
		l.count.OnTarget++
	}
	if took > lie.within {
		l.count.Missed++
		l.count.note(fmt.Sprintf("%s: demoted %s after %s, want within %s", l.agent.name, x.Capability, took, lie.within))
	}
}

// judge looks back at a whole life.
func (l *life) judge() {
	lie := &l.agent.lie
	if lie.one > 0 {
		l.count.Lies++
		if !l.caught && !lie.elusive {
			l.count.Missed++
			l.count.note(fmt.Sprintf("%s: never demoted", l.agent.name))
		}
		if lie.until > 0 && l.caught && !l.lifted {
			l.count.NotLifted++
			l.count.note(fmt.Sprintf("%s: repaired, and never lifted", l.agent.name))
		}
	}
	l.count.Broken += len(l.laws.broken)
	for _, b := range l.laws.broken {
		l.count.note(l.agent.name + ": " + b)
	}
}

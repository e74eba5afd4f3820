package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Worst and real costs of a question in tasks: what a round reserves, as the table of the probes says, and what it costs where all goes
// well and tasks are shared. Streaming's real cost is counted task by task.
var (
	worst = map[trust.Capability]int{
		trust.Streaming: 4, trust.TaskRetrieval: 2, trust.Cancellation: 1, trust.Continuation: 4, trust.Lifecycle: 2,
		trust.PushNotifications: 3, trust.InputModes: 7, trust.Resubscription: 1, trust.ExtendedAgentCard: 0,
	}
	real = map[trust.Capability]int{
		trust.Cancellation: 1, trust.Continuation: 2, trust.PushNotifications: 1, trust.InputModes: 4,
	}
)

// agent answers questions as its profile has it.
type agent struct {
	*profile
	rng   *rand.Rand
	began time.Time
	// spell: failing comes in bursts, and this one, bad or good, lasts until then.
	bad   bool
	spell time.Time
}

func (a *agent) chance(p float64) bool { return p > 0 && a.rng.Float64() < p }

// lying tells whether the lie about c is on at now, whatever the dice say.
func (a *agent) lying(c trust.Capability, now time.Time) bool {
	l, at := a.lie, now.Sub(a.began)
	return l.about == c && at >= l.from && (l.until == 0 || at < l.until)
}

func (a *agent) lies(c trust.Capability, now time.Time) bool {
	return a.lying(c, now) && (a.lie.one == 1 || a.rng.IntN(a.lie.one) == 0)
}

const (
	badFor   = 20 * time.Minute
	badFails = 0.8
)

// fails rolls whether the agent fails at one task, on whatever path.
func (a *agent) fails(now time.Time) bool {
	p := a.honest.fails
	if p == 0 || !a.honest.bursts {
		return a.chance(p)
	}
	for !a.spell.After(now) {
		mean := badFor
		if a.bad = !a.bad; !a.bad { // so much longer that the rate comes out as it should
			mean = time.Duration(float64(badFor) * (badFails - p) / p)
		}
		a.spell = maxTime(a.spell, a.began).Add(time.Duration(a.rng.ExpFloat64() * float64(mean)))
	}
	return a.bad && a.chance(badFails)
}

// one stream.
type sight int

const (
	good   sight = iota
	failed       // a failed task, told properly: a good stream, and no good task
	unsure       // an error, or cut
	hollow       // empty
	hidden       // hides finished work
	refused
)

func (s sight) bad() bool { return s == hollow || s == hidden }

func (a *agent) stream(now time.Time) sight {
	switch {
	case a.lies(trust.Streaming, now):
		switch {
		case a.lie.explicit:
			return refused
		case a.lie.hides:
			return hidden
		}
		return hollow
	case a.fails(now):
		if a.honest.looks == empty || a.honest.looks == mixed && a.rng.IntN(3) == 0 {
			return hollow
		}
		return []sight{failed, unsure}[a.rng.IntN(2)]
	case a.chance(a.honest.cut):
		return unsure
	case a.chance(a.honest.misread):
		return hidden
	}
	return good
}

// ask answers one question as the probes would report it, and says how many tasks it cost.
func (a *agent) ask(c trust.Capability, plan trust.Plan, now time.Time) (trust.Observation, int) {
	obs := trust.Observation{Capability: c, Outcome: trust.Honored, Reason: trust.ReasonHonored}
	if a.chance(a.honest.unlearned) {
		obs.Outcome, obs.Reason = trust.Inconclusive, trust.ReasonServerError
		return obs, min(1, worst[c])
	}
	if c == trust.Streaming {
		return a.streaming(plan, now)
	}
	switch {
	case real[c] > 0 && a.fails(now):
		obs.Outcome, obs.Reason = trust.Inconclusive, trust.ReasonAgentFailing
	case a.lies(c, now):
		obs.Outcome, obs.Reason, obs.Basis = trust.Diverged, a.lie.reason, lifecycle.Protocol
		obs.Explicit, obs.Confirmed = a.lie.explicit, a.lie.explicit
	case a.chance(a.honest.strange):
		obs.Outcome, obs.Reason, obs.Basis = trust.Diverged, trust.ReasonEventsAfterCancel, lifecycle.Protocol
	}
	return obs, real[c]
}

// streaming asks as the probe does (design 4.2): a stream; the control if the stream is bad or it is planned; the stream again, unless
// they are compared.
func (a *agent) streaming(plan trust.Plan, now time.Time) (trust.Observation, int) {
	obs := trust.Observation{Capability: trust.Streaming, Outcome: trust.Inconclusive, Reason: trust.ReasonStreamInterrupted}
	first := a.stream(now)
	switch {
	case first == refused:
		obs.Outcome, obs.Reason, obs.Basis = trust.Diverged, trust.ReasonStreamingRefused, lifecycle.Card
		obs.Explicit, obs.Confirmed = true, a.stream(now) == refused
		return obs, 0
	case first == hidden && plan.Pairs && !plan.Control:
		obs.Reason, obs.Pair = trust.ReasonStreamIntermittent, &trust.Pair{StreamFailed: true, Unexcused: true, Alone: true}
		return obs, 1
	case first == good || first == failed:
		obs.Outcome, obs.Reason = trust.Honored, trust.ReasonHonored
		fallthrough
	case first == unsure:
		if !plan.Control {
			return obs, 1
		}
		obs.ControlFailed = a.fails(now)
		if first != unsure {
			obs.Pair = &trust.Pair{ControlFailed: obs.ControlFailed}
		}
		return obs, 2
	}
	obs.ControlFailed = a.fails(now)
	obs.Pair = &trust.Pair{StreamFailed: true, ControlFailed: obs.ControlFailed, Unexcused: first == hidden}
	if plan.Pairs {
		obs.Reason = trust.ReasonStreamIntermittent
		if obs.ControlFailed {
			obs.Reason = trust.ReasonAgentFailing
		}
		return obs, 2
	}
	switch again := a.stream(now); {
	case again == unsure:
	case !again.bad():
		obs.Reason = trust.ReasonStreamIntermittent
	case obs.ControlFailed:
		obs.Reason = trust.ReasonAgentFailing
	case first == hidden:
		obs.Outcome, obs.Reason, obs.Basis = trust.Diverged, trust.ReasonStreamClosedWithoutTerminalState, lifecycle.Protocol
	case a.fails(now): // the control once more, as a failing agent could have sent both streams
		obs.ControlFailed, obs.Reason = true, trust.ReasonAgentFailing
		return obs, 4
	default:
		obs.Outcome, obs.Reason, obs.Basis = trust.Diverged, trust.ReasonStreamEmpty, lifecycle.Card
		return obs, 4
	}
	return obs, 3
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package trust

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

var epoch = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// gradable are all capabilities that a round can ask.
var gradable = []Capability{
	Cancellation, Continuation, ExtendedAgentCard, InputModes, Lifecycle, PushNotifications, Resubscription, Streaming, TaskRetrieval,
}

func declaringAll(digest string) Claims {
	return Claims{Digest: digest, Declared: map[Capability]Declaration{
		Streaming: Declared, PushNotifications: Declared, ExtendedAgentCard: Declared, StateTransitionHistory: NotDeclared,
	}}
}

// agent is a simulated peer: its paths fail at random.
type agent struct {
	rng *rand.Rand
	// streamFails and pathFails are chances per task: of the stream alone, and of any path alike.
	streamFails, pathFails float64
	// hides: a bad stream's task shows that the agent had worked (C01); else it is empty, as a failing agent's is (C03).
	hides bool
	// inconclusive is the chance that a question teaches nothing.
	inconclusive float64
}

func (a *agent) chance(p float64) bool { return a.rng.Float64() < p }

func (a *agent) stream() bool {
	fails := a.chance(a.pathFails)
	return a.chance(a.streamFails) || fails
}

// streaming asks as the probe does: stream; a control if the stream contradicts or it is planned; the stream again.
func (a *agent) streaming(planned, pairs bool) (Observation, int) {
	obs := Observation{Capability: Streaming, Outcome: Inconclusive, Reason: ReasonStreamInterrupted}
	if a.chance(a.inconclusive) {
		return obs, 1
	}
	bad := a.stream()
	if bad && pairs && !planned && a.hides {
		obs.Pair = &Pair{StreamFailed: true, Unexcused: true, Alone: true}
		obs.Reason = ReasonStreamIntermittent
		return obs, 1
	}
	if bad && pairs {
		control := a.chance(a.pathFails)
		obs.Pair, obs.ControlFailed = &Pair{StreamFailed: true, ControlFailed: control}, control
		obs.Reason = ReasonStreamIntermittent
		return obs, 2
	}
	if !bad && !planned {
		obs.Outcome, obs.Reason = Honored, ReasonHonored
		return obs, 1
	}
	control := a.chance(a.pathFails)
	obs.Pair, obs.ControlFailed = &Pair{StreamFailed: bad, ControlFailed: control, Unexcused: bad && a.hides}, control
	if !bad {
		obs.Outcome, obs.Reason = Honored, ReasonHonored
		return obs, 2
	}
	switch again := a.stream(); {
	case !again:
		obs.Reason = ReasonStreamIntermittent
	case control:
		obs.Reason = ReasonAgentFailing
	case !a.hides && a.chance(a.pathFails): // the control once more
		obs.Reason, obs.ControlFailed = ReasonAgentFailing, true
		return obs, 4
	default:
		obs.Outcome, obs.Reason, obs.Basis = Diverged, ReasonStreamEmpty, lifecycle.Card
		if !a.hides {
			return obs, 4
		}
	}
	return obs, 3
}

// simulation drives one peer by Schedule, Advance and Lapse on fake time.
type simulation struct {
	t     *testing.T
	agent agent
	peer  Peer
	in    PlanInput
	now   time.Time
	// left collects transitions out of Trusted, demoted those to Demoted.
	left, demoted []Transition
	demotedAt     time.Time
	rounds        int
	longestWait   time.Duration
	// spent by time, for the law that no 24 h see more than the budget.
	spent []spending
}

type spending struct {
	at        time.Time
	tasks     int
	requested bool
}

// worst and real are the cost in tasks of each question: at worst, and when all goes well and tasks are shared.
var (
	worst = map[Capability]int{Streaming: 4, TaskRetrieval: 1, Cancellation: 1, Continuation: 3, Lifecycle: 1,
		PushNotifications: 2, InputModes: 2, Resubscription: 1, ExtendedAgentCard: 0}
	real = map[Capability]int{Cancellation: 1, Continuation: 2, PushNotifications: 1, InputModes: 1, Resubscription: 1}
)

func newSimulation(t *testing.T, seed uint64) *simulation {
	return &simulation{
		t:     t,
		agent: agent{rng: rand.New(rand.NewPCG(seed, 7))},
		in:    PlanInput{Policy: DefaultPolicy(), Seed: seed, Cost: worst},
		now:   epoch,
	}
}

func (s *simulation) run(until time.Time, stop func() bool) {
	last := s.now
	for s.now.Before(until) {
		plan := Schedule(s.peer, s.in, s.now)
		if plan.At.IsZero() {
			s.t.Fatalf("nothing planned at %v: %+v", s.now, plan)
		}
		if plan.At.After(s.now) {
			s.now = plan.At
			var ts []Transition
			s.peer, ts = Lapse(s.peer, s.now)
			s.saw(ts)
			continue
		}
		s.round(plan)
		if plan.Kind == Behavior {
			s.longestWait = max(s.longestWait, s.now.Sub(last))
			last = s.now
		}
		if stop != nil && stop() {
			return
		}
	}
}

func (s *simulation) round(plan Plan) {
	started := s.now
	s.now = s.now.Add(3 * time.Second)
	r := Round{Number: s.peer.Rounds.Last + 1, Kind: plan.Kind, Requested: plan.Requested, Reported: plan.Reported, Started: started, Finished: s.now,
		Claims: declaringAll("sha256:a"), Usable: true, Asked: plan.Ask,
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}}
	for _, c := range plan.Ask {
		if c == Streaming {
			obs, tasks := s.agent.streaming(plan.Control, plan.Pairs)
			r.Observations = append(r.Observations, obs)
			r.Tasks += tasks
			continue
		}
		obs := Observation{Capability: c, Outcome: Honored, Reason: ReasonHonored}
		if s.agent.chance(s.agent.inconclusive) {
			obs.Outcome, obs.Reason = Inconclusive, ReasonTaskEndedFirst
		}
		r.Observations = append(r.Observations, obs)
		r.Tasks += real[c]
	}
	next, ts, folded := Advance(s.peer, "https://peer.test", r, s.in.Policy, s.now)
	if !folded {
		s.t.Fatalf("round %d not folded", r.Number)
	}
	s.peer = next
	s.saw(ts)
	s.rounds++
	if r.Tasks > 0 {
		s.spent = append(s.spent, spending{s.now, r.Tasks, r.Requested})
		s.budget()
	}
}

func (s *simulation) budget() {
	sum := 0
	for i := len(s.spent) - 1; i >= 0 && s.spent[i].at.After(s.now.Add(-24*time.Hour)); i-- {
		sum += s.spent[i].tasks
	}
	if sum > s.in.Policy.MaxTasksPerDay {
		s.t.Fatalf("%d tasks in 24 h at %v, budget %d", sum, s.now, s.in.Policy.MaxTasksPerDay)
	}
}

func (s *simulation) saw(ts []Transition) {
	for _, x := range ts {
		if x.From == Trusted {
			s.left = append(s.left, x)
		}
		if x.To == Demoted {
			if len(s.demoted) == 0 {
				s.demotedAt = s.now
			}
			s.demoted = append(s.demoted, x)
		}
	}
}

func (s *simulation) isDemoted() bool { return len(s.demoted) > 0 }

func TestSimulatedWeekOfAnHonestPeerNeverLeavesTrusted(t *testing.T) {
	for name, c := range map[string]struct {
		inconclusive float64
		seeds        int
		cheap        bool
	}{
		"with every round conclusive":                             {0, 2, true},
		"with one round in ten inconclusive":                      {0.1, 4, true},
		"with one round in ten inconclusive and no cheap rounds":  {0.1, 40, false},
		"with one round in five inconclusive and no cheap rounds": {0.2, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds(c.seeds)) {
				s := newSimulation(t, seed)
				s.agent.inconclusive = c.inconclusive
				s.in.Policy.SkipReachability = !c.cheap
				s.run(epoch.Add(7*day), nil)
				for _, x := range s.left {
					t.Errorf("seed %d: %s left Trusted: %s", seed, x.Capability, x.Reason)
				}
				if f := AllTrusted(s.peer, gradable, s.now); f.Status != True {
					t.Errorf("seed %d: after a week %+v", seed, f)
				}
			}
		})
	}
}

// Streams that hide finished work are their own controls, so each task tells: a day is enough. Empty streams have to be told
// from an agent that fails on every path, which takes pairs, of which a day affords some 30 (docs/trust.md).
func TestAStreamFailingOneTimeInThreeIsDemotedWithinADayOrTwo(t *testing.T) {
	for name, c := range map[string]struct {
		hides             bool
		firstDay, twoDays float64
	}{
		"hiding finished work": {true, 0.97, 1},
		"empty":                {false, 0.4, 0.97},
	} {
		t.Run(name, func(t *testing.T) {
			n, first, second := seeds(400), 0, 0
			for seed := range uint64(n) {
				s := newSimulation(t, seed)
				s.agent.streamFails, s.agent.hides = 1.0/3, c.hides
				s.in.Policy.SkipReachability = true
				s.run(epoch.Add(2*day), s.isDemoted)
				if s.isDemoted() {
					second++
				}
				if s.isDemoted() && s.demotedAt.Sub(epoch) <= day {
					first++
				}
			}
			t.Logf("%d of %d within one day, %d within two", first, n, second)
			if float64(first) < float64(n)*c.firstDay-2 || float64(second) < float64(n)*c.twoDays-1 {
				t.Errorf("demoted %d of %d within one day, %d within two, want %v and %v of them", first, n, second, c.firstDay, c.twoDays)
			}
		})
	}
}

// The worst agent that is no liar: all its failures look like empty streams, on a stream as often as on the control. Larger
// numbers come from test/simulate.
func TestAgentsFailingAlikeOnEveryPathAreNotDemoted(t *testing.T) {
	for _, rate := range []float64{0.01, 0.1, 0.3} {
		weeks, n, demoted := seeds(60), 0, map[Reason]int{}
		for seed := range uint64(weeks) {
			s := newSimulation(t, seed)
			s.agent.pathFails = rate
			s.in.Policy.SkipReachability = true
			s.run(epoch.Add(7*day), nil)
			n += len(s.demoted)
			for _, d := range s.demoted {
				demoted[d.Reason]++
			}
		}
		if n > 0 {
			t.Errorf("failing %v on every path: %d demotions in %d peer-days %v", rate, n, 7*weeks, demoted)
		}
	}
}

func TestAFullLiarIsDemotedWithinOneIntervalAndTwoConfirmations(t *testing.T) {
	for name, honestFor := range map[string]time.Duration{"from the first sight": 0, "after an honest day": day} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds(50)) {
				s := newSimulation(t, seed)
				s.agent.hides = seed%2 == 0
				s.run(epoch.Add(honestFor), nil)
				s.agent.streamFails = 1
				turned := s.now
				s.run(turned.Add(day), s.isDemoted)
				p := s.in.Policy
				limit := p.Interval*21/20 + 2*p.ConfirmInterval*21/20 + time.Minute
				if took := s.demotedAt.Sub(turned); !s.isDemoted() || took > limit {
					t.Errorf("seed %d: demoted %v after %v, want within %v", seed, s.isDemoted(), took, limit)
				}
			}
		})
	}
}

// seeds is how many of n a quick run takes.
func seeds(n int) int {
	if testing.Short() {
		return max(n/10, 2)
	}
	return n
}

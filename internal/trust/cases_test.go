package trust

import (
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// The cases from the wild that are about when to look again, by their id.

// visited is a peer that Schedule and Advance drive, on fake time.
type visited struct {
	t      *testing.T
	peer   Peer
	in     PlanInput
	now    time.Time
	digest string
	// reach and see say what comes back of a round.
	reach Observation
	see   func(Capability) Observation
	tasks int // of a round with questions
	spent []int
	at    []time.Time
}

func visit(t *testing.T) *visited {
	return &visited{
		t: t, now: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), digest: "a", tasks: 1,
		in:    PlanInput{Policy: DefaultPolicy(), Cost: map[Capability]int{Streaming: 3}, CostControl: 1},
		reach: Observation{Outcome: Honored, Reason: ReasonHonored},
		see: func(c Capability) Observation {
			return Observation{Capability: c, Outcome: Honored, Reason: ReasonHonored}
		},
	}
}

// next lets the next round come, and says when it did.
func (v *visited) next() (Plan, time.Time) {
	v.t.Helper()
	plan := Schedule(v.peer, v.in, v.now)
	if plan.At.IsZero() {
		v.t.Fatalf("nothing is planned: %+v", plan)
	}
	if plan.At.After(v.now) {
		v.now = plan.At
		v.peer, _ = Lapse(v.peer, v.now)
		plan = Schedule(v.peer, v.in, v.now)
	}
	r := Round{Number: v.peer.Rounds.Last + 1, Kind: plan.Kind, Finished: v.now, Asked: plan.Ask, Reach: v.reach, Usable: true}
	if v.reach.Outcome == Honored {
		r.Claims = Claims{Digest: v.digest, Declared: map[Capability]Declaration{Streaming: Declared}}
		for _, c := range plan.Ask {
			r.Observations, r.Tasks = append(r.Observations, v.see(c)), v.tasks
		}
	}
	next, _, folded := Advance(v.peer, "https://peer.test", r, v.in.Policy, v.now)
	if !folded {
		v.t.Fatalf("round %d was not folded", r.Number)
	}
	v.peer, v.spent, v.at = next, append(v.spent, r.Tasks), append(v.at, v.now)
	return plan, v.now
}

func (v *visited) state() State { r, _ := v.peer.find(Streaming); return r.State }

func (v *visited) within(d time.Duration) int {
	sum := 0
	for i, at := range v.at {
		if v.now.Sub(at) < d {
			sum += v.spent[i]
		}
	}
	return sum
}

func TestCaseC95ANewCardEndsTheWaitOfADemotion(t *testing.T) {
	v := visit(t)
	bad := func(c Capability) Observation {
		return Observation{Capability: c, Outcome: Diverged, Basis: lifecycle.Card, Reason: ReasonStreamingRefused, Explicit: true, Confirmed: true}
	}
	good := v.see
	for range 3 { // demoted three times: the last time it would stay so for an hour at least
		v.see = bad
		for v.state() != Demoted {
			v.next()
		}
		v.see = good
		for v.state() == Demoted {
			v.next()
		}
	}
	v.see = bad
	for v.state() != Demoted {
		v.next()
	}
	v.see, v.digest = good, "b" // repaired, and another card says so
	began := v.now
	for v.state() == Demoted {
		v.next()
	}
	if took := v.now.Sub(began); v.state() != Trusted || took > 15*time.Minute {
		t.Errorf("%s after %s, want Trusted within a quarter of an hour", v.state(), took)
	}
}

func TestCaseC96APeerWhoseTasksNeverEndIsAskedForFewOfThem(t *testing.T) {
	v := visit(t)
	v.tasks = 3
	v.see = func(c Capability) Observation {
		return Observation{Capability: c, Outcome: Inconclusive, Reason: ReasonStuck}
	}
	began := v.now
	for v.now.Sub(began) < 3*24*time.Hour {
		v.next()
		if day := v.within(24 * time.Hour); day > v.in.Policy.MaxTasksPerDay {
			t.Fatalf("%d tasks within a day, want at most %d", day, v.in.Policy.MaxTasksPerDay)
		}
		if hour := v.within(time.Hour); v.now.Sub(began) > 2*time.Hour && hour > 6 {
			t.Fatalf("%d tasks within an hour, want few", hour)
		}
	}
	if v.within(24*time.Hour) == 0 {
		t.Error("it is not asked at all any more")
	}
}

func TestCaseC100APeerThatFailsAgainAndAgainIsAskedEverMoreRarely(t *testing.T) {
	v := visit(t)
	v.reach = Observation{Outcome: Inconclusive, Reason: ReasonCardUnavailable}
	var gaps []time.Duration
	_, last := v.next()
	for range 20 {
		plan, at := v.next()
		if len(plan.Ask) > 0 {
			t.Errorf("asked %v of a peer whose card cannot be read", plan.Ask)
		}
		gaps, last = append(gaps, at.Sub(last)), at
	}
	if first, late := gaps[0], gaps[len(gaps)-1]; first > 10*time.Minute || late < 55*time.Minute {
		t.Errorf("the next try came after %s at first and after %s at the end, want minutes and an hour", first, late)
	}
}

func TestCaseC107ANewCardIsANewClaim(t *testing.T) {
	v := visit(t)
	v.next()
	if v.state() != Trusted {
		t.Fatalf("Streaming is %s, want Trusted", v.state())
	}
	v.digest = "b"
	v.see = func(c Capability) Observation {
		return Observation{Capability: c, Outcome: Inconclusive, Reason: ReasonAgentFailing}
	}
	v.next()
	if rec, _ := v.peer.find(Streaming); rec.State != Unverified {
		t.Errorf("Streaming is %s (%s) under a card that nobody has judged, want Unverified", rec.State, rec.Reason)
	}
	if v.peer.Claims.Digest != "b" {
		t.Errorf("the verdict carries the digest %q, want that of the new card", v.peer.Claims.Digest)
	}
}

// What each guard is there for. A story is what streams did, hour by hour: - good, x contradicted by what no failing agent explains,
// c contradicted beside a control that failed, m good at a second try, ? inconclusive; a dot is an hour in which nobody asked.
func TestCaseGuardsOfTrust(t *testing.T) {
	for story, want := range map[string]struct {
		state State
		why   string
	}{
		"x":                           {Unverified, "one contradiction does not demote"},
		"xx":                          {Demoted, "two of three do"},
		"x-x":                         {Trusted, "a stream that works at times is compared, not counted"},
		"x?x":                         {Demoted, "an inconclusive round moves no streak"},
		"x.........................x": {Unverified, "what is older than a day does not count"},
		"xc":                          {Unverified, "an agent whose control failed needs more"},
		"xcx":                         {Demoted, "and three in a row are enough"},
		"-xx":                         {Demoted, "trust does not protect a liar"},
		"-x":                          {Trusted, "a first contradiction warns, and what is trusted stays so"},
		"-mxx":                        {Unverified, "while streams are compared, counting has no say"},
		"-....":                       {Unverified, "trust that nothing renews runs out"},
		"xx--":                        {Trusted, "two clean rounds lift a demotion"},
		"xx-":                         {Demoted, "one does not"},
		"????":                        {Unverified, "nothing learned is no fault"},
	} {
		p := Peer{}
		policy, now := DefaultPolicy(), time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
		for _, hour := range story {
			obs := Observation{Capability: Streaming, Outcome: Honored, Reason: ReasonHonored}
			switch hour {
			case 'x', 'c':
				obs = Observation{Capability: Streaming, Outcome: Diverged, Basis: lifecycle.Protocol, Reason: ReasonStreamClosedWithoutTerminalState,
					ControlFailed: hour == 'c', Pair: &Pair{StreamFailed: true, Unexcused: true, Alone: true}}
			case 'm':
				obs.Outcome, obs.Reason = Inconclusive, ReasonStreamIntermittent
			case '?':
				obs.Outcome, obs.Reason = Inconclusive, ReasonUnreachable
			}
			if hour != '.' {
				r := Round{Number: p.Rounds.Last + 1, Kind: Behavior, Finished: now, Asked: []Capability{Streaming}, Usable: true,
					Reach: Observation{Outcome: Honored, Reason: ReasonHonored}, Observations: []Observation{obs},
					Claims: Claims{Digest: "a", Declared: map[Capability]Declaration{Streaming: Declared}}}
				p, _, _ = Advance(p, "https://peer.test", r, policy, now)
			}
			now = now.Add(time.Hour)
			p, _ = Lapse(p, now.Add(-time.Second))
		}
		if rec, _ := p.find(Streaming); rec.State != want.state {
			t.Errorf("%q is %s (%s), want %s: %s", story, rec.State, rec.Reason, want.state, want.why)
		}
	}
}

func TestCaseC96ARequestDoesNotExceedADaysBudget(t *testing.T) {
	now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	var r Rounds
	r.spend(now, 70, false) // confirming, all of it
	if r.affords(3, 0, 72, requests, now) {
		t.Error("a round asked for may spend 3 tasks where 70 of 72 are gone")
	}
	if !r.affords(2, 0, 72, requests, now) {
		t.Error("a round asked for may not spend the 2 tasks that are left of 72")
	}
}

func TestCaseC107ACardThatChangesAgainAndAgainBringsNoRoundsForward(t *testing.T) {
	v := visit(t)
	began := v.now
	asked := 0
	for n := 0; v.now.Sub(began) < 6*time.Hour; n++ {
		v.digest = string(rune('a' + n%20))
		if plan, _ := v.next(); len(plan.Ask) > 0 {
			asked++
		}
	}
	if asked > 14 {
		t.Errorf("asked %d times within six hours, want a few and then once an hour", asked)
	}
}

package simulate

import (
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// The fleets.
const (
	Honest = "honest"
	Flaky  = "flaky"
	Liars  = "liars"
)

const day = 24 * time.Hour

// profile is one way to behave, lived by many peers.
type profile struct {
	name, fleet string
	// share of all peer-days, relative to the others; each life lasts so many days.
	share, days int
	honest      honesty
	lie         lie
	world       world
}

// honesty is what honest questions meet.
type honesty struct {
	// unlearned is the chance that a question teaches nothing; cut the same of streams alone.
	unlearned, cut float64
	// misread is the chance that one stream looks like one that hides finished work, and strange that any other question sees a
	// contradiction that there is not. Both come of what no judge can know: a cut in the very moment, a clock, a store.
	misread, strange float64
	// fails is the chance that the agent fails, on every path alike, and how its failing looks on a stream.
	fails float64
	looks failing
	// bursts: failing comes in spells of some twenty minutes, in which four tasks in five fail.
	bursts bool
}

// failing is how an agent's own failing looks on a stream.
type failing int

const (
	visible failing = iota // half the streams end with a failed task, half with an error: what servers do that tell their clients
	empty                  // every one ends in good order without an event (C03 A): the worst for the judges
	mixed                  // a third empty, the others visible
)

// lie is what is not honoured.
type lie struct {
	about  trust.Capability
	reason trust.Reason
	// one in so many: 1 always, 3 one time in three.
	one int
	// hides: of streams, the task shows that the agent had worked; else the stream is empty.
	hides bool
	// explicit: the peer refuses, and again when asked again.
	explicit bool
	// from and until bound the lie; zero until is for ever.
	from, until time.Duration
	// within is when it must have been demoted; target is what the goal asks for. elusive lies are told so rarely that they may go
	// unnoticed.
	within, target time.Duration
	elusive        bool
}

// world is what happens to a peer and to us.
type world struct {
	// outages, deploys with another card, and canaries (an hour of two cards in turn) a day on average; outages last up to
	// outageFor.
	outages, deploys, canaries float64
	outageFor                  time.Duration
	// flaps: two cards in turn at every reading.
	flaps bool
	// lost is the chance that the operator dies before a behaviour round is written.
	lost float64
	// requests of users for a round, a day on average.
	requests float64
	// budget of tasks a day; zero means the default. noCheap: no reachability tier.
	budget  int
	noCheap bool
	// lapses: trust may run out, as the world leaves no other way.
	lapses bool
}

// once is when a lie that always contradicts must be demoted: one interval and two confirmations, each with its jitter, the
// round itself and the wait for a worker.
var (
	once = within(time.Hour, 2)
	six  = within(6*time.Hour, 2)
	// late is when what is asked every sixth round is asked at the latest, as the budget may hold it back until a third of its trust is left.
	late = within(12*time.Hour, 2) + time.Hour
)

func within(interval time.Duration, confirmations int) time.Duration {
	confirm := trust.DefaultPolicy().ConfirmInterval
	return (interval+time.Duration(confirmations)*confirm)*21/20 + 5*time.Minute
}

// profiles of the three fleets. Half of the peer-days are honest, a quarter each flaky and lying.
func profiles() []profile {
	rough := honesty{unlearned: 0.1, cut: 0.1, misread: 0.003, strange: 0.0001}
	stream := func(one int, hides bool) lie {
		l := lie{about: trust.Streaming, reason: trust.ReasonStreamIntermittent, one: one, hides: hides, target: day, within: 4 * day}
		if one == 1 {
			l.target, l.within, l.reason = once, 2*once, trust.ReasonStreamEmpty
			if hides {
				l.reason = trust.ReasonStreamClosedWithoutTerminalState
			}
		}
		return l
	}
	always := func(c trust.Capability, why trust.Reason) lie {
		return lie{about: c, reason: why, one: 1, target: six, within: late}
	}
	later := func(l lie, from, until time.Duration) lie {
		l.from, l.until = from, until
		return l
	}
	refusing := lie{about: trust.Streaming, reason: trust.ReasonStreamingRefused, one: 1, explicit: true, target: once, within: 2 * once}
	return []profile{
		{name: "honest", fleet: Honest, share: 10, days: 30},
		{name: "honest, one question in ten inconclusive", fleet: Honest, share: 5, days: 30, honest: honesty{unlearned: 0.1}},
		{name: "honest, three in ten inconclusive", fleet: Honest, share: 5, days: 30, honest: honesty{unlearned: 0.3}, world: world{lapses: true}},
		{name: "honest, three streams in ten cut", fleet: Honest, share: 5, days: 30, honest: honesty{cut: 0.3}, world: world{lapses: true}},
		{name: "honest, misread at times", fleet: Honest, share: 10, days: 30, honest: honesty{misread: 0.005, strange: 0.0001}},
		{name: "honest, with outages", fleet: Honest, share: 5, days: 30, world: world{outages: 0.5, outageFor: 8 * time.Hour, lapses: true}},
		{name: "honest, deployed daily", fleet: Honest, share: 3, days: 30, world: world{deploys: 1, canaries: 0.5, lapses: true}},
		{name: "honest, two cards in turn", fleet: Honest, share: 2, days: 30, world: world{flaps: true, lapses: true}},
		{name: "honest, one round in twenty lost", fleet: Honest, share: 5, days: 30, world: world{lost: 0.05}},
		{name: "honest, asked for ten times a day", fleet: Honest, share: 3, days: 30, world: world{requests: 10}},
		{name: "honest, twenty tasks a day", fleet: Honest, share: 3, days: 30, world: world{budget: 20, lapses: true}},
		{name: "honest, without cheap rounds", fleet: Honest, share: 4, days: 30, honest: honesty{unlearned: 0.05}, world: world{noCheap: true}},
		{name: "honest, all of it together", fleet: Honest, share: 10, days: 30, honest: rough, world: world{outages: 0.3, outageFor: 4 * time.Hour,
			deploys: 0.2, canaries: 0.1, lost: 0.02, requests: 2, lapses: true}},

		{name: "fails 1 in 100, streams empty", fleet: Flaky, share: 4, days: 30, honest: honesty{fails: 0.01, looks: empty}, world: world{lapses: true}},
		{name: "fails 1 in 10, streams empty", fleet: Flaky, share: 4, days: 30, honest: honesty{fails: 0.1, looks: empty}, world: world{lapses: true}},
		{name: "fails 3 in 10, streams empty", fleet: Flaky, share: 4, days: 30, honest: honesty{fails: 0.3, looks: empty}, world: world{lapses: true}},
		{name: "fails 1 in 10 in bursts, streams empty", fleet: Flaky, share: 4, days: 30, honest: honesty{fails: 0.1, looks: empty, bursts: true}, world: world{lapses: true}},
		{name: "fails 3 in 10 in bursts, streams empty", fleet: Flaky, share: 4, days: 30, honest: honesty{fails: 0.3, looks: empty, bursts: true}, world: world{lapses: true}},
		{name: "fails 1 in 100, visibly", fleet: Flaky, share: 3, days: 30, honest: honesty{fails: 0.01}, world: world{lapses: true}},
		{name: "fails 1 in 10, visibly", fleet: Flaky, share: 3, days: 30, honest: honesty{fails: 0.1}, world: world{lapses: true}},
		{name: "fails 3 in 10, visibly", fleet: Flaky, share: 3, days: 30, honest: honesty{fails: 0.3}, world: world{lapses: true}},
		{name: "fails 1 in 10 and all else", fleet: Flaky, share: 6, days: 30, honest: honesty{unlearned: 0.1, cut: 0.1, misread: 0.003, strange: 0.0001, fails: 0.1,
			looks: mixed}, world: world{outages: 0.3, outageFor: 4 * time.Hour, deploys: 0.2, lost: 0.02, requests: 2, lapses: true}},

		{name: "stream hides finished work", fleet: Liars, share: 2, days: 4, lie: stream(1, true)},
		{name: "stream is empty", fleet: Liars, share: 2, days: 4, lie: stream(1, false)},
		{name: "stream is refused", fleet: Liars, share: 1, days: 4, lie: refusing},
		{name: "stream hides finished work, from the third day on", fleet: Liars, share: 2, days: 6, lie: later(stream(1, true), 2*day, 0), honest: honesty{unlearned: 0.05}},
		{name: "stream is empty, from the third day on", fleet: Liars, share: 2, days: 6, lie: later(stream(1, false), 2*day, 0)},
		{name: "stream hides finished work until it is repaired", fleet: Liars, share: 2, days: 6, lie: later(stream(1, true), 0, 2*day)},
		{name: "stream is empty until it is repaired", fleet: Liars, share: 1, days: 6, lie: later(stream(1, false), day, 3*day)},
		{name: "one stream in three hides finished work", fleet: Liars, share: 3, days: 4, lie: stream(3, true)},
		{name: "one stream in three is empty", fleet: Liars, share: 3, days: 4, lie: stream(3, false)},
		{name: "one stream in three hides finished work, from the third day on", fleet: Liars, share: 2, days: 6, lie: later(stream(3, true), 2*day, 0), honest: honesty{unlearned: 0.05}},
		{name: "one stream in ten hides finished work", fleet: Liars, share: 3, days: 30, lie: lie{about: trust.Streaming, reason: trust.ReasonStreamIntermittent,
			one: 10, hides: true, target: day, within: 30 * day, elusive: true}},
		{name: "cancels are ignored", fleet: Liars, share: 1, days: 4, lie: always(trust.Cancellation, trust.ReasonEventsAfterCancel)},
		{name: "one cancel in three is ignored", fleet: Liars, share: 1, days: 14, lie: lie{about: trust.Cancellation, reason: trust.ReasonEventsAfterCancel, one: 3,
			target: day, within: 14 * day, elusive: true}},
		{name: "a follow-up gets a new task", fleet: Liars, share: 1, days: 4, lie: always(trust.Continuation, trust.ReasonTaskIDChangedOnContinuation)},
		{name: "webhooks are never called", fleet: Liars, share: 1, days: 4, lie: always(trust.PushNotifications, trust.ReasonPushNotDelivered)},
		{name: "a declared mode is refused", fleet: Liars, share: 1, days: 4, lie: always(trust.InputModes, trust.ReasonDeclaredModeRefused)},
		{name: "ended tasks move on, until repaired", fleet: Liars, share: 1, days: 6, lie: later(always(trust.Lifecycle, trust.ReasonTerminalStateNotFinal), day, 3*day)},
		{name: "stream hides finished work, in a rough world", fleet: Liars, share: 1, days: 8, honest: honesty{unlearned: 0.1}, lie: lie{about: trust.Streaming, one: 1, hides: true,
			reason: trust.ReasonStreamClosedWithoutTerminalState, target: once, within: 2 * day},
			world: world{outages: 0.3, outageFor: 4 * time.Hour, lost: 0.02, requests: 2, lapses: true}},
	}
}

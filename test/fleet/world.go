package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
)

// epoch is when every world begins.
var epoch = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// world is one peer and one operator that looks after it, on a clock of their own.
type world struct {
	peer    Peer
	stand   *stand
	weather weather
	chance  *rand.Rand
	policy  trust.Policy
	target  probe.Target
	// slot bounds how many rounds run at once, so that a busy machine does not look like a slow peer.
	slot  chan struct{}
	pulse *pulse
	// receiver of webhooks.
	receiver probe.Receiver
	tally    *tally

	now    time.Time
	known  trust.Peer
	card   seenCard
	paused time.Time
	trial  trial
	seed   uint64
	last   *trust.Round
	// busy says that the machine was too busy in the last round for its times to mean anything. Such rounds count as rounds with faults.
	busy bool
	// held is why the last plan held back behaviour rounds, if it did.
	held trust.Reason
}

// seenCard is the card as last read, as the operator keeps it between rounds.
type seenCard struct {
	etag  string
	known *probe.Known
}

// trial is one chance to catch a liar; honest peers live one long one.
type trial struct {
	// lies is from when on the peer lies; zero: never. lying says that it does.
	lies  time.Time
	lying bool
	// fair is the time since then that counts: not that in which faults of the bed kept the prober from learning, or the rules of the
	// design from demoting.
	fair   time.Duration
	rounds int
	// demoted is when it was caught, and over when the next trial begins.
	demoted time.Time
	missed  bool
}

func newWorld(p Peer, s *stand, seed uint64, t *tally) (*world, error) {
	u, err := url.Parse(s.URL())
	if err != nil {
		return nil, fmt.Errorf("reading the peer's address: %w", err)
	}
	chance := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		peer: p, stand: s, chance: chance, policy: trust.DefaultPolicy(), tally: t, now: epoch, seed: seed,
		weather: weather{peer: p, chance: rand.New(rand.NewPCG(seed, 2))},
		target: probe.Target{
			Key: "fleet/" + p.Name, ID: u.String(), URL: u, Timing: shortened(),
			PushReachable: true,
			Credentials:   wire.Credentials{Header: "Authorization", Value: "Bearer fleet", Origins: []string{u.Scheme + "://" + u.Host}},
			Fixtures: probe.Fixtures{
				LongRunning:   &probe.Fixture{Parts: []wire.Part{{Text: "count to 1000 slowly"}}},
				InputRequired: &probe.Fixture{Parts: []wire.Part{{Text: "book a trip"}}, Reply: &probe.Fixture{Parts: []wire.Part{{Text: "to Oslo"}}}},
			},
		},
	}
	w.begin()
	return w, nil
}

// live lets the world run until its clock has reached end, or ctx ends.
func (w *world) live(ctx context.Context, end time.Time) error {
	for w.now.Before(end) && ctx.Err() == nil {
		plan := w.schedule()
		if plan.At.IsZero() {
			break
		}
		w.pass(later(plan.At, later(w.now, w.paused)))
		if err := w.round(ctx, plan); err != nil {
			return err
		}
		if w.trial.over(w) {
			w.begin()
		}
	}
	w.tally.lived(w.now.Sub(epoch))
	return nil
}

// schedule asks the trust machine what is next; now and then somebody asks for a round.
func (w *world) schedule() trust.Plan {
	costs, control := probe.Costs()
	return trust.Schedule(w.known, trust.PlanInput{
		Policy: w.policy, Seed: w.seed, Requested: w.chance.Float64() < requestShare, Fixtures: askable(), Cost: costs, CostControl: control,
	}, w.now)
}

func askable() map[trust.Capability]bool {
	all := map[trust.Capability]bool{}
	for _, c := range probe.Questions() {
		all[c] = true
	}
	return all
}

// pass lets time pass, and the peer begin to lie when its time has come.
func (w *world) pass(to time.Time) {
	w.now = later(w.now, to)
	if t := &w.trial; !t.lying && !t.lies.IsZero() && !w.now.Before(t.lies) {
		t.lying = true
		w.stand.lie(w.peer.Lie)
	}
}

// round runs one round and folds it.
func (w *world) round(ctx context.Context, plan trust.Plan) error {
	w.held, w.busy = plan.Reason, false
	share := faultShare
	if plan.Kind == trust.Reachability {
		share = cheapShare
	}
	fault, active := w.weather.draw(w.now, share)
	if plan.Kind == trust.Reachability && !active && w.uneventful() {
		w.fold(w.repeated(plan), plan, "", false)
		return nil
	}
	rep, err := w.run(ctx, plan, fault)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if fault.MoveAfter > 0 {
		w.weather.backend = 1 - w.weather.backend // the tasks are gone for good
	}
	if w.chance.Float64() < restartShare {
		w.restart()
		if w.chance.IntN(2) == 0 {
			w.tally.lost()
			return nil // the report is lost: the round is asked again
		}
	}
	if !active && w.busy {
		fault.Name, active = busyMachine, true
	}
	w.fold(rep, plan, fault.Name, active)
	return nil
}

// run asks the peer, for real.
func (w *world) run(ctx context.Context, plan trust.Plan, f proxy.Fault) (probe.Report, error) {
	w.slot <- struct{}{}
	defer func() { <-w.slot }()
	w.pulse.calm(ctx)
	if err := w.stand.Set(f); err != nil {
		return probe.Report{}, err
	}
	began := time.Now()
	rep := probe.Run(ctx, probe.Env{Egress: agent.Loopback(), UserAgent: UserAgent, Receiver: w.receiver}, probe.Job{
		Target: w.target, Generation: 1, Round: w.known.Rounds.Last + 1, Kind: plan.Kind, CardAndTask: true, Ask: plan.Ask,
		Control: plan.Control, Pairs: plan.Pairs, KnownDigest: w.known.Claims.Digest, ETag: w.card.etag, Known: w.card.known,
		Doubt: trust.Doubt(w.known, w.policy, w.now), RefusedModes: trust.RefusedModes(w.known), DeliveredTo: trust.DeliveredTo(w.known),
		// Like the operator: rounds that ask more than Streaming look at every interface too.
		Interfaces: slices.ContainsFunc(plan.Ask, func(c trust.Capability) bool { return c != trust.Streaming }),
	})
	took := time.Since(began)
	w.busy = w.pulse.worst(began) > tooLate
	f.Down = false // the port must be there for the next round
	if err := w.stand.Set(f); err != nil {
		return probe.Report{}, err
	}
	rep.Round.Started = w.now
	w.pass(w.now.Add(took * Scale))
	rep.Round.Finished, rep.Round.Requested = w.now, plan.Requested
	if rep.RetryAfter > 0 {
		w.paused = w.now.Add(min(rep.RetryAfter, 24*time.Hour))
	}
	if rep.Card != nil {
		w.card = seenCard{etag: rep.ETag}
		if rep.Interface != nil {
			w.card.known = &probe.Known{Interface: *rep.Interface, Generation: rep.WireGeneration, Claims: rep.Round.Claims}
		}
	}
	return rep, nil
}

// UserAgent of the rounds, as agents that spare probes know it.
const UserAgent = "agentpeer-fleet"

// uneventful says that a reachability round without a fault would only repeat the last round, and that this one need not be run: nine in
// ten of them are taken as seen, which saves hours and hides nothing.
func (w *world) uneventful() bool {
	return w.last != nil && w.last.Reach.Outcome == trust.Honored && w.last.Claims.Digest == w.known.Claims.Digest && w.chance.IntN(10) > 0
}

func (w *world) repeated(plan trust.Plan) probe.Report {
	r := *w.last
	return probe.Report{Round: trust.Round{
		Number: w.known.Rounds.Last + 1, Kind: plan.Kind, Started: w.now, Finished: w.now, Claims: r.Claims, Reach: r.Reach, Usable: r.Usable,
	}}
}

// restart is what an operator that starts again knows: what status holds.
func (w *world) restart() {
	w.known, w.card = controllers.Written(w.known), seenCard{}
}

// fold takes the round in and counts what it did.
func (w *world) fold(rep probe.Report, plan trust.Plan, fault string, active bool) {
	r := rep.Round
	next, transitions, folded := trust.Advance(w.known, w.target.ID, r, w.policy, w.now)
	if !folded {
		w.tally.broken(w, "a round was not folded")
		return
	}
	was := w.known
	w.known, w.last = next, &r
	if r.Kind == trust.Behavior {
		w.tally.round(w, r, plan, fault, active)
	} else {
		w.tally.cheap(active)
	}
	w.trial.count(w, was, r, active)
	for _, t := range transitions {
		if t.To == trust.Demoted {
			w.tally.demoted(w, t)
			w.trial.caught(w, t)
		}
	}
}

// begin begins another trial. A liar is a peer never seen, honest for some hours or a liar from birth.
func (w *world) begin() {
	if w.peer.Lie == nil {
		w.known = trust.Peer{Target: w.target.ID}
		return
	}
	w.known, w.card, w.last, w.trial = trust.Peer{Target: w.target.ID}, seenCard{}, nil, trial{lies: w.now}
	w.weather.deploy = time.Time{}
	w.tally.forget()
	w.stand.behave(w.peer)
	if w.peer.Lie.Spares != "" || w.peer.SDK != "" {
		w.trial.lying = true
		return
	}
	if w.chance.IntN(10) >= 4 {
		w.trial.lies = w.now.Add(time.Duration(w.chance.Int64N(int64(8 * time.Hour))))
	}
	w.pass(w.now)
}

// count adds what passed since the last round to the time that counts.
func (t *trial) count(w *world, was trust.Peer, r trust.Round, active bool) {
	if !t.lying || !t.demoted.IsZero() {
		return
	}
	about := w.peer.Lie.About
	if r.Kind == trust.Behavior && (slices.Contains(r.Asked, about)) {
		t.rounds++
	}
	since := later(was.Rounds.LastTime, t.lies)
	if !w.excused(was, r, active) {
		t.fair += max(w.now.Sub(since), 0)
	}
	if limit := w.peer.Lie.limit(w.policy); !t.missed && t.fair > limit {
		t.missed = true
		w.tally.missed(w, *t)
	}
}

// excused says that the time up to this round is not held against the prober: a fault was active and it learned nothing, the round could
// not be afforded, or the design forbids to demote for a while (a new card, a peer that was not reachable).
func (w *world) excused(was trust.Peer, r trust.Round, active bool) bool {
	reached := r.Reach.Outcome == trust.Honored
	since := later(was.ClaimsSince, was.Rounds.ReachableSince)
	if !since.IsZero() && w.now.Before(since.Add(2*w.policy.Interval+w.policy.ConfirmInterval)) ||
		was.Rounds.ReachFailures > 0 || !reached || w.busy || w.held == trust.ReasonBudgetExhausted {
		return true
	}
	rec := record(was, w.peer.Lie.About)
	if rec != nil && !rec.NextProbe.IsZero() && !slices.Contains(r.Asked, rec.Capability) && w.now.After(rec.NextProbe.Add(w.policy.Interval/10)) {
		// Due, the peer reachable, and another round ran: the capability's worst cost did not fit into the budget.
		w.tally.near("held back by the budget | " + w.peer.Name)
		return true
	}
	if active && r.Kind == trust.Behavior && slices.Contains(r.Asked, w.peer.Lie.About) {
		return !slices.ContainsFunc(r.Observations, func(o trust.Observation) bool {
			return o.Capability == w.peer.Lie.About && o.Outcome != trust.Inconclusive
		})
	}
	// After such a round the next one is late by no fault of the prober's.
	return rec != nil && rec.LastOutcome == trust.Inconclusive && w.tally.excusedLast(w.peer.Lie.About)
}

func record(p trust.Peer, c trust.Capability) *trust.Record {
	i := slices.IndexFunc(p.Records, func(r trust.Record) bool { return r.Capability == c })
	if i < 0 {
		return nil
	}
	return &p.Records[i]
}

// limit is how long it may take to catch this lie: one interval of the capability and two confirmations, with their jitter and the
// rounds' own time; a day where the lie is told now and then.
func (l *Lie) limit(p trust.Policy) time.Duration {
	if l.NowAndThen {
		return 24 * time.Hour
	}
	return (p.Cadence(l.About)+2*p.ConfirmInterval)*21/20 + 15*time.Minute
}

func (t *trial) caught(w *world, tr trust.Transition) {
	if !t.lying || !t.demoted.IsZero() || tr.Capability != w.peer.Lie.About {
		return
	}
	t.demoted = w.now
	if !t.missed {
		w.tally.caught(t.rounds, w.now.Sub(t.lies))
	}
}

// over says that a trial has shown what it can: some hours after the peer was caught, or long after it should have been.
func (t *trial) over(w *world) bool {
	switch {
	case w.peer.Lie == nil || !t.lying:
		return false
	case !t.demoted.IsZero():
		return w.now.Sub(t.demoted) > 3*time.Hour
	case w.peer.Lie.Hidden != "":
		if w.now.Sub(t.lies) > 24*time.Hour {
			w.tally.evaded(w)
			return true
		}
	}
	return t.missed || w.now.Sub(t.lies) > 4*24*time.Hour
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

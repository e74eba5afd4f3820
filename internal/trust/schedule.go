package trust

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
)

// Schedule says when to look again and at what: a behaviour round when a capability is due and the budget allows, else
// a cheap one. It is a pure function of what is remembered, so it says the same until the next round is folded.
func Schedule(p Peer, in PlanInput, now time.Time) Plan {
	if in.Suspended {
		return Plan{}
	}
	s := scheduler{PlanInput: in, peer: p, now: now, control: controlDue(p)}
	s.streaming = s.record(Streaming)
	behavior := s.behavior()
	switch {
	case in.Requested:
		behavior = s.requested(behavior)
	case len(in.Reported) > 0:
		behavior = s.reported(behavior)
	}
	cheap := s.cheap()
	switch {
	case behavior.At.IsZero():
		cheap.Reason = behavior.Reason
		return cheap
	case cheap.At.IsZero(), !cheap.At.Before(behavior.At), !behavior.At.After(now):
		return behavior
	}
	cheap.Reason = behavior.Reason
	return cheap
}

// scheduler plans one peer.
type scheduler struct {
	PlanInput
	peer    Peer
	now     time.Time
	control bool
	// streaming is the record of Streaming, as good as never probed if there is none.
	streaming *Record
	// owed is what the next rescue of other trust costs; pairs leave it that much.
	owed int
}

// candidate is a capability that could be asked.
type candidate struct {
	capability Capability
	due        time.Time
	// deadline orders candidates: the end of trust, or where there is none as long after due as trust would last.
	deadline time.Time
	// rescue is when a third of its trust is left, from which on more of the budget is open to it; zero if not trusted.
	rescue time.Time
	// urgent puts it first and opens more of the budget to it: a contradiction or a demotion to confirm, or trust
	// about to run out.
	urgent bool
	// doubted: a contradiction or a demotion is to be confirmed, or pairs are compared.
	doubted bool
	// rescued: less than a third of its trust is left.
	rescued bool
	// alone is worth a round; what has no fixture, or needs streams that do not work, only joins one.
	alone bool
	// spare can wait: it leaves room in the budget for what cannot, and stands back while pairs are compared.
	spare bool
	payer share
	cost  int
}

// behavior plans the next behaviour round out of the shares of renewals and confirmations.
func (s *scheduler) behavior() Plan {
	if reason := s.held(); reason != "" {
		return Plan{Reason: reason}
	}
	all := s.candidates()
	s.owed = owed(all)
	lead, at, ok := s.lead(all)
	switch {
	case ok:
		var reason Reason
		if at.After(later(s.start(lead), s.now)) {
			reason = ReasonBudgetExhausted
		}
		return s.plan(lead, s.due(all, at), at, reason)
	case len(all) > 0 && slices.ContainsFunc(all, func(c candidate) bool { return c.alone }):
		return Plan{Reason: ReasonBudgetExhausted}
	case s.peer.Rounds.MessageOnly >= MessageOnlyAfter:
		return Plan{Reason: ReasonMessageOnly}
	}
	return Plan{}
}

// lead finds the candidate whose round can start first: due, and affordable.
func (s *scheduler) lead(all []candidate) (lead candidate, at time.Time, ok bool) {
	for _, c := range all {
		if !c.alone {
			continue
		}
		start := s.start(c)
		if ok && !start.Before(at) {
			continue
		}
		when, ever := s.affordable(c, start)
		if rescue := c; c.payer == renewals && !c.rescue.IsZero() {
			rescue.payer, rescue.spare = s.rescuer(c), false
			if sooner, can := s.affordable(rescue, later(start, c.rescue)); can && (!ever || sooner.Before(when)) {
				c, when, ever = rescue, sooner, true
			}
		}
		if !ever {
			continue
		}
		if !when.After(s.now) {
			when = start // overdue since
		}
		if !ok || when.Before(at) {
			lead, at, ok = c, when, true
		}
	}
	return lead, at, ok
}

// affordable is when the budget has room for a candidate, from start or now on. Pairs leave room for the next trust that is
// about to run out: a comparison may last for days.
func (s *scheduler) affordable(c candidate, start time.Time) (time.Time, bool) {
	cost := c.cost
	if c.capability == Streaming && !c.rescued && s.comparing() {
		cost += s.owed
	}
	// A round of its own leaves the room at once and not only in the 24 h: else Streaming, whose trust is short, may have to wait for its pace.
	return s.peer.Rounds.affordable(cost+s.room(c), s.Policy.MaxTasksPerDay, c.payer, later(start, s.now))
}

// owed is the cost of the most urgent rescue of anything but Streaming; zero if there is none.
func owed(all []candidate) int {
	for _, c := range all {
		if c.rescued && c.capability != Streaming {
			return c.cost
		}
	}
	return 0
}

// requested plans a round that was asked for, now, out of its third; if that is spent, when it next allows.
func (s *scheduler) requested(otherwise Plan) Plan {
	all := s.candidates()
	if len(all) == 0 {
		return otherwise
	}
	for i := range all {
		all[i].payer, all[i].spare = requests, false
	}
	when, ever := s.affordable(all[0], s.now)
	if !ever || when.After(s.now) && !otherwise.At.IsZero() && !when.Before(otherwise.At) {
		otherwise.Reason = ReasonBudgetExhausted
		return otherwise
	}
	var reason Reason
	if when.After(s.now) {
		reason = ReasonBudgetExhausted
	}
	plan := s.plan(all[0], all, when, reason)
	plan.Requested = true
	return plan
}

// reported plans a round of what reports doubt, sooner than it is due, out of half of what is kept for requests. It keeps the
// confirmation interval to the round before, and does not come where no early round would: before anything is known, while the card changes
// again and again, where the peer does not answer.
func (s *scheduler) reported(otherwise Plan) Plan {
	r := s.peer.Rounds
	if r.Behaviors == 0 || s.held() != "" || unstable(s.peer, s.now) {
		return otherwise
	}
	var doubted []candidate
	for _, c := range s.candidates() {
		if c.alone && slices.Contains(s.Reported, c.capability) {
			c.due, c.payer, c.spare = r.LastBehavior, reports, false
			doubted = append(doubted, c)
		}
	}
	for _, c := range doubted {
		at, ever := s.affordable(c, s.start(c))
		if !ever || !otherwise.At.IsZero() && !at.Before(otherwise.At) {
			continue
		}
		plan := s.plan(c, doubted, at, "")
		plan.Requested, plan.Reported = true, true
		return plan
	}
	return otherwise
}

// plan asks the candidate that leads, and as many of the due as the budget affords with it.
func (s *scheduler) plan(lead candidate, due []candidate, at time.Time, reason Reason) Plan {
	plan := Plan{Kind: Behavior, At: at, Ask: []Capability{lead.capability}, Reason: reason}
	cost := lead.cost
	for _, c := range due {
		if c.capability == lead.capability || c.spare && s.comparing() {
			continue
		}
		if c.alone && s.firstSight(lead.capability) {
			continue
		}
		if c.cost > 0 && !s.peer.Rounds.affords(cost+c.cost, s.room(c), s.Policy.MaxTasksPerDay, c.payer, later(at, s.now)) {
			continue
		}
		cost += c.cost
		plan.Ask = append(plan.Ask, c.capability)
	}
	slices.Sort(plan.Ask)
	plan.Unmarked = slices.ContainsFunc(plan.Ask, func(c Capability) bool { return s.record(c).disagreeing() })
	if slices.Contains(plan.Ask, Streaming) {
		plan.Control, plan.Pairs = s.control, s.streaming.Pairs.open()
	} else {
		plan.SingleShot = s.streaming.condemned() // hearsay changes nothing in how we look
		plan.Ask = slices.DeleteFunc(plan.Ask, s.stranded)
	}
	return plan
}

// stranded is what only a stream can show, while streams are known not to work: it waits for the next look at Streaming. A round of its
// own could ask nothing.
func (s *scheduler) stranded(c Capability) bool {
	return c == Resubscription && s.streaming.condemned()
}

// room is what a candidate that can wait leaves in the budget for those that cannot.
func (s *scheduler) room(c candidate) int {
	if c.spare && c.cost > 0 {
		return s.Policy.MaxTasksPerDay / 8
	}
	return 0
}

// comparing tells whether pairs are wanted: every task goes to them that can be spared.
func (s *scheduler) comparing() bool {
	return s.streaming.Pairs.undecided()
}

// firstSight is the first behaviour round of a peer. It asks Streaming alone, which is what a path is decided by, so that a
// reader need not wait for a cancel and a conversation; the rest is due at once, in the round after.
func (s *scheduler) firstSight(name Capability) bool {
	return name == Streaming && s.peer.Rounds.Behaviors == 0
}

// held says why no behaviour round makes sense now: the peer does not answer, or has no interface to ask. Where there
// are no cheap rounds, only a behaviour round can find out.
func (s *scheduler) held() Reason {
	r := s.peer.Rounds
	switch {
	case s.Policy.SkipReachability:
		return ""
	case r.ReachFailures > 0:
		return r.ReachReason
	case !r.Usable && r.UsableReason != "":
		return r.UsableReason
	}
	return ""
}

// candidates are all capabilities that can be asked of this peer.
func (s *scheduler) candidates() []candidate {
	var out []candidate
	for name, cost := range s.Cost {
		rec := s.record(name)
		known := rec.Capability != ""
		if known && !rec.owed() {
			if cost == 0 && rec.Declared == NotDeclared {
				out = append(out, s.aside(rec))
			}
			continue
		}
		if s.peer.Rounds.MessageOnly >= MessageOnlyAfter && !s.Requested && (name != Streaming || rec.LastReason == ReasonMessageOnly) {
			continue
		}
		fixture := s.Fixtures == nil || s.Fixtures[name]
		c := candidate{capability: name, due: s.jittered(rec), cost: cost, alone: fixture && !s.stranded(name)}
		c.deadline = rec.Expiration
		if rec.State != Trusted && !rec.NextProbe.IsZero() {
			c.deadline = rec.NextProbe.Add(s.Policy.Trust(name))
		}
		rescue := c.deadline.Add(-s.Policy.Trust(name) / 3)
		short := !rescue.After(s.now)
		if rec.State == Trusted {
			c.rescue = rescue
		}
		c.doubted = known && (rec.State == Demoted || rec.suspected(s.Policy, s.now) || rec.Pairs.undecided())
		c.rescued = rec.State == Trusted && short
		switch {
		case c.doubted:
			c.payer = confirmations
		case c.rescued:
			c.payer = s.rescuer(c)
		}
		c.urgent = c.payer != renewals || s.firstSight(name)
		c.spare = name != Streaming && !c.urgent && !short
		if !fixture {
			c.cost = 0
		} else if name == Streaming && s.control {
			c.cost += s.CostControl
		}
		out = append(out, c)
	}
	sortCandidates(out)
	return out
}

// rescuer is who pays for a rescue. The path that callers take hangs on Streaming, whose trust is short: it may use the whole, as
// may what has less than a sixth of its time left, and all where pairs would else take it.
func (s *scheduler) rescuer(c candidate) share {
	last := c.deadline.Add(-s.Policy.Trust(c.capability) / 6)
	if c.capability == Streaming || s.comparing() || !last.After(s.now) {
		return confirmations
	}
	return rescues
}

// aside is what nobody declared and costs no task: it joins a round now and then, for information (UndeclaredButWorks).
func (s *scheduler) aside(rec *Record) candidate {
	c := candidate{capability: rec.Capability, spare: true}
	if !rec.LastTime.IsZero() {
		c.due = rec.LastTime.Add(s.Policy.Cadence(rec.Capability))
	}
	return c
}

// sortCandidates puts what is urgent first, then what has least time.
func sortCandidates(list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int {
		if a.alone != b.alone {
			return boolFirst(a.alone)
		}
		if a.urgent != b.urgent {
			return boolFirst(a.urgent)
		}
		return cmp.Or(a.deadline.Compare(b.deadline), cmp.Compare(a.capability, b.capability))
	})
}

func boolFirst(a bool) int {
	if a {
		return -1
	}
	return 1
}

// due lists those that a round at that time should ask: what is due, and what would be within half an interval, so that
// tasks are shared.
func (s *scheduler) due(all []candidate, at time.Time) []candidate {
	limit := later(at, s.now).Add(s.Policy.Interval / 2)
	var out []candidate
	for _, c := range all {
		// What is to be confirmed is never asked early: two contradictions seconds apart are one incident seen twice.
		if c.doubted && c.due.After(later(at, s.now)) {
			continue
		}
		if !c.due.After(limit) {
			out = append(out, c)
		}
	}
	return out
}

// start is when the first due candidate may be asked. The first round of all starts at once, the second, which asks what
// the first left, soon after; later ones keep the confirmation interval between them, whatever went wrong in the last.
func (s *scheduler) start(first candidate) time.Time {
	r := s.peer.Rounds
	switch {
	case r.Last == 0:
		return s.now
	case r.LastTime.IsZero() && first.due.IsZero():
		return s.random()
	case r.Behaviors == 0 && r.LastBehavior.IsZero():
		return later(first.due, r.LastTime)
	}
	gap := min(s.Policy.ConfirmInterval, s.Policy.Interval)
	if r.Behaviors == 1 && first.due.IsZero() {
		gap = min(gap, secondLook) // the second half of the first look
	}
	if !slices.ContainsFunc(s.peer.Records, func(rec Record) bool { return !rec.LastTime.Before(r.LastBehavior) }) {
		gap = max(gap, s.Policy.Interval/4) // the last round was withheld or lost: it cost tasks and moved nothing
	}
	return later(first.due, r.LastBehavior.Add(gap))
}

// secondLook is how soon the second round of a new peer follows its first. A fleet applied at once has a path for every
// peer before the longer questions begin.
const secondLook = 30 * time.Second

// cheap plans the next round of the reachability tier. What fails again and again is asked ever more rarely: a peer that
// wants credentials once a day, any other once an interval. One that our own bounds kept us from is asked again soon.
func (s *scheduler) cheap() Plan {
	r, p := s.peer.Rounds, s.Policy
	if p.SkipReachability {
		return Plan{}
	}
	gap, rarest := p.ReachabilityInterval, max(p.Interval, p.ReachabilityInterval)
	if r.ReachReason.wantsCredentials() {
		rarest = max(day, rarest)
	}
	for i := UnreachableAfter; i < r.ReachFailures && gap < rarest; i++ {
		gap *= 2
	}
	if r.ReachReason == ReasonTooManyConnections {
		gap = min(gap, secondLook<<min(max(r.ReachFailures-1, 0), 10)) // no fault of the peer's: there was no room on our side
	}
	at := s.random()
	if !r.LastTime.IsZero() {
		gap = min(gap, rarest)
		at = r.LastTime.Add(gap + s.jitter("cheap", gap))
	}
	return Plan{Kind: Reachability, At: at}
}

// TurnedAway tells whether the peer did not let us in, or could not be reached, when it was last asked. Rounds are rare then; another
// credential, key or certificate is a reason to try again at once.
func (p Peer) TurnedAway() bool {
	return p.Rounds.ReachFailures > 0 || slices.ContainsFunc(p.Records, func(rec Record) bool {
		return rec.LastReason.wantsCredentials() || rec.LastReason == ReasonPermissionDenied || rec.LastReason == ReasonTokenUnavailable
	})
}

// wantsCredentials: only somebody who gives the peer other credentials can change what it answers, so it is asked ever more rarely, to once a
// day. A token endpoint that gives no token is none of it: that mends itself.
func (r Reason) wantsCredentials() bool {
	return r == ReasonAuthenticationRequired || r == ReasonCredentialsRejected
}

// jittered is when a capability is due, moved by up to a twentieth of its gap either way; later only where one look is to
// be independent of the one before.
func (s *scheduler) jittered(rec *Record) time.Time {
	if rec.NextProbe.IsZero() {
		return rec.NextProbe
	}
	by := s.jitter("behavior", rec.NextProbe.Sub(rec.LastTime))
	if rec.suspected(s.Policy, s.now) || rec.Pairs.open() {
		by = by.Abs()
	}
	return rec.NextProbe.Add(by)
}

// jitter is the same for the same seed and round, between -gap/20 and gap/20. All capabilities of a peer move alike.
func (s *scheduler) jitter(what string, gap time.Duration) time.Duration {
	const steps = 1 << 10
	n := s.hash(what, s.peer.Rounds.Behaviors) % (2 * steps)
	return gap / 20 * time.Duration(int64(n)-steps) / steps
}

// random is when a round is due whose predecessor's time is not known: at one moment of every interval that only the
// seed decides, so that asking again gives the same answer. One that has just passed is due now.
func (s *scheduler) random() time.Time {
	interval := max(s.Policy.Interval, time.Second)
	phase := time.Duration(s.hash("unknown", 0) % uint64(interval))
	at := s.now.Truncate(interval).Add(phase)
	if at.After(s.now) {
		at = at.Add(-interval)
	}
	if s.now.Sub(at) < interval/10 {
		return at
	}
	return at.Add(interval)
}

func (s *scheduler) hash(what string, n int64) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], s.Seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(n))
	h.Write([]byte(what))
	h.Write(b[:])
	// FNV leaves neighbouring inputs close together; spread them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// record looks a record up; without one, what is returned is as good as never probed.
func (s *scheduler) record(c Capability) *Record {
	if rec := s.peer.record(c); rec != nil {
		return rec
	}
	return &Record{}
}

// find looks a record up; without one, what is returned is as good as never probed.
func (p Peer) find(c Capability) (Record, bool) {
	if rec := p.record(c); rec != nil {
		return *rec, true
	}
	return Record{}, false
}

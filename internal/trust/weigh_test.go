package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// demoting is a policy that lets two ServiceAccounts demote.
var demoting = ReportPolicy{Mode: ReportsDemote, Quorum: 2, Window: 15 * time.Minute}

// at is so many minutes after epoch.
func at(minutes float64) time.Time { return epoch.Add(time.Duration(minutes * float64(time.Minute))) }

// accuses is what a witness says that saw streams fail at a time, of the peer that settled makes.
func accuses(witness string, seen time.Time) Testimony {
	return Testimony{Capability: Streaming, Witness: witness, Target: "t", Claims: "a", Diverged: seen, Reason: ReasonStreamClosedWithoutTerminalState}
}

func praises(witness string, seen time.Time) Testimony {
	return Testimony{Capability: Streaming, Witness: witness, Target: "t", Claims: "a", Honored: seen}
}

func TestCaseRulesReports(t *testing.T) {
	two := []Testimony{accuses("travel/a", at(20)), accuses("travel/b", at(21))}
	for name, tc := range map[string]struct {
		change func(*Peer)
		list   []Testimony
		policy func(*ReportPolicy)
		now    time.Time
		want   State
		looks  bool
	}{
		"a quorum demotes at once, and a probe looks":          {list: two, want: Demoted, looks: true},
		"one ServiceAccount alone brings a probe":              {list: two[:1], want: Trusted, looks: true},
		"many pods of one ServiceAccount are one":              {list: []Testimony{accuses("travel/a", at(20)), accuses("travel/a", at(21)), accuses("travel/a", at(19))}, want: Trusted, looks: true},
		"with quorum 1 one is enough":                          {list: two[:1], policy: func(r *ReportPolicy) { r.Quorum = 1 }, want: Demoted, looks: true},
		"a quorum of none is none":                             {list: two, policy: func(r *ReportPolicy) { r.Quorum = 0 }, want: Trusted, looks: true},
		"mode Probe brings a probe":                            {list: two, policy: func(r *ReportPolicy) { r.Mode = ReportsProbe }, want: Trusted, looks: true},
		"mode Ignore does nothing":                             {list: two, policy: func(r *ReportPolicy) { r.Mode = ReportsIgnore }, want: Trusted},
		"no mode does nothing":                                 {list: two, policy: func(r *ReportPolicy) { r.Mode = "" }, want: Trusted},
		"while the fleet fuse is blown a probe has to do":      {list: two, policy: func(r *ReportPolicy) { r.Withheld = true }, want: Trusted, looks: true},
		"an old report is no longer of use":                    {list: []Testimony{accuses("travel/a", at(7)), accuses("travel/b", at(7))}, want: Trusted},
		"one of two that is too old does not count":            {list: []Testimony{accuses("travel/a", at(20)), accuses("travel/b", at(7))}, want: Trusted, looks: true},
		"a clean probe begun later outweighs both":             {list: two, change: func(p *Peer) { p.record(Streaming).Honored, p.record(Streaming).LastTime = at(21), at(21) }, want: Trusted},
		"a clean probe begun in between outweighs the earlier": {list: two, change: func(p *Peer) { p.record(Streaming).Honored = at(20) }, want: Trusted, looks: true},
		"what was seen while the last good round ran brings a probe": {list: two[:1], change: func(p *Peer) {
			p.record(Streaming).Honored, p.record(Streaming).LastTime = at(19), at(20)
		}, want: Trusted, looks: true},
		"what was seen in the second in which a round ended brings a probe": {list: two[:1], change: func(p *Peer) {
			p.record(Streaming).LastOutcome, p.record(Streaming).LastTime = Inconclusive, at(20)
		}, want: Trusted, looks: true},
		"a clock that is some seconds ahead is let pass": {list: []Testimony{accuses("travel/a", at(22.5)), accuses("travel/b", at(21))}, want: Demoted, looks: true},
		"a time that is far ahead counts to no quorum":   {list: []Testimony{accuses("travel/a", at(30)), accuses("travel/b", at(21))}, want: Trusted, looks: true},
		"reports of another target are of somebody else": {list: two, change: func(p *Peer) { p.Target = "other" }, want: Trusted},
		"reports of other claims bring a probe":          {list: two, change: func(p *Peer) { p.Claims.Digest = "b" }, want: Trusted, looks: true},
		"a peer without claims is accused of nothing":    {list: []Testimony{{Capability: Streaming, Witness: "x/y", Target: "t", Diverged: at(21)}}, policy: func(r *ReportPolicy) { r.Quorum = 1 }, change: func(p *Peer) { p.Claims.Digest = "" }, want: Trusted, looks: true},
		"what the card does not declare is not owed":     {list: two, change: func(p *Peer) { p.record(Streaming).Declared, p.record(Streaming).State = NotDeclared, Unverified }, want: Unverified},
		"after a change of the card a probe has to do":   {list: two, change: func(p *Peer) { p.ClaimsSince = at(0) }, want: Trusted, looks: true},
		"after an outage a probe has to do":              {list: two, change: func(p *Peer) { p.Rounds.ReachableSince = at(0) }, want: Trusted, looks: true},
		"a card that changes again and again accuses nobody": {list: two, change: func(p *Peer) {
			p.Digests = []Digest{{"a", at(1), at(1), nil}, {"b", at(1), at(1), nil}, {"c", at(1), at(1), nil}, {"d", at(1), at(1), nil}}
		}, want: Trusted, looks: true},
		"what nothing valid is known of is demoted too":     {list: two, change: func(p *Peer) { p.record(Streaming).State, p.record(Streaming).Expiration = Unverified, time.Time{} }, want: Demoted, looks: true},
		"what probes have demoted is left to them":          {list: two, change: func(p *Peer) { p.record(Streaming).State, p.record(Streaming).Expiration = Demoted, time.Time{} }, want: Demoted},
		"what our own clock or taste says brings a probe":   {list: []Testimony{{Capability: Streaming, Witness: "travel/a", Target: "t", Claims: "a", Suspected: at(20)}, {Capability: Streaming, Witness: "travel/b", Target: "t", Claims: "a", Suspected: at(21)}}, want: Trusted, looks: true},
		"one contradiction and one suspicion are no quorum": {list: []Testimony{accuses("travel/a", at(20)), {Capability: Streaming, Witness: "travel/b", Target: "t", Claims: "a", Suspected: at(21)}}, want: Trusted, looks: true},
		"reports of good work promote nothing":              {list: []Testimony{praises("travel/a", at(20)), praises("travel/b", at(21))}, change: func(p *Peer) { p.record(Streaming).State, p.record(Streaming).Expiration = Unverified, time.Time{} }, want: Unverified},
		"reports of good work lift nothing":                 {list: []Testimony{praises("travel/a", at(20)), praises("travel/b", at(21))}, change: func(p *Peer) { p.record(Streaming).State, p.record(Streaming).Expiration = Demoted, time.Time{} }, want: Demoted},
		"a capability that nobody has is no fault":          {list: []Testimony{{Capability: "Telepathy", Witness: "x/y", Target: "t", Claims: "a", Diverged: at(21)}}, policy: func(r *ReportPolicy) { r.Quorum = 1 }, want: Trusted},
		"a report seen after the last round brings a probe": {list: two[:1], change: func(p *Peer) { p.record(Streaming).LastTime = at(19.9) }, want: Trusted, looks: true},
		"a report without a time is none":                   {list: []Testimony{accuses("travel/a", time.Time{}), accuses("travel/b", time.Time{})}, want: Trusted},
		"a 0.x card without capabilities is only warned of": {list: []Testimony{coreOf(two[0]), coreOf(two[1])}, change: func(p *Peer) { p.Claims.Legacy, p.Claims.NoCapabilities = true, true }, want: Trusted},
	} {
		t.Run(name, func(t *testing.T) {
			p, rp, now := settled(), demoting, at(22)
			if tc.change != nil {
				tc.change(&p)
			}
			if tc.policy != nil {
				tc.policy(&rp)
			}
			before := p.clone()
			next, ts, wanted := Weigh(p, tc.list, rp, DefaultPolicy(), now)
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("Weigh changed its argument:\n%s", diff)
			}
			for _, rec := range next.Records {
				was := p.record(rec.Capability).State
				want := was
				if rec.Capability == Streaming {
					want = tc.want
				}
				if rec.State != want {
					t.Errorf("%s is %s (%s), want %s", rec.Capability, rec.State, rec.Reason, want)
				}
			}
			if looks := slices.Contains(wanted, Streaming); looks != tc.looks {
				t.Errorf("wants to look at %v, want Streaming among them: %v", wanted, tc.looks)
			}
			again, none, same := Weigh(next, tc.list, rp, DefaultPolicy(), now)
			if diff := cmp.Diff(next, again); diff != "" || len(none) > 0 || !slices.Equal(wanted, same) {
				t.Errorf("weighing twice changed something: %v, %v then %v\n%s", none, wanted, same, diff)
			}
			if demoted := len(ts) == 1 && ts[0].To == Demoted && ts[0].Source == SourceReport; demoted != (tc.want == Demoted && before.record(Streaming).State != Demoted) {
				t.Errorf("transitions %+v", ts)
			}
		})
	}
}

// coreOf says the same of a core behaviour, of which settled knows too.
func coreOf(x Testimony) Testimony {
	x.Capability = Continuation
	return x
}

func TestADemotionByReportsSaysSoInNumbersAndConstants(t *testing.T) {
	list := []Testimony{accuses("travel/a", at(20)), accuses("travel/b", at(21)), accuses("travel/c", at(19))}
	p, _, _ := Weigh(settled(), list, demoting, DefaultPolicy(), at(22))
	rec := p.record(Streaming)
	if rec.Reason != ReasonReportedByOrchestrators || rec.Source != SourceReport || rec.Demotions != 0 || !rec.DemotedUntil.IsZero() ||
		rec.Reports != (Reports{Reporters: 3, Newest: at(21)}) {
		t.Errorf("held: %+v, want a demotion by 3 reporters that is not counted and has no least time", rec)
	}
	if want := "contradictions reported by 3 ServiceAccounts, the newest: StreamClosedWithoutTerminalState; a clean round begun later lifts this"; rec.Message != want {
		t.Errorf("message %q, want %q", rec.Message, want)
	}
	for i := range list {
		list[i].Reason = "CallMeAtTheNumberBelow"
	}
	p, _, _ = Weigh(settled(), list, demoting, DefaultPolicy(), at(22))
	if rec := p.record(Streaming); rec.Message != "contradictions reported by 3 ServiceAccounts; a clean round begun later lifts this" ||
		!slices.Equal(rec.Warnings, []Reason{ReasonReportedByOrchestrators}) {
		t.Errorf("a word of a reporter's own is shown: %q %v", rec.Message, rec.Warnings)
	}
}

// heardOf drives one peer by rounds of Streaming and by reports.
type heardOf struct {
	t *testing.T
	p Peer
}

// round folds a round of Streaming that began and ended at those minutes.
func (h *heardOf) round(began, ended float64, o Outcome, change ...func(*Round)) []Transition {
	h.t.Helper()
	obs := Observation{Capability: Streaming, Outcome: o, Reason: ReasonHonored}
	switch o {
	case Diverged:
		obs.Reason, obs.Basis = ReasonStreamClosedWithoutTerminalState, lifecycle.Protocol
		obs.Pair = &Pair{StreamFailed: true, Unexcused: true}
	case Inconclusive:
		obs.Reason = ReasonAgentFailing
	}
	r := Round{Number: h.p.Rounds.Last + 1, Kind: Behavior, Started: at(began), Finished: at(ended), Claims: declaringAll("a"), Usable: true, Tasks: 2,
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}, Asked: []Capability{Streaming}, Observations: []Observation{obs}}
	for _, c := range change {
		c(&r)
	}
	next, ts, folded := Advance(h.p, "t", r, DefaultPolicy(), at(ended))
	if !folded {
		h.t.Fatalf("round %d was not folded", r.Number)
	}
	h.p = next
	return ts
}

// quorum is what two ServiceAccounts report at a minute, seen then.
func (h *heardOf) quorum(minute float64) []Transition {
	h.t.Helper()
	next, ts, _ := Weigh(h.p, []Testimony{accuses("travel/a", at(minute)), accuses("travel/b", at(minute))}, demoting, DefaultPolicy(), at(minute))
	h.p = next
	return ts
}

func (h *heardOf) want(state State, reason Reason, source Source) *Record {
	h.t.Helper()
	rec := h.p.record(Streaming)
	if rec.State != state || rec.Reason != reason || rec.Source != source {
		h.t.Fatalf("Streaming is %s (%s, source %q), want %s (%s, source %q)", rec.State, rec.Reason, rec.Source, state, reason, source)
	}
	return rec
}

func TestCaseRulesACleanRoundLiftsWhatReportsDid(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.want(Demoted, ReasonReportedByOrchestrators, SourceReport)
	h.round(20, 21, Honored)
	rec := h.want(Demoted, ReasonReportedByOrchestrators, SourceReport)
	if next := rec.NextProbe; !next.Equal(at(23)) {
		t.Errorf("after a clean round that began too early the next is due at %v, want confirmInterval later", next)
	}
	h.round(22, 22.5, Inconclusive)
	h.want(Demoted, ReasonReportedByOrchestrators, SourceReport)
	h.round(23, 24, Honored)
	rec = h.want(Trusted, ReasonHonored, "")
	if rec.Demotions != 0 || rec.Reports.Lifted != at(23) || rec.Message != "" || len(rec.Warnings) > 0 || rec.Honored != at(23) {
		t.Errorf("held after the lift: %+v", rec)
	}
	if ts := h.quorum(22); len(ts) > 0 {
		t.Errorf("reports older than the clean round: %+v", ts)
	}
}

func TestAContradictionThatProbesConfirmMakesADemotionByReportsTheirOwn(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Diverged)
	rec := h.want(Demoted, ReasonReportedByOrchestrators, SourceReport)
	if !rec.NextProbe.Equal(at(25)) {
		t.Errorf("a first contradiction is confirmed at %v, want confirmInterval later", rec.NextProbe)
	}
	ts := h.round(25, 26, Diverged)
	rec = h.want(Demoted, ReasonStreamClosedWithoutTerminalState, "")
	if rec.Demotions != 1 || !rec.DemotedUntil.Equal(at(26+15)) {
		t.Errorf("held: %+v, want the first demotion, for 15 min at least", rec)
	}
	if want := []Transition{{Capability: Streaming, From: Demoted, To: Demoted, Reason: rec.Reason}}; !slices.Equal(ts, want) {
		t.Errorf("transitions %+v, want %+v", ts, want)
	}
	h.round(28, 29, Honored)
	h.want(Demoted, ReasonStreamClosedWithoutTerminalState, "")
}

func TestAContradictionThatWasChanceDoesNotKeepADemotionByReports(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Diverged)
	h.round(25, 26, Honored)
	if rec := h.want(Trusted, ReasonHonored, ""); rec.Demotions != 0 {
		t.Errorf("held: %+v, want no demotion counted", rec)
	}
}

func TestCaseRulesReportsThatDisagreeWithProbes(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	plan := func(now time.Time, reported ...Capability) Plan {
		return Schedule(h.p, PlanInput{Policy: DefaultPolicy(), Cost: worst, Reported: reported}, now)
	}
	h.quorum(20)
	if plan(at(22), Streaming).Unmarked {
		t.Error("the first quorum already makes a round go without the mark")
	}
	h.round(22, 23, Honored)
	h.quorum(22.5) // seen while that round ran
	rec := h.want(Demoted, ReasonProbesAndReportsDisagree, SourceReport)
	if rec.Demotions != 1 || !rec.DemotedUntil.Equal(at(22.5+15)) || rec.Reports != (Reports{Reporters: 2, Newest: at(22.5), Lifted: at(22)}) {
		t.Errorf("held: %+v, want a counted demotion for 15 min at least", rec)
	}
	if p := plan(at(60)); p.Kind != Behavior || !p.Unmarked || !slices.Contains(p.Ask, Streaming) {
		t.Errorf("planned %+v, want a round without the mark", p)
	}
	if ts := h.quorum(30); len(ts) > 0 {
		t.Errorf("more reports of the same: %+v", ts)
	}
	unmarked := func(r *Round) { r.Unmarked = true }
	h.round(38, 39, Honored, unmarked)
	h.want(Demoted, ReasonProbesAndReportsDisagree, SourceReport)
	h.round(41, 42, Diverged, unmarked)
	rec = h.want(Demoted, ReasonStreamClosedWithoutTerminalState, "")
	if !slices.Contains(rec.Warnings, WarnProbedUnmarked) || !plan(at(70)).Unmarked {
		t.Errorf("warnings %v, plan %+v: want it said, and the next round without the mark too", rec.Warnings, plan(at(70)))
	}
	h.round(60, 61, Honored, unmarked)
	ts := h.round(63, 64, Honored, unmarked)
	rec = h.want(Trusted, ReasonHonored, "")
	if ts[0].FirstReprobe || rec.Reports.Lifted != at(63) || plan(at(130)).Unmarked {
		t.Errorf("lifted: %+v, %+v", ts, rec)
	}
	h.quorum(100)
	if rec := h.want(Demoted, ReasonProbesAndReportsDisagree, SourceReport); !rec.DemotedUntil.Equal(at(100 + 30)) {
		t.Errorf("a third time: demoted until %v, want twice as long", rec.DemotedUntil)
	}
}

func TestADayAfterTheLiftReportsBeginAfresh(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Honored)
	h.quorum(22 + 24*60)
	if rec := h.want(Demoted, ReasonReportedByOrchestrators, SourceReport); rec.Demotions != 0 || !rec.Reports.Lifted.IsZero() {
		t.Errorf("held: %+v, want a first quorum again", rec)
	}
}

func TestADemotionByReportsThatNobodyCanAskAboutLapses(t *testing.T) {
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	if got, want := h.p.record(Streaming).Lapses(), at(20+24*60); !got.Equal(want) {
		t.Errorf("lapses at %v, want %v", got, want)
	}
	p, ts := Lapse(h.p, at(19+24*60))
	if rec := p.record(Streaming); rec.State != Demoted || len(ts) == 0 {
		t.Errorf("before a day is over: %+v, %+v", rec, ts)
	}
	h.p = p // all trust has run out by now: nothing else is left to lapse
	h.p, _ = Lapse(h.p, at(20+24*60))
	if rec := h.want(Unverified, ReasonReportsUnanswered, ""); rec.Message != "" || rec.Reports != (Reports{}) {
		t.Errorf("held: %+v", rec)
	}
}

func TestReportsAndAChangedCard(t *testing.T) {
	other := func(r *Round) { r.Claims = declaringAll("b") }
	h := &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Inconclusive, other)
	h.want(Demoted, ReasonReportedByOrchestrators, SourceReport) // stays so until it passes
	h.round(25, 26, Honored, other)
	h.want(Trusted, ReasonHonored, "")

	h = &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Honored)
	h.quorum(24)
	h.want(Demoted, ReasonProbesAndReportsDisagree, SourceReport)
	h.round(26, 27, Honored, other)
	if rec := h.want(Demoted, ReasonProbesAndReportsDisagree, SourceReport); !rec.DemotedUntil.IsZero() || !rec.disagreeing() {
		t.Errorf("held: %+v, want its waiting time waived, and rounds without the mark", rec)
	}

	h = &heardOf{t: t, p: settled()}
	h.quorum(20)
	h.round(22, 23, Honored)
	h.round(25, 26, Inconclusive, other)
	if rec := h.p.record(Streaming); rec.State != Unverified || rec.Reports != (Reports{}) {
		t.Errorf("held: %+v, want what was reported of the other claims forgotten", rec)
	}

	h = &heardOf{t: t, p: settled()}
	h.quorum(20)
	if p, _ := Retarget(h.p, "elsewhere", at(21)); len(p.Records) > 0 {
		t.Errorf("another target inherits %+v", p.Records)
	}
}

func TestCaseRulesReportsOfGoodWork(t *testing.T) {
	// Streaming was honoured at epoch and is trusted for three hours; two hours and ten minutes later less than a third is left.
	late := 2*60 + 10.0
	both := []Testimony{praises("travel/a", at(late-3)), praises("travel/b", at(late-8))}
	full := at(late - 8 + 180) // the quorum was full when the second had spoken
	for name, tc := range map[string]struct {
		change func(*Peer)
		list   []Testimony
		policy func(*ReportPolicy)
		now    float64
		want   time.Time // zero: as it was
	}{
		"a quorum extends it from when it was full": {list: both, want: full},
		"one does not":                                 {list: both[:1]},
		"nor the same one twice":                       {list: []Testimony{both[0], praises("travel/a", at(late-1))}},
		"not while more than a third is left":          {list: []Testimony{praises("travel/a", at(115)), praises("travel/b", at(115))}, now: 118},
		"not with mode Probe":                          {list: both, policy: func(r *ReportPolicy) { r.Mode = ReportsProbe }},
		"not where anybody saw it fail":                {list: append(slices.Clone(both), accuses("travel/c", at(late-1)))},
		"not where anybody saw it come late":           {list: append(slices.Clone(both), Testimony{Capability: Streaming, Witness: "travel/c", Target: "t", Suspected: at(late)})},
		"not what reports have not seen lately":        {list: []Testimony{praises("travel/a", at(late-16)), praises("travel/b", at(late-16))}},
		"not under other claims":                       {list: both, change: func(p *Peer) { p.Claims.Digest = "b" }},
		"not what no probe has honoured":               {list: both, change: func(p *Peer) { p.record(Streaming).Honored = time.Time{} }},
		"not what was earned under other claims":       {list: both, change: func(p *Peer) { p.ClaimsSince = at(10) }},
		"not after a contradiction that waits":         {list: both, change: func(p *Peer) { p.record(Streaming).push(Result{Outcome: Diverged, Time: at(100)}) }},
		"not while streams are compared":               {list: both, change: func(p *Peer) { p.record(Streaming).Pairs = Pairs{Since: at(100)} }},
		"not after a late one":                         {list: both, change: func(p *Peer) { p.record(Streaming).LastOutcome = Diverged }},
		"at most 8 durations past the last good probe": {list: both, change: func(p *Peer) { p.record(Streaming).Honored = at(late - 23*60) }, want: at(late + 60)},
		"and not beyond that": {list: both, change: func(p *Peer) {
			p.record(Streaming).Honored = at(late - 24*60)
			p.record(Streaming).Expiration = at(late + 10)
		}},
		"a time that is far ahead is not believed": {list: []Testimony{both[0], praises("travel/b", at(late+30))}},
		"what has run out is not brought back":     {list: []Testimony{praises("travel/a", at(181)), praises("travel/b", at(181))}, now: 182},
	} {
		t.Run(name, func(t *testing.T) {
			p, rp, now := settled(), demoting, at(late)
			if tc.change != nil {
				tc.change(&p)
			}
			if tc.policy != nil {
				tc.policy(&rp)
			}
			if tc.now > 0 {
				now = at(tc.now)
			}
			want := tc.want
			if want.IsZero() {
				want = p.record(Streaming).Expiration
			}
			next, ts, _ := Weigh(p, tc.list, rp, DefaultPolicy(), now)
			if got := next.record(Streaming).Expiration; !got.Equal(want) || len(ts) > 0 {
				t.Errorf("trusted until %v, want %v; transitions %+v", got, want, ts)
			}
			for _, rec := range next.Records {
				if was := p.record(rec.Capability); rec.Capability != Streaming && cmp.Diff(*was, rec) != "" {
					t.Errorf("%s changed: %s", rec.Capability, cmp.Diff(*was, rec))
				}
			}
		})
	}
}

// However often orchestrators say that all is well, that is written three times in two durations, not once a report.
func TestReportsOfGoodWorkAreWrittenRarely(t *testing.T) {
	p, writes := settled(), 0
	now := epoch
	for now.Before(epoch.Add(72 * time.Hour)) {
		now = now.Add(time.Minute)
		list := []Testimony{praises("travel/a", now), praises("travel/b", now)}
		next, _, _ := Weigh(p, list, demoting, DefaultPolicy(), now)
		if cmp.Diff(p, next) != "" {
			writes++
		}
		p, _ = Lapse(next, now)
	}
	if writes < 8 || writes > 13 {
		t.Errorf("%d writes in the 24 h that reports carry trust, want about one for each two hours", writes)
	}
	if rec := p.record(Streaming); rec.State != Unverified || !rec.Transition.Equal(epoch.Add(24*time.Hour)) {
		t.Errorf("Streaming is %s since %v, want trust to end 8 durations after the only probe", rec.State, rec.Transition)
	}
}

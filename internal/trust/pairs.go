package trust

// The paired comparison of streams with single-shot controls (design 4.2), for a stream that fails at times. Each pair
// is one stream and one control, side by side, and both fail or work. Was the stream worse, or is the agent?
//
// Each pair multiplies the odds "the stream fails one time in three and the control one time in fifty" against "both
// fail equally often", whatever often means at that time. For two coins of the first kind against two of the mean kind,
// (1/3+1/50)/2, that is, in hundredths of a nat:
//
//	stream failed, control worked   +80   (the odds grow 2.2 times)
//	control failed, stream worked  -239   (they fall to a tenth)
//	both failed                    -155
//	both worked                      -4
//
// Under "equally often" the product of these odds is a game that nobody can expect to win, so the chance that it ever
// reaches 100:1 is at most one in a hundred per comparison, however long it runs and whenever one looks (Ville). That is
// alpha, ScoreDemotes. An agent that fails alike on both paths loses about half a nat per pair: its score soon rests on
// the floor, where another climb has a chance below one in a hundred thousand. A stream that fails one time in three
// beside good controls gains a quarter of a nat per pair and gets there in about twenty.
//
// The numbers of a pair count only if the control was to be asked anyway: one asked because the stream had failed would
// count no failures of the control alone. So the round that starts a comparison does not count in it, and while it runs
// every round asks the control.
const (
	scoreStreamOnly  = 84
	scoreControlOnly = -306
	scoreBoth        = -218
	scoreNeither     = -4
	// ScoreDemotes is the score at which the comparison has decided: odds of 100 to 1.
	ScoreDemotes = 461
	// scoreQuiet and less: the agent looks no worse on the stream, and pairs come at the ordinary cadence.
	scoreQuiet = -230
	// scoreFloor keeps a stream that breaks later within reach: fifteen bad ones beside good controls.
	scoreFloor = -691
	// scoreKnown is where a comparison starts if a control of this peer was ever seen to fail: it needs more to convince.
	scoreKnown = -200
	// pairsClean good pairs from the start, and the failure that started the comparison was a chance: one stream in three
	// would show in all but one of a hundred and thirty.
	pairsClean = 12
	// maxPairs bounds the counts that are shown.
	maxPairs = 10000
)

// open tells whether a comparison is in progress.
func (p Pairs) open() bool { return !p.Since.IsZero() }

// undecided tells whether more pairs are wanted soon.
func (p Pairs) undecided() bool { return p.open() && p.Score > scoreQuiet }

// add counts one pair.
func (p *Pairs) add(pair Pair) {
	count, score := &p.Neither, scoreNeither
	switch {
	case pair.StreamFailed && pair.ControlFailed:
		count, score = &p.Both, scoreBoth
	case pair.StreamFailed:
		count, score = &p.StreamOnly, scoreStreamOnly
	case pair.ControlFailed:
		count, score = &p.ControlOnly, scoreControlOnly
	}
	*count = min(*count+1, maxPairs)
	p.Score = max(p.Score+score, scoreFloor)
}

// compare starts, feeds and drops the comparison. It starts where a stream was seen both to fail and to work, within a
// round or from one round to the next, and is dropped a day after the last pair that told the two apart, or after twelve
// good pairs at its start. A pair soon after another (again) does not count.
func (f *fold) compare(rec *Record, obs Observation, again bool) {
	if rec.Capability != Streaming || rec.State == Demoted {
		return
	}
	p := &rec.Pairs
	if p.open() && f.at.Sub(p.LastDiscordant) > day {
		*p = Pairs{}
	}
	if !p.open() {
		mixed := obs.Outcome == Honored && rec.contradictions(1, f.at) > 0
		if mixed || obs.Reason == ReasonStreamIntermittent {
			*p = Pairs{Since: f.at, LastDiscordant: f.at}
			if f.next.Rounds.ControlFailedAt > 0 {
				p.Score = scoreKnown
			}
		}
		return
	}
	if obs.Pair == nil || again {
		return
	}
	p.add(*obs.Pair)
	if obs.Pair.StreamFailed != obs.Pair.ControlFailed {
		p.LastDiscordant = f.at
	}
	if p.Neither >= pairsClean && p.StreamOnly+p.ControlOnly+p.Both == 0 {
		*p = Pairs{}
	}
}

// comparisonDemotes tells whether the comparison has decided against the stream, and in a round in which it failed.
func (f *fold) comparisonDemotes(rec *Record, obs Observation) bool {
	return rec.State != Demoted && rec.Pairs.Score >= ScoreDemotes &&
		obs.Pair != nil && obs.Pair.StreamFailed && !obs.Pair.ControlFailed && !f.grace()
}

// controlDue tells whether a behaviour round asks the control whatever the stream does: the first and every sixth, while
// a contradiction of Streaming waits to be confirmed, and while pairs are compared.
func controlDue(p Peer) bool {
	if p.Rounds.Behaviors%CadenceRounds == 0 {
		return true
	}
	for i := range p.Records {
		r := &p.Records[i]
		if r.Capability == Streaming {
			return r.Pairs.open() || len(r.Recent) > 0 && r.Recent[0].Outcome == Diverged && r.State != Demoted
		}
	}
	return false
}

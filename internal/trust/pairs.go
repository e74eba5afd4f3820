package trust

// The comparison of streams with single-shot controls (design 4.2), for a stream that fails at times. Was the stream
// worse, or is the agent? What the failure looks like decides how that is found out.
//
// A failure has an excuse if the agent's own failing could look so: a stream that ended empty, or that hid a task which
// itself failed. Such streams are compared in pairs: one stream and one control, side by side, and both fail or work. Each
// pair multiplies the odds "the stream fails one time in three and the control one time in a hundred" against "both fail equally
// often", whatever often means at that time. For two coins of the first kind against two of the mean kind,
// (1/3+1/100)/2, that is, in hundredths of a nat:
//
//	stream failed, control worked   +84   (the odds grow 2.3 times)
//	control failed, stream worked  -306   (they fall to a twentieth)
//	both failed                    -218
//	both worked                      -4
//
// Under "equally often" the product of these odds is a game that nobody can expect to win, so the chance that it ever
// reaches 1000:1 is at most one in a thousand per comparison, however long it runs and whenever one looks (Ville). That is
// alpha, scorePairs. An agent that fails alike on both paths loses about half a nat per pair: its score soon rests on
// the floor, where another climb has a chance below one in a million. A stream that fails one time in three
// beside good controls gains a quarter of a nat per pair and gets there in about thirty. No test of pairs is much quicker.
//
// The numbers of a pair count only if the control was to be asked anyway: one asked because the stream had failed would
// count no failures of the control alone. So the round that starts a comparison does not count in it, and while it runs
// every round asks the control.
//
// A failure without an excuse (Pair.Unexcused) is its own control: the agent worked, as the very task shows, and the stream
// hid it. No failing of the agent explains that, only something on the way that hits just there. So streams are watched
// alone, each a task, and weigh "one in four is bad" against "at most one in forty is, by chance":
//
//	bad   +230   (the odds grow ten times)
//	good   -26   (they fall to three quarters)
//
// with an alpha of one in a hundred thousand, scoreAlone: five bad ones in a row, or eleven among sixty. A failure that
// does have an excuse turns the watch into a comparison of pairs, afresh.
const (
	scoreStreamOnly  = 84
	scoreControlOnly = -306
	scoreBoth        = -218
	scoreNeither     = -4
	scoreBad         = 230
	scoreGood        = -26
	// scorePairs and scoreAlone are the scores at which the comparison has decided: odds of 1000 and of 100,000 to 1.
	scorePairs = 691
	scoreAlone = 1151
	// scoreQuiet and less: the agent looks no worse on the stream, and pairs come at the ordinary cadence.
	scoreQuiet = -230
	// scoreFloor keeps a stream that breaks later within reach: seventeen bad ones beside good controls.
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

// decides is the score at which the comparison has decided against the stream.
func (p Pairs) decides() int {
	if p.Alone {
		return scoreAlone
	}
	return scorePairs
}

// worst is how much one more bad stream adds at most.
func (p Pairs) worst() int {
	if p.Alone {
		return scoreBad
	}
	return scoreStreamOnly
}

// add counts one pair, or one stream watched alone.
func (p *Pairs) add(pair Pair) {
	count, score := &p.Neither, scoreNeither
	switch {
	case p.Alone && pair.StreamFailed:
		count, score = &p.StreamOnly, scoreBad
	case p.Alone:
		score = scoreGood
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
// round or from one round to the next, and where one failed that the failing of an agent known to be flaky would excuse; it is
// dropped a day after the last pair that told the two apart, or after twelve
// good pairs at its start. A pair soon after another (again) does not count.
func (f *fold) compare(rec *Record, obs Observation, again bool) {
	if rec.Capability != Streaming || rec.condemned() {
		return
	}
	p := &rec.Pairs
	if p.open() && f.at.Sub(p.LastDiscordant) > day {
		*p = Pairs{}
	}
	if !p.open() {
		mixed := obs.Outcome == Honored && rec.contradictions(1, f.at) > 0
		excused := obs.Outcome == Diverged && !obs.unexcused() && f.next.flaky(rec)
		if mixed || excused || obs.Reason == ReasonStreamIntermittent {
			f.begin(rec, mixed && rec.Recent[0].Unexcused || obs.unexcused())
		}
		return
	}
	pair, told := f.told(obs, p.Alone)
	switch {
	case !told || again:
		return
	case p.Alone && pair.StreamFailed && !pair.Unexcused:
		f.begin(rec, false)
		return
	}
	p.add(pair)
	if pair.StreamFailed != pair.ControlFailed {
		p.LastDiscordant = f.at
	}
	if p.Neither >= pairsClean && p.StreamOnly+p.ControlOnly+p.Both == 0 {
		*p = Pairs{}
	}
}

// begin starts a comparison afresh: of streams alone, or of pairs.
func (f *fold) begin(rec *Record, alone bool) {
	rec.Pairs = Pairs{Since: f.at, LastDiscordant: f.at, Alone: alone}
	if f.next.Rounds.ControlFailedAt > 0 && !alone {
		rec.Pairs.Score = scoreKnown
	}
}

// told is what an observation adds to a comparison, if anything: a pair; where streams are watched alone, a good stream too.
func (f *fold) told(obs Observation, alone bool) (Pair, bool) {
	switch {
	case alone && obs.Outcome == Honored:
		return Pair{}, true
	case obs.Pair == nil:
		return Pair{}, false
	}
	return *obs.Pair, alone || !obs.Pair.Alone
}

// comparisonDemotes tells whether the comparison has decided against the stream, and in a round in which it failed.
func (f *fold) comparisonDemotes(rec *Record, obs Observation) bool {
	return !rec.condemned() && rec.Pairs.open() && rec.Pairs.Score >= rec.Pairs.decides() &&
		obs.Pair != nil && obs.Pair.StreamFailed && !obs.Pair.ControlFailed && !f.grace()
}

// reason of a demotion by comparison: what the stream showed, if none of the compared ones was good.
func (p Pairs) reason(last Observation) Reason {
	if p.Neither == 0 && p.ControlOnly == 0 && last.Pair.Reason != "" {
		return last.Pair.Reason
	}
	return ReasonStreamIntermittent
}

// unexcused tells whether this is a contradiction that no failing of the agent explains: the peer says so itself, or its task
// shows that it worked. Streams only; whatever else is asked is judged by the letter.
func (o Observation) unexcused() bool {
	return o.Explicit || o.Pair != nil && o.Pair.StreamFailed && o.Pair.Unexcused
}

// controlDue tells whether a behaviour round asks the control whatever the stream does: the first and every sixth, while
// a contradiction of Streaming waits to be confirmed, and while pairs are compared. Where streams are watched alone every
// task goes to them.
func controlDue(p Peer) bool {
	r := p.record(Streaming)
	switch {
	case r != nil && r.Pairs.open():
		return !r.Pairs.Alone
	case p.Rounds.Behaviors%CadenceRounds == 0:
		return true
	}
	return r != nil && len(r.Recent) > 0 && r.Recent[0].Outcome == Diverged && !r.condemned()
}

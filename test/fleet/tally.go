package fleet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Result is what one fleet came to.
type Result struct {
	Fleet string `json:"fleet"`
	Seed  uint64 `json:"seed"`
	Peers int    `json:"peers"`
	// PeerDays lived, on the worlds' clocks.
	PeerDays float64 `json:"peer_days"`
	// Rounds of behaviour, those in which the machine itself was too busy, those in which a fault was active, and Conclusive ones: rounds in which Streaming, or another capability
	// that was asked, was honoured or contradicted.
	Rounds         int     `json:"rounds"`
	Busy           int     `json:"busy_rounds"`
	Faulty         int     `json:"faulty_rounds"`
	FaultShare     float64 `json:"fault_share"`
	Conclusive     int     `json:"conclusive"`
	WithoutFaults  float64 `json:"conclusive_without_faults"`
	WithFaults     float64 `json:"conclusive_with_faults"`
	Cheap          int     `json:"reachability_rounds"`
	LostReports    int     `json:"lost_reports"`
	Contradictions int     `json:"single_contradictions"`
	// FalseDemotions of honest peers, and the 95 % upper bound of their rate.
	FalseDemotions Count `json:"false_demotions"`
	// Trials of liars, and those of them that were not demoted in time.
	Trials   int `json:"trials"`
	Missed   int `json:"missed_divergences"`
	WrongWhy int `json:"wrong_reason"`
	// Evaded are trials of liars whose lie probing cannot show (Lie.Hidden), and did not.
	Evaded int `json:"evaded"`
	// RoundsToDemote counts the rounds that asked the capability, from the beginning of the lie.
	RoundsToDemote Spread `json:"rounds_to_demote"`
	HoursToDemote  Spread `json:"hours_to_demote"`
	// Incidents explain everything that should not have been, for repair.
	Incidents []Incident `json:"incidents,omitempty"`
	// Near lists what honest peers were accused of in single rounds, what kept rounds without faults from learning, and who was not caught
	// because probing cannot show it, by how often.
	Near map[string]int `json:"near,omitempty"`
}

// Count is a number of events in the time lived, with the exact 95 % upper bound of their rate per peer-day, by Poisson.
type Count struct {
	Count int     `json:"count"`
	Upper float64 `json:"upper95_per_peer_day"`
}

// Spread is the median and the greatest of some numbers.
type Spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Incident is one thing that should not have been.
type Incident struct {
	What       string    `json:"what"`
	Peer       string    `json:"peer"`
	Seed       uint64    `json:"seed"`
	Round      int64     `json:"round"`
	Capability string    `json:"capability,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Accounts   []Account `json:"accounts,omitempty"`
	Text       string    `json:"text,omitempty"`
}

// Account is what one round said of the capability in question.
type Account struct {
	Round    int64         `json:"round"`
	At       time.Duration `json:"at"`
	Fault    string        `json:"fault,omitempty"`
	Outcome  string        `json:"outcome"`
	Reason   string        `json:"reason"`
	Message  string        `json:"message"`
	Observed []string      `json:"observed,omitempty"`
}

// String tells an incident in lines.
func (i Incident) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s %s (round %d, seed %d) %s", i.What, i.Peer, i.Capability, i.Reason, i.Round, i.Seed, i.Text)
	for _, a := range i.Accounts {
		fmt.Fprintf(&b, "\n    round %d at %s, fault %q: %s %s: %s\n      %q", a.Round, a.At.Round(time.Second), a.Fault, a.Outcome, a.Reason, a.Message, a.Observed)
	}
	return b.String()
}

// tally counts for one world; add joins it to a Result.
type tally struct {
	res      Result
	clean    int
	cleanOK  int
	bad      int
	badOK    int
	days     time.Duration
	progress func(string)
	took     []float64
	hours    []float64
	// accounts of each capability lately.
	accounts map[trust.Capability][]Account
}

func (t *tally) lived(d time.Duration) { t.days = d }
func (t *tally) lost()                 { t.res.LostReports++ }
func (t *tally) cheap(bool)            { t.res.Cheap++ }
func (t *tally) forget()               { t.accounts = nil; t.res.Trials++ }

// round counts a behaviour round.
func (t *tally) round(w *world, r trust.Round, _ trust.Plan, fault string, active bool) {
	t.res.Rounds++
	switch {
	case fault == busyMachine:
		t.res.Busy++
	case active:
		t.res.Faulty++
	}
	learned := slices.ContainsFunc(r.Observations, func(o trust.Observation) bool { return o.Outcome != trust.Inconclusive })
	if learned {
		t.res.Conclusive++
	}
	if active || w.peer.Troubled {
		t.bad++
		if learned {
			t.badOK++
		}
	} else {
		t.clean++
		if learned {
			t.cleanOK++
		} else {
			t.near(fmt.Sprintf("nothing learned without a fault | %s | %s", w.peer.Name, why(r)))
		}
	}
	if t.accounts == nil {
		t.accounts = map[trust.Capability][]Account{}
	}
	for _, o := range r.Observations {
		a := Account{Round: r.Number, At: w.now.Sub(epoch), Fault: fault, Outcome: string(o.Outcome), Reason: string(o.Reason),
			Message: o.Message, Observed: o.Observed}
		list := append(t.accounts[o.Capability], a)
		t.accounts[o.Capability] = list[max(0, len(list)-12):]
		if o.Outcome == trust.Diverged && w.peer.Lie == nil && o.Reason != w.peer.Really && (o.Basis == "Card" || o.Basis == "Protocol") {
			t.res.Contradictions++
			t.near(fmt.Sprintf("%s | %s | %s %s", fault, w.peer.Name, o.Capability, o.Reason))
		}
	}
}

// why a round taught nothing.
func why(r trust.Round) string {
	if r.Reach.Outcome != trust.Honored || len(r.Observations) == 0 {
		return string(r.Reach.Reason)
	}
	return string(r.Observations[0].Capability) + " " + string(r.Observations[0].Reason)
}

func (t *tally) near(what string) {
	if t.res.Near == nil {
		t.res.Near = map[string]int{}
	}
	t.res.Near[what]++
}

// excusedLast says that a fault was active when the capability was last asked.
func (t *tally) excusedLast(c trust.Capability) bool {
	list := t.accounts[c]
	return len(list) > 0 && list[len(list)-1].Fault != ""
}

func (t *tally) incident(w *world, what string, c trust.Capability, reason trust.Reason, text string) {
	t.res.Incidents = append(t.res.Incidents, Incident{What: what, Peer: w.peer.Name, Seed: w.seed, Round: w.known.Rounds.Last,
		Capability: string(c), Reason: string(reason), Accounts: slices.Clone(t.accounts[c]), Text: text})
	if t.progress != nil {
		t.progress(t.res.Incidents[len(t.res.Incidents)-1].String())
	}
}

// demoted counts a transition to Demoted: that of an honest peer is false, that of a liar is right for its own lie only.
func (t *tally) demoted(w *world, tr trust.Transition) {
	switch l := w.peer.Lie; {
	case l == nil && w.peer.Really == tr.Reason:
	case l == nil || !w.trial.lying:
		t.res.FalseDemotions.Count++
		t.incident(w, "false demotion", tr.Capability, tr.Reason, "")
	case slices.Contains(l.Also, tr.Reason):
	case tr.Capability != l.About || !slices.Contains(l.Reasons, tr.Reason):
		t.res.WrongWhy++
		t.incident(w, "wrong reason", tr.Capability, tr.Reason, fmt.Sprintf("its lie is about %s, %v", l.About, l.Reasons))
	}
}

func (t *tally) caught(rounds int, took time.Duration) {
	t.took, t.hours = append(t.took, float64(rounds)), append(t.hours, took.Hours())
}

func (t *tally) missed(w *world, tr trial) {
	if w.peer.Lie.Hidden != "" {
		return
	}
	t.res.Missed++
	t.incident(w, "missed divergence", w.peer.Lie.About, "", fmt.Sprintf("lies since %s, %d rounds, %s that count", w.now.Sub(tr.lies), tr.rounds, tr.fair))
}

func (t *tally) evaded(w *world) {
	t.res.Evaded++
	t.near("evaded: " + w.peer.Name + ": " + w.peer.Lie.Hidden)
}

func (t *tally) broken(w *world, text string) { t.incident(w, "broken bed", "", "", text) }

// sum of one fleet.
type sum struct {
	mu          sync.Mutex
	res         Result
	clean, bad  [2]int
	days        time.Duration
	took, hours []float64
}

func (s *sum) add(t *tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, o := &s.res, t.res
	r.Peers++
	s.days += t.days
	r.Rounds, r.Faulty, r.Conclusive, r.Cheap = r.Rounds+o.Rounds, r.Faulty+o.Faulty, r.Conclusive+o.Conclusive, r.Cheap+o.Cheap
	r.Busy += o.Busy
	r.LostReports, r.Contradictions = r.LostReports+o.LostReports, r.Contradictions+o.Contradictions
	r.FalseDemotions.Count += o.FalseDemotions.Count
	r.Trials, r.Missed, r.WrongWhy, r.Evaded = r.Trials+o.Trials, r.Missed+o.Missed, r.WrongWhy+o.WrongWhy, r.Evaded+o.Evaded
	r.Incidents = append(r.Incidents, o.Incidents...)
	for k, n := range o.Near {
		if r.Near == nil {
			r.Near = map[string]int{}
		}
		r.Near[k] += n
	}
	s.clean[0], s.clean[1] = s.clean[0]+t.cleanOK, s.clean[1]+t.clean
	s.bad[0], s.bad[1] = s.bad[0]+t.badOK, s.bad[1]+t.bad
	s.took, s.hours = append(s.took, t.took...), append(s.hours, t.hours...)
}

func (s *sum) result() Result {
	r := s.res
	r.PeerDays = round(s.days.Hours()/24, 1)
	r.FaultShare = rate(r.Faulty, r.Rounds)
	r.WithoutFaults, r.WithFaults = rate(s.clean[0], s.clean[1]), rate(s.bad[0], s.bad[1])
	if s.days > 0 {
		r.FalseDemotions.Upper = round(upper95(r.FalseDemotions.Count)/(s.days.Hours()/24), 5)
	}
	r.RoundsToDemote, r.HoursToDemote = spread(s.took), spread(s.hours)
	return r
}

func rate(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return round(float64(n)/float64(of), 3)
}

func round(x float64, places int) float64 {
	p := math.Pow(10, float64(places))
	return math.Round(x*p) / p
}

func spread(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	slices.Sort(list)
	return Spread{Median: round(list[len(list)/2], 2), Max: round(list[len(list)-1], 2)}
}

// upper95 is the greatest mean under which so few events, or fewer, would still be seen one time in twenty.
func upper95(events int) float64 {
	atMost := func(mean float64) float64 {
		term, total := math.Exp(-mean), 0.0
		for i := range events + 1 {
			total += term
			term *= mean / float64(i+1)
		}
		return total
	}
	low, high := 0.0, 10+4*float64(events)
	for range 60 {
		if mid := (low + high) / 2; atMost(mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

package simulate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Result is what a simulation found.
type Result struct {
	// Seed that the same result comes of.
	Seed uint64 `json:"seed"`
	// Passed: no law broken, no false demotion, none missed, no wrong reason, no demotion that outlived its repair, no needless lapse.
	Passed bool `json:"passed"`
	// Total of all lives, Fleets by name, Profiles in their order.
	Total    Count            `json:"total"`
	Fleets   map[string]Count `json:"fleets"`
	Profiles []Profile        `json:"profiles"`
	// Notes on what went wrong, the first fifty.
	Notes []string `json:"notes,omitempty"`
}

// Profile is what became of all peers that behave alike.
type Profile struct {
	Name  string `json:"name"`
	Fleet string `json:"fleet"`
	Count
}

// Count is what is counted of some lives.
type Count struct {
	Peers int     `json:"peers"`
	Days  float64 `json:"peer_days"`
	// Rounds that ran real tasks and reached the peer; Conclusive ones answered a question at least.
	Rounds     int `json:"rounds"`
	Conclusive int `json:"conclusive"`
	// FalseDemotions of what the peer honours, by reason too, with the 95 % upper bound of their rate per peer-day.
	FalseDemotions  int                  `json:"false_demotions"`
	FalseReasons    map[trust.Reason]int `json:"false_reasons,omitempty"`
	UpperBound      float64              `json:"false_demotions_per_peer_day_95"`
	Lies            int                  `json:"lies"`
	Missed          int                  `json:"missed_divergences"`
	OnTarget        int                  `json:"demoted_within_goal"`
	WrongReason     int                  `json:"wrong_reason"`
	RoundsToDemote  Spread               `json:"rounds_to_demote"`
	MinutesToDemote Spread               `json:"minutes_to_demote"`
	// NotLifted are demotions that outlived the repair; LiftedWhileLying those that ended while the lie went on, for lies that are told at
	// times.
	NotLifted        int `json:"not_lifted"`
	LiftedWhileLying int `json:"lifted_while_lying"`
	// Lapses of trust, and those for which the world gave no cause.
	Lapses         int `json:"trust_lapses"`
	NeedlessLapses int `json:"needless_trust_lapses"`
	// Broken laws.
	Broken int `json:"laws_broken"`

	took   []time.Duration
	rounds []int
	notes  []string
}

// Spread of some numbers; zero if there are none.
type Spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

const maxNotes = 50

func (c *Count) note(text string) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, text)
	}
}

func (c *Count) falsely(x trust.Transition) {
	c.FalseDemotions++
	if c.FalseReasons == nil {
		c.FalseReasons = map[trust.Reason]int{}
	}
	c.FalseReasons[x.Reason]++
}

func (c *Count) add(o *Count) {
	c.Peers += o.Peers
	c.Days += o.Days
	c.Rounds += o.Rounds
	c.Conclusive += o.Conclusive
	c.FalseDemotions += o.FalseDemotions
	for r, n := range o.FalseReasons {
		if c.FalseReasons == nil {
			c.FalseReasons = map[trust.Reason]int{}
		}
		c.FalseReasons[r] += n
	}
	c.Lies += o.Lies
	c.Missed += o.Missed
	c.OnTarget += o.OnTarget
	c.WrongReason += o.WrongReason
	c.NotLifted += o.NotLifted
	c.LiftedWhileLying += o.LiftedWhileLying
	c.Lapses += o.Lapses
	c.NeedlessLapses += o.NeedlessLapses
	c.Broken += o.Broken
	c.took = append(c.took, o.took...)
	c.rounds = append(c.rounds, o.rounds...)
	for _, n := range o.notes {
		c.note(n)
	}
}

// finish computes what hangs on the whole.
func (c *Count) finish() {
	c.UpperBound = UpperBound(c.FalseDemotions) / max(c.Days, 1e-9)
	slices.Sort(c.took)
	slices.Sort(c.rounds)
	if n := len(c.took); n > 0 {
		c.MinutesToDemote = Spread{Median: math.Round(c.took[n/2].Minutes()), Max: math.Round(c.took[n-1].Minutes())}
		c.RoundsToDemote = Spread{Median: float64(c.rounds[n/2]), Max: float64(c.rounds[n-1])}
	}
}

func (c *Count) passed() bool {
	return c.Broken == 0 && c.FalseDemotions == 0 && c.Missed == 0 && c.WrongReason == 0 && c.NotLifted == 0 && c.NeedlessLapses == 0
}

// UpperBound is the exact upper 95 % bound of the mean of a Poisson variable of which n were counted: 3.0 for none, the rule of three.
func UpperBound(n int) float64 {
	low, high := 0.0, float64(2*n+10)
	for range 60 {
		mid := (low + high) / 2
		if atMost(n, mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// atMost is the chance of n or fewer where mean are expected.
func atMost(n int, mean float64) float64 {
	term := math.Exp(-mean)
	sum := term
	for i := 1; i <= n; i++ {
		term *= mean / float64(i)
		sum += term
	}
	return sum
}

// Print writes the result as a table for people.
func (r Result) Print(w io.Writer) error {
	line := func(name string, c Count) error {
		_, err := fmt.Fprintf(w, "%-66s %9.0f %9d %5.1f%% %5d %9.1e %5d %6d %9s %5d %11s %6d\n", name, c.Days, c.Rounds, percent(c.Conclusive, c.Rounds),
			c.FalseDemotions, c.UpperBound, c.Missed, c.WrongReason, share(c.OnTarget, c.Lies), c.Lies, spread(c.MinutesToDemote), c.NeedlessLapses)
		return err
	}
	if _, err := fmt.Fprintf(w, "%-66s %9s %9s %6s %5s %9s %5s %6s %9s %5s %11s %6s\n", "seed "+fmt.Sprint(r.Seed), "days", "rounds", "learn", "false", "per day<", "missed",
		"reason", "in time", "of", "minutes", "lapses"); err != nil {
		return err
	}
	for _, p := range r.Profiles {
		if err := line(p.Name, p.Count); err != nil {
			return err
		}
	}
	for _, f := range []string{Honest, Flaky, Liars} {
		if err := line("all "+f, r.Fleets[f]); err != nil {
			return err
		}
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", percent(n, of))
}

func spread(s Spread) string { return fmt.Sprintf("%.0f/%.0f", s.Median, s.Max) }

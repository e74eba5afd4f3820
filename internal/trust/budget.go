package trust

import "time"

// buckets cover a rolling 24 h: the hour that runs and the 24 before it.
const buckets = 25

// share is who pays for a round.
type share int

const (
	// renewals keep known verdicts alive: two thirds of the budget are theirs alone.
	renewals share = iota
	// rescues renew trust that is about to run out: half of the rest besides.
	rescues
	// confirmations find out whether a contradiction or a demotion stands. They may use what is left of the whole.
	confirmations
	// requests of users and reports: up to one third.
	requests
	// reports bring rounds while no more than half of that third is spent, so that users always have the other half.
	reports
)

// spend books tasks in the hour of at.
func (r *Rounds) spend(at time.Time, tasks int, requested bool) {
	if tasks <= 0 {
		return
	}
	r.roll(at)
	r.Tasks[0] += tasks
	if requested {
		for len(r.RequestedTasks) == 0 {
			r.RequestedTasks = []int{0}
		}
		r.RequestedTasks[0] += tasks
	}
}

// roll moves the hours on, so that the first bucket holds at. A clock that went back books in the newest hour.
func (r *Rounds) roll(at time.Time) {
	if len(r.Tasks) == 0 || r.TasksHour.IsZero() || at.Sub(r.TasksHour) >= buckets*time.Hour {
		r.TasksHour, r.Tasks, r.RequestedTasks = at, []int{0}, nil
		return
	}
	hours := int(at.Sub(r.TasksHour) / time.Hour)
	if hours <= 0 {
		return
	}
	r.TasksHour = r.TasksHour.Add(time.Duration(hours) * time.Hour)
	r.Tasks = shift(r.Tasks, hours)
	if len(r.RequestedTasks) > 0 {
		r.RequestedTasks = shift(r.RequestedTasks, hours)
	}
}

// shift puts n empty hours in front, forgets what is older than 24 h, and cuts trailing zeros.
func shift(tasks []int, n int) []int {
	out := append(make([]int, n, n+len(tasks)), tasks...)
	out = out[:min(len(out), buckets)]
	for len(out) > 1 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// Spent is how many tasks reached the peer's handler in the 24 h before now, counted in whole hours, never too few.
func (r Rounds) Spent(now time.Time) int { return r.total(r.Tasks, now) }

// total sums the hours that touch the last 24 h.
func (r Rounds) total(tasks []int, now time.Time) int {
	sum, past := 0, r.past(now)
	for i, t := range tasks {
		if age(i, past) < buckets {
			sum += t
		}
	}
	return sum
}

// past is how many whole hours at lies after the beginning of the newest hour; negative if before it.
func (r Rounds) past(at time.Time) int {
	since := at.Sub(r.TasksHour)
	hours := since / time.Hour
	if since%time.Hour < 0 {
		hours--
	}
	return int(hours)
}

// age is the least number of hours before a time that touch the i-th bucket, at least 1; past is that time's.
func age(i, past int) int { return max(past+i, 1) }

// affords tells whether a round that may cost so much may start at that time and leave so much room in the 24 h. It
// reserves its worst cost or does not start. Besides the limit of 24 h there is one for every shorter time, a third of
// the whole at once and the rest evenly, so that a short budget spaces rounds and never bursts and goes silent.
func (r Rounds) affords(cost, room, perDay int, s share, at time.Time) bool {
	if r.Spent(at)+cost+room > perDay {
		return false
	}
	reserved := perDay * 2 / 3
	switch s {
	case requests:
		return r.total(r.RequestedTasks, at)+cost <= perDay-reserved
	case reports:
		return r.total(r.RequestedTasks, at)+cost <= (perDay-reserved)/2
	}
	// What renewals could pay is there for what is more urgent, however much was spent on requests.
	if r.paced(cost, room, reserved, day, at, r.RequestedTasks) {
		return true
	}
	switch s {
	case renewals:
		return false
	case rescues:
		return r.paced(cost, room, perDay*5/6, day, at, r.RequestedTasks)
	default:
		return r.paced(cost, room, perDay, hurried, at, nil)
	}
}

// hurried is the time over which what confirms spends the budget, so that a day of pairs is over within a day.
const hurried = 21 * time.Hour

// paced holds spending to limit in 24 h, and in every shorter time in which anything was spent to a third of it and what
// of the rest an even spending over the span would have reached. What others spent is not held against it.
func (r Rounds) paced(cost, room, limit int, span time.Duration, at time.Time, others []int) bool {
	if r.Spent(at)-r.total(others, at)+cost+room > limit {
		return false
	}
	spent, past := 0, r.past(at)
	for i, t := range r.Tasks {
		if spent += t; i < len(others) {
			spent -= others[i]
		}
		hours := age(i, past)
		if hours >= buckets {
			break
		}
		if spent > 0 && spent+cost > limit/3+limit*hours*2/(3*int(span/time.Hour)) {
			return false
		}
	}
	return true
}

// affordable is the first time from at on when affords says yes; never if even an empty day would not do.
func (r Rounds) affordable(cost, perDay int, s share, at time.Time) (when time.Time, ever bool) {
	for range 2 * buckets {
		if r.affords(cost, 0, perDay, s, at) {
			return at, true
		}
		at = r.nextHour(at)
	}
	return time.Time{}, false
}

// nextHour is when the next bucket falls out of some window.
func (r Rounds) nextHour(at time.Time) time.Time {
	if r.TasksHour.IsZero() {
		return at.Add(time.Hour)
	}
	since := at.Sub(r.TasksHour)
	hours := since / time.Hour
	if since < 0 {
		hours = -1
	}
	return r.TasksHour.Add((hours + 1) * time.Hour)
}

package card

import (
	"encoding/json"
	"regexp"
	"strconv"
	"time"
)

// maxEstimate is where an estimate stops being one.
const maxEstimate = 24 * time.Hour

// estimate is a skill's estimatedDuration, beside its id or in its metadata; no generation defines the member, so
// anything that cannot be read is none.
func (p *parser) estimate(skill object) time.Duration {
	if d := readDuration(skill["estimatedDuration"]); d > 0 {
		return d
	}
	if !skill.present("metadata") {
		return 0
	}
	meta, _ := p.object(skill["metadata"])
	return readDuration(meta["estimatedDuration"])
}

// readDuration reads a number of seconds or an ISO 8601 duration; zero if it is neither, not positive, or a day and more.
func readDuration(raw json.RawMessage) time.Duration {
	text, ok := readText(raw)
	if !ok || len(text) > 32 {
		return 0
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		seconds = isoSeconds(text)
	}
	if !(seconds > 0 && seconds < maxEstimate.Seconds()) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// iso has days and smaller units only: months and years are beyond any estimate.
var iso = regexp.MustCompile(`^P(?:(\d+(?:[.,]\d+)?)D)?(?:T(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)

func isoSeconds(text string) float64 {
	m := iso.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	sum := 0.0
	for i, unit := range []float64{24 * 3600, 3600, 60, 1} {
		sum += unit * number(m[i+1])
	}
	return sum
}

func number(s string) float64 {
	b := []byte(s)
	for i := range b {
		if b[i] == ',' {
			b[i] = '.'
		}
	}
	f, _ := strconv.ParseFloat(string(b), 64) // the expression has seen to its form
	return f
}

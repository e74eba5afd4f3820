package lifecycle

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxEstimate is where an estimate stops being one.
const MaxEstimate = 24 * time.Hour

// maxEstimateText bounds the text of one, in bytes.
const maxEstimateText = 32

// ParseEstimate reads a skill's estimatedDuration: a number of seconds ("90", "1.5") or an ISO 8601 duration of days and smaller units
// ("PT2M30S", "PT1,5H"). It must be more than nothing and below MaxEstimate. No generation defines the member, so whoever cannot read one
// does without.
//
// The error never holds the text, which a peer chose.
func ParseEstimate(text string) (time.Duration, error) {
	if len(text) > maxEstimateText {
		return 0, fmt.Errorf("reading an estimated duration: %d bytes, want at most %d", len(text), maxEstimateText)
	}
	seconds, ok := plainSeconds(text)
	if !ok {
		seconds, ok = isoSeconds(text)
	}
	if !ok {
		return 0, errors.New("reading an estimated duration: neither a number of seconds (90) nor an ISO 8601 duration of days and smaller units (PT1M30S)")
	}
	nanos := new(big.Int).Quo(new(big.Int).Mul(seconds.Num(), big.NewInt(int64(time.Second))), seconds.Denom())
	if nanos.Sign() <= 0 || !nanos.IsInt64() || nanos.Int64() >= int64(MaxEstimate) {
		return 0, fmt.Errorf("reading an estimated duration: out of range, want more than 0s and less than %v", MaxEstimate)
	}
	return time.Duration(nanos.Int64()), nil
}

var decimal = regexp.MustCompile(`^[0-9]+([.,][0-9]+)?$`)

// plainSeconds reads a decimal exactly. A number with an exponent, which JSON allows, is read as far as a float goes.
func plainSeconds(text string) (*big.Rat, bool) {
	if decimal.MatchString(text) {
		return rat(text), true
	}
	if !strings.ContainsAny(text, "eE") || strings.ContainsAny(text, "xXpP_") {
		return nil, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f < MaxEstimate.Seconds()) {
		return new(big.Rat), err == nil
	}
	return new(big.Rat).SetFloat64(f), true
}

// iso has days and smaller units only: months and years are beyond any estimate.
var iso = regexp.MustCompile(`^P(?:([0-9]+(?:[.,][0-9]+)?)D)?(?:T(?:([0-9]+(?:[.,][0-9]+)?)H)?(?:([0-9]+(?:[.,][0-9]+)?)M)?(?:([0-9]+(?:[.,][0-9]+)?)S)?)?$`)

func isoSeconds(text string) (*big.Rat, bool) {
	m := iso.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return nil, false
	}
	sum := new(big.Rat)
	for i, unit := range []int64{24 * 3600, 3600, 60, 1} {
		if m[i+1] != "" {
			sum.Add(sum, new(big.Rat).Mul(rat(m[i+1]), big.NewRat(unit, 1)))
		}
	}
	return sum, true
}

// rat of a decimal whose form has been seen to; at most maxEstimateText digits.
func rat(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(strings.Replace(text, ",", ".", 1))
	return r
}

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseEstimate(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "1,5": 1500 * time.Millisecond, "0.000000001": 1,
		"1.5e2": 150 * time.Second, "86399.999999999": 24*time.Hour - 1,
		"PT2S": 2 * time.Second, "PT2M30S": 150 * time.Second, "PT1H": time.Hour, "PT1,5H": 90 * time.Minute, "P0DT1S": time.Second,
		"P0.5D": 12 * time.Hour, "PT0.1S": 100 * time.Millisecond,
		// Nothing of these is an estimate.
		"": 0, "0": 0, "-1": 0, "86400": 0, "P1D": 0, "P1M": 0, "P1Y": 0, "P1W": 0, "PT": 0, "P": 0, "P1DT": 0, "2s": 0, "about a minute": 0,
		"1e300": 0, "-1e1": 0, "0x1p4": 0, "NaN": 0, "Inf": 0, "1_000": 0, "PT0S": 0, "0.0000000001": 0, "pt2s": 0, " 90": 0, "PT1S1S": 0,
		strings.Repeat("9", 33): 0, "1e": 0, "1e-5": 10 * time.Microsecond,
	} {
		got, err := ParseEstimate(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("ParseEstimate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func FuzzParseEstimate(f *testing.F) {
	for _, s := range []string{"90", "1.5", "PT2M30S", "P0.5D", "1e3", "PT1,5H", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseEstimate(text)
		if (err == nil) != (d > 0) || d < 0 || d >= MaxEstimate {
			t.Fatalf("ParseEstimate(%q) = %v, %v", text, d, err)
		}
		if err != nil {
			if len(text) > 8 && strings.Contains(err.Error(), text) {
				t.Fatalf("the error holds the text: %v", err)
			}
			return
		}
		// What it means can be written in whole nanoseconds and read again.
		if again, err := ParseEstimate(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)); again != d || err != nil {
			t.Fatalf("%v, written in seconds, reads as %v, %v", d, again, err)
		}
	})
}

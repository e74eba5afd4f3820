package trust

import "testing"

// A peer whose every stream was empty was demoted for StreamIntermittent where a control had failed before (seed 1425189794 of the fleets).
func TestAComparisonWithoutAGoodStreamNamesWhatTheStreamsShowed(t *testing.T) {
	last := Observation{Pair: &Pair{StreamFailed: true, Reason: ReasonStreamEmpty}}
	for story, tc := range map[string]struct {
		pairs Pairs
		want  Reason
	}{
		"every stream failed":                   {Pairs{StreamOnly: 7, Both: 1}, ReasonStreamEmpty},
		"some were good":                        {Pairs{StreamOnly: 7, Neither: 1}, ReasonStreamIntermittent},
		"one was good while its control failed": {Pairs{StreamOnly: 7, ControlOnly: 1}, ReasonStreamIntermittent},
	} {
		if got := tc.pairs.reason(last); got != tc.want {
			t.Errorf("%s: the reason is %s, want %s", story, got, tc.want)
		}
	}
}

package lifecycle

import "testing"

func TestParseState(t *testing.T) {
	for raw, want := range map[string]struct {
		state    State
		spelling Spelling
	}{
		"input-required":            {InputRequired, SpelledWord},
		"TASK_STATE_INPUT_REQUIRED": {InputRequired, SpelledEnum},
		"6":                         {InputRequired, SpelledNumber},
		"1":                         {Submitted, SpelledNumber},
		"2":                         {Working, SpelledNumber},
		"3":                         {Completed, SpelledNumber},
		"4":                         {Failed, SpelledNumber},
		"5":                         {Canceled, SpelledNumber},
		"7":                         {Rejected, SpelledNumber},
		"8":                         {AuthRequired, SpelledNumber},
		"cancelled":                 {Canceled, SpelledOtherwise},
		"TASK_STATE_CANCELLED":      {Canceled, SpelledOtherwise},
		"unknown":                   {Unknown, SpelledWord},
		"TASK_STATE_UNSPECIFIED":    {Unknown, SpelledEnum},
		"":                          {Unknown, SpelledUnreadable},
		"Completed":                 {Unknown, SpelledUnreadable},
		"input_required":            {Unknown, SpelledUnreadable},
		" working":                  {Unknown, SpelledUnreadable},
		"9":                         {Unknown, SpelledUnreadable},
		"task_state_working":        {Unknown, SpelledUnreadable},
	} {
		t.Run(raw, func(t *testing.T) {
			if s, sp := ParseState(raw); s != want.state || sp != want.spelling {
				t.Errorf("ParseState(%q) = %q, %q, want %q, %q", raw, s, sp, want.state, want.spelling)
			}
		})
	}
}

func TestEveryStateIsReadInEverySpelling(t *testing.T) {
	seen := map[State]map[Spelling]bool{}
	for _, s := range spellings {
		if seen[s.state] == nil {
			seen[s.state] = map[Spelling]bool{}
		}
		seen[s.state][s.spelling] = true
	}
	for _, s := range append([]State{Unknown}, allStates...) {
		for _, sp := range []Spelling{SpelledWord, SpelledEnum, SpelledNumber} {
			if !seen[s][sp] {
				t.Errorf("%s cannot be read as a %s", s, sp)
			}
		}
	}
}

func TestSpellingFitsItsGeneration(t *testing.T) {
	for _, tc := range []struct {
		spelling   Spelling
		generation string
		want       bool
	}{
		{SpelledWord, "0.1", true},
		{SpelledWord, "0.3", true},
		{SpelledWord, "1.0", false},
		{SpelledEnum, "1.0", true},
		{SpelledEnum, "0.3", false},
		{SpelledNumber, "1.0", false},
		{SpelledOtherwise, "0.2", false},
		{SpelledUnreadable, "1.0", false},
	} {
		if got := tc.spelling.Fits(tc.generation); got != tc.want {
			t.Errorf("%s fits %s: %v, want %v", tc.spelling, tc.generation, got, tc.want)
		}
	}
}

func TestEveryStateHasOneClass(t *testing.T) {
	for _, s := range allStates {
		n := 0
		for _, in := range []bool{s.Active(), s.Interrupted(), s.Terminal()} {
			if in {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is in %d classes", s, n)
		}
	}
	if Unknown.Active() || Unknown.Interrupted() || Unknown.Terminal() {
		t.Error("unknown has a class")
	}
}

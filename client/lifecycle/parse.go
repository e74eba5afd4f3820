package lifecycle

import "strings"

// Spelling is the way a peer wrote a state.
type Spelling string

// The spellings that are told apart.
const (
	// SpelledWord is the lower-case word of 0.x ("input-required").
	SpelledWord Spelling = "Word"
	// SpelledEnum is the enum name of 1.0 ("TASK_STATE_INPUT_REQUIRED").
	SpelledEnum Spelling = "Enum"
	// SpelledNumber is the number of the enum ("6"), which ProtoJSON writers may emit.
	SpelledNumber Spelling = "Number"
	// SpelledOtherwise is readable and no generation's text: "cancelled", TASK_STATE_CANCELLED in JSON.
	SpelledOtherwise Spelling = "Otherwise"
	// SpelledUnreadable is absent or a word of no generation; the state is Unknown.
	SpelledUnreadable Spelling = "Unreadable"
)

// Fits says whether a generation ("0.1", "0.2", "0.3", "1.0") spells its states so in JSON-RPC (1.0 §5.5; wire reference
// 3). A spelling that does not fit is a finding and never a reason to disregard the state.
func (s Spelling) Fits(generation string) bool {
	switch s {
	case SpelledWord:
		return strings.HasPrefix(generation, "0.")
	case SpelledEnum:
		return strings.HasPrefix(generation, "1.")
	}
	return false
}

type spelled struct {
	state    State
	spelling Spelling
}

// spellings holds every spelling that is read, case and all. The numbers are those of the enum in a2a.proto.
var spellings = map[string]spelled{
	"submitted":      {Submitted, SpelledWord},
	"working":        {Working, SpelledWord},
	"input-required": {InputRequired, SpelledWord},
	"auth-required":  {AuthRequired, SpelledWord},
	"completed":      {Completed, SpelledWord},
	"canceled":       {Canceled, SpelledWord},
	"failed":         {Failed, SpelledWord},
	"rejected":       {Rejected, SpelledWord},
	"unknown":        {Unknown, SpelledWord},

	"TASK_STATE_SUBMITTED":      {Submitted, SpelledEnum},
	"TASK_STATE_WORKING":        {Working, SpelledEnum},
	"TASK_STATE_INPUT_REQUIRED": {InputRequired, SpelledEnum},
	"TASK_STATE_AUTH_REQUIRED":  {AuthRequired, SpelledEnum},
	"TASK_STATE_COMPLETED":      {Completed, SpelledEnum},
	"TASK_STATE_CANCELED":       {Canceled, SpelledEnum},
	"TASK_STATE_FAILED":         {Failed, SpelledEnum},
	"TASK_STATE_REJECTED":       {Rejected, SpelledEnum},
	"TASK_STATE_UNSPECIFIED":    {Unknown, SpelledEnum},

	"0": {Unknown, SpelledNumber},
	"1": {Submitted, SpelledNumber},
	"2": {Working, SpelledNumber},
	"3": {Completed, SpelledNumber},
	"4": {Failed, SpelledNumber},
	"5": {Canceled, SpelledNumber},
	"6": {InputRequired, SpelledNumber},
	"7": {Rejected, SpelledNumber},
	"8": {AuthRequired, SpelledNumber},

	"cancelled":            {Canceled, SpelledOtherwise},
	"TASK_STATE_CANCELLED": {Canceled, SpelledOtherwise},
}

// ParseState reads a state as a peer spelled it, numbers as decimal text. Whatever stands in no table is Unknown.
func ParseState(raw string) (State, Spelling) {
	if s, ok := spellings[raw]; ok {
		return s.state, s.spelling
	}
	return Unknown, SpelledUnreadable
}

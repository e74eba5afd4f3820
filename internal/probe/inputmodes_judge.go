package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// judgeInputModes says whether the modes that a card declares are taken (wire reference 7.8, design 5). Only the peer's own word about the
// media type counts, again and again on new connections; what it makes of our samples otherwise tells nothing.
func judgeInputModes(x modesSeen) trust.Observation {
	o := trust.Observation{Capability: trust.InputModes, Rule: "wire 7.8", Observed: x.account()}
	if len(x.declared) == 0 {
		return unlearned(o, trust.ReasonNotExercised, "the card declares no input modes")
	}
	var refused, taken []string
	var unclear trust.Reason
	var why string
	for _, t := range x.tries {
		switch reason, text := t.judge(); {
		case reason == trust.ReasonDeclaredModeRefused:
			refused = append(refused, t.mode)
		case reason != "":
			if unclear == "" {
				unclear, why = reason, t.words()+" "+text
			}
		default:
			taken = append(taken, t.mode)
		}
	}
	o.RefusedModes = x.refused(refused, taken)
	switch {
	case len(refused) > 0:
		o.Explicit, o.Confirmed = true, true
		return diverged(o, trust.ReasonDeclaredModeRefused, lifecycle.Card, "wire 7.8", fmt.Sprintf(
			"the card declares %s; sent so, refused every time as not supported", strings.Join(o.RefusedModes, ", ")))
	case unclear != "":
		return unlearned(o, unclear, why)
	case len(o.RefusedModes) > 0:
		return unlearned(o, trust.ReasonNotExercised, "refused before and not asked again: "+strings.Join(o.RefusedModes, ", "))
	case len(taken) == 0 && len(x.unasked) == 0:
		return unlearned(o, trust.ReasonNoFixture, "there is no message in any of the declared modes; configure some")
	case len(taken) == 0:
		return unlearned(o, trust.ReasonProbeDeadlineExceeded, "there was no time to ask in any of the declared modes")
	}
	return honored(o, "wire 7.8", "sent in declared modes, and taken: "+strings.Join(slices.Compact(slices.Sorted(slices.Values(taken))), ", "))
}

// refused is the list to remember: what was refused before and not taken now, and what is refused now.
func (x modesSeen) refused(now, taken []string) []string {
	list := slices.Clone(now)
	for _, m := range x.known {
		if !slices.Contains(taken, m) || slices.Contains(now, m) {
			list = append(list, m)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), trust.MaxRefusedModes)]
}

// judge says what one try shows: an empty reason where the message was taken.
func (t modeTry) judge() (trust.Reason, string) {
	if t.moved {
		return "", "" // it was taken up, whatever the answer was
	}
	if t.first.Fail != nil {
		return failReason(t.first.Fail), "nothing of the protocol came back: " + failText(t.first.Fail)
	}
	if modeRefused(t.first) {
		return t.judgeRefusal()
	}
	if code, first, ok := t.first.Error(); ok && first {
		return codeReason(t.first.Generation, code, t.first.Status), fmt.Sprintf("was answered with error %d", code)
	}
	if t.first.MessageOnly() {
		return "", ""
	}
	state := t.first.lastKnown()
	switch {
	case t.first.TaskID() == "":
		return trust.ReasonUnexpectedAnswer, "was answered with none of A2A"
	case state == lifecycle.Rejected:
		return trust.ReasonProbeRejected, "came to " + string(state)
	case state == lifecycle.Failed:
		return trust.ReasonAgentFailing, "came to " + string(state)
	}
	return "", ""
}

func (t modeTry) judgeRefusal() (trust.Reason, string) {
	switch {
	case t.lenient:
		return trust.ReasonProbeRejected, "was refused as not supported; the mode is a range, or has parameters, or no skill has it"
	case t.reply && !t.asks:
		return trust.ReasonInputRequiredNotReached, "was refused, and the task did not ask for input"
	case t.again == nil:
		return trust.ReasonProbeDeadlineExceeded, "was refused as not supported, and there was no room to ask again"
	case !modeRefused(t.again):
		return trust.ReasonReplicaInconsistency, "was refused as not supported, and on a new connection it was not"
	}
	return trust.ReasonDeclaredModeRefused, ""
}

func (t modeTry) words() string {
	if t.reply {
		return "a reply in " + t.mode
	}
	return "a message in " + t.mode
}

// account lists what became of each mode.
func (x modesSeen) account() []string {
	var out []string
	for _, t := range x.tries {
		text := t.mode + ":" + t.first.became()
		if t.reply {
			text = "reply " + text
		}
		out = append(out, cutText(text))
		if t.again != nil {
			out = append(out, cutText("again "+t.mode+":"+t.again.became()))
		}
	}
	for _, m := range x.unsampled {
		if slices.Contains(x.qualified, m) {
			m += " with parameters"
		}
		out = append(out, cutText(m+":no message"))
	}
	for _, m := range x.unasked {
		out = append(out, cutText(m+":not asked in this round"))
	}
	return shorten(out)
}

// cutText keeps an entry within what status keeps: media types may be long.
func cutText(s string) string { return s[:min(len(s), 64)] }

// became is what became of a message, in a word.
func (t *tape) became() string {
	code, _, failed := t.Error()
	switch {
	case t.Fail != nil:
		return failText(t.Fail)
	case failed:
		return fmt.Sprintf("error %d", code)
	case t.MessageOnly():
		return string(wire.KindMessage)
	}
	return string(t.lastKnown())
}

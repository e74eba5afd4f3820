package probe

import (
	"fmt"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// refused: the peer's own word that it has no extended card to give. 0.2's 404 is no word of the agent's, who may sit behind a gateway: it
// counts, and softly.
func (l cardLook) refused() bool {
	return l.code == codeNoExtendedCard || l.code == codeUnsupported || l.code == codeMethodNotFound
}

func (l cardLook) text() string {
	switch {
	case l.fail != nil:
		return failText(l.fail)
	case l.code != 0:
		return fmt.Sprintf("error %d", l.code)
	case l.absent:
		return "HTTP 404"
	case l.card:
		return "a card"
	}
	return "no card"
}

// judgeExtendedCard says whether the extended card that a card declares is there (wire reference 7.9).
func judgeExtendedCard(x extension) trust.Observation {
	o := trust.Observation{Capability: trust.ExtendedAgentCard, Rule: "wire 7.9"}
	o.Observed = []string{"extended card:" + x.first.text() + "@" + offset(x.first.at)}
	if x.again != nil {
		o.Observed = append(o.Observed, "again:"+x.again.text()+"@"+offset(x.again.at))
	}
	switch {
	case x.none:
		o.Observed = nil
		return unlearned(o, trust.ReasonNotDeclared, "this generation has no operation for an extended card")
	case x.first.card:
		return extendedCardServed(o, x)
	case !x.declared:
		return unlearned(o, trust.ReasonNotDeclared, "the card does not declare an extended card")
	case !x.credentialed:
		return unlearned(o, trust.ReasonNoCredentials,
			"an extended card is declared, which is for callers who log in, and no credentials are configured for its origin")
	case x.first.fail != nil:
		return unlearned(o, failReason(x.first.fail), "asked for the extended card, nothing of the protocol came back: "+failText(x.first.fail))
	case x.first.moved:
		return unlearned(o, trust.ReasonEndpointRedirects, "asked for the extended card, another address, where redirects led, answered with "+x.first.text())
	case x.first.absent:
		return diverged(o, trust.ReasonExtendedCardRefused, lifecycle.Card, "wire 7.9",
			"the card declares an extended card, and nothing is found where 0.2 has it")
	case x.messagesOnly:
		return unlearned(o, trust.ReasonTaskOpsUnavailable,
			"asked for the extended card, method not found, and GetTask is not known there either: a gateway may serve messages only")
	case x.first.refused():
		return extendedCardRefused(o, x)
	case x.first.code != 0:
		return unlearned(o, trust.ReasonAgentFailing, "asked for the extended card, answered with "+x.first.text())
	}
	return unlearned(o, trust.ReasonUnexpectedAnswer, "asked for the extended card, what came back is none")
}

func extendedCardServed(o trust.Observation, x extension) trust.Observation {
	if !x.declared {
		o.Warnings = append(o.Warnings, trust.WarnUndeclaredButWorks)
		return honored(o, "wire 7.11", "the card does not declare an extended card; one is served all the same")
	}
	if x.first.withdraws {
		o.Warnings = append(o.Warnings, trust.WarnExtendedCardContradicts)
	}
	if !x.credentialed {
		o.Warnings = append(o.Warnings, trust.WarnExtendedCardAnonymous)
		return honored(o, "wire 7.9", "asked for the extended card without credentials, and it came back")
	}
	return honored(o, "wire 7.9", "asked for the extended card, and it came back")
}

// extendedCardRefused: an explicit refusal, twice (design 4.4).
func extendedCardRefused(o trust.Observation, x extension) trust.Observation {
	reason, text := trust.ReasonExtendedCardRefused, fmt.Sprintf("the card declares an extended card; asked for it, refused with %s", x.first.text())
	if x.first.code == codeNoExtendedCard {
		reason, text = trust.ReasonExtendedCardNotConfigured, "the card declares an extended card; asked for it, the agent says that none is configured"
	}
	o.Explicit = true
	if x.again != nil {
		if !x.again.refused() {
			return unlearned(o, trust.ReasonReplicaInconsistency, text+"; on a new connection it is otherwise: "+x.again.text())
		}
		o.Confirmed = true
		text += "; again on a new connection"
	}
	return diverged(o, reason, lifecycle.Card, "wire 7.9", text)
}

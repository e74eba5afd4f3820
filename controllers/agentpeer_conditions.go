package controllers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// unreachableAfter is how many rounds in a row must fail before a peer is called unreachable.
const unreachableAfter = 3

// conditionFacts is all that conditions are made of.
type conditionFacts struct {
	known    trust.Peer
	required []trust.Capability
	fault    *fault
	// suspended, skipReachability as the spec has them.
	suspended, skipReachability bool
	verification                trustv1alpha1.SignaturePolicy
	// generation of the object, and of the report that was folded now; 0 if none was.
	generation, reported int64
	now                  time.Time
}

// conditions yields the conditions for what is known now. Of the previous ones only the times of their last change are
// taken over, and the generation of a report that still holds.
func conditions(previous []metav1.Condition, f conditionFacts) []metav1.Condition {
	next := []metav1.Condition{ready(f), reachable(f), cardValid(f), signatureVerified(f), trusted(f), requirementsMet(f)}
	next = append(next, abnormal(f)...)
	for i := range next {
		c := &next[i]
		old := meta.FindStatusCondition(previous, c.Type)
		c.ObservedGeneration = generationOf(c.Type, old, f)
		c.LastTransitionTime = metav1.Time{Time: f.now.UTC().Truncate(time.Second)}
		if old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		c.Message = cut(c.Message, maxConditionMessage)
	}
	slices.SortFunc(next, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return next
}

// maxConditionMessage is far below what Kubernetes allows, so that a status stays small.
const maxConditionMessage = 512

// generationOf a condition is that of the spec for what is about the spec, and else that of the report it rests on.
func generationOf(name string, old *metav1.Condition, f conditionFacts) int64 {
	switch name {
	case trustv1alpha1.ConditionReady, trustv1alpha1.ConditionReconciling, trustv1alpha1.ConditionStalled:
		return f.generation
	case trustv1alpha1.ConditionSignatureVerified:
		if f.known.Signature.Result == "" { // the spec alone says so
			return f.generation
		}
	}
	if f.reported == 0 && f.known.Rounds.Last > 0 && old != nil && old.ObservedGeneration > 0 {
		return old.ObservedGeneration
	}
	return f.generation
}

func condition(name string, status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func ready(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionReady
	switch {
	case f.fault != nil:
		return condition(name, metav1.ConditionFalse, f.fault.reason, "%s", f.fault.message)
	case f.suspended:
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonSuspended, "spec accepted; probing is suspended")
	}
	return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonAccepted, "spec accepted and its references resolve")
}

// abnormal yields Reconciling or Stalled, or neither; never both.
func abnormal(f conditionFacts) []metav1.Condition {
	switch {
	case f.fault == nil:
		return nil
	case f.fault.stalled:
		return []metav1.Condition{condition(trustv1alpha1.ConditionStalled, metav1.ConditionTrue, f.fault.reason, "%s", f.fault.message)}
	}
	return []metav1.Condition{condition(trustv1alpha1.ConditionReconciling, metav1.ConditionTrue,
		trustv1alpha1.ReasonWaitingForReference, "%s", f.fault.message)}
}

// reachable stays as it was for the first two failures in a row. It was True exactly if a card was once read of this
// target, because failures are counted from the last success on.
func reachable(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionReachable
	r := f.known.Rounds
	why := string(r.ReachReason)
	switch {
	case r.ReachFailures >= unreachableAfter && !f.skipReachability:
		return condition(name, metav1.ConditionFalse, or(why, string(trust.ReasonUnreachable)),
			"the last %d rounds or more did not reach the agent", unreachableAfter)
	case f.skipReachability && f.known.Claims.Digest == "":
		return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonNotAsked, "reachability is not asked for (mode None)")
	case r.LastCheap.IsZero():
		return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonNotProbed, "no round has ended yet")
	case r.ReachFailures > 0 && f.known.Claims.Digest == "":
		return condition(name, metav1.ConditionUnknown, or(why, string(trust.ReasonUnreachable)), "the agent was not reached yet")
	}
	return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonReachable, "the agent was reached")
}

func cardValid(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionCardValid
	r := f.known.Rounds
	switch {
	case r.Usable:
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonCardValid, "a card was read and an interface of it can be used")
	case r.UsableReason != "":
		return condition(name, metav1.ConditionFalse, string(r.UsableReason), "no interface of a valid card can be used")
	}
	return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonNotProbed, "no card was read yet")
}

// signatureVerified is False only where something was found out: no signature, one that does not stand, one that leaves statements or the
// address out.
func signatureVerified(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionSignatureVerified
	if !verifies(f.verification) {
		return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonSignatureIgnored, "signatures are not verified (card.verification.policy)")
	}
	s := f.known.Signature
	why := s.Unmet(f.now)
	if why == "" {
		if s.Result == trust.SignatureVerified {
			return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonSignatureVerified, "a signature stands over the card")
		}
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonSignatureNonCanonical,
			"a signature stands over the card, though not in the canonical form of A2A 1.0 (%s)", s.Variant)
	}
	status := metav1.ConditionUnknown
	if slices.Contains([]trust.SignatureResult{trust.SignatureInvalid, trust.SignatureAbsent}, s.Result) ||
		why == trust.ReasonSignaturePartial || why == trust.ReasonSignatureOtherAddress {
		status = metav1.ConditionFalse
	}
	return condition(name, status, or(string(why), trustv1alpha1.ReasonSignatureUnchecked), "%s", or(signatureWords[why], "no signature stands"))
}

// signatureWords say why a signature does not suffice, and what helps.
var signatureWords = map[trust.Reason]string{
	trust.ReasonSignatureUnchecked: "no card was read since card.verification asks for a signature",
	trust.ReasonSignatureExpired:   "a signature stood, and no round has found it again in time",
	trust.ReasonSignatureInvalid: "a signature names a key of card.verification and does not stand over the card that is served; cards with " +
		"securitySchemes that @a2a-js/sdk signs are known for it (a2a-js issue 663)",
	trust.ReasonSignatureAbsent: "the card has no signature",
	trust.ReasonSignaturePartial: "a signature stands over a form of the card that leaves out statements of it, such as empty members of " +
		"securitySchemes, security requirements, extensions or interfaces, which anybody could add or remove",
	trust.ReasonSignatureOtherAddress: "a signature stands over a card that does not name the address that is used (interface.urlFrom is Endpoint, " +
		"its URL is relative, or no origin that it names is allowed): it could be the card of another agent",
	trust.ReasonSignatureMalformed:           "no signature of the card can be read (A2A 1.0, section 8.4.2)",
	trust.ReasonSignatureKeyUnknown:          "no signature of the card is by a key of card.verification: name the signer's key there",
	trust.ReasonSignatureAlgorithmNotAllowed: "no signature of the card has an algorithm that is allowed and is that of its key",
	trust.ReasonSignatureKeysUnavailable:     "the JWK set of card.verification.jwksURL could not be read",
}

// trusted and requirementsMet put the facts of the trust package into words. What is Demoted and counts for nothing here
// (a core behaviour that is not required) is named all the same, so that True misleads nobody.
func trusted(f conditionFacts) metav1.Condition {
	c := allTrusted(f)
	var names []string
	for _, rec := range f.known.Records {
		if rec.State == trust.Demoted && rec.Capability.Core() && !slices.Contains(f.required, rec.Capability) {
			names = append(names, string(rec.Capability))
		}
	}
	if len(names) > 0 {
		c.Message += fmt.Sprintf("; %s %s Demoted and not required", strings.Join(names, ", "), be(names))
	}
	return c
}

func allTrusted(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionTrusted
	switch fact := trust.AllTrusted(f.known, f.required, f.now); {
	case fact.Status == trust.True:
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonAllTrusted, "every declared and required capability is Trusted")
	case fact.Status == trust.False:
		return condition(name, metav1.ConditionFalse, trustv1alpha1.ReasonCapabilityDemoted, "%s is Demoted: %s", fact.Capability, fact.Reason)
	case fact.Capability == "":
		return condition(name, metav1.ConditionUnknown, or(string(fact.Reason), trustv1alpha1.ReasonNotProbed), "nothing was verified")
	default:
		return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonCapabilityUnverified, "%s is Unverified: %s", fact.Capability, fact.Reason)
	}
}

// be is the verb for so many names.
func be(names []string) string {
	if len(names) == 1 {
		return "is"
	}
	return "are"
}

func requirementsMet(f conditionFacts) metav1.Condition {
	const name = trustv1alpha1.ConditionRequirementsMet
	if len(f.required) == 0 {
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonNothingRequired, "spec.requiredCapabilities is empty")
	}
	switch fact := trust.Requirements(f.known, f.required, f.now); fact.Status {
	case trust.True:
		return condition(name, metav1.ConditionTrue, trustv1alpha1.ReasonAllRequirementsMet, "every required capability is Trusted")
	case trust.False:
		return condition(name, metav1.ConditionFalse, trustv1alpha1.ReasonRequirementNotMet, "%s: %s", fact.Capability, fact.Reason)
	default:
		return condition(name, metav1.ConditionUnknown, trustv1alpha1.ReasonRequirementUnverified, "%s: %s", fact.Capability, fact.Reason)
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

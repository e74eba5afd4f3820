package v1alpha1

// Condition types. Ready, Reachable, CardValid, Trusted and RequirementsMet are always present; Reconciling and Stalled
// only while True, and never both. All are output only.
const (
	// ConditionReady is True where the spec was accepted and its references resolve. An agent that is unreachable or lies,
	// a spent budget and an outage of ours leave it True, so that no rollout hangs on an agent.
	ConditionReady = "Ready"
	// ConditionReachable is False after 3 cheap rounds in a row that did not reach the agent.
	ConditionReachable = "Reachable"
	// ConditionCardValid is True where a card was read and an interface of it can be used.
	ConditionCardValid = "CardValid"
	// ConditionTrusted is False if any declared or required capability is Demoted, True if all of them are Trusted, else
	// Unknown. Capabilities without a fixture do not count.
	ConditionTrusted = "Trusted"
	// ConditionRequirementsMet names the first of spec.requiredCapabilities that is not Trusted.
	ConditionRequirementsMet = "RequirementsMet"
	// ConditionReconciling is True while something that may still come, such as a missing Secret, is waited for.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True where only an edit of the spec can help.
	ConditionStalled = "Stalled"
)

// Reasons of Ready, Reconciling and Stalled.
const (
	// ReasonAccepted: the spec was accepted and its references resolve.
	ReasonAccepted = "Accepted"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonSecretNotFound: a Secret that the spec names does not exist yet.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretKeyNotFound: the Secret exists and lacks the key, or its value is empty.
	ReasonSecretKeyNotFound = "SecretKeyNotFound"
	// ReasonSecretNotAllowed: the Secret lacks the label SendToPeersLabel, so it may not be sent.
	ReasonSecretNotAllowed = "SecretNotAllowed"
	// ReasonServiceNotFound: the Service that the spec names does not exist yet.
	ReasonServiceNotFound = "ServiceNotFound"
	// ReasonServicePortNotFound: the Service exists and has no such port.
	ReasonServicePortNotFound = "ServicePortNotFound"
	// ReasonCABundleNotFound: the ConfigMap or Secret of tls.caRef, or the key in it, does not exist yet.
	ReasonCABundleNotFound = "CABundleNotFound"
	// ReasonCABundleInvalid: the key of tls.caRef holds no certificate in PEM.
	ReasonCABundleInvalid = "CABundleInvalid"
	// ReasonCredentialInvalid: the Secret's value cannot be sent in a header.
	ReasonCredentialInvalid = "CredentialInvalid"
	// ReasonInvalidSpec: the spec passed admission and cannot be used all the same.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonWaitingForReference: Reconciling, because a reference is missing that may still come.
	ReasonWaitingForReference = "WaitingForReference"
)

// Reasons of Reachable, CardValid, Trusted and RequirementsMet, besides those of capabilities.
const (
	// ReasonNotProbed: no round has shown anything yet.
	ReasonNotProbed = "NotProbed"
	// ReasonReachable: the last round reached the agent.
	ReasonReachable = "Reachable"
	// ReasonNotAsked: probes.reachability.mode is None.
	ReasonNotAsked = "NotAsked"
	// ReasonCardValid: a card was read and an interface of it can be used.
	ReasonCardValid = "CardValid"
	// ReasonAllTrusted: every declared and every required capability is Trusted.
	ReasonAllTrusted = "AllTrusted"
	// ReasonCapabilityDemoted: a declared or required capability is Demoted.
	ReasonCapabilityDemoted = "CapabilityDemoted"
	// ReasonCapabilityUnverified: a declared or required capability is not verified, or no longer.
	ReasonCapabilityUnverified = "CapabilityUnverified"
	// ReasonNothingRequired: spec.requiredCapabilities is empty.
	ReasonNothingRequired = "NothingRequired"
	// ReasonAllRequirementsMet: every capability of spec.requiredCapabilities is Trusted.
	ReasonAllRequirementsMet = "AllRequirementsMet"
	// ReasonRequirementNotMet: a capability of spec.requiredCapabilities is Demoted or not declared.
	ReasonRequirementNotMet = "RequirementNotMet"
	// ReasonRequirementUnverified: a capability of spec.requiredCapabilities is not verified, or no longer.
	ReasonRequirementUnverified = "RequirementUnverified"
)

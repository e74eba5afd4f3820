package v1alpha1

// Condition types. Ready, Reachable, CardValid, SignatureVerified, Trusted and RequirementsMet are always present; Reconciling and Stalled
// only while True, and never both. All are output only.
const (
	// ConditionReady is True where the spec was accepted and its references resolve. An agent that is unreachable or lies,
	// a spent budget and an outage of ours leave it True, so that no rollout hangs on an agent.
	ConditionReady = "Ready"
	// ConditionReachable is False after 3 cheap rounds in a row that did not reach the agent.
	ConditionReachable = "Reachable"
	// ConditionCardValid is True where a card was read and an interface of it can be used.
	ConditionCardValid = "CardValid"
	// ConditionSignatureVerified is True where a signature by a key of card.verification stands over the card, False where one is
	// absent or does not, Unknown where none is asked for or none could be checked.
	ConditionSignatureVerified = "SignatureVerified"
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
	// ReasonOriginNotListed: the Secret's or ServiceAccount's annotation AllowedOriginsAnnotation does not name where it would go, or
	// AllowedCAsAnnotation beside it not who would vouch for that.
	ReasonOriginNotListed = "OriginNotListed"
	// ReasonServiceAccountNotFound: the ServiceAccount that the spec names does not exist yet.
	ReasonServiceAccountNotFound = "ServiceAccountNotFound"
	// ReasonServiceAccountNotAllowed: the ServiceAccount lacks the label SendToPeersLabel, so its tokens may not be sent.
	ReasonServiceAccountNotAllowed = "ServiceAccountNotAllowed"
	// ReasonServiceAccountTokensDisabled: the operator's configuration names no audience for tokens of ServiceAccounts.
	ReasonServiceAccountTokensDisabled = "ServiceAccountTokensDisabled"
	// ReasonVerificationKeysNotFound: an object of card.verification.keys, or the key in it, does not exist yet.
	ReasonVerificationKeysNotFound = "VerificationKeysNotFound"
	// ReasonVerificationKeysInvalid: an object of card.verification.keys holds no public key that can be used.
	ReasonVerificationKeysInvalid = "VerificationKeysInvalid"
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

// ConditionAccepted is the one condition of AgentPeerReports: True where the report is weighed.
const ConditionAccepted = "Accepted"

// Reasons of Accepted.
const (
	// ReasonReportWeighed: it counts as spec.reports of the AgentPeer says.
	ReasonReportWeighed = "Weighed"
	// ReasonReportsIgnored: spec.reports.mode of the AgentPeer is Ignore.
	ReasonReportsIgnored = "ReportsIgnored"
	// ReasonReporterNotListed: spec.reports.from of the AgentPeer does not list the reporter.
	ReasonReporterNotListed = "ReporterNotListed"
	// ReasonReportPolicyMissing: the admission policy that proves reporters, or its binding, is not there or does not deny: nobody's
	// name can be believed.
	ReasonReportPolicyMissing = "ReportPolicyMissing"
	// ReasonReportOfOtherTarget: the AgentPeer has another target, or is another object of the same name.
	ReasonReportOfOtherTarget = "ReportOfOtherTarget"
	// ReasonPeerNotFound: there is no such AgentPeer in this namespace. The report is deleted soon.
	ReasonPeerNotFound = "PeerNotFound"
	// ReasonReportExpired: the report is too old to count.
	ReasonReportExpired = "ReportExpired"
)

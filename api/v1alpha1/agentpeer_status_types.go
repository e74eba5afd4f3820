package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentPeerStatus is the trust record. The operator alone writes it, and reads it back after a restart: it is also the
// operator's memory.
type AgentPeerStatus struct {
	// observedGeneration is the generation of the spec that was last accepted or rejected; -1 until the operator has seen
	// the object.
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=9007199254740991
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// target is whom these verdicts are about: the URL, or the Service as scheme://name.namespace.svc:port/path. When it
	// changes, the trust record starts afresh.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Target string `json:"target,omitempty"`

	// decision is what an orchestrator should do now. It is all that most readers need.
	// +optional
	Decision *Decision `json:"decision,omitempty"`

	// card is what the agent's card claims, as far as it matters here.
	// +optional
	Card *CardStatus `json:"card,omitempty"`

	// capabilities is the trust record of each capability and core behaviour.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Capabilities []CapabilityStatus `json:"capabilities,omitempty"`

	// rounds is the account of probe rounds.
	// +optional
	Rounds *RoundsStatus `json:"rounds,omitempty"`

	// effective shows the settings that apply: the spec's, the operator's defaults where the spec is silent, and the
	// operator's floors and ceilings where the spec goes beyond them.
	// +optional
	Effective *EffectiveSettings `json:"effective,omitempty"`

	// orphanedTasks are tasks that probes began and could neither finish nor cancel, the latest 8.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=id
	// +optional
	OrphanedTasks []OrphanedTask `json:"orphanedTasks,omitempty"`

	// lastHandledRequestedAt is the value of the annotation trust.agentpeer.dev/requestedAt that was last acted upon, cut
	// to 256 characters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	LastHandledRequestedAt string `json:"lastHandledRequestedAt,omitempty"`

	// conditions sum the record up for tools: Ready, Reachable, CardValid, Trusted and RequirementsMet always; Reconciling
	// and Stalled only while True. They are output only: the operator never reads them back.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z') && (!has(c.observedGeneration) || c.observedGeneration <= 9007199254740991))",message="lastTransitionTime must be an RFC 3339 time, and observedGeneration at most 2^53-1"
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reason is a CamelCase fact; docs/reasons.md explains each.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
type Reason string

// CapabilityName names what is judged. Streaming, PushNotifications, ExtendedAgentCard and StateTransitionHistory are
// declared by cards; the others are core behaviours that every agent owes.
//
// +kubebuilder:validation:Enum=Streaming;PushNotifications;ExtendedAgentCard;TaskRetrieval;Cancellation;Continuation;Resubscription;InputModes;Lifecycle;StateTransitionHistory
type CapabilityName string

// The capabilities and core behaviours.
const (
	CapabilityStreaming              CapabilityName = "Streaming"
	CapabilityPushNotifications      CapabilityName = "PushNotifications"
	CapabilityExtendedAgentCard      CapabilityName = "ExtendedAgentCard"
	CapabilityTaskRetrieval          CapabilityName = "TaskRetrieval"
	CapabilityCancellation           CapabilityName = "Cancellation"
	CapabilityContinuation           CapabilityName = "Continuation"
	CapabilityResubscription         CapabilityName = "Resubscription"
	CapabilityInputModes             CapabilityName = "InputModes"
	CapabilityLifecycle              CapabilityName = "Lifecycle"
	CapabilityStateTransitionHistory CapabilityName = "StateTransitionHistory"
)

// TrustState is what is held of a capability.
//
// +kubebuilder:validation:Enum=Unverified;Trusted;Demoted
type TrustState string

// The trust states.
const (
	Unverified TrustState = "Unverified"
	Trusted    TrustState = "Trusted"
	Demoted    TrustState = "Demoted"
)

// Outcome is what one probe saw.
//
// +kubebuilder:validation:Enum=Honored;Diverged;Inconclusive
type Outcome string

// The outcomes of a probe.
const (
	Honored      Outcome = "Honored"
	Diverged     Outcome = "Diverged"
	Inconclusive Outcome = "Inconclusive"
)

// Declaration is what a card says of a capability.
//
// +kubebuilder:validation:Enum=Declared;NotDeclared
type Declaration string

// What a card can say.
const (
	Declared    Declaration = "Declared"
	NotDeclared Declaration = "NotDeclared"
)

// Source is where a verdict comes from.
//
// +kubebuilder:validation:Enum=Probe;Report;Override
type Source string

// Where a verdict can come from.
const (
	// SourceProbe is the operator's own probe.
	SourceProbe Source = "Probe"
	// SourceReport is a quorum of AgentPeerReports.
	SourceReport Source = "Report"
)

// CapabilityStatus is the trust record of one capability.
type CapabilityStatus struct {
	// name of the capability.
	// +required
	Name CapabilityName `json:"name"`

	// declared is what the card says: Declared, or NotDeclared for false, absent, null or a wrong type. Unset for core
	// behaviours, which no card declares, and as long as no card was read.
	// +optional
	Declared Declaration `json:"declared,omitempty"`

	// state of trust. Unverified: nothing valid observed, the card is a hint only. Trusted: observed to work, until
	// expirationTime. Demoted: observed to contradict what is owed.
	// +required
	State TrustState `json:"state"`

	// reason for the state.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// message is one line for people: what was asked, what came back, what was expected. Only where the state is Demoted
	// or there is a warning.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`

	// source of the verdict: Probe, Report or Override. Unset means Probe.
	// +optional
	Source Source `json:"source,omitempty"`

	// observed lists the transitions seen with their offsets, such as working@12ms. Only where the state is Demoted or
	// there is a warning.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	Observed []string `json:"observed,omitempty"`

	// warnings are findings that cost no trust.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Warnings []Reason `json:"warnings,omitempty"`

	// probedWith lists the keys of metadata that the probe message carried: the verdict is about that message. Only where
	// the state is Demoted or there is a warning.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	ProbedWith []string `json:"probedWith,omitempty"`

	// rule names what decided: a section of the protocol's text, or a rule of the design. Only where the state is Demoted
	// or there is a warning.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Rule string `json:"rule,omitempty"`

	// refusedInputModes are media types that the card declares as input modes and that the agent refuses as not supported,
	// the first 8 by name. Only of InputModes. A caller should not send them.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=127
	// +listType=atomic
	// +optional
	RefusedInputModes []string `json:"refusedInputModes,omitempty"`

	// expirationTime of trust. A reader treats a Trusted capability past it as Unverified.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`

	// lastTransitionTime is when state last changed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// nextProbeTime is when this capability is asked next, at the earliest. Unset: in the next round.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	NextProbeTime *metav1.Time `json:"nextProbeTime,omitempty"`

	// lastOutcome of the last probe, conclusive or not. Unset: never probed.
	// +optional
	LastOutcome Outcome `json:"lastOutcome,omitempty"`

	// lastReason is the reason of lastOutcome. Left out where it equals reason.
	// +optional
	LastReason Reason `json:"lastReason,omitempty"`

	// lastTime is when the last probe was made.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// lastHonoredTime is when the round began in which the capability was last seen to work. Whoever saw it fail later knows more.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastHonoredTime *metav1.Time `json:"lastHonoredTime,omitempty"`

	// recent conclusive outcomes, newest first. Equal neighbours are folded into one entry with a count; contradictions
	// are not folded. It stands for at most 10 outcomes.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Recent []RecentOutcome `json:"recent,omitempty"`

	// deliveredTo names the webhook receiver of the operator that the agent called last (PushNotifications only), as a hash
	// of its URL: an agent that called before and falls silent has no excuse.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:-]+$`
	// +optional
	DeliveredTo string `json:"deliveredTo,omitempty"`

	// demotions so far, shrinking with good conduct. Each doubles the least time of the next.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Demotions int32 `json:"demotions,omitempty"`

	// demotedUntil is the earliest time at which the demotion can be lifted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	DemotedUntil *metav1.Time `json:"demotedUntil,omitempty"`

	// cleanRounds in a row since the demotion; trust.restoreAfter of them lift it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	CleanRounds int32 `json:"cleanRounds,omitempty"`

	// relapsed is true where a contradiction was seen again since the demotion: it was no mistake.
	// +optional
	Relapsed bool `json:"relapsed,omitempty"`

	// goodSinceTime is since when a capability that was once demoted has behaved. Good conduct pays demotions off.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	GoodSinceTime *metav1.Time `json:"goodSinceTime,omitempty"`

	// pairs is the comparison in progress of streams with single-shot controls. Unset where none is.
	// +optional
	Pairs *PairedComparison `json:"pairs,omitempty"`

	// reports is what AgentPeerReports did to this capability. Unset where they did nothing.
	// +optional
	Reports *ReportedStatus `json:"reports,omitempty"`
}

// RecentOutcome is one remembered conclusive outcome, or several equal ones in a row.
type RecentOutcome struct {
	// outcome seen: Honored or Diverged, as Inconclusive counts for nothing.
	// +required
	Outcome Outcome `json:"outcome"`

	// count of equal outcomes in a row that this entry stands for. Unset means 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	Count int32 `json:"count,omitempty"`

	// reason of a contradiction.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// time of a contradiction.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// controlFailed is true where the single-shot control of that round failed.
	// +optional
	ControlFailed bool `json:"controlFailed,omitempty"`

	// unexcused is true for a contradiction of Streaming that the agent's own failing could not look like.
	// +optional
	Unexcused bool `json:"unexcused,omitempty"`
}

// PairedComparison counts rounds in which a stream and a single-shot control ran side by side.
type PairedComparison struct {
	// since is when the comparison began.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// lastDiscordantTime is when one path last failed while the other worked. A day later the comparison is dropped.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastDiscordantTime *metav1.Time `json:"lastDiscordantTime,omitempty"`

	// score is the evidence against the stream, in hundredths of a nat; negative speaks for it.
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Score int32 `json:"score,omitempty"`

	// streamOnly counts pairs in which the stream failed and the control worked.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	StreamOnly int32 `json:"streamOnly,omitempty"`

	// controlOnly counts pairs in which the control failed and the stream worked.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	ControlOnly int32 `json:"controlOnly,omitempty"`

	// both counts pairs in which both failed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Both int32 `json:"both,omitempty"`

	// neither counts pairs in which both worked.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Neither int32 `json:"neither,omitempty"`

	// alone is true where streams are watched without controls, because every bad one showed by its own task that the agent
	// had worked. Then streamOnly counts the bad ones and neither the good ones.
	// +optional
	Alone bool `json:"alone,omitempty"`
}

// DecisionPath is how to reach the peer.
//
// +kubebuilder:validation:Enum=Streaming;SingleShot;Unavailable
type DecisionPath string

// The paths of a decision.
const (
	PathStreaming   DecisionPath = "Streaming"
	PathSingleShot  DecisionPath = "SingleShot"
	PathUnavailable DecisionPath = "Unavailable"
)

// DecisionMultiTurn is how to hold a conversation.
//
// +kubebuilder:validation:Enum=Interactive;AllInputsUpfront
type DecisionMultiTurn string

// The words for conversations.
const (
	MultiTurnInteractive      DecisionMultiTurn = "Interactive"
	MultiTurnAllInputsUpfront DecisionMultiTurn = "AllInputsUpfront"
)

// DecisionCancel is how far a cancel can be relied on.
//
// +kubebuilder:validation:Enum=Reliable;BestEffort
type DecisionCancel string

// The words for cancelling.
const (
	CancelReliable   DecisionCancel = "Reliable"
	CancelBestEffort DecisionCancel = "BestEffort"
)

// DecisionUpdates is how to follow a single-shot task.
//
// +kubebuilder:validation:Enum=Push;Poll
type DecisionUpdates string

// The words for following a task.
const (
	UpdatesPush DecisionUpdates = "Push"
	UpdatesPoll DecisionUpdates = "Poll"
)

// Choice is a decision without its circumstances.
type Choice struct {
	// path to take. Streaming: open a stream. SingleShot: send, then follow as updates says. Unavailable: no usable way is
	// known, or an override says so.
	// +required
	Path DecisionPath `json:"path"`

	// multiTurn says how to hold a conversation. Interactive: a reply continues the task. AllInputsUpfront: send all you
	// have at once and do not wait for a question; still answer one that comes.
	// +required
	MultiTurn DecisionMultiTurn `json:"multiTurn"`

	// cancel says whether a cancel that was accepted can be relied on (Reliable) or not (BestEffort).
	// +required
	Cancel DecisionCancel `json:"cancel"`

	// updates says how to follow a single-shot task: Push by webhook, Poll by asking.
	// +required
	Updates DecisionUpdates `json:"updates"`

	// reason for the path.
	// +required
	Reason Reason `json:"reason"`
}

// Decision is what an orchestrator should do now. It is computed by one pure function from spec and status.
type Decision struct {
	Choice `json:",inline"`

	// expirationTime is the earliest time at which something this decision rests on lapses. A reader past it takes SingleShot,
	// AllInputsUpfront, BestEffort and Poll instead. Unset: the decision rests on nothing that lapses.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`

	// deadlines to wait for tasks of this agent.
	// +optional
	Deadlines Deadlines `json:"deadlines,omitzero"`

	// would is what trust.mode Enforce would have decided. Only where mode is Observe.
	// +optional
	Would *Choice `json:"would,omitempty"`
}

// CardStatus is what the agent's card claims.
type CardStatus struct {
	// claimsDigest is a digest of the claims: interfaces, capabilities, security, modes and skill ids. Descriptions and
	// signatures do not count. Another digest is a new claim, which is judged anew.
	// +optional
	ClaimsDigest ClaimsDigest `json:"claimsDigest,omitempty"`

	// declared lists the capabilities that the card declares; the others of Streaming, PushNotifications,
	// ExtendedAgentCard and StateTransitionHistory are not declared.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Declared []CapabilityName `json:"declared,omitempty"`

	// legacy is true where the interface in use is of protocol generation 0.x.
	// +optional
	Legacy bool `json:"legacy,omitempty"`

	// noCapabilities is true for a 0.x card without a capabilities member, on which core behaviours only warn.
	// +optional
	NoCapabilities bool `json:"noCapabilities,omitempty"`

	// claimsSinceTime is when these claims last took the place of others. Unset while the first ones still stand. Nothing
	// is demoted within two behavior intervals of it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ClaimsSinceTime *metav1.Time `json:"claimsSinceTime,omitempty"`

	// interface in use. Unset where none is usable.
	// +optional
	Interface *CardInterface `json:"interface,omitempty"`

	// interfaces are the declared ways to reach the agent, the first 8 in the card's order, and what became of each. They
	// are asked with every sixth behavior round and when the card changes, at no cost in tasks. One that is Unreachable or
	// a Mismatch costs no capability its trust: it is not used, and warnings name it.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Interfaces []DeclaredInterface `json:"interfaces,omitempty"`

	// skills of the agent, for routing, the first 16.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Skills []CardSkill `json:"skills,omitempty"`

	// warnings are oddities of the card that lose nothing.
	// +kubebuilder:validation:MaxItems=24
	// +listType=atomic
	// +optional
	Warnings []Reason `json:"warnings,omitempty"`

	// signature is what became of the card's signatures. Unset where card.verification.policy is Ignore, and until a card was read.
	// +optional
	Signature *CardSignature `json:"signature,omitempty"`

	// claimSets are the claims seen lately, newest first, the latest 6, with what was held under each: a claim set that
	// comes back (a canary, a rollback) takes up what it had.
	// +kubebuilder:validation:MaxItems=6
	// +listType=atomic
	// +optional
	ClaimSets []ClaimSet `json:"claimSets,omitempty"`
}

// CardSignature is what verifying the card's signatures came to.
type CardSignature struct {
	// result is Verified: a signature by a key of card.verification stands over the card in the canonical form of A2A 1.0, section 8.4;
	// VerifiedNonCanonical: one stands over another form of it; Invalid: the key is known and the signature does not stand;
	// Unverifiable: no signature could be checked, as its key is not known, its algorithm not allowed, or the keys could not be read;
	// Absent: the card has none.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Result SignatureResult `json:"result,omitempty"`

	// reason says more where result is not Verified, or partial is set.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// variant is the form of the card that the signature stands over, where result is VerifiedNonCanonical: AsServed, DefaultsDropped
	// or EmptiesDropped.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Variant string `json:"variant,omitempty"`

	// partial is true where the signed form leaves out statements that the card makes by the presence of an empty member, such as a
	// security scheme without fields: those could be added or removed without breaking the signature; and where the signed card does
	// not name the address that the agent is talked to at (reason SignatureOtherAddress), as with interface.urlFrom: Endpoint or a
	// relative URL: such a card could be another agent's. Such a signature does not meet policy Require.
	// +optional
	Partial bool `json:"partial,omitempty"`

	// keyID is the id of the key that verified, or the hash of one that is not of the safe alphabet. Unset where none did, or where
	// the key has no id.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	KeyID string `json:"keyID,omitempty"`

	// algorithm of the signature that verified, such as ES256.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Algorithm string `json:"algorithm,omitempty"`

	// keysDigest is a digest of what was verified with: the keys that the spec names and the URL that more are fetched from, not the set
	// that was found there, which is fetched anew with every card. Another digest has the card verified anew.
	// +optional
	KeysDigest ClaimsDigest `json:"keysDigest,omitempty"`

	// lastTime is when this was last found.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// expirationTime is when a signature that stood no longer counts unless it is found again; it lasts as long as trust does.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// SignatureResult is what verifying came to.
type SignatureResult string

// The results.
const (
	SignatureVerified             SignatureResult = "Verified"
	SignatureVerifiedNonCanonical SignatureResult = "VerifiedNonCanonical"
	SignatureUnverifiable         SignatureResult = "Unverifiable"
	SignatureInvalid              SignatureResult = "Invalid"
	SignatureAbsent               SignatureResult = "Absent"
)

// ClaimsDigest is sha256: and 64 hexadecimal digits.
//
// +kubebuilder:validation:MaxLength=71
// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
type ClaimsDigest string

// CardInterface is one declared way to reach the agent.
type CardInterface struct {
	// binding that the card declares: JSONRPC, HTTP+JSON or GRPC; Other for any that is none of the protocol's.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Binding string `json:"binding,omitempty"`

	// protocolVersion as the card declares it.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// url of the interface. Left out where the interface is not asked (NotSpoken, NotAllowed): agentpeer check -v shows it.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	URL string `json:"url,omitempty"`
}

// DeclaredInterface is one way to reach the agent that the card declares, and what became of it.
type DeclaredInterface struct {
	CardInterface `json:",inline"`

	// state of the interface. Used: questions are asked there. Reachable: it answers in the binding and generation that it
	// names. Unreachable: nothing of the protocol came back, twice. Mismatch: it answers in another generation or binding,
	// or knows no A2A method, twice. NotAllowed: its origin is not in spec.allowedOrigins, or its address may not be
	// dialled. NotSpoken: its binding, version or address is not used here. Unknown: not asked yet, or nothing was learned.
	// +required
	State InterfaceState `json:"state"`

	// reason why, where all is not well; docs/reasons.md explains each.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// spoken is what answers there instead of what is declared, such as 0.3 or JSONRPC, where that was found out.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Spoken string `json:"spoken,omitempty"`
}

// InterfaceState is what became of one declared interface.
//
// +kubebuilder:validation:Enum=Used;Reachable;Unreachable;Mismatch;NotAllowed;NotSpoken;Unknown
type InterfaceState string

// The states of a declared interface.
const (
	InterfaceUsed        InterfaceState = "Used"
	InterfaceReachable   InterfaceState = "Reachable"
	InterfaceUnreachable InterfaceState = "Unreachable"
	InterfaceMismatch    InterfaceState = "Mismatch"
	InterfaceNotAllowed  InterfaceState = "NotAllowed"
	InterfaceNotSpoken   InterfaceState = "NotSpoken"
	InterfaceUnknown     InterfaceState = "Unknown"
)

// CardSkill is what routing needs of a skill.
type CardSkill struct {
	// id of the skill, or a hash of it where the id is not of a safe alphabet.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ID string `json:"id"`

	// inputModes of the skill where they differ from the card's, the first 8.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=127
	// +listType=atomic
	// +optional
	InputModes []string `json:"inputModes,omitempty"`
}

// ClaimSet is one set of claims seen lately.
type ClaimSet struct {
	// digest of the claims.
	// +required
	Digest ClaimsDigest `json:"digest"`

	// firstSeenTime is when it was first seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	FirstSeenTime *metav1.Time `json:"firstSeenTime,omitempty"`

	// lastSeenTime is when it was last seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastSeenTime *metav1.Time `json:"lastSeenTime,omitempty"`

	// held is what was held of each capability when these claims were last current.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Held []HeldTrust `json:"held,omitempty"`
}

// HeldTrust is one remembered verdict of another claim set.
type HeldTrust struct {
	// name of the capability.
	// +required
	Name CapabilityName `json:"name"`

	// state that was held.
	// +required
	State TrustState `json:"state"`

	// expirationTime of that trust.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// RoundsStatus is the account of probe rounds.
type RoundsStatus struct {
	// last is the number of the last round that was counted.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	// +optional
	Last int64 `json:"last,omitempty"`

	// lastTime is when that round ended.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// lastBehaviorTime is when the last round that ran tasks ended.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastBehaviorTime *metav1.Time `json:"lastBehaviorTime,omitempty"`

	// lastReachabilityTime is when a round of any kind last showed whether the agent is reachable.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastReachabilityTime *metav1.Time `json:"lastReachabilityTime,omitempty"`

	// reachabilityReason is what the last round found of reachability.
	// +optional
	ReachabilityReason Reason `json:"reachabilityReason,omitempty"`

	// reachabilityFailures in a row; 3 turn the condition Reachable to False.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	ReachabilityFailures int32 `json:"reachabilityFailures,omitempty"`

	// reachableSince is when the agent was last found reachable after failures. Unset if it never failed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ReachableSince *metav1.Time `json:"reachableSince,omitempty"`

	// messageOnly counts answers in a row that were a message and no task. Three skip task probes until the card changes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MessageOnly int32 `json:"messageOnly,omitempty"`

	// usable is true where a usable interface stood on a valid card when last looked at.
	// +optional
	Usable bool `json:"usable,omitempty"`

	// usableReason says why no interface is usable.
	// +optional
	UsableReason Reason `json:"usableReason,omitempty"`

	// behaviors is how many rounds that run tasks were counted. Every sixth asks the single-shot control.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	// +optional
	Behaviors int64 `json:"behaviors,omitempty"`

	// controlFailedAt is the value of behaviors when a single-shot control last failed. Unset if none ever did. For ten
	// such rounds the agent counts as flaky, and more evidence is asked for.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	// +optional
	ControlFailedAt int64 `json:"controlFailedAt,omitempty"`

	// tasksLast24h is how many tasks probes started at the agent in the last 24 hours. The sum of tasksPerHour.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000000
	// +optional
	TasksLast24h int32 `json:"tasksLast24h,omitempty"`

	// tasksHour is the start of the hour that tasksPerHour begins with.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	TasksHour *metav1.Time `json:"tasksHour,omitempty"`

	// tasksPerHour counts the tasks of each hour, newest first, beginning with tasksHour. Trailing zeros are left out.
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=1000000
	// +listType=atomic
	// +optional
	TasksPerHour []int32 `json:"tasksPerHour,omitempty"`

	// requestedTasksPerHour is the part of tasksPerHour that rounds asked for by users spent, hour by hour.
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=1000000
	// +listType=atomic
	// +optional
	RequestedTasksPerHour []int32 `json:"requestedTasksPerHour,omitempty"`

	// heldBack says why the next behavior round is held back, if it is.
	// +optional
	HeldBack Reason `json:"heldBack,omitempty"`
}

// EffectiveSettings are the settings that apply.
type EffectiveSettings struct {
	// reachability settings of the cheap rounds.
	// +optional
	Reachability ReachabilityProbe `json:"reachability,omitzero"`

	// behavior settings of the rounds that run tasks.
	// +optional
	Behavior BehaviorProbe `json:"behavior,omitzero"`

	// trust settings.
	// +optional
	Trust TrustPolicy `json:"trust,omitzero"`

	// reports says how AgentPeerReports are weighed; those of whom stands in spec.reports.from.
	// +optional
	Reports EffectiveReports `json:"reports,omitzero"`
}

// EffectiveReports is how AgentPeerReports are weighed.
type EffectiveReports struct {
	// mode as in spec.reports.mode. Demote needs spec.reports.from; without it Probe applies.
	// +optional
	Mode ReportMode `json:"mode,omitempty"`

	// quorum as in spec.reports.quorum.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Quorum *int32 `json:"quorum,omitempty"`

	// window as in spec.reports.window, within the operator's bounds.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h, written like 15m or 1h30m"
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
}

// OrphanedTask is a task left behind at the agent.
type OrphanedTask struct {
	// id of the task, or a hash of it where the id is not of a safe alphabet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	ID string `json:"id"`

	// since is when the probe gave the task up.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentPeer names an A2A agent, how to reach it safely, what to probe it with and at what cost, and what is required of
// it. Its status is the trust record: what the agent's card declares, what the agent was seen to do, and what an
// orchestrator should do about it now.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=agentpeers,singular=agentpeer,shortName=ap,categories=agents
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.status.decision.path`,description="How to reach the peer now"
// +kubebuilder:printcolumn:name="Streaming",type=string,JSONPath=`.status.capabilities[?(@.name=="Streaming")].state`,description="Trust state of Streaming"
// +kubebuilder:printcolumn:name="Push",type=string,JSONPath=`.status.capabilities[?(@.name=="PushNotifications")].state`,description="Trust state of PushNotifications"
// +kubebuilder:printcolumn:name="Multi-turn",type=string,JSONPath=`.status.decision.multiTurn`,description="Whether a reply to a question continues the task"
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.decision.expirationTime`,description="When the decision lapses unless renewed (UTC); in the past means it has lapsed"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the spec was accepted and its references resolve"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.decision.reason`,priority=1,description="Why the decision is what it is"
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.target`,priority=1,description="Whom the verdicts are about"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.status.decision.path`
// +kubebuilder:selectablefield:JSONPath=`.status.decision.multiTurn`
// +kubebuilder:selectablefield:JSONPath=`.status.decision.cancel`
// +kubebuilder:selectablefield:JSONPath=`.status.decision.updates`
// +kubebuilder:selectablefield:JSONPath=`.status.decision.reason`
// +kubebuilder:selectablefield:JSONPath=`.status.target`
// +kubebuilder:selectablefield:JSONPath=`.spec.url`
type AgentPeer struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says whom to probe, how, and what is required. Written by users; the operator never changes it.
	// +required
	Spec AgentPeerSpec `json:"spec"`

	// status is the trust record. Written by the operator alone. It can be wiped at any time: everything then returns to
	// unknown and is earned again. observedGeneration is -1 until the operator has seen the object.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status AgentPeerStatus `json:"status,omitzero"`
}

// AgentPeerList is a list of AgentPeers.
//
// +kubebuilder:object:root=true
type AgentPeerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentPeer `json:"items"`
}

// AgentPeerSpec is what a user asks for.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.serviceRef)",message="set exactly one of url and serviceRef: url for an agent anywhere, serviceRef for a Service in this namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.trust) || !has(self.trust.duration) || !has(self.probes) || !has(self.probes.behavior) || !has(self.probes.behavior.interval) || duration(self.trust.duration).getMilliseconds() >= 3 * duration(self.probes.behavior.interval).getMilliseconds()",message="trust.duration must be at least 3 times probes.behavior.interval, or trust would lapse between probes: raise trust.duration or shorten probes.behavior.interval",fieldPath=".trust.duration"
type AgentPeerSpec struct {
	// url is the address of the agent: http or https, with a host, without user name or fragment. The agent's card is
	// looked for below it, and credentials go to its origin only. Changing it starts the trust record afresh.
	// Exactly one of url and serviceRef is set.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="must be an absolute http or https URL with a host, such as https://planner.example.com/agents/route"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/]*//[^/?#]*@')",message="must not carry a user name or password: put credentials into a Secret and name it in auth"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/]*//[^/?#]*%')",message="must not have a % in its host: write the host in plain letters, one beyond ASCII in its xn-- form, and an IPv6 address without a zone"
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="must not carry a fragment: remove everything from the # on"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\x00-\\\\x20\\\\x7f]')",message="must not contain spaces or control characters: percent-encode them"
	// +kubebuilder:validation:XValidation:rule="!isURL(self) || url(self).getPort().size() == 0 || (url(self).getPort().size() <= 5 && int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535)",message="the port must be a number from 1 to 65535"
	// +optional
	URL string `json:"url,omitempty"`

	// serviceRef names a Service in the namespace of this object that the agent listens behind. Such an agent may have a
	// private address, which url may not unless the operator's configuration allows it. Changing it starts the trust
	// record afresh. Exactly one of url and serviceRef is set.
	// +optional
	ServiceRef *ServiceReference `json:"serviceRef,omitempty"`

	// card says where the agent's card is. Unset: both well-known names are tried below the address.
	// +optional
	Card CardSource `json:"card,omitzero"`

	// allowedOrigins lists further origins (scheme://host[:port]) that the interfaces named by the card may use. An
	// interface of any other origin is not used. Credentials are never sent to these origins.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	AllowedOrigins []Origin `json:"allowedOrigins,omitempty"`

	// interface narrows the choice among the interfaces that the card declares. Unset: the best one that the operator
	// speaks, in the card's order.
	// +optional
	Interface InterfaceSelection `json:"interface,omitzero"`

	// auth says how to authenticate to the agent. Unset: requests carry no credentials.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// tls adjusts how the agent's certificate is verified. Verification itself cannot be switched off.
	// +optional
	TLS TLS `json:"tls,omitzero"`

	// probes says what the agent is asked, how often, and at what cost.
	// +optional
	Probes Probes `json:"probes,omitzero"`

	// trust says how strictly observations are judged and how long trust lasts.
	// +kubebuilder:validation:XValidation:rule="!has(self.demoteAfter) || !has(self.demoteAfter.diverged) || !has(self.demoteAfter.ofLast) || self.demoteAfter.diverged <= self.demoteAfter.ofLast",message="diverged must not exceed ofLast: lower diverged or raise ofLast",fieldPath=".demoteAfter.diverged"
	// +kubebuilder:validation:XValidation:rule="!has(self.demotion) || !has(self.demotion.minDuration) || !has(self.demotion.maxDuration) || duration(self.demotion.minDuration) <= duration(self.demotion.maxDuration)",message="minDuration must not be longer than maxDuration: lower minDuration or raise maxDuration",fieldPath=".demotion.minDuration"
	// +optional
	Trust TrustPolicy `json:"trust,omitzero"`

	// deadlines are how long a caller should wait for a task of this agent. They are passed on in
	// status.decision.deadlines, and probes use them too. Passing one never costs trust.
	// +kubebuilder:validation:XValidation:rule="!has(self.wait) || !has(self.hard) || duration(self.wait) <= duration(self.hard)",message="wait must not be longer than hard: lower wait or raise hard",fieldPath=".wait"
	// +optional
	Deadlines Deadlines `json:"deadlines,omitzero"`

	// requiredCapabilities lists what you need of the agent. The condition RequirementsMet names the first that is not
	// Trusted, and Trusted is False if one of them is Demoted. Nothing else changes: the agent is still probed and used.
	// +kubebuilder:validation:MaxItems=9
	// +listType=set
	// +optional
	RequiredCapabilities []RequirableCapability `json:"requiredCapabilities,omitempty"`

	// taskIdentity says by what tasks are told apart, for agents behind a gateway that rewrites task ids. Unset: by their
	// ids. Set it where a capability is Unverified with reason TaskIdentityUnstable.
	// +optional
	TaskIdentity *TaskIdentity `json:"taskIdentity,omitempty"`

	// reports says what AgentPeerReports, in which orchestrators tell what they saw of this agent in real traffic, do. Unset: the
	// operator's default, mode Probe unless configured otherwise.
	// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Demote' || has(self.from)",message="mode Demote needs from: name the ServiceAccounts whose reports may demote",fieldPath=".from"
	// +kubebuilder:validation:XValidation:rule="!has(self.from) || !has(self.quorum) || self.quorum <= size(self.from)",message="quorum must not exceed the number of ServiceAccounts in from: lower quorum or name more",fieldPath=".quorum"
	// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Demote' || !has(self.from) || has(self.quorum) || size(self.from) > 1",message="quorum is 2 if unset and from names one ServiceAccount: set quorum: 1, so that this one alone can demote, or name more",fieldPath=".quorum"
	// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from.all(a, self.from.exists_one(b, a == b))",message="name each ServiceAccount once",fieldPath=".from"
	// +optional
	Reports ReportPolicy `json:"reports,omitzero"`

	// suspend stops all probing when true, a running round included. The verdicts stay until they expire. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RequirableCapability is a capability that can be required: StateTransitionHistory cannot, because nothing that a peer
// does could prove it.
//
// +kubebuilder:validation:Enum=Streaming;PushNotifications;ExtendedAgentCard;TaskRetrieval;Cancellation;Continuation;Resubscription;InputModes;Lifecycle
type RequirableCapability string

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentPeerReport is what one orchestrator pod saw of one peer in real traffic. The pod writes it beside the AgentPeer; the operator
// weighs it as spec.reports of the AgentPeer says, acknowledges it in status, and deletes it when it is old or its peer is gone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=agentpeerreports,singular=agentpeerreport,shortName=apr
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Peer",type=string,JSONPath=`.spec.peerRef.name`,description="The AgentPeer it is about"
// +kubebuilder:printcolumn:name="Reporter",type=string,JSONPath=`.spec.reporter.name`,description="The ServiceAccount that reports"
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the report is weighed"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`,description="Why it is weighed, or is not"
// +kubebuilder:printcolumn:name="Diverged",type=string,JSONPath=`.spec.capabilities[?(@.diverged>0)].name`,priority=1,description="Capabilities that were seen to diverge"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.peerRef.name`
type AgentPeerReport struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name is free; one object for each pod and peer is meant.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what was seen. Written by the reporting pod, and by it alone.
	// +required
	Spec AgentPeerReportSpec `json:"spec"`

	// status acknowledges the report. Written by the operator alone. Empty: no operator has looked at it yet.
	// +optional
	Status AgentPeerReportStatus `json:"status,omitzero"`
}

// AgentPeerReportList is a list of AgentPeerReports.
//
// +kubebuilder:object:root=true
type AgentPeerReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentPeerReport `json:"items"`
}

// AgentPeerReportSpec is what was seen, by whom, of whom and when.
//
// +kubebuilder:validation:XValidation:rule="self.peerRef == oldSelf.peerRef && self.reporter == oldSelf.reporter",message="peerRef and reporter must not change: create another AgentPeerReport for another peer or pod"
// +kubebuilder:validation:XValidation:rule="self.window.startTime <= self.window.endTime",message="window.endTime must not be before window.startTime",fieldPath=".window.endTime"
// +kubebuilder:validation:XValidation:rule="self.window.endTime - duration('24h') <= self.window.startTime",message="window.startTime must be at most 24h before window.endTime: count less at a time",fieldPath=".window.startTime"
type AgentPeerReportSpec struct {
	// peerRef names the AgentPeer, in the namespace of this object.
	// +required
	PeerRef ReportedPeer `json:"peerRef"`

	// reporter is who reports. An admission policy holds it to the authenticated user, so nobody reports in another's name.
	// +required
	Reporter Reporter `json:"reporter"`

	// target is whom the report is about, as status.target of the AgentPeer said when it was seen. A report about another target than
	// the AgentPeer has now is not weighed.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^[hH][tT][tT][pP][sS]?://')",message="must be an http or https address, as status.target of the AgentPeer says it"
	// +required
	Target string `json:"target"`

	// claimsDigest is status.card.claimsDigest of the AgentPeer when it was seen. Contradictions under other claims than those that
	// stand now bring a probe and demote nothing. Unset counts as other claims.
	// +optional
	ClaimsDigest ClaimsDigest `json:"claimsDigest,omitempty"`

	// window is the time that the counts are about, 24 hours at most.
	// +required
	Window ReportWindow `json:"window"`

	// capabilities counts what was seen of each capability within the window.
	// +kubebuilder:validation:MaxItems=9
	// +listType=map
	// +listMapKey=name
	// +optional
	Capabilities []ReportedCapability `json:"capabilities,omitempty"`

	// divergences are the last contradictions with their evidence, newest first.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Divergences []ReportedDivergence `json:"divergences,omitempty"`
}

// ReportedPeer names an AgentPeer of the same namespace.
type ReportedPeer struct {
	// name of the AgentPeer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an AgentPeer in the namespace of this object"
	// +required
	Name string `json:"name"`

	// uid of the AgentPeer. A report about another object of the same name is not weighed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID string `json:"uid"`
}

// Reporter is a ServiceAccount, and the pod that runs under it.
type Reporter struct {
	// namespace of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +required
	Namespace string `json:"namespace"`

	// name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a ServiceAccount, without system:serviceaccount: and without a namespace"
	// +required
	Name string `json:"name"`

	// podName is the pod that the ServiceAccount's token is bound to. Required where it is bound to one; reports are counted by
	// ServiceAccount, however many pods there are.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a pod, without its namespace"
	// +optional
	PodName string `json:"podName,omitempty"`
}

// ReportWindow is a span of time.
type ReportWindow struct {
	// startTime of the window.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +required
	StartTime metav1.Time `json:"startTime"`

	// endTime of the window: when the report was last brought up to date. A day after it the report is deleted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +required
	EndTime metav1.Time `json:"endTime"`
}

// ReportedCapability counts what was seen of one capability.
type ReportedCapability struct {
	// name of the capability.
	// +required
	Name RequirableCapability `json:"name"`

	// honored counts the times that it was seen to work.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Honored int32 `json:"honored,omitempty"`

	// diverged counts contradictions of basis Card or Protocol, which alone can cost trust.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Diverged int32 `json:"diverged,omitempty"`

	// suspected counts what was seen of basis Deadline or Behaviour. It brings a probe and accuses nobody.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Suspected int32 `json:"suspected,omitempty"`

	// lastHonoredTime is when it was last seen to work.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastHonoredTime *metav1.Time `json:"lastHonoredTime,omitempty"`

	// lastDivergedTime is when it was last seen to diverge.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastDivergedTime *metav1.Time `json:"lastDivergedTime,omitempty"`

	// lastSuspectedTime is when something of basis Deadline or Behaviour was last seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LastSuspectedTime *metav1.Time `json:"lastSuspectedTime,omitempty"`
}

// DivergenceBasis is what an observation contradicts. Only Card and Protocol can cost trust.
//
// +kubebuilder:validation:Enum=Card;Protocol;Deadline;Behaviour
type DivergenceBasis string

// The bases.
const (
	BasisCard      DivergenceBasis = "Card"
	BasisProtocol  DivergenceBasis = "Protocol"
	BasisDeadline  DivergenceBasis = "Deadline"
	BasisBehaviour DivergenceBasis = "Behaviour"
)

// ReportedDivergence is one contradiction and its evidence. Nothing in it is text that the peer chose, but task ids of the safe alphabet.
type ReportedDivergence struct {
	// capability that is charged.
	// +required
	Capability RequirableCapability `json:"capability"`

	// reason for it, such as StreamClosedWithoutTerminalState; docs/reasons.md explains each.
	// +kubebuilder:validation:MinLength=1
	// +required
	Reason Reason `json:"reason"`

	// basis is what it contradicts: Card, a declared capability is not there; Protocol, a MUST is broken; Deadline, our expectation of
	// time; Behaviour, odd and not forbidden. The last two bring a probe and cost no trust.
	// +required
	Basis DivergenceBasis `json:"basis"`

	// time when it was seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +required
	Time metav1.Time `json:"time"`

	// taskID is the task it was seen of, or the hash of an id that is not of the safe alphabet.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9._:-]*$')",message="must be an id of letters, digits and . _ : -, or its hash, such as sha256:0123456789abcdef"
	// +optional
	TaskID string `json:"taskID,omitempty"`

	// observed lists the transitions seen with their offsets, such as working@12ms.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z0-9@.:µ-]+$')",message="must be a state and its offset, such as working@12ms"
	// +listType=atomic
	// +optional
	Observed []string `json:"observed,omitempty"`
}

// AgentPeerReportStatus acknowledges a report.
type AgentPeerReportStatus struct {
	// observedGeneration is the generation of the spec that was last weighed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// expirationTime is when the report is deleted unless it is brought up to date.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`

	// conditions has one of type Accepted: whether the report is weighed, and why it is or is not.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z') && (!has(c.observedGeneration) || c.observedGeneration <= 9007199254740991))",message="lastTransitionTime must be an RFC 3339 time, and observedGeneration at most 2^53-1"
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

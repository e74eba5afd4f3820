package v1alpha1

// Names that users write on objects.
const (
	// RequestedAtAnnotation on an AgentPeer asks for a behavior round now. Any new value asks once, such as the time;
	// status.lastHandledRequestedAt confirms it.
	RequestedAtAnnotation = "trust.agentpeer.dev/requestedAt"

	// SendToPeersLabel with value SendToPeersValue on a Secret allows the operator to send what spec.auth names in it to
	// the agent. Of a Secret without it the labels are looked at and the data is not used: to create an AgentPeer must not
	// be enough to send any Secret of a namespace to an address of one's choice.
	SendToPeersLabel = "trust.agentpeer.dev/send-to-peers"
	// SendToPeersValue is the one value of SendToPeersLabel that allows.
	SendToPeersValue = "true"
	// AllowedOriginsAnnotation on a Secret or ServiceAccount with SendToPeersLabel names the origins that its credential may go to,
	// comma-separated: scheme://host[:port]. Without it any AgentPeer of the namespace may send it to its own address.
	AllowedOriginsAnnotation = "trust.agentpeer.dev/allowed-origins"
	// AllowedCAsAnnotation on a Secret or ServiceAccount with AllowedOriginsAnnotation names the objects that tls.caRef may take more
	// authorities from where its credential goes along, comma-separated: ConfigMap/NAME or Secret/NAME. Whoever writes an authority
	// decides who passes for a listed origin, so without it only the system's count.
	AllowedCAsAnnotation = "trust.agentpeer.dev/allowed-cas"

	// ReportPolicyName is the ValidatingAdmissionPolicy, and its binding, that hold spec.reporter of an AgentPeerReport to the
	// authenticated user, as config/admission ships them (kustomize puts its prefix before it).
	ReportPolicyName = "report-identity"
	// CardAudience is the audience of the ServiceAccount tokens that open the reconciled card.
	CardAudience = "agentpeer"
)

// Bounds of status that its writer must keep. The schema refuses what is longer.
const (
	MaxMessageLength      = 256 // of a capability's message, in characters
	MaxObserved           = 16  // transitions of a capability
	MaxObservedLength     = 64  // of one transition
	MaxCapabilityWarnings = 8
	MaxProbedWith         = 16
	MaxRefusedInputModes  = 8
	MaxMediaTypeLength    = 127
	MaxRuleLength         = 64
	MaxRecent             = 10 // entries, and outcomes that they stand for
	MaxSkills             = 16
	MaxSkillInputModes    = 8
	MaxCardWarnings       = 24
	MaxClaimSets          = 6
	MaxInterfaces         = 8 // declared interfaces
	MaxOrphanedTasks      = 8
	MaxRequestedAtLength  = 256
	MaxTaskHours          = 25
	MaxTargetLength       = 2048
	MaxReasonLength       = 64
	MaxCapabilityNames    = 16
)

// Bounds of reports that their writer must keep.
const (
	MaxReportedDivergences = 8
	MaxReportedTaskID      = 128
)

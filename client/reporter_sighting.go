package client

import (
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Sighting is one thing seen of a peer in real traffic.
type Sighting struct {
	// Peer and UID name the AgentPeer, Target and ClaimsDigest are status.target and status.card.claimsDigest of it when it was seen.
	Peer         types.NamespacedName
	UID          types.UID
	Target       string
	ClaimsDigest v1alpha1.ClaimsDigest
	// Capability that was seen to work or to diverge. StateTransitionHistory promises nothing that can be seen, and is not reported.
	Capability v1alpha1.CapabilityName
	// Honored: it was seen to work, and what follows but Time does not matter. Else it diverged:
	Honored bool
	// Reason is one of docs/reasons.md.
	Reason v1alpha1.Reason
	// Basis is what was contradicted. Card and Protocol are reported as diverged; Deadline, Behaviour and anything else as suspected, which
	// brings a probe and accuses nobody.
	Basis lifecycle.Basis
	// TaskID as the peer gave it: what is not of the safe alphabet is reported as its hash.
	TaskID string
	// Observed lists the transitions seen with their offsets, such as working@12ms. The first MaxObserved are reported; one that is not of
	// their alphabet is left out.
	Observed []string
	// Time when it was seen. Zero, or later than now: now.
	Time time.Time
}

// The shapes that the schema of AgentPeerReport asks for.
var (
	shapeTarget   = regexp.MustCompile(`^[hH][tT][tT][pP][sS]?://.`)
	shapeReason   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)
	shapeDigest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	shapeObserved = regexp.MustCompile(`^[A-Za-z0-9@.:µ-]{1,64}$`)
)

// reportable are the capabilities that a report may name.
var reportable = []v1alpha1.CapabilityName{
	v1alpha1.CapabilityStreaming, v1alpha1.CapabilityPushNotifications, v1alpha1.CapabilityExtendedAgentCard, v1alpha1.CapabilityTaskRetrieval,
	v1alpha1.CapabilityCancellation, v1alpha1.CapabilityContinuation, v1alpha1.CapabilityResubscription, v1alpha1.CapabilityInputModes,
	v1alpha1.CapabilityLifecycle,
}

// complete tells whether a report can be made of the sighting: one that the schema refuses would take all others of its peer with it.
func (s *Sighting) complete() bool {
	return s.Peer.Name != "" && s.Peer.Namespace != "" && s.UID != "" && len(s.UID) <= 64 &&
		shapeTarget.MatchString(s.Target) && len(s.Target) <= v1alpha1.MaxTargetLength && slices.Contains(reportable, s.Capability)
}

// costsTrust tells whether it is a divergence that can cost trust.
func (s *Sighting) costsTrust() bool {
	return s.Basis == lifecycle.Card || s.Basis == lifecycle.Protocol
}

// evidence is what a report says of a divergence; false if it has no reason that could be looked up.
func (s *Sighting) evidence() (v1alpha1.ReportedDivergence, bool) {
	if !shapeReason.MatchString(string(s.Reason)) {
		return v1alpha1.ReportedDivergence{}, false
	}
	basis := v1alpha1.DivergenceBasis(s.Basis)
	if !s.costsTrust() && s.Basis != lifecycle.Deadline {
		basis = v1alpha1.BasisBehaviour
	}
	d := v1alpha1.ReportedDivergence{
		Capability: v1alpha1.RequirableCapability(s.Capability), Reason: s.Reason, Basis: basis, Time: metav1.NewTime(s.Time.UTC()),
		TaskID: lifecycle.SafeID(s.TaskID),
	}
	for _, step := range s.Observed {
		if len(d.Observed) == v1alpha1.MaxObserved {
			break
		}
		if shapeObserved.MatchString(step) {
			d.Observed = append(d.Observed, step)
		}
	}
	return d, true
}

package controllers

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// statusApply is an apply-configuration of an AgentPeer's status. It says the same as the generated one, whose every field
// is a pointer, without turning each status into pointers first: an operator does this for every round of every peer. What
// the API type leaves out when empty is left out here too, and thereby given up.
type statusApply struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Status                                 trustv1alpha1.AgentPeerStatus `json:"status"`
}

var _ runtime.ApplyConfiguration = (*statusApply)(nil)

// newStatusApply applies to this very object (uid) as it was read (resourceVersion).
func newStatusApply(peer *trustv1alpha1.AgentPeer, status trustv1alpha1.AgentPeerStatus) *statusApply {
	kind, group := "AgentPeer", trustv1alpha1.GroupVersion.String()
	return &statusApply{
		TypeMetaApplyConfiguration: metav1ac.TypeMetaApplyConfiguration{Kind: &kind, APIVersion: &group},
		ObjectMetaApplyConfiguration: &metav1ac.ObjectMetaApplyConfiguration{
			Name: &peer.Name, Namespace: &peer.Namespace, UID: &peer.UID, ResourceVersion: &peer.ResourceVersion},
		Status: status,
	}
}

// IsApplyConfiguration marks it as one.
func (*statusApply) IsApplyConfiguration() {}

// GetName, GetNamespace, GetKind and GetAPIVersion are how the client finds out what it is.
func (s *statusApply) GetName() *string       { return s.Name }
func (s *statusApply) GetNamespace() *string  { return s.Namespace }
func (s *statusApply) GetKind() *string       { return s.Kind }
func (s *statusApply) GetAPIVersion() *string { return s.APIVersion }

// UnmarshalJSON takes from the API server's answer the version that the write made, and nothing else.
func (s *statusApply) UnmarshalJSON(raw []byte) error {
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	s.ResourceVersion = &answer.Metadata.ResourceVersion
	return nil
}

// version of the object: as it was read, and after the write as it was written.
func (s *statusApply) version() string { return *s.ResourceVersion }

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "trust.agentpeer.dev", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion under the name that generated code knows it by.
var SchemeGroupVersion = GroupVersion

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &AgentPeer{}, &AgentPeerList{}, &AgentPeerReport{}, &AgentPeerReportList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

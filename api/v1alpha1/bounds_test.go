package v1alpha1_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// TestTheBoundsInGoAreThoseOfTheSchema keeps the writer of status from being refused.
func TestTheBoundsInGoAreThoseOfTheSchema(t *testing.T) {
	for path, want := range map[string]int64{
		"status.capabilities":                       v1alpha1.MaxCapabilityNames,
		"status.capabilities.*.message":             v1alpha1.MaxMessageLength,
		"status.capabilities.*.observed":            v1alpha1.MaxObserved,
		"status.capabilities.*.observed.*":          v1alpha1.MaxObservedLength,
		"status.capabilities.*.warnings":            v1alpha1.MaxCapabilityWarnings,
		"status.capabilities.*.probedWith":          v1alpha1.MaxProbedWith,
		"status.capabilities.*.refusedInputModes":   v1alpha1.MaxRefusedInputModes,
		"status.capabilities.*.refusedInputModes.*": v1alpha1.MaxMediaTypeLength,
		"status.capabilities.*.rule":                v1alpha1.MaxRuleLength,
		"status.capabilities.*.reason":              v1alpha1.MaxReasonLength,
		"status.capabilities.*.recent":              v1alpha1.MaxRecent,
		"status.card.skills":                        v1alpha1.MaxSkills,
		"status.card.skills.*.inputModes":           v1alpha1.MaxSkillInputModes,
		"status.card.warnings":                      v1alpha1.MaxCardWarnings,
		"status.card.claimSets":                     v1alpha1.MaxClaimSets,
		"status.orphanedTasks":                      v1alpha1.MaxOrphanedTasks,
		"status.lastHandledRequestedAt":             v1alpha1.MaxRequestedAtLength,
		"status.rounds.tasksPerHour":                v1alpha1.MaxTaskHours,
		"status.rounds.requestedTasksPerHour":       v1alpha1.MaxTaskHours,
		"status.target":                             v1alpha1.MaxTargetLength,
		"status.card.interface.url":                 v1alpha1.MaxTargetLength,
	} {
		if got := bound(t, agentPeers, path); got != want {
			t.Errorf("the schema bounds %s at %d, Go at %d", path, got, want)
		}
	}
	for path, want := range map[string]int64{
		"spec.target":                   v1alpha1.MaxTargetLength,
		"spec.divergences":              v1alpha1.MaxReportedDivergences,
		"spec.divergences.*.reason":     v1alpha1.MaxReasonLength,
		"spec.divergences.*.taskID":     v1alpha1.MaxReportedTaskID,
		"spec.divergences.*.observed":   v1alpha1.MaxObserved,
		"spec.divergences.*.observed.*": v1alpha1.MaxObservedLength,
	} {
		if got := bound(t, agentPeerReports, path); got != want {
			t.Errorf("the schema of reports bounds %s at %d, Go at %d", path, got, want)
		}
	}
}

// TestEveryTextListAndMapIsBounded keeps rules cheap and objects small.
func TestEveryTextListAndMapIsBounded(t *testing.T) {
	for _, k := range kinds {
		schema := crd(t, k).Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, top := range []string{"spec", "status"} {
			unbounded(t, schema.Properties[top], top)
		}
	}
}

func unbounded(t *testing.T, s apiextensionsv1.JSONSchemaProps, at string) {
	t.Helper()
	if strings.HasPrefix(at, "status.conditions.*") {
		return // Kubernetes' own
	}
	switch {
	case s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time":
		t.Errorf("the length of %s is not bounded", at)
	case s.Type == "array" && s.MaxItems == nil:
		t.Errorf("the length of %s is not bounded", at)
	case s.Type == "integer" && (s.Minimum == nil || s.Maximum == nil):
		t.Errorf("the size of %s is not bounded", at)
	case s.AdditionalProperties != nil && s.MaxProperties == nil, s.XPreserveUnknownFields != nil && s.MaxProperties == nil:
		t.Errorf("the size of %s is not bounded", at)
	}
	for key, p := range s.Properties {
		unbounded(t, p, at+"."+key)
	}
	for _, inner := range []*apiextensionsv1.JSONSchemaProps{entries(s.Items), values(s.AdditionalProperties)} {
		if inner != nil {
			unbounded(t, *inner, at+".*")
		}
	}
}

// bound is the upper bound that the schema sets at a path.
func bound(t *testing.T, k kind, path string) int64 {
	t.Helper()
	s := *crd(t, k).Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, word := range strings.Split(path, ".") {
		if word == "*" {
			s = *s.Items.Schema
			continue
		}
		next, found := s.Properties[word]
		if !found {
			t.Fatalf("the schema has no %s", path)
		}
		s = next
	}
	for _, limit := range []*int64{s.MaxItems, s.MaxLength} {
		if limit != nil {
			return *limit
		}
	}
	return -1
}

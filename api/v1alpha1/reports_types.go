package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReportPolicy says what AgentPeerReports do.
type ReportPolicy struct {
	// mode says how reports are weighed. Ignore: not at all. Probe: a contradiction brings the next round of that capability forward, on
	// the share of the budget that is kept for requests. Demote: besides that, contradictions reported by quorum ServiceAccounts of from
	// within window demote at once, until a clean probe; and as many reports of good work let trust last longer, up to 8 times
	// its duration past the last good probe. Unset: the operator's default, Probe unless configured otherwise.
	// +optional
	Mode ReportMode `json:"mode,omitempty"`

	// from lists the ServiceAccounts whose reports count. Unset: with mode Probe those of everybody who may write reports in this
	// namespace; with mode Demote it must be set.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	From []ReportSource `json:"from,omitempty"`

	// quorum is how many of the ServiceAccounts in from must report the same. With 1 a single one of them can demote. Unset: 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Quorum *int32 `json:"quorum,omitempty"`

	// window is how old a report may be to count. Unset: the operator's default, 15m unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h, written like 15m or 1h30m"
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
}

// ReportMode is how reports are weighed.
//
// +kubebuilder:validation:Enum=Ignore;Probe;Demote
type ReportMode string

// The modes of reports.
const (
	ReportsIgnore ReportMode = "Ignore"
	ReportsProbe  ReportMode = "Probe"
	ReportsDemote ReportMode = "Demote"
)

// ReportSource is a ServiceAccount.
type ReportSource struct {
	// namespace of the ServiceAccount. Unset: that of this object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a ServiceAccount, without system:serviceaccount: and without a namespace"
	// +required
	Name string `json:"name"`
}

// ReportedStatus is what reports did to one capability.
type ReportedStatus struct {
	// reporters is how many ServiceAccounts the last quorum had.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32
	// +optional
	Reporters int32 `json:"reporters,omitempty"`

	// newestTime is the newest contradiction of that quorum: a clean round begun after it lifts what it did.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	NewestTime *metav1.Time `json:"newestTime,omitempty"`

	// liftedTime is when a clean round last lifted a demotion by reports. A quorum that comes again within a day of it demotes for the
	// growing time, with reason ProbesAndReportsDisagree.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z')",message="must be an RFC 3339 time in UTC"
	// +optional
	LiftedTime *metav1.Time `json:"liftedTime,omitempty"`
}

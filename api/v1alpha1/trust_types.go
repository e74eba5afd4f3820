package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrustPolicy says how strictly observations are judged and how long trust lasts.
type TrustPolicy struct {
	// mode says what verdicts do. Enforce lets the decision follow them. Observe judges in the same way, but decides as
	// the card says, with reason ObserveOnly, and shows beside it what Enforce would have decided. Unset: the operator's
	// default, Enforce unless configured otherwise.
	// +kubebuilder:validation:Enum=Enforce;Observe
	// +optional
	Mode TrustMode `json:"mode,omitempty"`

	// duration of trust in Streaming after its last good probe; what is asked in every sixth round is trusted six times as
	// long. At least 3 times probes.behavior.interval; set without it, it brings the interval down to a third of itself, as
	// far as the operator's floor and the budget allow; beyond that trust lapses between rounds, as it never lasts longer than
	// is said here. Unset: the operator's default, 3h unless configured otherwise, and at least 3 times the interval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('8760h')",message="must be from 1ms to 8760h, written like 3h or 1h30m"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// demoteAfter is how many contradictions take trust away, where the agent does not refuse outright.
	// +optional
	DemoteAfter DemoteAfter `json:"demoteAfter,omitzero"`

	// restoreAfter is how many clean rounds in a row lift a demotion. Unset: the operator's default, 2 unless configured
	// otherwise.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	RestoreAfter *int32 `json:"restoreAfter,omitempty"`

	// demotion bounds how long a demotion lasts at least.
	// +optional
	Demotion DemotionTime `json:"demotion,omitzero"`
}

// TrustMode is what verdicts do.
type TrustMode string

// The modes of trust.
const (
	TrustEnforce TrustMode = "Enforce"
	TrustObserve TrustMode = "Observe"
)

// DemoteAfter is a count of contradictions within a window of conclusive rounds.
type DemoteAfter struct {
	// diverged is how many contradictions among the last ofLast conclusive rounds demote. At least 2, because one
	// contradiction alone never demotes. Unset: the operator's default, 2 unless configured otherwise.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	// +optional
	Diverged *int32 `json:"diverged,omitempty"`

	// ofLast is how many conclusive rounds are looked at. Unset: the operator's default, 3 unless configured otherwise.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	// +optional
	OfLast *int32 `json:"ofLast,omitempty"`
}

// DemotionTime bounds how long a demotion lasts at least.
type DemotionTime struct {
	// minDuration of a first demotion; each further one lasts twice as long, up to maxDuration, and good conduct shrinks it
	// again. Unset: the operator's default, 15m unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('720h')",message="must be from 1ms to 720h, written like 15m or 1h30m"
	// +optional
	MinDuration *metav1.Duration `json:"minDuration,omitempty"`

	// maxDuration that the least time of a demotion can grow to. Unset: the operator's default, 6h unless configured
	// otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('720h')",message="must be from 1ms to 720h, written like 6h or 1h30m"
	// +optional
	MaxDuration *metav1.Duration `json:"maxDuration,omitempty"`
}

// Deadlines are how long to wait for a task.
type Deadlines struct {
	// wait is how long to wait for a task to move before asking for it by polling. Unset: the operator's default, 30s unless
	// configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('24h')",message="must be from 1ms to 24h, written like 30s or 1h30m"
	// +optional
	Wait *metav1.Duration `json:"wait,omitempty"`

	// hard is how long a task may stay unfinished before it is given up, that is cancelled or issued anew. Tasks that wait
	// for input do not count. Unset: the operator's default, 5m unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('168h')",message="must be from 1ms to 168h, written like 5m or 1h30m"
	// +optional
	Hard *metav1.Duration `json:"hard,omitempty"`
}

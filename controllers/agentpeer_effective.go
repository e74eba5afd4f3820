package controllers

import (
	"time"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// effective yields the settings that hold for a spec: its own values, the operator's where it is silent, within the
// operator's floors and ceilings. Every field of the result is set. Values that only contradict each other once bounds
// and defaults are mixed are mended, each in the direction that asks less of the peer or keeps trust honest.
func effective(spec *trustv1alpha1.AgentPeerSpec, config Config) Settings {
	s := Settings{
		Reachability: *spec.Probes.Reachability.DeepCopy(),
		Behavior:     *spec.Probes.Behavior.DeepCopy(),
		Trust:        *spec.Trust.DeepCopy(),
		Deadlines:    *spec.Deadlines.DeepCopy(),
		Reports:      *spec.Reports.DeepCopy(),
	}
	s.fill(config.Defaults, false)
	for _, x := range settings {
		n, _ := x.value(&s)
		if floor, ok := x.value(&config.Floors); ok && n < floor {
			x.set(&s, floor)
		}
		if ceiling, ok := x.value(&config.Ceilings); ok && n > ceiling {
			x.set(&s, ceiling)
		}
	}
	s.fitTrust(spec, config)
	s.mend()
	return s
}

// fitTrust: trust should outlive two missed rounds. What a spec says outright is kept, within the operator's bounds: trust
// never lasts longer than it says, and no peer is asked more often than it says. Where both are said and bounds set them at
// odds, or less is said than the floor can keep up with, trust may lapse between rounds.
func (s *Settings) fitTrust(spec *trustv1alpha1.AgentPeerSpec, config Config) {
	interval, trusted := s.Behavior.Interval.Duration, s.Trust.Duration.Duration
	switch {
	case trusted >= 3*interval:
	case spec.Trust.Duration == nil:
		trusted = 3 * interval
		if c := config.Ceilings.Trust.Duration; c != nil {
			trusted = min(trusted, c.Duration)
		}
		s.Trust.Duration = duration(trusted)
	case spec.Probes.Behavior.Interval == nil:
		third := max((trusted / 3).Truncate(time.Second), time.Second)
		if f := config.Floors.Behavior.Interval; f != nil {
			third = max(third, f.Duration)
		}
		s.Behavior.Interval = duration(min(third, interval))
	}
}

func (s *Settings) mend() {
	b, t := &s.Behavior, &s.Trust
	if b.ConfirmInterval.Duration > b.Interval.Duration {
		b.ConfirmInterval = duration(b.Interval.Duration)
	}
	if b.FirstEventTimeout.Duration > b.TaskTimeout.Duration {
		b.FirstEventTimeout = duration(b.TaskTimeout.Duration)
	}
	if b.IdleTimeout.Duration > b.TaskTimeout.Duration {
		b.IdleTimeout = duration(b.TaskTimeout.Duration)
	}
	if *t.DemoteAfter.OfLast < *t.DemoteAfter.Diverged {
		*t.DemoteAfter.OfLast = *t.DemoteAfter.Diverged
	}
	if t.Demotion.MaxDuration.Duration < t.Demotion.MinDuration.Duration {
		t.Demotion.MaxDuration = duration(t.Demotion.MinDuration.Duration)
	}
	if s.Deadlines.Hard.Duration < s.Deadlines.Wait.Duration {
		s.Deadlines.Hard = duration(s.Deadlines.Wait.Duration)
	}
	if s.Reports.Mode == trustv1alpha1.ReportsDemote && len(s.Reports.From) == 0 {
		s.Reports.Mode = trustv1alpha1.ReportsProbe // nobody is named whose word could demote
	}
}

// reports is how the trust machine weighs what orchestrators report.
func (s *Settings) reports() trust.ReportPolicy {
	return trust.ReportPolicy{Mode: trust.ReportMode(s.Reports.Mode), Quorum: int(*s.Reports.Quorum), Window: s.Reports.Window.Duration}
}

// policy is what the trust machine judges by.
func (s *Settings) policy() trust.Policy {
	return trust.Policy{
		Interval:             s.Behavior.Interval.Duration,
		ConfirmInterval:      s.Behavior.ConfirmInterval.Duration,
		ReachabilityInterval: s.Reachability.Interval.Duration,
		Duration:             s.Trust.Duration.Duration,
		DemoteDiverged:       int(*s.Trust.DemoteAfter.Diverged),
		DemoteOfLast:         int(*s.Trust.DemoteAfter.OfLast),
		RestoreAfter:         int(*s.Trust.RestoreAfter),
		MinDemotion:          s.Trust.Demotion.MinDuration.Duration,
		MaxDemotion:          s.Trust.Demotion.MaxDuration.Duration,
		MaxTasksPerDay:       int(*s.Behavior.MaxTasksPerDay),
		SkipReachability:     s.Reachability.Mode == trustv1alpha1.ReachabilityNone,
	}
}

// timing bounds a probe: the probe's own defaults, with what users may set laid over them.
func (s *Settings) timing(t probe.Timing) probe.Timing {
	t.FirstEvent = s.Behavior.FirstEventTimeout.Duration
	t.Idle = s.Behavior.IdleTimeout.Duration
	t.Task = s.Behavior.TaskTimeout.Duration
	t.Wait = s.Deadlines.Wait.Duration
	t.Hard = s.Deadlines.Hard.Duration
	return t
}

// observe says whether verdicts are shown only, and decide nothing.
func (s *Settings) observe() bool { return s.Trust.Mode == trustv1alpha1.TrustObserve }

// show is the part of the settings that status shows.
func (s *Settings) show() *trustv1alpha1.EffectiveSettings {
	return &trustv1alpha1.EffectiveSettings{Reachability: s.Reachability, Behavior: s.Behavior, Trust: s.Trust,
		Reports: trustv1alpha1.EffectiveReports{Mode: s.Reports.Mode, Quorum: s.Reports.Quorum, Window: s.Reports.Window}}
}

// soonest of the times that are set; zero if none is.
func soonest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

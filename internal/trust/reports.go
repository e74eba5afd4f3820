package trust

import "time"

// Source is where a verdict comes from. Empty: the operator's own probes.
type Source string

// SourceReport is a quorum of orchestrators.
const SourceReport Source = "Report"

// Reports is what orchestrators' reports did to a capability. The zero value: nothing.
type Reports struct {
	// Reporters is how many ServiceAccounts the last quorum had, Newest its newest contradiction: only a clean round begun after that answers it.
	Reporters int
	Newest    time.Time
	// Lifted is when the clean round began that last ended what reports had done. A quorum that comes again within a day of it contradicts our
	// probes.
	Lifted time.Time
}

// reportsStand is how long a demotion by reports stands that no probe confirms or lifts: as long as reports are kept. What nobody can ask
// again, for want of a message or of a budget, would else stay demoted for ever on hearsay. No window of reports is longer.
const reportsStand = day

// disagreeing: reports came again although a clean round had lifted what they did before. Probes go without their mark then.
func (r *Record) disagreeing() bool {
	return r.State == Demoted && !r.Reports.Lifted.IsZero() && r.Reports.Newest.After(r.Reports.Lifted)
}

// provisional: demoted by reports alone, at once and with no least time, until a probe confirms or lifts it. To probes it is as good as not
// demoted: their contradictions need confirming as ever.
func (r *Record) provisional() bool {
	return r.State == Demoted && r.Source == SourceReport && !r.disagreeing()
}

// condemned: demoted, and not by reports alone.
func (r *Record) condemned() bool { return r.State == Demoted && !r.provisional() }

// Lapses is when the clock alone ends the state of a capability; zero if it never does.
func (r Record) Lapses() time.Time {
	switch {
	case r.State == Trusted:
		return r.Expiration
	case r.provisional():
		return r.Reports.Newest.Add(reportsStand)
	}
	return time.Time{}
}

// outlived: a demotion by reports that nothing confirmed or lifted in time.
func (r *Record) outlived(now time.Time) bool { return r.provisional() && !r.Lapses().After(now) }

// lapseReports ends such a demotion. Nothing valid is known then, which accuses nobody.
func (r *Record) lapseReports() []Transition {
	ts := r.become(Unverified, ReasonReportsUnanswered, r.Lapses())
	r.Reports, r.Warnings, r.Message, r.Observed, r.Rule = Reports{}, nil, "", nil, ""
	return ts
}

package controllers

import (
	"github.com/prometheus/client_golang/prometheus"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Metrics are the operator's own figures. No label ever holds a text that a peer chose.
type Metrics struct {
	registry          prometheus.Registerer
	trustState        *prometheus.GaugeVec
	rounds            *prometheus.CounterVec
	roundDuration     *prometheus.HistogramVec
	tasks             prometheus.Counter
	demotions         *prometheus.CounterVec
	demotionsReversed *prometheus.CounterVec
	lastSuccess       prometheus.Gauge
	writes            prometheus.Counter
	reports           *prometheus.CounterVec
	policyPresent     prometheus.Gauge
}

// Outcomes of a round as a whole, the label values of agentpeer_rounds_total.
const (
	roundHonored      = "Honored"
	roundDiverged     = "Diverged"
	roundInconclusive = "Inconclusive"
	// roundDiscarded: asked for an older generation or another target.
	roundDiscarded = "Discarded"
	// roundWithheld: the fleet fuse did not let it count.
	roundWithheld = "Withheld"
)

// NewMetrics makes the figures and registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		trustState: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "agentpeer_trust_state",
			Help: "1 for the trust state that a capability of a peer has now; other states have no series.",
		}, []string{"namespace", "name", "capability", "state"}),
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentpeer_rounds_total",
			Help: "Rounds that came back, by kind (Reachability, Behavior) and outcome.",
		}, []string{"kind", "outcome"}),
		roundDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "agentpeer_round_duration_seconds",
			Help:    "How long rounds took, from first dial to report.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		}, []string{"kind"}),
		tasks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agentpeer_probe_tasks_total",
			Help: "Tasks that probes made peers' handlers run. Each may cost its owner a model call.",
		}),
		demotions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentpeer_demotions_total",
			Help: "Demotions, by capability, reason and source: Probe, or Report where orchestrators reported what was seen.",
		}, []string{"capability", "reason", "source"}),
		demotionsReversed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentpeer_demotions_reversed_total",
			Help: "Demotions lifted by the first probes after them with unchanged claims: the proxy for false demotions.",
		}, []string{"capability"}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "agentpeer_prober_last_success_timestamp_seconds",
			Help: "When a round last reached any peer. It stands still when the operator's own network is down.",
		}),
		writes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agentpeer_status_writes_total",
			Help: "Status writes that the API server accepted.",
		}),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentpeer_reports_total",
			Help: "AgentPeerReports that were acknowledged, each time that they said something new or came to count otherwise, by outcome: " +
				"the reason of their condition Accepted, or Deleted.",
		}, []string{"outcome"}),
		policyPresent: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "agentpeer_report_policy_present",
			Help: "1 if the admission policy that proves who writes AgentPeerReports stands and denies; at 0 all reports are ignored.",
		}),
	}
	reg.MustRegister(m.trustState, m.rounds, m.roundDuration, m.tasks, m.demotions, m.demotionsReversed, m.lastSuccess,
		m.writes, m.reports, m.policyPresent)
	m.registry = reg
	return m
}

// RegisterBacklog publishes how many due rounds wait for a free slot, as backlog tells it.
func RegisterBacklog(reg prometheus.Registerer, backlog func() int) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "agentpeer_backlog",
		Help: "Rounds that are due and wait for a free slot of the Runner.",
	}, func() float64 { return float64(backlog()) }))
}

// round counts one report that was folded, or consumed otherwise.
func (m *Metrics) round(report probe.Report, outcome string) {
	kind := string(report.Round.Kind)
	m.rounds.WithLabelValues(kind, outcome).Inc()
	if took := report.Round.Finished.Sub(report.Round.Started); took >= 0 {
		m.roundDuration.WithLabelValues(kind).Observe(took.Seconds())
	}
	m.tasks.Add(float64(max(report.Round.Tasks, 0)))
	if report.Round.Reach.Outcome == trust.Honored {
		m.lastSuccess.Set(float64(report.Round.Finished.Unix()))
	}
}

// transition counts one change of trust.
func (m *Metrics) transition(t trust.Transition) {
	switch {
	case t.To == trust.Demoted:
		source := t.Source
		if source == "" {
			source = trust.Source(trustv1alpha1.SourceProbe)
		}
		m.demotions.WithLabelValues(string(t.Capability), string(t.Reason), string(source)).Inc()
	case t.FirstReprobe:
		m.demotionsReversed.WithLabelValues(string(t.Capability)).Inc()
	}
}

// proven shows whether the names of reporters are.
func (m *Metrics) proven(yes bool) {
	m.policyPresent.Set(0)
	if yes {
		m.policyPresent.Set(1)
	}
}

// states replaces the series of one peer: shown is what its series show now, next what they shall show.
func (m *Metrics) states(namespace, name string, shown, next map[trust.Capability]trust.State) {
	for capability, state := range shown {
		if next[capability] != state {
			m.trustState.DeleteLabelValues(namespace, name, string(capability), string(state))
		}
	}
	for capability, state := range next {
		m.trustState.WithLabelValues(namespace, name, string(capability), string(state)).Set(1)
	}
}

// watchFuse publishes whom the fuse holds back.
func (m *Metrics) watchFuse(blown func() (all, namespaces float64)) {
	gauge := func(scope string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "agentpeer_fuse_blown",
			Help: "How far the fleet fuse keeps rounds from counting, because too many peers fail alike: suspect our own network first. " +
				"Scope All: 1 while it holds back everybody's. Scope Namespace: of how many namespaces it holds back theirs alone.",
			ConstLabels: prometheus.Labels{"scope": scope},
		}, value))
	}
	gauge("All", func() float64 { all, _ := blown(); return all })
	gauge("Namespace", func() float64 { _, namespaces := blown(); return namespaces })
}

// outcomeOf sums a round up: a contradiction outweighs a promise kept, which outweighs nothing learned.
func outcomeOf(r trust.Round) string {
	outcome := roundInconclusive
	if r.Kind == trust.Reachability {
		return string(r.Reach.Outcome)
	}
	for _, o := range r.Observations {
		switch o.Outcome {
		case trust.Diverged:
			return roundDiverged
		case trust.Honored:
			outcome = roundHonored
		}
	}
	return outcome
}

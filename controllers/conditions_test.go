package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// knownPeer is one that was reached and whose card was read, at generation 4.
func knownPeer(change func(*conditionFacts)) conditionFacts {
	f := conditionFacts{
		known: trust.Peer{Target: "https://a/", Claims: trust.Claims{Digest: digestA},
			Rounds: trust.Rounds{Last: 7, LastCheap: epoch, ReachReason: trust.ReasonHonored, Usable: true, UsableReason: trust.ReasonHonored}},
		generation: 4, reported: 4, now: epoch,
	}
	change(&f)
	return f
}

func TestConditions(t *testing.T) {
	tests := map[string]struct {
		facts  conditionFacts
		kind   string
		want   metav1.ConditionStatus
		reason string
		why    string
	}{
		"an accepted spec is Ready": {knownPeer(func(*conditionFacts) {}), "Ready", "True", "Accepted", "its references resolve"},
		"out of reach and Ready": {knownPeer(func(f *conditionFacts) { f.known.Rounds.ReachFailures = 99 }), "Ready", "True", "Accepted",
			"no rollout hangs on a peer"},
		"two failures prove nothing": {knownPeer(func(f *conditionFacts) { f.known.Rounds.ReachFailures = 2 }), "Reachable", "True", "Reachable",
			"networks blink"},
		"three failures do": {knownPeer(func(f *conditionFacts) {
			f.known.Rounds.ReachFailures, f.known.Rounds.ReachReason = 3, trust.ReasonRateLimited
		}), "Reachable", "False", "RateLimited", "design 4.11"},
		"never reached yet": {knownPeer(func(f *conditionFacts) {
			f.known.Claims, f.known.Rounds.ReachFailures, f.known.Rounds.ReachReason = trust.Claims{}, 1, trust.ReasonUnreachable
		}), "Reachable", "Unknown", "Unreachable", "one failure proves nothing, and no success either"},
		"no round yet":  {conditionFacts{generation: 1, now: epoch}, "Reachable", "Unknown", "NotProbed", "known conditions are there from the start"},
		"not asked for": {conditionFacts{skipReachability: true, generation: 1, now: epoch}, "Reachable", "Unknown", "NotAsked", "mode None"},
		"no card yet":   {conditionFacts{generation: 1, now: epoch}, "CardValid", "Unknown", "NotProbed", "nothing was read"},
		"a card without an interface": {knownPeer(func(f *conditionFacts) {
			f.known.Rounds.Usable, f.known.Rounds.UsableReason = false, trust.ReasonNoUsableInterface
		}), "CardValid", "False", "NoUsableInterface", "nobody can use it"},
		"what is missing may come": {knownPeer(func(f *conditionFacts) { f.fault = &fault{reason: "SecretNotFound"} }),
			"Reconciling", "True", "WaitingForReference", "kstatus: InProgress"},
		"and is not stalled": {knownPeer(func(f *conditionFacts) { f.fault = &fault{reason: "SecretNotFound"} }), "Stalled", "", "", "never both"},
		"only an edit helps": {knownPeer(func(f *conditionFacts) { f.fault = &fault{reason: "InvalidSpec", stalled: true} }),
			"Stalled", "True", "InvalidSpec", "kstatus: Failed"},
		"all is well": {knownPeer(func(*conditionFacts) {}), "Reconciling", "", "", "abnormal conditions are present only when True"},
		"a requirement never probed": {knownPeer(func(f *conditionFacts) { f.required = []trust.Capability{trust.Streaming} }),
			"RequirementsMet", "Unknown", "RequirementUnverified", "nothing is known against it"},
		"a requirement demoted": {knownPeer(func(f *conditionFacts) {
			f.required = []trust.Capability{trust.Streaming}
			f.known.Records = []trust.Record{{Capability: trust.Streaming, Declared: trust.Declared, State: trust.Demoted, Reason: trust.ReasonStreamEmpty}}
		}), "RequirementsMet", "False", "RequirementNotMet", "it is named"},
		"nothing required": {knownPeer(func(*conditionFacts) {}), "RequirementsMet", "True", "NothingRequired", "gates may always ask"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := meta.FindStatusCondition(conditions(nil, test.facts), test.kind)
			switch {
			case c == nil && test.want != "":
				t.Fatalf("no condition %s: %s", test.kind, test.why)
			case c != nil && (c.Status != test.want || c.Reason != test.reason):
				t.Errorf("%s is %s (%s), want %s (%s): %s", test.kind, c.Status, c.Reason, test.want, test.reason, test.why)
			}
		})
	}
}

func TestTrustedNamesADemotedCoreBehaviourThatIsNotRequired(t *testing.T) {
	streaming := trust.Record{Capability: trust.Streaming, Declared: trust.Declared, State: trust.Trusted, Reason: trust.ReasonHonored, Expiration: epoch.Add(time.Hour)}
	demoted := func(c trust.Capability) trust.Record {
		return trust.Record{Capability: c, State: trust.Demoted, Reason: trust.ReasonEventsAfterCancel}
	}
	tests := map[string]struct {
		records  []trust.Record
		required []trust.Capability
		want     metav1.ConditionStatus
		message  string
	}{
		"all is well": {[]trust.Record{streaming}, nil, "True", "every declared and required capability is Trusted"},
		"a core behaviour is demoted": {[]trust.Record{demoted(trust.Cancellation), streaming}, nil, "True",
			"every declared and required capability is Trusted; Cancellation is Demoted and not required"},
		"two are": {[]trust.Record{demoted(trust.Cancellation), demoted(trust.Lifecycle), streaming}, nil, "True",
			"every declared and required capability is Trusted; Cancellation, Lifecycle are Demoted and not required"},
		"one of two is required": {[]trust.Record{demoted(trust.Cancellation), demoted(trust.Lifecycle), streaming},
			[]trust.Capability{trust.Lifecycle}, "False", "Lifecycle is Demoted: EventsAfterCancel; Cancellation is Demoted and not required"},
		"nothing is declared": {[]trust.Record{demoted(trust.Cancellation)}, nil, "Unknown",
			"nothing was verified; Cancellation is Demoted and not required"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := knownPeer(func(f *conditionFacts) { f.known.Records, f.required = test.records, test.required })
			c := meta.FindStatusCondition(conditions(nil, f), trustv1alpha1.ConditionTrusted)
			if c.Status != test.want || c.Message != test.message {
				t.Errorf("Trusted is %s: %q, want %s: %q", c.Status, c.Message, test.want, test.message)
			}
		})
	}
}

func TestAConditionKeepsTheGenerationOfTheReportItRestsOn(t *testing.T) {
	first := conditions(nil, knownPeer(func(*conditionFacts) {}))
	edited := knownPeer(func(f *conditionFacts) { f.generation, f.reported, f.now = 5, 0, epoch.Add(time.Hour) })
	next := conditions(first, edited)

	if c := meta.FindStatusCondition(next, trustv1alpha1.ConditionReachable); c.ObservedGeneration != 4 {
		t.Errorf("Reachable carries generation %d, want 4, that of the last report", c.ObservedGeneration)
	}
	if c := meta.FindStatusCondition(next, trustv1alpha1.ConditionReady); c.ObservedGeneration != 5 {
		t.Errorf("Ready carries generation %d, want 5, that of the spec", c.ObservedGeneration)
	}
	for _, c := range next {
		if !c.LastTransitionTime.Time.Equal(epoch) {
			t.Errorf("lastTransitionTime of %s moved although its status did not", c.Type)
		}
	}
}

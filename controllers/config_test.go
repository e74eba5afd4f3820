package controllers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func writeConfig(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWithoutAFileTheDefaultsOfTheDesignHold(t *testing.T) {
	config, err := LoadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	s := effective(&trustv1alpha1.AgentPeerSpec{}, config)
	if diff := cmp.Diff(trust.DefaultPolicy(), s.policy()); diff != "" {
		t.Errorf("policy (-default of the trust package +ours):\n%s", diff)
	}
	if diff := cmp.Diff(probe.DefaultTiming(), s.timing(probe.DefaultTiming())); diff != "" {
		t.Errorf("timing (-default of the probe package +ours):\n%s", diff)
	}
	if err := config.validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
}

func TestAFileIsLaidOverTheDefaults(t *testing.T) {
	config, err := LoadConfig(writeConfig(t, `
defaults:
  reachability: {mode: Card}
  behavior: {interval: 30m}
floors:
  behavior: {interval: 10m}
ceilings:
  behavior: {maxTasksPerDay: 100}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := effective(&trustv1alpha1.AgentPeerSpec{}, config)
	if s.Reachability.Mode != trustv1alpha1.ReachabilityCard || s.Behavior.Interval.Duration != 30*time.Minute {
		t.Errorf("effective settings are %+v, want the file's", s)
	}
	if s.Reachability.Interval.Duration != 5*time.Minute {
		t.Errorf("reachability.interval is %s, want the built-in default", s.Reachability.Interval.Duration)
	}
}

func TestABadConfigurationSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"an unknown field":                      {"defaults: {behaviour: {}}", `unknown field "defaults.behaviour"`},
		"a doubled field":                       {"defaults: {}\ndefaults: {}", `key "defaults" already set`},
		"no duration":                           {"defaults: {behavior: {interval: soon}}", `invalid duration "soon"`},
		"a floor above its ceiling":             {"floors: {behavior: {maxTasksPerDay: 9000}}", "floors.behavior.maxTasksPerDay: 9000 is above its ceiling 1440"},
		"a default below its floor":             {"defaults: {behavior: {interval: 1s, confirmInterval: 1s}}", "defaults.behavior.interval: 1s is below its floor 1m0s"},
		"a default above its ceiling":           {"ceilings: {trust: {duration: 1h}}", "defaults.trust.duration: 3h0m0s is above its ceiling 1h0m0s"},
		"trust shorter than three rounds":       {"defaults: {behavior: {interval: 2h}}", "want at least 3 times defaults.behavior.interval (2h0m0s)"},
		"one contradiction that demotes":        {"defaults: {trust: {demoteAfter: {diverged: 1}}}", "one contradiction never demotes"},
		"a mode that does not exist":            {"defaults: {trust: {mode: Watch}}", `defaults.trust.mode: "Watch", want Enforce or Observe`},
		"a bound for what cannot be bound":      {"floors: {trust: {mode: Observe}}", "trust.mode has no floor or ceiling"},
		"a mode of reports that does not exist": {"defaults: {reports: {mode: Trust}}", `defaults.reports.mode: "Trust", want Ignore, Probe or Demote`},
		"a bound for a mode of reports":         {"ceilings: {reports: {mode: Probe}}", "reports.mode has no floor or ceiling"},
		"a quorum of nobody":                    {"defaults: {reports: {quorum: 0}}", "defaults.reports.quorum: 0, want at least 1"},
		"reports that are too old":              {"ceilings: {reports: {window: 48h}}", "ceilings.reports.window: 48h0m0s, want at most 24h"},
		"whose reports count":                   {"defaults: {reports: {from: [{name: x}]}}", "whose reports count is said by each AgentPeer, in spec.reports.from"},
		"a negative time":                       {"defaults: {deadlines: {wait: -1s}}", "defaults.deadlines.wait: -1s, want more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeConfig(t, test.file)
			_, err := LoadConfig(path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want it to name the file and say %q", err, test.want)
			}
		})
	}
	if _, err := LoadConfig("/does/not/exist.yaml"); err == nil {
		t.Error("a file that does not exist was accepted")
	}
}

// Whatever is set, the interval stays a time that a status can hold and a controller can keep.
func TestTheShortestTrustDoesNotMakeTheOperatorSpin(t *testing.T) {
	config := DefaultConfig()
	config.Floors = Settings{}
	spec := trustv1alpha1.AgentPeerSpec{Trust: trustv1alpha1.TrustPolicy{Duration: duration(time.Millisecond)}}
	if got := effective(&spec, config).Behavior.Interval.Duration; got != time.Second {
		t.Errorf("asked every %s without a floor, want 1 s", got)
	}
}

func TestEffectiveSettings(t *testing.T) {
	tests := map[string]struct {
		spec func(*trustv1alpha1.AgentPeerSpec)
		want func(*Settings)
	}{
		"the spec's own value holds within the bounds": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.Interval = duration(10 * time.Minute) },
			want: func(s *Settings) { s.Behavior.Interval = duration(10 * time.Minute) },
		},
		"a floor raises": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Reachability.Interval = duration(time.Second) },
			want: func(s *Settings) { s.Reachability.Interval = duration(10 * time.Second) },
		},
		"a ceiling lowers": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.MaxTasksPerDay = ptr.To[int32](100000) },
			want: func(s *Settings) { s.Behavior.MaxTasksPerDay = ptr.To[int32](1440) },
		},
		"no tasks at all is a choice": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.MaxTasksPerDay = ptr.To[int32](0) },
			want: func(s *Settings) { s.Behavior.MaxTasksPerDay = ptr.To[int32](0) },
		},
		"trust outlives two missed rounds where only the interval was chosen": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.Interval = duration(6 * time.Hour) },
			want: func(s *Settings) {
				s.Behavior.Interval, s.Trust.Duration = duration(6*time.Hour), duration(18*time.Hour)
			},
		},
		"but not beyond the operator's ceiling": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.Interval = duration(100 * time.Hour) },
			want: func(s *Settings) {
				s.Behavior.Interval, s.Trust.Duration = duration(100*time.Hour), duration(168*time.Hour)
			},
		},
		"who asks for shorter trust alone gets it, and is asked more often instead": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Trust.Duration = duration(10 * time.Minute) },
			want: func(s *Settings) {
				s.Trust.Duration, s.Behavior.Interval = duration(10*time.Minute), duration(200*time.Second)
			},
		},
		"not below the operator's floor: trust lapses between rounds rather than outlive what was asked": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Trust.Duration = duration(2 * time.Minute) },
			want: func(s *Settings) {
				s.Trust.Duration, s.Behavior.Interval = duration(2*time.Minute), duration(time.Minute)
				s.Behavior.ConfirmInterval = duration(time.Minute)
			},
		},
		"nor where the floor raised the interval that was asked": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) {
				s.Trust.Duration, s.Probes.Behavior.Interval = duration(30*time.Second), duration(10*time.Second)
			},
			want: func(s *Settings) {
				s.Trust.Duration, s.Behavior.Interval = duration(30*time.Second), duration(time.Minute)
				s.Behavior.ConfirmInterval = duration(time.Minute)
			},
		},
		"nobody is asked more often than was chosen where a ceiling shortens trust": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) {
				s.Trust.Duration, s.Probes.Behavior.Interval = duration(300*time.Hour), duration(100*time.Hour)
			},
			want: func(s *Settings) {
				s.Trust.Duration, s.Behavior.Interval = duration(168*time.Hour), duration(100*time.Hour)
			},
		},
		"longer trust alone changes nothing else": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Trust.Duration = duration(6 * time.Hour) },
			want: func(s *Settings) { s.Trust.Duration = duration(6 * time.Hour) },
		},
		"confirming is never slower than asking": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.Interval = duration(90 * time.Second) },
			want: func(s *Settings) {
				s.Behavior.Interval, s.Behavior.ConfirmInterval = duration(90*time.Second), duration(90*time.Second)
			},
		},
		"timeouts fit into the task's": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Probes.Behavior.TaskTimeout = duration(10 * time.Second) },
			want: func(s *Settings) {
				s.Behavior.TaskTimeout, s.Behavior.FirstEventTimeout = duration(10*time.Second), duration(10*time.Second)
				s.Behavior.IdleTimeout = duration(10 * time.Second)
			},
		},
		"the window holds what is counted in it": {
			spec: func(s *trustv1alpha1.AgentPeerSpec) { s.Trust.DemoteAfter.Diverged = ptr.To[int32](5) },
			want: func(s *Settings) {
				s.Trust.DemoteAfter.Diverged, s.Trust.DemoteAfter.OfLast = ptr.To[int32](5), ptr.To[int32](5)
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var spec trustv1alpha1.AgentPeerSpec
			test.spec(&spec)
			want := effective(&trustv1alpha1.AgentPeerSpec{}, DefaultConfig())
			test.want(&want)
			before := spec.DeepCopy()
			if diff := cmp.Diff(want, effective(&spec, DefaultConfig())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, &spec); diff != "" {
				t.Errorf("the spec was changed:\n%s", diff)
			}
		})
	}
}

func TestWhateverAProbeWaitsByHasACeiling(t *testing.T) {
	config := DefaultConfig()
	for _, x := range settings {
		waits := strings.HasSuffix(x.name, "Timeout") || strings.HasPrefix(x.name, "deadlines.")
		if _, ok := x.value(&config.Ceilings); waits && !ok {
			t.Errorf("%s has no ceiling: one spec could hold a place for days", x.name)
		}
	}
}

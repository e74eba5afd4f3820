package controllers

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Config is the operator's own configuration: what holds where a spec is silent, and how far a spec may go. Each of the first
// three has the shape of a spec's settings, and every field is optional. Fields left out keep DefaultConfig's value.
type Config struct {
	// Defaults hold where a spec is silent.
	Defaults Settings `json:"defaults,omitempty"`
	// Floors raise durations and counts that are below them.
	Floors Settings `json:"floors,omitempty"`
	// Ceilings lower durations and counts that are above them.
	Ceilings Settings `json:"ceilings,omitempty"`
	// ServiceAccountTokens says which tokens of ServiceAccounts may be sent to agents.
	ServiceAccountTokens ServiceAccountTokens `json:"serviceAccountTokens,omitempty"`
}

// ServiceAccountTokens are what spec.auth.serviceAccount is allowed. Tenants choose neither: an audience of theirs could be one that
// gives rights somewhere else.
type ServiceAccountTokens struct {
	// Audience of the tokens, such as https://agents.example.com. None of the API server's own. Empty: no tokens are requested.
	Audience string `json:"audience,omitempty"`
	// Duration is how long a token lives, from 10m (which it is if unset) to 1h. It is used for the first half, so that a round has
	// the other.
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// Settings are what a tenant may set and an operator may bound.
type Settings struct {
	// Reachability, as spec.probes.reachability.
	Reachability trustv1alpha1.ReachabilityProbe `json:"reachability,omitempty"`
	// Behavior, as spec.probes.behavior.
	Behavior trustv1alpha1.BehaviorProbe `json:"behavior,omitempty"`
	// Trust, as spec.trust.
	Trust trustv1alpha1.TrustPolicy `json:"trust,omitempty"`
	// Deadlines, as spec.deadlines.
	Deadlines trustv1alpha1.Deadlines `json:"deadlines,omitempty"`
	// Reports, as spec.reports; from can only be said there.
	Reports trustv1alpha1.ReportPolicy `json:"reports,omitempty"`
}

// DefaultConfig holds the defaults of the design. Its floors keep a tenant from turning the operator into a load on a
// peer or on the API server, its ceilings from buying more probes than a peer's owner would expect, and from rounds that hold a place for
// hours: whatever a probe waits by has one.
func DefaultConfig() Config {
	return Config{
		Defaults: Settings{
			Reachability: trustv1alpha1.ReachabilityProbe{
				Interval: duration(5 * time.Minute), Mode: trustv1alpha1.ReachabilityCardAndTask},
			Behavior: trustv1alpha1.BehaviorProbe{
				Interval: duration(time.Hour), ConfirmInterval: duration(2 * time.Minute), TaskTimeout: duration(90 * time.Second),
				FirstEventTimeout: duration(20 * time.Second), IdleTimeout: duration(30 * time.Second),
				MaxTasksPerDay: ptr.To[int32](72)},
			Trust: trustv1alpha1.TrustPolicy{
				Mode: trustv1alpha1.TrustEnforce, Duration: duration(3 * time.Hour),
				DemoteAfter:  trustv1alpha1.DemoteAfter{Diverged: ptr.To[int32](2), OfLast: ptr.To[int32](3)},
				RestoreAfter: ptr.To[int32](2),
				Demotion:     trustv1alpha1.DemotionTime{MinDuration: duration(15 * time.Minute), MaxDuration: duration(6 * time.Hour)}},
			Deadlines: trustv1alpha1.Deadlines{Wait: duration(30 * time.Second), Hard: duration(5 * time.Minute)},
			Reports:   trustv1alpha1.ReportPolicy{Mode: trustv1alpha1.ReportsProbe, Quorum: ptr.To[int32](2), Window: duration(15 * time.Minute)},
		},
		Floors: Settings{
			Reachability: trustv1alpha1.ReachabilityProbe{Interval: duration(10 * time.Second)},
			Behavior:     trustv1alpha1.BehaviorProbe{Interval: duration(time.Minute), ConfirmInterval: duration(10 * time.Second)},
		},
		Ceilings: Settings{
			Behavior: trustv1alpha1.BehaviorProbe{TaskTimeout: duration(15 * time.Minute), FirstEventTimeout: duration(5 * time.Minute),
				IdleTimeout: duration(5 * time.Minute), MaxTasksPerDay: ptr.To[int32](1440)},
			Trust:     trustv1alpha1.TrustPolicy{Duration: duration(7 * 24 * time.Hour)},
			Deadlines: trustv1alpha1.Deadlines{Wait: duration(10 * time.Minute), Hard: duration(time.Hour)},
			Reports:   trustv1alpha1.ReportPolicy{Window: duration(6 * time.Hour)},
		},
		ServiceAccountTokens: ServiceAccountTokens{Duration: duration(10 * time.Minute)},
	}
}

// LoadConfig reads a file of configuration and lays it over DefaultConfig. An empty path gives the defaults. The error
// names the file and what is wrong in it: an unknown or doubled field, a value of another type, bounds that contradict.
func LoadConfig(path string) (Config, error) {
	config := DefaultConfig()
	if path == "" {
		return config, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	file, err := decodeConfig(raw)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration %q: %w", path, err)
	}
	if len(file.Defaults.Reports.From)+len(file.Floors.Reports.From)+len(file.Ceilings.Reports.From) > 0 {
		return Config{}, fmt.Errorf("reading the configuration %q: reports.from cannot be set here: whose reports count is said by each AgentPeer, "+
			"in spec.reports.from", path)
	}
	config.Defaults.fill(file.Defaults, true)
	config.Floors.fill(file.Floors, true)
	config.Ceilings.fill(file.Ceilings, true)
	config.ServiceAccountTokens.Audience = file.ServiceAccountTokens.Audience
	fill(&config.ServiceAccountTokens.Duration, file.ServiceAccountTokens.Duration, true)
	if err := config.validate(); err != nil {
		return Config{}, fmt.Errorf("reading the configuration %q: %w", path, err)
	}
	return config, nil
}

// decodeConfig takes nothing that it does not know: a misspelt floor must not go unnoticed.
func decodeConfig(raw []byte) (Config, error) {
	var config Config
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return Config{}, err
	}
	strict, err := kjson.UnmarshalStrict(asJSON, &config)
	return config, errors.Join(append(strict, err)...)
}

// setting is one bounded value of Settings; exactly one of its functions is set.
type setting struct {
	name     string
	duration func(*Settings) **metav1.Duration
	count    func(*Settings) **int32
}

// settings lists every bounded value. Merging, bounding and validating walk this one table.
var settings = []setting{
	{name: "reachability.interval", duration: func(s *Settings) **metav1.Duration { return &s.Reachability.Interval }},
	{name: "behavior.interval", duration: func(s *Settings) **metav1.Duration { return &s.Behavior.Interval }},
	{name: "behavior.confirmInterval", duration: func(s *Settings) **metav1.Duration { return &s.Behavior.ConfirmInterval }},
	{name: "behavior.taskTimeout", duration: func(s *Settings) **metav1.Duration { return &s.Behavior.TaskTimeout }},
	{name: "behavior.firstEventTimeout", duration: func(s *Settings) **metav1.Duration { return &s.Behavior.FirstEventTimeout }},
	{name: "behavior.idleTimeout", duration: func(s *Settings) **metav1.Duration { return &s.Behavior.IdleTimeout }},
	{name: "behavior.maxTasksPerDay", count: func(s *Settings) **int32 { return &s.Behavior.MaxTasksPerDay }},
	{name: "trust.duration", duration: func(s *Settings) **metav1.Duration { return &s.Trust.Duration }},
	{name: "trust.demoteAfter.diverged", count: func(s *Settings) **int32 { return &s.Trust.DemoteAfter.Diverged }},
	{name: "trust.demoteAfter.ofLast", count: func(s *Settings) **int32 { return &s.Trust.DemoteAfter.OfLast }},
	{name: "trust.restoreAfter", count: func(s *Settings) **int32 { return &s.Trust.RestoreAfter }},
	{name: "trust.demotion.minDuration", duration: func(s *Settings) **metav1.Duration { return &s.Trust.Demotion.MinDuration }},
	{name: "trust.demotion.maxDuration", duration: func(s *Settings) **metav1.Duration { return &s.Trust.Demotion.MaxDuration }},
	{name: "deadlines.wait", duration: func(s *Settings) **metav1.Duration { return &s.Deadlines.Wait }},
	{name: "deadlines.hard", duration: func(s *Settings) **metav1.Duration { return &s.Deadlines.Hard }},
	{name: "reports.quorum", count: func(s *Settings) **int32 { return &s.Reports.Quorum }},
	{name: "reports.window", duration: func(s *Settings) **metav1.Duration { return &s.Reports.Window }},
}

// fill takes from other what s lacks, or everything that other has if it overrides.
func (s *Settings) fill(other Settings, override bool) {
	for _, x := range settings {
		if x.duration != nil {
			fill(x.duration(s), *x.duration(&other), override)
		} else {
			fill(x.count(s), *x.count(&other), override)
		}
	}
	if other.Reachability.Mode != "" && (override || s.Reachability.Mode == "") {
		s.Reachability.Mode = other.Reachability.Mode
	}
	if other.Trust.Mode != "" && (override || s.Trust.Mode == "") {
		s.Trust.Mode = other.Trust.Mode
	}
	if other.Reports.Mode != "" && (override || s.Reports.Mode == "") {
		s.Reports.Mode = other.Reports.Mode
	}
}

func fill[T any](into **T, from *T, override bool) {
	if from != nil && (override || *into == nil) {
		*into = ptr.To(*from)
	}
}

// value of a setting as a number: nanoseconds or a count. ok is false where it is unset.
func (x setting) value(s *Settings) (n int64, ok bool) {
	if x.duration != nil {
		if d := *x.duration(s); d != nil {
			return int64(d.Duration), true
		}
		return 0, false
	}
	if c := *x.count(s); c != nil {
		return int64(*c), true
	}
	return 0, false
}

func (x setting) set(s *Settings, n int64) {
	if x.duration != nil {
		*x.duration(s) = duration(time.Duration(n))
	} else {
		*x.count(s) = ptr.To(int32(n))
	}
}

// text of a value, for errors.
func (x setting) text(n int64) string {
	if x.duration != nil {
		return time.Duration(n).String()
	}
	return fmt.Sprint(n)
}

func (c *Config) validate() error {
	var errs []error
	for _, x := range settings {
		errs = append(errs, c.validateSetting(x)...)
	}
	if m := c.Floors.Reachability.Mode + c.Ceilings.Reachability.Mode; m != "" {
		errs = append(errs, errors.New("reachability.mode has no floor or ceiling: set it in defaults"))
	}
	if m := c.Floors.Trust.Mode + c.Ceilings.Trust.Mode; m != "" {
		errs = append(errs, errors.New("trust.mode has no floor or ceiling: set it in defaults"))
	}
	switch c.Defaults.Reachability.Mode {
	case trustv1alpha1.ReachabilityCard, trustv1alpha1.ReachabilityCardAndTask, trustv1alpha1.ReachabilityNone:
	default:
		errs = append(errs, fmt.Errorf("defaults.reachability.mode: %q, want Card, CardAndTask or None", c.Defaults.Reachability.Mode))
	}
	switch c.Defaults.Trust.Mode {
	case trustv1alpha1.TrustEnforce, trustv1alpha1.TrustObserve:
	default:
		errs = append(errs, fmt.Errorf("defaults.trust.mode: %q, want Enforce or Observe", c.Defaults.Trust.Mode))
	}
	errs = append(errs, c.validateReports()...)
	if n := *c.Defaults.Trust.DemoteAfter.Diverged; n < 2 {
		errs = append(errs, fmt.Errorf("defaults.trust.demoteAfter.diverged: %d, want at least 2: one contradiction never demotes", n))
	}
	if d := c.Defaults; d.Trust.Duration.Duration < 3*d.Behavior.Interval.Duration {
		errs = append(errs, fmt.Errorf("defaults.trust.duration: %s, want at least 3 times defaults.behavior.interval (%s)",
			d.Trust.Duration.Duration, d.Behavior.Interval.Duration))
	}
	return errors.Join(append(errs, c.ServiceAccountTokens.validate())...)
}

// validateReports looks at what the table does not bound.
func (c *Config) validateReports() (errs []error) {
	if m := c.Floors.Reports.Mode + c.Ceilings.Reports.Mode; m != "" {
		errs = append(errs, errors.New("reports.mode has no floor or ceiling: set it in defaults"))
	}
	switch m := c.Defaults.Reports.Mode; m {
	case trustv1alpha1.ReportsIgnore, trustv1alpha1.ReportsProbe, trustv1alpha1.ReportsDemote:
	default:
		errs = append(errs, fmt.Errorf("defaults.reports.mode: %q, want Ignore, Probe or Demote", m))
	}
	if n := *c.Defaults.Reports.Quorum; n < 1 {
		errs = append(errs, fmt.Errorf("defaults.reports.quorum: %d, want at least 1", n))
	}
	for name, s := range map[string]*Settings{"defaults": &c.Defaults, "floors": &c.Floors, "ceilings": &c.Ceilings} {
		if w := s.Reports.Window; w != nil && w.Duration > 24*time.Hour {
			errs = append(errs, fmt.Errorf("%s.reports.window: %s, want at most 24h: older reports are deleted", name, w.Duration))
		}
	}
	return errs
}

// validate bounds what can be said without knowing the API server; RefuseAudiences has the rest.
func (s *ServiceAccountTokens) validate() error {
	if d := s.Duration.Duration; d < 10*time.Minute || d > time.Hour || d%time.Second != 0 {
		return fmt.Errorf("serviceAccountTokens.duration: %s, want whole seconds from 10m to 1h", d)
	}
	if a := s.Audience; len(a) > 1024 || strings.ContainsFunc(a, func(c rune) bool { return c <= 0x20 || c > 0x7e }) {
		return errors.New("serviceAccountTokens.audience: it has spaces or other characters than printable ASCII, or more than 1024 of them: " +
			"write a name of the agents' own, such as https://agents.example.com")
	}
	return s.RefuseAudiences()
}

// RefuseAudiences fails if the audience is the API server's: one of its usual names, or one of those given, such as those of the
// operator's own token. A token of that audience would let the agent act as the ServiceAccount.
func (s *ServiceAccountTokens) RefuseAudiences(more ...string) error {
	bare := func(text string) string {
		_, name, isURL := strings.Cut(strings.ToLower(text), "://")
		if !isURL {
			name = strings.ToLower(text)
		}
		name = strings.TrimSuffix(strings.TrimRight(name, "/"), ":443")
		return strings.TrimSuffix(name, ".")
	}
	name := bare(s.Audience)
	own := name == "kubernetes" || name == "api" || name == "kubernetes.default" || strings.HasPrefix(name, "kubernetes.default.svc")
	for _, a := range more {
		own = own || a != "" && name == bare(a)
	}
	if s.Audience == "" || !own {
		return nil
	}
	return fmt.Errorf("serviceAccountTokens.audience: %q is the API server's own, so an agent could act there with a token that it was sent: "+
		"write a name of the agents' own, such as https://agents.example.com", s.Audience)
}

func (c *Config) validateSetting(x setting) (errs []error) {
	def, _ := x.value(&c.Defaults)
	floor, hasFloor := x.value(&c.Floors)
	ceiling, hasCeiling := x.value(&c.Ceilings)
	if def < 0 || x.duration != nil && def == 0 {
		errs = append(errs, fmt.Errorf("defaults.%s: %s, want more than 0", x.name, x.text(def)))
	}
	if hasFloor && hasCeiling && floor > ceiling {
		errs = append(errs, fmt.Errorf("floors.%s: %s is above its ceiling %s", x.name, x.text(floor), x.text(ceiling)))
	}
	if hasFloor && def < floor {
		errs = append(errs, fmt.Errorf("defaults.%s: %s is below its floor %s", x.name, x.text(def), x.text(floor)))
	}
	if hasCeiling && def > ceiling {
		errs = append(errs, fmt.Errorf("defaults.%s: %s is above its ceiling %s", x.name, x.text(def), x.text(ceiling)))
	}
	return errs
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

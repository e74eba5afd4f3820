package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Spec describes one agent in a file.
type Spec struct {
	// ID is the last part of its path and what cmd/agent prints it as; default the preset's name.
	ID string `json:"id,omitempty"`
	// Port; 0: any free one of its own. Agents of one port must differ in config.prefix. Count makes so many like it, each on
	// a port of its own (id-1, id-2 ...).
	Port  int `json:"port,omitempty"`
	Count int `json:"count,omitempty"`
	// Preset, then Quirks, then Config are applied in this order.
	Preset string          `json:"preset,omitempty"`
	Quirks []string        `json:"quirks,omitempty"`
	Config json.RawMessage `json:"config,omitempty"`
}

// File is a list of agents.
type File struct {
	Agents []Spec `json:"agents"`
}

// Read reads a File in YAML or JSON; unknown members are errors.
func Read(path string) (File, error) {
	var f File
	b, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	if err := yaml.UnmarshalStrict(b, &f); err != nil {
		return f, fmt.Errorf("reading %q: %w", path, err)
	}
	return f, nil
}

// Options of a Spec. The error names a preset or quirk that does not exist.
func (s Spec) Options() ([]Option, error) {
	for _, q := range s.Quirks {
		if _, ok := quirks[q]; !ok {
			return nil, fmt.Errorf("finding quirk %q: not one of %v", q, QuirkNames())
		}
	}
	if _, ok := presets[s.Preset]; !ok && s.Preset != "" {
		return nil, fmt.Errorf("finding preset %q: not one of %v", s.Preset, PresetNames())
	}
	if err := s.decode(&Config{}); err != nil {
		return nil, err
	}
	return []Option{s.apply}, nil
}

func (s Spec) apply(c *Config) {
	if s.Preset != "" {
		Preset(s.Preset)(c)
	}
	Is(s.Quirks...)(c)
	_ = s.decode(c) // Options has tried it
}

// decode lays the spec's Config over what c holds.
func (s Spec) decode(c *Config) error {
	if len(s.Config) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Config))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return fmt.Errorf("reading config: %w", err)
	}
	return nil
}

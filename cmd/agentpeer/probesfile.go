package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// probesFile is spec.probes and, beside it, what of the rest of a spec shapes the questions.
type probesFile struct {
	v1alpha1.Probes `json:",inline"`
	TaskIdentity    *v1alpha1.TaskIdentity `json:"taskIdentity,omitempty"`
}

// readProbes reads a file in the shape of spec.probes. Unknown fields, doubled ones and values that the API server would refuse are
// errors that name the field.
func readProbes(path string, in io.Reader) (probesFile, error) {
	var p probesFile
	raw, err := readFile(path, in, 1<<20)
	if err != nil {
		return p, fmt.Errorf("reading --probes: %w", err)
	}
	if err := readableDurations(raw); err != nil {
		return p, fmt.Errorf("reading --probes: %q: %w", path, err)
	}
	if err := decodeProbes(raw, &p); err != nil {
		return p, fmt.Errorf("reading --probes: %q is not in the shape of spec.probes: %w", path, err)
	}
	if err := errors.Join(validProbes(&p.Probes), validIdentity(p.TaskIdentity)); err != nil {
		return p, fmt.Errorf("reading --probes: %q: %w", path, err)
	}
	return p, nil
}

// decodeProbes reads one document of YAML or JSON. Its errors name the field.
func decodeProbes(raw []byte, into *probesFile) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	first, err := documents.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if second, err := documents.Read(); err == nil && len(bytes.TrimSpace(second)) > 0 {
		return errors.New("it holds several documents, want one")
	}
	text, err := yaml.YAMLToJSONStrict(first)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s is %s, want %s", strings.TrimPrefix(kind.Field, "."), article(kind.Value), wanted(kind.Type))
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// wanted says what the file should hold where Go wants a type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

// durations of spec.probes, by the group they are in.
var durations = map[string][]string{
	"reachability": {"interval"},
	"behavior":     {"interval", "confirmInterval", "taskTimeout", "firstEventTimeout", "idleTimeout"},
}

// readableDurations names the field of a duration that cannot be read, which the decoder does not. What is not a map it leaves to
// the decoder.
func readableDurations(raw []byte) error {
	var file map[string]map[string]any
	if yaml.Unmarshal(raw, &file) != nil {
		return nil
	}
	for group, fields := range durations {
		for _, field := range fields {
			v, set := file[group][field]
			if !set {
				continue
			}
			text, ok := v.(string)
			if !ok {
				return fmt.Errorf("%s.%s is %v, want a duration such as 30s or 5m", group, field, v)
			}
			if _, err := time.ParseDuration(text); err != nil {
				return fmt.Errorf("%s.%s is %q, want a duration such as 30s or 5m", group, field, text)
			}
		}
	}
	return nil
}

// mediaType is what spec.probes.fixtures.inputModes takes.
var mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$`)

// validMode says what is wrong with one message of fixtures.inputModes; its errors go on where the caller's words end.
func validMode(f *v1alpha1.InputModeFixture, seen map[string]bool) error {
	switch {
	case !mediaType.MatchString(f.MediaType) || len(f.MediaType) > v1alpha1.MaxMediaTypeLength:
		return fmt.Errorf(".mediaType is %q, want a media type in lower case without parameters, such as image/png", f.MediaType)
	case seen[f.MediaType]:
		return fmt.Errorf(".mediaType is %q, which another entry has already", f.MediaType)
	}
	seen[f.MediaType] = true
	for _, p := range f.Message.Parts {
		own := p.MediaType
		switch {
		case own != "":
		case p.Text != "":
			own = "text/plain"
		case p.Data != nil:
			own = "application/json"
		default:
			own = "application/octet-stream"
		}
		if own == f.MediaType {
			return nil
		}
	}
	return fmt.Errorf(".message has no part of %q: set mediaType in the part", f.MediaType)
}

func validProbes(p *v1alpha1.Probes) error {
	b := p.Behavior
	for name, d := range map[string]*metav1.Duration{
		"behavior.interval": b.Interval, "behavior.confirmInterval": b.ConfirmInterval, "behavior.taskTimeout": b.TaskTimeout,
		"behavior.firstEventTimeout": b.FirstEventTimeout, "behavior.idleTimeout": b.IdleTimeout,
		"reachability.interval": p.Reachability.Interval,
	} {
		if d != nil && (d.Duration < 100*time.Millisecond || d.Duration > 168*time.Hour) {
			return fmt.Errorf("%s is %s, want 100ms to 168h", name, d.Duration)
		}
	}
	messages := map[string]*v1alpha1.Message{"message": p.Message}
	if f := p.Fixtures.LongRunning; f != nil {
		messages["fixtures.longRunning.message"] = &f.Message
	}
	if f := p.Fixtures.InputRequired; f != nil {
		messages["fixtures.inputRequired.message"], messages["fixtures.inputRequired.reply"] = &f.Message, &f.Reply
	}
	seen := map[string]bool{}
	for i := range p.Fixtures.InputModes {
		f := &p.Fixtures.InputModes[i]
		name := fmt.Sprintf("fixtures.inputModes[%d]", i)
		if err := validMode(f, seen); err != nil {
			return fmt.Errorf("%s%w", name, err)
		}
		messages[name+".message"] = &f.Message
	}
	for name, m := range messages {
		if m == nil {
			continue
		}
		if len(m.Parts) == 0 {
			return fmt.Errorf("%s.parts is empty, want at least one part such as {text: ping}", name)
		}
		for i, part := range m.Parts {
			set := 0
			for _, is := range []bool{part.Text != "", part.Data != nil, len(part.Raw) > 0} {
				if is {
					set++
				}
			}
			if set != 1 {
				return fmt.Errorf("%s.parts[%d] has %d of text, data and raw, want exactly one", name, i, set)
			}
		}
	}
	return nil
}

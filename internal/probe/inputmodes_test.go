package probe

import (
	"bytes"
	"encoding/json"
	"image"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

func TestInputModes(t *testing.T) {
	t.Parallel()
	const (
		honored, diverged, inconclusive = trust.Honored, trust.Diverged, trust.Inconclusive
	)
	skillOf := func(mode string) agent.Option {
		return agent.With(func(c *agent.Config) {
			c.Card.Extra = map[string]json.RawMessage{"skills": json.RawMessage(`[{"id":"a","name":"A","description":"","tags":[],"inputModes":["` + mode + `"]}]`)}
		})
	}
	modes := func(list ...string) agent.Option {
		return agent.With(func(c *agent.Config) { c.Card.InputModes = list })
	}
	refuse := func(list ...string) agent.Option {
		return agent.With(func(c *agent.Config) { c.Modes.Refuse = list })
	}
	strict := agent.With(func(c *agent.Config) { c.Modes.Strict = true })
	for name, tc := range map[string]struct {
		gens    string // default "1.0 0.3"
		quirks  string
		options []agent.Option
		change  func(*Job)
		outcome trust.Outcome
		reason  trust.Reason
		refused []string
		tasks   int // -1: no matter
	}{
		"text alone costs what Streaming costs":                        {gens: "1.0 0.3 0.2 0.1", outcome: honored, tasks: 1},
		"every mode is asked once":                                     {quirks: "many-modes", outcome: honored, tasks: 3},
		"a mode is refused":                                            {quirks: "mode-refused", outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"image/png"}, tasks: 6},
		"a mode is refused that is known for it":                       {quirks: "mode-refused", change: func(j *Job) { j.RefusedModes = []string{"image/png"} }, outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"image/png"}, tasks: 4},
		"in 0.1 the code means nothing":                                {gens: "0.1", quirks: "mode-refused", outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: -1},
		"another code is about our sample":                             {quirks: "mode-refused-400", outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: 3},
		"a task that fails is about our sample":                        {quirks: "mode-fails", outcome: inconclusive, reason: trust.ReasonAgentFailing, tasks: 3},
		"a refusal that is not repeated accuses nobody":                {options: []agent.Option{modes("image/png"), refuse("image/png", "text/plain"), agent.With(func(c *agent.Config) { c.Modes.Every = 2 })}, outcome: inconclusive, reason: trust.ReasonReplicaInconsistency, tasks: -1},
		"who checks modes takes those declared":                        {quirks: "many-modes checks-modes", outcome: honored, tasks: 3},
		"a Message is an answer":                                       {quirks: "many-modes messages", outcome: honored, tasks: 3},
		"text itself is refused":                                       {options: []agent.Option{refuse("text/plain")}, outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"text/plain"}, tasks: 4},
		"a range that is refused says nothing":                         {options: []agent.Option{modes("text/plain", "image/*"), refuse("image/png")}, outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: -1},
		"a mode that no skill has may be refused":                      {options: []agent.Option{modes("text/plain", "image/png"), refuse("image/png"), skillOf("text/plain")}, outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: -1},
		"no sample of any":                                             {options: []agent.Option{modes("model/gltf+json")}, outcome: inconclusive, reason: trust.ReasonNoFixture, tasks: -1},
		"a sample of the user's own":                                   {options: []agent.Option{modes("model/gltf+json"), refuse("model/gltf+json")}, change: ownSample, outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"model/gltf+json"}, tasks: -1},
		"Markdown has no place in 0.x":                                 {gens: "0.3 0.2", options: []agent.Option{modes("text/markdown"), refuse("text/plain", "text/markdown")}, outcome: inconclusive, tasks: -1},
		"Markdown is named in 1.0":                                     {gens: "1.0", options: []agent.Option{modes("text/markdown"), refuse("text/markdown")}, outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"text/markdown"}, tasks: -1},
		"an empty stream does not hide that text is taken":             {quirks: "empty-stream", outcome: honored, tasks: -1},
		"modes with parameters are not asked by samples of ours":       {quirks: "modes-with-parameters", outcome: honored, tasks: 1},
		"nothing but modes with parameters":                            {options: []agent.Option{modes("application/json;profile=x", "image/png; q=1"), strict}, outcome: inconclusive, reason: trust.ReasonNoFixture, tasks: -1},
		"a user's own message goes under the type as declared":         {gens: "1.0", quirks: "modes-with-parameters", change: ownJSON, outcome: honored, tasks: 2},
		"a user's own file goes under the type as declared":            {quirks: "modes-with-parameters", change: ownPicture, outcome: honored, tasks: 2},
		"a refusal of a type with parameters accuses nobody":           {gens: "1.0", quirks: "modes-with-parameters", options: []agent.Option{refuse("application/json;profile=x")}, change: ownJSON, outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: 2},
		"a refusal of text whose character set is named":               {options: []agent.Option{modes("text/plain; charset=utf-8"), refuse("text/plain")}, outcome: inconclusive, reason: trust.ReasonProbeRejected, tasks: -1},
		"text is owed where it is declared beside its parameters":      {options: []agent.Option{modes("text/plain; charset=utf-8", "text/plain"), refuse("text/plain")}, outcome: diverged, reason: trust.ReasonDeclaredModeRefused, refused: []string{"text/plain"}, tasks: 4},
		"a refusal remembered from before the card named parameters":   {quirks: "modes-with-parameters", change: func(j *Job) { j.RefusedModes = []string{"image/png"} }, outcome: honored, tasks: 1},
		"parts name their type to whoever reads nothing else":          {quirks: "many-modes strict-modes", outcome: honored, tasks: 3},
		"parts name their type in the capitals of the card":            {gens: "1.0", options: []agent.Option{modes("TEXT/PLAIN", "Application/JSON", "Image/PNG"), strict}, outcome: honored, tasks: 3},
		"what is refused without the name of its type and taken by it": {gens: "1.0", options: []agent.Option{modes("application/json"), strict}, outcome: honored, tasks: -1},

		"a mode refused before and taken now is off the list": {quirks: "many-modes", change: func(j *Job) { j.RefusedModes = []string{"image/png"} }, outcome: honored, tasks: 3},
		"what is refused before and is not told now stays":    {quirks: "mode-fails", change: func(j *Job) { j.RefusedModes = []string{"image/png"} }, outcome: inconclusive, reason: trust.ReasonAgentFailing, refused: []string{"image/png"}, tasks: 3},
		"401 says nothing": {quirks: "posts-401", outcome: inconclusive, reason: trust.ReasonAuthenticationRequired, tasks: -1},
	} {
		gens := tc.gens
		if gens == "" {
			gens = "1.0 0.3"
		}
		for _, g := range strings.Fields(gens) {
			t.Run(name+" "+g, func(t *testing.T) {
				t.Parallel()
				a := agent.New(append([]agent.Option{agent.Speaks(agent.Generation(g)), agent.Is(strings.Fields(tc.quirks)...)}, tc.options...)...)
				job := jobFor(t, a.Start(t), trust.Streaming, trust.InputModes)
				job.Target.Fixtures.InputRequired = nil
				if tc.change != nil {
					tc.change(&job)
				}
				rep := runJob(t, job)
				o := check(t, rep, trust.InputModes, expectation{outcome: tc.outcome, reason: tc.reason})
				if !slices.Equal(o.RefusedModes, tc.refused) {
					t.Errorf("refused modes %v, want %v", o.RefusedModes, tc.refused)
				}
				if tc.tasks >= 0 && rep.Round.Tasks != tc.tasks {
					t.Errorf("the round cost %d tasks, want %d\n  %q", rep.Round.Tasks, tc.tasks, o.Observed)
				}
				if o.Tasks > maxModeMessages {
					t.Errorf("the question cost %d tasks, more than it may", o.Tasks)
				}
			})
		}
	}
}

func ownSample(j *Job) {
	j.Target.Fixtures.Modes = map[string]*Fixture{
		"model/gltf+json": {Parts: []Part{{Raw: []byte(`{"asset":{"version":"2.0"}}`), MediaType: "model/gltf+json"}}},
	}
}

func ownJSON(j *Job) {
	j.Target.Fixtures.Modes = map[string]*Fixture{"application/json": {Parts: []Part{{Data: json.RawMessage(`{"text":"ping"}`)}}}}
}

func ownPicture(j *Job) {
	j.Target.Fixtures.Modes = map[string]*Fixture{"image/png": {Parts: []Part{{Raw: picture("image/png"), MediaType: "image/png"}}}}
}

// A reply in a declared mode is owed too: it is asked for on a task that asks, and is free where Continuation's own reply is in that mode.
func TestInputModesOfReplies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quirks  string
		ask     []trust.Capability
		outcome trust.Outcome
		reason  trust.Reason
		refused []string
		seen    string
		tasks   int
	}{
		"Continuation's reply tells": {"", []trust.Capability{trust.Continuation}, trust.Honored, "", nil, "reply text/plain:", 3},
		"a reply by itself":          {"", nil, trust.Honored, "", nil, "reply text/plain:", 3},
		"text replies refused": {"reply-is-text", []trust.Capability{trust.Continuation}, trust.Diverged, trust.ReasonDeclaredModeRefused,
			[]string{"text/plain"}, "again text/plain:error -32005", 4},
		"JSON replies refused": {"reply-refused", []trust.Capability{trust.Continuation}, trust.Diverged, trust.ReasonDeclaredModeRefused,
			[]string{"application/json"}, "reply application/json:error -32005", 7},
		"JSON replies name their type": {"many-modes strict-modes", []trust.Capability{trust.Continuation}, trust.Honored, "", nil, "reply application/json:", 7},
		"an agent that never asks":     {"never-asks", nil, trust.Honored, "", nil, "text/plain:completed", 2},
	} {
		for _, g := range []agent.Generation{agent.V10, agent.V03} {
			t.Run(name+" "+string(g), func(t *testing.T) {
				t.Parallel()
				a := with(g, strings.Fields(tc.quirks)...)
				job := jobFor(t, a.Start(t), append(tc.ask, trust.Streaming, trust.InputModes)...)
				job.Target.Timing.Wait, job.Target.Timing.Task = 3*time.Second, 6*time.Second
				rep := runJob(t, job)
				o := check(t, rep, trust.InputModes, expectation{outcome: tc.outcome, reason: tc.reason})
				if !slices.Equal(o.RefusedModes, tc.refused) || !slices.ContainsFunc(o.Observed, func(s string) bool { return strings.HasPrefix(s, tc.seen) }) {
					t.Errorf("refused %v, want %v\n  %q, want %q among them", o.RefusedModes, tc.refused, o.Observed, tc.seen)
				}
				if rep.Round.Tasks != tc.tasks {
					t.Errorf("the round cost %d tasks, want %d\n  %q", rep.Round.Tasks, tc.tasks, o.Observed)
				}
				if open := a.Counts().Open; open > 0 {
					t.Errorf("%d tasks are left behind", open)
				}
			})
		}
	}
}

// A card with more modes than a round may ask has them asked in turn, and the refused ones in every round.
func TestModesAreAskedInTurn(t *testing.T) {
	declared := []string{"a/1", "a/2", "a/3", "a/4"}
	for round, want := range map[int64][]string{
		0: {"a/3", "a/1", "a/2", "a/4"}, 1: {"a/3", "a/2", "a/4", "a/1"}, 2: {"a/3", "a/4", "a/1", "a/2"}, 3: {"a/3", "a/1", "a/2", "a/4"},
	} {
		if diff := cmp.Diff(want, inTurn(declared, []string{"a/3"}, round)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
}

// Samples are valid files: a peer that decodes them must not find fault with us.
func TestSamplesAreWhatTheySay(t *testing.T) {
	for _, mode := range []string{"image/png", "image/jpeg", "image/gif"} {
		p, ok := samplePart(mode, wire.V10)
		_, format, err := image.Decode(bytes.NewReader(p.Raw))
		if !ok || err != nil || "image/"+format != mode || p.MediaType != mode {
			t.Errorf("%s: decoded as %q, error %v", mode, format, err)
		}
	}
	wav, _ := samplePart("audio/wav", wire.V10)
	if string(wav.Raw[:4]) != "RIFF" || string(wav.Raw[8:16]) != "WAVEfmt " || len(wav.Raw) != 844 {
		t.Errorf("audio/wav: %q", wav.Raw[:16])
	}
	pdf, _ := samplePart("application/pdf", wire.V10)
	at := bytes.Index(pdf.Raw, []byte("xref"))
	if !bytes.HasPrefix(pdf.Raw, []byte("%PDF-1.4")) || !bytes.Contains(pdf.Raw[at:], []byte("startxref\n"+strconv.Itoa(at)+"\n")) {
		t.Errorf("application/pdf: its table is not where it says:\n%s", pdf.Raw)
	}
	for _, mode := range []string{"model/gltf+json", "video/mp4", "multipart/form-data"} {
		if _, ok := samplePart(mode, wire.V10); ok {
			t.Errorf("%s: there is no honest sample of it", mode)
		}
	}
}

package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// preset is an agent by name: a generation and quirks.
type preset struct {
	says   string
	gen    Generation
	quirks []string
	more   func(*Config)
}

// Preset makes an agent one of the cast of the demo. It panics at a name it does not know.
func Preset(name string) Option {
	return func(c *Config) {
		p, ok := presets[name]
		if !ok {
			panic(fmt.Sprintf("agent: no preset %q", name))
		}
		Speaks(p.gen)(c)
		Is(p.quirks...)(c)
		if p.more != nil {
			p.more(c)
		}
	}
}

// Presets lists every preset with what it is.
func Presets() map[string]string {
	list := map[string]string{}
	for n, p := range presets {
		list[n] = p.says
	}
	return list
}

// PresetNames lists the presets in order.
func PresetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// founding is what the three workers of the founding incident have in common: one card, so that nobody can tell them apart by it.
func founding(c *Config) {
	c.Name = "worker"
	c.Card.Streaming, c.Card.StateTransitionHistory = raw("true"), raw("true")
}

var presets = map[string]preset{
	"honest":            {says: "an honest agent of generation 1.0", gen: V10},
	"founding-honest":   {says: "first and second worker of the founding incident (0.1): keep their promise", gen: V01, more: founding},
	"founding-third":    {says: "third worker of the founding incident (0.1): a follow-up gets a new id, the first task works for ever", gen: V01, quirks: []string{"founding-third"}, more: founding},
	"zombie-cancel":     {says: "accepts a cancel and streams on", gen: V10, quirks: []string{"zombie-cancel"}},
	"empty-stream":      {says: "declares streaming, streams nothing; single-shot works", gen: V03, quirks: []string{"empty-stream"}},
	"withheld-terminal": {says: "the stream ends at working while GetTask says completed", gen: V10, quirks: []string{"withheld-end"}},
	"honest-but-odd":    {says: "everything that is strange and legal at once", gen: V03, quirks: []string{"ugly-sse", "crlf", "hold-interrupted", "no-submitted", "last-snapshot", "repeats-end", "vendor-members", "late-canceled-frame", "follow-up-early", "plain-text", "both-paths", "large-card", "estimated-duration"}},
	"slow-thinker":      {says: "thinks long after working, then completes", gen: V10, quirks: []string{"slow-thinker"}},
	"ordinary":          {says: "honest at an ordinary pace: 20 ms an answer, 300 ms a stream", gen: V10, more: func(c *Config) { Latency(20*time.Millisecond, 300*time.Millisecond)(c) }},
	"hung":              {says: "accepts connections and never answers", gen: V10, quirks: []string{"hangs"}},
	"cut-by-proxy":      {says: "a proxy closes quiet streams, tasks go on", gen: V03, quirks: []string{"cut-idle"}},
	"intermittent-liar": {says: "every third stream is empty", gen: V10, quirks: []string{"every-third-stream"}},
	"wrong-generation":  {says: "the card says 1.0, the wire is 0.3", gen: V03, quirks: []string{"card-10-wire-03"}},
}

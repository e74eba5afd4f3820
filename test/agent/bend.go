package agent

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// ResubscribeConfig bends the streams by which a client picks a task up again.
type ResubscribeConfig struct {
	// Refuse answers with this JSON-RPC code; Every limits it to every Nth (2: replicas that do not share).
	Refuse int `json:"refuse,omitempty"`
	Every  int `json:"every,omitempty"`
	// Ends closes the stream in good order after the snapshot; Silent keeps it open and shows nothing more.
	Ends   bool `json:"ends,omitempty"`
	Silent bool `json:"silent,omitempty"`
	// Foreign gives every event after the snapshot another task id; NoSnapshot leaves the Task out.
	Foreign    bool `json:"foreign,omitempty"`
	NoSnapshot bool `json:"noSnapshot,omitempty"`
	// Buffered delivers all in one lump at the end. Steals ends the streams that the task has already.
	Buffered bool `json:"buffered,omitempty"`
	Steals   bool `json:"steals,omitempty"`
}

// bend makes the stream one of these.
func (k ResubscribeConfig) bend(sc StreamConfig) StreamConfig {
	if k.Ends {
		sc.CutAfter = 1
	}
	if k.Silent {
		sc.Withhold, sc.WithheldOpen = []string{"artifact", "submitted", "working", "completed", "canceled", "failed", "rejected"}, true
	}
	sc.ForeignTask, sc.Buffered = k.Foreign, k.Buffered
	return sc
}

// pickUp is what follows once the task of a resubscription is known.
func (x *call) pickUp(t *task) {
	k := x.c.Resubscribe
	if k.Refuse != 0 && every(x.a.nth("resubscribes"), k.Every) {
		x.fail(k.Refuse, "refused")
		return
	}
	if k.Steals {
		t.stealStreams()
	}
	sc := k.bend(x.c.Stream.framing())
	out := x.by.stream(sc)
	v, at := t.join()
	first := &v
	if k.Foreign {
		x.out.id = ""
	}
	if k.NoSnapshot {
		first = nil
	}
	x.follow(out, t, first, at, sc)
}

// listens notes how to end a stream of the task, for those who steal them.
func (t *task) listens(end context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = append(t.ends, end)
}

func (t *task) stealStreams() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, end := range t.ends {
		end()
	}
	t.ends = nil
}

// ExtendedConfig serves an extended card.
type ExtendedConfig struct {
	// Serve answers with the card.
	Serve bool `json:"serve,omitempty"`
	// Refuse answers with this code; Every limits it to every Nth.
	Refuse int `json:"refuse,omitempty"`
	Every  int `json:"every,omitempty"`
	// Withdraws says in it that there is no streaming. Odd answers with a list in place of a card.
	Withdraws bool `json:"withdraws,omitempty"`
	Odd       bool `json:"odd,omitempty"`
}

// extendedCard answers GetExtendedAgentCard and its like.
func (x *call) extendedCard() {
	k := x.c.Extended
	switch {
	case k.Refuse != 0 && every(x.a.nth("extended"), k.Every):
		x.fail(k.Refuse, "refused")
	case !k.Serve:
		x.fail(x.noExtendedCard(), "no extended card")
	case k.Odd:
		x.reply([]string{"no", "card"}, nil)
	default:
		x.reply(x.c.extended(x.a), nil)
	}
}

// extended is the card with one skill more.
func (c *Config) extended(a *Agent) json.RawMessage {
	other := *c
	other.Card.Extra = maps.Clone(c.Card.Extra)
	if other.Card.Extra == nil {
		other.Card.Extra = map[string]json.RawMessage{}
	}
	other.Card.Extra["skills"] = raw(`[{"id":"ping","name":"Ping","description":"","tags":[]},{"id":"secret","name":"Secret","description":"","tags":[]}]`)
	base := ""
	if u := a.url.Load(); u != nil {
		base = strings.TrimSuffix(*u, "/")
	}
	return other.card(base, !c.Extended.Withdraws)
}

// legacyExtendedPath is where 0.2 has its extended card, beside the endpoint.
const legacyExtendedPath = "/agent/authenticatedExtendedCard"

// serveLegacyExtended answers 0.2's GET; false if it is none.
func (a *Agent) serveLegacyExtended(c *Config, w http.ResponseWriter, r *http.Request, path string) bool {
	if r.Method != http.MethodGet || path != legacyExtendedPath || c.Generation != V02 || !c.Extended.Serve {
		return false
	}
	a.note(r, "extended", nil)
	if a.spoil(c, w, r, "other") {
		return true
	}
	writeJSON(w, c.RPC.mediaType("application/json"), http.StatusOK, c.extended(a))
	return true
}

// ModesConfig says which media types are refused although they are sent as they should be.
type ModesConfig struct {
	// Refuse lists media types refused in first messages, RefuseReply in messages to a task.
	Refuse      []string `json:"refuse,omitempty"`
	RefuseReply []string `json:"refuseReply,omitempty"`
	// Code of these refusals; default -32005. Every limits them to every Nth.
	Code  int `json:"code,omitempty"`
	Every int `json:"every,omitempty"`
	// Check refuses every type that the card does not list (legal).
	Check bool `json:"check,omitempty"`
	// Strict refuses every part but text whose media type is not one that the card lists, letter by letter, parameters included. 1.0 names
	// the type in the part, so that data without a name is refused too (legal).
	Strict bool `json:"strict,omitempty"`
	// Fails makes tasks that hold a refused type end failed, in place of an error (legal).
	Fails bool `json:"fails,omitempty"`
}

// mode is the media type of a part.
func (p part) mode() string {
	var file struct {
		MimeType string `json:"mimeType"`
	}
	switch {
	case p.MediaType != "":
		return p.MediaType
	case p.Text != nil:
		return "text/plain"
	case p.Data != nil:
		return "application/json"
	case p.File != nil && json.Unmarshal(p.File, &file) == nil && file.MimeType != "":
		return file.MimeType
	}
	return "application/octet-stream"
}

// refuses is the code that a message's modes are refused with; 0 if they are not.
func (c *Config) refuses(a *Agent, in incoming) int {
	m := c.Modes
	list := m.Refuse
	if in.taskID != "" && c.Generation != V01 {
		list = m.RefuseReply
	}
	code := m.Code
	if code == 0 {
		code = -32005
	}
	for _, p := range in.parts {
		if m.Strict && !c.declares(p) {
			return -32005
		}
		if m.Check && !slices.Contains(c.inputModes(), p.mode()) {
			return -32005
		}
		if slices.Contains(list, p.mode()) && !m.Fails && every(a.nth("modes"), m.Every) {
			return code
		}
	}
	return 0
}

// declares says whether the card lists a part's media type letter by letter; see ModesConfig.Strict.
func (c *Config) declares(p part) bool {
	switch {
	case p.MediaType == "" && p.Text != nil:
		return true
	case p.MediaType == "" && p.Data != nil && c.Generation == V10:
		return false
	}
	return slices.Contains(c.inputModes(), p.mode())
}

var probeQuirks = map[string]quirk{
	"resubscribe-refused":  {"SubscribeToTask is -32004 though streaming is declared", func(c *Config) { c.Resubscribe.Refuse = -32004 }},
	"resubscribe-fails":    {"SubscribeToTask is -32603", func(c *Config) { c.Resubscribe.Refuse = -32603 }},
	"resubscribe-replicas": {"every other SubscribeToTask is -32004", func(c *Config) { c.Resubscribe.Refuse, c.Resubscribe.Every = -32004, 2 }},
	"resubscribe-lost":     {"SubscribeToTask is -32001", func(c *Config) { c.Resubscribe.Refuse = -32001 }},
	"resubscribe-ends":     {"a stream that is picked up ends after its snapshot, the task goes on (C18)", func(c *Config) { c.Resubscribe.Ends = true }},
	"resubscribe-silent":   {"a stream that is picked up stays open and shows nothing but its snapshot", func(c *Config) { c.Resubscribe.Silent = true }},
	"resubscribe-foreign":  {"a stream that is picked up brings another task's events", func(c *Config) { c.Resubscribe.Foreign = true }},
	"resubscribe-status":   {"a stream that is picked up begins without the Task", func(c *Config) { c.Resubscribe.NoSnapshot = true }},
	"resubscribe-buffered": {"a stream that is picked up arrives in one lump at its end", func(c *Config) { c.Resubscribe.Buffered = true }},
	"resubscribe-steals":   {"a stream that is picked up ends the one before it", func(c *Config) { c.Resubscribe.Steals = true }},

	"extended":           {"an extended card is declared and served", func(c *Config) { c.extend(); c.Extended.Serve = true }},
	"extended-refused":   {"an extended card is declared, asking for it is -32004", func(c *Config) { c.extend(); c.Extended.Refuse = -32004 }},
	"extended-fails":     {"an extended card is declared, asking for it is -32603", func(c *Config) { c.extend(); c.Extended.Refuse = -32603 }},
	"extended-withdraws": {"the extended card says that there is no streaming", func(c *Config) { c.extend(); c.Extended.Serve, c.Extended.Withdraws = true, true }},
	"extended-odd":       {"the extended card is a list", func(c *Config) { c.extend(); c.Extended.Serve, c.Extended.Odd = true, true }},
	"extended-unsaid":    {"an extended card is served that nobody declared", func(c *Config) { c.Extended.Serve = true }},

	"many-modes":   {"the card declares text, JSON, PNG and a type that nobody has a sample of; all are taken", func(c *Config) { c.Card.InputModes = manyModes }},
	"mode-refused": {"the card declares image/png, messages of it are -32005", func(c *Config) { c.Card.InputModes = manyModes; c.Modes.Refuse = []string{"image/png"} }},
	"mode-refused-400": {"the card declares image/png, messages of it are -32602", func(c *Config) {
		c.Card.InputModes = manyModes
		c.Modes.Refuse, c.Modes.Code = []string{"image/png"}, -32602
	}},
	"mode-fails": {"the card declares image/png, tasks about it end failed", func(c *Config) {
		c.Card.InputModes = manyModes
		c.Modes.Refuse, c.Modes.Fails = []string{"image/png"}, true
	}},
	"mode-replicas": {"the card declares image/png, every other message of it is -32005", func(c *Config) {
		c.Card.InputModes = manyModes
		c.Modes.Refuse, c.Modes.Every = []string{"image/png"}, 2
	}},
	"reply-refused": {"the card declares application/json, replies of it are -32005", func(c *Config) { c.Card.InputModes = manyModes[:2]; c.Modes.RefuseReply = []string{"application/json"} }},
	"reply-is-text": {"replies in text are -32005 though the card declares text", func(c *Config) { c.Modes.RefuseReply = []string{"text/plain"} }},
	"checks-modes":  {"media types that the card does not declare are -32005 (legal)", func(c *Config) { c.Modes.Check = true }},
	"strict-modes":  {"parts whose mediaType is not declared letter by letter are -32005 (legal)", func(c *Config) { c.Modes.Strict = true }},
	"modes-with-parameters": {"the card declares text, JSON and PNG with parameters, and no other type is taken", func(c *Config) {
		c.Card.InputModes = []string{"text/plain; charset=utf-8", "application/json;profile=x", "image/png; q=1"}
		c.Modes.Strict = true
	}},

	"all-history": {"GetTask gives the whole history whatever it was asked for", func(c *Config) { c.Get.AllHistory = true }},
	"no-history":  {"GetTask gives no history (legal)", func(c *Config) { none := 0; c.Get.MostHistory = &none }},
	"send-waits":  {"a send that should return at once waits for the end", func(c *Config) { c.Send.Waits = true }},
}

var manyModes = []string{"text/plain", "application/json", "image/png", "model/gltf+json"}

func init() { maps.Copy(quirks, probeQuirks) }

// extend declares an extended card in the words of the card's generation.
func (c *Config) extend() { c.Card.ExtendedAgentCard = raw("true") }

// spoils says whether a task ends badly for its message's modes.
func (c *Config) spoils(in incoming) bool {
	return c.Modes.Fails && slices.ContainsFunc(in.parts, func(p part) bool { return slices.Contains(c.Modes.Refuse, p.mode()) })
}

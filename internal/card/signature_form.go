package card

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// candidate is one form of the card that a signature may stand over.
type candidate struct {
	payload []byte
	// canonical is the form of 1.0, section 8.4.1; other forms have a variant.
	canonical bool
	variant   string
	// partial: the form leaves out statements that the card makes.
	partial bool
}

// maxNesting of a card that is put into a form; no card in the wild comes near it.
const maxNesting = 64

// candidates are the forms of a card, the one that says most first (wire reference 11): by the rule of 1.0, as served, by the rule and then
// without what is empty, and as served without what is empty. None leaves out anything that is not empty: what a signature does not cover
// must not pass for signed. modern says that the rule is the card's own. Nil if the bytes have no canonical form: duplicate names, lone
// surrogates, nested too deep.
func candidates(raw []byte, modern bool) []candidate {
	f, ok := formsOf(raw)
	if !ok {
		return nil
	}
	ruled := candidate{payload: f.ruled, canonical: modern, variant: trust.DefaultsDropped}
	if modern {
		ruled.variant = ""
	}
	var list []candidate
	for _, c := range []candidate{
		ruled,
		{payload: f.served, variant: trust.AsServed},
		{payload: f.ruledBare, variant: trust.EmptiesDropped, partial: f.partial},
		{payload: f.servedBare, variant: trust.EmptiesDropped, partial: f.partial},
	} {
		if c.payload != nil && !slices.ContainsFunc(list, func(other candidate) bool { return bytes.Equal(other.payload, c.payload) }) {
			list = append(list, c)
		}
	}
	return list
}

// forms are the payloads, nil for one that has no canonical spelling. partial says that the bare ones leave a statement out.
type forms struct {
	ruled, served, ruledBare, servedBare []byte
	partial                              bool
}

func formsOf(raw []byte) (f forms, ok bool) {
	raw = bytes.TrimPrefix(raw, byteOrderMark)
	if deeper(raw, maxNesting) {
		return f, false
	}
	if _, err := jcs.Transform(raw); err != nil { // also finds what decoding would silently pick one of
		return f, false
	}
	served, ok := decode(raw)
	if !ok {
		return f, false
	}
	delete(served, "signatures")
	ruled := cardForm.of(served)
	ruledBare, dropped := dropEmpties(ruled, false)
	servedBare, _ := dropEmpties(served, false)
	return forms{canonical(ruled), canonical(served), canonical(ruledBare), canonical(servedBare), dropped}, true
}

// canonical spells a value as RFC 8785 does; a card of which nothing is left is an empty object.
func canonical(v any) []byte {
	if v == nil {
		return []byte("{}")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if text, err = jcs.Transform(text); err != nil {
		return nil
	}
	return text
}

// decode keeps numbers as they are written.
func decode(raw []byte) (map[string]any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var top map[string]any
	return top, dec.Decode(&top) == nil && top != nil
}

// deeper tells whether JSON is nested more than so deep. What is no JSON may be called either.
func deeper(raw []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// guarded members make statements by presence alone: an entry without content, or one that names no scope, says something. They hold for
// every generation, at every depth.
var guarded = []string{"securitySchemes", "securityRequirements", "security", "authentication", "extensions"}

// dropEmpties leaves out "", null, [] and {}, and what becomes one of them; nil if nothing is left. inside says that v lies in a guarded
// member; dropped that something that does was left out.
func dropEmpties(v any, inside bool) (kept any, dropped bool) {
	switch v := v.(type) {
	case nil:
		return nil, inside
	case string:
		if v == "" {
			return nil, inside
		}
		return v, false
	case []any:
		var list []any
		for _, item := range v {
			left, lost := dropEmpties(item, inside)
			dropped = dropped || lost
			if left != nil {
				list = append(list, left)
			}
		}
		if list == nil {
			return nil, dropped || inside
		}
		return list, dropped
	case map[string]any:
		o := map[string]any{}
		for name, member := range v {
			guard := slices.Contains(guarded, name)
			left, lost := dropEmpties(member, inside || guard)
			// A guarded member that is empty as a whole says as much as one that is not there.
			if guard && !inside && empty(member) {
				lost = false
			}
			dropped = dropped || lost
			if left != nil {
				o[name] = left
			}
		}
		if len(o) == 0 {
			return nil, dropped || inside
		}
		return o, dropped
	}
	return v, false
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// form is what the rule of 1.0 (sections 5.7 and 8.4.1) needs to know of one message of the schema: which members are left out at their
// default, and where other messages are. Every other member is kept as it is: the REQUIRED ones and the optional ones, whose presence says
// something, messages though they be empty, the contents of a Struct, and whatever the schema does not know.
type form struct {
	// texts, flags, lists and maps are left out when they are "", false, [] or {}.
	texts, flags, lists, maps []string
	// one, each and values name the members that are a message, a list of messages and a map of messages.
	one, each, values map[string]*form
}

// The messages of a card that have members to leave out.
var (
	requirementForm = &form{maps: []string{"schemes"}, values: map[string]*form{"schemes": {lists: []string{"list"}}}}

	flowForm = &form{texts: []string{"refreshUrl"}, flags: []string{"pkceRequired"}}
	// The flows that are deprecated have no REQUIRED member.
	oldFlowForm = &form{texts: []string{"authorizationUrl", "tokenUrl", "refreshUrl"}, maps: []string{"scopes"}}

	schemeForm = &form{one: map[string]*form{
		"apiKeySecurityScheme":        {texts: []string{"description"}},
		"httpAuthSecurityScheme":      {texts: []string{"description", "bearerFormat"}},
		"openIdConnectSecurityScheme": {texts: []string{"description"}},
		"mtlsSecurityScheme":          {texts: []string{"description"}},
		"oauth2SecurityScheme": {texts: []string{"description", "oauth2MetadataUrl"}, one: map[string]*form{
			"flows": {one: map[string]*form{
				"authorizationCode": flowForm, "clientCredentials": flowForm, "deviceCode": flowForm,
				"implicit": oldFlowForm, "password": oldFlowForm,
			}},
		}},
	}}

	skillForm = &form{
		lists: []string{"examples", "inputModes", "outputModes", "securityRequirements"},
		each:  map[string]*form{"securityRequirements": requirementForm},
	}

	cardForm = &form{
		lists: []string{"securityRequirements"},
		maps:  []string{"securitySchemes"},
		one: map[string]*form{
			"provider": {},
			"capabilities": {lists: []string{"extensions"}, each: map[string]*form{
				"extensions": {texts: []string{"uri", "description"}, flags: []string{"required"}},
			}},
		},
		each: map[string]*form{
			"supportedInterfaces":  {texts: []string{"tenant"}},
			"skills":               skillForm,
			"securityRequirements": requirementForm,
		},
		values: map[string]*form{"securitySchemes": schemeForm},
	}
)

// of is the canonical form of a message. What is of another type than the schema says is kept as it is. v is not changed.
func (f *form) of(v any) any {
	message, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(message))
	for name, member := range message {
		if !f.leavesOut(name, member) {
			out[name] = f.inner(name, member)
		}
	}
	return out
}

// leavesOut: the member holds its default. Null is ProtoJSON for a member that is not set, wherever the schema knows the member.
func (f *form) leavesOut(name string, member any) bool {
	switch v := member.(type) {
	case nil:
		return slices.Contains(slices.Concat(f.texts, f.flags, f.lists, f.maps), name) ||
			f.one[name] != nil || f.each[name] != nil || f.values[name] != nil
	case string:
		return v == "" && slices.Contains(f.texts, name)
	case bool:
		return !v && slices.Contains(f.flags, name)
	case []any:
		return len(v) == 0 && slices.Contains(f.lists, name)
	case map[string]any:
		return len(v) == 0 && slices.Contains(f.maps, name)
	}
	return false
}

func (f *form) inner(name string, member any) any {
	if message := f.one[name]; message != nil {
		return message.of(member)
	}
	if list, ok := member.([]any); ok && f.each[name] != nil {
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = f.each[name].of(item)
		}
		return out
	}
	if entries, ok := member.(map[string]any); ok && f.values[name] != nil {
		out := make(map[string]any, len(entries))
		for key, value := range entries {
			out[key] = f.values[name].of(value)
		}
		return out
	}
	return member
}

package card

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// security is what a card demands of its callers, in one shape for all generations. It serves the digest and the question
// whether authentication is asked for at all; we never log in by it.
type security struct {
	schemes []scheme
	// alternatives, each a list of schemes that are needed together. An empty one means that nobody has to log in.
	alternatives [][]requirement
}

// scheme is one entry of securitySchemes, without its description.
type scheme struct {
	Name, Type string
	// Detail holds the members that matter, "member=value", sorted.
	Detail []string
}

type requirement struct {
	Scheme string
	Scopes []string
}

// asked says that no caller is served without authentication, as far as the card says.
func (s security) asked() bool {
	if len(s.alternatives) == 0 {
		return len(s.schemes) > 0 // many cards name a scheme and leave out where it is needed
	}
	return !slices.ContainsFunc(s.alternatives, func(a []requirement) bool { return len(a) == 0 })
}

// security reads every shape that generations and SDKs give these members (wire reference 6), each by itself.
func (p *parser) security(top object) security {
	var s security
	s.schemes = p.schemes(top["securitySchemes"])
	s.schemes = append(s.schemes, p.founding(top["authentication"])...)
	for _, member := range []string{"security", "securityRequirements"} {
		s.alternatives = append(s.alternatives, p.requirements(top[member])...)
	}
	return s
}

// founding reads the authentication.schemes of 0.1: names without definitions.
func (p *parser) founding(raw json.RawMessage) []scheme {
	if isNull(raw) {
		return nil
	}
	o, ok := p.object(raw)
	names, clean := readStrings(o["schemes"])
	if !ok || !clean {
		p.warn.add(SecurityMalformed)
	}
	var list []scheme
	for _, name := range names {
		list = append(list, scheme{Name: name, Type: "0.1"})
	}
	return list
}

func (p *parser) schemes(raw json.RawMessage) []scheme {
	if isNull(raw) {
		return nil
	}
	byName, ok := p.object(raw)
	if !ok {
		p.warn.add(SecurityMalformed)
	}
	var list []scheme
	for _, name := range byName.names() {
		o, ok := p.object(byName[name])
		if !ok {
			p.warn.add(SecurityMalformed)
			continue
		}
		list = append(list, p.scheme(name, o))
	}
	return list
}

// wrapped are the members of 1.0 that hold a scheme, by the type that 0.x gives the same scheme.
var wrapped = map[string]string{
	"apiKeySecurityScheme":        "apikey",
	"httpAuthSecurityScheme":      "http",
	"oauth2SecurityScheme":        "oauth2",
	"openIdConnectSecurityScheme": "openidconnect",
	"mtlsSecurityScheme":          "mutualtls",
}

// scheme reads {type: ...} of 0.x, {httpAuthSecurityScheme: {...}} of 1.0, and {scheme: {$case, value}} as one SDK serves
// it.
func (p *parser) scheme(name string, o object) scheme {
	s := scheme{Name: name}
	if inner, ok := p.object(o["scheme"]); ok {
		which, _ := readString(inner["$case"])
		o = object{which: inner["value"]}
	}
	for _, member := range slices.Sorted(maps.Keys(wrapped)) {
		if inner, ok := p.object(o[member]); ok {
			s.Type += wrapped[member] // a union of two is malformed, and a claim of its own
			s.Detail = append(s.Detail, p.detail(inner)...)
		}
	}
	if s.Type == "" {
		kind, _ := readString(o["type"])
		s.Type = strings.ToLower(kind)
		s.Detail = p.detail(o)
	}
	if s.Type == "" {
		p.warn.add(SecurityMalformed)
	}
	slices.Sort(s.Detail)
	return s
}

// detail picks the members that change what a caller has to do.
func (p *parser) detail(o object) []string {
	var list []string
	for _, member := range []string{"scheme", "bearerFormat", "name", "openIdConnectUrl", "oauth2MetadataUrl"} {
		if v, ok := readString(o[member]); ok && v != "" {
			list = append(list, member+"="+v)
		}
	}
	for _, member := range []string{"in", "location"} { // 0.x and 1.0 name one thing
		if v, ok := readString(o[member]); ok && v != "" {
			list = append(list, "in="+v)
		}
	}
	return append(list, p.flows(o["flows"])...)
}

func (p *parser) flows(raw json.RawMessage) []string {
	flows, _ := p.object(raw)
	var list []string
	for _, flow := range flows.names() {
		o, ok := p.object(flows[flow])
		if !ok {
			continue
		}
		list = append(list, "flow="+flow)
		for _, member := range []string{"authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"} {
			if v, ok := readString(o[member]); ok && v != "" {
				list = append(list, flow+"."+member+"="+v)
			}
		}
		scopes, _ := p.object(o["scopes"])
		for _, scope := range scopes.names() {
			list = append(list, flow+".scope="+scope)
		}
	}
	return list
}

// requirements reads a list of alternatives; one alternative without a list is taken for a list of one.
func (p *parser) requirements(raw json.RawMessage) [][]requirement {
	if isNull(raw) {
		return nil
	}
	items, ok := readArray(raw)
	if !ok {
		items = []json.RawMessage{raw}
	}
	var list [][]requirement
	for _, item := range items {
		o, ok := p.object(item)
		if !ok {
			p.warn.add(SecurityMalformed)
			continue
		}
		if inner, ok := p.object(o["schemes"]); ok {
			o = inner
		}
		list = append(list, p.alternative(o))
	}
	return list
}

// alternative reads {name: [scopes]}, or {name: {list: [scopes]}} as ProtoJSON writes it.
func (p *parser) alternative(o object) []requirement {
	needed := []requirement{}
	for _, name := range o.names() {
		raw := o[name]
		if inner, ok := p.object(raw); ok {
			raw = inner["list"]
		}
		scopes, clean := readStrings(raw)
		if !clean {
			p.warn.add(SecurityMalformed)
		}
		slices.Sort(scopes)
		needed = append(needed, requirement{Scheme: name, Scopes: scopes})
	}
	return needed
}

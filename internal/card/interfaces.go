package card

import (
	"encoding/json"
	"iter"
	"strings"
)

// The bindings that every generation from 0.2.5 on knows.
const (
	JSONRPC  = "JSONRPC"
	HTTPJSON = "HTTP+JSON"
	GRPC     = "GRPC"
)

// Binding tells whether a name is that of one of these bindings, in any of its spellings.
func Binding(name string) bool {
	known := bindingName(name)
	return known == JSONRPC || known == HTTPJSON || known == GRPC
}

const (
	maxURL    = 2048
	maxTenant = 256
)

// interfaces lists the ways to reach the peer, most preferred first: supportedInterfaces, then the 0.x members, which add
// an interface unless the same url, binding and generation is there already (wire reference 6).
func (p *parser) interfaces(top object) []Interface {
	modern := p.supported(top)
	legacy := p.legacy(top)
	if len(modern) > 0 && len(legacy) > 0 {
		p.warn.add(MixedGenerations)
	}
	list := append(unique(modern), notCovered(unique(legacy), modern)...)
	for _, in := range list {
		p.endpoint(in)
	}
	return list
}

// supported reads the supportedInterfaces of 1.0, whose entries may be of any generation.
func (p *parser) supported(top object) []Interface {
	var list []Interface
	for entry := range p.entries(top["supportedInterfaces"]) {
		declared := entry["protocolVersion"]
		if isNull(declared) {
			declared = top["protocolVersion"]
		}
		binding := entry["protocolBinding"]
		if isNull(binding) {
			binding = entry["transport"]
		}
		in := Interface{ProtocolVersion: p.version(declared)}
		if in.ProtocolVersion == "" {
			p.warn.add(VersionMissing)
		}
		if p.complete(&in, entry, binding) {
			list = append(list, in)
		}
	}
	return list
}

// legacy reads url, preferredTransport and additionalInterfaces of 0.x. A missing transport means JSONRPC.
func (p *parser) legacy(top object) []Interface {
	var list []Interface
	add := func(entry object, binding json.RawMessage) {
		in := Interface{Legacy: true, ProtocolVersion: p.version(top["protocolVersion"])}
		if p.complete(&in, entry, p.transport(binding)) {
			list = append(list, in)
		}
	}
	if top.present("url") {
		add(object{"url": top["url"]}, top["preferredTransport"])
	}
	for entry := range p.entries(top["additionalInterfaces"]) {
		add(entry, entry["transport"])
	}
	return list
}

// transport is a 0.x transport, or JSONRPC where none can be read.
func (p *parser) transport(raw json.RawMessage) json.RawMessage {
	if name, ok := readString(raw); ok && bindingName(name) != "" {
		return raw
	}
	if !isNull(raw) {
		p.warn.add(InterfaceMalformed)
	}
	return json.RawMessage(`"` + JSONRPC + `"`)
}

// entries are the objects of an array; anything else in it is left out.
func (p *parser) entries(raw json.RawMessage) iter.Seq[object] {
	return func(yield func(object) bool) {
		if isNull(raw) {
			return
		}
		items, ok := readArray(raw)
		if !ok {
			p.warn.add(InterfaceMalformed)
		}
		for _, item := range items {
			entry, ok := p.object(item)
			if !ok {
				p.warn.add(InterfaceMalformed)
				continue
			}
			if !yield(entry) { // one at a time: a card has room for a hundred thousand
				return
			}
		}
	}
}

// complete fills in url, binding and tenant; false means that the entry leads nowhere.
func (p *parser) complete(in *Interface, entry object, binding json.RawMessage) bool {
	name, _ := readString(binding)
	in.Binding = bindingName(name)
	text, ok := readString(entry["url"])
	if ok {
		in.URL, ok = p.url(text, in.Binding)
	}
	if ok && entry.present("tenant") {
		in.Tenant, ok = readString(entry["tenant"])
	}
	if !ok || in.Binding == "" || len(in.Tenant) > maxTenant {
		p.warn.add(InterfaceMalformed)
		return false
	}
	return true
}

// version reads a protocolVersion; one that is there and is none gets a warning.
func (p *parser) version(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	text, _ := readText(raw)
	v := readVersion(text)
	if v == "" {
		p.warn.add(VersionMissing)
	}
	return v
}

// spellingOf a binding leaves out what people put between the letters.
var spellingOf = strings.NewReplacer("-", "", "_", "", " ", "", ".", "", "/", "")

// bindingName matches the well-known bindings however they are spelled; other names are kept, and we do not speak them.
func bindingName(s string) string {
	s = strings.TrimSpace(s)
	switch spellingOf.Replace(strings.ToUpper(s)) {
	case "JSONRPC", "JSONRPC2", "JSONRPC20":
		return JSONRPC
	case "HTTP+JSON", "HTTPJSON", "REST":
		return HTTPJSON
	case "GRPC":
		return GRPC
	}
	return Safe(s)
}

// unique drops repeats, keeping the first.
func unique(list []Interface) []Interface {
	type key struct{ url, binding, version, tenant string }
	seen := map[key]bool{}
	var kept []Interface
	for _, in := range list {
		k := key{in.URL.String(), in.Binding, in.ProtocolVersion, in.Tenant}
		if !seen[k] {
			seen[k] = true
			kept = append(kept, in)
		}
	}
	return kept
}

// notCovered are the 0.x entries that say what the modern ones do not. One without a version adds nothing to an entry of
// the same url and binding.
func notCovered(legacy, modern []Interface) []Interface {
	type key struct{ url, binding, generation string }
	said := map[key]bool{}
	for _, m := range modern {
		said[key{m.URL.String(), m.Binding, m.Generation()}] = true
		said[key{m.URL.String(), m.Binding, ""}] = true
	}
	var list []Interface
	for _, in := range legacy {
		if !said[key{in.URL.String(), in.Binding, in.Generation()}] {
			list = append(list, in)
		}
	}
	return list
}

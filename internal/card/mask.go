package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// Verdict is what Mask holds a card to.
type Verdict struct {
	// AsDeclared leaves the card as it is, its signatures included (trust.mode Observe). Only addresses that lead nowhere from where the
	// card is served are completed, and then the signatures go. Of the rest of the verdict At alone counts.
	AsDeclared bool
	// Trusted are the capabilities that stay declared where the card declares them; every other one is masked. ExtendedAgentCard stays only
	// beside Streaming, and beside PushNotifications where the card declares them: that card would bring back what is masked in this one.
	Trusted map[trust.Capability]bool
	// RefusedInputModes are media types, in lower case without parameters, that the card's input modes lose.
	RefusedInputModes []string
	// Dead tells an interface that is left out; nil: none is.
	Dead func(Interface) bool
	// At is the address of every interface (urlFrom: Endpoint); nil: that which the card names.
	At *url.URL
}

// Masked is a card that promises no more than is trusted.
type Masked struct {
	// Body is the card, in its own generation.
	Body []byte
	// Hidden are the capabilities that the card declares and Body does not, sorted.
	Hidden []trust.Capability
	// Dropped is how many of the card's interfaces Body leaves out.
	Dropped int
	// SignaturesDropped: the card was signed, and Body is not.
	SignaturesDropped bool
}

// ErrNoInterface says that no interface is left that a client could use.
var ErrNoInterface = errors.New("masking card: no interface is left")

// Mask writes the card again so that it declares no more than the verdict allows: capabilities that are not trusted are false, dead
// interfaces and refused input modes are gone, and so are the signatures, which would no longer stand. Where the main interface of a 0.x card
// is dead, the first other one takes its place. Everything else keeps its bytes: unknown members, numbers, order.
//
// Members that SDKs take for one of those that are judged, and that Parse does not read, are left out: Go reads members in any case,
// protobuf in snake case, and of a member that stands twice some read the first and some the last. So are interfaces that nobody judged: those
// that cannot be read, and those beyond MaxInterfaces. A relative address becomes absolute, and any other is written as it was judged.
func (c *Card) Mask(v Verdict) (Masked, error) {
	body := bytes.TrimPrefix(c.Raw, byteOrderMark)
	if v.AsDeclared {
		if v.At == nil && !slices.Contains(c.Warnings, RelativeEndpoint) {
			return Masked{Body: body}, nil
		}
		v = Verdict{At: v.At, AsDeclared: true}
	}
	m := masker{Verdict: v, card: c, parser: parser{warn: warnings{}, source: c.source}}
	for _, in := range c.Interfaces {
		m.judge(in)
	}
	out, ok := m.top(body)
	switch {
	case !ok:
		return Masked{}, errNotObject
	case m.kept == 0:
		return Masked{}, ErrNoInterface
	}
	for name, d := range c.Declared {
		if d == trust.Declared && !m.trusts(name) {
			m.out.Hidden = append(m.out.Hidden, name)
		}
	}
	slices.Sort(m.out.Hidden)
	m.out.Body, m.out.SignaturesDropped = out, c.Signed
	return m.out, nil
}

// masker writes one card again.
type masker struct {
	Verdict
	card   *Card
	parser parser
	out    Masked
	// alive tells the judged interfaces by what a client takes them by.
	alive map[route]bool
	kept  int
}

// route is what a client takes an interface by. A 0.x entry that a modern one covers has the same, whatever else they say.
type route struct{ url, binding string }

func (m *masker) judge(in Interface) {
	if m.alive == nil {
		m.alive = map[route]bool{}
	}
	dead := m.Dead != nil && m.Dead(in)
	if dead {
		m.out.Dropped++
	}
	at := route{in.URL.String(), in.Binding}
	m.alive[at] = m.alive[at] || !dead
}

func (m *masker) trusts(c trust.Capability) bool {
	if c == trust.ExtendedAgentCard && !m.AsDeclared && !m.unmasked() {
		return false
	}
	return m.AsDeclared || m.Trusted[c]
}

// unmasked: nothing that clients act upon would come back with the extended card, which some SDKs take in place of this one and nobody masks.
// Streaming counts even where this card does not declare it, as that one may.
func (m *masker) unmasked() bool {
	return m.Trusted[trust.Streaming] && (m.Trusted[trust.PushNotifications] || m.card.Declared[trust.PushNotifications] != trust.Declared)
}

// lives tells whether an entry, as it was read, stays.
func (m *masker) lives(in Interface) bool {
	return m.alive[route{in.URL.String(), in.Binding}] && (m.Dead == nil || !m.Dead(in))
}

// The members that are judged, or that clients act upon as the digest knows them, by where they stand. Others that SDKs take for one of
// these are left out.
var (
	judgedTop = newMembers("protocolVersion", "url", "preferredTransport", "additionalInterfaces", "supportedInterfaces", "capabilities",
		"supportsAuthenticatedExtendedCard", "defaultInputModes", "defaultOutputModes", "skills", "security", "securitySchemes",
		"securityRequirements", "authentication", "signatures")
	judgedCapabilities = newMembers("streaming", "pushNotifications", "stateTransitionHistory", "extendedAgentCard")
	judgedInterface    = newMembers("url", "transport", "protocolBinding", "protocolVersion", "tenant")
	judgedSkill        = newMembers("inputModes")
)

// members are names, by the form in which SDKs compare them.
type members map[string]string

func newMembers(names ...string) members {
	m := members{}
	for _, name := range names {
		m[folded(name)] = name
	}
	return m
}

// folded is a name without what some SDK overlooks: case, which encoding/json does not tell apart, and underscores, which protobuf's JSON
// takes for camel case.
func folded(name string) string {
	return strings.ToLower(strings.ToUpper(strings.ReplaceAll(name, "_", "")))
}

// member is one member of an object as it is written.
type member struct {
	name string
	// raw is the name in the bytes it came in, quotes included.
	raw, value []byte
}

// list splits an object into its members in order, without those that SDKs would take for one of judged: other spellings, and all but the
// last of a name. clean: there were none.
func (j members) list(raw []byte) (list []member, clean, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false, false
	}
	last, clean := map[string]int{}, true
	for dec.More() {
		from := dec.InputOffset()
		token, err := dec.Token()
		name, isString := token.(string)
		to := dec.InputOffset()
		var value json.RawMessage
		if err != nil || !isString || dec.Decode(&value) != nil {
			return nil, false, false
		}
		if known, judged := j[folded(name)]; judged {
			if name != known {
				clean = false
				continue
			}
			if i, twice := last[name]; twice {
				list[i].name, list[i].raw, clean = "", nil, false
			}
			last[name] = len(list)
		}
		list = append(list, member{name, bytes.TrimLeft(raw[from:to], " \t\r\n,"), value})
	}
	return slices.DeleteFunc(list, func(m member) bool { return m.raw == nil }), clean, true
}

// write joins members to an object.
func write(list []member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.raw)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quoted is a string as JSON has it.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		panic("a string always marshals")
	}
	return bytes.TrimSpace(b.Bytes())
}

func find(list []member, name string) *member {
	i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func without(list []member, name string) []member {
	return slices.DeleteFunc(list, func(m member) bool { return m.name == name })
}

func (m *masker) top(raw []byte) ([]byte, bool) {
	list, _, ok := judgedTop.list(raw)
	if !ok {
		return nil, false
	}
	list = without(list, "signatures")
	flags := m.card.flags
	for i := range list {
		one := &list[i]
		switch one.name {
		case "capabilities":
			one.value = m.capabilities(one.value)
		case "supportsAuthenticatedExtendedCard":
			one.value = flag(one.value, flags.extendedOld && m.trusts(trust.ExtendedAgentCard))
		case "defaultInputModes":
			one.value = m.modes(one.value)
		case "skills":
			one.value = m.skills(one.value)
		}
	}
	return write(m.interfaces(list)), true
}

// flag is a capability's member: what does not stand is false, unless it says so already. A text or a number counts as true with some.
func flag(value []byte, stands bool) []byte {
	if stands || isNull(value) {
		return value
	}
	return []byte("false")
}

func (m *masker) capabilities(raw []byte) []byte {
	list, _, ok := judgedCapabilities.list(raw)
	if !ok {
		return raw
	}
	f := m.card.flags
	stands := map[string]bool{
		"streaming":              f.streaming && m.trusts(trust.Streaming),
		"pushNotifications":      f.push && m.trusts(trust.PushNotifications),
		"stateTransitionHistory": f.history && m.trusts(trust.StateTransitionHistory),
		"extendedAgentCard":      f.extendedNew && m.trusts(trust.ExtendedAgentCard),
	}
	for i := range list {
		if s, judged := stands[list[i].name]; judged {
			list[i].value = flag(list[i].value, s)
		}
	}
	return write(list)
}

// modes leaves out those that are refused, however they are spelled.
func (m *masker) modes(raw []byte) []byte {
	if len(m.RefusedInputModes) == 0 {
		return raw
	}
	items, ok := readArray(raw)
	if !ok {
		return raw
	}
	return array(slices.DeleteFunc(items, func(item json.RawMessage) bool {
		word, isString := readString(item)
		mode, _ := mediaType(word)
		return isString && slices.Contains(m.RefusedInputModes, mode)
	}))
}

func (m *masker) skills(raw []byte) []byte {
	if len(m.RefusedInputModes) == 0 {
		return raw
	}
	items, ok := readArray(raw)
	if !ok {
		return raw
	}
	for i, item := range items {
		list, _, ok := judgedSkill.list(item)
		if !ok {
			continue
		}
		if own := find(list, "inputModes"); own != nil {
			own.value = m.modes(own.value)
		}
		items[i] = write(list)
	}
	return array(items)
}

func array(items []json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// interfaces holds every member that names one to the verdict.
func (m *masker) interfaces(list []member) []member {
	version := valueOf(list, "protocolVersion")
	if modern := find(list, "supportedInterfaces"); modern != nil {
		modern.value = array(m.entries(modern.value, func(entry object) (Interface, bool) {
			declared, binding := entry["protocolVersion"], entry["protocolBinding"]
			if isNull(declared) {
				declared = version
			}
			if isNull(binding) {
				binding = entry["transport"]
			}
			in := Interface{ProtocolVersion: m.parser.version(declared)}
			return in, m.parser.complete(&in, entry, binding)
		}))
	}
	old := func(entry object, binding json.RawMessage) (Interface, bool) {
		in := Interface{Legacy: true, ProtocolVersion: m.parser.version(version)}
		return in, m.parser.complete(&in, entry, m.parser.transport(binding))
	}
	var others []json.RawMessage
	if additional := find(list, "additionalInterfaces"); additional != nil {
		others = m.entries(additional.value, func(entry object) (Interface, bool) { return old(entry, entry["transport"]) })
		additional.value = array(others)
	}
	main := find(list, "url")
	if main == nil {
		return list
	}
	if in, ok := old(object{"url": main.value}, valueOf(list, "preferredTransport")); ok && m.lives(in) {
		m.kept++
		main.value = m.address(main.value, in)
		return list
	}
	if len(others) == 0 {
		return without(without(list, "url"), "preferredTransport")
	}
	first, _ := m.parser.object(others[0])
	main.value = first["url"]
	binding := m.parser.transport(first["transport"])
	if preferred := find(list, "preferredTransport"); preferred != nil {
		preferred.value = binding
		return list
	}
	return append(list, member{"preferredTransport", []byte(`"preferredTransport"`), binding})
}

func valueOf(list []member, name string) json.RawMessage {
	if one := find(list, name); one != nil {
		return one.value
	}
	return nil
}

// entries are those of a list of interfaces that stay.
func (m *masker) entries(raw json.RawMessage, read func(object) (Interface, bool)) []json.RawMessage {
	items, _ := readArray(raw)
	var stay []json.RawMessage
	seen := map[string]bool{}
	for _, item := range items {
		list, clean, ok := judgedInterface.list(item)
		if !ok {
			continue
		}
		entry := object{}
		for _, one := range list {
			entry[one.name] = one.value
		}
		in, ok := read(entry)
		if !ok || !m.lives(in) {
			continue
		}
		text := find(list, "url")
		was := text.value
		if text.value = m.address(was, in); !clean || !bytes.Equal(was, text.value) {
			item = write(list)
		}
		if seen[string(item)] { // one address makes some of them the same
			continue
		}
		seen[string(item)] = true
		m.kept++
		stay = append(stay, item)
	}
	return stay
}

// address is an interface's address as it was judged. One of gRPC keeps its own form, which is no URL.
func (m *masker) address(raw []byte, in Interface) []byte {
	text, _ := readString(raw)
	switch {
	case m.At != nil && in.Binding == GRPC:
		return quoted(hostAndPort(m.At))
	case m.At != nil:
		return quoted(m.At.String())
	case in.Binding == GRPC && !strings.ContainsAny(text, "@#"):
		return raw
	case in.Binding == GRPC:
		return quoted(hostAndPort(in.URL))
	case text == in.URL.String():
		return raw
	}
	return quoted(in.URL.String())
}

func hostAndPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "http":
		return u.Host + ":80"
	}
	return u.Host + ":443"
}

package wire

import (
	"bytes"
	"strings"
)

// wrappers are the members of 1.0's union, in the order of preference if a peer sends several.
var wrappers = []struct {
	member string
	kind   Kind
}{{"task", KindTask}, {"statusUpdate", KindStatus}, {"message", KindMessage}, {"artifactUpdate", KindArtifact}}

// kinds are the words of 0.2's and 0.3's discriminator.
var kinds = map[string]Kind{
	"task": KindTask, "message": KindMessage, "status-update": KindStatus, "artifact-update": KindArtifact,
}

// readWanted reads a result as what was asked for.
func (e *Event) readWanted(result value, x expect) {
	switch x.wants {
	case wantsEvent:
		e.readResult(result, x)
	case wantsConfig:
		if !result.isObject() {
			e.note(ProblemShape)
			return
		}
		e.Kind, e.Shape = KindConfig, x.generation
		e.ConfigID = result.get("id").ident()
		if inner := result.get("pushNotificationConfig"); inner.isObject() {
			e.TaskID, e.ConfigID = result.get("taskId").ident(), inner.get("id").ident()
		}
		if e.ConfigID == "" { // the proto of 0.3 names it by a path
			_, e.ConfigID, _ = strings.Cut(result.get("name").ident(), "/pushNotificationConfigs/")
		}
	case wantsCard:
		if !result.isObject() {
			e.note(ProblemShape)
			return
		}
		e.Kind, e.Shape, e.Card = KindCard, x.generation, bytes.Clone(result)
	case wantsAnything:
	}
}

// readResult finds out what a result is, in whatever shape, and fills the event from it.
func (e *Event) readResult(result value, x expect) {
	if !result.isObject() {
		e.note(ProblemShape)
		return
	}
	f := readFields(result, x)
	if x.unions() && (f.hasUnion() || f.spelled10()) {
		f.kind = "" // no member of 1.0, and unknown members cost nothing
	}
	if kind, ok := kinds[f.kind]; ok {
		e.take(kind, f, x, V03)
		return
	}
	if kind, inner, n := f.union(); n > 0 {
		if n > 1 {
			e.note(ProblemTwoMembers)
		}
		e.take(kind, readFields(inner, x), x, x.unionShape())
		if x.bare {
			e.note(ProblemShape) // right generation, but wrapped where it should be bare
		}
		return
	}
	kind, shape := f.guess(x)
	if kind == KindOther {
		e.note(ProblemShape)
		return
	}
	e.take(kind, f, x, shape)
	if x.generation == V01 || x.unions() && x.bare && kind == KindTask {
		return
	}
	e.note(ProblemShape) // 1.0 wraps it, 0.2 and 0.3 name its kind
}

// take fills the event from the fields of a thing of known kind.
func (e *Event) take(kind Kind, f fields, x expect, shape Generation) {
	e.Kind, e.Shape = kind, shape
	if shape == V03 && x.generation == V02 {
		e.Shape = V02
	}
	if e.Shape != x.generation {
		e.note(ProblemShape)
	}
	e.ContextID = f.contextID
	e.Correlation = x.identity.correlation(f)
	e.TaskID = f.taskID
	switch kind {
	case KindTask:
		e.TaskID, e.Parts, e.ArtifactBytes = f.id, f.artifactParts, f.artifactBytes
		if f.history >= 0 {
			e.History = f.history
		}
	case KindMessage:
		e.MessageID, e.Parts = f.messageID, f.parts
		if f.parts == 0 {
			e.note(ProblemEmptyParts)
		}
	case KindArtifact:
		e.Parts = f.artifact.get("parts").count()
	case KindStatus:
		if e.Final = f.final; e.Final == nil && x.proto && x.generation != V10 {
			e.Final = new(bool) // ProtoJSON leaves false out
		}
	}
	if e.TaskID == "" && (kind == KindStatus || kind == KindArtifact) {
		e.TaskID = f.id // 0.1
	}
	e.readStatus(f.status, x)
}

// readStatus fills state, time and the content of a status message.
func (e *Event) readStatus(status value, x expect) {
	state := status.get("state")
	e.RawState = state.word()
	e.RawState = strings.Clone(e.RawState[:min(len(e.RawState), maxState)]) // a longer one is none that there is
	if state.isNumber() {
		e.note(ProblemNumericEnum)
	}
	if x.misspells(e.RawState) {
		e.note(ProblemStateSpelling)
	}
	e.Timestamp = readTime(status.get("timestamp").text())
	e.Parts += readFields(status.get("message"), x).parts
}

// fields are the members of any of the four things, of all generations.
type fields struct {
	kind, id, taskID, contextID, messageID, role string
	status, artifact                             value
	metadata                                     value
	final                                        *bool
	parts, history, artifactParts, artifactBytes int
	hasTaskMembers                               bool // members that a task has and a 0.1 frame has not
	wrapped                                      [4]value
}

func readFields(v value, x expect) fields {
	f := fields{history: -1}
	v.members(func(name []byte, m value) {
		word := string(name)
		if x.proto {
			word = protoName(word)
		}
		switch word {
		case "kind":
			f.kind = m.text()
		case "id":
			f.id = m.ident()
		case "taskId":
			f.taskID = m.ident()
		case "contextId", "sessionId":
			f.contextID = m.ident()
			f.hasTaskMembers = true
		case "messageId":
			f.messageID = m.ident()
		case "role":
			f.role = m.text()
		case "metadata":
			f.metadata = m
		case "status":
			f.status = m
		case "artifact":
			f.artifact = m
		case "final":
			f.final = boolOf(m)
		case "parts":
			f.parts = m.count()
		case "history":
			f.hasTaskMembers = true
			if m.isArray() {
				f.history = m.count()
			}
		case "artifacts":
			f.hasTaskMembers = true
			m.elements(func(a value) {
				list := a.get("parts")
				f.artifactParts += list.count()
				f.artifactBytes += len(list)
			})
		}
		for i, w := range wrappers {
			if word == w.member && m.isObject() {
				f.wrapped[i] = m
			}
		}
	})
	return f
}

// protoNames are names of a proto, which ProtoJSON may use in place of its own, and the name that 0.3's proto has for a message's parts.
var protoNames = map[string]string{
	"task_id": "taskId", "context_id": "contextId", "message_id": "messageId", "status_update": "statusUpdate",
	"artifact_update": "artifactUpdate", "msg": "message", "content": "parts",
}

func protoName(name string) string {
	if known, ok := protoNames[name]; ok {
		return known
	}
	return name
}

func boolOf(v value) *bool {
	if len(v) == 0 || v[0] != 't' && v[0] != 'f' {
		return nil
	}
	b := v[0] == 't'
	return &b
}

// union is the member of 1.0's union and how many there are.
func (f fields) union() (kind Kind, inner value, n int) {
	for i, w := range f.wrapped {
		if w == nil {
			continue
		}
		if n == 0 {
			kind, inner = wrappers[i].kind, w
		}
		n++
	}
	return kind, inner, n
}

func (f fields) hasUnion() bool { _, _, n := f.union(); return n > 0 }

// spelled10: the enums are those of 1.0.
func (f fields) spelled10() bool {
	return spelledAs10(f.status.get("state").word()) || strings.HasPrefix(f.role, "ROLE_")
}

// guess tells what an object is that names its kind in no way. A 0.1 frame is {id, status, final} or {id, artifact}; a
// task has an id and a status as well, and then the question asked decides.
func (f fields) guess(x expect) (Kind, Generation) {
	shape := f.guessShape(x)
	switch {
	case f.artifact.isObject():
		return KindArtifact, shape
	case f.status.isObject() && f.taskID != "" && f.id == "":
		return KindStatus, shape
	case f.status.isObject() && f.id != "":
		if f.final != nil || x.generation == V01 && x.stream && !f.hasTaskMembers {
			return KindStatus, shape
		}
		return KindTask, shape
	case f.role != "":
		return KindMessage, shape
	}
	return KindOther, ""
}

// guessShape goes by the spelling of the enums. Without a sign to the contrary the peer speaks what it said it does.
func (f fields) guessShape(x expect) Generation {
	state := f.status.get("state").word()
	switch {
	case f.spelled10():
		return x.unionShape()
	case x.generation == V10 && !x.bare && states0[state]:
		return V01
	}
	return x.generation
}

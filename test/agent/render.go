package agent

import (
	"strings"
	"time"
)

type wireStatus struct {
	State     any          `json:"state"`
	Message   *wireMessage `json:"message,omitempty"`
	Timestamp string       `json:"timestamp,omitempty"`
}

type wireMessage struct {
	Kind      string `json:"kind,omitempty"`
	MessageID string `json:"messageId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	ContextID string `json:"contextId,omitempty"`
	Role      string `json:"role"`
	Parts     parts  `json:"parts,omitzero"`
	Content   parts  `json:"content,omitzero"` // parts in the proto of 0.3
}

// parts leave themselves out only where there are none to speak of; an empty list is a list.
type parts []part

// IsZero says so to encoding/json.
func (p parts) IsZero() bool { return p == nil }

type wireArtifact struct {
	ArtifactID string `json:"artifactId,omitempty"`
	Name       string `json:"name,omitempty"`
	Parts      []part `json:"parts"`
	Index      *int   `json:"index,omitempty"`
	Append     *bool  `json:"append,omitempty"`
	LastChunk  *bool  `json:"lastChunk,omitempty"`
}

type wireTask struct {
	Kind      string         `json:"kind,omitempty"`
	ID        string         `json:"id"`
	ContextID string         `json:"contextId,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
	Status    wireStatus     `json:"status"`
	Artifacts []wireArtifact `json:"artifacts,omitempty"`
	History   []wireMessage  `json:"history,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	Vendor    string         `json:"x-vendor,omitempty"`
}

type wireUpdate struct {
	Kind      string         `json:"kind,omitempty"`
	ID        string         `json:"id,omitempty"` // 0.1
	TaskID    string         `json:"taskId,omitempty"`
	ContextID string         `json:"contextId,omitempty"`
	Status    *wireStatus    `json:"status,omitempty"`
	Artifact  *wireArtifact  `json:"artifact,omitempty"`
	Final     *bool          `json:"final,omitempty"`
	Append    *bool          `json:"append,omitempty"`
	LastChunk *bool          `json:"lastChunk,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	Vendor    string         `json:"x-vendor,omitempty"`
}

// union is 1.0's result of a send and of a stream frame.
type union struct {
	Kind           string       `json:"kind,omitempty"`
	Task           *wireTask    `json:"task,omitempty"`
	Message        *wireMessage `json:"message,omitempty"`
	StatusUpdate   *wireUpdate  `json:"statusUpdate,omitempty"`
	ArtifactUpdate *wireUpdate  `json:"artifactUpdate,omitempty"`
}

// union adds the word that 0.3 would have for its member, where the quirk wants it.
func (r renderer) union(u union, kind string) union {
	if r.rpc.Kinds {
		u.Kind = kind
	}
	return u
}

// renderer writes what happened in the words of one generation.
type renderer struct {
	gen Generation
	rpc RPCConfig
	// proto: what is written is the ProtoJSON of the generation, which only in 0.x differs from its JSON-RPC.
	proto bool
	// id, if set, stands in place of the task's own id.
	id string
	// rewrite, if set, is what a gateway calls a task; correlate where it tells the agent's own id besides.
	rewrite   func(own string) string
	correlate string
}

func (r renderer) taskID(own string) string {
	if r.rewrite != nil {
		return r.rewrite(own)
	}
	if r.id != "" {
		return r.id
	}
	return own
}

// unions: results name what they are by a member and enums by their names, as 1.0 does and every proto.
func (r renderer) unions() bool { return r.gen == V10 || r.proto }

func (r renderer) state(s State) any {
	switch {
	case !r.unions() || r.rpc.LowerStates:
		return string(s)
	case r.rpc.NumericStates:
		return protoNumbers[s]
	case (r.rpc.DoubleL || r.gen != V10) && s == Canceled:
		return "TASK_STATE_CANCELLED"
	}
	return protoStates[s]
}

func (r renderer) vendor() string {
	if r.rpc.Vendor {
		return "unknown members are ignored"
	}
	return ""
}

func (r renderer) text(s string) []part {
	p := part{Text: &s}
	switch {
	case r.unions():
	case r.gen == V01:
		p.Type = "text"
	default:
		p.Kind = "text"
	}
	return []part{p}
}

func (r renderer) status(st status, taskID, contextID string) wireStatus {
	w := wireStatus{State: r.state(st.state)}
	if !st.at.IsZero() && !r.rpc.NoTimestamps {
		at := st.at.Add(r.rpc.ClockOff.D())
		if r.rpc.ClockStands {
			at = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		w.Timestamp = at.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	if st.text != "" {
		w.Message = r.message(newID(), taskID, contextID, false, r.text(st.text))
	}
	return w
}

func (r renderer) message(id, taskID, contextID string, user bool, parts []part) *wireMessage {
	m := &wireMessage{MessageID: id, TaskID: taskID, ContextID: contextID, Role: "agent", Parts: parts}
	if user {
		m.Role = "user"
	}
	if m.Parts == nil {
		m.Parts = []part{}
	}
	switch {
	case r.unions():
		m.Role = "ROLE_" + strings.ToUpper(m.Role)
		if r.gen != V10 {
			m.Parts, m.Content = nil, m.Parts
		}
	case r.gen == V01:
		m.MessageID, m.TaskID, m.ContextID = "", "", ""
	default:
		m.Kind = "message"
	}
	return m
}

func (r renderer) artifactID(taskID string) string {
	if r.gen == V01 {
		return ""
	}
	return "answer-" + taskID
}

func (r renderer) artifact(taskID, text string) wireArtifact {
	a := wireArtifact{ArtifactID: r.artifactID(taskID), Parts: r.text(text)}
	if r.gen == V01 {
		zero := 0
		a.Index = &zero
	}
	return a
}

// task as the bare object that GetTask and CancelTask answer with. history nil: all of it.
func (r renderer) task(v view, history *int) *wireTask {
	id := r.taskID(v.id)
	w := &wireTask{ID: id, Status: r.status(v.status, id, v.context), Vendor: r.vendor(), Metadata: r.metadata(v.id)}
	switch {
	case r.unions():
		w.ContextID = v.context
	case r.gen == V01:
		w.SessionID = v.context
	default:
		w.Kind, w.ContextID = "task", v.context
	}
	if len(v.artifact) > 0 {
		a := r.artifact(id, v.artifact[0])
		for _, chunk := range v.artifact[1:] {
			a.Parts = append(a.Parts, r.text(chunk)...) // as the SDKs do: append adds parts
		}
		w.Artifacts = []wireArtifact{a}
	}
	turns := v.history
	if history != nil && *history >= 0 && *history < len(turns) {
		turns = turns[len(turns)-*history:]
	}
	for _, t := range turns {
		parts := t.parts
		if !t.user && len(parts) == 1 && parts[0].Text != nil {
			parts = r.text(*parts[0].Text)
		}
		w.History = append(w.History, *r.message(t.id, id, v.context, t.user, parts))
	}
	return w
}

// frame is the result of one stream event.
func (r renderer) frame(ev event, v view) any {
	switch ev.kind {
	case evTask:
		v.status = ev.status
		if !ev.status.state.terminal() {
			v.artifact = nil // it came later than this event
		}
		return r.taskFrame(v)
	case evArtifact:
		return r.artifactFrame(ev, v)
	default:
		return r.statusFrame(ev, v)
	}
}

// taskFrame is a Task on a stream; 0.1 has no such event and sends its status.
func (r renderer) taskFrame(v view) any {
	switch {
	case r.unions():
		return r.union(union{Task: r.task(v, nil)}, "task")
	case r.gen == V01:
		return r.statusFrame(event{kind: evStatus, status: v.status}, v)
	default:
		return r.task(v, nil)
	}
}

func (r renderer) statusFrame(ev event, v view) any {
	id := r.taskID(v.id)
	st := r.status(ev.status, id, v.context)
	final := ev.status.state.terminal() || ev.status.state.interrupted()
	if ev.final != nil {
		final = *ev.final
	}
	u := &wireUpdate{TaskID: id, ContextID: v.context, Status: &st, Final: &final, Vendor: r.vendor(), Metadata: r.metadata(v.id)}
	switch {
	case r.unions():
		if r.gen == V10 && !r.rpc.Vendor || r.gen != V10 && !final {
			u.Final = nil // ProtoJSON leaves false out, and 1.0 has no such member
		}
		return r.union(union{StatusUpdate: u}, "status-update")
	case r.gen == V01:
		u.ID, u.TaskID, u.ContextID = id, "", ""
		return u
	default:
		u.Kind = "status-update"
		return u
	}
}

func (r renderer) artifactFrame(ev event, v view) any {
	id := r.taskID(v.id)
	a := r.artifact(id, ev.text)
	more := !ev.first
	u := &wireUpdate{TaskID: id, ContextID: v.context, Artifact: &a, Append: &more, LastChunk: &ev.last, Vendor: r.vendor(), Metadata: r.metadata(v.id)}
	switch {
	case r.unions():
		return r.union(union{ArtifactUpdate: u}, "artifact-update")
	case r.gen == V01:
		a.Append, a.LastChunk = &more, &ev.last
		u.ID, u.TaskID, u.ContextID, u.Append, u.LastChunk = id, "", "", nil, nil
		return u
	default:
		u.Kind = "artifact-update"
		return u
	}
}

// sent is the result of a unary send that answered with a task.
func (r renderer) sent(v view, history *int, bare bool) any {
	t := r.task(v, history)
	if r.unions() && !bare {
		return r.union(union{Task: t}, "task")
	}
	return t
}

// said is the result of a send that answered with a Message.
func (r renderer) said(id, contextID string, parts []part) any {
	m := r.message(id, "", contextID, false, parts)
	if r.unions() {
		return r.union(union{Message: m}, "message")
	}
	return m
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

var errorReasons = map[int]string{
	-32001: "TASK_NOT_FOUND", -32002: "TASK_NOT_CANCELABLE", -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
	-32004: "UNSUPPORTED_OPERATION", -32005: "CONTENT_TYPE_NOT_SUPPORTED", -32006: "INVALID_AGENT_RESPONSE",
	-32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32009: "VERSION_NOT_SUPPORTED",
}

// fail makes an error in the style of the generation: 1.0 carries ErrorInfo.
func (r renderer) fail(code int, text string) *rpcError {
	if r.rpc.Masked {
		return &rpcError{Code: -32603, Message: "internal error"}
	}
	e := &rpcError{Code: code, Message: text}
	if reason := errorReasons[code]; reason != "" && r.gen == V10 {
		e.Data = errorInfo(reason)
	}
	return e
}

func errorInfo(reason string) []map[string]any {
	return []map[string]any{{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}}
}

// farFuture stands for "for ever" where a timer needs a number.
const farFuture = 1000 * time.Hour

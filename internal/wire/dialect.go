package wire

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// dialect is how one generation names its methods (wire reference 2).
// Empty are methods that a generation does not have (by JSON-RPC).
type dialect struct{ send, stream, get, cancel, resubscribe, pushSet, pushDelete, extendedCard string }

var dialects = map[Generation]dialect{
	V01: {"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotification/set", "", ""},
	V02: {"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/delete", ""},
	V03: {"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"},
	V10: {"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask",
		"CreateTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", "GetExtendedAgentCard"},
}

func (e Endpoint) dialect() dialect { return dialects[e.Generation] }

// known is the endpoint with a generation of ours: one that nobody named is taken for the newest, in every respect.
func (e Endpoint) known() Endpoint {
	if _, ok := dialects[e.Generation]; !ok {
		e.Generation = V10
	}
	return e
}

// header of every request. accept is the media type asked for.
func (e Endpoint) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}}
	if v := e.version(); v != "" {
		h.Set("A2A-Version", v)
	}
	return h
}

// object is a JSON object in the making. Bodies hold no member that their generation does not know: some peers refuse
// them (C44).
type object = map[string]any

// sendParams builds the params of a send or stream.
func (e Endpoint) sendParams(m Message, cfg SendConfig) object {
	switch e.Generation {
	case V01:
		return sendParams01(m, cfg)
	case V02, V03:
		return object{"message": message03(m), "configuration": configuration03(cfg)}
	}
	p := object{"message": message10(m)}
	if c := configuration10(cfg); len(c) > 0 {
		p["configuration"] = c
	}
	return e.withTenant(p)
}

// taskParams builds the params of the methods that name a task.
func (e Endpoint) taskParams(id string, historyLength *int) object {
	p := object{"id": id}
	if historyLength != nil {
		p["historyLength"] = *historyLength
	}
	if e.Generation == V10 {
		return e.withTenant(p)
	}
	return p
}

func (e Endpoint) withTenant(p object) object {
	set(p, "tenant", e.Tenant)
	return p
}

// version is what A2A-Version says: major and minor of 1.x, nothing for 0.x (wire reference 6).
func (e Endpoint) version() string {
	if e.Generation != V10 {
		return ""
	}
	major, rest, _ := strings.Cut(e.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if _, err := strconv.ParseUint(minor, 10, 16); major != "1" || err != nil {
		return "1.0" // the card is the peer's text; nothing but a number of its own goes into a header
	}
	return major + "." + minor
}

func sendParams01(m Message, cfg SendConfig) object {
	id := m.TaskID
	if id == "" {
		id = uuid.NewString()
	}
	message := object{"role": "user", "parts": parts(m.Parts, "type")}
	p := object{"id": id, "message": message}
	set(p, "sessionId", m.ContextID)
	if len(m.Metadata) > 0 {
		message["metadata"], p["metadata"] = m.Metadata, m.Metadata
	}
	if cfg.HistoryLength != nil {
		p["historyLength"] = *cfg.HistoryLength
	}
	if cfg.Push != nil {
		p["pushNotification"] = cfg.Push.object0()
	}
	return p
}

func message03(m Message) object {
	o := object{"kind": "message", "messageId": messageID(m), "role": "user", "parts": parts(m.Parts, "kind")}
	return withReferences(o, m)
}

func message10(m Message) object {
	return withReferences(object{"messageId": messageID(m), "role": "ROLE_USER", "parts": parts10(m.Parts)}, m)
}

func withReferences(o object, m Message) object {
	set(o, "taskId", m.TaskID)
	set(o, "contextId", m.ContextID)
	if len(m.Metadata) > 0 {
		o["metadata"] = m.Metadata
	}
	return o
}

func messageID(m Message) string {
	if m.MessageID != "" {
		return m.MessageID
	}
	return uuid.NewString()
}

// accepted03 is what we accept from a peer that wants to be told and has not been.
var accepted03 = []string{"text/plain", "application/json"}

func configuration03(cfg SendConfig) object {
	c := object{"acceptedOutputModes": cfg.AcceptedOutput, "blocking": true}
	if len(cfg.AcceptedOutput) == 0 {
		c["acceptedOutputModes"] = accepted03
	}
	if cfg.ReturnImmediately != nil {
		c["blocking"] = !*cfg.ReturnImmediately
	}
	if cfg.HistoryLength != nil {
		c["historyLength"] = *cfg.HistoryLength
	}
	if cfg.Push != nil {
		c["pushNotificationConfig"] = cfg.Push.object0()
	}
	return c
}

func configuration10(cfg SendConfig) object {
	c := object{}
	if len(cfg.AcceptedOutput) > 0 {
		c["acceptedOutputModes"] = cfg.AcceptedOutput
	}
	if cfg.ReturnImmediately != nil {
		c["returnImmediately"] = *cfg.ReturnImmediately
	}
	if cfg.HistoryLength != nil {
		c["historyLength"] = *cfg.HistoryLength
	}
	if cfg.Push != nil {
		c["taskPushNotificationConfig"] = cfg.Push.object10()
	}
	return c
}

// parts in 0.x's form: the discriminator is type in 0.1 and kind after it.
func parts(list []Part, discriminator string) []object {
	out := make([]object, 0, len(list))
	for _, p := range list {
		switch {
		case p.Data != nil:
			out = append(out, object{discriminator: "data", "data": p.Data})
		case p.Raw != nil:
			file := object{"bytes": base64.StdEncoding.EncodeToString(p.Raw)}
			set(file, "mimeType", p.MediaType)
			out = append(out, object{discriminator: "file", "file": file})
		default:
			out = append(out, object{discriminator: "text", "text": p.Text})
		}
	}
	return out
}

// parts10 in 1.0's form: the member's name tells what it is.
func parts10(list []Part) []object {
	out := make([]object, 0, len(list))
	for _, p := range list {
		o := object{}
		switch {
		case p.Data != nil:
			o["data"] = p.Data
		case p.Raw != nil:
			o["raw"] = base64.StdEncoding.EncodeToString(p.Raw)
		default:
			o["text"] = p.Text
		}
		set(o, "mediaType", p.MediaType)
		out = append(out, o)
	}
	return out
}

func set(o object, name, v string) {
	if v != "" {
		o[name] = v
	}
}

// call is one JSON-RPC request: its body, and its id as it stands there.
type call struct{ body, id []byte }

// newCall writes a request with an id of its own. It fails only on a Part or Metadata that is no JSON.
func newCall(method string, params object) (call, error) {
	id, _ := json.Marshal(uuid.NewString())
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  object          `json:"params"`
	}{"2.0", id, method, params})
	return call{body: body, id: id}, err
}

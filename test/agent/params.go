package agent

import (
	"encoding/json"
	"strings"
)

// part of a message, in any generation.
type part struct {
	Kind string          `json:"kind,omitempty"`
	Type string          `json:"type,omitempty"`
	Text *string         `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
	URL  json.RawMessage `json:"url,omitempty"`
	File json.RawMessage `json:"file,omitempty"`
	// MediaType in 1.0, which has a place for it beside every kind.
	MediaType string `json:"mediaType,omitempty"`
}

func (p part) empty() bool {
	return p.Text == nil && p.Data == nil && p.Raw == nil && p.URL == nil && p.File == nil
}

// fits says whether the part has the shape of the generation, or of its proto.
func (p part) fits(g Generation, proto bool) bool {
	switch {
	case g == V10, proto:
		return p.Kind == "" && p.Type == ""
	case g == V01:
		return p.Type != ""
	default:
		return p.Kind != ""
	}
}

// incoming is a message as the script sees it.
type incoming struct {
	taskID, contextID, messageID string
	parts                        []part
	metadata                     map[string]json.RawMessage
	wait                         bool // for the end, or for a question
	historyLength                *int
	push                         *pushTarget
}

func (in incoming) turn() turn { return turn{id: in.messageID, user: true, parts: in.parts} }

func (in incoming) text() string {
	var b strings.Builder
	for _, p := range in.parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return strings.ToLower(strings.TrimSpace(b.String()))
}

func (in incoming) hasData() bool {
	for _, p := range in.parts {
		if p.Data != nil {
			return true
		}
	}
	return false
}

type sendParams struct {
	Tenant    string `json:"tenant"`
	ID        string `json:"id"`        // 0.1
	SessionID string `json:"sessionId"` // 0.1
	History   *int   `json:"historyLength"`
	Message   *struct {
		Kind      string                     `json:"kind"`
		MessageID string                     `json:"messageId"`
		Role      string                     `json:"role"`
		Parts     []part                     `json:"parts"`
		Content   []part                     `json:"content"` // parts in the proto of 0.3
		TaskID    string                     `json:"taskId"`
		ContextID string                     `json:"contextId"`
		Metadata  map[string]json.RawMessage `json:"metadata"`
	} `json:"message"`
	Configuration struct {
		ReturnImmediately *bool `json:"returnImmediately"`
		Blocking          *bool `json:"blocking"`
		HistoryLength     *int  `json:"historyLength"`
		// The webhook: of 1.0, of 0.2 and 0.3, and of 0.3's proto.
		Push10    *pushTarget `json:"taskPushNotificationConfig"`
		Push03    *pushTarget `json:"pushNotificationConfig"`
		PushProto *pushTarget `json:"pushNotification"`
	} `json:"configuration"`
	Push01   *pushTarget                `json:"pushNotification"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// readSend reads the params of a send in the generation given, or in the ProtoJSON of it; why is empty if they are good.
func readSend(g Generation, proto bool, raw json.RawMessage) (in incoming, why string) {
	var p sendParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return in, "params do not parse"
	}
	if p.Message == nil {
		return in, "message is missing"
	}
	m := p.Message
	if proto && g != V10 {
		m.Parts = m.Content
	}
	in = incoming{taskID: m.TaskID, contextID: m.ContextID, messageID: m.MessageID, parts: m.Parts, wait: true,
		historyLength: p.Configuration.HistoryLength, metadata: map[string]json.RawMessage{}}
	for _, md := range []map[string]json.RawMessage{p.Metadata, m.Metadata} {
		for k, v := range md {
			in.metadata[k] = v
		}
	}
	for _, p := range []*pushTarget{p.Configuration.Push10, p.Configuration.Push03, p.Configuration.PushProto, p.Push01} {
		if p != nil {
			in.push = p
		}
	}
	role, why := "user", ""
	if proto {
		role = "ROLE_USER"
	}
	switch g {
	case V10:
		role = "ROLE_USER"
		if p.Configuration.Blocking != nil {
			why = "configuration.blocking is unknown in 1.0"
		}
		if r := p.Configuration.ReturnImmediately; r != nil {
			in.wait = !*r
		}
	case V01:
		in.taskID, in.contextID, in.historyLength = p.ID, p.SessionID, p.History
		if p.ID == "" {
			why = "id is missing"
		}
	default:
		if m.Kind != "" && m.Kind != "message" {
			why = "message.kind is not message"
		}
		if b := p.Configuration.Blocking; b != nil {
			in.wait = *b
		}
	}
	switch {
	case why != "":
	case g != V01 && m.MessageID == "":
		why = "message.messageId is missing"
	case m.Role != role:
		why = "message.role is not " + role
	case len(m.Parts) == 0:
		why = "message.parts is empty"
	}
	for _, p := range m.Parts {
		if why == "" && (p.empty() || !p.fits(g, proto)) {
			why = "a part has not the shape of this generation"
		}
	}
	return in, why
}

type taskParams struct {
	Tenant        string `json:"tenant"`
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength"`
	ContextID     string `json:"contextId"`
	Status        string `json:"status"`
	PageSize      int    `json:"pageSize"`
}

package agent

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
)

const (
	newCardPath    = "/.well-known/agent-card.json"
	legacyCardPath = "/.well-known/agent.json"
)

// isCard says whether the card is served under a path.
func (c *Config) isCard(path string) bool {
	where := c.Card.Path
	if where == "" {
		where = "new"
		if c.Card.Generation == V01 || c.Card.Generation == V02 {
			where = "legacy"
		}
	}
	switch where {
	case "new":
		return path == newCardPath
	case "legacy":
		return path == legacyCardPath
	case "both":
		return path == newCardPath || path == legacyCardPath
	default:
		return path == where
	}
}

// baseURL of the agent as this client knows it.
func (a *Agent) baseURL(r *http.Request) string {
	if u := a.url.Load(); u != nil {
		return strings.TrimSuffix(*u, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + a.cfg.Load().Prefix
}

func (a *Agent) serveCard(c *Config, w http.ResponseWriter, r *http.Request) {
	if !a.pause(r.Context(), c) {
		return
	}
	if c.Card.HTML {
		writeHTML(w)
		return
	}
	streaming := !c.Card.Rolling || a.nth("cards")%2 == 1
	body := c.card(a.baseURL(r)+"/a2a", streaming)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if !c.Card.NoETag {
		sum := sha256.Sum256(body)
		tag := `"` + hex.EncodeToString(sum[:8]) + `"`
		h.Set("ETag", tag)
		h.Set("Cache-Control", "max-age=60")
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if c.Card.Malformed {
		body = body[:len(body)/2]
	}
	if c.Card.BOM {
		body = append([]byte("\ufeff"), body...)
	}
	if c.Card.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body)
		_ = z.Close()
		body = b.Bytes()
	}
	_, _ = w.Write(body)
}

// card is the card's bytes for an endpoint.
func (c *Config) card(endpoint string, streaming bool) []byte {
	k := c.Card
	if k.URL != "" {
		endpoint = k.URL
	}
	if k.Raw != "" {
		return []byte(strings.ReplaceAll(k.Raw, "{{URL}}", endpoint))
	}
	m := map[string]any{
		"name": c.Name, "description": "A scripted agent for tests.", "version": "1.0.0",
		"skills": []any{c.skill()},
	}
	m["defaultInputModes"], m["defaultOutputModes"] = c.inputModes(), []string{"text/plain"}
	if !k.NoCapabilities {
		m["capabilities"] = c.capabilities(streaming)
	}
	if k.Generation == V10 || k.Union {
		m["supportedInterfaces"] = c.interfaces(endpoint)
	}
	if k.Generation != V10 || k.Union {
		m["url"] = endpoint
		switch k.Generation {
		case V01:
		case V02:
			m["protocolVersion"] = "0.2.5"
		default:
			m["protocolVersion"], m["preferredTransport"] = "0.3.0", "JSONRPC"
			if k.Interfaces != nil && k.Generation == V03 {
				m["additionalInterfaces"] = k.Interfaces
			}
		}
	}
	if k.Giant > 0 {
		m["x-padding"] = strings.Repeat("x", k.Giant)
	}
	for name, v := range k.Extra {
		m[name] = v
	}
	body, err := json.Marshal(m)
	if err != nil {
		return []byte(`{}`)
	}
	return body
}

func (c *Config) inputModes() []string {
	if len(c.Card.InputModes) > 0 {
		return c.Card.InputModes
	}
	return []string{"text/plain"}
}

func (c *Config) skill() map[string]any {
	id := "ping"
	if c.Card.Revision != "" {
		id = c.Card.Revision
	}
	s := map[string]any{"id": id, "name": "Ping", "description": "Answers pong.", "tags": []string{"test"}}
	if c.Card.EstimatedDuration != nil {
		s["estimatedDuration"] = c.Card.EstimatedDuration
	}
	return s
}

func (c *Config) capabilities(streaming bool) map[string]any {
	m := map[string]any{"streaming": streaming}
	if c.Card.Streaming != nil {
		m["streaming"] = c.Card.Streaming
	}
	for name, raw := range map[string]json.RawMessage{
		"pushNotifications": c.Card.PushNotifications, "extendedAgentCard": c.Card.ExtendedAgentCard,
		"stateTransitionHistory": c.Card.StateTransitionHistory,
	} {
		if raw != nil {
			m[name] = raw
		}
	}
	return m
}

func (c *Config) interfaces(endpoint string) any {
	if c.Card.Interfaces != nil {
		return c.Card.Interfaces
	}
	version := "1.0"
	if c.Card.Generation != V10 {
		version = "0.3"
	}
	one := map[string]any{"url": endpoint, "protocolBinding": "JSONRPC", "protocolVersion": version}
	if c.Card.Tenant != "" {
		one["tenant"] = c.Card.Tenant
	}
	return []any{one}
}

// declaresStreaming says what an honest server goes by.
func (c *Config) declaresStreaming() bool {
	return !c.Card.NoCapabilities && (c.Card.Streaming == nil || declared(c.Card.Streaming))
}

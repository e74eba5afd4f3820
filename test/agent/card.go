package agent

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
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
	body := c.card(a.baseURL(r), streaming)
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

// The bindings, by the names of the cards.
const (
	bindingJSONRPC = "JSONRPC"
	bindingREST    = "HTTP+JSON"
	bindingGRPC    = "GRPC"
)

// bindingPaths are where the bindings stand below the base URL.
var bindingPaths = map[string]string{bindingJSONRPC: "/a2a", bindingREST: restPath}

func (c *Config) lists(binding string) bool { return slices.Contains(c.Bindings, binding) }

// endpoint of a binding, or the one address that the card names for all.
func (c *Config) endpoint(base, binding string) string {
	if c.Card.URL != "" {
		return c.Card.URL
	}
	if _, host, ok := strings.Cut(base, "://"); ok && binding == bindingGRPC {
		host, _, _ = strings.Cut(host, "/")
		return host // as gRPC spells addresses: without a scheme
	}
	return base + bindingPaths[binding]
}

// card is the card's bytes for a base URL.
func (c *Config) card(base string, streaming bool) []byte {
	k := c.Card
	endpoint := c.endpoint(base, c.Bindings[0])
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
		m["supportedInterfaces"] = c.interfaces(base)
	}
	if k.Generation != V10 || k.Union {
		m["url"] = endpoint
		switch k.Generation {
		case V01:
		case V02:
			m["protocolVersion"] = "0.2.5"
			if c.Bindings[0] != bindingJSONRPC {
				m["preferredTransport"] = c.Bindings[0]
			}
			c.additional(m, base)
		default:
			m["protocolVersion"], m["preferredTransport"] = "0.3.0", c.Bindings[0]
			c.additional(m, base)
			if k.Interfaces != nil && k.Generation == V03 {
				m["additionalInterfaces"] = k.Interfaces
			}
		}
	}
	if k.ExtendedAgentCard != nil && k.Generation != V10 {
		m["supportsAuthenticatedExtendedCard"] = k.ExtendedAgentCard
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

// additional lists every interface of 0.x, the main one too.
func (c *Config) additional(m map[string]any, base string) {
	if len(c.Bindings) < 2 {
		return
	}
	var list []any
	for _, b := range c.Bindings {
		list = append(list, map[string]any{"url": c.endpoint(base, b), "transport": b})
	}
	m["additionalInterfaces"] = list
}

func (c *Config) interfaces(base string) any {
	if c.Card.Interfaces != nil {
		return c.Card.Interfaces
	}
	version := "1.0"
	if c.Card.Generation != V10 {
		version = "0.3"
	}
	var list []any
	for _, b := range c.Bindings {
		one := map[string]any{"url": c.endpoint(base, b), "protocolBinding": b, "protocolVersion": version}
		if c.Card.Tenant != "" {
			one["tenant"] = c.Card.Tenant
		}
		list = append(list, one)
	}
	return list
}

// declaresStreaming says what an honest server goes by.
func (c *Config) declaresStreaming() bool {
	return !c.Card.NoCapabilities && (c.Card.Streaming == nil || declared(c.Card.Streaming))
}

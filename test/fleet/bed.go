package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// bed starts what peers run on. SDK servers are shared by the peers that use them: a server has no memory but its tasks.
type bed struct {
	ctx context.Context
	mu  sync.Mutex
	// servers by name and instance.
	servers map[string]string
	stops   []func()
	// receiver of the webhooks of all worlds.
	receiver *serve.Receiver
}

func newBed(ctx context.Context) (*bed, error) {
	r, err := serve.NewReceiver(serve.ReceiverOptions{Address: "127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Start(ctx)
	}()
	return &bed{ctx: ctx, servers: map[string]string{}, receiver: r, stops: []func(){func() { stop(); <-ended }}}, nil
}

// close ends everything that was started.
func (b *bed) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, stop := range slices.Backward(b.stops) {
		stop()
	}
	b.stops = nil
}

func (b *bed) server(name string, instance int) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(name, "/", instance)
	if url, ok := b.servers[key]; ok {
		return url, nil
	}
	url, stop, err := sdk.Start(b.ctx, name)
	if err != nil {
		return "", err
	}
	b.servers[key], b.stops = url, append(b.stops, stop)
	return url, nil
}

// stand is one peer that was started: its proxy, and its agents if it is scripted.
type stand struct {
	*proxy.Proxy
	agents  []*agent.Agent
	servers []*httptest.Server
}

// start starts a peer and its successor behind a proxy.
func (b *bed) start(p Peer, seed uint64) (*stand, error) {
	s := &stand{}
	var backends []string
	for i := range 2 {
		if p.SDK == "" {
			backends = append(backends, s.script(p, seed, i))
			continue
		}
		name := p.SDK
		if i > 0 && p.NextSDK != "" {
			name = p.NextSDK
		}
		url, err := b.server(name, i)
		if err != nil {
			s.close()
			return nil, err
		}
		backends = append(backends, url)
	}
	var err error
	if s.Proxy, err = proxy.New(seed, backends...); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// script starts a scripted agent; a liar is honest until it is told to lie.
func (s *stand) script(p Peer, seed uint64, i int) string {
	options := append([]agent.Option{agent.With(func(c *agent.Config) { c.Script.Seed = seed + uint64(i) })}, p.Agent...)
	if i > 0 {
		options = append(options, p.Next...)
	}
	a := agent.New(options...)
	s.agents = append(s.agents, a)
	handler := a.Handler()
	if p.Lie != nil && p.Lie.Spares != "" {
		twin := agent.New(options...)
		s.agents = append(s.agents, twin)
		handler = spare(p.Lie.Spares, twin.Handler(), handler)
		a.Set(p.Lie.Tells...)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = agent.Protocols()
	server.Start()
	s.servers = append(s.servers, server)
	return server.URL + a.Config().Prefix
}

// spare sends requests that carry the mark, in a header or in the body, to the twin.
func spare(mark string, twin, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		r.Body = io.NopCloser(bytes.NewReader(body))
		known := bytes.Contains(body, []byte(mark))
		for _, values := range r.Header {
			known = known || strings.Contains(strings.Join(values, " "), mark)
		}
		if known {
			twin.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// lie makes every agent of the peer tell its lie from now on.
func (s *stand) lie(l *Lie) {
	for _, a := range s.agents {
		a.Set(l.Tells...)
	}
}

func (s *stand) close() {
	if s.Proxy != nil {
		s.Proxy.Close()
	}
	for _, a := range s.agents {
		a.Close()
	}
	for _, server := range s.servers {
		server.CloseClientConnections()
		server.Close()
	}
}

// behave makes every agent of a scripted peer what it was before it lied.
func (s *stand) behave(p Peer) {
	if p.Lie == nil || p.Lie.Spares != "" {
		return
	}
	for i, a := range s.agents {
		options := append([]agent.Option{agent.With(func(c *agent.Config) { *c = agent.Config{Script: agent.ScriptConfig{Seed: c.Script.Seed}} })},
			p.Agent...)
		if i > 0 {
			options = append(options, p.Next...)
		}
		a.Set(options...)
	}
}

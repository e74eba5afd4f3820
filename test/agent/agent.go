package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// Agent is one scripted agent. Make it with New; it is safe for concurrent use.
type Agent struct {
	cfg  atomic.Pointer[Config]
	base context.Context
	stop context.CancelFunc
	url  atomic.Pointer[string]

	mu       sync.Mutex
	tasks    map[string]*task // by every id that names one
	made     []*task
	ordinal  map[string]int // calls by what they are counted for
	requests map[string]int
	remotes  map[string]bool
	streams  int
	recent   []Request
	chance   *mathrand.Rand
}

// Option sets something of an agent's Config.
type Option func(*Config)

// Speaks sets the generation of wire and card.
func Speaks(g Generation) Option {
	return func(c *Config) { c.Generation, c.Card.Generation = g, g }
}

// Named sets the name in the card.
func Named(name string) Option { return func(c *Config) { c.Name = name } }

// Latency sets the pause before each answer and how long the tasks of streams take.
func Latency(answer, stream time.Duration) Option {
	return func(c *Config) { c.Latency, c.Stream.Work = Duration(answer), Duration(stream) }
}

// With changes any field of the Config.
func With(change func(*Config)) Option { return change }

// New makes an agent, honest unless options say otherwise. It panics at an unknown quirk or preset.
func New(options ...Option) *Agent {
	var c Config
	for _, o := range options {
		o(&c)
	}
	a := &Agent{tasks: map[string]*task{}, ordinal: map[string]int{}, requests: map[string]int{}, remotes: map[string]bool{}}
	a.base, a.stop = context.WithCancel(context.Background())
	seed := c.Script.Seed
	if seed == 0 {
		seed = 1
	}
	a.chance = mathrand.New(mathrand.NewPCG(seed, seed))
	c = c.withDefaults()
	a.cfg.Store(&c)
	return a
}

// Set changes the configuration of a running agent, as a deploy would. Requests under way keep the old one.
func (a *Agent) Set(options ...Option) {
	c := *a.cfg.Load()
	for _, o := range options {
		o(&c)
	}
	c = c.withDefaults()
	a.cfg.Store(&c)
}

// Config is the configuration as of now.
func (a *Agent) Config() Config { return *a.cfg.Load() }

// Handler serves the agent: its card, its endpoint (/a2a, and the root), and /debug/agent, all below
// the Prefix if it has one.
func (a *Agent) Handler() http.Handler { return http.HandlerFunc(a.serve) }

// SetURL fixes the base URL that the card names. By default it follows the Host header of each request, and the Prefix.
func (a *Agent) SetURL(base string) { a.url.Store(&base) }

// TB is what Start needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
}

// Start serves the agent on loopback until the test ends and returns its base URL, without a slash at the end.
// The URL includes the prefix of an agent that has one.
func (a *Agent) Start(t TB) string {
	t.Helper()
	s := httptest.NewUnstartedServer(a.Handler())
	s.Config.Protocols = Protocols()
	s.Start()
	t.Cleanup(func() {
		a.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + a.cfg.Load().Prefix
}

// Protocols are what a server of agents speaks: HTTP/1, and HTTP/2 for gRPC, with TLS or without.
func Protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Close ends every executor and every open stream or hanging request.
func (a *Agent) Close() { a.stop() }

// nth counts calls of a kind, from 1.
func (a *Agent) nth(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ordinal[what]++
	return a.ordinal[what]
}

// every says whether the nth call is one of "every Nth"; 0 and 1 mean each.
func every(nth, n int) bool { return n <= 1 || nth%n == 0 }

func (a *Agent) find(id string) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks[id]
}

// keep stores a task unless its id is taken.
func (a *Agent) keep(t *task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks[t.id] = t
	a.made = append(a.made, t)
}

// alias makes a further id name a task.
func (a *Agent) alias(t *task) string {
	id := newID()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks[id] = t
	return id
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// sleep waits, or says false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

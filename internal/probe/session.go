package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// session is the conversation of one round with one peer: whom we talk to, in which dialect, and what we began there.
type session struct {
	job    Job
	timing Timing
	env    Env
	client *wire.Client
	card   *card.Card
	in     card.Interface
	rpc    wire.Peer
	ledger *ledger
	// ids gives tasks their names: wherever a task id is read from an answer it goes through there.
	ids *identities
	// asking is what the session is at, for the trace.
	asking *errand
	// spoken is the sibling dialect that is known where the declared one is not; empty if none was looked for or found.
	spoken wire.Generation
	// retry is the longest that the peer asked us to wait.
	retry time.Duration
	// tried are the interfaces that were asked for one that answers, in order.
	tried []contact
}

// branch is a conversation beside this one, with other interfaces of the same peer: what is settled there changes nothing here. The tasks
// it may begin are in the same ledger.
func (s *session) branch(c *wire.Client) *session {
	b := *s
	b.client, b.spoken, b.tried = c, "", nil
	return &b
}

// open makes the session's client. It opens no connection yet.
func open(env Env, job Job) (*session, error) {
	t := job.Target
	q := &errand{}
	c, err := wire.NewClient(wire.Options{
		Egress:      env.Egress,
		Tenant:      t.Tenant,
		AllowHosts:  t.AllowHosts,
		Pinned:      t.Pinned,
		Credentials: t.Credentials,
		Tokens:      env.Tokens,
		ServerName:  t.ServerName,
		SPKI:        t.SPKI,
		UserAgent:   userAgent(env, job),
		Limits:      env.Limits,
		RootCAs:     t.RootCAs,
		Trace:       env.Trace,
		Question:    q.name,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing to talk to %q: %w", t.Key, err)
	}
	return &session{job: job, timing: t.Timing, env: env, client: c, ledger: &ledger{}, ids: &identities{}, asking: q}, nil
}

// unmarkedAgent is what any program in Go says that says nothing of itself.
const unmarkedAgent = "Go-http-client/1.1"

func userAgent(env Env, job Job) string {
	if job.Unmarked {
		return unmarkedAgent
	}
	return env.UserAgent
}

func (s *session) close() { s.client.Close() }

// speak settles on an interface and a dialect.
func (s *session) speak(in card.Interface, g wire.Generation) {
	s.in = in
	s.rpc = s.dialect(in, g)
}

// dialect is an interface spoken to in a generation of our choice.
func (s *session) dialect(in card.Interface, g wire.Generation) wire.Peer {
	p, err := s.openPeer(in, g)
	if err != nil {
		panic(err) // Card.Usable lists only what is spoken
	}
	return p
}

// openPeer fails where the binding is none of ours.
func (s *session) openPeer(in card.Interface, g wire.Generation) (wire.Peer, error) {
	e := wire.Endpoint{URL: in.URL, Generation: g, Tenant: in.Tenant, Identity: s.job.Target.Identity}
	if g == wire.V10 {
		e.Version = in.ProtocolVersion
		if in.Generation() != string(wire.V10) {
			e.Version = ""
		}
	}
	return wire.Open(s.client, wire.Binding(in.Binding), e)
}

func (s *session) generation() wire.Generation { return s.rpc.Endpoint().Generation }

// fresh is the same dialect on connections of its own. Close its client when done.
func (s *session) fresh() wire.Peer { return s.rpc.Fresh() }

// unary bounds one short call.
func (s *session) unary(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timing.FirstEvent)
}

func (s *session) progress(words string) {
	if s.env.Progress != nil {
		s.env.Progress(words)
	}
}

// pause waits, or says false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newID is a random UUID: of messages, of tasks in 0.1, and of the task that cannot exist.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

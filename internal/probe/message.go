package probe

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// MarkKey is the key of metadata by which a peer can tell our probes from its users' messages. Its value is the number of the round, or
// true if the round has none. A round without the mark (Job.Unmarked) has no user agent of ours either, but unmarkedAgent.
const MarkKey = "trust.agentpeer.dev/probe"

// message makes the wire message of a fixture; nil means the default message. Every message has an id of its own and, where the client
// names tasks (0.1), a task id of its own. It carries no context: each probe is a conversation of its own.
func (s *session) message(f *Fixture) wire.Message {
	m := wire.Message{MessageID: newID(), Metadata: s.metadata(f)}
	if f != nil && len(f.Parts) > 0 {
		m.Parts = slices.Clone(f.Parts)
	} else {
		m.Parts = s.defaultParts()
	}
	if s.generation() == wire.V01 {
		m.TaskID = newID()
	}
	return m
}

// defaultParts is one part "ping" in the first of the card's input modes that we can make (C92).
func (s *session) defaultParts() []wire.Part {
	var modes []string
	if s.card != nil {
		modes = s.card.DefaultInputModes
	}
	for _, mode := range modes {
		switch {
		case mode == "text/plain" || mode == "text/*" || mode == "*/*" || mode == "text":
			return []wire.Part{{Text: "ping"}}
		case mode == "application/json" || strings.HasSuffix(mode, "+json"):
			return []wire.Part{{Data: json.RawMessage(`{"text":"ping"}`)}}
		}
	}
	return []wire.Part{{Text: "ping"}}
}

func (s *session) metadata(f *Fixture) map[string]any {
	md := map[string]any{}
	if f != nil {
		maps.Copy(md, f.Metadata)
	}
	switch {
	case s.job.Unmarked:
		return md
	case s.job.Round <= 0:
		md[MarkKey] = true
	default:
		md[MarkKey] = strconv.FormatInt(s.job.Round, 10)
	}
	return md
}

// probedWith lists the keys of metadata that a message of this fixture carries.
func (s *session) probedWith(f *Fixture) []string {
	return slices.Sorted(maps.Keys(s.metadata(f)))
}

// config of every send. Wait says whether the peer should answer only when the task has come to rest.
func (s *session) config(wait bool) wire.SendConfig {
	cfg := wire.SendConfig{AcceptedOutput: []string{"text/plain", "application/json"}}
	if s.card != nil {
		for _, mode := range s.card.DefaultOutputModes {
			if !slices.Contains(cfg.AcceptedOutput, mode) {
				cfg.AcceptedOutput = append(cfg.AcceptedOutput, mode)
			}
		}
	}
	if !wait {
		yes := true
		cfg.ReturnImmediately = &yes
	}
	return cfg
}

// streamMessage begins a task, or continues one, by a streaming call and follows it.
func (s *session) streamMessage(ctx context.Context, rpc wire.Peer, m wire.Message, do step) *tape {
	return s.streamWith(ctx, rpc, m, s.config(true), do)
}

func (s *session) streamWith(ctx context.Context, rpc wire.Peer, m wire.Message, cfg wire.SendConfig, do step) *tape {
	if ctx.Err() != nil {
		return unsent(ctx, rpc)
	}
	t := s.stream(ctx, rpc, func(ctx context.Context) (*wire.Stream, error) {
		return rpc.SendStream(ctx, m, cfg)
	}, do)
	s.account(rpc, t, m)
	return t
}

// sendMessage begins a task, or continues one, by a unary call.
func (s *session) sendMessage(ctx context.Context, rpc wire.Peer, m wire.Message, wait bool) *tape {
	return s.sendWith(ctx, rpc, m, s.config(wait))
}

func (s *session) sendWith(ctx context.Context, rpc wire.Peer, m wire.Message, cfg wire.SendConfig) *tape {
	if ctx.Err() != nil {
		return unsent(ctx, rpc)
	}
	t := &tape{Generation: rpc.Endpoint().Generation, Began: time.Now()}
	longer, cancel := lingering(ctx, s.timing.Task)
	defer cancel()
	a, err := rpc.Send(longer, m, cfg)
	t.EndAt, t.CalledOff = time.Since(t.Began), calledOff(ctx)
	if err == nil {
		err = turnedAway(a)
	}
	if err != nil {
		t.Fail = wireError(err)
	} else {
		t.Status, t.HeaderAt = a.Status, a.At
		s.ids.event(&a.Event)
		t.add(a.Event)
		t.Clock = t.Clock.see(t.Began, t.when(t.EndAt), a.Date)
		if a.Kind == wire.KindTask {
			s.ledger.told(rpc, a.TaskID, stateOf(a.RawState), time.Now())
		}
	}
	s.account(rpc, t, m)
	return t
}

// unsent is the tape of a message that was not sent, because the round was over: a call under way may linger, a new one may not begin.
func unsent(ctx context.Context, rpc wire.Peer) *tape {
	return &tape{Generation: rpc.Endpoint().Generation, Began: time.Now(), Fail: wireError(ctx.Err()), CalledOff: calledOff(ctx)}
}

// account counts a message that may have reached the handler, and notes a task that may run though no answer named it: by its
// client-made id, or as unknown where we gave up waiting.
func (s *session) account(rpc wire.Peer, t *tape, m wire.Message) {
	code, first, _ := t.Error()
	if !first {
		code = 0
	}
	s.retry = max(s.retry, retryAfter(t.Fail))
	if !reachedHandler(t.Fail, code) {
		return
	}
	s.ledger.count()
	if t.TaskID() != "" || code != 0 || t.MessageOnly() {
		return
	}
	switch {
	case rpc.Endpoint().Generation == wire.V01:
		s.ledger.told(rpc, m.TaskID, stateOf(""), t.Began)
	case t.Fail != nil || t.Left != leftNot || t.CalledOff:
		s.ledger.lost(t.Began)
	}
}

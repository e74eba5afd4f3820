package probe

import (
	"context"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// exchange is the one conversation that Streaming, TaskRetrieval and Lifecycle are judged by: a stream with its GetTasks and, where it
// contradicts, the frame around it; or the control alone where no streaming is declared.
type exchange struct {
	first, second *tape
	control       *tape
	// lastControl is the control asked once more, after two streams that a failing agent could have sent.
	lastControl *tape
	// sights of the two streams.
	one, two sight
	// paired: one stream, and beside it a control or none, was all that was asked for (Job.Pairs).
	paired bool
	// resubscribed: a cut stream could be picked up again.
	resubscribed bool
	// partly: the declared dialect's send method is known, so the interface can be used without streams.
	partly bool
}

// observeStreaming asks the exchange's question of the ordinary message. deep asks for the second looks of Lifecycle; framed, which Streaming
// needs, for the control and the second stream.
func (s *session) observeStreaming(ctx context.Context, deep, framed bool) *exchange {
	f := s.job.Target.Fixtures.Message
	x := &exchange{}
	s.progress("streaming")
	x.first = s.probeStream(ctx, s.rpc, f, deep)
	x.one = judgeStream(x.first, s.timing)
	if !framed {
		return x
	}
	switch x.one.sort {
	case bad:
		if s.job.Pairs && !s.job.Control && x.one.unexcused {
			x.paired = true // watched alone: its own task is its control
			break
		}
		s.progress("the stream contradicts: asking the single-shot control and a second stream")
		x.control = s.probeControl(ctx, f)
		if s.job.Pairs {
			x.paired = true
			break
		}
		x.second = s.probeStream(ctx, s.rpc, f, false)
		x.two = judgeStream(x.second, s.timing)
		if x.two.sort == bad && !x.one.unexcused && judgeControl(x.control).works {
			x.lastControl = s.probeControl(ctx, f)
		}
	case refused:
		s.frameRefusal(ctx, x, f)
	default:
		if x.one.reason == trust.ReasonStreamInterrupted {
			x.resubscribed = s.resubscribe(ctx, x.first)
		}
		if s.job.Control {
			x.control = s.probeControl(ctx, f)
		}
	}
	return x
}

// frameRefusal finds the true reason of a refusal and asks again on a new connection, not before Timing.Repeat (design 4.4).
func (s *session) frameRefusal(ctx context.Context, x *exchange, f *Fixture) {
	asked := time.Now()
	if code, _, _ := x.first.Error(); code == codeMethodNotFound {
		s.methodNotFound(ctx, x)
	}
	if x.one.sort != refused {
		return
	}
	s.progress("refused: asking again on a new connection")
	if !pause(ctx, s.timing.Repeat-time.Since(asked)) {
		return
	}
	s.again(func(fresh wire.Peer) bool {
		x.second = s.probeStream(ctx, fresh, f, false)
		x.two = judgeStream(x.second, s.timing)
		return x.two.sort == refused
	})
}

// methodNotFound tells what -32601 in answer to a streaming call means, by asking the send method and the sibling dialects (C25, C35,
// C37, C38).
func (s *session) methodNotFound(ctx context.Context, x *exchange) {
	if own := s.knows(ctx, s.rpc); own != nil {
		x.one = s.mismatch(ctx, *own)
		return
	}
	// Some servers find fault with empty params before they look at the method's name, so only a real message tells.
	x.control = s.probeControl(ctx, s.job.Target.Fixtures.Message)
	if code, first, ok := x.control.Error(); ok && first && code == codeMethodNotFound {
		x.one = noMethod()
		if g := s.siblingByGet(ctx); g != "" {
			x.one = s.otherGeneration(g)
		}
		return
	}
	x.partly = true
	if g := s.sibling(ctx); g != "" && s.streamsIn(ctx, g) {
		if x.one = s.otherGeneration(g); x.one.sort != refused {
			return
		}
		x.one = saw(refused, trust.ReasonProtocolGenerationMismatch, "C37",
			"asked for a stream in %s, method not found; it streams in %s", s.generation(), g).on(lifecycle.Card)
	}
}

// streamsIn asks a sibling dialect for a stream, only to name the true reason.
func (s *session) streamsIn(ctx context.Context, g wire.Generation) bool {
	rpc := s.dialect(s.in, g)
	m := s.message(s.job.Target.Fixtures.Message)
	if g == wire.V01 {
		m.TaskID = newID()
	} else {
		m.TaskID = ""
	}
	t := s.streamMessage(ctx, rpc, m, s.watchStream())
	_, first, _ := t.Error()
	return t.Fail == nil && t.Streamed && !first && len(t.Marks) > 0
}

// probeStream sends the message on a stream, cross-checks by GetTask while it is open and within a second of its end.
func (s *session) probeStream(ctx context.Context, rpc wire.Peer, f *Fixture, deep bool) *tape {
	t := s.streamMessage(ctx, rpc, s.message(f), s.watchStream())
	s.lookAfter(ctx, rpc, t, deep)
	return t
}

// lookAfter asks GetTask after the end of a stream, as often as its answers leave something open.
func (s *session) lookAfter(ctx context.Context, rpc wire.Peer, t *tape, deep bool) {
	if t.Fail != nil || t.TaskID() == "" {
		return
	}
	if t.Left == leftDeadline {
		s.disownLooks(ctx, rpc, t)
		return
	}
	if m, ok := t.Foreign(); ok {
		t.Strange = s.disowned(ctx, rpc, t.Began, t.TaskID(), m.TaskID)
	}
	l := s.look(ctx, rpc, t)
	s.disownLooks(ctx, rpc, t)
	if noTaskOps(t) || l.Code != 0 && !deep {
		return
	}
	switch {
	case !t.Streamed:
	case t.Ends() && l.State.Active():
		// Is the store slow, or stale for good? (C67)
		for range 3 {
			if !pause(ctx, s.timing.Settle) || settled(s.look(ctx, rpc, t).State) {
				break
			}
		}
		return
	case !t.Ends() && !settled(l.State):
		if pause(ctx, s.timing.Settle/3) {
			s.look(ctx, rpc, t)
		}
		return
	case l.ID != "" && l.ID != t.TaskID():
		s.look(ctx, rpc, t)
	}
	if _, ended := t.Terminal(); deep && (ended || l.State.Terminal()) && pause(ctx, s.timing.Settle) {
		s.look(ctx, rpc, t)
		s.lookOn(ctx, rpc, t)
	}
}

// lookOn asks again, twice at most, while the last look found an ended task elsewhere and none said the same before it.
func (s *session) lookOn(ctx context.Context, rpc wire.Peer, t *tape) {
	for range 2 {
		if x, ended := t.secondLooks(); !ended || !x.open(t) || !pause(ctx, s.timing.Settle) {
			return
		}
		s.look(ctx, rpc, t)
	}
}

// disownLooks asks for the first other task that GetTask named, unless the stream named one.
func (s *session) disownLooks(ctx context.Context, rpc wire.Peer, t *tape) {
	i := slices.IndexFunc(t.Looks, func(l look) bool { return l.ID != "" && l.ID != t.TaskID() })
	if i >= 0 && t.Strange == nil {
		t.Strange = s.disowned(ctx, rpc, t.Began, t.TaskID(), t.Looks[i].ID)
	}
}

// disowned asks for the other task that a stream or GetTask named, on new connections too: one replica of several may not know it. Our own
// task is asked for as often before: a store that does not show that one lags, or is another replica's, and disowns nothing. Nil: nothing is
// known of the other task.
func (s *session) disowned(ctx context.Context, rpc wire.Peer, began time.Time, own, id string) *look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	peers := []wire.Peer{rpc, rpc.Fresh(), rpc.Fresh()}
	defer peers[1].Close()
	defer peers[2].Close()
	shown := true
	for _, p := range peers {
		shown = shown && s.getTask(ctx, p, began, own).showsTask()
	}
	var l look
	for _, p := range peers {
		if l = s.getTask(ctx, p, began, id); l.Code != codeTaskNotFound {
			return &l
		}
	}
	if !shown {
		return nil
	}
	s.ledger.closed(id)
	return &l
}

// resubscribe picks a cut stream up again, once and for information only (C02), and follows it to its end, which also ends the task.
func (s *session) resubscribe(ctx context.Context, t *tape) bool {
	id := t.TaskID()
	if l, where := direction(t); where != running || l.ID != id {
		return false
	}
	again := s.stream(ctx, s.rpc, func(ctx context.Context) (*wire.Stream, error) {
		return s.rpc.Resubscribe(ctx, s.ids.id(id))
	}, s.watchStream())
	_, first, _ := again.Error()
	return again.Fail == nil && again.Streamed && !first && again.TaskID() == id
}

// account lists what the whole exchange saw: the first stream plainly, the others by a word before each entry.
func (x *exchange) account() []string {
	out := x.first.account("")
	if x.control != nil {
		out = append(out, brief(x.control.account("control:"))...)
	}
	if x.second != nil {
		out = append(out, brief(x.second.account("again:"))...)
	}
	return shorten(out)
}

// brief keeps what matters of a long account: its beginning and end.
func brief(list []string) []string {
	if len(list) <= 6 {
		return list
	}
	return append(list[:3:3], list[len(list)-3:]...)
}

// observeControl is the exchange where no streaming is declared: one unary call, returned at once if the peer will, and its GetTasks.
func (s *session) observeControl(ctx context.Context, deep bool) *exchange {
	s.progress("single-shot")
	t := s.sendMessage(ctx, s.rpc, s.message(s.job.Target.Fixtures.Message), false)
	s.rest(ctx, t)
	s.lookAfter(ctx, s.rpc, t, deep)
	return &exchange{first: t, control: t}
}

// followed is the tape by which the task of the exchange is judged: the stream that showed most of a task's life.
func (x *exchange) followed() *tape {
	if x.first.TaskID() == "" && x.control != nil && x.control.TaskID() != "" {
		return x.control
	}
	return x.first
}

// undeclared tries a stream that the card does not declare. If it works all the same, that is said and changes nothing (C30).
func (s *session) undeclared(ctx context.Context) trust.Observation {
	t := s.probeStream(ctx, s.rpc, s.job.Target.Fixtures.Message, false)
	o := trust.Observation{Rule: "C30", Observed: t.account(""), ProbedWith: s.probedWith(s.job.Target.Fixtures.Message)}
	if v := judgeStream(t, s.timing); v.sort != good || !t.Streamed {
		return unlearned(o, trust.ReasonNotDeclared, "the card does not declare streaming")
	}
	o.Warnings = []trust.Reason{trust.WarnUndeclaredButWorks}
	return honored(o, "C30", "the card does not declare streaming; it works all the same")
}

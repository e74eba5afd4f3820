package probe

import (
	"context"
	"fmt"
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
	// sights of the two streams.
	one, two sight
	// paired: one stream and one control were all that was asked for (Job.Pairs).
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
		s.progress("the stream contradicts: asking the single-shot control and a second stream")
		x.control = s.probeControl(ctx, f)
		if s.job.Pairs {
			x.paired = true
			break
		}
		x.second = s.probeStream(ctx, s.rpc, f, false)
		x.two = judgeStream(x.second, s.timing)
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
	fresh := s.fresh()
	defer fresh.Client.Close()
	x.second = s.probeStream(ctx, fresh, f, false)
	x.two = judgeStream(x.second, s.timing)
}

// methodNotFound tells what -32601 in answer to a streaming call means, by asking the send method and the sibling dialects (C25, C35,
// C37, C38).
func (s *session) methodNotFound(ctx context.Context, x *exchange) {
	if own := s.knows(ctx, s.rpc); own != nil {
		x.one = s.mismatch(ctx, *own)
		return
	}
	x.partly = true
	if g := s.sibling(ctx); g != "" && s.streamsIn(ctx, g) {
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
func (s *session) probeStream(ctx context.Context, rpc *wire.JSONRPC, f *Fixture, deep bool) *tape {
	t := s.streamMessage(ctx, rpc, s.message(f), s.watchStream())
	s.lookAfter(ctx, rpc, t, deep)
	return t
}

// watchStream is the step of an ordinary stream: one GetTask early on, more of them where something is odd or silent, and away after the
// grace of a proper end, or at the deadline. It never hangs up early: products change a task's state because its observer left (C91).
func (s *session) watchStream() step {
	tm := s.timing
	var early, last, parting bool
	var asked time.Duration
	return func(w *watch) (time.Duration, leave) {
		t, now := w.tape, w.now()
		ask := func(fresh bool) { asked = now; w.look(fresh) }
		if now >= tm.Task {
			return 0, leftDeadline
		}
		if t.Ends() {
			at := endsAt(t) + tm.Grace
			if now < at {
				return min(at, tm.Task), leftNot
			}
			if !parting && !t.MessageOnly() {
				// Read once more before we leave: afterwards nothing is evidence.
				parting = true
				ask(false)
			}
			if w.pending > 0 {
				return tm.Task, leftNot
			}
			return 0, leftSettled
		}
		wake := tm.Task
		if t.TaskID() == "" {
			return wake, leftNot
		}
		if !early {
			early = true
			ask(false)
		}
		if w.pending > 0 {
			return wake, leftNot
		}
		if missing(t) {
			if n := len(t.Looks); n < 4 && now-asked >= tm.Settle/3 {
				ask(true)
				return wake, leftNot
			} else if n < 4 {
				wake = min(wake, asked+tm.Settle/3)
			}
		}
		if since, ok := shownElsewhere(t); ok {
			// GetTask shows a settled state that the stream does not. Give it the grace and a buffer's time, then ask again.
			at := max(since, t.Quiet()) + tm.Grace + tm.Late
			switch {
			case now < at:
				wake = min(wake, at)
			case asked < at:
				ask(false)
				return wake, leftNot
			default:
				return 0, leftWithheld
			}
		}
		if idle := max(t.Quiet(), asked) + tm.Idle; now >= idle {
			ask(false)
		} else {
			wake = min(wake, idle)
		}
		if before := tm.Task - min(time.Second, tm.Task/10); now >= before && !last {
			last = true
			ask(false)
		} else if !last {
			wake = min(wake, before)
		}
		return wake, leftNot
	}
}

// endsAt is when the tape came to its proper end.
func endsAt(t *tape) time.Duration {
	if m, ok := t.Terminal(); ok {
		return m.At
	}
	if t.MessageOnly() {
		return t.Quiet()
	}
	m, _ := t.Last()
	return m.At
}

// missing: an answer was TaskNotFound, or under another id, though the stream shows the task active.
func missing(t *tape) bool {
	return slices.ContainsFunc(t.Looks, func(l look) bool {
		return l.Open && (l.Code == codeTaskNotFound || l.Code == 0 && l.Fail == nil && l.ID != t.TaskID())
	})
}

// shownElsewhere: the last answers of GetTask, given while the stream was open, all show a settled state; since when.
func shownElsewhere(t *tape) (since time.Duration, ok bool) {
	for _, l := range t.Looks {
		if !l.Open || l.Code != 0 || l.Fail != nil || l.ID != t.TaskID() || !settled(l.State) {
			ok = false
			continue
		}
		if !ok {
			since, ok = l.At, true
		}
	}
	return since, ok
}

// lookAfter asks GetTask after the end of a stream, as often as its answers leave something open.
func (s *session) lookAfter(ctx context.Context, rpc *wire.JSONRPC, t *tape, deep bool) {
	if t.Fail != nil || t.TaskID() == "" || t.Left == leftDeadline {
		return
	}
	if m, ok := t.Foreign(); ok {
		t.Strange = s.disowned(ctx, rpc, t, m.TaskID)
	}
	l := s.look(ctx, rpc, t)
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
	}
}

// disowned asks for the other task that a stream named.
func (s *session) disowned(ctx context.Context, rpc *wire.JSONRPC, t *tape, id string) *look {
	ctx, cancel := s.unary(ctx)
	defer cancel()
	l := s.getTask(ctx, rpc, t.Began, id)
	if l.Code == codeTaskNotFound {
		s.ledger.closed(id)
	}
	return &l
}

// probeControl sends the message by a unary call, in a fresh context, and follows the task to where it rests.
func (s *session) probeControl(ctx context.Context, f *Fixture) *tape {
	t := s.sendMessage(ctx, s.rpc, s.message(f), true)
	s.rest(ctx, t)
	return t
}

// rest polls a task that a unary call began until it settles, at most until the task's deadline.
func (s *session) rest(ctx context.Context, t *tape) {
	if t.Fail != nil || t.TaskID() == "" || t.Ends() {
		return
	}
	wait := s.timing.Settle / 6
	for time.Since(t.Began) < s.timing.Task {
		l := s.look(ctx, s.rpc, t)
		if settled(l.State) || l.Code != 0 || l.Fail != nil || !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, s.timing.Settle)
	}
}

// resubscribe picks a cut stream up again, once and for information only (C02), and follows it to its end, which also ends the task.
func (s *session) resubscribe(ctx context.Context, t *tape) bool {
	id := t.TaskID()
	if l, where := direction(t); where != running || l.ID != id {
		return false
	}
	again := s.stream(ctx, s.rpc, func(ctx context.Context) (*wire.Stream, error) {
		return s.rpc.Resubscribe(ctx, id)
	}, s.watchStream())
	_, first, _ := again.Error()
	return again.Fail == nil && again.Streamed && !first && again.TaskID() == id
}

// streaming turns the exchange into the observation of Streaming.
func (x *exchange) streaming() trust.Observation {
	o := frame(x)
	o.Capability = trust.Streaming
	o.Warnings = append(o.Warnings, x.one.warnings...)
	if x.resubscribed {
		o.Warnings = append(o.Warnings, trust.WarnResubscribable)
	}
	o.Warnings = unique(o.Warnings)
	o.Observed = x.account()
	return o
}

// frame weighs the first stream against the control and the second stream (design 4.2).
func frame(x *exchange) trust.Observation {
	o := trust.Observation{Rule: x.one.rule}
	c := judgeControl(x.control)
	o.ControlFailed = x.control != nil && !c.works
	switch x.one.sort {
	case good:
		o.Pair = pair(x.control, false, c)
		return honored(o, x.one.rule, "asked for a stream: "+x.one.text)
	case unsure:
		return unlearned(o, x.one.reason, x.one.text)
	case refused:
		return frameRefused(o, x)
	}
	o.Pair = pair(x.control, true, c)
	switch {
	case x.paired && !c.works:
		return unlearned(o, c.reason, x.one.text+"; the single-shot control failed too: "+c.text)
	case x.paired:
		o.Rule = "design 4.2"
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; compared with the single-shot control, which "+c.text)
	case x.second == nil || x.two.sort == unsure:
		reason := trust.ReasonProbeDeadlineExceeded
		if x.second != nil {
			reason = x.two.reason
		}
		return unlearned(o, reason, x.one.text+"; the second stream could not tell")
	case x.two.sort == good:
		o.Rule = "design 4.2"
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; a second stream was good")
	case !c.works:
		return unlearned(o, c.reason, x.one.text+"; the single-shot control failed too: "+c.text)
	}
	o.Message = x.one.text
	return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text+"; again on a second stream, while single-shot "+c.text)
}

// frameRefused: an explicit refusal needs no control and no third round, only the peer's word twice.
func frameRefused(o trust.Observation, x *exchange) trust.Observation {
	if x.second == nil {
		o.Explicit = true
		return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text)
	}
	switch x.two.sort {
	case refused:
		o.Explicit, o.Confirmed = true, true
		return diverged(o, x.one.reason, x.one.basis, x.one.rule, x.one.text+"; again on a new connection")
	case good:
		return unlearned(o, trust.ReasonStreamIntermittent, x.one.text+"; a second stream on a new connection was good")
	case bad:
		return unlearned(o, trust.ReasonReplicaInconsistency, x.one.text+"; on a new connection: "+x.two.text)
	}
	return unlearned(o, x.two.reason, x.one.text+"; on a new connection: "+x.two.text)
}

func pair(control *tape, streamFailed bool, c controlSight) *trust.Pair {
	if control == nil {
		return nil
	}
	return &trust.Pair{StreamFailed: streamFailed, ControlFailed: !c.works}
}

// controlSight is what the single-shot control shows.
type controlSight struct {
	works  bool
	reason trust.Reason
	text   string
}

// judgeControl says whether the single-shot path works: a Message, or a task that came to completed or to a question.
func judgeControl(t *tape) controlSight {
	if t == nil {
		return controlSight{}
	}
	if t.Fail != nil {
		return controlSight{reason: failReason(t.Fail), text: failText(t.Fail)}
	}
	if code, _, ok := t.Error(); ok {
		reason := trust.ReasonAgentFailing
		if r := codeReason(t.Generation, code, t.Status); r != trust.ReasonProbeRejected {
			reason = r
		}
		return controlSight{reason: reason, text: fmt.Sprintf("error %d", code)}
	}
	if t.MessageOnly() {
		return controlSight{works: true, text: "answered with a Message"}
	}
	state, ok := restState(t)
	switch {
	case !ok:
		return controlSight{reason: trust.ReasonUnexpectedAnswer, text: "an answer that is none of A2A"}
	case state == lifecycle.Completed || state.Interrupted():
		return controlSight{works: true, text: "reached " + string(state)}
	case state == lifecycle.Rejected:
		return controlSight{reason: trust.ReasonProbeRejected, text: string(state)}
	case state.Terminal():
		return controlSight{reason: trust.ReasonAgentFailing, text: string(state)}
	}
	return controlSight{reason: trust.ReasonAgentFailing, text: "still " + string(state) + " at our deadline"}
}

// restState is the last state known of a task begun by a unary call.
func restState(t *tape) (lifecycle.State, bool) {
	all := t.answers()
	if len(all) == 0 {
		return "", false
	}
	return all[len(all)-1].state, true
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

package probe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// maxModeMessages is how many messages InputModes sends in one round, repetitions of refusals and replies included. A card that declares
// more modes than that has them asked in turn, round after round, those first that are known to be refused.
const maxModeMessages = 7

// modeReplies of those are for a reply: the message that makes the agent ask, the reply, and the reply once more.
const modeReplies = 3

// modeTry is one message in one declared mode, and the last of the same again where it was refused.
type modeTry struct {
	mode string
	// reply: sent to a task that asked for input. asks: GetTask said so just before. moved: the task moved on after it, whatever the answer.
	reply, asks, moved bool
	// lenient: a refusal says nothing, because the mode is a range, because the card names it with parameters only, or because every skill
	// has modes of its own without it.
	lenient      bool
	first, again *tape
}

// modesSeen is what the modes of a card showed.
type modesSeen struct {
	declared []string
	// known are those refused in earlier rounds. unsampled have no message, unasked had to wait for another round.
	known, unsampled, unasked []string
	// qualified are those that the card names with parameters only.
	qualified  []string
	tries      []modeTry
	generation wire.Generation
}

func askInputModes(ctx context.Context, s *session, a *asking) trust.Observation {
	s.progress("input modes")
	q := &modeQuestion{s: s, a: a, left: maxModeMessages}
	q.run(ctx)
	o := judgeInputModes(q.seen)
	o.ProbedWith = s.probedWith(nil)
	return o
}

// inputModesBound: seven messages, few of which wait for long, and the dialogue of a reply.
func inputModesBound(t Timing) time.Duration { return 4*t.Task + 3*t.Repeat + t.Wait + lookBound(t) }

type modeQuestion struct {
	s    *session
	a    *asking
	seen modesSeen
	// left are the messages that may still be sent.
	left int
}

func (q *modeQuestion) run(ctx context.Context) {
	s := q.s
	q.seen.generation = s.generation()
	q.seen.declared = s.declaredModes()
	for _, m := range q.seen.declared {
		if s.spelling(m).Parameters {
			q.seen.qualified = append(q.seen.qualified, m)
		}
	}
	for _, m := range s.job.RefusedModes {
		if !slices.Contains(q.seen.qualified, m) && slices.Contains(q.seen.declared, m) {
			q.seen.known = append(q.seen.known, m)
		}
	}
	order := inTurn(q.seen.declared, q.seen.known, s.job.Round)
	replies := q.replyModes(order)
	reserve := 0
	if len(replies) > 0 {
		reserve = modeReplies
	}
	for _, mode := range order {
		q.ask(ctx, mode, reserve)
	}
	q.shareReply()
	if len(replies) > 0 && ctx.Err() == nil {
		q.askReply(ctx, replies[0])
	}
}

// declaredModes are the default input modes of the card; text/plain where 0.1 leaves them out (wire reference 7.8).
func (s *session) declaredModes() []string {
	if s.card != nil && len(s.card.DefaultInputModes) > 0 {
		return s.card.DefaultInputModes
	}
	if s.generation() == wire.V01 {
		return []string{"text/plain"}
	}
	return nil
}

// inTurn orders modes: those known to be refused, and then the others beginning elsewhere each round.
func inTurn(declared, known []string, round int64) []string {
	var rest []string
	for _, m := range declared {
		if !slices.Contains(known, m) {
			rest = append(rest, m)
		}
	}
	if n := int64(len(rest)); n > 0 {
		at := ((round % n) + n) % n
		rest = append(rest[at:len(rest):len(rest)], rest[:at]...)
	}
	return append(slices.Clone(known), rest...)
}

// ask sends a first message in one mode. The ordinary exchange is one, if all it says is in that mode.
func (q *modeQuestion) ask(ctx context.Context, mode string, reserve int) {
	s := q.s
	f := s.sample(mode)
	shared := q.a.sharesMode(mode) && q.speaksFor(mode)
	switch {
	case f == nil && !shared:
		q.seen.unsampled = append(q.seen.unsampled, mode)
		return
	case ctx.Err() != nil, q.left <= reserve:
		q.seen.unasked = append(q.seen.unasked, mode)
		return
	}
	try := modeTry{mode: mode, lenient: q.lenient(mode)}
	unnamed := false
	if shared {
		f = s.ordinary()
		if q.a.exchange == nil {
			q.left--
		}
		try.first = q.a.shared(ctx, s).spoken()
		unnamed = try.first != nil && s.unnamed(f)
		f = s.renamed(f)
	}
	if try.first == nil {
		q.left--
		try.first = s.sendMode(ctx, s.rpc, f)
	}
	if modeRefused(try.first) && !try.lenient && q.left > reserve && pause(ctx, s.timing.Repeat) {
		s.again(func(fresh wire.Peer) bool {
			q.left--
			try.again = s.sendMode(ctx, fresh, f)
			// What earlier rounds saw refused is believed sooner, and leaves the messages to other modes.
			return modeRefused(try.again) && q.left > reserve && !slices.Contains(q.seen.known, mode)
		})
	}
	if unnamed {
		try.takenByName()
	}
	q.seen.tries = append(q.seen.tries, try)
}

// ordinary is the round's ordinary message, the default one too.
func (s *session) ordinary() *Fixture {
	if f := s.job.Target.Fixtures.Message; f != nil && len(f.Parts) > 0 {
		return f
	}
	return &Fixture{Parts: s.defaultParts()}
}

// speaksFor says whether what a user's or the default message shows of a media type is true of a mode as the card writes it: not where the
// card adds parameters, but for plain text.
func (q *modeQuestion) speaksFor(mode string) bool {
	return mode == "text/plain" || !slices.Contains(q.seen.qualified, mode)
}

// unnamed: some part of the message leaves its media type out, and there is a place for it.
func (s *session) unnamed(f *Fixture) bool {
	return s.generation() == wire.V10 && slices.ContainsFunc(f.Parts, func(p Part) bool { return p.MediaType == "" })
}

// takenByName: what was refused without the name of its type was asked again by its name and taken, so that the second answer is the one
// about the declared mode.
func (t *modeTry) takenByName() {
	if t.again != nil && !modeRefused(t.again) {
		t.first, t.again = t.again, nil
	}
}

// sendMode sends a message and sees for a while what becomes of its task.
func (s *session) sendMode(ctx context.Context, rpc wire.Peer, f *Fixture) *tape {
	t := s.sendMessage(ctx, rpc, s.message(f), false)
	ctx, cancel := s.unary(ctx)
	defer cancel()
	s.rest(ctx, t)
	return t
}

// sharesMode says whether the round's ordinary message is of one mode, this one. Its exchange is shared only where another question needs it
// too, or where it costs no more than a message.
func (a *asking) sharesMode(mode string) bool {
	return a.s.ordinary().isIn(mode)
}

// isIn says whether all that a message says is in one mode.
func (f *Fixture) isIn(mode string) bool {
	return !slices.ContainsFunc(f.Parts, func(p Part) bool { return modeOf(p) != mode })
}

// spoken is the tape that shows what became of the ordinary message: the first stream, or the control where that shows nothing. Nil: none.
func (x *exchange) spoken() *tape {
	for _, t := range []*tape{x.first, x.control} {
		if t != nil && t.Fail == nil && (t.TaskID() != "" || t.MessageOnly() || modeRefused(t)) {
			return t
		}
	}
	return nil
}

// modeOf is the media type of a part that we send (wire reference 7.8).
func modeOf(p Part) string {
	switch {
	case p.MediaType != "":
		return strings.ToLower(p.MediaType)
	case p.Text != "":
		return "text/plain"
	case p.Data != nil:
		return "application/json"
	}
	return "application/octet-stream"
}

// lenient: see modeTry.
func (q *modeQuestion) lenient(mode string) bool {
	if strings.Contains(mode, "*") || slices.Contains(q.seen.qualified, mode) {
		return true
	}
	if q.s.card == nil {
		return false
	}
	skills := q.s.card.Skills
	return len(skills) > 0 && !slices.ContainsFunc(skills, func(k card.Skill) bool {
		return len(k.InputModes) == 0 || slices.Contains(k.InputModes, mode)
	})
}

// replyModes are the modes that a reply can be sent in, in the order given but for the turn, without those that the reply of Continuation's
// own dialogue is in. Without a message that makes the agent ask there are none.
func (q *modeQuestion) replyModes(order []string) []string {
	f := q.s.job.Target.Fixtures.InputRequired
	if f == nil || f.Reply == nil || q.s.generation() == wire.V01 {
		return nil
	}
	var own []string
	if q.a.dialogue != nil {
		for _, p := range f.Reply.Parts {
			own = append(own, modeOf(p))
		}
	}
	var list []string
	for _, m := range order {
		if !slices.Contains(own, m) && q.s.sample(m) != nil {
			list = append(list, m)
		}
	}
	return list
}

// shareReply takes Continuation's own reply for what it shows, if all it says is in one declared mode.
func (q *modeQuestion) shareReply() {
	d := q.a.dialogue
	if d == nil || d.reply == nil || d.before == nil {
		return
	}
	mode := modeOf(d.fixture.Reply.Parts[0])
	if !slices.Contains(q.seen.declared, mode) || !d.fixture.Reply.isIn(mode) || !q.speaksFor(mode) {
		return
	}
	q.replied(mode, d)
}

// replied notes what became of a reply.
func (q *modeQuestion) replied(mode string, d *dialogue) {
	try := modeTry{mode: mode, reply: true, lenient: q.lenient(mode), asks: d.asks(),
		moved: oldTask(d.seen()) == lifecycle.OldTaskMovedOn, first: d.reply, again: d.repeated}
	if q.s.unnamed(d.fixture.Reply) {
		try.takenByName()
	}
	q.seen.tries = append(q.seen.tries, try)
}

// askReply brings a task to its question and replies in one mode.
func (q *modeQuestion) askReply(ctx context.Context, mode string) {
	if q.left < modeReplies {
		return
	}
	ask := *q.s.job.Target.Fixtures.InputRequired
	ask.Reply = q.s.sample(mode)
	d := &dialogue{s: q.s, fixture: &ask}
	d.run(ctx)
	d.repeatRefused(ctx)
	if d.reply != nil {
		q.replied(mode, d)
	}
}

// asks: GetTask said just before the reply that the task asks for input.
func (d *dialogue) asks() bool { return d.before != nil && d.before.State == lifecycle.InputRequired }

// renamed is a message in one mode under the name that the card has for it; any other is left as it is.
func (s *session) renamed(f *Fixture) *Fixture {
	if len(f.Parts) == 0 || !f.isIn(modeOf(f.Parts[0])) {
		return f
	}
	mode := modeOf(f.Parts[0])
	return f.named(mode, s.spelling(mode).Declared)
}

// repeatRefused sends a reply whose mode was refused once more, on a new connection, while the task still asks. A reply in one mode has the
// name of its type then.
func (d *dialogue) repeatRefused(ctx context.Context) {
	if d.reply == nil || !modeRefused(d.reply) || !d.asks() || !pause(ctx, d.s.timing.Repeat) {
		return
	}
	fresh := d.s.fresh()
	defer fresh.Close()
	m := d.s.message(d.s.renamed(d.fixture.Reply))
	m.TaskID, m.ContextID = d.s.ids.id(d.first.TaskID()), d.first.ContextID()
	d.repeated = d.s.sendMessage(ctx, fresh, m, false)
}

// modeRefused: the message was refused for its media type. 0.1 has no such code of its own (wire reference 5).
func modeRefused(t *tape) bool {
	code, first, failed := t.Error()
	return t.Fail == nil && failed && first && code == codeContentType && t.Generation != wire.V01
}

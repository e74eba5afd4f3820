package agent

import (
	"context"
	"slices"
	"strings"
	"time"
)

// follower is one open stream of one task.
type follower struct {
	*call
	t    *task
	sc   StreamConfig
	out  sink
	ctx  context.Context
	said int  // events written
	bent bool // the giant event or the malformed one has been sent
}

// follow streams a task from a place in its log on, the task as it is at that place first if it is given.
func (x *call) follow(out sink, t *task, first *view, from int, sc StreamConfig) {
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	t.listens(cancel)
	defer context.AfterFunc(x.a.base, cancel)()
	x.a.openStream(1)
	defer x.a.openStream(-1)
	f := &follower{call: x, t: t, sc: sc, out: out, ctx: ctx}
	if !x.a.pause(x.ctx, x.c) {
		return
	}
	x.correlate(t.id)
	if !sc.HeadersLate {
		out.open()
	}
	if sleep(ctx, sc.FirstEvent.D()) && f.greet(first) {
		f.run(from)
	}
	out.deliver()
	if x.ctx.Err() != nil {
		f.hungUp()
	}
}

// greet shows the task as it is; false if that is the end of the stream.
func (f *follower) greet(v *view) bool {
	if v == nil {
		return true
	}
	s := v.status.state
	ends := s.terminal() || (s.interrupted() && !f.sc.HoldInterrupted)
	return f.send(f.call.out.taskFrame(*v), ends) && !ends
}

func (a *Agent) openStream(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams += by
}

// hungUp punishes the task for its client's leaving, where a quirk wants it (C91).
func (f *follower) hungUp() {
	switch f.sc.HangUp {
	case "":
	case "stuck":
		f.t.stop()
	default:
		f.t.end(State(f.sc.HangUp))
	}
}

func (f *follower) run(from int) {
	for i := from; ; {
		ev, ok, more := f.t.at(i)
		switch {
		case !ok && f.wait(more):
		case !ok:
			return
		default:
			i++
			if f.sc.HeldBack > 0 && !sleep(f.ctx, f.sc.HeldBack.D()-time.Since(ev.made)) {
				return
			}
			if f.sc.Drip > 0 && !sleep(f.ctx, f.sc.Drip.D()) {
				return
			}
			if f.step(ev) {
				return
			}
		}
	}
}

// wait until there is more, sending keep-alives; false if the stream is over.
func (f *follower) wait(more <-chan struct{}) bool {
	idle := farFuture
	if f.sc.CutIdle > 0 {
		idle = f.sc.CutIdle.D()
	}
	cut := time.NewTimer(idle)
	defer cut.Stop()
	beat := farFuture
	if f.sc.KeepAlive > 0 {
		beat = f.sc.KeepAlive.D()
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		select {
		case <-more:
			return true
		case <-f.ctx.Done():
			return false
		case <-cut.C:
			f.out.cut()
			return false
		case <-alive.C:
			f.out.open()
			if f.out.comment() != nil {
				return false
			}
		}
	}
}

// step shows one event of the task; true if the stream is over.
func (f *follower) step(ev event) bool {
	s := ev.status.state
	ends := ev.kind != evArtifact && s.terminal()
	rests := ev.kind != evArtifact && s.interrupted()
	if ends {
		f.t.mu.Lock()
		lag, silent := f.t.frameLag, f.t.noFrame
		f.t.mu.Unlock()
		if !sleep(f.ctx, lag) || silent {
			return true
		}
	}
	closes := ends || (rests && !f.sc.HoldInterrupted)
	frames := f.shape(ev)
	for i, v := range frames {
		if !f.send(v, closes && i == len(frames)-1 && f.quietEnd()) {
			return true
		}
	}
	switch {
	case ends:
		return f.terminal(s, len(frames) == 0)
	case rests:
		return closes && len(frames) > 0
	case f.sc.Endless && s == Working:
		f.flood()
		return true
	}
	return false
}

// quietEnd says that nothing follows the event that ends a stream.
func (f *follower) quietEnd() bool {
	return len(f.sc.AfterTerminal) == 0 && !f.sc.Snapshot && !f.sc.StatusFirst
}

// shape turns an event of the task into what this stream shows of it.
func (f *follower) shape(ev event) []any {
	v := f.t.snapshot(time.Time{})
	s := ev.status.state
	if f.sc.ForeignTask && f.said > 0 {
		v.id = "foreign-" + v.id
	}
	word := string(s)
	if ev.kind == evArtifact {
		word = "artifact"
	}
	switch {
	case slices.Contains(f.sc.Withhold, word),
		f.sc.NoContent && ev.kind == evArtifact,
		f.sc.StatusFirst && ev.kind == evTask && !s.terminal(),
		f.sc.OneTask && !s.terminal() && !s.interrupted():
		return nil
	case f.sc.OneTask, f.sc.StatusFirst && ev.kind == evStatus && s.terminal():
		v.status = ev.status
		return []any{f.call.out.taskFrame(v)}
	case f.sc.NeverFinal && ev.kind != evArtifact:
		no := false
		ev.final = &no
	}
	if f.sc.GiantEvent > 0 && ev.kind == evArtifact && !f.bent {
		f.bent = true
		ev.text = strings.Repeat("x", f.sc.GiantEvent)
	}
	frames := []any{f.frameOf(ev, v)}
	if f.sc.CompletedTwice && ev.kind == evArtifact {
		f.t.tooLate() // whoever says completed refuses a cancel from then on
		no := false
		early := event{kind: evStatus, status: status{state: Completed, at: time.Now(), text: "Which date was it?"}, final: &no}
		frames = append([]any{f.frameOf(early, v)}, frames...)
	}
	return frames
}

func (f *follower) frameOf(ev event, v view) any {
	r := f.call.out
	if f.sc.NoContent {
		v.artifact = nil
	}
	return r.frame(ev, v)
}

// send writes one result; false if the stream is over.
func (f *follower) send(result any, last bool) bool {
	if f.out.event(result, nil, last) != nil {
		return false
	}
	f.said++
	if f.sc.Malformed && f.said == 1 {
		if f.out.garble() != nil {
			return false
		}
	}
	if f.sc.ErrorAfter > 0 && f.said >= f.sc.ErrorAfter {
		_ = f.out.event(nil, f.call.out.fail(f.sc.ErrorCode, "error on the stream"), true)
		return false
	}
	if f.sc.CutAfter > 0 && f.said >= f.sc.CutAfter {
		if sleep(f.ctx, f.sc.CutIdle.D()) {
			f.out.cut()
		}
		return false
	}
	return true
}

// terminal does what follows a terminal event; true if the stream is over.
func (f *follower) terminal(s State, withheld bool) bool {
	f.t.mu.Lock()
	hidden := f.t.hidden
	f.t.mu.Unlock()
	if hidden {
		return false
	}
	if withheld {
		if f.sc.WithheldOpen {
			for f.wait(nil) {
			}
		}
		return true
	}
	if f.sc.Snapshot && !f.send(f.call.out.taskFrame(f.t.snapshot(time.Time{})), false) {
		return true
	}
	for _, what := range f.sc.AfterTerminal {
		ev := event{kind: evStatus, status: status{state: State(what), at: time.Now()}}
		switch what {
		case "artifact":
			ev = event{kind: evArtifact, text: "one more thing", last: true}
		case "repeat":
			ev.status.state = s
		}
		if !f.send(f.frameOf(ev, f.t.snapshot(time.Time{})), false) {
			return true
		}
	}
	if f.sc.HoldTerminal > 0 {
		f.hold(f.sc.HoldTerminal.D())
	}
	return true
}

// hold keeps the stream open and silent, but for keep-alives.
func (f *follower) hold(d time.Duration) {
	over := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	f.wait(over)
}

// flood sends chunks as fast as they are read.
func (f *follower) flood() {
	block := strings.Repeat("x", 1<<10)
	for i := 0; f.ctx.Err() == nil; i++ {
		ev := event{kind: evArtifact, text: block, first: i == 0}
		if !f.send(f.frameOf(ev, f.t.snapshot(time.Time{})), false) {
			return
		}
	}
}

package agent

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// builtin are the rules after those of the Config.
var builtin = []Rule{
	{Prefix: "count", Do: "count"},
	{Prefix: "book", Do: "ask"},
}

// deed chooses what a message makes the agent do.
func (c *Config) deed(in incoming) string {
	if c.Script.Message {
		return "message"
	}
	text := in.text()
	for _, rules := range [][]Rule{c.Script.Rules, builtin} {
		for _, r := range rules {
			if strings.HasPrefix(text, strings.ToLower(r.Prefix)) {
				return r.Do
			}
		}
	}
	return "answer"
}

// throws says whether the executor fails before its first event.
func (a *Agent) throws(c *Config) bool {
	if c.Script.FailEvery > 0 && a.nth("executions")%c.Script.FailEvery == 0 {
		return true
	}
	if c.Script.FailShare <= 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.chance.Float64() < c.Script.FailShare
}

// begin makes a task for a message and sets an executor to work on it.
func (a *Agent) begin(c *Config, in incoming, work time.Duration, broken bool) *task {
	id, contextID := newID(), in.contextID
	if c.Generation == V01 && in.taskID != "" && a.find(in.taskID) == nil {
		id = in.taskID
	}
	if contextID == "" {
		contextID = newID()
	}
	t := newTask(id, contextID)
	t.history = append(t.history, in.turn())
	ctx, stop := context.WithCancel(a.base)
	t.stop = stop
	a.keep(t)
	deed := c.deed(in)
	if broken || c.spoils(in) {
		deed = "fail"
	}
	x := &execution{t: t, c: c, work: work, exempt: c.exempt(in)}
	switch {
	case c.Script.SkipSubmitted && c.Script.SkipWorking && deed == "answer":
		stop()
		t.beginDone(x.end(), "pong")
		return t
	case c.Script.SkipSubmitted:
		t.begin(Working)
	default:
		t.begin(Submitted)
	}
	go func() {
		defer stop()
		x.run(ctx, deed)
	}()
	return t
}

// execution is one executor at work on one task.
type execution struct {
	t      *task
	c      *Config
	work   time.Duration
	exempt bool
}

func (x *execution) run(ctx context.Context, deed string) {
	switch deed {
	case "count":
		x.count(ctx)
	case "ask":
		x.ask(ctx)
	case "stuck":
		x.toWorking(ctx)
		<-ctx.Done()
	case "reject":
		x.t.set(Rejected, "not today")
	case "auth":
		x.t.set(AuthRequired, "who are you?")
	case "fail":
		x.t.set(Failed, "something broke")
	default:
		x.answer(ctx)
	}
}

func (x *execution) end() State {
	if x.c.Script.Ends != "" {
		return x.c.Script.Ends
	}
	return Completed
}

func (x *execution) toWorking(ctx context.Context) bool {
	if !sleep(ctx, x.work/3) {
		return false
	}
	if !x.c.Script.SkipWorking && x.t.now().state != Working {
		x.t.set(Working, "")
	}
	return true
}

// answer says pong. An agent that ends turns in an interrupted state answers every reply likewise.
func (x *execution) answer(ctx context.Context) {
	for x.toWorking(ctx) && x.think(ctx) {
		if end := x.end(); end != Completed && !end.interrupted() {
			x.t.set(end, "")
			return
		}
		if !sleep(ctx, x.work/3) {
			return
		}
		x.t.chunk("pong", true, false)
		if !sleep(ctx, x.work/3) {
			return
		}
		switch {
		case x.c.Script.AlwaysAsks:
			x.t.set(InputRequired, "anything else?")
		default:
			x.t.set(x.end(), "")
			if x.c.Script.Relapses > 0 {
				time.AfterFunc(x.c.Script.Relapses.D(), x.t.relapse)
			}
		}
		if x.t.now().state.terminal() || !x.hear(ctx) {
			return
		}
	}
}

func (x *execution) think(ctx context.Context) bool {
	if x.c.Script.Stuck {
		<-ctx.Done()
		return false
	}
	return sleep(ctx, x.c.Script.Think.D())
}

func (x *execution) count(ctx context.Context) {
	if !x.toWorking(ctx) {
		return
	}
	for i := 1; i <= x.c.Script.Chunks; i++ {
		if !sleep(ctx, x.c.Script.Tick.D()) {
			return
		}
		x.t.chunk(strconv.Itoa(i)+"\n", i == x.c.Script.Chunks, false)
	}
	x.t.set(Completed, "")
}

func (x *execution) ask(ctx context.Context) {
	if !x.toWorking(ctx) {
		return
	}
	if x.t.toldAll() {
		x.t.chunk("booked", true, false)
		x.t.set(Completed, "")
		return
	}
	if x.c.Script.NeverAsks && !x.exempt {
		<-ctx.Done()
		return
	}
	if !sleep(ctx, x.work/3) {
		return
	}
	x.t.set(InputRequired, "Where to?")
	if !x.hearInTime(ctx) || !sleep(ctx, x.work/3) {
		return
	}
	x.t.chunk("booked", true, false)
	if x.c.Script.AlwaysAsks {
		x.t.set(InputRequired, "anything else?")
		return
	}
	x.t.set(Completed, "")
}

// toldAll says whether the message that began the task holds all inputs ("book a trip to Oslo"), so that nothing is left to ask.
func (t *task) toldAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.history) > 0 && strings.Contains(incoming{parts: t.history[0].parts}.text(), " to ")
}

// hearInTime waits for a reply as long as the agent has patience; out of patience it goes on without.
func (x *execution) hearInTime(ctx context.Context) bool {
	patience := x.c.Script.GivesUp.D()
	if patience == 0 {
		return x.hear(ctx)
	}
	select {
	case <-x.t.input:
		return true
	case <-time.After(patience):
		return true
	case <-ctx.Done():
		return false
	}
}

// hear waits for a reply.
func (x *execution) hear(ctx context.Context) bool {
	select {
	case <-x.t.input:
		return true
	case <-ctx.Done():
		return false
	}
}

// exempt says whether a message carries the metadata that spares it a bad follow-up rule.
func (c *Config) exempt(in incoming) bool {
	if c.FollowUp.UnlessMetadata == "" {
		return false
	}
	_, ok := in.metadata[c.FollowUp.UnlessMetadata]
	return ok
}

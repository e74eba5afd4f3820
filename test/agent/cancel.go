package agent

import (
	"time"
)

func (x *call) cancel() {
	if x.c.Cancel.Refuse != 0 {
		x.fail(x.c.Cancel.Refuse, "refused")
		return
	}
	t, p := x.known()
	if t == nil {
		return
	}
	x.out.id = p.ID
	if !sleep(x.ctx, x.c.Cancel.Slow.D()) {
		return
	}
	if !t.cancelable() {
		x.fail(-32002, "the task is over")
		return
	}
	x.cancelBy(t)
}

// cancelBy ends the task, or lies about it.
func (x *call) cancelBy(t *task) {
	k := x.c.Cancel
	switch {
	case k.Zombie:
		x.zombie(t)
	case k.Never:
		x.reply(x.out.task(t.snapshot(time.Time{}), nil), nil)
	case k.Later > 0:
		v := t.snapshot(time.Time{})
		time.AfterFunc(k.Later.D(), func() { t.end(Canceled) })
		x.reply(x.out.task(v, nil), nil)
	default:
		t.mu.Lock()
		t.frameLag, t.noFrame, t.hidden = k.FrameLate.D(), k.NoFrame, k.Revives > 0
		t.mu.Unlock()
		if !t.end(Canceled) {
			x.fail(-32002, "the task is over")
			return
		}
		if k.Revives > 0 {
			time.AfterFunc(k.Revives.D(), t.revive)
		}
		if k.Forgets > 0 {
			time.AfterFunc(k.Forgets.D(), t.forget)
		}
		x.reply(x.out.task(t.snapshot(time.Time{}), nil), nil)
	}
}

// zombie answers canceled and lets the executor go on.
func (x *call) zombie(t *task) {
	v := t.snapshot(time.Time{})
	v.status = status{state: Canceled, at: time.Now()}
	if x.c.Cancel.ZombieSays != Working {
		t.mu.Lock()
		t.claimed = Canceled
		t.mu.Unlock()
	}
	x.reply(x.out.task(v, nil), nil)
}

// end stops the executor and moves the task to a terminal state; false if it was terminal already.
func (t *task) end(s State) bool {
	t.stop()
	return t.set(s, "")
}

// revive breaks the rule that terminal is final.
func (t *task) revive() {
	t.chunk("done all the same", true, true)
	t.mu.Lock()
	t.hidden = false
	t.mu.Unlock()
	t.force(Completed)
}

package fleet

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/test/proxy"
)

const ms = time.Millisecond

// Chances per round that a fault is active, and that something longer begins.
const (
	faultShare = 0.4
	// cheapShare is that of reachability rounds, which are many and short.
	cheapShare   = 0.1
	deployShare  = 0.04
	restartShare = 0.03
	requestShare = 0.005
)

// clear is how far from a task's own end a fault keeps that ends its stream in good order: more than the prober's own margin.
const clear = 600 * ms

// weather draws the faults of one peer's path.
type weather struct {
	peer   Peer
	chance *rand.Rand
	// deploy is until when, on the world's clock, two versions serve side by side; backend is the version otherwise.
	deploy  time.Time
	backend int
	// only draws faults of this kind; empty: of all kinds.
	only string
}

// draw is the fault of the next round, and whether it is one.
func (w *weather) draw(now time.Time, share float64) (f proxy.Fault, active bool) {
	f = w.peer.Path
	f.Backend = w.backend
	if now.Before(w.deploy) {
		f.Name, f.Replicas = rolling, w.replicas()
		return f, true
	}
	if w.chance.Float64() >= share {
		return f, false
	}
	if w.only == rolling || w.only == "" && w.chance.Float64() < deployShare/faultShare {
		// A deploy takes minutes; half of the time it is rolled back.
		w.deploy = now.Add(time.Duration(2+w.chance.IntN(40)) * time.Minute)
		if w.chance.IntN(2) == 0 {
			w.backend = 1 - w.backend
		}
		f.Name, f.Replicas = rolling, w.replicas()
		return f, true
	}
	list := kinds
	if w.only != "" {
		list = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.name != w.only })
	}
	k := list[w.chance.IntN(len(list))]
	k.set(w, &f)
	f.Name = k.name
	return f, true
}

func (w *weather) replicas() string {
	return []string{proxy.ByRequest, proxy.ByConnection}[w.chance.IntN(2)]
}

// between is a duration from a to b.
func (w *weather) between(a, b time.Duration) time.Duration {
	if b <= a {
		return a
	}
	return a + time.Duration(w.chance.Int64N(int64(b-a)))
}

// cutAt is a moment at which a stream may be cut: while a task is at work, and clear of its end. Short tasks are over before.
func (w *weather) cutAt() time.Duration {
	if w.peer.Work > 2*clear {
		return w.between(100*ms, w.peer.Work-clear)
	}
	return w.between(w.peer.Work+clear, w.peer.Work+clear+time.Second)
}

// rolling is the fault that lasts.
const rolling = "rolling-deploy"

// Faults lists the kinds of faults there are.
func Faults() []string {
	list := []string{rolling}
	for _, k := range kinds {
		list = append(list, k.name)
	}
	return list
}

// kind is one kind of fault.
type kind struct {
	name string
	set  func(*weather, *proxy.Fault)
}

var kinds = []kind{
	{"cut-in-good-order", func(w *weather, f *proxy.Fault) { f.CutAfter = w.cutAt() }},
	{"cut-by-reset", func(w *weather, f *proxy.Fault) { f.CutAfter, f.Reset = w.cutAt(), true }},
	{"idle-limit", func(w *weather, f *proxy.Fault) {
		f.CutIdle, f.Reset = w.cutAt(), w.chance.IntN(3) == 0
	}},
	{"reset", func(w *weather, f *proxy.Fault) { f.ResetEvents = 1 + w.chance.IntN(4) }},
	{"buffer", func(w *weather, f *proxy.Fault) { f.Buffer = w.between(200*ms, 4*time.Second) }},
	{"late-stream", func(w *weather, f *proxy.Fault) { f.Hold = w.between(20*ms, 500*ms) }},
	{"connections-dropped", func(w *weather, f *proxy.Fault) {
		f.Drop = 0.1 + 0.4*w.chance.Float64()
	}},
	{"slow-dial", func(w *weather, f *proxy.Fault) { f.DialDelay = w.between(30*ms, 400*ms) }},
	{"agent-down", func(_ *weather, f *proxy.Fault) { f.Down = true }},
	{"429", func(w *weather, f *proxy.Fault) {
		f.Status, f.Share, f.RetryAfter = 429, 0.2+0.8*w.chance.Float64(), 1+w.chance.IntN(120)
	}},
	{"50x", func(w *weather, f *proxy.Fault) {
		f.Status, f.Share = 502+w.chance.IntN(3), 0.2+0.8*w.chance.Float64()
	}},
	{"executor-fails", func(w *weather, f *proxy.Fault) {
		f.Fail = []float64{0.01, 0.1, 0.3}[w.chance.IntN(3)]
	}},
	{"unshared-store", func(w *weather, f *proxy.Fault) { f.Replicas = w.replicas() }},
	{"lagging-store", func(w *weather, f *proxy.Fault) { f.Lag = w.between(50*ms, 700*ms) }},
	{"ids-rewritten", func(w *weather, f *proxy.Fault) {
		f.Rewrite = []string{proxy.Once, proxy.Each}[w.chance.IntN(2)]
	}},
	{"clock-skew", func(w *weather, f *proxy.Fault) {
		f.DateOff = w.between(-8*time.Hour, 8*time.Hour)
	}},
	{"failover", func(w *weather, f *proxy.Fault) { f.MoveAfter = w.between(0, 2*time.Second) }},
}

package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a run.
type Options struct {
	// Seed decides everything that is left to chance.
	Seed uint64
	// Days that each world lives, on its clock; Budget ends them earlier, by the wall clock.
	Days   float64
	Budget time.Duration
	// AtOnce bounds the rounds that run at the same time.
	AtOnce int
	// Only takes peers whose name contains it; empty: all.
	Only string
	// Fault draws faults of this kind only (see Faults); empty: of all kinds.
	Fault string
	// Progress is told now and then how far the worlds are.
	Progress func(string)
}

// Run lets one fleet live. An error means that the bed failed, not the prober.
func Run(ctx context.Context, name string, peers []Peer, o Options) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Budget)
	defer cancel()
	b, err := newBed(context.WithoutCancel(ctx))
	if err != nil {
		return Result{}, err
	}
	defer b.close()
	s := &sum{res: Result{Fleet: name, Seed: o.Seed}}
	slot := make(chan struct{}, o.AtOnce)
	beat := &pulse{}
	go beat.run(ctx)
	var wait sync.WaitGroup
	var failed atomic.Pointer[error]
	for i, p := range peers {
		if !strings.Contains(p.Name, o.Only) {
			continue
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := live(ctx, b, p, o, uint64(i), slot, beat, s); err != nil {
				err = fmt.Errorf("peer %q: %w", p.Name, err)
				failed.CompareAndSwap(nil, &err)
			}
		}()
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return s.result(), *err
	}
	return s.result(), nil
}

// live lets one peer live in its world.
func live(ctx context.Context, b *bed, p Peer, o Options, i uint64, slot chan struct{}, beat *pulse, s *sum) error {
	seed := o.Seed*1_000_003 + i
	stand, err := b.start(p, seed)
	if err != nil {
		return err
	}
	defer stand.close()
	t := &tally{progress: o.Progress}
	defer s.add(t)
	w, err := newWorld(p, stand, seed, t)
	if err != nil {
		return err
	}
	w.receiver = b.receiver
	w.weather.only, w.slot, w.pulse = o.Fault, slot, beat
	return w.live(ctx, epoch.Add(time.Duration(o.Days*24*float64(time.Hour))))
}

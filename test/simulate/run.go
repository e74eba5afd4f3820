package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
)

// Options of a simulation.
type Options struct {
	// Seed of all random numbers; zero draws one, which the result names.
	Seed uint64
	// PeerDays to live in all, about; zero means 100,000. Each profile lives one life at least.
	PeerDays int
	// Workers at once; zero means as many as there are processors.
	Workers int
	// Only lives profiles whose name holds this text; empty means all.
	Only string
}

// Run lives all lives. It ends early with the context's error if that ends.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>1 | 1
	}
	if o.PeerDays <= 0 {
		o.PeerDays = 100_000
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	list := profiles()
	lives := plan(list, o)
	counts, err := liveAll(ctx, list, lives, o)
	if err != nil {
		return Result{}, err
	}
	return collect(list, counts, o.Seed), nil
}

// place of a life: its profile, and which of them it is.
type place struct{ profile, number int }

// plan shares the peer-days out among the profiles.
func plan(list []profile, o Options) (lives []place) {
	shares := 0
	for i := range list {
		if strings.Contains(list[i].name, o.Only) {
			shares += list[i].share
		}
	}
	for i := range list {
		if !strings.Contains(list[i].name, o.Only) {
			continue
		}
		n := o.PeerDays * list[i].share / shares / list[i].days
		for k := range max(n, 1) {
			lives = append(lives, place{i, k})
		}
	}
	return lives
}

// liveAll lives them on several workers. Every worker counts for itself; sums do not hang on who counted what.
func liveAll(ctx context.Context, list []profile, lives []place, o Options) ([]Count, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan place)
	each := make([][]Count, o.Workers)
	var wg sync.WaitGroup
	for w := range each {
		each[w] = make([]Count, len(list))
		wg.Go(func() {
			for p := range work {
				l := newLife(&list[p.profile], o.Seed, uint64(p.profile)<<32|uint64(p.number))
				l.live()
				if l.err != nil {
					cancel(fmt.Errorf("living life %d with seed %d: %w", p.number, o.Seed, l.err))
				}
				l.count.Peers = 1
				each[w][p.profile].add(&l.count)
			}
		})
	}
	for _, p := range lives {
		if ctx.Err() != nil {
			break
		}
		work <- p
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	sum := make([]Count, len(list))
	for _, counts := range each {
		for i := range counts {
			sum[i].add(&counts[i])
		}
	}
	return sum, nil
}

func collect(list []profile, counts []Count, seed uint64) Result {
	r := Result{Seed: seed, Fleets: map[string]Count{}, Passed: true}
	for i := range list {
		c := &counts[i]
		if c.Peers == 0 {
			continue
		}
		fleet := r.Fleets[list[i].fleet]
		fleet.add(c)
		r.Fleets[list[i].fleet] = fleet
		r.Total.add(c)
		c.finish()
		r.Profiles = append(r.Profiles, Profile{Name: list[i].name, Fleet: list[i].fleet, Count: *c})
		r.Passed = r.Passed && c.passed()
	}
	for name, fleet := range r.Fleets {
		fleet.finish()
		r.Fleets[name] = fleet
	}
	r.Total.finish()
	r.Notes = r.Total.notes
	return r
}

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
)

// vouched creates an AgentPeer whose decision is to stream for a day, as the operator would write it.
func (b *bed) vouched(ctx context.Context, name, url string) (*v1alpha1.AgentPeer, error) {
	o := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.AgentPeerSpec{URL: url}}
	if err := b.api.Create(ctx, o); err != nil {
		return nil, err
	}
	until := metav1.NewTime(time.Now().Add(24 * time.Hour))
	o.Status = v1alpha1.AgentPeerStatus{ObservedGeneration: o.Generation, Target: url, Decision: &v1alpha1.Decision{
		Choice: v1alpha1.Choice{Path: v1alpha1.PathStreaming, MultiTurn: v1alpha1.MultiTurnInteractive, Cancel: v1alpha1.CancelReliable,
			Updates: v1alpha1.UpdatesPoll, Reason: "StreamingTrusted"}, ExpirationTime: &until}}
	o.Status.Capabilities = []v1alpha1.CapabilityStatus{{Name: v1alpha1.CapabilityStreaming, State: v1alpha1.Trusted, ExpirationTime: &until}}
	return o, b.api.Status().Update(ctx, o)
}

// caches starts n of them, as n orchestrators would, and waits until they know all AgentPeers.
func (b *bed) caches(ctx context.Context, n int) ([]*client.PeerCapabilityCache, error) {
	out := make([]*client.PeerCapabilityCache, n)
	return out, each(n, n, func(i int) error {
		cache, err := client.NewPeerCapabilityCache(b.config, client.CacheOptions{})
		if err != nil {
			return err
		}
		out[i] = cache
		go func() { _ = cache.Start(ctx) }()
		return cache.WaitForSync(ctx)
	})
}

// decide: what a decision costs an orchestrator that watches the fleet.
func decide(ctx context.Context, b *bed, peers, _ int) ([]figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	names, urls := make([]client.Ref, peers), make([]client.Ref, peers)
	if err := each(64, peers, func(i int) error {
		name, url := fmt.Sprint("d-", i), fmt.Sprintf("https://agent-%d.example.com/a2a", i)
		names[i], urls[i] = client.Named(namespace, name), client.At(url)
		_, err := b.vouched(ctx, name, url)
		return err
	}); err != nil {
		return nil, err
	}
	all, err := b.caches(ctx, 1)
	if err != nil {
		return nil, err
	}
	cache := all[0]
	measure := func(refs []client.Ref) (ns, allocs float64, err error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const calls = 1_000_000
		wrong, i := 0, 0
		ask := func() {
			if cache.Decide(refs[i]).Path != v1alpha1.PathStreaming {
				wrong++
			}
			i = (i + 7919) % len(refs) // in no order that memory likes: a large prime apart
		}
		allocs = testing.AllocsPerRun(1000, ask)
		before, err1 := cpuOfThread()
		for range calls {
			ask()
		}
		after, err2 := cpuOfThread()
		if wrong > 0 {
			return 0, 0, fmt.Errorf("%d decisions read are not Streaming", wrong)
		}
		return float64((after - before).Nanoseconds()) / calls, allocs, errors.Join(err1, err2)
	}
	byName, allocs1, err1 := measure(names)
	byURL, allocs2, err2 := measure(urls)
	if err := errors.Join(err1, err2, b.clear(ctx)); err != nil {
		return nil, err
	}
	return []figure{
		{Name: "decide_ns", Value: max(byName, byURL), Unit: "ns of CPU", Goal: 200, Must: 400,
			Of: map[string]float64{"by_name_ns": byName, "by_url_ns": byURL, "peers": float64(peers)}},
		{Name: "decide_allocs", Value: max(allocs1, allocs2), Unit: "allocations", Goal: 0},
	}, nil
}

// rusageThread asks getrusage(2) for the calling thread; package syscall has no name for it.
const rusageThread = 1

// cpuOfThread is the CPU time of this thread: what a call costs, whatever else runs on the machine.
func cpuOfThread() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		return 0, fmt.Errorf("reading the CPU time of a thread: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// flip: how long after a status is written orchestrators decide otherwise. Each has a watch of its own and asks every millisecond.
func flip(ctx context.Context, b *bed, _, _ int) ([]figure, error) {
	const readers, flips = 50, 100
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o, err := b.vouched(ctx, "flip", "https://flip.example.com")
	if err != nil {
		return nil, err
	}
	all, err := b.caches(ctx, readers)
	if err != nil {
		return nil, err
	}
	ref := client.At("https://flip.example.com")
	var mu sync.Mutex
	var took, writes []float64
	for i := range flips {
		want := v1alpha1.PathSingleShot
		if i%2 == 1 {
			want = v1alpha1.PathStreaming
		}
		before := o.DeepCopy()
		o.Status.Decision.Path = want
		start := time.Now()
		if err := b.api.Status().Patch(ctx, o, ctrlclient.MergeFrom(before)); err != nil {
			return nil, err
		}
		writes = append(writes, float64(time.Since(start).Microseconds())/1000)
		if err := each(readers, readers, func(i int) error {
			for all[i].Decide(ref).Path != want {
				if time.Since(start) > time.Minute {
					return errors.New("a reader never saw the decision change")
				}
				time.Sleep(time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, float64(time.Since(start).Microseconds())/1000)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	return []figure{{Name: "flip_to_decision_ms", Value: median(took), Unit: "ms",
		Of: map[string]float64{"p99_ms": took[len(took)*99/100], "write_ms": median(writes), "readers": readers, "flips": flips}}}, b.clear(ctx)
}

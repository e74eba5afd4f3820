package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// history is every status that the AgentPeers of a namespace ever had, not only the last: what was written for a second
// may have misled a reader for a second.
type history struct {
	mu   sync.Mutex
	seen map[string][]*v1alpha1.AgentPeer
}

// record writes down what is written to a namespace, from now until the test ends.
func (w world) record(t *testing.T, namespace string) *history {
	t.Helper()
	h := &history{seen: map[string][]*v1alpha1.AgentPeer{}}
	c, err := cache.New(w.Config, cache.Options{Scheme: w.Scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	informer, err := c.GetInformer(t.Context(), &v1alpha1.AgentPeer{}, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    h.add,
		UpdateFunc: func(_, o any) { h.add(o) },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("watching: %v", err)
		}
	})
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("watching: it did not begin")
	}
	return h
}

func (h *history) add(o any) {
	p, ok := o.(*v1alpha1.AgentPeer)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[p.Name] = append(h.seen[p.Name], p)
}

// of one AgentPeer, oldest first.
func (h *history) of(name string) []*v1alpha1.AgentPeer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen[name])
}

// neverAccused fails the test if a capability other than those named was ever Demoted.
func (h *history) neverAccused(t *testing.T, name string, guilty ...v1alpha1.CapabilityName) {
	t.Helper()
	told := map[v1alpha1.CapabilityName]bool{}
	for _, p := range h.of(name) {
		for _, c := range p.Status.Capabilities {
			if c.State == v1alpha1.Demoted && !slices.Contains(guilty, c.Name) && !told[c.Name] {
				told[c.Name] = true
				t.Errorf("%s of %s, which keeps its word there, was Demoted in round %d: %s: %s %q",
					c.Name, name, p.Status.Rounds.Last, c.Reason, c.Message, c.Observed)
			}
		}
	}
}

// alwaysReady fails the test if Ready was ever anything but True once it was decided.
func (h *history) alwaysReady(t *testing.T, name string) {
	t.Helper()
	for _, p := range h.of(name) {
		if got := condition(v1alpha1.ConditionReady)(p); got != "" && !strings.HasPrefix(got, "True/") {
			t.Errorf("Ready of %s was %s: a sick peer must not hold up a rollout", name, got)
		}
	}
}

// countedOnce fails the test if a round was folded twice: numbers only grow, and tasks are only booked by a new round.
func (h *history) countedOnce(t *testing.T, name string) {
	t.Helper()
	var last v1alpha1.RoundsStatus
	for _, p := range h.of(name) {
		if p.Status.Rounds == nil {
			continue
		}
		now := *p.Status.Rounds
		switch {
		case now.Last < last.Last:
			t.Errorf("%s: rounds went from %d back to %d", name, last.Last, now.Last)
		case now.Behaviors < last.Behaviors || now.Behaviors > last.Behaviors+1:
			t.Errorf("%s: one write took behaviour rounds from %d to %d", name, last.Behaviors, now.Behaviors)
		case now.Last == last.Last && (now.Behaviors != last.Behaviors || now.TasksLast24h != last.TasksLast24h):
			t.Errorf("%s: round %d was booked twice: behaviours %d and %d, tasks %d and %d", name, now.Last,
				last.Behaviors, now.Behaviors, last.TasksLast24h, now.TasksLast24h)
		case now.Behaviors == last.Behaviors && now.TasksLast24h != last.TasksLast24h:
			t.Errorf("%s: tasks went from %d to %d without a behaviour round", name, last.TasksLast24h, now.TasksLast24h)
		}
		last = now
	}
}

// says lists where a text appears in what a namespace's readers can see: every status ever, and every event.
func (w world) says(t *testing.T, h *history, namespace, text string) (where []string) {
	t.Helper()
	contains := func(v any) bool {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.ToLower(string(raw)), text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, list := range h.seen {
		for _, p := range list {
			if contains(p.Status) {
				where = append(where, fmt.Sprintf("status of %s: %+v", name, p.Status))
				break
			}
		}
	}
	var events eventsv1.EventList
	if err := w.Client.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) == 0 {
		t.Error("there are no events to look at")
	}
	for _, e := range events.Items {
		if contains(e) {
			where = append(where, "event: "+e.Note)
		}
	}
	return where
}

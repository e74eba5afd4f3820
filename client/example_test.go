package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// noon is the time of these examples.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// agentPeer is one whose streams are trusted until five past noon, as an informer or a GET returns it.
func agentPeer(namespace, name, url string) *v1alpha1.AgentPeer {
	until := metav1.NewTime(noon.Add(5 * time.Minute))
	return &v1alpha1.AgentPeer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1", Generation: 1},
		Spec:       v1alpha1.AgentPeerSpec{URL: url},
		Status: v1alpha1.AgentPeerStatus{
			ObservedGeneration: 1,
			Target:             url,
			Decision: &v1alpha1.Decision{
				Choice: v1alpha1.Choice{Path: v1alpha1.PathStreaming, MultiTurn: v1alpha1.MultiTurnInteractive,
					Cancel: v1alpha1.CancelBestEffort, Updates: v1alpha1.UpdatesPoll, Reason: "StreamingTrusted"},
				ExpirationTime: &until,
			},
			Capabilities: []v1alpha1.CapabilityStatus{{Name: v1alpha1.CapabilityStreaming, State: v1alpha1.Trusted, ExpirationTime: &until}},
		},
	}
}

// table is a client.Reader over objects that the program has already.
type table []*v1alpha1.AgentPeer

func (t table) Get(name types.NamespacedName) (*v1alpha1.AgentPeer, error) {
	for _, peer := range t {
		if peer.Namespace == name.Namespace && peer.Name == name.Name {
			return peer, nil
		}
	}
	return nil, nil
}

func (t table) List() ([]*v1alpha1.AgentPeer, error) { return t, nil }

func ExampleDecide() {
	peer := agentPeer("travel", "planner", "https://planner.example.com/a2a")
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		d := client.Decide(peer, now)
		fmt.Println(d.Path, d.MultiTurn, d.Reason)
	}
	// Output:
	// Streaming Interactive StreamingTrusted
	// SingleShot AllInputsUpfront TrustExpired
}

// In a pod: the cache watches by itself, with the rights of the ClusterRole agentpeer-orchestrator.
func ExampleNewPeerCapabilityCache() {
	ctx := context.Background()
	config, err := rest.InClusterConfig()
	if err != nil {
		fmt.Println(err)
		return
	}
	cache, err := client.NewPeerCapabilityCache(config, client.CacheOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = cache.Start(ctx) }() // Err tells what keeps it from being up to date

	var refused *client.AccessError
	if err := cache.WaitForSync(ctx); errors.As(err, &refused) && apierrors.IsForbidden(refused) {
		fmt.Println(err) // names what to bind to whom; it heals by itself once that is done
	}
	if cache.Decide(client.At("https://planner.example.com/a2a")).Path == v1alpha1.PathStreaming {
		fmt.Println("open a stream")
	}
}

// With an informer of one's own, or in a test.
func ExampleNewPeerCapabilityCacheFor() {
	peers := table{
		agentPeer("travel", "planner", "https://planner.example.com/a2a"),
		agentPeer("travel", "booker", "https://booker.example.com"),
	}
	cache := client.NewPeerCapabilityCacheFor(peers, client.CacheOptions{Clock: func() time.Time { return noon }})
	for _, peer := range []client.Ref{
		client.Named("travel", "planner"),
		client.At("https://Planner.example.com:443/a2a/"),
		client.At("https://unknown.example.com"),
	} {
		d := cache.Decide(peer)
		fmt.Println(peer, d.Path, d.Reason, cache.IsTrusted(peer, v1alpha1.CapabilityStreaming))
	}
	// Output:
	// travel/planner Streaming StreamingTrusted true
	// https://planner.example.com/a2a Streaming StreamingTrusted true
	// https://unknown.example.com SingleShot PeerUnknown false
}

// Two teams registered the same agent, and the operator trusts it under one name only: the worst counts.
func ExampleAt() {
	judged := agentPeer("travel", "planner", "https://planner.example.com")
	fresh := agentPeer("sales", "planner", "https://planner.example.com")
	fresh.Status = v1alpha1.AgentPeerStatus{ObservedGeneration: -1}
	cache := client.NewPeerCapabilityCacheFor(table{judged, fresh}, client.CacheOptions{Clock: func() time.Time { return noon }})

	fmt.Println(cache.Decide(client.Named("travel", "planner")).Path)
	fmt.Println(cache.Decide(client.At("https://planner.example.com")).Path)
	// Output:
	// Streaming
	// SingleShot
}

// A stream that the agent refuses, though its card declares streaming, counts at once for the requests to come; a network fault never does.
func ExamplePeerCapabilityCache_Demote() {
	peers := table{agentPeer("travel", "planner", "https://planner.example.com")}
	cache := client.NewPeerCapabilityCacheFor(peers, client.CacheOptions{Clock: func() time.Time { return noon }})
	planner := client.Named("travel", "planner")

	cache.Demote(planner, v1alpha1.CapabilityStreaming, context.DeadlineExceeded)
	fmt.Println(cache.Decide(planner).Path, cache.Stats())

	cache.Demote(planner, v1alpha1.CapabilityStreaming, &client.ChargedError{
		Capability: v1alpha1.CapabilityStreaming, Reason: v1alpha1.ReasonStreamingRefused, Basis: lifecycle.Card})
	fmt.Println(cache.Decide(planner).Path, cache.Decide(planner).Reason, cache.Stats())
	// Output:
	// Streaming {0 1}
	// SingleShot DemotedHere {1 1}
}

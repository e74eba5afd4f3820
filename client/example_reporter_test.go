package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// What a PeerCapabilityCache does by itself where CacheOptions.Reporter is set: here a program tells a Reporter what it saw. The first
// divergence is written at once, and what is left when the context ends.
func ExampleReporter() {
	config, written, stop := travelAPIServer() // in a pod: rest.InClusterConfig()
	defer stop()
	reporter, err := client.NewReporter(config, client.ReporterOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- reporter.Start(ctx) }()

	seen := client.Sighting{
		Peer: types.NamespacedName{Namespace: "travel", Name: "planner"}, UID: "1f6b", Target: "https://planner.example.com/a2a",
		Capability: v1alpha1.CapabilityContinuation, Reason: v1alpha1.ReasonTaskIdChangedOnContinuation, Basis: lifecycle.Card,
		TaskID: "order-1", Observed: []string{"submitted@0ms", "working@12ms"},
	}
	reporter.Observe(seen)
	report := <-written
	fmt.Println(report.Spec.Reporter.Name, "in", report.Spec.Reporter.PodName, "of", report.Spec.PeerRef.Name)
	for _, d := range report.Spec.Divergences {
		fmt.Println(d.Capability, d.Reason, d.Basis, d.TaskID, d.Observed)
	}

	seen.Capability, seen.Honored = v1alpha1.CapabilityStreaming, true
	reporter.Observe(seen)
	cancel()
	for _, c := range (<-written).Spec.Capabilities {
		fmt.Println(c.Name, "honored", c.Honored, "diverged", c.Diverged)
	}
	fmt.Println(<-ended)
	// Output:
	// concierge in concierge-0 of planner
	// Continuation TaskIdChangedOnContinuation Card order-1 [submitted@0ms working@12ms]
	// Streaming honored 1 diverged 0
	// Continuation honored 0 diverged 1
	// <nil>
}

// travelAPIServer stands in for the API server that a pod of ServiceAccount concierge would reach; it shows the reports that it was given.
func travelAPIServer() (config *rest.Config, written chan v1alpha1.AgentPeerReport, stop func()) {
	written = make(chan v1alpha1.AgentPeerReport, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost { // who am I?
			fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{
				"username":"system:serviceaccount:travel:concierge","extra":{"authentication.kubernetes.io/pod-name":["concierge-0"]}}}}`)
			return
		}
		var report v1alpha1.AgentPeerReport
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		written <- report
		_ = json.NewEncoder(w).Encode(report)
	}))
	return &rest.Config{Host: server.URL}, written, server.Close
}

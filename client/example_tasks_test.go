package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Work that may need an answer. Peers would be a PeerCapabilityCache, and the ledger would be kept in files; without either every peer is
// Unverified and the ledger is in memory.
func ExampleTasks() {
	ctx := context.Background()
	server := httptest.NewServer(agent.New().Handler())
	defer server.Close()
	peer, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{
		{URL: server.URL + "/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"},
	}, a2aclient.WithJSONRPCTransport(&http.Client{}))
	if err != nil {
		fmt.Println(err)
		return
	}

	var tasks client.Tasks
	text := func(s string) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(s)) }
	task, err := tasks.OpenStreamingTask(ctx, peer, client.Named("travel", "route-planner"),
		&a2a.SendMessageRequest{Message: text("book a trip")}, client.TaskOptions{
			// Sent in place of the message where a conversation cannot be relied on.
			AllInputs: text("book a trip to Oslo"),
			// Asked where the agent wants to know more all the same.
			OnInput: func(context.Context, a2a.TaskStatus) (*a2a.Message, error) { return text("to Oslo"), nil },
		})
	if err != nil {
		fmt.Println(err) // nothing runs, or the ledger knows
		return
	}
	result, err := tasks.AwaitTerminalState(ctx, task)
	var diverged *client.AgentCardDivergenceError
	switch {
	case errors.As(err, &diverged):
		fmt.Println("the agent broke its contract:", diverged.Basis)
	case err != nil:
		fmt.Println(err, "- may it be given to another agent?", result.MayReissue)
	default:
		fmt.Println(result.State, result.Task.Artifacts[0].Parts[0].Text())
	}
	// Output: completed booked
}

// After a restart the ledger knows what was under way.
func ExampleLedger() {
	ctx := context.Background()
	store := client.NewMemoryStore() // or NewFileStore("/var/lib/orchestrator/tasks")
	ledger, err := client.NewLedger(ctx, store)
	var broken *client.BrokenEntryError
	if err != nil && !errors.As(err, &broken) {
		fmt.Println(err)
		return
	}
	for _, entry := range ledger.Open() {
		fmt.Println("resume", entry.ID) // Tasks.Resume, with a client for entry.Peer
	}
	fmt.Println(len(ledger.Open()), "open,", len(ledger.Orphaned()), "orphaned,", len(ledger.Diverged()), "diverged")
	// Output: 0 open, 0 orphaned, 0 diverged
}

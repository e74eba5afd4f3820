// Command orchestrator is a small orchestrator: each line of its standard input is an errand, an agent's URL, a space and what to say. What
// follows a | answers the agent's questions, or is said at once where a conversation cannot be relied on. It prints the path that was taken
// and how the task ended. Tasks are booked in the folder LEDGER, so that none is lost when it is killed.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentpeer/agentpeer/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Your kubeconfig, or the pod's ServiceAccount.
	config := must(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig())
	reporter := must(client.NewReporter(config, client.ReporterOptions{}))
	peers := must(client.NewPeerCapabilityCache(config, client.CacheOptions{Reporter: reporter}))
	ledger, err := client.NewLedger(ctx, must(client.NewFileStore(cmp.Or(os.Getenv("LEDGER"), "ledger"))))
	if ledger == nil { // with an error that names single broken entries there is one, and it is as good as ever
		log.Fatal(err)
	}
	tasks := &client.Tasks{Peers: peers, Ledger: ledger}
	go func() { _ = reporter.Start(ctx) }()
	go func() { _ = peers.Start(ctx) }()
	synced, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := peers.WaitForSync(synced); err != nil {
		log.Print("nothing is trusted for now: ", err)
	}

	// A run before this one was killed, and nobody waits for its tasks any more.
	for _, e := range ledger.Open() {
		log.Printf("ending task %q of %s, which was left behind: %v", e.TaskID, e.Peer, end(ctx, tasks, e))
	}
	context.AfterFunc(ctx, func() { _ = os.Stdin.Close() })
	for lines := bufio.NewScanner(os.Stdin); ctx.Err() == nil && lines.Scan(); {
		url, text, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		path := peers.Decide(client.At(url)).Path
		state, err := errand(ctx, tasks, url, strings.Split(text, "|"))
		if err != nil {
			fmt.Println("failed:", err)
			continue
		}
		fmt.Println(path, state)
	}
	_ = tasks.Drain(context.WithoutCancel(ctx)) // some seconds at most
}

// errand gives one piece of work to the agent at a URL and says how it ended.
func errand(ctx context.Context, tasks *client.Tasks, url string, inputs []string) (any, error) {
	agent, err := dial(ctx, url)
	if err != nil {
		return nil, err
	}
	answers := inputs[1:]
	task, err := tasks.OpenStreamingTask(ctx, agent, client.At(url), &a2a.SendMessageRequest{Message: say(inputs[0])}, client.TaskOptions{
		AllInputs: say(strings.Join(inputs, " ")),
		OnInput: func(context.Context, a2a.TaskStatus) (*a2a.Message, error) {
			if len(answers) == 0 {
				return nil, nil // the task is given up
			}
			next := say(answers[0])
			answers = answers[1:]
			return next, nil
		},
	})
	if err != nil {
		return nil, err
	}
	result, err := tasks.AwaitTerminalState(ctx, task)
	return result.State, err // what was made is in result.Task.Artifacts
}

func end(ctx context.Context, tasks *client.Tasks, e client.Entry) error {
	agent, err := dial(ctx, e.Peer)
	if err != nil {
		return err
	}
	task, err := tasks.Resume(ctx, agent, client.At(e.Peer), e.ID, client.TaskOptions{})
	if err == nil {
		_, err = tasks.Cancel(ctx, task)
	}
	return err
}

// dial makes an A2A client. Its http.Client has no timeout, which would end long streams: Tasks sets deadlines.
func dial(ctx context.Context, url string) (*a2aclient.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	web := &http.Client{}
	card, err := (&agentcard.Resolver{Client: web, CardParser: a2av0.NewAgentCardParser()}).Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	return a2aclient.NewFromCard(ctx, card, a2aclient.WithJSONRPCTransport(web), a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: web}))
}

func say(text string) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text)) }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

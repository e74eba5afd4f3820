// Command a2a-go-2.3.1 is an honest A2A 1.0 server on github.com/a2aproject/a2a-go/v2 v2.3.1, for tests and the demo.
// It prints its URL as one line and ends on SIGTERM, SIGINT or when standard input closes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"google.golang.org/grpc"
)

func main() {
	port := flag.Int("port", 0, "port on loopback; 0: any")
	binding := flag.String("binding", "jsonrpc", "the binding that the card lists: jsonrpc, rest or grpc")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := serve(ctx, *port, *binding); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, port int, binding string) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("listening on port %d: %w", port, err)
	}
	url := "http://" + l.Addr().String()
	mux, handler := http.NewServeMux(), a2asrv.NewHandler(executor{},
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(&push.HTTPSenderConfig{})))
	in := a2a.NewAgentInterface(url+"/a2a", a2a.TransportProtocolJSONRPC)
	switch binding {
	case "jsonrpc":
		mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(handler))
	case "rest":
		in = a2a.NewAgentInterface(url+"/rest", a2a.TransportProtocolHTTPJSON)
		mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	case "grpc":
		g, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listening for gRPC: %w", err)
		}
		in = a2a.NewAgentInterface(g.Addr().String(), a2a.TransportProtocolGRPC)
		server := grpc.NewServer()
		a2agrpc.NewHandler(handler).RegisterWith(server)
		defer server.Stop()
		go func() { _ = server.Serve(g) }()
	default:
		return fmt.Errorf("choosing a binding: %q is none", binding)
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card(in)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Println(url)
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

func card(in *a2a.AgentInterface) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "a2a-go 2.3.1", Description: "An honest peer on a released SDK.", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{in},
		Capabilities:        a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:   []string{"text/plain"},
		DefaultOutputModes:  []string{"text/plain"},
		Skills:              []a2a.AgentSkill{{ID: "ping", Name: "Ping", Description: "Answers pong.", Tags: []string{"test"}}},
	}
}

// executor follows the script of test/agent: "count" works long, "book" asks back unless it says where
// to, anything else is answered with "pong".
type executor struct{}

// teller publishes events; each method says whether to go on.
type teller struct {
	task  a2a.TaskInfoProvider
	yield func(a2a.Event, error) bool
}

func (t teller) status(s a2a.TaskState, words string) bool {
	var m *a2a.Message
	if words != "" {
		m = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.task, a2a.NewTextPart(words))
	}
	return t.yield(a2a.NewStatusUpdateEvent(t.task, s, m), nil)
}

// Execute implements a2asrv.AgentExecutor.
func (executor) Execute(ctx context.Context, in *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t := teller{in, yield}
		if in.StoredTask == nil && !yield(a2a.NewSubmittedTask(in, in.Message), nil) {
			return
		}
		if !t.status(a2a.TaskStateWorking, "") {
			return
		}
		text := words(in.Message)
		switch {
		case in.StoredTask != nil, strings.HasPrefix(text, "book") && strings.Contains(text, " to "):
			t.answer("booked")
		case strings.HasPrefix(text, "count"):
			t.count(ctx)
		case strings.HasPrefix(text, "book"):
			t.status(a2a.TaskStateInputRequired, "Where to?")
		default:
			t.answer("pong")
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (executor) Cancel(_ context.Context, in *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		teller{in, yield}.status(a2a.TaskStateCanceled, "")
	}
}

func (t teller) answer(text string) {
	time.Sleep(5 * time.Millisecond)
	if t.yield(a2a.NewArtifactEvent(t.task, a2a.NewTextPart(text)), nil) {
		t.status(a2a.TaskStateCompleted, "")
	}
}

func (t teller) count(ctx context.Context) {
	first := a2a.NewArtifactEvent(t.task, a2a.NewTextPart("1\n"))
	if !t.yield(first, nil) {
		return
	}
	for i := 2; i <= 1000; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
		if !t.yield(a2a.NewArtifactUpdateEvent(t.task, first.Artifact.ID, a2a.NewTextPart(strconv.Itoa(i)+"\n")), nil) {
			return
		}
	}
	t.status(a2a.TaskStateCompleted, "")
}

func words(m *a2a.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text())
	}
	return strings.ToLower(strings.TrimSpace(b.String()))
}

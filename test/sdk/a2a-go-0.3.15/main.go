// Command a2a-go-0.3.15 is an honest A2A 0.3 server on github.com/a2aproject/a2a-go v0.3.15, for tests and the demo.
// It prints its URL as one line and ends on SIGTERM, SIGINT or when standard input closes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2agrpc"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
	"google.golang.org/grpc"
)

func main() {
	port := flag.Int("port", 0, "port on loopback; 0: any")
	binding := flag.String("binding", "jsonrpc", "the binding that the card lists: jsonrpc or grpc")
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
	in := a2a.AgentInterface{URL: url + "/a2a", Transport: a2a.TransportProtocolJSONRPC}
	switch binding {
	case "jsonrpc":
		mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(handler))
	case "grpc":
		g, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listening for gRPC: %w", err)
		}
		in = a2a.AgentInterface{URL: g.Addr().String(), Transport: a2a.TransportProtocolGRPC}
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

func card(in a2a.AgentInterface) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "a2a-go 0.3.15", Description: "An honest peer on a released SDK.", Version: "1.0.0",
		ProtocolVersion:    "0.3.0",
		URL:                in.URL,
		PreferredTransport: in.Transport,
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "ping", Name: "Ping", Description: "Answers pong.", Tags: []string{"test"}}},
	}
}

// executor follows the script of test/agent: "count" works long, "book" asks back unless it says where
// to, anything else is answered with "pong".
type executor struct{}

// teller publishes events.
type teller struct {
	ctx   context.Context
	task  a2a.TaskInfoProvider
	queue eventqueue.Queue
}

func (t teller) say(e a2a.Event) error { return t.queue.Write(t.ctx, e) }

func (t teller) status(s a2a.TaskState, words string) error {
	var m *a2a.Message
	if words != "" {
		m = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.task, a2a.TextPart{Text: words})
	}
	e := a2a.NewStatusUpdateEvent(t.task, s, m)
	e.Final = s != a2a.TaskStateWorking
	return t.say(e)
}

// Execute implements a2asrv.AgentExecutor.
func (executor) Execute(ctx context.Context, in *a2asrv.RequestContext, queue eventqueue.Queue) error {
	t := teller{ctx, in, queue}
	if in.StoredTask == nil {
		if err := t.say(a2a.NewSubmittedTask(in, in.Message)); err != nil {
			return err
		}
	}
	if err := t.status(a2a.TaskStateWorking, ""); err != nil {
		return err
	}
	text := words(in.Message)
	switch {
	case in.StoredTask != nil, strings.HasPrefix(text, "book") && strings.Contains(text, " to "):
		return t.answer("booked")
	case strings.HasPrefix(text, "count"):
		return t.count()
	case strings.HasPrefix(text, "book"):
		return t.status(a2a.TaskStateInputRequired, "Where to?")
	default:
		return t.answer("pong")
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (executor) Cancel(ctx context.Context, in *a2asrv.RequestContext, queue eventqueue.Queue) error {
	return teller{ctx, in, queue}.status(a2a.TaskStateCanceled, "")
}

func (t teller) answer(text string) error {
	time.Sleep(5 * time.Millisecond)
	if err := t.say(a2a.NewArtifactEvent(t.task, a2a.TextPart{Text: text})); err != nil {
		return err
	}
	return t.status(a2a.TaskStateCompleted, "")
}

func (t teller) count() error {
	first := a2a.NewArtifactEvent(t.task, a2a.TextPart{Text: "1\n"})
	if err := t.say(first); err != nil {
		return err
	}
	for i := 2; i <= 1000; i++ {
		select {
		case <-t.ctx.Done():
			return t.ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err := t.say(a2a.NewArtifactUpdateEvent(t.task, first.Artifact.ID, a2a.TextPart{Text: strconv.Itoa(i) + "\n"})); err != nil {
			return err
		}
	}
	return t.status(a2a.TaskStateCompleted, "")
}

func words(m *a2a.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case a2a.TextPart:
			b.WriteString(p.Text)
		case *a2a.TextPart:
			b.WriteString(p.Text)
		}
	}
	return strings.ToLower(strings.TrimSpace(b.String()))
}

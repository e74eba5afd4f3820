package wire

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpcmd "google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// peer10 and peer03 are servers as generated code makes them; what a test does not fill in is unimplemented.
type peer10 struct {
	proto10.UnimplementedA2AServiceServer
	send   func(context.Context, *proto10.SendMessageRequest) (*proto10.SendMessageResponse, error)
	get    func(context.Context, *proto10.GetTaskRequest) (*proto10.Task, error)
	cancel func(context.Context, *proto10.CancelTaskRequest) (*proto10.Task, error)
	stream func(*proto10.SendMessageRequest, proto10.A2AService_SendStreamingMessageServer) error
	push   func(*proto10.TaskPushNotificationConfig) *proto10.TaskPushNotificationConfig
}

func (p *peer10) SendMessage(ctx context.Context, q *proto10.SendMessageRequest) (*proto10.SendMessageResponse, error) {
	if p.send == nil {
		return p.UnimplementedA2AServiceServer.SendMessage(ctx, q)
	}
	return p.send(ctx, q)
}

func (p *peer10) GetTask(ctx context.Context, q *proto10.GetTaskRequest) (*proto10.Task, error) {
	if p.get == nil {
		return p.UnimplementedA2AServiceServer.GetTask(ctx, q)
	}
	return p.get(ctx, q)
}

func (p *peer10) CancelTask(ctx context.Context, q *proto10.CancelTaskRequest) (*proto10.Task, error) {
	if p.cancel == nil {
		return p.UnimplementedA2AServiceServer.CancelTask(ctx, q)
	}
	return p.cancel(ctx, q)
}

func (p *peer10) SendStreamingMessage(q *proto10.SendMessageRequest, s proto10.A2AService_SendStreamingMessageServer) error {
	if p.stream == nil {
		return p.UnimplementedA2AServiceServer.SendStreamingMessage(q, s)
	}
	return p.stream(q, s)
}

func (p *peer10) CreateTaskPushNotificationConfig(
	ctx context.Context, q *proto10.TaskPushNotificationConfig,
) (*proto10.TaskPushNotificationConfig, error) {
	if p.push == nil {
		return p.UnimplementedA2AServiceServer.CreateTaskPushNotificationConfig(ctx, q)
	}
	return p.push(q), nil
}

type peer03 struct {
	proto03.UnimplementedA2AServiceServer
	asked  []proto.Message
	stream []*proto03.StreamResponse
}

func (p *peer03) SendMessage(_ context.Context, q *proto03.SendMessageRequest) (*proto03.SendMessageResponse, error) {
	p.asked = append(p.asked, q)
	return &proto03.SendMessageResponse{Payload: &proto03.SendMessageResponse_Task{Task: task03(proto03.TaskState_TASK_STATE_WORKING)}}, nil
}

func (p *peer03) GetTask(_ context.Context, q *proto03.GetTaskRequest) (*proto03.Task, error) {
	p.asked = append(p.asked, q)
	return task03(proto03.TaskState_TASK_STATE_CANCELLED), nil
}

func (p *peer03) CancelTask(_ context.Context, q *proto03.CancelTaskRequest) (*proto03.Task, error) {
	p.asked = append(p.asked, q)
	return task03(proto03.TaskState_TASK_STATE_CANCELLED), nil
}

func (p *peer03) SendStreamingMessage(q *proto03.SendMessageRequest, s proto03.A2AService_SendStreamingMessageServer) error {
	p.asked = append(p.asked, q)
	for _, e := range p.stream {
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer03) CreateTaskPushNotificationConfig(
	_ context.Context, q *proto03.CreateTaskPushNotificationConfigRequest,
) (*proto03.TaskPushNotificationConfig, error) {
	p.asked = append(p.asked, q)
	return &proto03.TaskPushNotificationConfig{Name: q.GetParent() + "/pushNotificationConfigs/made"}, nil
}

func task03(s proto03.TaskState) *proto03.Task {
	return &proto03.Task{Id: "t1", ContextId: "c1", Status: &proto03.TaskStatus{State: s}}
}

func task10(s proto10.TaskState) *proto10.Task {
	return &proto10.Task{Id: "t1", ContextId: "c1", Status: &proto10.TaskStatus{State: s}}
}

// serveGRPC starts a server of the released implementation; tlsConfig nil means plaintext. It returns host and port.
func serveGRPC(t testing.TB, tlsConfig *tls.Config, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var options []grpc.ServerOption
	if tlsConfig != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(tlsConfig)))
	}
	s := grpc.NewServer(options...)
	register(s)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { s.Stop(); wg.Wait() })
	return l.Addr().String()
}

func serve10(t testing.TB, p *peer10) *url.URL {
	t.Helper()
	return mustURL(t, "http://"+serveGRPC(t, nil, func(s *grpc.Server) { proto10.RegisterA2AServiceServer(s, p) }))
}

func serve03(t testing.TB, p *peer03) *url.URL {
	t.Helper()
	return mustURL(t, "http://"+serveGRPC(t, nil, func(s *grpc.Server) { proto03.RegisterA2AServiceServer(s, p) }))
}

// certificate is one for loopback, and the PEM of who signed it.
func certificate(t testing.TB) (*tls.Config, []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	defer s.Close()
	c := &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}
	return c, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// grpcOf is a gRPC client of a test server.
func grpcOf(t testing.TB, u *url.URL, g Generation, o Options) Peer {
	t.Helper()
	p, err := Open(newTestClient(t, o), BindingGRPC, Endpoint{URL: u, Generation: g})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func metadataOf(ctx context.Context, name string) []string {
	md, _ := grpcmd.FromIncomingContext(ctx)
	return md.Get(name)
}

// pemOf is the certificate of a test server.
func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

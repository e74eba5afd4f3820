package wire

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestGRPC10CarriesWhatTheOtherBindingsCarry(t *testing.T) {
	var got *proto10.SendMessageRequest
	var version, agent []string
	at := time.Date(2026, 5, 1, 12, 0, 0, 5e6, time.UTC)
	u := serve10(t, &peer10{
		send: func(ctx context.Context, q *proto10.SendMessageRequest) (*proto10.SendMessageResponse, error) {
			got, version, agent = q, metadataOf(ctx, "a2a-version"), metadataOf(ctx, "user-agent")
			task := task10(proto10.TaskState_TASK_STATE_INPUT_REQUIRED)
			task.Status.Timestamp = timestamppb.New(at)
			task.Artifacts = []*proto10.Artifact{{Parts: []*proto10.Part{{}, {}}}}
			task.History = []*proto10.Message{{}}
			return &proto10.SendMessageResponse{Payload: &proto10.SendMessageResponse_Task{Task: task}}, nil
		},
		get: func(_ context.Context, q *proto10.GetTaskRequest) (*proto10.Task, error) {
			task := task10(proto10.TaskState_TASK_STATE_COMPLETED)
			task.Id = q.GetId()
			return task, nil
		},
		push: func(q *proto10.TaskPushNotificationConfig) *proto10.TaskPushNotificationConfig {
			q.Id = "made"
			return q
		},
	})
	c := newTestClient(t, Options{UserAgent: "agentpeer-test"})
	p, err := Open(c, BindingGRPC, Endpoint{URL: u, Generation: V10, Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 10*time.Second)
	m := Message{MessageID: "m1", TaskID: "t1", ContextID: "c1", Metadata: map[string]any{"k": "v"},
		Parts: []Part{{Text: "hi"}, {Data: []byte(`{"a":1}`)}, {Raw: []byte("raw"), MediaType: "image/png"}}}
	no := false
	a, err := p.Send(ctx, m, SendConfig{ReturnImmediately: &no, AcceptedOutput: []string{"text/plain"},
		Push: &PushConfig{URL: "https://x.test/", Token: "tok", Scheme: "Bearer", Credentials: "sec"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &proto10.SendMessageRequest{}
	if err := protojson.Unmarshal([]byte(`{"tenant":"acme","message":{"messageId":"m1","taskId":"t1","contextId":"c1","role":"ROLE_USER",
		"metadata":{"k":"v"},"parts":[{"text":"hi"},{"data":{"a":1}},{"raw":"cmF3","mediaType":"image/png"}]},
		"configuration":{"acceptedOutputModes":["text/plain"],"taskPushNotificationConfig":{"url":"https://x.test/","token":"tok",
		"authentication":{"scheme":"Bearer","credentials":"sec"}}}}`), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("the request differs:\n%s", diff)
	}
	if len(version) != 1 || version[0] != "1.0" || len(agent) != 1 || agent[0] != "agentpeer-test" {
		t.Errorf("a2a-version %q, user-agent %q", version, agent)
	}
	if a.Kind != KindTask || a.TaskID != "t1" || a.ContextID != "c1" || a.RawState != "TASK_STATE_INPUT_REQUIRED" || a.Parts != 2 ||
		a.History != 1 || !a.Timestamp.Equal(at) || a.Shape != V10 || len(a.Problems) != 0 || a.Status != 200 || a.Sent.IsZero() || a.At <= 0 {
		t.Errorf("answer %+v", a)
	}
	a, err = p.GetTask(ctx, "t7", nil)
	if err != nil || a.Kind != KindTask || a.TaskID != "t7" || a.RawState != "TASK_STATE_COMPLETED" || len(a.Problems) != 0 || a.History != -1 {
		t.Errorf("GetTask: %+v %v", a, err)
	}
	a, err = p.SetPushConfig(ctx, "t1", PushConfig{URL: "https://x.test/"})
	if err != nil || a.Kind != KindConfig || a.ConfigID != "made" {
		t.Errorf("SetPushConfig: %+v %v", a, err)
	}
	if a, err = p.Fresh().CancelTask(ctx, "t1"); err != nil || a.Kind != KindError || a.Err.Code != -32004 {
		t.Errorf("CancelTask: %+v %v", a, err)
	}
}

func TestGRPC03NamesTasksByPaths(t *testing.T) {
	peer := &peer03{stream: []*proto03.StreamResponse{
		{Payload: &proto03.StreamResponse_Task{Task: task03(proto03.TaskState_TASK_STATE_SUBMITTED)}},
		{Payload: &proto03.StreamResponse_StatusUpdate{StatusUpdate: &proto03.TaskStatusUpdateEvent{TaskId: "t1", ContextId: "c1",
			Status: &proto03.TaskStatus{State: proto03.TaskState_TASK_STATE_WORKING}}}},
		{Payload: &proto03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &proto03.TaskArtifactUpdateEvent{TaskId: "t1",
			Artifact: &proto03.Artifact{Parts: []*proto03.Part{{}}}}}},
		{Payload: &proto03.StreamResponse_StatusUpdate{StatusUpdate: &proto03.TaskStatusUpdateEvent{TaskId: "t1", ContextId: "c1", Final: true,
			Status: &proto03.TaskStatus{State: proto03.TaskState_TASK_STATE_CANCELLED}}}},
	}}
	p := grpcOf(t, serve03(t, peer), V03, Options{})
	ctx := within(t, 10*time.Second)
	n := 3
	if a, err := p.Send(ctx, Message{MessageID: "m1", TaskID: "t1", Parts: []Part{{Text: "hi"}, {Data: []byte(`{"a":1}`)}, {Raw: []byte("raw")}}},
		SendConfig{HistoryLength: &n, Push: &PushConfig{URL: "https://x.test/", Scheme: "Bearer"}}); err != nil ||
		a.Kind != KindTask || a.Shape != V03 || len(a.Problems) != 0 || a.RawState != "TASK_STATE_WORKING" {
		t.Errorf("Send: %+v %v", a, err)
	}
	if a, err := p.GetTask(ctx, "t1", &n); err != nil || a.Kind != KindTask || a.Shape != V03 || len(a.Problems) != 0 {
		t.Errorf("GetTask: %+v %v", a, err)
	}
	if a, err := p.CancelTask(ctx, "t1"); err != nil || a.RawState != "TASK_STATE_CANCELLED" || len(a.Problems) != 0 {
		t.Errorf("CancelTask: %+v %v", a, err)
	}
	if a, err := p.SetPushConfig(ctx, "t1", PushConfig{ID: "p1", URL: "https://x.test/"}); err != nil || a.Kind != KindConfig || a.ConfigID != "made" {
		t.Errorf("SetPushConfig: %+v %v", a, err)
	}
	s, err := p.SendStream(ctx, Message{MessageID: "m1", Parts: []Part{{Text: "hi"}}}, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range all(t, s) {
		word := string(e.Kind) + " " + e.RawState + " " + e.TaskID
		if e.Final != nil && *e.Final {
			word += " final"
		} else if e.Kind == KindStatus && e.Final == nil {
			word += " final?"
		}
		if len(e.Problems) > 0 || e.Shape != V03 {
			t.Errorf("%s: %v, shape %s", word, e.Problems, e.Shape)
		}
		words = append(words, word)
	}
	want := "task TASK_STATE_SUBMITTED t1, status TASK_STATE_WORKING t1, artifact  t1, status TASK_STATE_CANCELLED t1 final"
	if got := strings.Join(words, ", "); got != want || s.End() != EndOrderly {
		t.Errorf("stream: %s, end %s", got, s.End())
	}
	for i, text := range []string{
		`{"message":{"messageId":"m1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"hi"},{"data":{"data":{"a":1}}},
			{"file":{"fileWithBytes":"cmF3"}}]},"configuration":{"acceptedOutputModes":["text/plain","application/json"],"blocking":true,
			"historyLength":3,"pushNotification":{"url":"https://x.test/","authentication":{"schemes":["Bearer"]}}}}`,
		`{"name":"tasks/t1","historyLength":3}`,
		`{"name":"tasks/t1"}`,
		`{"parent":"tasks/t1","configId":"p1","config":{"name":"tasks/t1/pushNotificationConfigs/p1",
			"pushNotificationConfig":{"id":"p1","url":"https://x.test/"}}}`,
	} {
		want := proto.Clone(peer.asked[i])
		proto.Reset(want)
		if err := protojson.Unmarshal([]byte(text), want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, peer.asked[i], protocmp.Transform()); diff != "" {
			t.Errorf("request %d differs:\n%s", i, diff)
		}
	}
}

// failing is a peer whose calls end with this status.
func failing(err error) *peer10 {
	return &peer10{
		send: func(context.Context, *proto10.SendMessageRequest) (*proto10.SendMessageResponse, error) {
			return nil, err
		},
		get:    func(context.Context, *proto10.GetTaskRequest) (*proto10.Task, error) { return nil, err },
		cancel: func(context.Context, *proto10.CancelTaskRequest) (*proto10.Task, error) { return nil, err },
		stream: func(_ *proto10.SendMessageRequest, s proto10.A2AService_SendStreamingMessageServer) error { return err },
	}
}

func detailed(t *testing.T, c codes.Code, reason, domain string) error {
	t.Helper()
	s, err := status.New(c, "text").WithDetails(&structpb.Struct{}, &errdetails.ErrorInfo{Reason: reason, Domain: domain})
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

func TestGRPCErrorsHaveTheCodeOfTheSameMeaning(t *testing.T) {
	for name, tc := range map[string]struct {
		err              error
		get, cancel, say int
		reason           string
	}{
		"the reason decides":                     {detailed(t, codes.FailedPrecondition, "UNSUPPORTED_OPERATION", a2aDomain), -32004, -32004, -32004, "UNSUPPORTED_OPERATION"},
		"the reason decides, 1.0.0's status":     {detailed(t, codes.Unimplemented, "UNSUPPORTED_OPERATION", ""), -32004, -32004, -32004, "UNSUPPORTED_OPERATION"},
		"the version is not supported":           {detailed(t, codes.FailedPrecondition, "VERSION_NOT_SUPPORTED", a2aDomain), -32009, -32009, -32009, "VERSION_NOT_SUPPORTED"},
		"a reason of somebody else's is none":    {detailed(t, codes.NotFound, "UNSUPPORTED_OPERATION", "googleapis.com"), -32001, -32001, -32001, ""},
		"a reason that is none of A2A's is kept": {detailed(t, codes.Internal, "OUT_OF_COFFEE", ""), -32603, -32603, -32603, "OUT_OF_COFFEE"},
		"not found":                              {status.Error(codes.NotFound, ""), -32001, -32001, -32001, ""},
		"unimplemented":                          {status.Error(codes.Unimplemented, ""), -32601, -32004, -32601, ""},
		"invalid argument":                       {status.Error(codes.InvalidArgument, ""), -32602, -32602, -32602, ""},
		"failed precondition accuses nobody":     {status.Error(codes.FailedPrecondition, ""), -32000, -32002, -32000, ""},
		"internal":                               {status.Error(codes.Internal, ""), -32603, -32603, -32603, ""},
		"unknown":                                {status.Error(codes.Unknown, ""), -32603, -32603, -32603, ""},
		"a code that nobody knows":               {status.Error(codes.Code(99), ""), -32603, -32603, -32603, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serve10(t, failing(tc.err)), V10, Options{})
			ctx := within(t, 10*time.Second)
			check := func(what string, e Event, err error, want int) {
				t.Helper()
				if err != nil || e.Kind != KindError || e.Err.Code != want || e.Err.Reason != tc.reason {
					t.Errorf("%s: %+v %v, want code %d reason %q", what, e.Err, err, want, tc.reason)
				}
			}
			event := func(a *Answer, err error) (Event, error) {
				if err != nil {
					return Event{}, err
				}
				return a.Event, nil
			}
			e, err := event(p.GetTask(ctx, "t1", nil))
			check("GetTask", e, err, tc.get)
			e, err = event(p.CancelTask(ctx, "t1"))
			check("CancelTask", e, err, tc.cancel)
			e, err = event(p.Ping(ctx))
			check("Ping", e, err, tc.say)
			s, err := p.SendStream(ctx, ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			events := all(t, s)
			if len(events) != 1 || s.End() != EndOrderly || s.Unary != nil {
				t.Fatalf("stream: %+v, end %s", events, s.End())
			}
			check("stream", events[0], nil, tc.say)
		})
	}
}

func TestGRPCStatusesOfAccessAndLoadAreNoAnswers(t *testing.T) {
	busy, err := status.New(codes.ResourceExhausted, "").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		err    error
		class  Class
		status int
		retry  time.Duration
	}{
		"unauthenticated":    {status.Error(codes.Unauthenticated, ""), ClassStatus, 401, 0},
		"permission denied":  {status.Error(codes.PermissionDenied, ""), ClassStatus, 403, 0},
		"resource exhausted": {busy.Err(), ClassStatus, 429, 7 * time.Second},
		"unavailable":        {status.Error(codes.Unavailable, ""), ClassStatus, 503, 0},
		"deadline exceeded":  {status.Error(codes.DeadlineExceeded, ""), ClassStatus, 504, 0},
		"canceled":           {status.Error(codes.Canceled, ""), ClassReset, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serve10(t, failing(tc.err)), V10, Options{})
			ctx := within(t, 10*time.Second)
			_, err := p.GetTask(ctx, "t1", nil)
			if e := wantClass(t, err, tc.class); e.Status != tc.status || e.RetryAfter != tc.retry {
				t.Errorf("GetTask: %+v", e)
			}
			_, err = p.SendStream(ctx, ping, SendConfig{})
			if e := wantClass(t, err, tc.class); e.Status != tc.status || e.RetryAfter != tc.retry {
				t.Errorf("stream: %+v", e)
			}
		})
	}
}

func update10(s proto10.TaskState) *proto10.StreamResponse {
	return &proto10.StreamResponse{Payload: &proto10.StreamResponse_StatusUpdate{StatusUpdate: &proto10.TaskStatusUpdateEvent{
		TaskId: "t1", ContextId: "c1", Status: &proto10.TaskStatus{State: s}}}}
}

func TestGRPCStreamsSayHowTheyEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		after error
		end   End
		last  string
	}{
		"in order":                               {nil, EndOrderly, "status TASK_STATE_WORKING"},
		"with an error of the protocol":          {status.Error(codes.Internal, ""), EndOrderly, "error -32603"},
		"credentials that ended":                 {status.Error(codes.Unauthenticated, ""), EndOrderly, "error -31401"},
		"as proxies say that a connection broke": {status.Error(codes.Unavailable, ""), EndReset, "status TASK_STATE_WORKING"},
		"as proxies say that time is up":         {status.Error(codes.DeadlineExceeded, ""), EndReset, "status TASK_STATE_WORKING"},
	} {
		t.Run(name, func(t *testing.T) {
			p := grpcOf(t, serve10(t, &peer10{stream: func(_ *proto10.SendMessageRequest, s proto10.A2AService_SendStreamingMessageServer) error {
				if err := s.Send(update10(proto10.TaskState_TASK_STATE_WORKING)); err != nil {
					return err
				}
				return tc.after
			}}), V10, Options{})
			s, err := p.SendStream(within(t, 10*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if s.HeaderAt <= 0 || s.MediaType != "application/grpc" {
				t.Errorf("headers at %s, %q", s.HeaderAt, s.MediaType)
			}
			last := ""
			for _, e := range all(t, s) {
				if last = string(e.Kind) + " " + e.RawState; e.Err != nil {
					last = "error " + strconv.Itoa(e.Err.Code)
				}
			}
			if last != tc.last || s.End() != tc.end || s.EndAt() <= 0 || s.Activity() <= 0 {
				t.Errorf("last %s, end %s at %s, activity %s", last, s.End(), s.EndAt(), s.Activity())
			}
		})
	}
}

func TestGRPCStreamEndsWithItsContext(t *testing.T) {
	gone := make(chan struct{})
	p := grpcOf(t, serve10(t, &peer10{stream: func(_ *proto10.SendMessageRequest, s proto10.A2AService_SendStreamingMessageServer) error {
		defer close(gone)
		_ = s.Send(update10(proto10.TaskState_TASK_STATE_WORKING))
		<-s.Context().Done()
		return nil
	}}), V10, Options{})
	s, err := p.SendStream(within(t, 10*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	<-s.Events()
	s.Close()
	if s.End() != EndOurs {
		t.Errorf("end %s", s.End())
	}
	<-gone // the peer is told
}

func TestGRPCOverTLS(t *testing.T) {
	config, ca := certificate(t)
	host := serveGRPC(t, config, func(s *grpc.Server) { proto10.RegisterA2AServiceServer(s, failing(status.Error(codes.NotFound, ""))) })
	u := mustURL(t, "https://"+host+"/grpc?tenant=x") // the path of an address is not dialled
	ctx := within(t, 20*time.Second)
	if a, err := grpcOf(t, u, V10, Options{RootCAs: ca}).GetTask(ctx, "t1", nil); err != nil || a.Err == nil || a.Err.Code != -32001 {
		t.Errorf("with its CA: %+v %v", a, err)
	}
	_, err := grpcOf(t, u, V10, Options{}).GetTask(ctx, "t1", nil)
	wantClass(t, err, ClassTLS)
	_, err = grpcOf(t, mustURL(t, "http://"+host), V10, Options{}).GetTask(ctx, "t1", nil)
	if err == nil {
		t.Error("TLS was not needed")
	}
}

func TestGRPCCredentialsGoToTheirOriginsOnly(t *testing.T) {
	var got []string
	u := serve10(t, &peer10{get: func(ctx context.Context, _ *proto10.GetTaskRequest) (*proto10.Task, error) {
		got = metadataOf(ctx, "authorization")
		return task10(proto10.TaskState_TASK_STATE_WORKING), nil
	}})
	for origin, want := range map[string]int{u.String(): 1, "http://127.0.0.1:1": 0, "https://" + u.Host: 0} {
		p := grpcOf(t, u, V10, Options{Credentials: Credentials{Header: "Authorization", Value: "Bearer s3cret", Origins: []string{origin}}})
		if _, err := p.GetTask(within(t, 10*time.Second), "t1", nil); err != nil {
			t.Fatal(err)
		}
		if len(got) != want {
			t.Errorf("credentials for %s: %q", origin, got)
		}
	}
}

func TestGRPCExchangesAreTraced(t *testing.T) {
	told := make(chan Exchange, 4)
	u := serve10(t, &peer10{stream: func(q *proto10.SendMessageRequest, s proto10.A2AService_SendStreamingMessageServer) error {
		e := update10(proto10.TaskState_TASK_STATE_WORKING)
		e.GetStatusUpdate().TaskId = "s3cret"
		_ = s.Send(e)
		return detailed(t, codes.Internal, "S_CRET", "s3cret")
	}})
	p := grpcOf(t, u, V10, Options{Trace: func(x Exchange) { told <- x },
		Credentials: Credentials{Header: "Authorization", Value: "Bearer s3cret", Origins: []string{u.String()}}})
	s, err := p.SendStream(within(t, 10*time.Second), ping, SendConfig{})
	if err != nil {
		t.Fatal(err)
	}
	all(t, s)
	s.End()
	x := <-told
	if x.URL != u.String()+"/lf.a2a.v1.A2AService/SendStreamingMessage" || !strings.Contains(string(x.Body), `"ping"`) || x.End != EndOrderly ||
		len(x.Frames) != 1 || x.Frames[0].At <= 0 || !strings.Contains(string(x.Frames[0].Data), `"TASK_STATE_WORKING"`) ||
		x.Response.Get("Grpc-Status") != "13" {
		t.Errorf("%s %s %s %s %v %v", x.URL, x.Body, x.End, x.Frames, x.Response, x.Request)
	}
	if text := strings.Join([]string{string(x.Frames[0].Data), x.Response.Get("Grpc-Message"), x.Response.Get("Grpc-Status-Details-Bin"), x.Request.Get("Authorization")}, ""); strings.Contains(text, "s3cret") || !strings.Contains(text, "S_CRET") {
		t.Errorf("the credential is in the trace: %s", text)
	}
}

func TestGRPCHasNo01(t *testing.T) {
	p := grpcOf(t, mustURL(t, "http://127.0.0.1:1"), V01, Options{})
	if _, err := p.Ping(t.Context()); err != ErrNoSuchMethod { //nolint:errorlint // as it is
		t.Errorf("err %v", err)
	}
	if _, err := p.SendStream(t.Context(), ping, SendConfig{}); err != ErrNoSuchMethod { //nolint:errorlint // as it is
		t.Errorf("err %v", err)
	}
}

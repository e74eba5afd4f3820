package agent

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The gRPC binding is served on the agent's own port, by HTTP/2 without TLS or with it: calls go by their content type. It is written by
// hand, on net/http, so that every lie about frames and trailers can be told.

// isGRPC tells a gRPC call from other requests.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// grpcMethod is one method of one generation's service.
type grpcMethod struct {
	generation Generation
	// name is what JSON-RPC calls it.
	name            string
	request, answer proto.Message
}

// grpcMethods by their paths.
var grpcMethods = map[string]grpcMethod{
	proto10.A2AService_SendMessage_FullMethodName: {V10, "SendMessage", &proto10.SendMessageRequest{}, &proto10.SendMessageResponse{}},
	proto10.A2AService_SendStreamingMessage_FullMethodName: {V10, "SendStreamingMessage", &proto10.SendMessageRequest{},
		&proto10.StreamResponse{}},
	proto10.A2AService_GetTask_FullMethodName:    {V10, "GetTask", &proto10.GetTaskRequest{}, &proto10.Task{}},
	proto10.A2AService_ListTasks_FullMethodName:  {V10, "ListTasks", &proto10.ListTasksRequest{}, &proto10.ListTasksResponse{}},
	proto10.A2AService_CancelTask_FullMethodName: {V10, "CancelTask", &proto10.CancelTaskRequest{}, &proto10.Task{}},
	proto10.A2AService_SubscribeToTask_FullMethodName: {V10, "SubscribeToTask", &proto10.SubscribeToTaskRequest{},
		&proto10.StreamResponse{}},
	proto10.A2AService_CreateTaskPushNotificationConfig_FullMethodName: {V10, "CreateTaskPushNotificationConfig",
		&proto10.TaskPushNotificationConfig{}, &proto10.TaskPushNotificationConfig{}},
	proto10.A2AService_GetTaskPushNotificationConfig_FullMethodName: {V10, "GetTaskPushNotificationConfig",
		&proto10.GetTaskPushNotificationConfigRequest{}, &proto10.TaskPushNotificationConfig{}},
	proto10.A2AService_ListTaskPushNotificationConfigs_FullMethodName: {V10, "ListTaskPushNotificationConfigs",
		&proto10.ListTaskPushNotificationConfigsRequest{}, &proto10.ListTaskPushNotificationConfigsResponse{}},
	proto10.A2AService_DeleteTaskPushNotificationConfig_FullMethodName: {V10, "DeleteTaskPushNotificationConfig",
		&proto10.DeleteTaskPushNotificationConfigRequest{}, &emptypb.Empty{}},
	proto10.A2AService_GetExtendedAgentCard_FullMethodName: {V10, "GetExtendedAgentCard", &proto10.GetExtendedAgentCardRequest{},
		&proto10.AgentCard{}},

	proto03.A2AService_SendMessage_FullMethodName: {V03, "message/send", &proto03.SendMessageRequest{}, &proto03.SendMessageResponse{}},
	proto03.A2AService_SendStreamingMessage_FullMethodName: {V03, "message/stream", &proto03.SendMessageRequest{},
		&proto03.StreamResponse{}},
	proto03.A2AService_GetTask_FullMethodName:    {V03, "tasks/get", &proto03.GetTaskRequest{}, &proto03.Task{}},
	proto03.A2AService_CancelTask_FullMethodName: {V03, "tasks/cancel", &proto03.CancelTaskRequest{}, &proto03.Task{}},
	proto03.A2AService_TaskSubscription_FullMethodName: {V03, "tasks/resubscribe", &proto03.TaskSubscriptionRequest{},
		&proto03.StreamResponse{}},
	proto03.A2AService_CreateTaskPushNotificationConfig_FullMethodName: {V03, "tasks/pushNotificationConfig/set",
		&proto03.CreateTaskPushNotificationConfigRequest{}, &proto03.TaskPushNotificationConfig{}},
	proto03.A2AService_GetTaskPushNotificationConfig_FullMethodName: {V03, "tasks/pushNotificationConfig/get",
		&proto03.GetTaskPushNotificationConfigRequest{}, &proto03.TaskPushNotificationConfig{}},
	proto03.A2AService_DeleteTaskPushNotificationConfig_FullMethodName: {V03, "tasks/pushNotificationConfig/delete",
		&proto03.DeleteTaskPushNotificationConfigRequest{}, &emptypb.Empty{}},
	proto03.A2AService_GetAgentCard_FullMethodName: {V03, "agent/getAuthenticatedExtendedCard", &proto03.GetAgentCardRequest{},
		&proto03.AgentCard{}},
}

func (a *Agent) serveGRPC(c *Config, w http.ResponseWriter, r *http.Request) {
	m, known := grpcMethods[r.URL.Path]
	if m.generation == V03 && c.Generation == V02 {
		m.generation = V02 // they share the service
	}
	params, err := m.read(r)
	name := m.name
	if !known {
		name = "other"
	}
	a.note(r, name, params)
	if a.spoil(c, w, r, "post") {
		return
	}
	b := &grpcBinding{w: w, method: m}
	x := &call{a: a, c: c, ctx: r.Context(), params: params, version: r.Header.Get("A2A-Version"),
		out: renderer{gen: c.Generation, rpc: c.RPC, proto: true}, by: b}
	switch {
	case !known || !c.speaks(m.generation):
		x.fail(-32601, "unknown service or method")
	case err != nil:
		x.fail(-32602, "no message of this method")
	default:
		x.op = m.generation.operation(m.name)
		x.speaks(m.generation)
		x.dispatch()
	}
}

// speaks says whether the agent answers a generation.
func (c *Config) speaks(g Generation) bool {
	for _, own := range append([]Generation{c.Generation}, c.Also...) {
		if own == g {
			return true
		}
	}
	return false
}

var errFraming = errors.New("no gRPC framing")

// read reads the one message of a request as the params that JSON-RPC would have, but for the messages of 0.x, which are the proto's.
func (m grpcMethod) read(r *http.Request) (json.RawMessage, error) {
	var b strings.Builder
	if _, err := copyBounded(&b, r.Body); err != nil || m.request == nil {
		return nil, err
	}
	body := []byte(b.String())
	if len(body) < 5 || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		return nil, errFraming
	}
	q := proto.Clone(m.request)
	if err := proto.Unmarshal(body[5:], q); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(q)
	if err != nil || m.generation == V10 {
		return text, err
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	return json.Marshal(m.params03(p))
}

// params03 puts what 0.3's proto names by paths into the members of JSON-RPC.
func (m grpcMethod) params03(p map[string]any) map[string]any {
	name, _ := p["name"].(string)
	parent, _ := p["parent"].(string)
	task, config := split03(name + parent)
	switch {
	case p["message"] != nil:
		settings, _ := p["configuration"].(map[string]any)
		if settings != nil && settings["blocking"] == nil {
			settings["blocking"] = false // a field that is not sent when it is false
		}
		message, _ := p["message"].(map[string]any)
		message["content"] = message["parts"]
		delete(message, "parts")
	case p["config"] != nil:
		inner, _ := p["config"].(map[string]any)
		return map[string]any{"taskId": task, "pushNotificationConfig": inner["pushNotificationConfig"]}
	case name != "":
		delete(p, "name")
		if p["id"] = task; config != "" {
			p["pushNotificationConfigId"] = config
		}
	}
	return p
}

// split03 takes "tasks/{id}/pushNotificationConfigs/{id}" apart.
func split03(name string) (task, config string) {
	task, config, _ = strings.Cut(strings.TrimPrefix(name, "tasks/"), "/pushNotificationConfigs/")
	return task, config
}

// grpcBinding writes the answer to one call.
type grpcBinding struct {
	w      http.ResponseWriter
	method grpcMethod
}

func (b *grpcBinding) header(name, value string) { b.w.Header().Set(name, value) }

func (b *grpcBinding) answer(result any, e *rpcError) {
	b.w.Header().Set("Content-Type", "application/grpc")
	if e != nil {
		b.fail("", e) // with nothing before it the status is a header
		return
	}
	frame, err := b.frame(result)
	if err != nil {
		b.fail("", &rpcError{Code: -32603, Message: "encoding the answer"})
		return
	}
	_, _ = b.w.Write(frame)
	b.w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

// frame turns what JSON would say into a message; what the proto has no field for is lost, as on every gRPC server.
func (b *grpcBinding) frame(result any) ([]byte, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	if b.method.generation != V10 {
		if text, err = renamed(text); err != nil {
			return nil, err
		}
	}
	m := proto.Clone(b.method.answer)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
		return nil, err
	}
	body, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return framed(body), nil
}

func framed(body []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))) //nolint:gosec // a test's own message
	return append(head, body...)
}

// renamed calls the content of messages parts again: two editions of 0.3's proto have two names for one field.
func renamed(text []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	rename(v)
	return json.Marshal(v)
}

func rename(v any) {
	switch v := v.(type) {
	case map[string]any:
		if parts, ok := v["content"]; ok && v["role"] != nil {
			v["parts"] = parts
			delete(v, "content")
		}
		for _, inner := range v {
			rename(inner)
		}
	case []any:
		for _, inner := range v {
			rename(inner)
		}
	}
}

// grpcCodes of JSON-RPC's codes in 1.0.1, and those that a2a-go 0.3 has; every other code is Unknown.
var grpcCodes = map[int][2]codes.Code{
	-32001: {codes.NotFound, codes.NotFound}, -32002: {codes.FailedPrecondition, codes.FailedPrecondition},
	-32003: {codes.FailedPrecondition, codes.Unimplemented}, -32004: {codes.FailedPrecondition, codes.Unimplemented},
	-32005: {codes.InvalidArgument, codes.InvalidArgument}, -32006: {codes.Internal, codes.Internal},
	-32007: {codes.FailedPrecondition, codes.NotFound}, -32008: {codes.FailedPrecondition, codes.FailedPrecondition},
	-32009: {codes.FailedPrecondition, codes.FailedPrecondition}, -32601: {codes.Unimplemented, codes.Unimplemented},
	-32602: {codes.InvalidArgument, codes.InvalidArgument}, -32700: {codes.InvalidArgument, codes.InvalidArgument},
	-32600: {codes.InvalidArgument, codes.InvalidArgument}, -32603: {codes.Internal, codes.Internal},
	-31401: {codes.Unauthenticated, codes.Unauthenticated}, -31403: {codes.PermissionDenied, codes.PermissionDenied},
}

// fail writes a status, into the trailers where prefix says so; 1.0 gives the reason with it.
func (b *grpcBinding) fail(prefix string, e *rpcError) {
	code := codes.Unknown
	both, ok := grpcCodes[e.Code]
	switch {
	case ok && b.method.generation == V10:
		code = both[0]
	case ok:
		code = both[1]
	}
	h := b.w.Header()
	h.Set(prefix+"Grpc-Status", strconv.Itoa(int(code)))
	h.Set(prefix+"Grpc-Message", e.Message)
	reason := errorReasons[e.Code]
	if reason == "" {
		reason = restReasons[e.Code] // JSON-RPC's own codes, which have to be put into words here too
	}
	if b.method.generation == V10 && reason != "" {
		info, _ := anypb.New(&errdetails.ErrorInfo{Reason: reason, Domain: "a2a-protocol.org"})
		all := &rpcstatus.Status{Code: int32(code), Message: e.Message, Details: []*anypb.Any{info}} //nolint:gosec // a small number
		if raw, err := proto.Marshal(all); err == nil {
			h.Set(prefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(raw))
		}
	}
}

func (b *grpcBinding) stream(c StreamConfig) sink { return &grpcStream{b: b, c: c} }

// grpcStream sends the events of one call. What is a matter of SSE alone, such as comments and line ends, it has no way to say.
type grpcStream struct {
	b      *grpcBinding
	c      StreamConfig
	opened bool
	lump   []byte
}

func (s *grpcStream) open() {
	if s.opened {
		return
	}
	s.opened = true
	s.b.w.Header().Set("Content-Type", "application/grpc")
	s.b.w.WriteHeader(http.StatusOK)
	s.b.w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	_ = http.NewResponseController(s.b.w).Flush()
}

func (s *grpcStream) event(result any, e *rpcError, _ bool) error {
	s.open()
	if e != nil {
		s.b.fail(http.TrailerPrefix, e)
		return nil
	}
	frame, err := s.b.frame(result)
	if err != nil {
		return err
	}
	return s.send(frame)
}

func (s *grpcStream) send(frame []byte) error {
	if s.c.Buffered {
		s.lump = append(s.lump, frame...)
		return nil
	}
	if _, err := s.b.w.Write(frame); err != nil {
		return err
	}
	return http.NewResponseController(s.b.w).Flush()
}

func (s *grpcStream) garble() error {
	s.open()
	return s.send(framed([]byte{0x0a, 0xff, 0xff, 0xff}))
}

func (s *grpcStream) comment() error { return nil }

func (s *grpcStream) deliver() {
	if len(s.lump) > 0 {
		_, _ = s.b.w.Write(s.lump)
		s.lump = nil
		_ = http.NewResponseController(s.b.w).Flush()
	}
}

// cut ends the call without its status, or resets it.
func (s *grpcStream) cut() {
	s.open()
	switch s.c.Cut {
	case "reset":
		panic(http.ErrAbortHandler)
	case "close":
		s.b.w.Header().Del(http.TrailerPrefix + "Grpc-Status")
	}
}

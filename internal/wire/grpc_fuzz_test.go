package wire

import (
	"encoding/json"
	"testing"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// FuzzProtoJSON: whatever the bytes, an event comes out that holds together, of a size that the bytes bound; and of what the generated code
// can read, the rewriting says what the generated code says.
func FuzzProtoJSON(f *testing.F) {
	methods := []struct {
		grpcMethod
		generation Generation
		message    proto.Message
	}{
		{grpc10.stream, V10, &proto10.StreamResponse{}}, {grpc10.send, V10, &proto10.SendMessageResponse{}}, {grpc10.get, V10, &proto10.Task{}},
		{grpc10.pushSet, V10, &proto10.TaskPushNotificationConfig{}}, {grpc10.extendedCard, V10, &proto10.AgentCard{}},
		{grpc03.stream, V03, &proto03.StreamResponse{}}, {grpc03.send, V03, &proto03.SendMessageResponse{}}, {grpc03.get, V03, &proto03.Task{}},
		{grpc03.pushSet, V03, &proto03.TaskPushNotificationConfig{}}, {grpc03.extendedCard, V03, &proto03.AgentCard{}},
	}
	metadata, err := structpb.NewStruct(map[string]any{"a": []any{1.5, "x", nil, true, map[string]any{"b": "\u2028<"}}})
	if err != nil {
		f.Fatal(err)
	}
	full := task10(proto10.TaskState_TASK_STATE_AUTH_REQUIRED)
	full.Metadata, full.Status.Timestamp = metadata, timestamppb.Now()
	full.History = []*proto10.Message{{Role: proto10.Role_ROLE_AGENT, Parts: []*proto10.Part{{Content: &proto10.Part_Raw{Raw: []byte("raw")}}}}}
	yes := true
	for i, m := range []proto.Message{
		&proto10.StreamResponse{Payload: &proto10.StreamResponse_Task{Task: full}},
		&proto10.SendMessageResponse{Payload: &proto10.SendMessageResponse_Task{Task: full}}, full,
		&proto10.TaskPushNotificationConfig{Id: "c1", TaskId: "t1"},
		&proto10.AgentCard{Name: "x", Capabilities: &proto10.AgentCapabilities{Streaming: &yes},
			SecuritySchemes: map[string]*proto10.SecurityScheme{"b": {}}},
		&proto03.StreamResponse{Payload: &proto03.StreamResponse_Task{Task: task03(5)}},
	} {
		f.Add(uint8(i), message(f, m))
	}
	f.Add(uint8(0), nested(40))
	f.Add(uint8(0), []byte{0xff})
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		m := methods[int(which)%len(methods)]
		e, text := readMessage(b, m.grpcMethod, m.expect(Endpoint{Generation: m.generation}))
		switch {
		case e.Kind == KindError || e.Err != nil:
			t.Fatalf("a message is an error: %+v", e)
		case e.Has(ProblemMalformed) != (text == nil):
			t.Fatalf("%v, text %q", e.Problems, text)
		case text != nil && !json.Valid(text):
			t.Fatalf("no JSON: %q", text)
		case len(text) > 64+32*len(b):
			t.Fatalf("%d bytes of JSON from %d", len(text), len(b))
		}
		likeGeneratedCode(t, m.message, m.grpcMethod, b)
	})
}

// likeGeneratedCode compares the two readings of what the generated code makes of the bytes. (Of the bytes themselves they may differ: the
// generated code merges a field that comes twice.)
func likeGeneratedCode(t *testing.T, like proto.Message, m grpcMethod, b []byte) {
	t.Helper()
	read := proto.Clone(like)
	if proto.Unmarshal(b, read) != nil {
		return
	}
	text, err := protojson.Marshal(read)
	if err != nil {
		return // times and numbers that it does not write
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := protoJSON(m.answer, again)
	if err != nil {
		if len(text) > maxProtoDepth { // deep enough
			return
		}
		t.Fatalf("%v: %s", err, text)
	}
	var want, got any
	if json.Unmarshal(text, &want) != nil {
		return
	}
	if err := json.Unmarshal(ours, &got); err != nil {
		t.Fatalf("%v: %s", err, ours)
	}
	if diff := cmp.Diff(want, got, cmp.FilterValues(bothTimes, cmp.Comparer(sameTime))); diff != "" {
		t.Fatalf("generated code and ours differ:\n%s", diff)
	}
}

// Fractions of a second may be written with more zeros or fewer.
func bothTimes(a, b string) bool { return !readTime(a).IsZero() && !readTime(b).IsZero() }

func sameTime(a, b string) bool { return readTime(a).Equal(readTime(b)) }

package agent_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/agentpeer/agentpeer/test/agent"
)

// dial connects with the released implementation of gRPC, which knows nothing of how the agent is made.
func dial(t *testing.T, a *agent.Agent) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(a.Start(t), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func said10(text string) *proto10.SendMessageRequest {
	return &proto10.SendMessageRequest{Message: &proto10.Message{MessageId: "m1", Role: proto10.Role_ROLE_USER,
		Parts: []*proto10.Part{{Content: &proto10.Part_Text{Text: text}}}}}
}

func TestGRPCOf10(t *testing.T) {
	a := agent.New(agent.Speaks(agent.V10), agent.Is("grpc-too"))
	p := proto10.NewA2AServiceClient(dial(t, a))
	ctx := t.Context()
	sent, err := p.SendMessage(ctx, said10("ping"))
	id := sent.GetTask().GetId()
	if err != nil || id == "" || sent.GetTask().GetStatus().GetState() != proto10.TaskState_TASK_STATE_COMPLETED ||
		len(sent.GetTask().GetArtifacts()) != 1 || sent.GetTask().GetStatus().GetTimestamp() == nil {
		t.Fatalf("sent: %v %v", sent, err)
	}
	if got, err := p.GetTask(ctx, &proto10.GetTaskRequest{Id: id}); err != nil || got.GetId() != id {
		t.Errorf("GetTask: %v %v", got, err)
	}
	_, err = p.GetTask(ctx, &proto10.GetTaskRequest{Id: "none"})
	s, _ := status.FromError(err)
	if s.Code() != codes.NotFound || len(s.Details()) != 1 || s.Details()[0].(*errdetails.ErrorInfo).GetReason() != "TASK_NOT_FOUND" {
		t.Errorf("unknown task: %v %v", err, s.Details())
	}
	stream, err := p.SendStreamingMessage(ctx, said10("count slowly"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.GetTask() != nil:
			words = append(words, "task "+e.GetTask().GetStatus().GetState().String())
			id = e.GetTask().GetId()
		case e.GetArtifactUpdate() != nil && words[len(words)-1] != "artifact":
			words = append(words, "artifact")
			if got, err := p.CancelTask(ctx, &proto10.CancelTaskRequest{Id: id}); err != nil || got.GetStatus().GetState() != proto10.TaskState_TASK_STATE_CANCELED {
				t.Errorf("cancel: %v %v", got, err)
			}
		case e.GetStatusUpdate() != nil:
			words = append(words, e.GetStatusUpdate().GetStatus().GetState().String())
		}
	}
	if got := strings.Join(words, ", "); !strings.HasPrefix(got, "task TASK_STATE_SUBMITTED, TASK_STATE_WORKING, artifact") || !strings.HasSuffix(got, "TASK_STATE_CANCELED") {
		t.Errorf("stream: %s", got)
	}
	if _, err := proto03.NewA2AServiceClient(dial(t, a)).GetTask(ctx, &proto03.GetTaskRequest{Name: "tasks/none"}); status.Code(err) != codes.Unimplemented {
		t.Errorf("the other generation's service: %v", err)
	}
}

func TestGRPCOf03(t *testing.T) {
	a := agent.New(agent.Speaks(agent.V03), agent.Is("grpc-too"))
	p := proto03.NewA2AServiceClient(dial(t, a))
	ctx := t.Context()
	ask := func(text, task string) *proto03.SendMessageRequest {
		return &proto03.SendMessageRequest{Request: &proto03.Message{MessageId: "m1", TaskId: task, Role: proto03.Role_ROLE_USER,
			Parts: []*proto03.Part{{Part: &proto03.Part_Text{Text: text}}}}, Configuration: &proto03.SendMessageConfiguration{Blocking: true}}
	}
	sent, err := p.SendMessage(ctx, ask("book a trip", ""))
	task := sent.GetTask()
	if err != nil || task.GetStatus().GetState() != proto03.TaskState_TASK_STATE_INPUT_REQUIRED || len(task.GetHistory()) == 0 ||
		len(task.GetHistory()[0].GetParts()) != 1 || len(task.GetStatus().GetUpdate().GetParts()) != 1 {
		t.Fatalf("sent: %v %v", sent, err)
	}
	sent, err = p.SendMessage(ctx, ask("to Oslo", task.GetId()))
	if err != nil || sent.GetTask().GetId() != task.GetId() || sent.GetTask().GetStatus().GetState() != proto03.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("replied: %v %v", sent, err)
	}
	long := ask("count slowly", "")
	long.Configuration.Blocking = false
	if sent, err = p.SendMessage(ctx, long); err != nil || sent.GetTask().GetStatus().GetState() == proto03.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("not blocking: %v %v", sent, err)
	}
	got, err := p.CancelTask(ctx, &proto03.CancelTaskRequest{Name: "tasks/" + sent.GetTask().GetId()})
	if err != nil || got.GetStatus().GetState() != proto03.TaskState_TASK_STATE_CANCELLED {
		t.Errorf("cancel: %v %v", got, err)
	}
	a.Set(agent.Is("refuses-stream"))
	stream, err := p.SendStreamingMessage(ctx, ask("ping", ""))
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("refused stream: %v", err)
	}
}

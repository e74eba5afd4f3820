package sdk_test

import (
	"encoding/json"
	"net/http"
	"testing"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentpeer/agentpeer/test/sdk"
)

// The servers that speak gRPC name an address without a scheme, and answer there in their generation's service.
func TestPeerAnswersByGRPC(t *testing.T) {
	for _, p := range sdk.OtherBindings() {
		if p.Binding != "GRPC" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("needs the SDK peers: run make test")
			}
			url, stop, err := sdk.Start(t.Context(), p.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			conn, err := grpc.NewClient("passthrough:///"+grpcAddress(t, url+p.CardPath), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if p.Generation == "1.0" {
				ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0") // a2a-js 1.3.0 takes calls without it for 0.3's
				sent, err := proto10.NewA2AServiceClient(conn).SendMessage(ctx, &proto10.SendMessageRequest{Message: &proto10.Message{
					MessageId: "m1", Role: proto10.Role_ROLE_USER, Parts: []*proto10.Part{{Content: &proto10.Part_Text{Text: "ping"}}}}})
				if err != nil || sent.GetTask().GetStatus().GetState() != proto10.TaskState_TASK_STATE_COMPLETED {
					t.Errorf("sent: %v %v", sent, err)
				}
				return
			}
			c := proto03.NewA2AServiceClient(conn)
			sent, err := c.SendMessage(t.Context(), &proto03.SendMessageRequest{Request: &proto03.Message{
				MessageId: "m1", Role: proto03.Role_ROLE_USER, Parts: []*proto03.Part{{Part: &proto03.Part_Text{Text: "ping"}}}},
				Configuration: &proto03.SendMessageConfiguration{Blocking: true}})
			if err != nil || sent.GetTask().GetStatus().GetState() != proto03.TaskState_TASK_STATE_COMPLETED {
				t.Errorf("sent: %v %v", sent, err)
			}
			if _, err := c.GetTask(t.Context(), &proto03.GetTaskRequest{Name: "tasks/nobody"}); status.Code(err) != codes.NotFound {
				t.Errorf("unknown task: %v", err)
			}
		})
	}
}

func grpcAddress(t *testing.T, cardURL string) string {
	t.Helper()
	r, err := http.Get(cardURL)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var card struct {
		URL, PreferredTransport string
		SupportedInterfaces     []struct{ URL, ProtocolBinding string }
	}
	if err := json.NewDecoder(r.Body).Decode(&card); err != nil {
		t.Fatal(err)
	}
	for _, in := range card.SupportedInterfaces {
		card.URL, card.PreferredTransport = in.URL, in.ProtocolBinding
	}
	if card.PreferredTransport != "GRPC" {
		t.Fatalf("card: %+v", card)
	}
	return card.URL
}

package wire

import (
	"encoding/json"

	proto03 "github.com/a2aproject/a2a-go/a2apb"
	proto10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
)

// grpcMethod is one method of a service: its path, what it answers with, and how that is to be read.
type grpcMethod struct {
	path   string
	answer protoreflect.MessageDescriptor
	bare   bool
	wants  wanted
	// repeatable: asked twice it does no harm.
	repeatable bool
	// purpose decides what a status without details means here.
	purpose grpcPurpose
}

// grpcPurpose tells apart the methods in whose answers one gRPC status has a meaning of its own.
type grpcPurpose int

const (
	forMessages grpcPurpose = iota
	forCancel
	forPush
	forCard
)

func (m grpcMethod) expect(e Endpoint) expect {
	return expect{generation: e.Generation, bare: m.bare, wants: m.wants, proto: true, identity: e.Identity}
}

// grpcDialect is how one generation names its methods and writes its requests (wire reference 2).
type grpcDialect struct {
	send, stream, get, cancel, resubscribe, pushSet, pushDelete, extendedCard grpcMethod

	sendRequest        func(Endpoint, Message, SendConfig) grpcRequest
	getRequest         func(e Endpoint, id string, historyLength *int) grpcRequest
	cancelRequest      func(e Endpoint, id string) grpcRequest
	resubscribeRequest func(e Endpoint, id string) grpcRequest
	emptyRequest       func(Endpoint) grpcRequest
	pushSetRequest     func(e Endpoint, taskID string, p PushConfig) grpcRequest
	pushDeleteRequest  func(e Endpoint, taskID, configID string) grpcRequest
	cardRequest        func(Endpoint) grpcRequest
}

func describe(m proto.Message) protoreflect.MessageDescriptor { return m.ProtoReflect().Descriptor() }

// grpc10 is lf.a2a.v1. Its JSON form is that of the JSON-RPC params, so requests are made from those.
var grpc10 = grpcDialect{
	send:   grpcMethod{path: proto10.A2AService_SendMessage_FullMethodName, answer: describe(&proto10.SendMessageResponse{})},
	stream: grpcMethod{path: proto10.A2AService_SendStreamingMessage_FullMethodName, answer: describe(&proto10.StreamResponse{})},
	get: grpcMethod{path: proto10.A2AService_GetTask_FullMethodName, answer: describe(&proto10.Task{}), bare: true,
		repeatable: true},
	cancel: grpcMethod{path: proto10.A2AService_CancelTask_FullMethodName, answer: describe(&proto10.Task{}), bare: true,
		purpose: forCancel},
	resubscribe: grpcMethod{path: proto10.A2AService_SubscribeToTask_FullMethodName, answer: describe(&proto10.StreamResponse{})},
	pushSet: grpcMethod{path: proto10.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		answer: describe(&proto10.TaskPushNotificationConfig{}), wants: wantsConfig, purpose: forPush},
	pushDelete: grpcMethod{path: proto10.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		answer: describe(&emptypb.Empty{}), wants: wantsAnything, purpose: forPush},
	extendedCard: grpcMethod{path: proto10.A2AService_GetExtendedAgentCard_FullMethodName,
		answer: describe(&proto10.AgentCard{}), wants: wantsCard, repeatable: true, purpose: forCard},

	sendRequest: func(e Endpoint, m Message, cfg SendConfig) grpcRequest {
		return filled(&proto10.SendMessageRequest{}, e.sendParams(m, cfg))
	},
	getRequest: func(e Endpoint, id string, historyLength *int) grpcRequest {
		return filled(&proto10.GetTaskRequest{}, e.taskParams(id, historyLength))
	},
	cancelRequest: func(e Endpoint, id string) grpcRequest {
		return filled(&proto10.CancelTaskRequest{}, e.taskParams(id, nil))
	},
	resubscribeRequest: func(e Endpoint, id string) grpcRequest {
		return filled(&proto10.SubscribeToTaskRequest{}, e.taskParams(id, nil))
	},
	emptyRequest: func(e Endpoint) grpcRequest { return filled(&proto10.SendMessageRequest{}, e.withTenant(object{})) },
	pushSetRequest: func(e Endpoint, taskID string, p PushConfig) grpcRequest {
		return filled(&proto10.TaskPushNotificationConfig{}, e.pushSetParams(taskID, p))
	},
	pushDeleteRequest: func(e Endpoint, taskID, configID string) grpcRequest {
		return filled(&proto10.DeleteTaskPushNotificationConfigRequest{}, e.pushNamed(taskID, configID))
	},
	cardRequest: func(e Endpoint) grpcRequest {
		return filled(&proto10.GetExtendedAgentCardRequest{}, e.withTenant(object{}))
	},
}

// grpc03 is a2a.v1, which names tasks and configs by paths. 0.2.5 and 0.2.6 speak it too.
var grpc03 = grpcDialect{
	send:   grpcMethod{path: proto03.A2AService_SendMessage_FullMethodName, answer: describe(&proto03.SendMessageResponse{})},
	stream: grpcMethod{path: proto03.A2AService_SendStreamingMessage_FullMethodName, answer: describe(&proto03.StreamResponse{})},
	get: grpcMethod{path: proto03.A2AService_GetTask_FullMethodName, answer: describe(&proto03.Task{}), bare: true,
		repeatable: true},
	cancel: grpcMethod{path: proto03.A2AService_CancelTask_FullMethodName, answer: describe(&proto03.Task{}), bare: true,
		purpose: forCancel},
	resubscribe: grpcMethod{path: proto03.A2AService_TaskSubscription_FullMethodName, answer: describe(&proto03.StreamResponse{})},
	pushSet: grpcMethod{path: proto03.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		answer: describe(&proto03.TaskPushNotificationConfig{}), wants: wantsConfig, purpose: forPush},
	pushDelete: grpcMethod{path: proto03.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		answer: describe(&emptypb.Empty{}), wants: wantsAnything, purpose: forPush},
	extendedCard: grpcMethod{path: proto03.A2AService_GetAgentCard_FullMethodName,
		answer: describe(&proto03.AgentCard{}), wants: wantsCard, repeatable: true, purpose: forCard},

	sendRequest: func(_ Endpoint, m Message, cfg SendConfig) grpcRequest {
		return filled(&proto03.SendMessageRequest{}, object{"message": grpcMessage03(m), "configuration": protoConfig03(cfg)})
	},
	getRequest: func(_ Endpoint, id string, historyLength *int) grpcRequest {
		q := &proto03.GetTaskRequest{Name: taskName(id)}
		if historyLength != nil {
			q.HistoryLength = int32(min(max(*historyLength, 0), 1<<20)) //nolint:gosec // bounded
		}
		return grpcRequest{Message: q}
	},
	cancelRequest: func(_ Endpoint, id string) grpcRequest {
		return grpcRequest{Message: &proto03.CancelTaskRequest{Name: taskName(id)}}
	},
	resubscribeRequest: func(_ Endpoint, id string) grpcRequest {
		return grpcRequest{Message: &proto03.TaskSubscriptionRequest{Name: taskName(id)}}
	},
	emptyRequest: func(Endpoint) grpcRequest { return grpcRequest{Message: &proto03.SendMessageRequest{}} },
	pushSetRequest: func(_ Endpoint, taskID string, p PushConfig) grpcRequest {
		return filled(&proto03.CreateTaskPushNotificationConfigRequest{}, object{
			"parent": taskName(taskID), "configId": p.ID,
			"config": object{"name": configName(taskID, p.ID), "pushNotificationConfig": p.object0()},
		})
	},
	pushDeleteRequest: func(_ Endpoint, taskID, configID string) grpcRequest {
		return grpcRequest{Message: &proto03.DeleteTaskPushNotificationConfigRequest{Name: configName(taskID, configID)}}
	},
	cardRequest: func(Endpoint) grpcRequest { return grpcRequest{Message: &proto03.GetAgentCardRequest{}} },
}

// grpcNone has no method: 0.1 knows no gRPC. Its requests are never looked at.
var grpcNone = grpcDialect{
	sendRequest: grpc03.sendRequest, getRequest: grpc03.getRequest, cancelRequest: grpc03.cancelRequest,
	resubscribeRequest: grpc03.resubscribeRequest, emptyRequest: grpc03.emptyRequest,
	pushSetRequest: grpc03.pushSetRequest, pushDeleteRequest: grpc03.pushDeleteRequest, cardRequest: grpc03.cardRequest,
}

func taskName(id string) string { return "tasks/" + id }

func configName(taskID, configID string) string {
	return taskName(taskID) + "/pushNotificationConfigs/" + configID
}

// filled reads a message from its JSON form.
func filled(m proto.Message, o object) grpcRequest {
	text, err := json.Marshal(o)
	if err == nil {
		err = protojson.Unmarshal(text, m)
	}
	return grpcRequest{Message: m, err: err}
}

// grpcMessage03 is a message in the JSON form of 0.3's proto.
func grpcMessage03(m Message) object {
	return withReferences(object{"messageId": messageID(m), "role": "ROLE_USER", "parts": protoParts03(m.Parts)}, m)
}

func protoParts03(list []Part) []object {
	out := make([]object, 0, len(list))
	for _, p := range list {
		switch {
		case p.Data != nil:
			out = append(out, object{"data": object{"data": p.Data}})
		case p.Raw != nil:
			file := object{"fileWithBytes": p.Raw}
			set(file, "mimeType", p.MediaType)
			out = append(out, object{"file": file})
		default:
			out = append(out, object{"text": p.Text})
		}
	}
	return out
}

// protoConfig03 differs from the JSON-RPC form in the name of one member.
func protoConfig03(cfg SendConfig) object {
	c := configuration03(cfg)
	if push, ok := c["pushNotificationConfig"]; ok {
		delete(c, "pushNotificationConfig")
		c["pushNotification"] = push
	}
	return c
}

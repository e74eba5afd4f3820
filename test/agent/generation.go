package agent

// Generation of the protocol on the wire.
type Generation string

// The generations spoken. V02 speaks 0.3's JSON-RPC under the older card and path.
const (
	V01 Generation = "0.1"
	V02 Generation = "0.2"
	V03 Generation = "0.3"
	V10 Generation = "1.0"
)

// State of a task, in the words of 0.x.
type State string

// The states that an agent can bring a task into.
const (
	Submitted     State = "submitted"
	Working       State = "working"
	InputRequired State = "input-required"
	AuthRequired  State = "auth-required"
	Completed     State = "completed"
	Canceled      State = "canceled"
	Failed        State = "failed"
	Rejected      State = "rejected"
)

func (s State) terminal() bool {
	return s == Completed || s == Canceled || s == Failed || s == Rejected
}

func (s State) interrupted() bool { return s == InputRequired || s == AuthRequired }

var protoStates = map[State]string{
	Submitted: "TASK_STATE_SUBMITTED", Working: "TASK_STATE_WORKING", InputRequired: "TASK_STATE_INPUT_REQUIRED",
	AuthRequired: "TASK_STATE_AUTH_REQUIRED", Completed: "TASK_STATE_COMPLETED", Canceled: "TASK_STATE_CANCELED",
	Failed: "TASK_STATE_FAILED", Rejected: "TASK_STATE_REJECTED",
}

var protoNumbers = map[State]int{
	Submitted: 1, Working: 2, Completed: 3, Failed: 4, Canceled: 5, InputRequired: 6, Rejected: 7, AuthRequired: 8,
}

// operation is what a method means, whatever its name.
type operation int

const (
	opUnknown operation = iota
	opSend
	opStream
	opGet
	opList
	opCancel
	opResubscribe
	opPushSet
	opPushGet
	opPushList
	opPushDelete
	opExtendedCard
)

var methodsV1 = map[string]operation{
	"SendMessage": opSend, "SendStreamingMessage": opStream, "GetTask": opGet, "ListTasks": opList,
	"CancelTask": opCancel, "SubscribeToTask": opResubscribe,
	"CreateTaskPushNotificationConfig": opPushSet, "GetTaskPushNotificationConfig": opPushGet,
	"ListTaskPushNotificationConfigs": opPushList, "DeleteTaskPushNotificationConfig": opPushDelete,
	"GetExtendedAgentCard": opExtendedCard,
}

var methodsV03 = map[string]operation{
	"message/send": opSend, "message/stream": opStream, "tasks/get": opGet, "tasks/cancel": opCancel,
	"tasks/resubscribe":                opResubscribe,
	"tasks/pushNotificationConfig/set": opPushSet, "tasks/pushNotificationConfig/get": opPushGet,
	"tasks/pushNotificationConfig/list": opPushList, "tasks/pushNotificationConfig/delete": opPushDelete,
	"agent/getAuthenticatedExtendedCard": opExtendedCard,
}

var methodsV01 = map[string]operation{
	"tasks/send": opSend, "tasks/sendSubscribe": opStream, "tasks/get": opGet, "tasks/cancel": opCancel,
	"tasks/resubscribe": opResubscribe, "tasks/pushNotification/set": opPushSet, "tasks/pushNotification/get": opPushGet,
}

// operation of a method name in this generation.
func (g Generation) operation(method string) operation {
	switch g {
	case V10:
		return methodsV1[method]
	case V01:
		return methodsV01[method]
	default:
		return methodsV03[method]
	}
}

package client

import (
	"context"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// A2AClient is what Tasks needs of an A2A client; *a2aclient.Client of github.com/a2aproject/a2a-go/v2 is one. Give it an http.Client
// without a timeout: that would end long streams, and every call that Tasks makes has a deadline of its own.
type A2AClient interface {
	SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	SendStreamingMessage(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
	GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error)
	CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error)
	SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error]
}

// Decider is what Tasks asks about a peer and tells of it; *PeerCapabilityCache is one.
type Decider interface {
	Decide(peer Ref) Decision
	Demote(peer Ref, capability v1alpha1.CapabilityName, err error)
	Honored(peer Ref, capability v1alpha1.CapabilityName)
}

// Tasks sends work to agents and follows it to its end, on the path that the peer's decision names, without ever losing a task: whatever
// the agent does, a task is over, cancelled, handed over, or stands in the ledger as orphaned or diverged. Fill in the fields and use it
// from any number of goroutines; it must not be copied after that.
type Tasks struct {
	// Peers decides, and is told what was seen. Nil: every peer is Unverified.
	Peers Decider
	// Ledger keeps the tasks. Nil: one in memory, made at the first use.
	Ledger *Ledger

	book
}

// TaskOptions say what is known about one piece of work. The zero value is a message that needs no answer.
type TaskOptions struct {
	// AllInputs is the message that says at once all that the request and the answers to the agent's questions would say. It is sent in
	// place of the request's where a conversation cannot be relied on, and again single-shot where the agent breaks the conversation off.
	// Nil: the request says everything.
	AllInputs *a2a.Message
	// OnInput answers an agent that asks for input or for leave. It is given the status that asks and returns the reply; its task and
	// context are filled in. A nil message declines: at input-required the task is given up with ErrNoAnswer, at auth-required it is waited
	// for. Its context ends with the caller's, and after InputTimeout. Nil: every question is declined.
	OnInput func(ctx context.Context, status a2a.TaskStatus) (*a2a.Message, error)
	// InputTimeout bounds one call of OnInput. Default: the decision's Hard.
	InputTimeout time.Duration
	// MaxTurns bounds how often OnInput is asked. Default 16.
	MaxTurns int

	// Idempotent says that doing the work twice does no harm, so it may be sent again although the first task may still run.
	Idempotent bool
	// Long says that a task was asked for which takes its time, at most so long. No deadline accuses it then. Zero: the decision's Hard is
	// the bound.
	Long time.Duration
	// Promise says that the card declares stateTransitionHistory on the 0.x interface in use: transitions were promised.
	Promise bool
	// Estimated is the skill's estimatedDuration; lifecycle.ParseEstimate reads it. It counts with Promise, below Hard.
	Estimated time.Duration
	// InputModes are the media types that the card declares. With them a refusal of one counts against the peer, without them it only
	// brings a probe.
	InputModes []string
	// Identity tells tasks apart behind a gateway that rewrites their ids, as spec.taskIdentity of the AgentPeer. For source Header the A2A
	// client's http.Client needs the transport CorrelateBy. Nil: ids alone.
	Identity *v1alpha1.TaskIdentity

	// ProbeFirst is a minimal message that is streamed before the work where Streaming is merely Unverified. If its stream keeps what streams
	// promise, the work is streamed too. Nil: Unverified goes single-shot at once.
	ProbeFirst *a2a.Message
	// Webhook follows the task by push notifications where the decision says so. Nil: tasks are polled.
	Webhook *Webhook
	// OnEvent is shown every event and answer about the task, in order of arrival, once it is booked. It must not block for long.
	OnEvent func(a2a.Event)
	// Handover is asked who owns a task that is left before it is over: the answer is written into the entry, which stays open, and the
	// task is not cancelled. Nil, or an empty answer: nobody, so the task is cancelled.
	Handover func(Entry) string
	// MaxBytes bounds what is kept of a task's messages and artifacts. Default 16 MiB.
	MaxBytes int
}

// Result is how a task ended.
type Result struct {
	// State is the terminal state; completed for an agent that answered with a Message, without a task.
	State lifecycle.State
	// Task as last seen, with the artifacts that came by stream; nil if the answer was a Message, or the task was never seen.
	Task *a2a.Task
	// Message is the answer of an agent that makes no task, or that answered a follow-up so.
	Message *a2a.Message
	// Entry in the ledger.
	Entry Entry
	// MayReissue says that the work may be given to a peer again: it was cancelled and that was confirmed, or it is idempotent.
	MayReissue bool
}

// TaskStats counts what Tasks did, so that its cost can be told.
type TaskStats struct {
	// Tasks begun, Streamed of them by a stream.
	Tasks, Streamed int64
	// GetTasks asked; ExtraGetTasks are those asked of a streamed task, which an honest stream makes needless but for one.
	GetTasks, ExtraGetTasks int64
	// Downgrades to single-shot, and cancels sent.
	Downgrades, Cancels int64
	// Orphans and Divergences in the ledger that came about here, and tasks handed over.
	Orphans, Divergences, Handovers int64
}

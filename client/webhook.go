package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Webhook hands push notifications about one task to whoever follows it. Serve Config.URL yourself, one URL that nobody can guess for each
// task, check the token or the credentials of Config there, and give the bodies to Deliver. Make one with NewWebhook.
type Webhook struct {
	config a2a.PushConfig
	calls  chan delivery
	// bytes of the payloads that wait.
	bytes atomic.Int64
}

// delivery is one payload.
type delivery struct {
	event a2a.Event
	at    time.Time
	size  int64
}

// Bounds of deliveries.
const (
	// MaxDelivery is how large a payload may be, in bytes.
	MaxDelivery = 1 << 20
	// waiting is how many may wait to be looked at, and waitingBytes how large they may be together: read, they take many times as much.
	waiting      = 128
	waitingBytes = 4 << 20
)

// Errors of Deliver.
var (
	// ErrDeliveryTooLarge: the payload is larger than MaxDelivery. Answer 413.
	ErrDeliveryTooLarge = errors.New("push notification is too large")
	// ErrDeliveryUnreadable: the payload is nothing of A2A. Answer 400.
	ErrDeliveryUnreadable = errors.New("push notification cannot be read")
	// ErrDeliveriesWaiting: as many, or as much, as may wait does so; this one is dropped, and the task is polled after a while. Answer 503.
	ErrDeliveriesWaiting = errors.New("too many push notifications wait")
)

// NewWebhook makes the webhook of one task. config is sent to the agent as it is.
func NewWebhook(config a2a.PushConfig) *Webhook {
	return &Webhook{config: config, calls: make(chan delivery, waiting)}
}

// Deliver takes the body of one call. It reads the shapes of all generations, never blocks, and may be called before the message that
// begins the task was answered, twice for the same event, and from many goroutines.
func (w *Webhook) Deliver(payload []byte) error {
	if len(payload) > MaxDelivery {
		return ErrDeliveryTooLarge
	}
	size := int64(len(payload))
	if w.bytes.Add(size) > waitingBytes {
		w.bytes.Add(-size)
		return ErrDeliveriesWaiting
	}
	ev, err := readDelivery(payload)
	if err != nil || ev == nil {
		w.bytes.Add(-size)
		return err
	}
	select {
	case w.calls <- delivery{event: ev, at: time.Now(), size: size}:
		return nil
	default:
		w.bytes.Add(-size)
		return ErrDeliveriesWaiting
	}
}

// readDelivery reads a StreamResponse of 1.0, a bare Task of 0.2 and 0.3, an event of theirs, or an object of 0.1. The error holds nothing
// of the payload.
func readDelivery(payload []byte) (a2a.Event, error) {
	var whole a2a.StreamResponse
	if json.Unmarshal(payload, &whole) == nil {
		return whole.Event, nil
	}
	var bare struct {
		Kind      string          `json:"kind"`
		ID        string          `json:"id"`
		TaskID    string          `json:"taskId"`
		ContextID string          `json:"contextId"`
		SessionID string          `json:"sessionId"`
		Metadata  map[string]any  `json:"metadata"`
		Artifact  json.RawMessage `json:"artifact"`
		Status    *struct {
			State     string `json:"state"`
			Timestamp string `json:"timestamp"`
		} `json:"status"`
	}
	if err := json.Unmarshal(payload, &bare); err != nil {
		return nil, fmt.Errorf("%w: not JSON, or of no shape that A2A has", ErrDeliveryUnreadable)
	}
	id := cmp.Or(bare.TaskID, bare.ID)
	if bare.Kind == "message" {
		return nil, nil // it says nothing of the task
	}
	if id == "" || bare.Status == nil && bare.Artifact == nil {
		return nil, fmt.Errorf("%w: it names no task, or nothing about it", ErrDeliveryUnreadable)
	}
	if bare.Status == nil {
		return &a2a.TaskArtifactUpdateEvent{TaskID: a2a.TaskID(id), ContextID: bare.ContextID, Metadata: bare.Metadata}, nil
	}
	status := a2a.TaskStatus{State: a2a.TaskState(bare.Status.State)}
	if at, err := time.Parse(time.RFC3339, bare.Status.Timestamp); err == nil {
		status.Timestamp = &at
	}
	return &a2a.TaskStatusUpdateEvent{TaskID: a2a.TaskID(id), ContextID: bare.ContextID, Metadata: bare.Metadata, Status: status}, nil
}

package main

import (
	"context"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// cardTrusting does what clients do that take the card for a contract: it streams because the card says so, takes the stream for
// the whole truth, a follow-up for a continuation, and an accepted cancel for the end.
func cardTrusting(ctx context.Context, c *caller, p peer, _ *v1alpha1.AgentPeer) ending {
	switch p.errand {
	case "ask":
		return c.trustFollowUp(ctx)
	case "cancel":
		return c.trustCancel(ctx)
	}
	s, err := c.follow(ctx, c.message("ping", "", ""), nil)
	if err == nil && s.over() {
		return ending{how: "streams: " + done(s), ok: true}
	}
	return hangs(ctx, "HANGS: waits for an end that the stream never showed")
}

// trustFollowUp waits for the agent's question, replies, and waits for the first task to end.
func (c *caller) trustFollowUp(ctx context.Context) ending {
	first := c.message("book a trip", "", "")
	asking, cancel := context.WithTimeout(ctx, patience/4)
	s, _ := c.follow(asking, first, nil)
	cancel()
	// Whether the question came or not, the user has more to say by now.
	t, err := c.follow(ctx, c.message("to Oslo", s.taskID, s.contextID), nil)
	if err == nil && t.taskID == s.taskID && t.over() {
		return ending{how: "streams, replies: " + done(t), ok: true}
	}
	return hangs(ctx, "HANGS: waits for the task it asked about")
}

// trustCancel stops listening to what it says once the cancel is accepted; we go on counting what the agent sends.
func (c *caller) trustCancel(ctx context.Context) ending {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var canceledAt int
	var end lifecycle.State
	s, _ := c.follow(ctx, c.message("count to 1000 slowly", "", ""), func(s seen) {
		if s.frames == 3 {
			if a, err := c.rpc.CancelTask(ctx, s.taskID); err == nil && a.Err == nil {
				end, canceledAt = stateOf(a.RawState), s.frames
			}
		}
	})
	if extra := s.frames - canceledAt; end == lifecycle.Canceled && extra > 10 {
		return ending{how: "PAYS ON: is told canceled, and the agent works on"}
	}
	return ending{how: "cancels: " + string(end), ok: true}
}

// hangs waits as such a client would, until our patience ends.
func hangs(ctx context.Context, how string) ending {
	<-ctx.Done()
	return ending{how: how}
}

func done(s seen) string {
	if s.message {
		return "answered with a message"
	}
	return string(s.state)
}
